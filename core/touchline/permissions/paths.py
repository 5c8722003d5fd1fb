"""Where a path of a request really lies (spec page 8, "paths resolved against the work tree").

Pure: symbolic links are looked up by the `resolve` function that the caller hands in (the gate passes
`os.path.realpath`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from touchline.permissions.words import HOLE, Word

Resolve = Callable[[str], str]
"""An absolute path to the path that it really means, links followed, existing or not."""

_GIT_PART = re.compile(r"(?:^|[/=,:\\])\.git(?:[/\\]|$)|^-[A-Za-z]+\.git(?:[/\\]|$)|\w\.git/", re.IGNORECASE)
_SECRET = re.compile(
    r"(?:^|/)(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.config/gh|\.config/glab-cli|\.config/gcloud)(?:/|$)"
    r"|(?:^|/)(?:\.netrc|\.git-credentials|\.pgpass|\.npmrc|\.pypirc|\.docker/config\.json)$"
    r"|(?:^|/)(?:id_rsa|id_ed25519|id_ecdsa)$"
    r"|(?:^|/)\.(?:claude|codex)/[^/]*(?:credentials|auth)[^/]*$"
    r"|^/proc/[^/]+/(?:environ|mem|root|fd)"
    r"|^/etc/shadow"
)
DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2"})


class Zone(StrEnum):
    """Where a path lies."""

    TREE = "inside the work tree"
    GIT = "git's own folder"
    OUTSIDE = "outside the work tree"
    WRITABLE = "a folder that this run may write"
    DEVICE = "a device"
    UNKNOWN = "not known before the line runs"


@dataclass(frozen=True, slots=True)
class Place:
    """The folders that matter for one request; `bases` are the folders a relative path may start from."""

    work_tree: str
    git_dirs: tuple[str, ...]
    writable: tuple[str, ...]
    resolve: Resolve
    bases: tuple[str, ...] | None

    def zone(self, word: Word) -> Zone:
        """Where `word` lies as a path, from every possible base; the worst answer counts."""
        text = word.text
        if _GIT_PART.search(text):
            return Zone.GIT
        if word.splits or HOLE in text:
            return Zone.UNKNOWN
        if word.glob:
            return self._glob_zone(text)
        if text in DEVICES:
            return Zone.DEVICE
        if text.startswith("~"):
            return Zone.OUTSIDE
        if posixpath.isabs(text):
            return self.zone_of(text)
        if self.bases is None:
            return Zone.UNKNOWN
        zones = {self.zone_of(posixpath.join(base, text)) for base in self.bases}
        return max(zones, key=_WORST.index)

    def zone_of(self, path: str) -> Zone:
        """Where the absolute `path` really lies."""
        real = self.resolve(path)
        parts = {part.casefold() for part in real.split("/")}
        if ".git" in parts or any(_within(real, folder) for folder in self.git_dirs):
            return Zone.GIT
        if _within(real, self.work_tree):
            return Zone.TREE
        if any(_within(real, folder) for folder in self.writable):
            return Zone.WRITABLE
        return Zone.OUTSIDE

    def _glob_zone(self, pattern: str) -> Zone:
        head, slash, _ = re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")
        for part in pattern.split("/"):
            if part.startswith(".") and re.search(r"[*?\[]", part):
                return Zone.GIT  # `.*` and `.g?t` reach git's own folder
        if ".." in pattern.split("/"):
            return Zone.UNKNOWN
        return self.zone(Word(head + slash or "."))


_WORST = [Zone.DEVICE, Zone.TREE, Zone.WRITABLE, Zone.UNKNOWN, Zone.OUTSIDE, Zone.GIT]


def names_secret(word: Word, place: Place) -> bool:
    """Whether `word` names a file that holds credentials, as far as the text shows."""
    text = word.text.partition("=")[2] if word.text.startswith("-") and "=" in word.text else word.text
    if not text or len(text) > 4096:
        return False
    if _SECRET.search(text):
        return True
    if word.literal is None or place.bases is None or ("/" not in text and not text.startswith(".")):
        return False
    return any(_SECRET.search(place.resolve(posixpath.join(base, text))) for base in place.bases)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
