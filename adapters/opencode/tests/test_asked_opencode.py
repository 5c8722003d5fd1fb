"""Permission requests in the words of the policy."""

from __future__ import annotations

from touchline_opencode.asked import Call, normalised


def test_shell_line_is_asked_whole_by_whichever_rule() -> None:
    request = {
        "id": "per_1",
        "permission": "external_directory",
        "patterns": ["/etc/*"],
        "metadata": {"command": "cat /etc/hostname; ls"},
        "tool": {"callID": "c1"},
    }
    asked, reading = normalised(request, Call("bash", {"command": "cat /etc/hostname; ls"}))
    assert (asked.id, asked.tool, asked.command, asked.paths) == ("c1", "bash", "cat /etc/hostname; ls", ())
    assert not reading


def test_shell_line_is_known_from_the_request_where_the_call_was_not_seen() -> None:
    asked, _ = normalised({"id": "p", "permission": "bash", "metadata": {"command": "ls"}}, None)
    assert (asked.id, asked.tool, asked.command) == ("p", "bash", "ls")


def test_write_and_edit_are_told_apart_and_named_by_path() -> None:
    request = {"id": "p", "permission": "edit", "patterns": ["a.py"], "metadata": {"filepath": "/r/a.py"}}
    for tool, kind in (("write", "write"), ("edit", "edit")):
        asked, _ = normalised(request, Call(tool, {"filePath": "/r/a.py"}))
        assert (asked.tool, asked.paths) == (kind, ("/r/a.py",))


def test_patch_names_every_file_that_it_touches() -> None:
    files = [{"filePath": "/r/a.py"}, {"filePath": "/r/b.py", "movePath": "/elsewhere/c.py"}]
    request = {"id": "p", "permission": "edit", "patterns": ["a.py", "b.py"], "metadata": {"files": files}}
    asked, _ = normalised(request, Call("apply_patch", {"patchText": "..."}))
    assert asked.paths == ("/r/a.py", "/r/b.py", "/elsewhere/c.py")


def test_patch_without_details_is_named_by_its_patterns() -> None:
    asked, _ = normalised({"id": "p", "permission": "edit", "patterns": ["a.py", 3]}, Call("apply_patch", {}))
    assert asked.paths == ("a.py",)


def test_tool_that_is_not_known_is_other_and_shows_its_whole_input() -> None:
    asked, reading = normalised({"id": "p", "permission": "mail_send"}, Call("mail_send", {"to": "x"}))
    assert (asked.tool, asked.command, asked.text) == ("other", "", 'mail_send {"to": "x"}')
    assert not reading


def test_reading_elsewhere_is_reading() -> None:
    request = {"id": "p", "permission": "external_directory", "metadata": {"filepath": "/etc/x"}}
    asked, reading = normalised(request, Call("read", {"filePath": "/etc/x"}))
    assert (asked.tool, asked.paths, reading) == ("other", ("/etc/x",), True)
