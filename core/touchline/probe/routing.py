"""Routing by shared words: which commands and tools a prompt names (spec page 7). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from touchline.probe.inventory import Inventory, Item, Kind, installed_inventory

DEFAULT_LIMIT = 5

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class RoutedMatch:
    """One match. Each different word of the prompt scores 2 if the name holds it, 1 if the purpose does."""

    kind: Kind
    name: str
    score: int
    source: str
    shell: bool = False


def route_prompt(prompt: str, limit: int = DEFAULT_LIMIT, *, inventory: Inventory | None = None) -> list[RoutedMatch]:
    """The best matches for `prompt`, at most `limit`: score down, then kind, then name.

    Without `inventory` that of the installed executors is used; a name that several ship is matched once.
    """
    wanted = _words(prompt)
    items = installed_inventory() if inventory is None else inventory
    best: dict[tuple[Kind, str], RoutedMatch] = {}
    for item in items:
        score = _score(wanted, item)
        key = (item.kind, item.name)
        if score and (key not in best or score > best[key].score):
            best[key] = RoutedMatch(item.kind, item.name, score, item.source, item.shell)
    ordered = sorted(best.values(), key=lambda match: (-match.score, match.kind, match.name))
    return ordered[: max(limit, 0)]


def _score(wanted: frozenset[str], item: Item) -> int:
    named = wanted & (_words(item.name) | _words(_HUMP.sub(" ", item.name)))
    return 2 * len(named) + len(wanted & _words(item.purpose) - named)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
