"""The text of a change request: every section from the ledger, people's text untouched, never too long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.coach.publish.body import BEGIN, BODY_MAX, END, STATE_BEGIN, STATE_END, final_body, first_body, merged
from touchline.documents.base import Location
from touchline.documents.decision import Context
from touchline.documents.ledger import (
    Attempt,
    CiFailure,
    Finding,
    GateRow,
    Ledger,
    Provenance,
    QuarantineEntry,
    Settlement,
)
from touchline.gates.reading import Reading, read_report

GOLDEN = Path(__file__).with_name("golden_body.md")
PLAN = "# Slugs for titles\n\nAdd `slugify(title)`.\n\n1. Lower case.\n"
HEADINGS = [
    "Summary",
    "What Changed",
    "Reviewer Guide",
    "Testing Plan",
    "Implementation Journey",
    "Final State",
    "Friction Log",
    "Below-Threshold Issues",
    "CI History",
]
FIRST, SECOND = "1" * 40, "2" * 40


def finding(name: str, **values: Any) -> Finding:
    base = {
        "id": name,
        "key": name,
        "title": f"title of {name}",
        "root_cause": "x",
        "mechanism": "y",
        "class": "correctness",
        "severity": 6,
        "first_seen": 1,
        "last_seen": 1,
        "disposition": "open",
        "disposition_set_at": 1,
    }
    return Finding.model_validate({**base, **values})


def whole(build: Any, **values: Any) -> Ledger:
    """A published run of two turns in which everything happened that a body can tell."""
    context = Context(
        turn=2,
        max_turns=3,
        verify_run=3,
        head_sha=SECOND,
        tree_hash="t2",
        base_ref="origin/main",
        merge_base="a" * 40,
        diff_paths=["src/slugs.py", "tests/test_slugs.py"],
        tests_configured=True,
    ).model_dump(mode="json", by_alias=True)
    turns = (
        build.turn(
            1,
            head_sha=FIRST,
            declared=False,
            changed_paths=["src/slugs.py", "notes.txt"],
            settlement=Settlement(kind="undeclared", reason="the turn ended without a trailer"),
            attempts=[Attempt(kind="rate-limit", at="2026-12-01T00:00:00Z")],
            concerns=["the plan does not say what happens to digits"],
            commit_refused="the hook commit-msg refused the commit: too long",
        ),
        build.turn(
            2,
            head_sha=SECOND,
            declared=True,
            changed_paths=["src/slugs.py", "tests/test_slugs.py"],
            feedback_items_given=2,
            settlement=Settlement(kind="finished", summary="fold accents"),
        ),
    )
    verifications = (
        build.verification(1, 1, head_sha=FIRST, decision="FEEDBACK", reason="1 blocking: F-1"),
        build.verification(2, 2, "interrupted", head_sha=SECOND),
        build.verification(
            3, 2, head_sha=SECOND, decision="APPROVED", next="PHASE_2", reason="no finding blocks", reviewer="judge",
            context=context,
        ),
    )  # fmt: skip
    run = build.run(
        mode="published",
        source_branch="touchline/slugs",
        target_branch="main",
        assumptions=["turn 1: nobody could answer: which digits?"],
        configuration={"tests": {"command": ["pytest", "-q"]}},
    )
    entry = QuarantineEntry(
        id="Q-1",
        title="the clock test fails at night",
        signature="s",
        paths=["tests/test_clock.py"],
        provenance=Provenance(reproduced_at="a" * 40, command="pytest"),
        first_seen=1,
        reraise_count=2,
    )
    findings = [
        finding("F-1", disposition="fixed"),
        finding("F-2", disposition="accepted-below-threshold", severity=3, location=Location(path="src/slugs.py")),
        finding("F-3", occurrences=2, severity=4),
    ]
    failure = CiFailure(run_number=turns[0].run_number, ci_run=1, turn=2, head_sha=SECOND, check="lint", summary="E501")
    ledger: Ledger = build.ledger(
        *turns,
        verifications=verifications,
        run=run,
        quarantine=[entry],
        findings=findings,
        ci_failures=[failure],
        interruptions=["turn 2: changed between two verifications: notes.txt"],
        **values,
    )
    return ledger


def reading() -> Reading:
    report = {
        "schemaVersion": 1,
        "status": "ok",
        "error": None,
        "findings": [],
        "issues": [],
        "scope": {
            "mode": "branch", "baseRef": "origin/main", "mergeBase": "a" * 40, "headSha": SECOND, "treeHash": "t2",
            "includedFiles": [], "excludedFiles": [], "deltaBaseSha": None, "deltaFiles": [],
        },
        "triage": {"skillsRun": [], "skillsSkipped": []},
        "skillResults": [
            {"skill": "exerciser", "status": "PASSED", "notes": "ran examples/titles.py: the slugs are right"},
            {"skill": "judge", "status": "COMPLETED", "notes": ""},
        ],
        "exerciserVerification": [],
        "customGates": {
            "exerciser": [],
            "review": [{"rule": "It is documented", "status": "PASS", "evidence": "README"}],
        },
    }  # fmt: skip
    context = Context(
        turn=2, max_turns=3, verify_run=3, head_sha=SECOND, tree_hash="t2", base_ref="origin/main", merge_base="a" * 40
    )
    read = read_report(json.dumps(report).encode(), context)
    assert read.problems == ()
    return read


def headings(body: str) -> list[str]:
    return [line.removeprefix("## ") for line in body.splitlines() if line.startswith("## ")]


def test_every_section_stands_in_order_with_what_the_ledger_knows(build: Any) -> None:
    body = final_body(whole(build), PLAN, status="APPROVED_DRAFT_OPEN", reason="no finding blocks", reading=reading())
    assert headings(body) == HEADINGS
    assert body == GOLDEN.read_text(encoding="utf-8")


def test_sections_with_nothing_to_say_are_left_out(build: Any) -> None:
    ledger = build.ledger(build.turn(1, head_sha=FIRST, changed_paths=["a.py"]))
    body = final_body(ledger, PLAN, status="FAILED_PUBLISH", reason="the remote is full")
    assert headings(body) == ["Summary", "What Changed", "Implementation Journey", "Final State"]
    title, draft = first_body(ledger, PLAN)
    assert title == "Slugs for titles"
    assert headings(draft) == ["Summary", "What Changed"]
    assert "nothing of this was verified yet" in draft


def test_the_final_state_names_the_commit_that_was_never_verified_and_every_blocker(build: Any) -> None:
    gate = GateRow(gate="tester", status="FAILED", severity=10)
    ledger = build.ledger(
        build.turn(1, head_sha=FIRST, changed_paths=["a.py"]),
        build.turn(2, head_sha=SECOND, changed_paths=["a.py"]),
        verifications=(build.verification(1, 1, head_sha=FIRST, decision="FEEDBACK", gates=[gate]),),
        findings=[finding("F-1")],
    )
    body = final_body(ledger, PLAN, status="FAILED_PUBLISH", reason="push refused", unverified=SECOND)
    state = body.partition(STATE_BEGIN)[2].partition(STATE_END)[0].strip().splitlines()
    assert state == [
        "- Status: **FAILED_PUBLISH** (push refused)",
        f"- Last verified commit: `{FIRST}`",
        "- Turns used: 2 of 3",
        "- Verification runs: 1",
        "- Reviewer: none",
        f"- Not verified: `{SECOND}`",
        "- Blocking: F-1 (severity 6, correctness): title of F-1",
        "- Blocking: gate tester, FAILED",
    ]


def test_a_local_test_command_that_was_not_found_is_said(build: Any) -> None:
    row = build.verification(1, 1, head_sha=FIRST, decision="APPROVED", context={"testsConfigured": False})
    ledger = build.ledger(build.turn(1, head_sha=FIRST, changed_paths=["a.py"]), verifications=(row,))
    body = final_body(ledger, PLAN, status="APPROVED_DRAFT_OPEN", reason="")
    assert "- No test command was found, so no tests were run." in body


def test_where_the_work_tree_lies_is_not_told_to_the_host(build: Any) -> None:
    place = "/home/some_one/my_project"
    turn = build.turn(
        1, head_sha=FIRST, changed_paths=["a.py"], concerns=[f"see {place}/a.py in {place}, not {place}-2/b.py"]
    )
    ledger = build.ledger(turn, run=build.run(mode="published", repo=place))
    body = final_body(ledger, PLAN, status="TURN_LIMIT_VERIFY", reason=f"{place}/t.py failed")
    assert "- Turn 1: see a.py in ., not /home/some\\_one/my\\_project-2/b.py" in body
    assert "(\u200bt.py failed)" in body


@pytest.mark.parametrize(
    "present",
    [
        "",
        "  \n",
        "Written by a person.\r\n\r\nWith CRLF  \n",
        f"They quote {END} first",
        f"They begin {BEGIN}\nand stop",
    ],
)
def test_our_part_comes_after_what_people_wrote_and_is_replaced_in_place(build: Any, present: str) -> None:
    ledger = whole(build)
    first = final_body(ledger, PLAN, status="TURN_LIMIT_VERIFY", reason="one")
    once = merged(present, first)
    kept = present if present.strip() else ""
    assert once.startswith(kept)
    around = f"above\r\n{once}\n\nbelow {BEGIN} and {END}  \r\n"
    second = final_body(ledger, PLAN, status="APPROVED_DRAFT_OPEN", reason="two")
    twice = merged(around, second)
    assert twice == around.replace(first.rstrip("\n"), second.rstrip("\n"))
    assert merged(twice, second) == twice


@given(before=st.text(max_size=300), after=st.text(max_size=300))
def test_whatever_people_write_around_our_part_stays_byte_for_byte(before: str, after: str) -> None:
    ours = f"{BEGIN}\n\nold\n\n{END}"
    assert merged(f"{before}{ours}{after}", f"{BEGIN}\n\nnew\n\n{END}\n") == f"{before}{BEGIN}\n\nnew\n\n{END}{after}"


@pytest.mark.parametrize("people", [0, 30_000, 59_500, 90_000])
def test_a_text_that_is_too_long_loses_sections_and_never_its_markers_its_state_or_what_people_wrote(
    build: Any, people: int
) -> None:
    ledger = whole(build)
    blockers = [finding(f"F-{number}", title="*" * 400, severity=9) for number in range(10, 400)]
    ledger = ledger.model_copy(update={"findings": [*ledger.findings, *blockers]})
    row = ledger.turns[1].model_copy(update={"concerns": ["c" * 600] * 200, "changed_paths": ["p" * 300] * 300})
    ledger = ledger.model_copy(update={"turns": [ledger.turns[0], row]})
    written = "p" * people
    body = merged(written, final_body(ledger, PLAN, status="APPROVED_DRAFT_OPEN", reason="r"))
    assert body.startswith(written)
    assert len(body) <= max(BODY_MAX, people + 2_200)
    ours = body[people:].lstrip("\n")
    assert ours.startswith(BEGIN)
    assert ours.endswith(END)
    assert ours.count(STATE_BEGIN) == ours.count(STATE_END) == ours.count(BEGIN) == ours.count(END) == 1
    assert "- Status: **APPROVED_DRAFT_OPEN** (r)" in ours
    assert f"- Last verified commit: `{SECOND}`" in ours
    assert "is cut here" in ours
    assert merged(body, final_body(ledger, PLAN, status="APPROVED_DRAFT_OPEN", reason="r")) == body
