from __future__ import annotations

import errno
from pathlib import Path

import pytest

from touchline.errors import ProcessError
from touchline.process.programs import find_program, start_problem


def tool(folder: Path, name: str, mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_bare_name_is_the_first_program_on_the_absolute_path(tmp_path: Path) -> None:
    tool(tmp_path, "tool")
    (tmp_path / "folders").mkdir()
    (tmp_path / "folders" / "tool").mkdir()
    expected = tool(tmp_path / "bin", "tool")
    tool(tmp_path / "later", "tool")
    path = f":.:sub:{tmp_path}/nowhere:{tmp_path}/folders:{tmp_path}/bin:{tmp_path}/later"
    assert find_program(["tool", "x"], cwd=tmp_path, env={"PATH": path}) == str(expected)


def test_a_name_with_a_slash_is_taken_from_the_working_folder(tmp_path: Path) -> None:
    expected = tool(tmp_path / "bin", "tool")
    assert find_program(["bin/tool"], cwd=tmp_path, env={}) == str(expected)
    assert find_program([str(expected)], cwd=Path("/"), env={}) == str(expected)


def test_a_file_on_the_path_that_is_no_program_is_named(tmp_path: Path) -> None:
    refused = tool(tmp_path / "bin", "tool", mode=0o644)
    with pytest.raises(ProcessError, match="not executable") as caught:
        find_program(["tool"], cwd=tmp_path, env={"PATH": str(refused.parent)})
    assert str(refused) in caught.value.what
    assert caught.value.fix == f"chmod +x {refused}"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENOEXEC, errno.E2BIG, errno.EACCES, errno.EAGAIN, 0])
def test_every_refusal_of_the_system_names_the_program_and_a_remedy(tmp_path: Path, number: int) -> None:
    problem = start_problem("/opt/tool", number, cwd=tmp_path)
    assert "/opt/tool" in problem.what
    assert problem.fix
