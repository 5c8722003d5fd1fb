from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.gates.decide import decide

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
words = st.sampled_from(["", "PASSED", "FAILED", "BLOCKED", "NOT_RUN", "COMPLETED", "PASS", "FAIL", "odd"])
classes = st.sampled_from(["correctness", "coverage", "style", "test-failure"])
names = st.sampled_from(["src/a.py", "./src/a.py", "src/b.py", "tests/t.py"])


@st.composite
def issues(draw: st.DrawFn, make: Any) -> list[dict[str, Any]]:
    count = draw(st.integers(0, 5))
    return [
        make.issue(
            number,
            path=draw(names | st.none()),
            severity=draw(st.integers(1, 10)),
            title=draw(st.text(max_size=20)),
            rootCause=draw(st.text(max_size=30)),
            mechanism=draw(st.sampled_from(["a", "b", "c", ""])),
            signature=draw(st.none() | st.sampled_from(["s1", "s2"])),
            firstOrder=draw(st.booleans()),
            newHarmEvidence=draw(st.none() | st.text(max_size=5)),
            matches=draw(st.none() | st.sampled_from(["F-1", "F-2", "Q-1"])),
            **{"class": draw(classes)},
        )
        for number in range(count)
    ]


@st.composite
def reports(draw: st.DrawFn, make: Any) -> dict[str, Any]:
    rows = draw(issues(make))
    rule = st.fixed_dictionaries({"rule": st.sampled_from(["r", "s"]), "status": words, "evidence": st.just("e")})
    skill = st.fixed_dictionaries(
        {"skill": st.sampled_from(["exerciser", "tester", "reviewer"]), "status": words, "notes": st.just("n")}
    )
    good = make.skills(tester="PASSED")
    diagnosis = st.fixed_dictionaries(
        {
            "issueId": st.sampled_from(["VI-0", "VI-1"]),
            "preExisting": st.sampled_from(["yes", "no"]),
            "touchedByDiff": st.just([]),
            "reproducedAt": st.just(make.base),
        }
    )
    recheck = st.fixed_dictionaries(
        {"ledgerId": st.sampled_from(["F-1", "F-2"]), "status": st.sampled_from(["fixed", "still-open"])}
    )
    return make.report(  # type: ignore[no-any-return]
        *rows,
        skillResults=[*draw(st.just(good) | st.just([])), *draw(st.lists(skill, max_size=3))],
        customGates={"exerciser": draw(st.lists(rule, max_size=2)), "review": draw(st.lists(rule, max_size=2))},
        diagnoses=draw(st.lists(diagnosis, max_size=2)),
        rechecks=draw(st.lists(recheck, max_size=2)),
        scope={"deltaFiles": draw(st.lists(names, max_size=2))},
    )


def contexts() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "turn": st.integers(0, 4),
            "maxTurns": st.integers(1, 4),
            "rerunsThisTurn": st.integers(0, 3),
            "fullAudit": st.booleans(),
            "declared": st.booleans(),
            "testsConfigured": st.booleans(),
            "diffPaths": st.lists(names, max_size=2),
        }
    )


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_chain_of_decisions_keeps_every_invariant(make: Any, data: st.DataObject) -> None:
    state = make.ledger(severityThreshold=data.draw(st.integers(1, 10)))
    for verify_run in range(1, data.draw(st.integers(1, 4)) + 1):
        document = data.draw(reports(make))
        context = make.context(verifyRun=verify_run, **data.draw(contexts()))
        raw = make.as_bytes(document)
        one, two = decide(state, raw, context), decide(state, raw, context)
        assert one.decision.to_bytes() == two.decision.to_bytes(), "same input, same bytes"
        assert one.ledger.to_bytes() == two.ledger.to_bytes()
        assert type(state).model_validate_json(one.ledger.to_bytes()) == one.ledger, "it can be read back"
        decision = one.decision
        known = {row.id: row for row in state.findings}
        reported: dict[str, int] = {}
        for row, finding in zip(decision.findings, document["findings"], strict=False):
            reported[row.ledger_id] = max(reported.get(row.ledger_id, 0), finding["severity"])
        for finding in one.ledger.findings:
            allowed = reported.get(finding.id) or known[finding.id].severity
            assert finding.severity <= allowed, "no rule raises a severity"
        assert len({row.id for row in one.ledger.findings}) == len(one.ledger.findings)
        assert [row.id for row in one.ledger.findings][: len(known)] == list(known), "no finding is ever lost"
        if decision.decision == "APPROVED":
            assert decision.failed_gates == []
            assert decision.reviewer is not None
            assert not context.full_audit or decision.counts.blocking == 0
            assert (decision.next == "PHASE_2") is context.full_audit
        if decision.decision == "RERUN":
            assert one.ledger.findings == state.findings
            assert context.reruns_this_turn < 2
        if decision.decision == "FEEDBACK":
            assert decision.failed_gates or decision.counts.blocking
        state = one.ledger


@given(st.binary(max_size=200))
@settings(max_examples=100)
def test_no_bytes_raise_and_none_approve(make: Any, data: bytes) -> None:
    for reruns in (0, 2):
        decided = decide(make.ledger(), data, make.context(rerunsThisTurn=reruns))
        assert decided.decision.decision == ("FEEDBACK" if reruns else "RERUN")
        assert decided.ledger.to_bytes()


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_no_value_in_any_place_of_a_report_raises(make: Any, data: st.DataObject) -> None:
    document = make.report(make.issue(1), make.issue(2))
    document["rechecks"] = [{"ledgerId": "F-1", "status": "fixed"}]
    spot: Any = document
    while True:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        inner = spot[key]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            spot = inner
            continue
        spot[key] = data.draw(json_values)
        break
    raw = json.dumps(document).encode()
    for reruns in (0, 2):
        decided = decide(make.ledger(), raw, make.context(rerunsThisTurn=reruns))
        assert decided.decision.to_bytes()
        assert decided.ledger.to_bytes()


@given(gate=st.sampled_from(["exerciser", "tester", "custom", "discipline"]), data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_blocked_gate_never_approves(make: Any, gate: str, data: st.DataObject) -> None:
    document = data.draw(reports(make))
    context = data.draw(contexts()) | {"turn": 1}
    if gate in ("exerciser", "tester"):
        document["skillResults"].append({"skill": gate, "status": "BLOCKED", "notes": ""})
        context["testsConfigured"] = True
    elif gate == "custom":
        document["customGates"]["review"].append({"rule": "r", "status": "BLOCKED", "evidence": ""})
    else:
        context["declared"] = False
    assert make.judge(document, **context).decision.decision != "APPROVED"


def test_a_report_object_and_its_bytes_are_decided_alike(make: Any) -> None:
    from touchline.documents.report import Report

    raw = make.as_bytes(make.report(make.issue(1)))
    parsed = Report.model_validate_json(raw)
    assert decide(make.ledger(), parsed, make.context()) == decide(make.ledger(), raw, make.context())


def test_a_report_object_that_cannot_be_written_is_incomplete(make: Any) -> None:
    from touchline.documents.report import Report

    parsed = Report.model_validate_json(make.as_bytes(make.report()))
    broken = parsed.model_copy(update={"error": "\ud800", "status": "error"})
    assert decide(make.ledger(), broken, make.context()).decision.decision == "RERUN"
