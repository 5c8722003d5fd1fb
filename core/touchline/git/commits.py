"""One commit for each turn that changed something (spec page 5, "one semantic commit a turn").

The tree to be committed is known beforehand and scanned by the caller; exactly that tree is committed, whatever the
work tree holds by then (see `intended`). What the user staged stays out of it and stays staged. Hooks are run by us
(see `hooks`); the commit is made by plumbing, which runs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from touchline.errors import GitError
from touchline.git.call import redact
from touchline.git.hooks import HOOKS, CommitSetup, HookRun, run_hook
from touchline.git.index import restore_index, save_index, write_index
from touchline.git.intended import Intended, index_of, intended_tree, tree_of, write_tree
from touchline.git.messages import message_digest
from touchline.git.repository import Repository
from touchline.git.trees import changed_paths, snapshot, untracked
from touchline.process.cancel import Cancellation

__all__ = ["CommitKind", "Committed", "Intended", "commit_turn", "intended_tree", "is_turn_commit"]

HOOK_TIMEOUT_S = 600.0
SIGNING_TIMEOUT_S = 120.0
MAX_MESSAGE_BYTES = 64 * 1024
_MERGE_STATE = "MERGE_HEAD"


class CommitKind(StrEnum):
    """How `commit_turn` ended. Only `committed` moved the branch."""

    COMMITTED = "committed"
    NOTHING = "nothing"
    """The tree is that of the start."""
    HOOK_FAILED = "hook-failed"
    """A commit hook refused: its output is feedback for the player."""
    HOOK_CHANGED = "hook-changed"
    """The hooks let it pass but changed owned or staged files: make the tree and scan it again, then commit once more.
    A caller bounds how often; a hook that never comes to rest has refused."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The outcome. `changed` are paths that a hook changed or made, whatever the outcome.

    `message` is the message of the commit; `message_changed` if a hook edited it. `hook`, `reason` and `output` tell
    of the hook that refused.
    """

    kind: CommitKind
    commit: str = ""
    message: str = ""
    message_changed: bool = False
    hook: str = ""
    reason: str = ""
    output: str = ""
    changed: tuple[str, ...] = ()


def commit_turn(
    repo: Repository,
    intended: Intended,
    message: str,
    *,
    setup: CommitSetup,
    parents: Sequence[str] = (),
    paths: Collection[str] = (),
    hook_timeout_s: float = HOOK_TIMEOUT_S,
    cancel: Cancellation | None = None,
) -> Committed:
    """Commits `intended.tree` on top of `intended.start`, where HEAD must stand, under `setup`.

    `parents` are further ones (a merged target); `paths` are the owned paths, watched for changes by hooks. Raises
    GitError if HEAD stands elsewhere, the message is empty or too long, signing fails, or git refuses; branch and
    index are then as before.
    """
    _check_message(message)
    head = repo.head()
    if head.commit != intended.start:
        raise _moved(repo, head.commit, intended.start)
    if not parents and intended.tree == tree_of(repo, intended.start):
        return Committed(CommitKind.NOTHING)
    ran = _run_hooks(repo, intended, message, setup, paths, hook_timeout_s, cancel)
    if ran.failed is not None:
        bad = ran.failed
        return Committed(CommitKind.HOOK_FAILED, "", "", False, bad.name, bad.reason, bad.output, ran.changed)
    if ran.touches_commit:
        return Committed(CommitKind.HOOK_CHANGED, changed=ran.changed)
    said = ran.message
    commit = _make(repo, intended, said, setup, parents)
    saved = save_index(repo)
    # The index goes first: a run that is killed in between finds its work staged and commits it once more.
    try:
        _update_index(repo, intended, merged=bool(parents))
        subject = said.partition("\n")[0]
        old = intended.start or repo.null_id
        repo.git("update-ref", "-m", f"commit: {subject}", "HEAD", commit, old, error=GitError)
    except GitError:
        restore_index(repo, saved)
        raise
    if os.path.lexists(repo.git_dir / _MERGE_STATE):
        repo.git("merge", "--quit", error=GitError)
    return Committed(CommitKind.COMMITTED, commit, said, said != message, changed=ran.changed)


def is_turn_commit(repo: Repository, start: str, tree: str, message: str) -> bool:
    """Whether HEAD is the commit of a turn that was killed before it could be recorded.

    `message` is the `message_digest` of what `commit_turn` was given. False also if a hook edited the message: the
    commit is then taken back and made again like one of the player's.
    """
    head = repo.head().commit
    if not head or head == start:
        return False
    fields, _, body = repo.git("cat-file", "commit", head).partition(b"\n\n")
    rows = [row.split(b" ", 1) for row in fields.split(b"\n") if row.startswith((b"tree ", b"parent "))]
    trees = [os.fsdecode(row[1]) for row in rows if row[0] == b"tree"]
    parents = [os.fsdecode(row[1]) for row in rows if row[0] == b"parent"]
    made_from = parents[0] if parents else ""
    return trees == [tree] and made_from == start and message_digest(body.decode("utf-8", "replace")) == message


@dataclass(frozen=True, slots=True)
class _HooksRan:
    """The message after the hooks, the hook that refused, and the paths that hooks changed."""

    message: str
    failed: HookRun | None = None
    changed: tuple[str, ...] = ()
    touches_commit: bool = False


def _run_hooks(
    repo: Repository,
    intended: Intended,
    message: str,
    setup: CommitSetup,
    paths: Collection[str],
    timeout_s: float,
    cancel: Cancellation | None,
) -> _HooksRan:
    if not setup.has_hooks:
        return _HooksRan(message)
    before, loose = snapshot(repo, paths), set(untracked(repo))
    place = repo.git_dir / "COMMIT_EDITMSG"
    named = ".git/COMMIT_EDITMSG" if repo.git_dir == repo.work_tree / ".git" else str(place)
    given = {"pre-commit": (), "prepare-commit-msg": (named, "message"), "commit-msg": (named,)}
    failed = None
    with index_of(repo, intended.tree) as env:
        # Hooks compare index and work tree; without fresh file data every file would seem changed.
        repo.run("update-index", "-q", "--refresh", extra_env=env, filters="user")
        _write_message(place, message)
        seen = {**env, **_as_whom(setup), "GIT_EDITOR": ":", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": ""}
        for name in HOOKS:
            ran = run_hook(repo, setup, name, given[name], env=seen, timeout_s=timeout_s, cancel=cancel)
            if ran is not None and ran.reason:
                failed = ran
                break
        staged = _changed_in_index(repo, intended.tree, env)
    said = _read_message(place)
    after = snapshot(repo, paths, previous=before)
    new = set(untracked(repo)) - loose
    differing = set(changed_paths(before, after))
    if failed is None and not said.strip():
        failed = HookRun("commit-msg", "it left an empty message", "")
    return _HooksRan(
        said, failed, tuple(sorted(differing | staged | new)), bool(staged or differing.intersection(paths))
    )


def _write_message(place: Path, message: str) -> None:
    """Writes git's message file anew: what lies there could be a link to anywhere."""
    try:
        place.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(place, flags, 0o666), "wb") as file:
            file.write(message.encode("utf-8", "replace"))
    except OSError as error:
        raise GitError(f"{place} cannot be written: {error.strerror}", fix="Remove what lies there.") from error


def _changed_in_index(repo: Repository, tree: str, env: Mapping[str, str]) -> set[str]:
    """The paths that a hook staged otherwise; a broken index counts as no answer and raises GitError."""
    now = write_tree(repo, env)
    if now == tree:
        return set()
    output = repo.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", tree, now)
    return set(os.fsdecode(output).split("\0")[:-1])


def _read_message(place: Path) -> str:
    try:
        with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            text = file.read(MAX_MESSAGE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return text.rstrip() + "\n"


def _make(repo: Repository, intended: Intended, message: str, setup: CommitSetup, parents: Sequence[str]) -> str:
    """Writes the commit object and gives its id; no ref moves."""
    settings = [("i18n.commitEncoding", "UTF-8")]
    args = ["commit-tree", intended.tree]
    for parent in (intended.start, *parents):
        args += ["-p", parent] if parent else []
    if setup.sign:
        args.append(f"-S{setup.signing_key}")
        settings += [("gpg.format", setup.signing_format)] if setup.signing_format else []
    env = _as_whom(setup)
    env["GIT_CONFIG_PARAMETERS"] = " ".join(f"{_quoted(key)}={_quoted(value)}" for key, value in settings)
    timeout_s = SIGNING_TIMEOUT_S
    done = repo.run(*args, stdin=message.encode("utf-8", "replace"), extra_env=env, timeout_s=timeout_s)
    if done.returncode == 0:
        return done.stdout.decode("ascii").strip()
    words = redact(done.stderr.decode("utf-8", "replace").strip())[-1000:]
    if setup.sign:
        how = words if done.ending == "exited" else f"it did not end within {timeout_s:.0f} seconds"
        raise GitError(
            f"the commit could not be signed: {how}",
            fix="Unlock the key for use without a terminal, or switch signing off: git config commit.gpgSign false",
        )
    raise GitError(f"git could not write the commit: {words}", fix="Check the disk and the repository (git fsck).")


def _as_whom(setup: CommitSetup) -> dict[str, str]:
    return {
        "GIT_AUTHOR_NAME": setup.author[0],
        "GIT_AUTHOR_EMAIL": setup.author[1],
        "GIT_COMMITTER_NAME": setup.committer[0],
        "GIT_COMMITTER_EMAIL": setup.committer[1],
    }


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _update_index(repo: Repository, intended: Intended, *, merged: bool) -> None:
    """Makes the user's index agree with the new commit where it differs from the start; all else stays staged."""
    if merged:
        write_index(repo, "read-tree", intended.tree)
    else:
        base = tree_of(repo, intended.start)
        output = repo.git("diff-tree", "-r", "-z", "--no-renames", "--full-index", base, intended.tree)
        fields = os.fsdecode(output).split("\0")[:-1]
        gone: list[bytes] = []
        come: list[bytes] = []
        for meta, path in zip(fields[0::2], fields[1::2], strict=True):
            _, mode, _, blob, status = meta.split(" ")
            line = os.fsencode(f"{'0' if status == 'D' else mode} {blob}\t{path}") + b"\0"
            (gone if status == "D" else come).append(line)
        write_index(repo, "update-index", "-z", "--index-info", stdin=b"".join((*gone, *come)))
    repo.run("update-index", "-q", "--refresh", filters="user")


def _check_message(message: str) -> None:
    if not message.strip() or "\0" in message or len(message.encode("utf-8", "replace")) > MAX_MESSAGE_BYTES:
        raise GitError("the commit message is empty, too long or holds a NUL", fix="Report this as a bug.")


def _moved(repo: Repository, now: str, start: str) -> GitError:
    return GitError(
        f"HEAD of {repo.work_tree} is at {now[:12] or 'no commit'}, not at {start[:12] or 'no commit'}, where it was",
        fix="Somebody committed meanwhile. Look at the branch, then start again.",
    )
