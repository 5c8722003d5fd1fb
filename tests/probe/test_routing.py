"""Which commands and tools a prompt is routed to, and where the inventory is from (spec page 7)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.errors import PluginLoadError
from touchline.probe import Inventory, installed_inventory, route_prompt
from touchline.probe.inventory import executor_inventory, read_inventory


def names(prompt: str, inventory: Inventory, limit: int = 5) -> list[str]:
    return [match.name for match in route_prompt(prompt, limit, inventory=inventory)]


def test_matches_are_ordered_by_score_then_kind_then_name(inventory: Inventory) -> None:
    assert names("review MCP tool", inventory) == ["mcp", "review", "ReadMcpResource"]
    assert names("run a shell command", inventory)[0] == "Bash"
    matches = route_prompt("a", inventory=inventory)
    assert [(one.kind, one.name) for one in matches] == sorted((one.kind, one.name) for one in matches)


def test_the_limit_cuts_and_no_word_in_common_is_no_match(inventory: Inventory) -> None:
    assert names("review MCP tool", inventory, limit=1) == ["mcp"]
    assert names("review MCP tool", inventory, limit=0) == []
    assert names("review", inventory, limit=-1) == []
    assert names("zebra", inventory) == []
    assert names("", inventory) == []


def test_words_are_whole_and_of_any_case(inventory: Inventory) -> None:
    assert names("REVIEW", inventory) == ["review"]
    assert names("/review --now", inventory) == ["review"]
    assert names("previewing", inventory) == []


def test_a_name_that_two_executors_ship_is_matched_once(inventory: Inventory) -> None:
    doubled = (*inventory, *(type(item)(item.kind, item.name, item.purpose, "zzz") for item in inventory))
    assert names("review MCP tool", doubled) == names("review MCP tool", inventory)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=200), st.integers(-3, 10))
def test_any_prompt_is_routed_the_same_twice(prompt: str, limit: int) -> None:
    items = installed_inventory(["scripted"], environ={})
    first = route_prompt(prompt, limit, inventory=items)
    assert first == route_prompt(prompt, limit, inventory=tuple(reversed(items)))
    assert len(first) <= max(limit, 0)


def test_the_installed_executors_ship_their_inventories() -> None:
    items = installed_inventory(environ={})
    assert {"scripted", "claude"} <= {item.source for item in items}
    assert [item for item in items if item.shell]
    matches = route_prompt("review MCP tool")
    assert {match.kind for match in matches} == {"command", "tool"}


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"schemaVersion": 2}', b'{"schemaVersion": 1, "tools": [{"name": 1}]}', b"\xff"]
)
def test_a_damaged_inventory_is_named_with_its_plugin(data: bytes) -> None:
    with pytest.raises(PluginLoadError, match="'odd'"):
        read_inventory(data, "odd")


DRIVER = """
class Driver:
    name = "bare"
    api_version = 1
    capabilities = frozenset()
    def check(self): ...
    def run_turn(self, request, host): ...
    def settle_without_work(self, session_id, text, question): ...
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with the executor `bare` and no inventory."""
    package = tmp_path / "site" / "bare_driver"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(DRIVER)
    info = tmp_path / "site" / "bare-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bare\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[touchline.executors]\nbare = bare_driver:Driver\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "bare_driver", raising=False)
    return package


def test_an_executor_need_not_ship_an_inventory(bare: Path) -> None:
    assert executor_inventory("bare", environ={}) == ()
    (bare / "inventory.json").write_text('{"schemaVersion": 1, "tools": [{"name": "T", "purpose": "p"}]}')
    assert [item.name for item in executor_inventory("bare", environ={})] == ["T"]


def test_a_broken_plugin_is_left_out_unless_it_is_named(bare: Path) -> None:
    (bare / "inventory.json").write_text("{")
    assert "bare" not in {item.source for item in installed_inventory(environ={})}
    with pytest.raises(PluginLoadError):
        installed_inventory(["bare"], environ={})
