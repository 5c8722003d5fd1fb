"""The process that searches (spec page 5, "Secrets"): the time of a search can be bounded only from outside.

Reads one JSON object from stdin and writes one JSON line for each source and pass, so that what was searched is
known even if the process is stopped. Values come in through a pipe and never go out. Tokens of all sources come
first: they decide whether anything may be published.
"""

from __future__ import annotations

import json
import sys
from dataclasses import astuple
from pathlib import Path
from typing import Any

from touchline.secrets.allow import Allowances
from touchline.secrets.keywords import keep_off_the_network
from touchline.secrets.search import Search, strongest
from touchline.secrets.values import Grade, Hit, Kind, Line, Source

MAX_HITS = 200
"""Of one source and pass; more change nothing."""


def encode_request(key: bytes, allowed: Allowances, sources: tuple[Source, ...]) -> bytes:
    """What the process reads."""
    return json.dumps(
        {
            "key": key.hex(),
            "allowed": {
                "accepted": sorted(allowed.accepted),
                "lines": sorted(allowed.lines),
                "exclude": dict(allowed.exclude),
                "detectors": allowed.detectors,
                "limits": dict(allowed.limits),
                "patterns": dict(allowed.patterns),
            },
            "sources": [
                [
                    source.path,
                    source.kind,
                    source.commit,
                    [[line.number, line.text, line.added] for line in source.lines],
                ]
                for source in sources
            ],
        }
    ).encode("ascii")


def decode_answers(output: bytes) -> tuple[dict[tuple[int, str], tuple[Hit, ...]], int]:
    """Source number and pass -> hits, for what was searched, and how many hits an exclusion let through.

    A last line that was cut off is left out.
    """
    answers: dict[tuple[int, str], tuple[Hit, ...]] = {}
    excluded = 0
    for line in output.split(b"\n")[:-1]:
        answer = json.loads(line)
        hits = (Hit(path, number, kind, Grade(grade), *rest) for path, number, kind, grade, *rest in answer["hits"])
        answers[answer["source"], answer["pass"]] = tuple(hits)
        excluded = max(excluded, answer["excluded"])
    return answers, excluded


def main() -> int:
    """Search what stdin holds; the current folder is private and ours."""
    keep_off_the_network()
    request: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    given = request["allowed"]
    allowed = Allowances(
        accepted=frozenset((path, value) for path, value in given["accepted"]),
        lines=frozenset(given["lines"]),
        exclude={name: tuple(items) for name, items in given["exclude"].items()},
        detectors=None if given["detectors"] is None else tuple(given["detectors"]),
        limits=given["limits"],
        patterns=given["patterns"],
    )
    search = Search(bytes.fromhex(request["key"]), allowed)
    sources = [
        Source(path, tuple(Line(*line) for line in lines), Kind(kind), commit)
        for path, kind, commit, lines in request["sources"]
    ]
    for number, source in enumerate(sources):
        _answer(number, "tokens", search.tokens(source), search.excluded)
    for number, source in enumerate(sources):
        if source.kind is not Kind.BINARY:
            _answer(number, "noticed", search.noticed(source, Path.cwd()), search.excluded)
    return 0


def _answer(number: int, name: str, hits: list[Hit], excluded: int) -> None:
    shown = [astuple(hit) for hit in strongest(hits)[:MAX_HITS]]
    print(json.dumps({"source": number, "pass": name, "hits": shown, "excluded": excluded}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
