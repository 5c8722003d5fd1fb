from __future__ import annotations

import pytest

from touchline.probe import Inventory, Item


@pytest.fixture
def inventory() -> Inventory:
    """A small frozen inventory."""
    return (
        Item("command", "mcp", "manage MCP servers", "one"),
        Item("command", "review", "review a change", "one"),
        Item("tool", "Bash", "run a shell command", "one", shell=True),
        Item("tool", "ReadMcpResource", "read a resource", "one"),
        Item("tool", "Write", "write a file", "two"),
    )
