"""Scanning what git would publish: a change, or a row of commits (spec page 5, "before each commit and push").

What a target branch already holds is left out: bringing it in publishes nothing. Every commit is looked at by itself,
so a secret that a later commit removes is still found.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.git.diff import Change, compare
from touchline.git.repository import Repository
from touchline.git.trees import SUBMODULE
from touchline.secrets.patch import parse_patch
from touchline.secrets.scan import MAX_CHARACTERS, MAX_SOURCE_CHARACTERS, Scanner
from touchline.secrets.values import Kind, Line, Scan, Source, Unscanned, join, whole

MAX_COMMITS = 1000


def scan_change(scanner: Scanner, repo: Repository, base: str, target: str, *, known: Sequence[str] = ()) -> Scan:
    """What the tree or commit `target` adds to `base`, without what one of `known` (commits) holds already."""
    sources, left = _collect(repo, base, target, known, "")
    return join([scanner.scan_sources(sources), Scan(unscanned=tuple(left))])


def scan_commits(scanner: Scanner, repo: Repository, until: str, *, since: Sequence[str]) -> Scan:
    """Each commit that `until` has and none of `since` has: its changes, its message, its author lines."""
    args = ("rev-list", "--parents", f"--max-count={MAX_COMMITS + 1}", until, "--not", *since)
    rows = repo.git(*args).decode("ascii", "replace").splitlines()
    sources: list[Source] = []
    left: list[Unscanned] = []
    if len(rows) > MAX_COMMITS:
        left.append(Unscanned("(commits)", f"more than {MAX_COMMITS} commits", True))
    for row in rows[:MAX_COMMITS]:
        commit, *parents = row.split()
        found, missing = _collect(repo, parents[0] if parents else "", commit, parents[1:], commit)
        sources += found
        left += missing
        raw = repo.git("cat-file", "commit", commit, max_output_bytes=MAX_SOURCE_CHARACTERS)
        _, _, message = raw.decode("utf-8", "replace").partition("\n\n")
        sources.append(whole("(commit message)", message, kind=Kind.METADATA, commit=commit))
    return join([scanner.scan_sources(sources), Scan(unscanned=tuple(left))])


def _collect(
    repo: Repository, base: str, target: str, known: Sequence[str], commit: str
) -> tuple[list[Source], list[Unscanned]]:
    sources, left = _against(repo, base, target, commit)
    for other in known:
        again, _ = _against(repo, other, target, commit)
        new = {source.path: {line.number for line in source.lines if line.added} for source in again}
        differing = {change.path for change in compare(repo, other, target).changes()}
        sources = [_only(source, new[source.path]) for source in sources if source.path in new]
        left = [part for part in left if part.path in differing]
    return sources, left


def _only(source: Source, numbers: set[int]) -> Source:
    lines = (Line(line.number, line.text, line.added and line.number in numbers) for line in source.lines)
    return Source(source.path, tuple(lines), source.kind, source.commit)


def _against(repo: Repository, base: str, target: str, commit: str) -> tuple[list[Source], list[Unscanned]]:
    comparison = compare(repo, base, target)
    changes = {change.path: change for change in comparison.changes()}
    patch = comparison.patch(max_bytes=MAX_CHARACTERS)
    sources = list(parse_patch(patch.data, commit=commit))
    # An empty or renamed file adds no line, but its name.
    named = {source.path for source in sources}
    left: list[Unscanned] = []
    for path, _ in patch.left_out:
        change = changes.get(path)
        if change is None or change.kind == "deleted" or change.new_mode == SUBMODULE:
            continue
        content = _blob(repo, target, change)
        if content is None:
            left.append(Unscanned(path, "too long to be scanned", True, commit))
        else:
            sources.append(_binary(path, content, commit))
        named.add(path)
    sources += [Source(path, (Line(0, ""),), Kind.BINARY, commit) for path in changes if path not in named]
    return sources, left


def _blob(repo: Repository, target: str, change: Change) -> bytes | None:
    done = repo.run("cat-file", "blob", f"{target}:{change.path}", max_output_bytes=MAX_SOURCE_CHARACTERS // 2)
    return None if done.truncated or done.returncode != 0 else done.stdout


def _binary(path: str, content: bytes, commit: str) -> Source:
    """Bytes as they are, and once more without NUL: so text of two bytes a letter is found."""
    text = content.decode("latin-1")
    return whole(path, f"{text}\n{text.replace(chr(0), '')}" if "\0" in text else text, kind=Kind.BINARY, commit=commit)
