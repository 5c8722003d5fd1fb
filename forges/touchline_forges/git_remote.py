"""One remote repository by git alone: refs, objects, guarded pushes (spec page 6, "Generic forge" and "Network").

Reads are repeated a few times with growing waits. Writes are not: whether a push whose answer got lost took place
is for the caller to look up. Every ref is moved by compare-and-swap, from the very value that was read: what somebody
does in between makes the push fail. A branch is never forced: it is moved only to a commit that has the old one in
its history, which the caller has proved.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from touchline.api import (
    Completed,
    Credential,
    ForgeBusy,
    ForgeError,
    ForgeHost,
    ForgeNotFoundError,
    ForgeSettings,
    ForgeUnavailable,
    Remote,
    RepositoryId,
    find_remote,
    identify_remote,
)
from touchline_forges.git_words import PushedRef, Refusal, failure, outcome_untold, parse_push

READ_ATTEMPTS = 3
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
TOKEN_USER = "x-access-token"
"""User name beside a token; hosts that take tokens for passwords look at the token alone."""
OWN_REFS = "refs/touchline/"

Use = Literal["fetch", "push"]

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Refs:
    """Refs of a remote at one moment: name to full object id. `head` is the ref that HEAD names, "" if untold."""

    at: Mapping[str, str]
    head: str = ""

    def branch(self, name: str) -> str:
        """The tip of a branch, "" where there is none."""
        return self.at.get(f"refs/heads/{name}", "")


@dataclass(frozen=True, slots=True)
class Swap:
    """One ref to be moved from `old` ("" for a ref that must not exist) to `new`."""

    ref: str
    old: str
    new: str


class GitRemotes:
    """The remote repositories that the local repository is bound to, by identity."""

    def __init__(self, provider: str, settings: ForgeSettings, host: ForgeHost) -> None:
        self._provider = provider
        self._settings = settings
        self._host = host
        self._bound: dict[tuple[RepositoryId, Use], Remote] = {}

    def identify(self, remote_url: str) -> RepositoryId | None:
        """The repository that a URL names; contacts nobody."""
        return identify_remote(remote_url, resolve_alias=self._host.ssh_hostname)

    def url(self, repo: RepositoryId) -> str:
        """The URL that `repo` is read from, without credentials."""
        return self._fetched(repo).url

    def named(self, text: str) -> RepositoryId:
        """The repository whose id is written `text`, among those that a remote here names."""
        for remote in self._host.remotes():
            repo = self.identify(remote.url) if remote.use == "fetch" else None
            if repo is not None and str(repo) == text:
                return repo
        raise ForgeNotFoundError(
            f"the change comes from {text}, which no remote here names", fix="Add it with `git remote add NAME URL`."
        )

    def refs_after(self, repo: RepositoryId, pushed: PushedRef, *patterns: str) -> Refs:
        """The refs after a push. Where it broke off and nobody can be asked, its own failure is what is raised."""
        try:
            return self.refs(repo, *patterns)
        except ForgeError as error:
            if pushed.refusal is not Refusal.UNTOLD:
                raise
            raise type(error)(
                f"{pushed.words}; whether it took place cannot be asked: {error.what}", fix=error.fix
            ) from error

    def refs(self, repo: RepositoryId, *patterns: str) -> Refs:
        """HEAD and the refs below the given patterns (`refs/heads/*`), complete or an error."""
        remote = self._fetched(repo)
        done = self._read(
            remote, ("ls-remote", "--quiet", "--symref", "--", remote.url, "HEAD", *patterns), f"reading refs of {repo}"
        )
        found: dict[str, str] = {}
        head = ""
        for line in done.stdout.decode("utf-8", "surrogateescape").splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: ") and name == "HEAD":
                head = value.removeprefix("ref: ")
            elif _SHA.fullmatch(value) and not name.endswith("^{}"):
                found[name] = value
        return Refs(found, head)

    def bring(self, repo: RepositoryId, objects: Iterable[str]) -> None:
        """Have the given objects (full ids that refs of `repo` name) in the local repository; moves no ref."""
        missing = [one for one in dict.fromkeys(objects) if one and not self._has(one)]
        if not missing:
            return
        remote = self._fetched(repo)
        arguments = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        stdin = "".join(f"{one}\n" for one in missing).encode()
        done = self._read(
            remote,
            (*arguments, "--no-auto-maintenance", "--stdin", "--", remote.url),
            f"fetching from {repo}",
            stdin=stdin,
            timeout_s=self._settings.write_timeout_s,
        )
        absent = [one for one in missing if not self._has(one)]
        if absent:
            raise ForgeNotFoundError(
                f"{repo} did not send {', '.join(absent)} ({done.stderr.decode('utf-8', 'replace').strip()[-200:]})",
                fix="The refs moved meanwhile: start again.",
            )

    def swap(self, repo: RepositoryId, swap: Swap) -> PushedRef:
        """Move one ref if it is where `swap` says. Raises ForgeUnavailable where the host cannot store it."""
        lease = f"--force-with-lease={swap.ref}:{swap.old}"
        return self._push(repo, (lease,), f"{swap.new}:{swap.ref}", swap.ref)

    def try_writing(self, repo: RepositoryId) -> None:
        """Raise unless the host lets us push at all, as far as asking can tell; changes nothing."""
        remote = self._pushed(repo)
        done = self._send(remote, ("push", "--porcelain", "--dry-run"), (f"HEAD:{OWN_REFS}preflight",))
        if done.returncode != 0 or done.ending != "exited":
            raise failure(done, f"asking {repo} whether it takes pushes")

    def bind(self, repo: RepositoryId, *, writing: bool) -> None:
        """Raise unless exactly one remote of the local repository is `repo`, for pushing too when `writing`."""
        self._fetched(repo)
        if writing:
            self._pushed(repo)

    def _push(self, repo: RepositoryId, options: Collection[str], refspec: str, ref: str) -> PushedRef:
        remote = self._pushed(repo)
        done = self._send(remote, ("push", "--porcelain", "--no-verify", *options), (refspec,))
        said = parse_push(done.stdout).get(ref) if done.ending == "exited" else None
        if said is not None and said.refusal is Refusal.NOT_STORED:
            raise ForgeUnavailable(
                f"{repo} cannot store what was pushed to {ref}: {said.words}",
                fix="Make room at the host (disk, quota, limit of size), then start again.",
            )
        if said is not None:
            return said
        error = failure(done, f"pushing to {repo}")
        lost = isinstance(error, ForgeUnavailable) and not isinstance(error, ForgeBusy)
        if not lost and not outcome_untold(done.stdout):
            raise error
        self._host.say(f"{error.what}; looking whether it took place")
        return PushedRef(ref, Refusal.UNTOLD, error.what)

    def _send(self, remote: Remote, command: tuple[str, ...], refspecs: Collection[str]) -> Completed:
        return self._host.git(
            *command,
            "--",
            remote.url,
            *refspecs,
            timeout_s=self._settings.write_timeout_s,
            remote=remote,
            credential=self._credential(remote),
        )

    def _read(
        self, remote: Remote, args: tuple[str, ...], doing: str, *, stdin: bytes = b"", timeout_s: float = 0.0
    ) -> Completed:
        wait_s = FIRST_WAIT_S
        for attempt in range(1, READ_ATTEMPTS + 1):
            done = self._host.git(
                *args,
                stdin=stdin,
                timeout_s=timeout_s or self._settings.read_timeout_s,
                remote=remote,
                credential=self._credential(remote),
            )
            if done.returncode == 0 and done.ending == "exited" and not done.truncated:
                return done
            error = failure(done, doing)
            if not isinstance(error, ForgeUnavailable) or attempt == READ_ATTEMPTS or done.ending != "exited":
                raise error
            self._host.say(f"{doing} failed ({attempt} of {READ_ATTEMPTS}); trying again in {wait_s:g} s")
            self._host.sleep(wait_s)
            wait_s = min(wait_s * 4, LONGEST_WAIT_S)
        raise ValueError("READ_ATTEMPTS is at least 1")

    def _credential(self, remote: Remote) -> Credential | None:
        if not self._settings.token:
            return None
        user = remote.credential.user if remote.credential and remote.credential.password else ""
        return Credential(user or TOKEN_USER, self._settings.token)

    def _has(self, sha: str) -> bool:
        return self._host.git("cat-file", "-e", sha, timeout_s=self._settings.read_timeout_s).returncode == 0

    def _fetched(self, repo: RepositoryId) -> Remote:
        return self._remote(repo, "fetch")

    def _pushed(self, repo: RepositoryId) -> Remote:
        return self._remote(repo, "push")

    def _remote(self, repo: RepositoryId, use: Use) -> Remote:
        # Bound once: a configuration that changes during a run does not send a later push elsewhere.
        if (repo, use) not in self._bound:
            remotes = self._host.remotes()
            self._bound[repo, use] = find_remote(self.identify, remotes, repo, use=use, provider=self._provider)
        return self._bound[repo, use]
