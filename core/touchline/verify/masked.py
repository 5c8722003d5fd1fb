"""Known secrets are kept out of what a verification leaves: its report and the recorded output (spec page 1, masking).

What a test or a judge prints may hold any of them: the remote's URL is one `git remote -v` away.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from touchline.documents.report import Report
from touchline.ledger.atomic import atomic_write
from touchline.turn.masking import Masker

_NOT_OUTPUT = frozenset({"worktree", "proof", "proof-worktree"})
"""Folders beside the output that hold files of the work tree."""


def masked_report(report: Report, secrets: Sequence[str]) -> Report:
    """The report without any known value."""
    masker = Masker(secrets)
    text = report.to_bytes().decode("utf-8", "surrogateescape")
    if masker.mask(text) == text:
        return report
    return Report.model_validate(masker.mask_value(report.model_dump(mode="json", by_alias=True)))


def mask_files(folder: Path, secrets: Sequence[str]) -> None:
    """Take known values out of the output that commands left in `folder`. Raises OSError and LedgerError."""
    masker = Masker(secrets).bytewise()
    if not masker.forms or not folder.is_dir():
        return
    for place in sorted(folder.rglob("*")):
        if place.relative_to(folder).parts[0] in _NOT_OUTPUT or place.is_symlink() or not place.is_file():
            continue
        content = place.read_bytes()
        clean = masker.mask(content.decode("latin-1")).encode("latin-1")
        if clean != content:
            atomic_write(place, clean)
