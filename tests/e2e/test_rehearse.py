"""The rehearsal drives the user's own CLI against the scripted model; a CLI that misbehaves is told line by line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from touchline.testing import find_cli


@pytest.mark.cli("claude")
@pytest.mark.slow
def test_a_rehearsal_with_the_real_cli_holds_in_every_line(project: Any) -> None:
    path = f"{Path(find_cli('claude')).parent}{os.pathsep}{os.environ['PATH']}"
    plan = project.path / "docs/plans/value.md"
    plan.write_text("# A plan of my own with ünïcode\n\n--and a line like a flag\n")
    ran = project.touchline(
        "rehearse", "--executor", "claude", "--plan-file", str(plan), env={"PATH": path}, timeout_s=120
    )
    assert ran.status == 0, ran.out + ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("executor claude, version ")
    assert len(lines) == 9
    assert all(line.startswith("ok ") for line in lines[1:])


def test_a_driver_without_rehearsal_says_so(project: Any) -> None:
    project.configure({"any": [[{"finish": {}}]]})
    ran = project.touchline("rehearse", "--executor", "scripted")
    assert ran.status == 2
    assert "cannot be turned to a local model" in ran.err


def test_a_cli_that_is_missing_says_how_to_install_it(project: Any) -> None:
    ran = project.touchline("rehearse", "--executor", "claude", env={"PATH": "/usr/bin:/bin"})
    assert ran.status == 1
    assert "npm install" in ran.err
    assert "Traceback" not in ran.err
