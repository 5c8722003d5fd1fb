from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Touchline = Callable[..., Any]
Copied = Callable[[str], Path]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_equal_runs_are_summed_up_and_end_with_0(touchline: Touchline, copied: Copied) -> None:
    said = touchline("replay", str(copied("coverage")))
    assert (said.status, said.out, said.err) == (0, "3 decisions, 15 steps, all equal\n", "")
    told = json.loads(touchline("replay", str(copied("approved")), "--json").out)
    assert told == {
        "equal": True,
        "complete": True,
        "decisions": 1,
        "steps": 7,
        "notCompared": [],
        "difference": None,
    }


def test_the_first_difference_is_shown_with_both_sides_and_ends_with_1(touchline: Touchline, copied: Copied) -> None:
    folder = copied("quarantine")
    edit(folder / "ledger.json", '"decision": "FEEDBACK"', '"decision": "APPROVED"')
    said = touchline("replay", str(folder))
    assert said.status == 1
    run = json.loads((folder / "ledger.json").read_bytes())["runNumber"]
    assert said.out.splitlines() == [
        f"different in run {run}: the decision of verification 1",
        "  field  decision",
        '  then   "APPROVED"',
        '  now    "FEEDBACK"',
        "equal before it: 0 decisions, 4 steps",
    ]
    said = touchline("replay", str(folder), "--json")
    assert said.status == 1
    told = json.loads(said.out)
    assert (told["equal"], told["complete"]) == (False, False)
    assert told["difference"] == {
        "run": run,
        "where": "the decision of verification 1",
        "field": "decision",
        "then": "APPROVED",
        "now": "FEEDBACK",
    }


def test_what_could_not_be_compared_is_named_and_is_not_called_equal(touchline: Touchline, copied: Copied) -> None:
    folder = copied("coverage")
    (folder / "reports" / "3.json").unlink()
    said = touchline("replay", str(folder))
    assert said.status == 0
    assert "not compared: " in said.out
    assert "reports/3.json is gone" in said.out
    assert said.out.endswith("2 decisions, 15 steps, equal as far as compared\n")
    assert json.loads(touchline("replay", str(folder), "--json").out)["complete"] is False


def test_nothing_compared_is_no_success(touchline: Touchline, copied: Copied) -> None:
    folder = copied("approved")
    shutil.rmtree(folder / "reports")
    (folder / "steps.jsonl").unlink()
    said = touchline("replay", str(folder))
    assert (said.status, said.out.splitlines()[-1]) == (1, "nothing could be compared")
    assert json.loads(touchline("replay", str(folder), "--json").out)["equal"] is False


def test_a_torn_last_line_and_broken_lines_are_named(touchline: Touchline, copied: Copied) -> None:
    folder = copied("approved")
    steps = folder / "steps.jsonl"
    steps.write_bytes(steps.read_bytes()[:-10])
    said = touchline("replay", str(folder))
    assert said.status == 0
    assert said.out.splitlines()[0] == "not compared: steps.jsonl: its last line is torn"
    assert said.out.endswith("1 decision, 6 steps, equal as far as compared\n")
    lines = steps.read_bytes().split(b"\n")
    steps.write_bytes(b"\n".join([lines[0], b"[1]", b"\xff{", *lines[1:-1]]) + b"\n")
    said = touchline("replay", str(folder))
    assert said.out.splitlines()[:2] == [
        "not compared: steps.jsonl: line 2 is no record of a step",
        "not compared: steps.jsonl: line 3 is no record of a step",
    ]


def test_a_beginning_that_cannot_be_understood_is_named(touchline: Touchline, copied: Copied) -> None:
    folder = copied("two-runs")
    first = min((folder / "starts").iterdir())
    first.write_text("{}")
    said = touchline("replay", str(folder))
    assert said.status == 0
    assert said.out.startswith(f"not compared: the beginning of run {first.stem}: it cannot be understood\n")
    assert said.out.endswith("1 decision, 7 steps, equal as far as compared\n")


def test_a_run_is_found_by_its_name(touchline: Touchline, copied: Copied) -> None:
    place = Path(os.environ["XDG_STATE_HOME"]) / "player-coach" / "project-12345678" / "main-local"
    shutil.copytree(copied("approved"), place)
    assert touchline("replay", "project-12345678/main-local").out == "1 decision, 7 steps, all equal\n"
    assert touchline("replay", "main-local").status == 0


def test_a_run_that_is_not_there_is_a_usage_error(touchline: Touchline, tmp_path: Path) -> None:
    said = touchline("replay", "nothing/here")
    assert (said.status, said.out) == (2, "")
    assert "touchline runs" in said.err
    assert touchline("replay", str(tmp_path)).status == 2


def test_a_ledger_that_cannot_be_read_is_an_error(touchline: Touchline, copied: Copied) -> None:
    folder = copied("approved")
    (folder / "ledger.json").write_text("{")
    said = touchline("replay", str(folder))
    assert said.status == 2
    assert "corrupt" in said.err


def test_a_run_at_work_is_not_replayed(touchline: Touchline, copied: Copied) -> None:
    from touchline.ledger.lock import RunLock

    folder = copied("approved")
    with RunLock(folder):
        said = touchline("replay", str(folder))
    assert (said.status, said.out) == (2, "")
    assert "still at work" in said.err


@pytest.mark.parametrize("option", [(), ("--json",), ("--events",), ("--events", "--json")])
def test_nothing_is_written(touchline: Touchline, copied: Copied, option: tuple[str, ...]) -> None:
    folder = copied("interrupted")
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}
    assert touchline("replay", str(folder), *option).status == 0
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")} == before


def test_words_of_a_model_are_made_safe_for_the_terminal(touchline: Touchline, copied: Copied) -> None:
    folder = copied("quarantine")
    edit(folder / "ledger.json", "Unchecked input", "Unchecked \\u001b[31m input")
    said = touchline("replay", str(folder))
    assert said.status == 1
    assert "\x1b" not in said.out
    assert "\\x1b" in said.out or "\\u001b" in said.out


def test_events_are_compared_and_the_first_difference_is_shown(touchline: Touchline, copied: Copied) -> None:
    folder = copied("approved")
    assert touchline("replay", str(folder), "--events").out == "8 events of 1 program, all equal\n"
    edit(
        folder / "events.jsonl",
        '"kind": "UsageReported", "payload": {"input": 10,',
        '"kind": "UsageReported", "payload": {"input": 11,',
    )
    said = touchline("replay", str(folder), "--events")
    assert said.status == 1
    assert said.out.splitlines() == [
        "different in player, program 1, turn 1: event 6 of its turn",
        '  then   UsageReported {"input": 11, "output": 5, "cached": 0, "cost": null}',
        '  now    UsageReported {"input": 10, "output": 5, "cached": 0, "cost": null}',
        "equal before it: 5 events of 1 program",
    ]
    told = json.loads(touchline("replay", str(folder), "--events", "--json").out)
    assert (told["equal"], told["complete"]) == (False, False)
    assert told["programs"][0]["difference"]["then"]["payload"]["input"] == 11


def test_a_stream_that_is_gone_is_not_compared(touchline: Touchline, copied: Copied) -> None:
    folder = copied("interrupted")
    (folder / "raw" / "000002-0001.log").unlink()
    said = touchline("replay", str(folder), "--events")
    assert said.status == 0
    assert said.out.splitlines() == [
        "not compared: player, program 2, turn 1: its raw stream was not kept whole",
        "11 events of 2 programs, equal as far as compared",
    ]
    shutil.rmtree(folder / "raw")
    said = touchline("replay", str(folder), "--events")
    assert (said.status, said.out) == (1, "nothing was recorded\n")
