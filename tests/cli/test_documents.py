"""`touchline schema` and `touchline completion` (spec page 8)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from touchline.commands.schema import DOCUMENTS

Touchline = Callable[..., Any]


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_every_schema_is_json_with_the_keys_as_they_stand_on_disk(name: str, touchline: Touchline) -> None:
    said = touchline("schema", name)
    schema = json.loads(said.out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    expected = {"config": "run", "decision": "failedGates", "ledger": "schemaVersion", "report": "skillResults"}[name]
    assert expected in schema["properties"]


def test_the_schema_of_the_configuration_refuses_unknown_keys(touchline: Touchline) -> None:
    schema = json.loads(touchline("schema", "config").out)
    assert schema["additionalProperties"] is False
    assert all(one["additionalProperties"] is False for one in schema["$defs"].values())
    assert "timeout" in schema["$defs"]["TestsConfig"]["properties"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_one_that_the_shell_can_read(shell: str, touchline: Touchline) -> None:
    said = touchline("completion", shell)
    assert (said.status, said.err) == (0, "")
    assert "_TOUCHLINE_COMPLETE" in said.out
    if found := shutil.which(shell):
        done = subprocess.run([found, "-n"], input=said.out, text=True, timeout=30, check=False, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_a_usage_error(touchline: Touchline) -> None:
    assert touchline("completion", "tcsh").status == 2
