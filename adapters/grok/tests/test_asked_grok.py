"""Tool calls in the words of the policy."""

from __future__ import annotations

import pytest

from touchline_grok.asked import HARMLESS, READING, REFUSED, normalised


@pytest.mark.parametrize("tool", ["run_terminal_command", "monitor"])
def test_command_is_asked_whole(tool: str) -> None:
    asked = normalised(tool, {"command": "git push; ls", "description": "harmless"}, "c1")
    assert (asked.id, asked.tool, asked.command, asked.text) == ("c1", "bash", "git push; ls", "git push; ls")


@pytest.mark.parametrize(("tool", "kind"), [("write", "write"), ("search_replace", "edit")])
def test_files_are_asked_by_path(tool: str, kind: str) -> None:
    asked = normalised(tool, {"file_path": "/r/a.py", "content": "x"}, "c1")
    assert (asked.tool, asked.paths, asked.command) == (kind, ("/r/a.py",), "")


def test_tool_that_is_not_known_is_other_and_shows_its_whole_input() -> None:
    asked = normalised("mail__send", {"to": "x", "command": "not a shell"}, "c1")
    assert (asked.tool, asked.command, asked.raw_tool) == ("other", "", "mail__send")
    assert asked.text == 'mail__send {"command": "not a shell", "to": "x"}'


def test_what_is_never_asked_for_can_change_nothing_and_start_nothing() -> None:
    assert not (READING | HARMLESS) & {"run_terminal_command", "monitor", "write", "search_replace", "use_tool"}
    assert not (READING | HARMLESS) & set(REFUSED)
