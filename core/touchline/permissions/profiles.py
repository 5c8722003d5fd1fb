"""The two profiles and what each may do (spec page 8, "Profiles"); no configuration lifts what they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from touchline.permissions.effects import Kind

_PUSH = "pushing and fetching belong to the coach"
_CONFIGURE = "git configuration stays as it is"
_REWRITE = "git history, refs and other work trees stay as they are"
_SWITCH = "work stays on the current branch"
_STAGE = "the coach stages and commits after the turn; leave the changes in the work tree"


@dataclass(frozen=True, slots=True)
class Profile:
    """What one kind of turn may do. A kind that is neither allowed nor refused needs a person."""

    name: str
    allowed: frozenset[Kind]
    refused: Mapping[Kind, str] = field(default_factory=dict)
    writes_tree: bool = True


PLAYER = Profile(
    "player",
    frozenset({Kind.READ, Kind.BUILD, Kind.WRITE}),
    {
        Kind.PUSH: _PUSH,
        Kind.CONFIGURE: _CONFIGURE,
        Kind.REWRITE: _REWRITE,
        Kind.SWITCH: _SWITCH,
        Kind.INDEX: _STAGE,
        Kind.COMMIT: _STAGE,
    },
)

COMMITTING_PLAYER = Profile(
    "executor",
    frozenset({Kind.READ, Kind.BUILD, Kind.WRITE, Kind.INDEX, Kind.COMMIT}),
    {Kind.PUSH: _PUSH, Kind.CONFIGURE: _CONFIGURE, Kind.REWRITE: _REWRITE, Kind.SWITCH: _SWITCH},
)
"""The player of a dispatched task (role `executor`), who commits."""

VERIFIER = Profile(
    "verifier",
    frozenset({Kind.READ, Kind.BUILD}),
    {
        Kind.WRITE: "a verifier changes no file of the work tree",
        **dict.fromkeys(
            (Kind.PUSH, Kind.CONFIGURE, Kind.REWRITE, Kind.SWITCH, Kind.INDEX, Kind.COMMIT),
            "a verifier leaves the repository as it is",
        ),
    },
    writes_tree=False,
)

PROFILES: Mapping[str, Profile] = {one.name: one for one in (PLAYER, COMMITTING_PLAYER, VERIFIER)}
