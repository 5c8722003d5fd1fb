"""Secrets in metadata become names that tell nothing (spec page 5, "redacted-{kind}-{hex}")."""

from __future__ import annotations

import dataclasses
import re
import stat
import threading
from pathlib import Path

import pytest

from touchline.errors import LedgerError, TouchlineError
from touchline.git.refnames import is_branch_name
from touchline.git.repository import Repository
from touchline.secrets.key import run_key
from touchline.secrets.redact import Redactor
from touchline.secrets.scan import Scanner

MARK = re.compile(r"redacted-[a-z0-9-]+-[0-9a-f]{16}")


def test_every_secret_of_the_corpus_is_taken_out_of_a_text(scanner: Scanner, secrets: dict[str, str]) -> None:
    body = "\n\n".join(f"The {kind} is `{value}`." for kind, value in secrets.items())
    cleaned = Redactor(scanner).text("body", body)
    for kind, value in secrets.items():
        inner = re.sub(
            r"^.*?://[^:]*:|@[^@]*$|^.*(?:[Pp]assword|Key)=|;.*$|^.*Token=",
            "",
            value.split("\n")[1] if "\n" in value else value,
        )
        assert inner not in cleaned.text, kind
    assert len(MARK.findall(cleaned.text)) >= len(secrets)
    assert not scanner.scan_text("body", cleaned.text).hits


def test_a_name_is_the_same_for_a_value_all_through_a_run_and_another_in_the_next(
    scanner: Scanner, secrets: dict[str, str]
) -> None:
    value = secrets["npm"]
    texts = Redactor(scanner).texts({"title": f"Use {value}", "body": f"{value} and {value}"})
    marks = {mark for text in texts.values() for mark in MARK.findall(text.text)}
    assert len(marks) == 1
    assert texts["title"].kinds == ("npm-token",)
    other = Redactor(dataclasses.replace(scanner, key=b"x" * 32)).text("title", f"Use {value}")
    assert other.text.removeprefix("Use ") not in marks


def test_a_text_without_secrets_stays_as_it_is(scanner: Scanner) -> None:
    text = "Add a cache\n\nIt holds ten entries; see docs/cache.md.\r\n\n| a | b |\n"
    cleaned = Redactor(scanner).text("message", text)
    assert (cleaned.text, cleaned.kinds) == (text, ())


def test_a_branch_is_renamed_to_what_git_accepts(repo: Path, scanner: Scanner, secrets: dict[str, str]) -> None:
    opened = Repository.open(repo)
    for kind in ("github classic", "aws access key id"):
        for value in (secrets[kind], secrets[kind].lower()):
            cleaned = Redactor(scanner).branch(opened, f"feature/{value}/x")
            assert value not in cleaned.text
            assert MARK.search(cleaned.text)
            assert is_branch_name(opened, cleaned.text)
    assert Redactor(scanner).branch(opened, "feature/12-add-cache").text == "feature/12-add-cache"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-x",
        "HEAD",
        "a..b",
        "a b",
        "a.lock",
        "/a",
        "a/",
        "a~b",
        "a^",
        "@{u}",
        "a\0b",
        "a" * 300,
        "é" * 120,
        "0" * 40,
    ],
)
def test_what_is_no_branch_name_is_refused(repo: Path, name: str) -> None:
    assert not is_branch_name(Repository.open(repo), name)


@pytest.mark.parametrize("name", ["main", "feature/a-b_c.d", "größe", "a@b", "1"])
def test_what_is_a_branch_name_is_accepted(repo: Path, name: str) -> None:
    assert is_branch_name(Repository.open(repo), name)


def test_a_text_that_could_not_be_scanned_is_not_published(scanner: Scanner) -> None:
    with pytest.raises(TouchlineError, match="body cannot be published"):
        Redactor(dataclasses.replace(scanner, timeout_s=0.001)).text("body", "text")


def test_the_key_is_private_random_and_stays(tmp_path: Path) -> None:
    key = run_key(tmp_path / "private")
    place = tmp_path / "private/redaction.key"
    assert len(key) == 32
    assert run_key(tmp_path / "private") == key
    assert run_key(tmp_path / "other") != key
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700
    assert [found.name for found in (tmp_path / "private").iterdir()] == ["redaction.key"]


def test_a_key_that_others_can_read_or_that_is_damaged_is_refused(tmp_path: Path) -> None:
    run_key(tmp_path)
    place = tmp_path / "redaction.key"
    place.chmod(0o644)
    with pytest.raises(LedgerError, match="by others"):
        run_key(tmp_path)
    place.chmod(0o600)
    place.write_bytes(b"short")
    with pytest.raises(LedgerError, match="damaged"):
        run_key(tmp_path)


def test_of_two_at_once_both_get_the_same_key(tmp_path: Path) -> None:
    keys: list[bytes] = []
    threads = [threading.Thread(target=lambda: keys.append(run_key(tmp_path / "private"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(keys) == 8
    assert len(set(keys)) == 1


def test_neither_the_key_nor_a_value_shows_in_a_repr(scanner: Scanner, secrets: dict[str, str]) -> None:
    assert scanner.key.hex() not in repr(scanner)
    assert repr(scanner.key) not in repr(Redactor(scanner))
