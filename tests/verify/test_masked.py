"""A known secret stands neither in a report nor in the recorded output, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

from touchline.verify.masked import mask_files

SECRET = "hunter2-hunter2"


def test_recorded_output_loses_the_secret_and_keeps_every_other_byte(tmp_path: Path) -> None:
    (tmp_path / "judge-one").mkdir()
    (tmp_path / "worktree").mkdir()
    log, nested, source = tmp_path / "tests.log", tmp_path / "judge-one/said", tmp_path / "worktree/a"
    log.write_bytes(b"before \xff " + SECRET.encode() + b" after\r\n")
    nested.write_text(f'{{"text": "{SECRET}"}}')
    source.write_text(SECRET)
    untouched = tmp_path / "other.log"
    untouched.write_bytes(b"\x00\xff nothing of it")
    mask_files(tmp_path, [SECRET])
    assert log.read_bytes() == b"before \xff [masked] after\r\n"
    assert nested.read_text() == '{"text": "[masked]"}'
    assert source.read_text() == SECRET, "a file of the project is no output"
    assert untouched.read_bytes() == b"\x00\xff nothing of it"


def test_a_link_among_the_output_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(SECRET)
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "link").symlink_to(elsewhere)
    mask_files(tmp_path / "output", [SECRET])
    assert elsewhere.read_text() == SECRET
