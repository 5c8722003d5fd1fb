from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("help", "loop", "stream", "trailer", "decide", "record", "memory", "probe")


def bench(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *argv]
    env = {name: value for name, value in os.environ.items() if name != "TOUCHLINE_CLIS"}
    return subprocess.run(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.slow
def test_every_benchmark_runs_and_gives_a_row_with_measured_value_floor_and_ratio(tmp_path: Path) -> None:
    done = bench("--quick", "--json", str(tmp_path / "rows.json"))
    assert done.returncode == 0, done.stderr
    printed = [line.split()[0] for line in done.stdout.splitlines() if line]
    written = json.loads((tmp_path / "rows.json").read_text())
    assert written["quick"] is True
    for name in NAMES:
        rows = [row for row in written["rows"] if row["name"].partition("-")[0] == name]
        assert rows, name
        for row in rows:
            assert row["name"] in printed
            assert row["measured"] > 0
            assert row["floor"] > 0
            assert row["ratio"] > 0
            assert row["met"] in (True, False) if row["aims"] else row["met"] is None


def test_one_benchmark_can_be_chosen_and_an_unknown_one_is_refused() -> None:
    done = bench("--quick", "--only", "probe")
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("\n\n")[0]
    assert [line.split()[0] for line in table.splitlines()] == ["benchmark", "probe-time", "probe-memory"]
    refused = bench("--only", "speed")
    assert refused.returncode == 2
    assert "speed" in refused.stderr
