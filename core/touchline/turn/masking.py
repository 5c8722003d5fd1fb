"""How known secret values are kept out of the turn record (spec page 1, "The turn record").

A value is masked as it is and as JSON writes it. Within one stream it is masked also when it straddles
writes: the end of the stream that could be the beginning of a secret is held back until the next write
decides. Not masked: values shorter than `SHORTEST`; a value that something else interrupts (in the raw
stream, the JSON between two deltas); at the end of a stream, a beginning of a secret that never went on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping

SHORTEST = 6
"""Shorter values are words, not secrets; masking them would make the record unreadable."""

MASK = "[masked]"


class Masker:
    """The secret values of one run. Never shows a value, not even in its repr."""

    __slots__ = ("forms", "longest")

    def __init__(self, secrets: Iterable[str]) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= SHORTEST:
                forms |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        self._keep(forms)

    def _keep(self, forms: Iterable[str]) -> None:
        self.forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self.longest = len(self.forms[0]) if self.forms else 0

    def bytewise(self) -> Masker:
        """A masker for bytes that were decoded as Latin-1, one code point a byte."""
        masker = Masker(())
        masker._keep({form.encode("utf-8", "surrogateescape").decode("latin-1") for form in self.forms})
        return masker

    def __repr__(self) -> str:
        return f"Masker({len(self.forms)} forms)"

    def mask(self, text: str) -> str:
        """`text` with every known value replaced by `MASK`."""
        for form in self.forms:
            if form in text:
                text = text.replace(form, MASK)
        return text

    def mask_value(self, value: object) -> object:
        """`value` as strict JSON can hold it, with every string in it masked, keys too."""
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, Mapping):
            return {self.mask(str(key)): self.mask_value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.mask_value(item) for item in value]
        return self.mask(str(value))

    def held_back(self, text: str) -> int:
        """How many code points at the end of `text` could be the beginning of a known value."""
        window = text[-(self.longest - 1) :] if self.longest > 1 else ""
        most = 0
        for form in self.forms:
            at = window.find(form[0])
            while at >= 0 and len(window) - at > most:
                if form.startswith(window[at:]):
                    most = len(window) - at
                    break
                at = window.find(form[0], at + 1)
        return most


class MaskedStream:
    """One stream of text in pieces; what it gives out holds no known value, wherever the pieces were cut."""

    __slots__ = ("_held", "_masker")

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be written now."""
        text = self._masker.mask(self._held + piece)
        held = self._masker.held_back(text)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def end(self) -> str:
        """What was held back; the stream is over."""
        held, self._held = self._held, ""
        return held
