"""Keeping known secret values out of the events that observers see (spec page 1, "The turn record"). Pure.

The record masks what it writes by itself; `touchline.turn.masking` owns how a value is recognised.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from touchline.executor import Event
from touchline.turn.masking import Masker
from touchline.turn.settle import Failure

AnyEvent = TypeVar("AnyEvent", bound=Event)


def mask_event(masker: Masker, event: AnyEvent) -> AnyEvent:
    """`event` with every secret masked in its text fields (a secret split over two deltas is not recognised)."""
    changed: dict[str, Any] = {}
    for item in fields(event):
        value = getattr(event, item.name)
        masked: object = value
        if isinstance(value, str):
            masked = masker.mask(value)
        elif isinstance(value, Failure):
            masked = replace(value, reason=masker.mask(value.reason))
        elif isinstance(value, tuple):
            masked = tuple(masker.mask(part) if isinstance(part, str) else part for part in value)
        if masked != value:
            changed[item.name] = masked
    return replace(event, **changed) if changed else event
