"""Every driver that this distribution ships passes the contract, in its own tests."""

from __future__ import annotations

import ast
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parents[2] / "adapters"
SHIPPED = sorted(
    entry.name
    for entry in entry_points(group="touchline.executors")
    if entry.dist is not None and entry.dist.name == "touchline"
)


def test_drivers_are_found() -> None:
    assert {"claude", "scripted"} <= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("contract", ["ExecutorContract", "RecordedExecutorContract"])
def test_driver_has_both_contract_classes(name: str, contract: str) -> None:
    bases = {
        base.id
        for path in (ADAPTERS / name / "tests").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test")
        for base in node.bases
        if isinstance(base, ast.Name)
    }
    assert contract in bases
