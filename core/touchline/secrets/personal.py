"""Sensitive personal data that must not stand in a branch name, message, title or body (spec page 5). Pure.

Narrow on purpose: payment cards, bank accounts and national numbers whose check digits are right. Not looked for:
names, e-mail addresses (they stand in every commit), telephone numbers, addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from touchline.secrets.patterns import Found
from touchline.secrets.values import Grade

_CARD = re.compile(
    r"""(?x)
    (?<![\w.-])
    (?: (?: 4\d{3} | 5[1-5]\d\d | 2[2-7]\d\d | 6011 | 6[45]\d\d | 62\d\d | 35\d\d ) (?:[ -]?\d{4}){3} (?:[ -]?\d{3})?
      | 3[47]\d\d [ -]?\d{6} [ -]?\d{5}
      | 3[0689]\d\d [ -]?\d{6} [ -]?\d{4} )
    (?! [\w-] | \.\d | [ ]\d )
    """
)
_IBAN = re.compile(r"(?<![\w-])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![\w-])")
_SSN = re.compile(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_CHINA = re.compile(r"(?<!\w)[1-8]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\w)")
_CHINA_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def find_personal(text: str) -> Iterator[Found]:
    """Cards, IBANs, United States social security numbers and Chinese resident numbers in `text`."""
    checks = (
        ("card-number", _CARD, _luhn),
        ("iban", _IBAN, _iban),
        ("national-id", _SSN, bool),
        ("national-id", _CHINA, _resident),
    )
    for kind, pattern, right in checks:
        for match in pattern.finditer(text):
            if right(match[0]):
                yield Found(kind, Grade.STOP, match.start(), match.end(), match[0])


def _luhn(text: str) -> bool:
    digits = [int(letter) for letter in text if letter.isdecimal()]
    if len(set(digits)) < 2:
        return False
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def _iban(text: str) -> bool:
    compact = text.replace(" ", "")
    moved = compact[4:] + compact[:4]
    return 15 <= len(compact) <= 34 and int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


def _resident(text: str) -> bool:
    total = sum(weight * int(digit) for weight, digit in zip(_CHINA_WEIGHTS, text[:17], strict=True))
    return "10X98765432"[total % 11] == text[17].upper()
