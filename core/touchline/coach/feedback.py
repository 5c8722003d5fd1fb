"""Owns the feedback file: rendered from the ledger alone, and read back to prove it (spec page 4, "Feedback file").

Pure. Every text of a model, a forge or a repository stands in a quoted line or as a JSON string on one line, so
that none of it can pose as structure: headings, the total and the tables begin a line, and quoted text never does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from touchline.documents.ledger import (
    CiFailure,
    Finding,
    GateRow,
    Ledger,
    QuarantineEntry,
    Receipt,
    ReceiptStatus,
    TurnRow,
    VerificationRow,
)
from touchline.ledger import queries
from touchline.turn.shown import printable_lines
from touchline.turn.text import truncate_marked

MAX_LINE_CHARS = 500
MAX_QUOTE_CHARS = 2_000
MAX_NOTE_CHARS = 500
MAX_ATTEMPTS = 5
MAX_KNOWN = 100

_TOTAL = re.compile(r"TOTAL BLOCKING ITEMS: ([0-9]{1,9})", re.ASCII)
_ITEM = re.compile(r"### ([0-9]{1,9})\. \[(F-[0-9]{1,9}), sev [0-9]{1,2}, [a-z-]+, seen [0-9]{1,9}×\] \".*\"", re.ASCII)
_GATE = re.compile(r"### (G-[0-9]{1,9}) \".*\"", re.ASCII)
_CI = re.compile(r"### (C-[0-9]{1,9}) \".*\"", re.ASCII)
_STATUSES: tuple[ReceiptStatus, ...] = ("addressed", "partial", "not-addressed")


@dataclass(frozen=True, slots=True)
class ParsedFeedback:
    """What a feedback file says when it is read back.

    `total` is the number in its TOTAL line (-1: there is no such line, or more than one). `items` maps the number
    of each blocking item ("1", "2", ...) to its finding id; `gates` and `ci` are the other item names.
    """

    total: int
    items: Mapping[str, str]
    gates: tuple[str, ...]
    ci: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every item that wants a receipt, in the order of the file."""
        return (*self.items, *self.gates, *self.ci)


def render(
    ledger: Ledger,
    turn: int,
    *,
    verification: VerificationRow | None = None,
    head_sha: str | None = None,
    ci_run: int | None = None,
) -> str:
    """The feedback file for `turn`.

    `verification` is the run that asked for it (default: the last decided one), `head_sha` the head that the
    player starts from (default: the verified one), `ci_run` the CI reading that asked for the turn, if one did.
    """
    row = verification if verification is not None else _last_decided(ledger)
    blocking = queries.blocking(ledger)
    head = head_sha or (row.head_sha if row is not None else "none")
    lines = [
        f"# Feedback for turn {turn}",
        f"Verification run {row.verify_run if row is not None else 'none'} · HEAD {_line(head)} · "
        f"threshold {ledger.severity_threshold}",
        "",
        f"TOTAL BLOCKING ITEMS: {len(blocking)}",
        "",
        "## Blocking items",
        "",
    ]
    if not blocking:
        lines += ["None.", ""]
    for number, finding in enumerate(blocking, start=1):
        lines += _item(number, finding, ledger)
    lines += _gates(row.gates if row is not None else ())
    lines += _ci([one for one in queries.ci_failures_of_run(ledger) if one.ci_run == ci_run])
    lines += _known(queries.active_quarantine(ledger))
    lines += _deferred(queries.deferred_in_run(ledger))
    return "\n".join(lines).rstrip("\n") + "\n"


def parse_back(text: str) -> ParsedFeedback:
    """What the file says, by its structure lines alone."""
    lines = text.split("\n")
    totals = [match[1] for line in lines if (match := _TOTAL.fullmatch(line))]
    items = [(match[1], match[2]) for line in lines if (match := _ITEM.fullmatch(line))]
    return ParsedFeedback(
        total=int(totals[0]) if len(totals) == 1 else -1,
        items=dict(items),
        gates=tuple(match[1] for line in lines if (match := _GATE.fullmatch(line))),
        ci=tuple(match[1] for line in lines if (match := _CI.fullmatch(line))),
    )


def mismatch(ledger: Ledger, parsed: ParsedFeedback) -> str:
    """How a file differs from the ledger query that it was rendered from; "" when it holds every item."""
    wanted = {str(number): finding.id for number, finding in enumerate(queries.blocking(ledger), start=1)}
    if parsed.total != len(wanted):
        return f"the file counts {parsed.total} blocking items, the ledger {len(wanted)}"
    if dict(parsed.items) != wanted:
        return f"the file holds the items {list(parsed.items.values())}, the ledger {list(wanted.values())}"
    return ""


def receipts_from(report: Mapping[str, object] | None, text: str) -> list[Receipt]:
    """The player's valid receipts for the feedback file `text`, in the order of its items.

    An answer to an item that the file does not hold, or with an unknown status, is none; of two answers to one
    item the last counts.
    """
    parsed = parse_back(text)
    claimed = report.get("receipts") if report is not None else None
    found: dict[str, Receipt] = {}
    for row in claimed if isinstance(claimed, list) else ():
        receipt = _receipt(row, parsed)
        if receipt is not None:
            found[receipt.item] = receipt
    return [found[name] for name in parsed.names if name in found]


def unanswered(text: str, receipts: Iterable[Receipt]) -> list[str]:
    """The items of the feedback file `text` that got no receipt."""
    answered = {receipt.item for receipt in receipts}
    return [name for name in parse_back(text).names if name not in answered]


def _last_decided(ledger: Ledger) -> VerificationRow | None:
    rows = reversed(queries.verifications_of_run(ledger))
    return next((row for row in rows if row.decision in ("FEEDBACK", "APPROVED")), None)


def _receipt(row: object, parsed: ParsedFeedback) -> Receipt | None:
    if not isinstance(row, dict):
        return None
    item, status, note = row.get("item"), row.get("status"), row.get("note")
    name = str(item) if type(item) is int and 0 < item < 10**9 else item
    known = next((one for one in _STATUSES if one == status), None)
    if not isinstance(name, str) or name not in parsed.names or known is None:
        return None
    return Receipt(
        item=name,
        finding_id=parsed.items.get(name),
        status=known,
        note=_cut(note, MAX_NOTE_CHARS) if isinstance(note, str) else "",
    )


def _item(number: int, finding: Finding, ledger: Ledger) -> list[str]:
    kind = f"{finding.id}, sev {finding.severity}, {finding.class_}, seen {finding.occurrences}×"
    lines = [f"### {number}. [{kind}] {_string(finding.title)}", f"Location: {_place(finding)}", "Root cause:"]
    lines += [*_quote(finding.root_cause), "", "Evidence:", *_quote(finding.evidence), ""]
    attempts = _attempts(finding.id, ledger)
    return [*lines, "Previous attempts:", *(f"- {one}" for one in attempts), ""] if attempts else lines


def _place(finding: Finding) -> str:
    if finding.location is None:
        return "unknown"
    line, end = finding.location.line, finding.location.end_line
    span = f":{line}" if line is not None else ""
    if line is not None and end is not None and end > line:
        span += f"-{end}"
    return f"{_string(finding.location.path)}{span}"


def _attempts(finding_id: str, ledger: Ledger) -> list[str]:
    """What earlier turns answered about a finding, the latest last; a turn that was given it and said nothing too."""
    found = []
    for row in ledger.turns:
        receipts = [one for one in row.receipts if one.finding_id == finding_id]
        if receipts:
            found += [f"{_when(row, ledger)} ({one.status}{_note(one)})" for one in receipts]
        elif finding_id in row.feedback_finding_ids and row.state != "started":
            found.append(f"{_when(row, ledger)} (no answer)")
    return found[-MAX_ATTEMPTS:]


def _when(row: TurnRow, ledger: Ledger) -> str:
    return f"turn {row.turn}" if row.run_number == ledger.run_number else f"turn {row.turn} of an earlier run"


def _note(receipt: Receipt) -> str:
    return f": {_string(receipt.note)}" if receipt.note.strip() else ""


def _gates(rows: Sequence[GateRow]) -> list[str]:
    if not rows:
        return []
    lines = ["## Failed gates", ""]
    for number, row in enumerate(rows, start=1):
        lines += [f"### G-{number} {_string(row.gate)}", f"Status: {_string(row.status)}", "Evidence:"]
        lines += [*_quote(row.evidence), ""]
    return lines


def _ci(rows: Sequence[CiFailure]) -> list[str]:
    if not rows:
        return []
    lines = ["## CI evidence", ""]
    for number, row in enumerate(rows, start=1):
        lines += [f"### C-{number} {_string(row.check)}", f"HEAD {_line(row.head_sha)}", *_quote(row.summary), ""]
    return lines


def _known(entries: Sequence[QuarantineEntry]) -> list[str]:
    if not entries:
        return []
    lines = ["## Known environment failures — DO NOT INVESTIGATE", ""]
    lines += [
        f"- {_line(one.id)} {_string(one.title)}: pre-existing at the merge base; unrelated to this change"
        for one in entries[:MAX_KNOWN]
    ]
    return [*lines, *_more(entries), ""]


def _deferred(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    lines = ["## Deferred to PR follow-up — do not act on these", ""]
    lines += [f"- {_line(one.id)} {one.class_} {_string(one.title)}" for one in findings[:MAX_KNOWN]]
    return [*lines, *_more(findings), ""]


def _more(rows: Sequence[object]) -> list[str]:
    return [f"- and {len(rows) - MAX_KNOWN} more"] if len(rows) > MAX_KNOWN else []


def _quote(text: str) -> list[str]:
    """The text as quoted lines, each behind `> `; nothing in it can begin a line."""
    cut = _cut(text, MAX_QUOTE_CHARS).strip("\n")
    return [f"> {printable_lines(line)}".rstrip() for line in cut.split("\n")] if cut.strip() else ["> (none given)"]


def _string(text: str) -> str:
    """The text as one JSON string: quotes, newlines and control characters of it are escaped."""
    return printable_lines(json.dumps(_cut(text, MAX_LINE_CHARS), ensure_ascii=False))


def _line(text: str) -> str:
    """An id or a SHA: whatever stands in the document, one line."""
    return printable_lines(" ".join(_cut(text, MAX_LINE_CHARS).split()))


def _cut(text: str, limit: int) -> str:
    return truncate_marked(text, limit)
