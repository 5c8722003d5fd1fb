"""`touchline --help` against a bare interpreter (spec page 8): what every call pays before it does anything."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from bench.measure import interleaved
from bench.rows import Aim, Row
from bench.scale import Scale


def run(scale: Scale) -> list[Row]:
    """Whole processes, from start to exit. Through `-c`, as the installed command does it, without its shebang."""
    command = "import sys; from touchline.cli import main; sys.exit(main(['--help']))"
    pair = interleaved(partial(_python, command), partial(_python, "pass"), rounds=scale.pick(25, quick=1))
    return [
        Row(
            "help",
            pair.measured_s,
            "s",
            pair.floor_s,
            "`python -c pass`",
            pair.ratio,
            (Aim("ratio", 5),),
        )
    ]


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
