"""Finding and copying the plan (spec page 5): given, or exactly one candidate in the plan folders, never invented."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_PLAN_BYTES = 4 * 1024 * 1024
DEFAULT_PLAN_FOLDER = "docs/plans"


@dataclass(frozen=True, slots=True)
class PlanSearch:
    """What was found: candidate paths relative to the work tree, or why the given plan cannot be used."""

    candidates: tuple[str, ...] = ()
    problem: str = ""


def find_plans(work_tree: Path, folders: Sequence[str]) -> PlanSearch:
    """The markdown files of the first of `folders` (relative to the work tree) that holds any, sorted by name."""
    for folder in folders:
        place = work_tree / folder
        if not place.is_dir():
            continue
        found = sorted(path for path in place.glob("*.md") if path.is_file() and not path.name.startswith("."))
        if found:
            return PlanSearch(candidates=tuple(str(path.relative_to(work_tree)) for path in found))
    return PlanSearch()


def read_plan(path: Path) -> tuple[bytes, str]:
    """(content, problem): the plan's bytes, or b"" and why it cannot be a plan."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_PLAN_BYTES + 1)
    except FileNotFoundError:
        return b"", f"the plan {path} does not exist; name an existing markdown file with --plan-file"
    except IsADirectoryError:
        return b"", f"the plan {path} is a folder; name a markdown file with --plan-file"
    except OSError as error:
        return b"", f"the plan {path} cannot be read: {error.strerror}"
    if len(content) > MAX_PLAN_BYTES:
        return (
            b"",
            f"the plan {path} is larger than {MAX_PLAN_BYTES // 2**20} MiB; a plan is a text to be read",
        )
    if not content.decode("utf-8", "replace").strip():
        return b"", f"the plan {path} is empty; write down what is to be built"
    return content, ""


def digest(content: bytes) -> str:
    """`sha256:` and 64 hex digits."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
