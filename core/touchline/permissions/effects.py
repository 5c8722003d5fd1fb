"""What a command does, in the few kinds that a profile decides about (spec page 8, "Profiles")."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from touchline.permissions.words import Word


class Kind(StrEnum):
    """The kinds, from harmless to unknown; the value is how a reason names it."""

    READ = "reading"
    WRITE = "changing files"
    BUILD = "building and testing"
    INDEX = "changing git's index"
    COMMIT = "committing"
    SWITCH = "switching the branch"
    PUSH = "pushing or fetching"
    CONFIGURE = "changing git configuration"
    REWRITE = "changing git history or refs"
    DOUBT = "something the policy does not know"


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of one command.

    `paths` are the files that a WRITE changes, or the script or folder that a BUILD uses. `whole`: everything
    below a path is concerned too.
    """

    kind: Kind
    reason: str = ""
    paths: tuple[Word, ...] = ()
    whole: bool = False


READ = Effect(Kind.READ)


def doubt(reason: str) -> Effect:
    """An effect that nobody can tell from the command alone."""
    return Effect(Kind.DOUBT, reason)
