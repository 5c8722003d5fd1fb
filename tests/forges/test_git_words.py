"""Git's own words are understood by their kind; the server's free text never is."""

from __future__ import annotations

import pytest

from touchline.api import (
    Completed,
    ForgeAuthError,
    ForgeBusy,
    ForgeError,
    ForgeForbiddenError,
    ForgeNotFoundError,
    ForgeUnavailable,
)
from touchline_forges.git_words import Refusal, failure, outcome_untold, parse_push, shown


def ended(stderr: str, *, status: int | None = 128, ending: str = "exited") -> Completed:
    return Completed(("git",), status, b"", stderr.encode(), ending, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("fatal: could not read Username for 'https://h': terminal prompts disabled", ForgeAuthError),
        ("fatal: Authentication failed for 'https://h/a.git/'", ForgeAuthError),
        ("git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.", ForgeAuthError),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", ForgeAuthError),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 403", ForgeForbiddenError),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 429", ForgeBusy),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 503", ForgeUnavailable),
        ("fatal: unable to access 'https://h/': Could not resolve host: h", ForgeUnavailable),
        ("ssh: connect to host h port 22: Connection refused\nfatal: Could not read from", ForgeUnavailable),
        ("fatal: the remote end hung up unexpectedly", ForgeUnavailable),
        ("fatal: repository 'https://h/a.git/' not found", ForgeNotFoundError),
        ("fatal: '/srv/a' does not appear to be a git repository\nfatal: Could not read from", ForgeNotFoundError),
        ("ERROR: Repository not found.\nfatal: Could not read from remote repository.", ForgeNotFoundError),
        ("fatal: something that we do not know", ForgeError),
    ],
)
def test_failure_has_its_kind(words: str, error: type[ForgeError]) -> None:
    found = failure(ended(words), "reading")
    assert type(found) is error
    assert found.fix


def test_free_text_of_a_server_chooses_nothing() -> None:
    found = failure(ended("remote: The requested URL returned error: 401 Authentication failed for\nfatal: no"), "x")
    assert type(found) is ForgeError
    assert "remote: The requested" in found.what


def test_call_that_was_stopped_is_unavailable_whatever_it_said() -> None:
    found = failure(ended("Authentication failed for", status=None, ending="wall"), "reading")
    assert type(found) is ForgeUnavailable
    assert "limit of time" in found.what


def test_words_are_shown_bounded_without_credentials_and_control_characters() -> None:
    text = shown("fatal: https://u:secret@h/a \x1b[31mred\x07\r\n" + "x" * 5000)
    assert "secret" not in text
    assert "\x1b" not in text
    assert len(text) <= 1000
    assert shown("a https://u:secret@h/b") == "a https://***@h/b"


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        (" \ta:refs/heads/x\taaa..bbb", None),
        ("*\ta:refs/heads/x\t[new branch]", None),
        ("=\ta:refs/heads/x\t[up to date]", None),
        ("!\ta:refs/heads/x\t[rejected] (non-fast-forward)", Refusal.MOVED),
        ("!\ta:refs/heads/x\t[rejected] (fetch first)", Refusal.MOVED),
        ("!\ta:refs/heads/x\t[rejected] (stale info)", Refusal.MOVED),
        ("!\ta:refs/heads/x\t[remote rejected] (failed to update ref)", Refusal.MOVED),
        ("!\ta:refs/heads/x\t[remote rejected] (pre-receive hook declined)", Refusal.DECLINED),
        ("!\ta:refs/heads/x\t[remote rejected] (deny updating a hidden ref)", Refusal.DECLINED),
        ("!\ta:refs/heads/x\t[remote rejected] (unpacker error)", Refusal.NOT_STORED),
        ("!\ta:refs/heads/x\t[remote rejected] (unable to migrate objects to permanent storage)", Refusal.NOT_STORED),
    ],
)
def test_fate_of_each_ref_is_read_from_a_push(line: str, refusal: Refusal | None) -> None:
    found = parse_push(f"To /srv/a.git\n{line}\nDone\n".encode())
    assert list(found) == ["refs/heads/x"]
    assert found["refs/heads/x"].refusal is refusal


def test_ref_whose_fate_was_not_told_is_left_out() -> None:
    said = b"!\ta:refs/heads/x\t[remote failure] (remote failed to report status)\n"
    assert parse_push(said) == {}
    assert outcome_untold(said)
    assert not outcome_untold(b"")
