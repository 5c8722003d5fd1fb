from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.documents.ledger import Finding
from touchline.ledger.identity import FindingIndex, Traits, finding_key, next_id, normalise_path, slug


def known(number: int, **changes: Any) -> Finding:
    fields = {
        "id": f"F-{number}",
        "key": "",
        "title": f"Title {number}",
        "root_cause": f"Cause {number}",
        "mechanism": f"mechanism-{number}",
        "class": "correctness",
        "severity": 5,
        "first_seen": 1,
        "last_seen": 1,
        "disposition": "open",
        "disposition_set_at": 1,
        "location": {"path": "src/a.py", "line": 3},
        **changes,
    }
    return Finding.model_validate(fields)


def traits(path: str | None = "src/a.py", **changes: str) -> Traits:
    return Traits(**{"path": path, "mechanism": "unheard-of", "title": "xyz", "root_cause": "qqq", **changes})


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src\\a.py", "src/a.py"),
        (".\\src\\..\\src\\a.py", "src/a.py"),
        ("src//a.py", "src/a.py"),
        ("src/./b/../a.py", "src/a.py"),
        ("Src/A.py", "Src/A.py"),
        ("../a.py", "../a.py"),
        ("/etc/a.py", "/etc/a.py"),
        ("//etc/a.py", "/etc/a.py"),
        ("a b/ü.py", "a b/ü.py"),
        ("", None),
        (" a ", " a "),
        ('"caf\\351.md"', '"caf\\351.md"'),
        (".", None),
        (None, None),
    ],
)
def test_paths_are_normalised_lexically_and_keep_their_case(given: str | None, plain: str | None) -> None:
    assert normalise_path(given) == plain


@given(st.text(max_size=60))
def test_normalising_a_path_twice_changes_nothing(path: str) -> None:
    once = normalise_path(path)
    assert normalise_path(once) == once


def test_a_key_folds_case_and_punctuation_of_the_mechanism() -> None:
    assert finding_key("./src/a.py", "Null-Check: missing!") == finding_key("src/a.py", "null check_MISSING")
    assert finding_key("src/a.py", "x") != finding_key("src/A.py", "x")
    assert finding_key("src/a.py", "?!") == ""
    assert slug("空指针 检查") == "空指针-检查"


def test_ids_go_on_after_the_highest_ever_used() -> None:
    assert next_id("F", []) == "F-1"
    assert next_id("F", ["F-2", "F-9", "Q-40", "F-x", "F-9999999999"]) == "F-10"


def test_the_rules_are_tried_in_order() -> None:
    index = FindingIndex(
        [
            known(1, title="The retry loop never ends when the server is down"),
            known(2, symbol="Client.get", symptom="hangs"),
            known(3, mechanism="endless-retry"),
            known(4),
        ],
        {},
    )
    all_of_them = {
        "mechanism": "Endless retry",
        "symbol": "client.get",
        "symptom": "Hangs",
        "title": "The retry loop never ends when server is down",
    }
    assert index.match(traits(**all_of_them), "F-4") is not None

    def reason(cites: str | None, **changes: str) -> tuple[str, str] | None:
        match = index.match(traits(**changes), cites)
        return (match.finding_id, match.reason) if match else None

    assert reason("F-4", **all_of_them) == ("F-4", "same-ledger-id")
    assert reason(None, **all_of_them) == ("F-3", "same-key")
    all_of_them.pop("mechanism")
    assert reason(None, **all_of_them) == ("F-2", "same-symbol-and-symptom")
    all_of_them.pop("symptom")
    assert reason(None, **all_of_them) == ("F-1", "similar-cause")
    all_of_them.pop("title")
    assert reason(None, **all_of_them) is None


def test_nothing_merges_across_files() -> None:
    index = FindingIndex([known(1, symbol="f", symptom="crash")], {})
    same = {"mechanism": "mechanism-1", "symbol": "f", "symptom": "crash", "title": "Title 1", "root_cause": "Cause 1"}
    assert index.match(traits("src/a.py", **same), None) is not None
    for other in ("src/b.py", "SRC/a.py", "a.py", "lib/src/a.py", None):
        assert index.match(traits(other, **same), None) is None, other
    assert index.match(traits("src/b.py", **same), "F-1") is None, "not even when the report cites the id"


def test_a_rename_known_to_git_maps_the_old_path() -> None:
    index = FindingIndex([known(1)], {"./src/a.py": "lib\\a.py"})
    match = index.match(traits("lib/a.py", mechanism="mechanism-1"), None)
    assert match is not None
    assert (match.finding_id, match.reason) == ("F-1", "same-mechanism")
    assert index.match(traits("src/a.py", mechanism="mechanism-1"), None) is None


def test_without_a_path_only_a_citation_or_an_equal_key_matches() -> None:
    index = FindingIndex([known(1, location=None, mechanism="turn-discipline", symbol="s", symptom="t"), known(2)], {})

    def matched(cites: str | None = None, path: str | None = None, **changes: str) -> str | None:
        match = index.match(traits(path, **changes), cites)
        return match.finding_id if match else None

    assert matched(mechanism="Turn discipline") == "F-1"
    assert matched(symbol="s", symptom="t", title="Title 1", root_cause="Cause 1") is None
    assert matched(cites="F-1") == "F-1"
    assert matched(cites="F-2") == "F-2"
    assert matched(cites="F-1", path="src/a.py") == "F-1"
    assert matched(path="src/a.py", mechanism="turn-discipline") is None
    assert matched(cites="F-77") is None


def test_a_mechanism_without_words_is_no_key_and_an_empty_symbol_no_symbol() -> None:
    index = FindingIndex([known(1, mechanism="!!", symbol="", symptom="")], {})
    assert index.match(traits(mechanism="??", symbol="", symptom=""), None) is None


def test_fixed_findings_take_part() -> None:
    index = FindingIndex([known(1, disposition="fixed")], {})
    assert index.match(traits(mechanism="mechanism-1"), None) is not None


def test_the_earliest_id_wins_a_tie() -> None:
    same = {"mechanism": "same", "symbol": "f", "symptom": "crash", "title": "One text", "root_cause": "One cause"}
    index = FindingIndex([known(10, **same), known(9, **same), known(2, location={"path": "src/b.py"}, **same)], {})
    for changes in ({"mechanism": "same"}, {"symbol": "f", "symptom": "crash"}, {"root_cause": "one cause!"}):
        match = index.match(traits(**changes), None)
        assert match is not None
        assert match.finding_id == "F-9", changes


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            "Redis client never closes the connection on error",
            "On error the redis client never closes connection",
            True,
        ),
        (
            "Timeout handler swallows the exception so callers never see the failure",
            "Timeout handler swallows exceptions; the caller never sees a failure",
            True,
        ),
        ("Missing null check in foo", "Missing null check in bar", False),
        ("The lock is released before the file is written", "The lock is released before the file is closed", False),
        ("No test covers the empty input of load", "No test covers the error path of load", False),
        ("SQL is built by concatenation", "The session cookie has no expiry", False),
    ],
)
def test_texts_are_one_cause_above_the_documented_threshold(one: str, other: str, same: bool) -> None:
    for kind in ("title", "root_cause"):
        index = FindingIndex([known(1, **{"title": "abc", "root_cause": "def", kind: one})], {})
        match = index.match(traits(**{kind: other}), None)
        assert (match is not None and match.reason == "similar-cause") is same, kind


def test_many_findings_in_one_file_are_still_told_apart() -> None:
    rows = [known(number, root_cause=f"Cause {number} that nothing else shares") for number in range(1, 400)]
    index = FindingIndex(rows, {})
    for number in (1, 200, 399):
        match = index.match(traits(root_cause=f"the cause {number} that nothing else shares"), None)
        assert match is not None
        assert match.finding_id == f"F-{number}"


def test_likeness_never_joins_two_different_named_symbols() -> None:
    text = "The function does not check its argument before it is used"
    index = FindingIndex([known(1, root_cause=text, symbol="Client.get")], {})
    assert index.match(traits(root_cause=text, symbol="put"), None) is None
    for symbol in ("", "Client.get", "get", "client::get", "lib.Client.get"):
        assert index.match(traits(root_cause=text, symbol=symbol), None) is not None, symbol


def test_a_finding_that_is_taken_is_left_to_the_next_like_one() -> None:
    text = "The same words in both of them"
    index = FindingIndex([known(1, root_cause=text), known(2, root_cause=text)], {})
    match = index.match(traits(root_cause=text), None, taken={"F-1"})
    assert match is not None
    assert match.finding_id == "F-2"
    assert index.match(traits(root_cause=text), None, taken={"F-1", "F-2"}) is None
    exact = index.match(traits(mechanism="mechanism-1"), None, taken={"F-1"})
    assert exact is not None
    assert exact.finding_id == "F-1", "only likeness is refused"


texts = st.text(alphabet="ab -é空", max_size=12)


@given(st.lists(st.tuples(texts, texts, texts), max_size=8), texts, texts, texts)
def test_a_match_is_always_in_the_same_file(
    rows: list[tuple[str, str, str]], path: str, mechanism: str, cause: str
) -> None:
    findings = [
        known(number, location={"path": one}, mechanism=two, root_cause=three)
        for number, (one, two, three) in enumerate(rows, start=1)
    ]
    index = FindingIndex(findings, {})
    plain = normalise_path(path)
    match = index.match(traits(plain, mechanism=mechanism, root_cause=cause), None)
    if match is not None:
        found = next(one for one in findings if one.id == match.finding_id)
        assert found.location is not None
        assert normalise_path(found.location.path) == plain
