"""Owns how git's own words about a remote are understood (spec page 6, "Network"). Pure.

Lines that begin with `remote:` are the server's free text: shown to people, never understood. Git is called with
`LC_ALL=C`, so its words are these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from touchline.api import (
    Completed,
    ForgeAuthError,
    ForgeBusy,
    ForgeError,
    ForgeForbiddenError,
    ForgeNotFoundError,
    ForgeUnavailable,
    redact_urls,
)

MAX_WORDS = 1000

_UNSHOWN = re.compile(r"[^\n\x20-\x7e\x80-\U0010ffff]")

_MEANINGS: tuple[tuple[re.Pattern[str], type[ForgeError], str], ...] = tuple(
    (re.compile(pattern), error, fix)
    for pattern, error, fix in (
        (
            r"terminal prompts disabled|could not read (Username|Password)|Authentication failed for"
            r"|requested URL returned error: 401|Permission denied \(|Host key verification failed"
            r"|No supported authentication methods|Load key .*: ",
            ForgeAuthError,
            "Check that `git fetch` works here without asking: log in with a git credential helper, load the ssh key,"
            " or name an environment variable that holds a token under `forge` (token_env) for this host.",
        ),
        (
            r"requested URL returned error: 403|HTTP 403",
            ForgeForbiddenError,
            "Ask for the right to do this at the host, or use a credential that has it.",
        ),
        (r"requested URL returned error: 429|HTTP 429", ForgeBusy, "Wait, then start again."),
        (
            r"repository '.*' not found|does not appear to be a git repository|requested URL returned error: 404"
            r"|not a git repository|ERROR: .*not found|couldn't find remote ref|no such remote ref"
            r"|upload-pack: not our ref",
            ForgeNotFoundError,
            "Check the remote's URL with `git remote -v`; a host may also hide what the credential may not see.",
        ),
        (
            r"requested URL returned error: 5\d\d|HTTP 5\d\d|Could not resolve (host|hostname|proxy)"
            r"|Failed to connect|Connection (refused|timed out|reset)|Operation timed out|Couldn't connect"
            r"|unexpectedly|early EOF|RPC failed|unable to access|Empty reply|Network is unreachable"
            r"|No route to host|kex_exchange_identification|Connection closed by|unpack failed|expected flush"
            r"|Could not read from remote repository",
            ForgeUnavailable,
            "Check the network and the host, then start again: what is done already is found again.",
        ),
    )
)


class Refusal(Enum):
    """Why one ref was not moved by a push."""

    MOVED = "moved"
    """The remote's ref is not where the push expected it."""
    DECLINED = "declined"
    """The server does not want it: a hook, a protected branch, a hidden ref."""
    NOT_STORED = "not-stored"
    """The server could not keep what it was sent: no space, a quota."""
    UNTOLD = "untold"
    """The call broke off: whether the ref was moved is to be looked up."""


@dataclass(frozen=True, slots=True)
class PushedRef:
    """What a push said about one ref; `refusal` None means that it is at the wanted place."""

    ref: str
    refusal: Refusal | None
    words: str = ""


_UNTOLD = b"[remote failure]"
_NOT_STORED = re.compile(r"unpacker error|unable to migrate objects|failed to write|No space left|quota")
_LINE = re.compile(r"([ +\-*!=])\t([^\t]*):([^\t:]+)\t(.*)")
_MOVED = re.compile(
    r"stale info|non-fast-forward|fetch first|needs force|cannot lock ref|failed to (update|lock) ref|failed to lock"
    r"|incorrect old value|reference already exists|remote ref updated since checkout"
)


def parse_push(porcelain: bytes) -> dict[str, PushedRef]:
    """The refs of `git push --porcelain` by name; a ref of which git is unsure is left out."""
    found = {}
    for line in porcelain.decode("utf-8", "replace").splitlines():
        matched = _LINE.fullmatch(line)
        if not matched:
            continue
        flag, _, ref, summary = matched.groups()
        if flag != "!":
            found[ref] = PushedRef(ref, None)
        elif _UNTOLD.decode() not in summary:
            found[ref] = PushedRef(ref, _refusal(summary), shown(summary))
    return found


def _refusal(summary: str) -> Refusal:
    if _MOVED.search(summary):
        return Refusal.MOVED
    return Refusal.NOT_STORED if _NOT_STORED.search(summary) else Refusal.DECLINED


def outcome_untold(porcelain: bytes) -> bool:
    """Whether the server broke off after taking the push, so that it may or may not have moved a ref."""
    return _UNTOLD in porcelain


def failure(done: Completed, doing: str) -> ForgeError:
    """The error of a git call that failed while `doing` (such as "reading the refs of host/path")."""
    words = own_words(done)
    if done.ending == "cancelled":
        return ForgeUnavailable(f"{doing} was cancelled", fix="Start again: what is done already is found again.")
    if done.ending != "exited":
        return ForgeUnavailable(
            f"{doing} was stopped at its limit of time after {done.duration_s:.0f} s" + (f": {words}" if words else ""),
            fix="Check the network and the host, then start again: what is done already is found again.",
        )
    meant = "\n".join(line for line in words.splitlines() if not line.startswith("remote:"))
    what = f"{doing} failed: {words or f'git ended with status {done.returncode}'}"
    for pattern, error, fix in _MEANINGS:
        if pattern.search(meant):
            return error(what, fix=fix)
    return ForgeError(what, fix="Try the same with git by hand to see the cause.")


def own_words(done: Completed) -> str:
    """What git wrote to standard error: bounded, without credentials and control characters."""
    return shown(done.stderr.decode("utf-8", "replace"))


def shown(text: str) -> str:
    """`text` as it may stand in a message."""
    clean = _UNSHOWN.sub("", redact_urls(text.replace("\r", "\n")))
    return "\n".join(line.strip() for line in clean.splitlines() if line.strip())[-MAX_WORDS:]
