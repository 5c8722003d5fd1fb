"""Gathering what the coach notices from the repository (DESIGN.md; the judgement is `touchline.verify.tamper`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from touchline.git.repository import Repository
from touchline.git.trees import commit_modes
from touchline.verify.sides import base_texts, read_sides
from touchline.verify.tamper import CoachFacts, manifest_paths, needs_text


def gather_facts(
    repo: Repository,
    base: str,
    changed: Sequence[str],
    *,
    threshold: int,
    present: Collection[str] = (),
    target: str | None = None,
    git_settings: Sequence[str] = (),
    plan_changed: str = "",
) -> CoachFacts:
    """The facts on the paths `changed` since the commit `base` ("": nothing was there).

    `target` is the tree that is looked at, None the work tree. Raises GitQueryError if git cannot tell.
    """
    known = commit_modes(repo, base) if base else {}
    sides = read_sides(repo, base, [path for path in changed if needs_text(path)], target=target)
    return CoachFacts(
        changed=changed,
        threshold=threshold,
        texts=sides.texts,
        added=[path for path in changed if path not in known],
        present=present or known,
        manifests=base_texts(repo, base, manifest_paths()),
        not_read=sides.left_out,
        git_settings=git_settings,
        plan_changed=plan_changed,
    )
