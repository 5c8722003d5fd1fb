from __future__ import annotations

from corpus_identity import AIMED, Probe, counted, defects, ledger_id, probes, shown, told


def test_the_identity_of_findings_is_kept_in_99_of_100_pairs_and_no_two_defects_are_ever_merged() -> None:
    table = counted()
    print(shown(table))
    pairs = sum(sum(row.values()) for row in table.values())
    assert pairs >= 200
    assert sum(row["merged"] for row in table.values()) == 0
    within = {kind: row for kind, row in table.items() if kind != AIMED}
    wrong = sum(row["split"] + row["merged"] for row in within.values())
    assert wrong <= sum(sum(row.values()) for row in within.values()) / 100, shown(table)


def test_a_judge_that_rephrases_every_finding_but_cites_it_never_gets_a_new_id() -> None:
    every = tuple(defects())
    for number, one in enumerate(every):
        issue = told(one, 2, mechanism=one.other, symbol=False, symptom="", matches=f"F-{number + 1}")
        assert ledger_id(Probe("cited", issue, every, one)) == f"F-{number + 1}"


def test_the_corpus_has_pairs_of_both_kinds() -> None:
    same = [probe.same is not None for probe in probes()]
    assert (sum(same), len(same) - sum(same)) == (200, 160)
