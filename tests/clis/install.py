"""Install the pinned agent CLIs into a folder: `python tests/clis/install.py FOLDER` (spec page 2).

Then set TOUCHLINE_CLIS=FOLDER for the tests. Needs npm; the versions stand in package.json next to this file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 600


def main(arguments: list[str]) -> int:
    """Install into the one folder given; the exit status of npm."""
    if len(arguments) != 1:
        print("usage: python tests/clis/install.py FOLDER", file=sys.stderr)
        return 2
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed; the agent CLIs come from its registry", file=sys.stderr)
        # On a desk the tests of the CLIs are then skipped and say so; CI must have them.
        return 1 if os.environ.get("CI", "").lower() in ("1", "true") else 0
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(Path(__file__).with_name("package.json"), folder / "package.json")
    argv = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund"]
    try:
        return subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"npm took longer than {TIMEOUT_S} s", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
