"""A host that is a bare repository and nothing else, for the generic forge (spec page 6); by plain git.

Written from the format that page and `records` describe, without the forge's code: JSON and git plumbing.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from touchline.testing.forges.backdoor import Ability, SeenChange
from touchline.testing.repositories import git

_CHANGES = "refs/touchline/changes/"
_LOSE = """#!/bin/sh
test "$1" = committed || exit 0
rm -f "$0"
kill -9 "$PPID"
"""
_FIRST_COMMIT = """commit refs/heads/main
committer Test <test@example.invalid> 1700000000 +0000
data 12
Add a readme
M 100644 inline README.md
data 10
# example

"""
_MEDDLE = """#!/bin/sh
rm -f "$0"
unset GIT_QUARANTINE_PATH
git update-ref refs/heads/{branch} {sha}
"""


def make_hosted(folder: Path) -> Path:
    """A bare repository in `folder` whose `main` has one commit; pushes over http are let in."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "-b", "main")
    with (folder / "config").open("a") as config:
        config.write("[http]\n\treceivepack = true\n")
    _fed(folder, ["fast-import", "--quiet"], _FIRST_COMMIT)
    (folder / "hooks").mkdir(exist_ok=True)
    return folder


@dataclass
class BareBackdoor:
    """The state of a bare repository with change records."""

    hosted: Path
    url: str = ""
    token: str = ""
    abilities: frozenset[Ability] = field(default=frozenset({"lose-answers", "meddle", "duplicates"}))

    def __post_init__(self) -> None:
        self.url = self.url or str(self.hosted)

    def changes(self) -> list[SeenChange]:
        """Every change, by number."""
        found = []
        for number in self._numbers():
            told = self._record(number)
            found.append(SeenChange(number, told["state"], told["title"], told["body"], told["source"], told["target"]))
        return found

    def comments(self, number: int) -> list[str]:
        """The texts of a change's comments, the oldest first."""
        names = git(self.hosted, "ls-tree", "-r", "--name-only", f"{_CHANGES}{number}").splitlines()
        files = sorted(name for name in names if name.startswith("comments/"))
        return [json.loads(git(self.hosted, "show", f"{_CHANGES}{number}:{name}"))["body"] for name in files]

    def set_state(self, number: int, state: Literal["draft", "ready", "merged", "closed"]) -> None:
        """Have a person change the state."""
        self._write(number, {"state": state})

    def edit(
        self, number: int, *, body: str | None = None, title: str | None = None, target: str | None = None
    ) -> None:
        """Have a person change text, title or target."""
        told = {"body": body, "title": title, "target": target}
        self._write(number, {key: value for key, value in told.items() if value is not None})

    def duplicate(self, number: int) -> int:
        """Have somebody open a second change like that one; its number."""
        second = max(self._numbers()) + 1
        git(self.hosted, "update-ref", f"{_CHANGES}{second}", f"{_CHANGES}{number}")
        return second

    def set_default(self, branch: str) -> None:
        """Have the default branch renamed."""
        old = git(self.hosted, "symbolic-ref", "--short", "HEAD")
        git(self.hosted, "branch", "-m", old, branch)

    def leave_check(self, sha: str, name: str, *, status: str, conclusion: str | None) -> None:
        """Have CI report on a commit, as a shell script would: a blob and a ref."""
        blob = self._blob({"name": name, "status": status, "conclusion": conclusion})
        key = hashlib.sha256(name.encode()).hexdigest()[:8]
        git(self.hosted, "update-ref", f"refs/touchline/ci/{sha}/{key}", blob)

    def set_policy(self, policy: dict[str, Any]) -> None:
        """Have an administrator say what CI must show."""
        git(self.hosted, "update-ref", "refs/touchline/policy/default", self._blob(policy))

    def lose_next_answer(self) -> None:
        """Let the next write take place and break off before its answer."""
        self._hook("reference-transaction", _LOSE)

    def move_during_next_write(self, branch: str, sha: str) -> None:
        """Let somebody push to a branch while the next write is under way."""
        self._hook("post-receive", _MEDDLE.format(branch=branch, sha=sha))

    def refuse(self, status: int, *, times: int) -> None:
        """A bare repository answers no HTTP."""
        raise AssertionError("the ability `refuse` is not declared")

    def _numbers(self) -> list[int]:
        refs = git(self.hosted, "for-each-ref", "--format=%(refname)", _CHANGES).splitlines()
        return sorted(int(ref.removeprefix(_CHANGES)) for ref in refs)

    def _record(self, number: int) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(git(self.hosted, "show", f"{_CHANGES}{number}:change.json"))
        return told

    def _write(self, number: int, values: dict[str, Any]) -> None:
        ref = f"{_CHANGES}{number}"
        blob = self._blob({**self._record(number), **values})
        entries = [line for line in git(self.hosted, "ls-tree", ref).splitlines() if not line.endswith("\tchange.json")]
        tree = _fed(self.hosted, ["mktree"], "\n".join([*entries, f"100644 blob {blob}\tchange.json", ""]))
        commit = git(self.hosted, "commit-tree", "-p", ref, "-m", "By hand", tree)
        git(self.hosted, "update-ref", ref, commit)

    def _blob(self, value: dict[str, Any]) -> str:
        return _fed(self.hosted, ["hash-object", "-w", "--stdin"], json.dumps(value))

    def _hook(self, name: str, script: str) -> None:
        path = self.hosted / "hooks" / name
        path.write_text(script)
        path.chmod(0o755)


def _fed(folder: Path, args: list[str], text: str) -> str:
    done = subprocess.run(["git", *args], cwd=folder, input=text.encode(), capture_output=True, timeout=60, check=True)
    return done.stdout.decode().strip()
