"""Owns `python -m touchline`: the same as the command, without the current folder on the import path."""

from __future__ import annotations

import sys

# Python puts the current folder first when it runs a module. That folder is usually the work tree that is being
# judged, and a file `click.py` or `git.py` in it would become part of the coach.
if not sys.flags.safe_path:
    del sys.path[0]

from touchline.cli import main

if __name__ == "__main__":
    sys.exit(main())
