"""What of a failure is the same in every run of it: its signature, and where it is (spec pages 4 and 5). Pure.

Addresses, times, numbers, temporary paths and the order within braces differ from run to run; a signature holds
none of them, so that a failure is recognised at the merge base, in another folder and on another day.
"""

from __future__ import annotations

import posixpath
import re

from touchline.verify.testrun import MAX_FAILURE_TEXT, TestFailure

MAX_SIGNATURE = 240
MAX_NAME = 300
_MAX_LINE = 2000

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)(?:/[^\s'\"`,;:)\]}>]*)?")
_FOLDERS = re.compile(r"(?<![\w.])(?:/[\w.@+~-]+)+/")
_HEX = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b0x[0-9a-fA-F]+|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b"
)
_NUMBER = re.compile(r"\d+(?:[eE][+-]?\d+)?")
_NUMBERS = re.compile(r"<n>(?:[.:,_-]<n>)+")
_BRACES = re.compile(r"\{([^{}]*)\}")


def clean_text(text: str) -> str:
    """`text` without terminal sequences and control characters; lines end with a newline alone."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


def stable(text: str) -> str:
    """The first line of `text` that says something, with all that differs from run to run taken out."""
    line = next((line for line in clean_text(text).split("\n") if line.strip()), "")
    line = _TEMPORARY.sub("<tmp>", line[:_MAX_LINE])
    line = _FOLDERS.sub("", line)
    # One placeholder for all: the digits of a time are hexadecimal ones in one run and not in the next.
    line = _NUMBERS.sub("<n>", _NUMBER.sub("<n>", _HEX.sub("<n>", line)))
    line = _BRACES.sub(_sorted_braces, line)
    return " ".join(line.split())


def signature_of(name: str, message: str) -> str:
    """The signature of a failure: the test's name and the stable part of what it said."""
    return f"{_stable_name(name)}: {stable(message)}"[:MAX_SIGNATURE]


def make_failure(
    name: str, message: str, *, root: str, path: str | None = None, line: int | None = None, text: str = ""
) -> TestFailure:
    """A failure with its signature; a path outside of the work tree `root` is left out."""
    name = " ".join(clean_text(name).split())[:MAX_NAME] or "(unnamed)"
    message = clean_text(message).strip()
    inside = relative_path(path, root) if path else None
    return TestFailure(
        name=name,
        message=message.split("\n")[0][:1000],
        signature=signature_of(name, message),
        path=inside,
        line=line if inside is not None and line is not None and line > 0 else None,
        text=_ends(clean_text(text).strip("\n") or message),
    )


def relative_path(path: str, root: str) -> str | None:
    """`path`, as some tool printed it, relative to the work tree; None if it lies outside. Lexical, no disk."""
    text = clean_text(path).replace("\\", "/").removeprefix("file://").strip()
    if text.startswith("/"):
        base = posixpath.normpath(root)
        if not posixpath.normpath(text).startswith(base.rstrip("/") + "/"):
            return None
        text = posixpath.relpath(posixpath.normpath(text), base)
    text = posixpath.normpath(text) if text else "."
    return None if text == "." or text == ".." or text.startswith(("../", "/")) else text


def _stable_name(name: str) -> str:
    # Numbers stay: they are part of what a test is called. Only what no author would write goes.
    return _HEX.sub("<n>", _TEMPORARY.sub("<tmp>", name))


def _sorted_braces(found: re.Match[str]) -> str:
    return "{" + ", ".join(sorted(part.strip() for part in found[1].split(","))) + "}"


def _ends(text: str) -> str:
    if len(text) <= MAX_FAILURE_TEXT:
        return text
    half = MAX_FAILURE_TEXT // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"
