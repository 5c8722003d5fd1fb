"""Texts of a change and its address in the generic forge (spec page 6, "Generic forge"). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from touchline.api import ForgeError, ForgeNotFoundError, RepositoryId

_ADDRESS = re.compile(r"(.+)#change-([1-9][0-9]{0,8})", re.ASCII)


def change_url(remote_url: str, number: int) -> str:
    """The address of a change: the remote's own, and the number."""
    return f"{remote_url}#change-{number}"


def parse_change_url(url: str, identify: Callable[[str], RepositoryId | None]) -> tuple[RepositoryId, int]:
    """Repository and number of a change's address. Raises ForgeNotFoundError for any other text."""
    matched = _ADDRESS.fullmatch(url)
    repo = identify(matched[1]) if matched else None
    if matched is None or repo is None:
        raise ForgeNotFoundError(
            f"{url!r} is no address of a change", fix="Give it as REMOTE-URL#change-NUMBER, or give the number alone."
        )
    return repo, int(matched[2])


def check_text(title: str, body: str) -> None:
    """Raise ForgeError for a title that is empty or no single line, and for text that is no valid Unicode."""
    if not title.strip() or len(title.splitlines()) > 1:
        raise ForgeError("a title must be one line of text", fix="Give another title.")
    try:
        (title + body).encode()
    except UnicodeEncodeError as error:
        raise ForgeError(
            "the text holds characters that are no valid Unicode", fix="Take them out of title and text."
        ) from error
