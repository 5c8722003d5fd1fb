"""The proof that a verifier changed nothing, and the way back if it did (spec page 5; DESIGN.md, "tree hash").

Compared before and after each verifier: HEAD, what is staged, the tracked files and owned paths, and the
repository's own program code and settings. What can be put back is put back (branch, commit, index, files, hooks,
configuration); new untracked files are named only, since building and running may leave some.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitError
from touchline.git.contents import restore, save
from touchline.git.fingerprint import compare_fingerprints, take_fingerprint
from touchline.git.index import intended_paths, restore_index, save_index, staged_set
from touchline.git.quoting import quote_path
from touchline.git.repository import Head, Repository
from touchline.git.trees import TreeState, changed_paths, snapshot
from touchline.git.untracked import untracked
from touchline.verify.gitfiles import GitFiles

MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class Checked:
    """What a verifier did to the work tree: `broke` is "" if nothing; `noted` names new files, which is allowed."""

    broke: str = ""
    noted: str = ""


class ReadOnlyProof:
    """The state to hold; `folder` (private, of this verification) keeps what is needed to put it back."""

    def __init__(self, repo: Repository, owned: Iterable[str], folder: Path, *, tree: TreeState | None = None) -> None:
        self._repo = repo
        self._owned = tuple(owned)
        self._folder = folder
        self.tree = snapshot(repo, self._owned, previous=tree)
        save(repo, self.tree, folder)
        self._head = repo.head()
        self._index = save_index(repo)
        self._staged = staged_set(repo), intended_paths(repo)
        self._git_files = GitFiles(repo, folder / "displaced")
        self._fingerprint = take_fingerprint(repo)
        self._untracked = set(untracked(repo))

    def check(self) -> Checked:
        """What changed since the last check. Raises GitError if it cannot be put back: then nothing is proved."""
        broke = []
        put_back = self._git_files.put_back()
        if put_back:
            broke.append(f"changed git's own {_listed(put_back)}")
        head = self._repo.head()
        if head != self._head:
            broke.append(f"moved HEAD to {head.branch}@{head.commit[:12]}")
            self._put_head_back(head)
        if self._staged_differs():
            broke.append("changed what is staged")
            restore_index(self._repo, self._index)
        now = snapshot(self._repo, self._owned, previous=self.tree)
        changed = changed_paths(self.tree, now)
        if changed:
            broke.append(f"changed {_listed(changed)}")
            self._put_files_back(changed)
        fingerprint = take_fingerprint(self._repo)
        settings = compare_fingerprints(self._fingerprint, fingerprint)
        if settings:
            broke.append(f"changed {_listed(settings)}, which stays so")
            self._fingerprint = fingerprint
        new = set(untracked(self._repo)) - self._untracked
        self._untracked |= new
        noted = f"new untracked files: {_listed(sorted(new))}" if new else ""
        return Checked("; ".join(broke), noted)

    def close(self) -> None:
        """Drop the copies; what was moved out of the way stays."""
        shutil.rmtree(self._folder / "objects", ignore_errors=True)

    def _staged_differs(self) -> bool:
        """Whether something else is staged; git also writes the index for reasons of its own (stat data)."""
        if save_index(self._repo).content == self._index.content:
            return False
        return (staged_set(self._repo), intended_paths(self._repo)) != self._staged

    def _put_head_back(self, now: Head) -> None:
        before = self._head
        if before.detached:
            self._repo.git("update-ref", "--no-deref", "HEAD", before.commit, error=GitError)
        else:
            ref = f"refs/heads/{before.branch}"
            self._repo.git("symbolic-ref", "HEAD", ref, error=GitError)
            if before.commit:
                self._repo.git("update-ref", ref, before.commit, error=GitError)
        restore_index(self._repo, self._index)
        if self._repo.head() != before:
            raise GitError(
                f"a verifier moved HEAD to {now.branch}@{now.commit} and it could not be put back",
                fix=f"Put the repository back to {before.branch}@{before.commit}, then start again.",
            )

    def _put_files_back(self, changed: tuple[str, ...]) -> None:
        restored = restore(self._repo, self.tree, changed, self._folder)
        left = changed_paths(self.tree, snapshot(self._repo, self._owned, previous=self.tree))
        if left:
            reasons = "; ".join(f"{quote_path(path)}: {reason}" for path, reason in restored.failed[:MAX_NAMED])
            raise GitError(
                f"a verifier changed {_listed(left)} and it could not be put back ({reasons or 'no reason known'})",
                fix="Put these files back by hand, then start again.",
            )


class Proofs:
    """Several proofs as one: the work tree of the run, and the clean checkout in which the verifiers work."""

    def __init__(self, *proofs: ReadOnlyProof) -> None:
        self._proofs = proofs

    def check(self) -> Checked:
        """What changed in any of them since the last check. Raises GitError if it cannot be put back."""
        checked = [proof.check() for proof in self._proofs]
        return Checked(
            "; ".join(one.broke for one in checked if one.broke), "; ".join(one.noted for one in checked if one.noted)
        )

    def close(self) -> None:
        """Drop what was kept for putting back."""
        for proof in self._proofs:
            proof.close()


def _listed(names: Iterable[str]) -> str:
    shown = [quote_path(name) for name in names]
    more = f" and {len(shown) - MAX_NAMED} more" if len(shown) > MAX_NAMED else ""
    return ", ".join(shown[:MAX_NAMED]) + more
