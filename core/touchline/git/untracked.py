"""Untracked files, by the ignore rules of now or of the start (DESIGN.md, "tree hash": new files are named).

A player can edit `.gitignore`, and so hide a new file or bring an old build folder into view. Rules kept at
the start of a run answer as if that had not happened. They are kept as a small repository that holds nothing
but ignore files, so that git's own matching is used on both sides and the rules outlive a crash.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import GitError
from touchline.git.call import require
from touchline.git.repository import Repository, as_repository

_MAX_RULES_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Ignore rules kept in `folder`, which holds copies of the ignore files of one moment."""

    folder: Path

    @property
    def as_repository(self) -> Repository:
        """The small repository in which git is asked about the rules."""
        return Repository(self.folder, self.folder / ".git", self.folder / ".git")


def untracked(repo: Repository | Path | str, *, rules: IgnoreRules | None = None) -> tuple[str, ...]:
    """The untracked files that are not ignored, each by itself, sorted; a nested repository as `folder/`.

    With `rules`, those decide instead of the ignore files that lie there now.
    """
    repository = as_repository(repo)
    shown = _list(repository, "--others", "--exclude-standard")
    if rules is None:
        return tuple(sorted(shown))
    hidden = _list(repository, "--others", "--ignored", "--exclude-standard", "--directory")
    old = _ignored(rules, {*shown, *hidden})
    found = {path for path in shown if path not in old}
    newly_hidden = [path for path in hidden if path not in old]
    found.update(path for path in newly_hidden if not path.endswith("/"))
    folders = [path for path in newly_hidden if path.endswith("/")]
    if folders:
        inside = _list(repository, "--others", "--", *folders)
        found.update(inside.difference(_ignored(rules, inside)))
    return tuple(sorted(found))


def ignore_rules(repo: Repository | Path | str, folder: Path) -> IgnoreRules:
    """Keeps the ignore rules of now in `folder`, which is created or replaced.

    Not kept: an ignore file that lies deeper than the top of a folder of which everything is ignored.
    """
    repository = as_repository(repo)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
    rules = IgnoreRules(folder)
    kept = rules.as_repository
    for name in ("objects", "refs", "info"):
        (kept.git_dir / name).mkdir(parents=True)
    (kept.git_dir / "HEAD").write_text("ref: refs/heads/rules\n")
    (kept.git_dir / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    kept.git("config", "core.excludesFile", str(kept.git_dir / "touchline-excludes"), error=GitError)
    (kept.git_dir / "touchline-excludes").write_bytes(_read(_user_excludes(repository)))
    (kept.git_dir / "info/exclude").write_bytes(_read(repository.common_dir / "info/exclude"))
    magic = {"GIT_LITERAL_PATHSPECS": "0"}
    args = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ":(top,glob)**/.gitignore")
    names = set(os.fsdecode(repository.git(*args, extra_env=magic)).split("\0")[:-1])
    hidden = _list(repository, "--others", "--ignored", "--exclude-standard", "--directory")
    names.update(f"{path}.gitignore" for path in hidden if path.endswith("/"))
    names.update(path for path in hidden if path.rpartition("/")[2] == ".gitignore")
    for name in names:
        content = _read(repository.inside(name))
        if content:
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
    return rules


def _list(repository: Repository, *options: str) -> set[str]:
    return set(os.fsdecode(repository.git("ls-files", "-z", *options)).split("\0")[:-1])


def _ignored(rules: IgnoreRules, paths: Iterable[str]) -> set[str]:
    """Those of `paths` that the kept rules ignore; a path with a final `/` is a folder."""
    asked = sorted(paths)
    for path in asked:
        # Git looks whether a path is a folder, since `build/` in an ignore file means folders only.
        if path.endswith("/"):
            (rules.folder / path).mkdir(parents=True, exist_ok=True)
    if not asked:
        return set()
    # A leading `./` keeps git from reading magic into a name that begins with a colon.
    stdin = b"".join(b"./" + os.fsencode(path.rstrip("/")) + b"\0" for path in asked)
    args = ("check-ignore", "-z", "--stdin", "--no-index")
    done = rules.as_repository.run(*args, stdin=stdin, extra_env={"GIT_LITERAL_PATHSPECS": "0"})
    require(done, args, ok=(0, 1))
    answered = set(os.fsdecode(done.stdout).split("\0")[:-1])
    return {path for path in asked if "./" + path.rstrip("/") in answered}


def _user_excludes(repository: Repository) -> Path:
    done = repository.run("config", "--type=path", "--get", "core.excludesFile")
    if done.returncode == 0:
        return repository.inside(os.fsdecode(done.stdout).removesuffix("\n"))
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(home) / "git/ignore"


def _read(place: Path) -> bytes:
    """The content of an ignore file as git would use it: a regular file of sane size, else nothing."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return file.read(_MAX_RULES_BYTES)
