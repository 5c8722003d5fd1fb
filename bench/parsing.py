"""Reading what a model and its CLI say: a stream against `json.loads` (spec page 2), a trailer (spec page 1)."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from functools import partial

from bench.claude_lines import turn_lines
from bench.measure import Pair, interleaved
from bench.rows import Aim, Row
from bench.scale import Scale
from touchline.turn import parse_trailer
from touchline_claude.stream import ClaudeStream


def stream(scale: Scale) -> list[Row]:
    """Every line of many turns as Claude Code prints them, to events, against decoding the same lines."""
    turns = [turn_lines(number) for number in range(scale.pick(200, quick=2))]

    def parse() -> None:
        for lines in turns:
            one = ClaudeStream(session_id="00000000-0000-4000-8000-000000000000")
            for line in lines:
                deque(one.feed(line), maxlen=0)

    def decode() -> None:
        for lines in turns:
            for line in lines:
                json.loads(line)

    pair = interleaved(parse, decode, rounds=scale.pick(9, quick=1))
    count = sum(map(len, turns))
    return [
        Row(
            "stream",
            pair.measured_s,
            "s",
            pair.floor_s,
            "`json.loads` of each line",
            pair.ratio,
            (Aim("ratio", 3),),
            f"{count:,} lines of Claude Code's stream-json",
        )
    ]


def trailer(scale: Scale) -> list[Row]:
    """`parse_trailer` on texts of 10 MB: the slowest of several shapes, each against one decoding of the same size."""
    size = scale.pick(10_000_000, quick=20_000)
    answer = '{"summary": "done", "report": {"changed": [], "receipts": []}}'
    filler = "The work goes on, and every line says so.\n"
    words = ["word"] * (size // 8)
    document = json.dumps(words)
    shapes: dict[str, Callable[[], str]] = {
        "prose, then a trailer": lambda: filler * (size // len(filler)) + answer,
        "one line of braces": lambda: "{" * size,
        "one line of brackets after a brace": lambda: '{"a":' + "[" * size,
        "a trailer as long as the text": lambda: json.dumps({"summary": "done", "report": {"a": words}}),
        "an open string": lambda: '{"summary": "' + "x\\n" * (size // 3),
        "blank lines after a trailer": lambda: answer + "\n" * size,
    }
    slowest: tuple[Pair, str] | None = None
    for name, shape in shapes.items():
        pair = interleaved(
            partial(parse_trailer, shape()), partial(json.loads, document), rounds=scale.pick(5, quick=1)
        )
        if slowest is None or pair.ratio > slowest[0].ratio:
            slowest = (pair, name)
    assert slowest is not None
    pair, name = slowest
    return [
        Row(
            "trailer",
            pair.measured_s,
            "s",
            pair.floor_s,
            "`json.loads` of as many bytes",
            pair.ratio,
            note=f"{size:,} characters; the slowest of {len(shapes)} shapes: {name}",
        )
    ]
