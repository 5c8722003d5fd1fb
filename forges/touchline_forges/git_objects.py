"""The local object store, for the records of the generic forge (spec page 6): writes objects, moves no ref.

Record commits are written as objects, not by `git commit`: they need neither an index nor a configured identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from touchline.api import Completed, ForgeError, ForgeHost
from touchline_forges.git_words import failure

NOBODY = "touchline <touchline@localhost>"
_IDENTITY = re.compile(r"([^<>\n\0]+ <[^<>\n\0]*>) \d+ [+-]\d{4}")


class GitObjects:
    """Blobs, trees and commits of the local repository."""

    def __init__(self, host: ForgeHost, *, timeout_s: float) -> None:
        self._host = host
        self._timeout_s = timeout_s

    def files(self, commit: str) -> dict[str, str]:
        """Path to blob id of every file in a commit's tree."""
        listing = self._must("ls-tree", "-r", "-z", "--full-tree", commit).stdout
        found = {}
        for entry in listing.split(b"\0")[:-1]:
            facts, _, path = entry.partition(b"\t")
            found[path.decode("utf-8", "surrogateescape")] = facts.split()[2].decode()
        return found

    def kind(self, sha: str) -> str:
        """The type of an object: blob, tree, commit or tag."""
        return self._must("cat-file", "-t", sha).stdout.decode().strip()

    def read(self, blob: str) -> bytes:
        """The content of a blob."""
        return self._must("cat-file", "blob", blob).stdout

    def write(self, content: bytes) -> str:
        """The id of a blob with that content."""
        return self._written("hash-object", "-w", "--stdin", stdin=content)

    def write_commit(self, files: Mapping[str, str], *, parent: str, message: str) -> str:
        """The id of a commit with these files (path to blob id)."""
        tree = self._tree(files)
        moment = int(self._host.now().timestamp())
        person = f"{self.identity()} {moment} +0000"
        lines = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {person}", f"committer {person}"]
        content = "\n".join([*lines, "", message, ""]).encode()
        return self._written("hash-object", "-t", "commit", "-w", "--stdin", stdin=content)

    def identity(self) -> str:
        """`Name <address>` that git would put on a commit of ours; a neutral one where git has none."""
        done = self._run("var", "GIT_COMMITTER_IDENT")
        matched = _IDENTITY.fullmatch(done.stdout.decode("utf-8", "replace").strip())
        return matched[1] if done.returncode == 0 and matched else NOBODY

    def contains(self, commit: str, other: str) -> bool | None:
        """Whether `commit` has `other` in its history (or is it); None where an object is not here."""
        done = self._run("merge-base", "--is-ancestor", other, commit)
        return {0: True, 1: False}.get(-1 if done.returncode is None else done.returncode)

    def merges(self, target: str, head: str) -> tuple[Literal["yes", "no", "unknown"], str]:
        """Whether git merges `head` into `target` without a conflict, with the reason where not."""
        done = self._run("merge-tree", "--write-tree", "--name-only", "--no-messages", target, head)
        if done.returncode == 0 and done.ending == "exited":
            return "yes", ""
        if done.returncode == 1 and done.ending == "exited":
            paths = done.stdout.decode("utf-8", "replace").splitlines()[1:]
            named = ", ".join(paths[:5]) + (" and more" if len(paths) > 5 else "")
            return "no", f"conflict in {named}" if paths else "conflict"
        return "unknown", "git could not merge it for a try"

    def _tree(self, files: Mapping[str, str]) -> str:
        folders: dict[str, dict[str, str]] = {}
        entries = []
        for path, blob in files.items():
            folder, slash, name = path.partition("/")
            if slash:
                folders.setdefault(folder, {})[name] = blob
            else:
                entries.append(f"100644 blob {blob}\t{path}")
        entries += [f"040000 tree {self._tree(inside)}\t{folder}" for folder, inside in folders.items()]
        return self._written("mktree", "-z", stdin="".join(f"{entry}\0" for entry in entries).encode())

    def _written(self, *args: str, stdin: bytes) -> str:
        return self._must(*args, stdin=stdin).stdout.decode().strip()

    def _must(self, *args: str, stdin: bytes = b"") -> Completed:
        done = self._run(*args, stdin=stdin)
        if done.returncode != 0 or done.ending != "exited":
            raise failure(done, f"`git {args[0]}` in this repository")
        if done.truncated:
            raise ForgeError(f"`git {args[0]}` gave more than a record may hold", fix="Look at the record by hand.")
        return done

    def _run(self, *args: str, stdin: bytes = b"") -> Completed:
        return self._host.git(*args, stdin=stdin, timeout_s=self._timeout_s)
