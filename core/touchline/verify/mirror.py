"""Keeping the tests at the base away from the present code (spec page 5, "Debug step").

A Python environment in which the project is installed in place imports it from the run's work tree, wherever the tests
run. The base would then be judged by the change itself, and a new failure would look old. So what the interpreters in
question would import from the work tree is put in front of it from the checkout of the base, at the same place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from touchline.errors import ProcessError
from touchline.process import run as run_process

PROBE_TIMEOUT_S = 20.0

_PROBE = """
import json, os, sys
found = [path for path in sys.path if path]
for name, module in list(sys.modules.items()):
    if name.startswith("__editable__"):
        found += [os.path.dirname(place) for place in getattr(module, "MAPPING", {}).values()]
print(json.dumps(found))
"""
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")


def base_environment(
    argv: Sequence[str], environment: Mapping[str, str], *, work_tree: Path, base: Path
) -> dict[str, str]:
    """`environment` for the tests at `base`, with PYTHONPATH set to what stands for the work tree's own code."""
    inside: list[str] = []
    for interpreter in _interpreters(argv, environment.get("PATH", os.defpath)):
        inside += _inside(_search_path(interpreter, environment, base), work_tree)
    mirrored = [str(base / path) for path in dict.fromkeys(inside)]
    if not mirrored:
        return dict(environment)
    kept = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {**environment, "PYTHONPATH": os.pathsep.join([*mirrored, *kept])}


def mentions(text: str, work_tree: Path) -> bool:
    """Whether a failure at the base shows that code of the work tree took part in it."""
    return f"{work_tree}/" in text


def _interpreters(argv: Sequence[str], path: str) -> list[str]:
    """The Python interpreters that the command may use: its own, and those that a script of it would find."""
    names = [word for word in argv[:3] if _PYTHON.fullmatch(PurePath(word).name)]
    scripts = [word for word in argv[:3] if "/" in word and word not in names]
    found = [shutil.which(name, path=path) for name in (*names, "python3", "python")]
    found += [_shebang(shutil.which(name, path=path)) for name in (*scripts, "pytest")]
    return list(dict.fromkeys(place for place in found if place))


def _shebang(script: str | None) -> str | None:
    if script is None:
        return None
    try:
        with Path(script).open("rb") as file:
            first = file.readline(500)
    except OSError:
        return None
    words = first.removeprefix(b"#!").decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    return words[0] if words and _PYTHON.fullmatch(PurePath(words[0]).name) else None


def _search_path(interpreter: str, environment: Mapping[str, str], cwd: Path) -> list[str]:
    """Where the interpreter looks for modules; nothing where it does not answer."""
    try:
        done = run_process(
            [interpreter, "-c", _PROBE], cwd=cwd, env=environment, timeout_s=PROBE_TIMEOUT_S, max_output_bytes=1 << 20
        )
        found = json.loads(done.stdout) if done.returncode == 0 else []
    except (ProcessError, ValueError):
        return []
    return [place for place in found if isinstance(place, str)] if isinstance(found, list) else []


def _inside(places: Iterable[str], work_tree: Path) -> list[str]:
    """Those of `places` in the work tree, relative to it; an environment's own folders are not the project's code."""
    root = work_tree.resolve()
    found = []
    for place in places:
        resolved = Path(place).resolve()
        if resolved.is_relative_to(root) and "site-packages" not in resolved.parts:
            found.append(resolved.relative_to(root).as_posix())
    return found
