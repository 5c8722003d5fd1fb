"""A script that is wrong gives one message: which script, where in it, what was expected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.errors import ConfigError
from touchline.executor import ExecutorSettings, Notice
from touchline_scripted.executor import ScriptedExecutor
from touchline_scripted.script import load, parse
from touchline_scripted.stream import read


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[", "cannot be parsed"),
        ("a: 1\na: 2", "cannot be parsed"),
        ("just text", "the script: expected a mapping"),
        ("any: [[]]", "expected the key 'version'"),
        ("version: 2\nany: [[]]", "version: expected 1"),
        ("version: 1\nplayr: [[]]", "unknown key 'playr': expected player"),
        ("version: 1\nplayer: []", "player: expected a list that is not empty"),
        ("version: 1\nplayer: [7]", "player[0]: expected a mapping"),
        ("version: 1\nplayer: [[sya: hi]]", "player[0][0].sya: no such step: expected say"),
        ("version: 1\nplayer: [[{say: a, ask: b}]]", "player[0][0]: expected one step"),
        ("version: 1\nplayer: [[say: 7]]", "player[0][0].say: expected a text"),
        ("version: 1\nplayer: [[write: {path: a}]]", "player[0][0].write: expected the key 'content'"),
        ("version: 1\nplayer: [[fail: {kind: tired}]]", "player[0][0].fail.kind: expected not-installed"),
        ("version: 1\nplayer: [[crash: {signal: BOOM}]]", "no such signal: 'BOOM'"),
        ("version: 1\nplayer: [[hang: -1]]", "hang: expected seconds"),
        ("version: 1\nplayer: [[long_line: many]]", "long_line: expected a number"),
        ("version: 1\nplayer: [[print_bytes: xyz]]", "print_bytes: expected hexadecimal"),
        ("version: 1\nplayer: [[answer: yes]]", "answer: expected a mapping"),
        ("version: 1\nplayer: [[run: {command: a, expect: maybe}]]", "run.expect: expected ok, failed, denied"),
        ("version: 1\nplayer: [[run: {command: a, on_ok: [[]]}]]", "run.on_ok[0]: expected one step"),
        ("version: 1\nplayer: [{steps: [], resumed: [3]}]", "resumed[0]: expected a list of steps"),
        ("version: 1\nmodel: 7\nplayer: [[]]", "model: expected a text"),
    ],
)
def test_wrong_script_is_refused_with_the_place(content: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(content, name="mine")
    assert "mine" in caught.value.what
    assert told in caught.value.what


def test_unknown_script_is_refused_with_the_nearest_shipped_one() -> None:
    with pytest.raises(ConfigError, match="did you mean 'oracle'"):
        load("oracel")


def test_check_tells_what_is_wrong_without_raising(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_bytes(b"\xff\xfe\x00")
    readiness = ScriptedExecutor(ExecutorSettings(script=str(broken))).check()
    assert "cannot be read" in readiness.problem
    assert readiness.fix


@settings(deadline=None)
@given(st.text())
def test_any_line_of_the_runner_is_read_without_an_error(line: str) -> None:
    assert isinstance(read(line), Notice)


@settings(deadline=None)
@given(
    st.sampled_from(["text", "tool_finished", "permission", "usage", "retry", "end", "started", "question", "x"]),
    st.dictionaries(
        st.sampled_from(["text", "id", "paths", "input", "output", "cost", "failure", "kind", "attempt", "duration_s"]),
        st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2),
    ),
)
def test_any_event_of_the_runner_is_read_without_an_error(event: str, fields: dict[str, object]) -> None:
    assert read(json.dumps({"event": event, **fields})) is not None
