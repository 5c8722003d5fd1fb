"""The rules of a session: what the user allows is asked, what the user denies stays denied."""

from __future__ import annotations

import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from touchline_opencode.rules import READING, REFUSED, session_rules

ACTIONS = st.sampled_from(["allow", "ask", "deny", "", "something"])
NAMES = st.sampled_from(["*", "bash", "edit", "webfetch", "mcp_send", "external_directory", *READING, *REFUSED])
RULES = st.lists(
    st.fixed_dictionaries({"permission": NAMES, "pattern": st.sampled_from(["*", "git *", "*.env"]), "action": ACTIONS})
)


def agents(*rules: tuple[str, str, str], name: str = "build") -> list[dict[str, object]]:
    keys = ("permission", "pattern", "action")
    return [{"name": name, "permission": [dict(zip(keys, rule, strict=True)) for rule in rules]}]


def decision(rules: list[dict[str, str]], permission: str, pattern: str) -> str:
    """As the server decides: the last rule that fits."""
    fitting = [
        rule["action"]
        for rule in rules
        if fnmatch.fnmatchcase(permission, rule["permission"]) and fnmatch.fnmatchcase(pattern, rule["pattern"])
    ]
    return fitting[-1]


def test_allowed_tools_are_asked_and_reading_is_free() -> None:
    rules = session_rules(agents(("*", "*", "allow"), ("bash", "ls *", "allow"), ("edit", "*", "allow")), None)
    for permission in ("bash", "edit", "webfetch", "mcp_send"):
        assert decision(rules, permission, "ls -l") == "ask"
    for permission in READING:
        assert decision(rules, permission, "a.py") == "allow"


def test_denials_of_the_user_stay_with_their_exceptions() -> None:
    given_rules = agents(
        ("*", "*", "allow"), ("bash", "git *", "deny"), ("bash", "git log*", "allow"), ("read", "*.env", "deny")
    )
    rules = session_rules(given_rules, None)
    assert decision(rules, "bash", "git push") == "deny"
    assert decision(rules, "bash", "git log") == "ask"
    assert decision(rules, "read", "x.env") == "deny"


def test_rules_are_those_of_the_agent_that_runs() -> None:
    two = [*agents(("bash", "*", "deny"), name="plan"), *agents(("bash", "*", "allow"), name="build")]
    assert decision(session_rules(two, "plan"), "bash", "ls") == "deny"
    assert decision(session_rules(two, None), "bash", "ls") == "ask"
    assert decision(session_rules(two, "unknown"), "bash", "ls") == "ask"


@given(RULES)
def test_no_rules_of_a_user_let_anything_but_reading_through(rules: list[dict[str, str]]) -> None:
    found = session_rules([{"name": "build", "permission": rules}], None)
    for permission in ("bash", "edit", "webfetch", "mcp_send", "doom_loop"):
        assert decision(found, permission, "git push") in ("ask", "deny")
    for permission in REFUSED:
        assert decision(found, permission, "anything") == "deny"


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_agents_that_cannot_be_read_leave_everything_asked(told: object) -> None:
    assert decision(session_rules(told, told), "bash", "ls") == "ask"
