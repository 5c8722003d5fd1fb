from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from touchline.cli import main
from touchline.commands.gates import command


@pytest.fixture
def files(tmp_path: Path, make: Any) -> dict[str, Path]:
    """A ledger that waits for its first decision and a report with one problem."""
    loop = make.loop()
    loop.verify(make.issue(1))
    written = {"ledger": tmp_path / "ledger.json", "report": tmp_path / "1.json", "context": tmp_path / "context.json"}
    written["ledger"].write_bytes(make.ledger().to_bytes())
    written["report"].write_bytes(make.as_bytes(make.report(make.issue(1, severity=6))))
    written["context"].write_bytes(make.context().to_bytes())
    return written


def gates(*argv: object) -> int:
    return main(["gates", *(str(one) for one in argv)])


def test_the_decision_is_printed_as_json_alone_on_stdout(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    before = {name: path.read_bytes() for name, path in files.items()}
    status = gates("--ledger", files["ledger"], "--report", files["report"], "--context", files["context"], "--json")
    printed = capsys.readouterr()
    decision = json.loads(printed.out)
    assert (status, printed.err) == (0, "")
    assert (decision["decision"], decision["next"]) == ("FEEDBACK", "PLAYER_TURN")
    assert decision["counts"] == {"blocking": 1, "quarantined": 0, "deferred": 0}
    assert decision["findings"][0]["ledgerId"] == "F-1"
    assert {name: path.read_bytes() for name, path in files.items()} == before, "nothing is written"


def test_another_threshold_may_be_tried(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    gates(
        "--ledger",
        files["ledger"],
        "--report",
        files["report"],
        "--context",
        files["context"],
        "--threshold",
        7,
        "--json",
    )
    assert json.loads(capsys.readouterr().out)["decision"] == "APPROVED"
    assert gates("--ledger", files["ledger"], "--report", files["report"], "--threshold", 11) == 2


def test_the_context_defaults_to_the_one_stored_with_the_latest_verification(
    files: dict[str, Path], make: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "runNumber": "20260101000000",
        "verifyRun": 4,
        "turn": 10,
        "state": "read",
        "context": json.loads(make.context(turn=10, verifyRun=4).to_bytes()),
        "headSha": make.head,
        "reportPath": "reports/4.json",
        "fullAudit": True,
    }
    files["ledger"].write_bytes(make.ledger(verificationRuns=[row]).to_bytes())
    assert gates("--ledger", files["ledger"], "--report", files["report"], "--json") == 0
    assert json.loads(capsys.readouterr().out)["next"] == "TERMINAL:TURN_LIMIT_VERIFY"
    files["context"].write_text('{"turn": 3}')
    gates("--ledger", files["ledger"], "--report", files["report"], "--context", files["context"], "--json")
    assert json.loads(capsys.readouterr().out)["next"] == "PLAYER_TURN"


def test_without_any_verification_the_rows_of_the_ledger_tell(
    files: dict[str, Path], make: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = make.turn_row(2, headSha=make.head, declared=False)
    files["ledger"].write_bytes(make.ledger(turns=[turn]).to_bytes())
    assert gates("--ledger", files["ledger"], "--report", files["report"], "--json") == 0
    decision = json.loads(capsys.readouterr().out)
    assert [row["gate"] for row in decision["failedGates"]] == ["turn-discipline"]


def test_without_a_stored_context_the_changed_paths_come_from_the_repository(
    files: dict[str, Path], repo: Path, make: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*argv: str) -> str:
        done = subprocess.run(["git", *argv], cwd=repo, check=True, timeout=30, capture_output=True, text=True)
        return done.stdout.strip()

    base = git("rev-parse", "HEAD")
    (repo / "test_db.py").write_text("changed\n")
    git("add", "test_db.py")
    git("commit", "-q", "-m", "Change the test")
    head = git("rev-parse", "HEAD")
    problem = make.issue(1, path="test_db.py", signature="S", **{"class": "test-failure"})
    diagnosis = {"issueId": "VI-1", "preExisting": "yes", "touchedByDiff": [], "reproducedAt": base}
    document = make.report(problem, scope={"headSha": head, "mergeBase": base}, diagnoses=[diagnosis])
    files["report"].write_bytes(make.as_bytes(document))
    files["ledger"].write_bytes(make.ledger(mergeBase=base, turns=[make.turn_row(1, headSha=head)]).to_bytes())
    outcomes = []
    for folder in (repo, files["ledger"].parent):
        monkeypatch.chdir(folder)
        assert gates("--ledger", files["ledger"], "--report", files["report"], "--json") == 0
        printed = capsys.readouterr()
        outcomes.append((json.loads(printed.out)["decision"], "changed paths are unknown" in printed.err))
    assert outcomes == [("FEEDBACK", False), ("APPROVED", True)], "elsewhere nobody knows that the diff touches it"


@pytest.mark.parametrize("data", [b"", b"not json", b'{"schemaVersion": 1}', b"\xff" * 40])
def test_a_malformed_report_is_a_decision_and_no_error(
    files: dict[str, Path], data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    files["report"].write_bytes(data)
    assert gates("--ledger", files["ledger"], "--report", files["report"], "--context", files["context"], "--json") == 0
    assert json.loads(capsys.readouterr().out)["decision"] == "RERUN"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ledger", b"{}"),
        ("ledger", b"not json"),
        ("ledger", None),
        ("report", None),
        ("context", None),
        ("context", b"[]"),
        ("context", b"{"),
        ("context", b"\xff"),
        ("context", b'{"turn": "2"}'),
        ("context", b'{"maxTurns": 0}'),
    ],
)
def test_what_a_user_can_get_wrong_is_one_message_and_exit_2(
    files: dict[str, Path], name: str, data: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if data is None:
        files[name].unlink()
    else:
        files[name].write_bytes(data)
    status = gates("--ledger", files["ledger"], "--report", files["report"], "--context", files["context"], "--json")
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert str(files[name]) in printed.err
    assert "Traceback" not in printed.err


def test_a_ledger_of_a_newer_schema_is_refused(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    newer = json.loads(files["ledger"].read_bytes()) | {"schemaVersion": 2}
    files["ledger"].write_text(json.dumps(newer))
    assert gates("--ledger", files["ledger"], "--report", files["report"]) == 2
    assert "schemaVersion" in capsys.readouterr().err


def test_without_json_people_get_a_table_that_obeys_no_control_character(
    files: dict[str, Path], make: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"rule": "pages\x1b[2J load", "status": "FAIL", "evidence": "\x07\nlook"}]
    document = make.report(make.issue(1, id="VI\x1b[31m-1"), customGates={"exerciser": [], "review": rows})
    files["report"].write_bytes(make.as_bytes(document))
    assert gates("--ledger", files["ledger"], "--report", files["report"], "--context", files["context"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("FEEDBACK (next: PLAYER_TURN)\nBLOCKING=1 QUARANTINED=0 DEFERRED=0\n")
    assert "F-1" in out
    assert "custom:review:pages" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_the_help_of_the_command_is_short(files: dict[str, Path]) -> None:
    assert command.get_short_help_str(100) == "Decide the gates for a ledger and a report; nothing is written."
