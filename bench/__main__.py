"""`python -m bench`: run the benchmarks and print one table; the exit status says only whether they ran."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import clis, gates, looping, parsing, probing, recording, startup
from bench.rows import Row, table
from bench.scale import Scale

BENCHMARKS: Mapping[str, Callable[[Scale], list[Row]]] = {
    "help": startup.run,
    "loop": looping.run,
    "stream": parsing.stream,
    "trailer": parsing.trailer,
    "decide": gates.run,
    "record": recording.events,
    "memory": recording.memory,
    "probe": probing.run,
    "clis": clis.run,
}
"""Every benchmark by name; its rows carry the name or begin with it."""


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure touchline against its aims.")
    parser.add_argument("--only", action="append", choices=BENCHMARKS, metavar="NAME", help="one benchmark; repeatable")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    given = parser.parse_args()
    names = given.only or list(BENCHMARKS)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="touchline-bench-") as name:
        root = Path(name).resolve()
        _leave_the_user_alone(root)
        for benchmark in names:
            print(f"{benchmark} ...", file=sys.stderr, flush=True)
            scratch = root / benchmark
            scratch.mkdir()
            found = BENCHMARKS[benchmark](Scale(given.quick, scratch))
            print(table(found).partition("\n\n")[0], file=sys.stderr, flush=True)  # an interrupt loses only the rest
            rows += found
    about = f"python {platform.python_version()}, {os.cpu_count()} cpus, load {os.getloadavg()[0]:.1f}"
    print(f"{table(rows)}\n\n{about}{' (quick: these numbers mean nothing)' if given.quick else ''}")
    if given.json is not None:
        document = {"about": about, "quick": given.quick, "rows": [row.as_json() for row in rows]}
        given.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


def _leave_the_user_alone(root: Path) -> None:
    """Everything that is started here finds an empty home, and no configuration of git or touchline."""
    os.environ[clis.FOLDER_VARIABLE] = os.environ.get("TOUCHLINE_CLIS", "")
    for variable in list(os.environ):
        if variable.startswith(("GIT_", "TOUCHLINE_", "XDG_")):
            del os.environ[variable]
    person = {"NAME": "bench", "EMAIL": "bench@example.invalid"}
    os.environ.update({f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in person.items()})
    os.environ.update({"HOME": str(root), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"})


if __name__ == "__main__":
    sys.exit(main())
