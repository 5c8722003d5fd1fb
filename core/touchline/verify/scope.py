"""What a verification looks at: the changed paths, the patch, and what is left out by name (spec page 5).

The patch never depends on the repository's attributes, index flags or configuration (see `touchline.git.diff`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from touchline.documents.report import Scope
from touchline.errors import GitQueryError
from touchline.git.diff import Comparison, compare, compare_work_tree
from touchline.git.facts import is_ancestor
from touchline.git.index import read_status
from touchline.git.quoting import quote_path
from touchline.git.trees import TreeState
from touchline.verify.request import VerifyRequest

MAX_PATCH_BYTES = 200_000
MAX_NAMED = 500


@dataclass(frozen=True, slots=True)
class Material:
    """What the verifiers are shown. `changed` are the paths that differ from the base, renames with both."""

    scope: Scope
    changed: tuple[str, ...]
    patch: str
    left_out: tuple[tuple[str, str], ...]
    """Paths whose part of the patch is not shown, with the reason."""
    delta: tuple[str, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()


def gather(request: VerifyRequest, tree: TreeState) -> Material:
    """The material for `request`; `tree` is the state of the work tree now. Raises GitQueryError."""
    _require_head(request)
    beside = _beside_the_commit(request) if request.mode == "branch" else []
    with _comparison(request, tree) as comparison:
        changed = comparison.changed_paths()
        only = set(request.files) if request.mode == "files" else None
        patch = comparison.patch(max_bytes=MAX_PATCH_BYTES, only=only)
        renames = comparison.renames()
    included = list(changed) if only is None else sorted(only)
    excluded = [path for path in changed if only is not None and path not in only] + beside
    since = _usable_since(request)
    delta: tuple[str, ...] = ()
    if since is not None:
        # What was verified before is not shown again: the judges look at the delta, and read the rest if they need it.
        newer = compare(request.repo, since, request.head_sha)
        delta, patch = newer.changed_paths(), newer.patch(max_bytes=MAX_PATCH_BYTES)
    branch = request.mode == "branch"
    scope = Scope(
        mode=request.mode,
        base_ref=request.base_ref if branch else None,
        merge_base=request.base_commit if branch else None,
        head_sha=request.head_sha,
        tree_hash=tree.digest,
        included_files=[quote_path(path) for path in included],
        excluded_files=_named(excluded),
        delta_base_sha=since,
        delta_files=[quote_path(path) for path in delta],
    )
    return Material(
        scope=scope,
        changed=tuple(included),
        patch=patch.text,
        left_out=patch.left_out,
        delta=delta,
        renames=tuple(sorted(renames.items())),
    )


def compared_trees(request: VerifyRequest) -> tuple[str, str | None]:
    """The two sides of the scope as commits or trees; None stands for the work tree."""
    if request.mode == "branch":
        return request.base_commit, request.head_sha
    if request.mode == "staged":
        return request.head_sha, _index_tree(request)
    return (_index_tree(request) if request.mode == "unstaged" else request.base_commit), None


def _require_head(request: VerifyRequest) -> None:
    """Raises GitQueryError unless the commit that lies here is the one that was asked for."""
    head = request.repo.head().commit
    if head != request.head_sha:
        raise GitQueryError(
            f"HEAD is {head or 'unborn'}, but {request.head_sha} was to be verified",
            fix="Check out the commit that is to be verified.",
        )


def _beside_the_commit(request: VerifyRequest) -> list[str]:
    """Files that lie here and are not of the commit: untracked ones, and changed ones that are tolerated.

    Raises GitQueryError for any other tracked file that is not as in the commit.
    """
    status = read_status(request.repo)
    strange = [path for path in status.dirty_tracked if path not in request.known_dirty]
    if strange:
        shown = ", ".join(quote_path(path) for path in strange[:5])
        raise GitQueryError(
            f"{len(strange)} tracked files are not as in {request.head_sha}: {shown}",
            fix="Commit or undo these changes: what is verified must be the commit itself.",
        )
    return [*status.untracked, *status.dirty_tracked]


@contextlib.contextmanager
def _comparison(request: VerifyRequest, tree: TreeState) -> Iterator[Comparison]:
    repo = request.repo
    if request.mode == "branch":
        yield compare(repo, request.base_commit, request.head_sha)
    elif request.mode == "staged":
        yield compare(repo, request.head_sha, _index_tree(request))
    else:
        base = _index_tree(request) if request.mode == "unstaged" else request.base_commit or _empty_tree(request)
        with compare_work_tree(repo, base, tree) as comparison:
            yield comparison


def _index_tree(request: VerifyRequest) -> str:
    """The tree that a commit of the index would have."""
    return request.repo.git("write-tree", "--missing-ok").decode("ascii", "replace").strip()


def _empty_tree(request: VerifyRequest) -> str:
    """The base of a run that began before the first commit."""
    return request.repo.git("mktree", "-z").decode("ascii", "replace").strip()


def _usable_since(request: VerifyRequest) -> str | None:
    """The base of a delta, if it is one: an ancestor of the head. Everything else is a full audit."""
    if request.since is None or request.mode != "branch":
        return None
    try:
        return request.since if is_ancestor(request.repo, request.since, request.head_sha) else None
    except GitQueryError:  # no commit of this repository (any more): look at everything
        return None


def _named(paths: list[str]) -> list[str]:
    shown = [quote_path(path) for path in paths[:MAX_NAMED]]
    return shown if len(paths) <= MAX_NAMED else [*shown, f"... and {len(paths) - MAX_NAMED} more"]
