from __future__ import annotations

import pytest

from touchline.agent_cli.readiness import judge_version


@pytest.mark.parametrize(
    ("told", "version", "problem", "fix"),
    [
        ("1.10.0\n", "1.10.0", "", ""),
        ("pebble 1.9.9 (abc)", "1.9.9", "too old, 1.10.0 is needed", "pebble update"),
        ("pebble 2.0.0", "2.0.0", "", ""),
        ("nonsense", "", "`/bin/pebble --version` gave no version: 'nonsense'", "executors.pebble.command"),
    ],
)
def test_a_version_is_judged_by_its_numbers(told: str, version: str, problem: str, fix: str) -> None:
    judged = judge_version(told, command="/bin/pebble", oldest=(1, 10, 0), name="pebble", update="pebble update")
    assert judged.installed
    assert (judged.version, judged.problem) == (version, problem)
    assert fix in judged.fix
