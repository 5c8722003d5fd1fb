"""Which tests of the real agent CLIs run: a smoke scenario of each by default, all of them with `tox -e clis`."""

from __future__ import annotations

import os

import pytest

ALL_VARIABLE = "TOUCHLINE_CLI_TESTS"
SMOKE_SCENARIO = "test_declared_finish_that_git_confirms_is_finished"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only the whole suite of the CLIs runs; a test that was named by the caller always stays."""
    if os.environ.get(ALL_VARIABLE) == "all" or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("cli") and not _is_smoke(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def _is_smoke(item: pytest.Item) -> bool:
    return item.get_closest_marker("smoke") is not None or getattr(item, "originalname", "") == SMOKE_SCENARIO
