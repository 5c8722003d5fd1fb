"""The identity corpus: one defect told in several ways, and its neighbours in the same file (spec page 3).

Each row of `FILES` is one defect: mechanism, another slug for it, symbol, symptom, and three tellings of title and root
cause: the first, a light rewording, and one in words of its own. Printed are the wrong merges and splits of `decide`:

    python tests/corpus/corpus_identity.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from touchline.documents.decision import Context
from touchline.documents.ledger import Ledger
from touchline.gates.decide import decide

FILES: dict[str, str] = {
    "src/cache/store.py": """
missing-lock | unsynchronised-write | Store.put | entries vanish under load | Store.put writes the map without taking the lock | the map is written without the lock being held, so two writers lose one entry | Store.put writes to the map without taking its lock | the map is written while the lock is not held, so two writers lose one entry | Concurrent puts drop data | mutual exclusion is absent in the write path
expired-entry-returned | stale-read | Store.get | an expired value is returned | get returns entries whose time to live is over | the expiry is compared with the wrong clock, monotonic against wall time | get returns entries whose time to live is already over | the expiry is compared to the wrong clock, monotonic against wall time | Outdated values are handed out | two kinds of timestamps are mixed
unbounded-growth | memory-leak | Store.evict | memory grows without end | evict never removes the last bucket | the loop stops one bucket early, so entries of the last bucket stay for ever | evict never removes entries of the last bucket | the loop stops one bucket too early, so entries of the last bucket stay for ever | The process runs out of memory after days | an off-by-one leaves a part of the table untouched
swallowed-io-error | hidden-failure | Store.flush | data is lost silently | flush ignores OSError from the disk | the except clause passes, so a full disk looks like success | flush ignores an OSError from the disk | the except clause only passes, so a full disk looks like a success | Nobody learns that saving failed | errors of writing are caught and dropped
""",
    "src/http/client.ts": """
missing-timeout | endless-wait | Client.request | the call hangs for ever | request has no timeout | fetch is called without a signal, so a silent server blocks the caller | request is made without a timeout | fetch is called without any signal, so a silent server blocks the caller | A dead peer stalls everything | no bound is put on waiting
retry-on-post | duplicate-write | Client.retry | an order is placed twice | retry repeats POST requests | the retry list contains POST, which is not idempotent | retry repeats POST requests too | the list of retried methods contains POST, which is not idempotent | Customers are charged two times | unsafe verbs are sent again after a failure
token-in-log | secret-leak | Client.trace | the token stands in the log | trace logs the Authorization header | headers are logged as they are, the bearer token included | trace logs the Authorization header as it is | all headers are logged as they are, bearer token included | Credentials end up in plain files | nothing is masked before printing
redirect-keeps-credentials | auth-sent-elsewhere | Client.follow | another host gets the token | follow keeps the Authorization header across hosts | the header is copied to the new request whatever its origin | follow keeps the Authorization header when the host changes | the header is copied to the new request whatever the origin is | Foreign servers see our login | origin is not compared before forwarding
""",
    "internal/queue/worker.go": """
goroutine-leak | unbounded-goroutines | Worker.Run | goroutines pile up | Run starts a goroutine for each message and never waits | no wait group joins the goroutines when the context ends | Run starts one goroutine for each message and never waits for it | no wait group joins the goroutines once the context ends | Shutdown leaves work behind | nobody joins background tasks
ack-before-work | message-loss | Worker.handle | messages are lost in a crash | handle acknowledges before the work is done | Ack is called first, so a crash in between loses the message | handle acknowledges the message before the work is done | Ack is called first, so that a crash in between loses the message | Restarting drops jobs | confirmation comes ahead of processing
nil-deref | missing-nil-check | Worker.decode | panic on an empty body | decode panics when the body is nil | the pointer is used before it is checked for nil | decode panics if the body is nil | the pointer is used before being checked for nil | An empty request kills the service | absent payloads are not expected
wrong-backoff | busy-retry | Worker.backoff | retries come too fast | backoff multiplies nanoseconds as if they were milliseconds | the duration is multiplied without its unit | backoff multiplies nanoseconds as though they were milliseconds | the duration gets multiplied without its unit | The broker is hammered after an outage | a time unit was left out
""",
    "app/models/order.rb": """
float-money | rounding-error | Order#total | a cent is missing | total adds money as floats | prices are floats, so sums are off by a cent | total adds up money as floats | prices are kept as floats, so sums are off by a cent | Invoices differ from receipts | binary fractions are used for currency
missing-validation | unchecked-input | Order#quantity | negative orders are accepted | quantity may be negative | there is no numericality validation on quantity | quantity can be negative | there is no validation of numericality on quantity | People can buy minus three shirts | bounds are not enforced on input
n-plus-one | slow-query | Order.recent | the page takes seconds | recent loads the customer of each order by itself | includes is missing, so one query a row is made | recent loads each order's customer by itself | includes is missing, so that one query a row is made | Listing gets slower with each row | associations are fetched one after another
wrong-scope | foreign-data | Order.visible_to | another tenant's orders are shown | visible_to does not filter by tenant | the tenant condition is missing in the scope | visible_to does not filter by the tenant | the tenant condition is missing from the scope | Customers see each other's purchases | rows are not restricted to their owner
""",
    "lib/parser/csv.rs": """
quote-not-escaped | broken-escaping | write_field | a quote breaks the row | write_field does not double quotes | the quote character is written once, so the row cannot be read back | write_field does not double the quotes | the quote character is only written once, so the row cannot be read back | Exported files cannot be imported | special characters pass unchanged
slice-panic | char-boundary | trim_field | panic on non-ASCII text | trim_field slices in the middle of a character | the byte index is no character boundary | trim_field slices in the middle of a multi-byte character | the byte index is not a character boundary | Umlauts crash the importer | bytes are mistaken for letters
header-skipped-twice | first-row-lost | read_rows | the first row is missing | read_rows skips two lines when there is a byte order mark | the header is consumed before and after the mark is removed | read_rows skips two lines if there is a byte order mark | the header is consumed before and also after the mark is removed | One record too few is imported | the start of the file is dropped again
wrong-line-number | misleading-error | error_at | errors name the wrong line | error_at counts lines from zero | the counter starts at zero while editors count from one | error_at counts the lines from zero | the counter starts with zero while editors count from one | Users look at the wrong place | numbering differs from the convention
""",
    "web/src/Form.tsx": """
double-submit | missing-disable | Form.onSubmit | two requests are sent | onSubmit can be called again while it runs | the button is not disabled during the request | onSubmit can be called again while it is running | the button is not disabled while the request runs | Clicking fast creates duplicates | no guard exists for work in progress
unescaped-html | xss | Form.preview | a script runs in the page | preview renders user text as HTML | dangerouslySetInnerHTML gets text of the user | preview renders the user's text as HTML | dangerouslySetInnerHTML gets the text of the user | Attackers can inject markup | input reaches the page unfiltered
missing-label | accessibility | Form.Field | a screen reader says nothing | Field has no label for its input | the label lacks htmlFor, so the input has no name | Field has no label for the input | the label lacks an htmlFor, so the input has no name | Blind users cannot fill it in | controls are not described
effect-without-cleanup | leaked-subscription | Form.useDraft | state is set after leaving | useDraft never unsubscribes | the effect returns no clean-up function | useDraft does not ever unsubscribe | the effect does not return a clean-up function | Warnings appear when navigating away | listeners outlive their component
""",
    "src/main/java/auth/Session.java": """
session-fixation | id-not-renewed | Session.login | the old id stays valid | login keeps the session id of before | the id is not renewed after the password was checked | login keeps the session id from before | the id is not renewed once the password was checked | A planted cookie survives authentication | identifiers do not change with privileges
timing-attack | plain-compare | Session.verify | tokens can be guessed by time | verify compares tokens with equals | String.equals stops at the first difference, so time tells the prefix | verify compares the tokens with equals | String.equals stops at the first difference, so the time tells the prefix | Secrets leak through latency | comparison is not constant
no-expiry | endless-session | Session.create | a session never ends | create sets no expiry | maxAge is never set, so the cookie lives for ever | create does not set any expiry | maxAge is never set, so that the cookie lives for ever | Logins stay valid for years | lifetime has no limit
race-in-refresh | lost-update | Session.refresh | the newer token is overwritten | refresh reads and writes without a transaction | two refreshes interleave and the older one wins | refresh reads and writes without any transaction | two refreshes interleave, and the older one wins | Users get logged out at random | the update is not atomic
""",
    "deploy/migrate.py": """
no-rollback | partial-migration | migrate | the schema is left half-way | migrate runs without a transaction | an error in the second statement leaves the first applied | migrate runs outside of a transaction | an error in the second statement leaves the first one applied | A failed upgrade cannot be repeated | changes are not undone together
drops-column | data-loss | upgrade_users | e-mail addresses are gone | upgrade_users drops the column before it is copied | the drop stands before the copy | upgrade_users drops the column before copying it | the drop statement stands before the copy | Contacts disappear with the release | order of steps destroys content
shell-injection | unquoted-argument | run_hook | a branch name runs a command | run_hook builds a shell command from the branch name | the name is not quoted and shell=True is used | run_hook builds a shell command out of the branch name | the name is not quoted, and shell=True is used | Anyone who names a branch runs code | strings are concatenated for a shell
wrong-default | unsafe-default | parse_args | production is the default | parse_args takes production when nothing is given | the default of --target is production | parse_args takes production if nothing is given | the default for --target is production | A forgotten flag hits live systems | the fallback is the dangerous one
""",
    "tests/test_store.py": """
asserts-nothing | test-without-assertion | test_put | the test always passes | test_put asserts nothing | the result is computed and never compared | test_put does not assert anything | the result is computed but never compared | This check cannot fail | outcomes are ignored
mocks-subject | tests-the-mock | test_get | the implementation can be deleted | test_get replaces the function that it tests | Store.get itself is patched | test_get replaces the very function that it tests | Store.get itself gets patched | Removing the code keeps it green | the subject is substituted
depends-on-order | order-dependence | test_evict | it fails by itself | test_evict needs the state of an earlier test | the fixture has module scope and is not reset | test_evict needs the state of an earlier one | the fixture has module scope and is never reset | Running it alone breaks | leftovers are shared
sleeps | timing-dependence | test_flush | it fails on a slow machine | test_flush sleeps one second and hopes | a fixed sleep stands in for waiting on the event | test_flush sleeps for one second and hopes | a fixed sleep stands in for waiting for the event | It is red every other day in CI | clock time decides the result
""",
    "docs/api.md": """
wrong-example | outdated-documentation | put example | the example raises | the example of put lacks the third argument | the signature changed and the example did not | the example for put lacks the third argument | the signature changed but the example did not | Copying the snippet fails | prose was left behind
missing-error | undocumented-error | get errors | callers are surprised | get does not say that it raises KeyError | the section on errors lists only OSError | get does not say it raises KeyError | the section about errors lists only OSError | Readers do not expect exceptions | failure modes are left out
broken-link | dead-reference | see also | the link leads nowhere | the link to the guide is dead | the page was renamed and the link was not | the link to the guide leads nowhere | the page was renamed but the link was not | A reference gives 404 | targets moved away
wrong-unit | misleading-documentation | ttl | people set the wrong time | ttl is called seconds and is milliseconds | the unit in the table is not the one in the code | ttl is called seconds but is milliseconds | the unit in the table is not the one of the code | Values are a thousand times off | measures disagree
""",
}
HEAD, BASE = "a" * 40, "b" * 40


@dataclass(frozen=True)
class Defect:
    """One defect, told three times."""

    path: str
    mechanism: str
    other: str
    symbol: str
    symptom: str
    tellings: tuple[tuple[str, str], ...]


def defects() -> list[Defect]:
    """Every row of the corpus."""
    found = []
    for path, rows in FILES.items():
        for row in rows.strip().splitlines():
            mechanism, other, symbol, symptom, *texts = (part.strip() for part in row.split("|"))
            tellings = tuple(zip(texts[::2], texts[1::2], strict=True))
            found.append(Defect(path, mechanism, other, symbol, symptom, tellings))
    return found


def told(
    defect: Defect,
    telling: int,
    *,
    mechanism: str = "",
    symbol: bool = True,
    symptom: str | None = None,
    matches: str | None = None,
    path: str = "",
) -> dict[str, Any]:
    """One issue as a judge reports it."""
    title, cause = defect.tellings[telling]
    return {
        "title": title,
        "rootCause": cause,
        "mechanism": mechanism or defect.mechanism,
        "symbol": defect.symbol if symbol else None,
        "symptom": defect.symptom if symptom is None else symptom or None,
        "matches": matches,
        "path": path or defect.path,
    }


@dataclass(frozen=True)
class Probe:
    """A report of one issue against a ledger; `same` is the defect that it is, None if the ledger lacks it."""

    kind: str
    issue: dict[str, Any]
    known: tuple[Defect, ...]
    same: Defect | None


def probes() -> Iterator[Probe]:
    """Every pair of the corpus: tellings of a known defect, and defects that are new beside known ones."""
    every = tuple(defects())
    for number, one in enumerate(every):
        others = tuple(other for other in every if other is not one)
        own_id = f"F-{number + 1}"
        yield Probe("same key, other words", told(one, 2, mechanism=one.mechanism.upper(), symbol=False), every, one)
        yield Probe("same symbol and symptom", told(one, 2, mechanism=one.other), every, one)
        yield Probe("cited", told(one, 2, mechanism=one.other, symbol=False, matches=own_id), every, one)
        yield Probe("light rewording", told(one, 1, mechanism=one.other, symptom=""), every, one)
        yield Probe("other words, not cited", told(one, 2, mechanism=one.other, symptom=""), every, one)
        yield Probe("new, first telling", told(one, 0), others, None)
        yield Probe("new, without a symbol", told(one, 1, symbol=False, symptom=""), others, None)
        yield Probe("new, in other words", told(one, 2, mechanism=one.other, symbol=False), others, None)
        elsewhere = told(one, 0, path=f"moved/{one.path}", matches=own_id)
        yield Probe("same words in another file", elsewhere, every, None)


AIMED = "other words, not cited"
"""The only kind beyond the rules of page 3: nothing but the words, and none of them the same."""


def ledger_id(probe: Probe) -> str:
    """The id that `decide` gives to the reported issue."""
    ledger = _ledger()
    ledger = decide(ledger, _report([told(one, 0) for one in probe.known]), _context(1)).ledger
    decided = decide(ledger, _report([probe.issue]), _context(2))
    return decided.decision.findings[0].ledger_id


def verdict(probe: Probe) -> str:
    """right, split (a known defect got a new id) or merged (it got the id of another one)."""
    given = int(ledger_id(probe).removeprefix("F-")) - 1
    known = probe.known[given] if given < len(probe.known) else None
    if known is probe.same:
        return "right"
    return "split" if known is None else "merged"


def _report(issues: list[dict[str, Any]]) -> bytes:
    rows = [
        {
            "id": f"VI-{number}",
            "class": "correctness",
            **{key: issue[key] for key in issue if key not in ("title", "path")},
        }
        for number, issue in enumerate(issues, 1)
    ]
    findings = [
        {
            "title": issue["title"],
            "severity": 8,
            "description": issue["rootCause"],
            "sources": ["judge"],
            "location": {"path": issue["path"]},
        }
        for issue in issues
    ]
    scope = {"mode": "branch", "baseRef": "origin/main", "mergeBase": BASE, "headSha": HEAD}
    document = {
        "schemaVersion": 1,
        "status": "ok",
        "error": None,
        "findings": findings,
        "issues": rows,
        "scope": {**scope, "includedFiles": [], "excludedFiles": [], "deltaBaseSha": None, "deltaFiles": []},
        "triage": {"skillsRun": [], "skillsSkipped": []},
        "skillResults": [
            {"skill": "exerciser", "status": "PASSED", "notes": ""},
            {"skill": "judge", "status": "COMPLETED", "notes": ""},
        ],
        "exerciserVerification": [],
        "customGates": {"exerciser": [], "review": []},
    }
    return json.dumps(document).encode()


def _ledger() -> Ledger:
    document = {
        "project": "corpus",
        "changeKey": "main",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
        "runNumber": "20260101000000",
        "planFile": "plan.md",
        "severityThreshold": 5,
        "maxTurns": 10,
        "baseRef": "origin/main",
        "mergeBase": BASE,
        "run": {
            "options": {"executor": "scripted"},
            "mode": "published",
            "startHead": BASE,
            "startTree": "t",
            "untrackedAtStart": [],
            "stagedAtStart": [],
            "planDigest": "d",
        },
    }
    return Ledger.model_validate_json(json.dumps(document))


def _context(verify_run: int) -> Context:
    context = {
        "turn": verify_run,
        "maxTurns": 10,
        "verifyRun": verify_run,
        "headSha": HEAD,
        "baseRef": "origin/main",
        "mergeBase": BASE,
        "judges": ["judge"],
    }
    return Context.model_validate_json(json.dumps(context))


def counted() -> dict[str, dict[str, int]]:
    """Kind -> right, split, merged."""
    table: dict[str, dict[str, int]] = {}
    for probe in probes():
        row = table.setdefault(probe.kind, {"right": 0, "split": 0, "merged": 0})
        row[verdict(probe)] += 1
    return table


def shown(table: dict[str, dict[str, int]]) -> str:
    """The counts in words, with the shares of all pairs and of those within the rules."""
    lines = [f"{'kind':<28} {'right':>6} {'split':>6} {'merged':>6}"]
    lines += [f"{kind:<28} {row['right']:>6} {row['split']:>6} {row['merged']:>6}" for kind, row in table.items()]
    for name, kinds in (("all", [*table]), (f"without '{AIMED}'", [kind for kind in table if kind != AIMED])):
        total = sum(sum(table[kind].values()) for kind in kinds)
        split, merged = (sum(table[kind][word] for kind in kinds) for word in ("split", "merged"))
        share = 100 * (split + merged) / total
        lines.append(f"{name}: {total} pairs, {split} splits, {merged} wrong merges, {share:.1f} % wrong")
    return "\n".join(lines)


if __name__ == "__main__":
    print(shown(counted()))
    sys.exit(0)
