"""Who commits and which hooks run, as it stood before a turn (DESIGN.md, "commit hooks run from the state before").

A player can edit hooks, the folder that `core.hooksPath` names, and the identity in `.git/config`. So all of it is
taken down before the run and kept in its private folder. A hook that is still the same runs in place, because it may
look for files beside itself; one that was changed runs from the copy. What a hook itself reads from the work tree
(its configuration, the programs it calls) is the work being judged, so it gets no token in its environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from touchline.errors import GitError, ProcessError
from touchline.git.isolation import ConfigValue, foreign_git_names, parse_config_list
from touchline.git.repository import Repository
from touchline.process import Completed, run
from touchline.process.cancel import Cancellation
from touchline.process.environment import clean_environment
from touchline.state import make_private_folder

HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")
"""In the order in which they run."""

MAX_OUTPUT_BYTES = 256 * 1024
_MAX_FILES = 1000
_MAX_BYTES = 64 * 1024 * 1024
_IDENTITY = re.compile(r"(?P<name>.*) <(?P<email>[^<>]*)> \d+ [+-]\d{4}", re.DOTALL)
_SECRET_NAME = re.compile(
    r"(?i).*(?:token|secret|passw(?:or)?d|passphrase|credential|api_?key|access_?key|private_?key|auth_?key|signing_?key"
    r"|_pat|_auth|_cookie|_dsn|connection_?string)(?:_\w+)?"
    r"|ssh_auth_sock|ssh_agent_pid|gpg_agent_info|(?:git|ssh)_askpass|netrc|docker_auth_config|kubeconfig|database_url|.*_database_url"
)


@dataclass(frozen=True, slots=True)
class CommitSetup:
    """Identity, signing and hooks of before a turn. Plain texts, so it can be stored.

    `folder` is what was copied to `copy` ("" if there were no hooks), `inside` where in it the hooks lie, and
    `manifest` its files (path -> digest).
    """

    author: tuple[str, str]
    committer: tuple[str, str]
    sign: bool
    signing_key: str
    signing_format: str
    folder: str
    copy: str
    inside: str
    manifest: dict[str, str]
    notes: tuple[str, ...] = ()

    @property
    def has_hooks(self) -> bool:
        """Whether there is any hook to run."""
        return bool(self.folder)


@dataclass(frozen=True, slots=True)
class HookRun:
    """How one hook ended. `reason` is "" if it let the commit pass."""

    name: str
    reason: str
    output: str


def keep_commit_setup(repo: Repository, folder: Path) -> CommitSetup:
    """Takes the setup down into `folder` (private), which is created or replaced.

    Raises GitError, with what to do, if git does not know who commits.
    """
    if folder.exists():
        shutil.rmtree(folder)
    make_private_folder(folder)
    config = parse_config_list(repo.git("config", "--list", "-z", "--show-scope", "--includes"))
    kept, inside, notes = _keep_hooks(repo, _last(config, "core.hookspath"), folder / "hooks")
    setup = CommitSetup(
        author=_identity(repo, "GIT_AUTHOR_IDENT"),
        committer=_identity(repo, "GIT_COMMITTER_IDENT"),
        sign=_last(config, "commit.gpgsign").lower() in ("true", "yes", "on", "1"),
        signing_key=_last(config, "user.signingkey"),
        signing_format=_last(config, "gpg.format"),
        folder=str(kept) if kept else "",
        copy=str(folder / "hooks") if kept else "",
        inside=inside,
        manifest=_manifest(folder / "hooks") if kept else {},
        notes=notes,
    )
    (folder / "setup.json").write_text(json.dumps(asdict(setup)), encoding="ascii")
    return setup


def require_identity(repo: Repository) -> None:
    """Raise GitError, with what to do, if git does not know who commits; changes nothing."""
    for variable in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        _identity(repo, variable)


def load_commit_setup(folder: Path) -> CommitSetup:
    """What `keep_commit_setup` took down. Raises GitError if it cannot be read."""
    try:
        stored = json.loads((folder / "setup.json").read_bytes())
        for name in ("author", "committer", "notes"):
            stored[name] = tuple(stored[name])
        return CommitSetup(**stored)
    except (OSError, ValueError, TypeError, KeyError) as error:
        what = f"the commit setup in {folder} cannot be read: {type(error).__name__}"
        raise GitError(what, fix="Begin a new run.") from error


def run_hook(
    repo: Repository,
    setup: CommitSetup,
    name: str,
    args: tuple[str, ...],
    *,
    env: dict[str, str],
    timeout_s: float,
    cancel: Cancellation | None = None,
) -> HookRun | None:
    """Runs one hook in the work tree; None if there is none (or none that can be executed, as git sees it).

    `env` comes on top of the environment without tokens.
    """
    program = _program(setup, name)
    if program is None:
        return None
    argv = [str(program), *args]
    if not _names_its_interpreter(program):
        # Git hands a script without a first line to the shell.
        argv = ["/bin/sh", *argv]
    environment = clean_environment(os.environ, remove=_removed_names(), add=env)
    try:
        done = run(
            argv,
            cwd=repo.work_tree,
            env=environment,
            timeout_s=timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
            keep="tail",
            supervised=True,
            cancel=cancel,
        )
    except ProcessError as error:
        return HookRun(name, error.what, "")
    return HookRun(name, _reason(done, timeout_s), _output(done))


def _removed_names() -> list[str]:
    return [*foreign_git_names(os.environ), *(name for name in os.environ if _SECRET_NAME.fullmatch(name))]


def _reason(done: Completed, timeout_s: float) -> str:
    if done.ending == "exited":
        return "" if done.returncode == 0 else f"it ended with status {done.returncode}"
    if done.ending == "wall":
        return f"it did not end within {timeout_s:.0f} seconds"
    return f"it was stopped ({done.ending})"


def _output(done: Completed) -> str:
    parts = (part.decode("utf-8", "replace").strip() for part in (done.stdout, done.stderr))
    return "\n".join(part for part in parts if part)


def _program(setup: CommitSetup, name: str) -> Path | None:
    copied = Path(setup.copy) / setup.inside / name
    if not setup.folder or not copied.is_file() or not os.access(copied, os.X_OK):
        return None
    live = Path(setup.folder)
    return live / setup.inside / name if _manifest(live) == setup.manifest else copied


def _names_its_interpreter(program: Path) -> bool:
    with program.open("rb") as file:
        return file.read(4)[:2] in (b"#!", b"\x7fE", b"\xcf\xfa", b"\xca\xfe")


def _keep_hooks(repo: Repository, chosen: str, target: Path) -> tuple[Path | None, str, tuple[str, ...]]:
    """The folder that was copied to `target`, where in it the hooks lie, and what to say about it."""
    hooks = Path(os.path.normpath(repo.work_tree / Path(chosen).expanduser())) if chosen else repo.common_dir / "hooks"
    if not any((hooks / name).is_file() for name in HOOKS):
        return None, "", ()
    notes = (f"commit hooks run as they stand now in {hooks}",)
    if hooks.is_relative_to(repo.work_tree) and not hooks.is_relative_to(repo.common_dir):
        # Hook managers keep the scripts beside the folder that git is told of.
        top, *below = hooks.relative_to(repo.work_tree).parts or (".",)
        if below and _copy(repo.work_tree / top, target):
            return repo.work_tree / top, str(Path(*below)), notes
        shutil.rmtree(target, ignore_errors=True)
    if not _copy(hooks, target):
        raise GitError(
            f"the hooks folder {hooks} is too large to be taken down",
            fix="Keep only hooks in it, or unset core.hooksPath for this run.",
        )
    return hooks, "", notes


def _copy(source: Path, target: Path) -> bool:
    """Copies a folder, links by content; False if it is too large."""
    target.mkdir(mode=0o700)
    files = size = 0
    for place, name in _files(source):
        found = place.stat()
        files, size = files + 1, size + found.st_size
        if files > _MAX_FILES or size > _MAX_BYTES:
            return False
        copied = target / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place, copied)
        copied.chmod(stat.S_IMODE(found.st_mode) & 0o700 | 0o600)
    return True


def _files(folder: Path, depth: int = 8) -> Iterator[tuple[Path, str]]:
    """The regular files below `folder`, with relative names; samples and foreign folders are left out."""
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if place.is_dir():
            if depth and not place.is_symlink() and place.name not in ("node_modules", ".git"):
                for inner, name in _files(place, depth - 1):
                    yield inner, f"{place.name}/{name}"
        elif place.is_file() and not place.name.endswith(".sample"):
            yield place, place.name


def _manifest(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, name in _files(folder):
        if len(found) > _MAX_FILES or place.stat().st_size > _MAX_BYTES:
            return {}
        mark = "x" if os.access(place, os.X_OK) else "-"
        found[name] = mark + hashlib.sha256(place.read_bytes()).hexdigest()
    return found


def _identity(repo: Repository, variable: str) -> tuple[str, str]:
    # Git would make an address of the names of user and machine, which nobody wants in a history.
    done = repo.run("var", variable, extra_env={"GIT_CONFIG_PARAMETERS": "'user.useConfigOnly'='true'"})
    found = _IDENTITY.fullmatch(os.fsdecode(done.stdout).removesuffix("\n")) if done.returncode == 0 else None
    if found is None or not found["name"]:
        raise GitError(
            f"git does not know who commits in {repo.work_tree}: no name or no e-mail address is configured",
            fix="Set both: git config --global user.name 'Your Name' && git config --global user.email you@example.org",
        )
    return found["name"], found["email"]


def _last(config: tuple[ConfigValue, ...], key: str) -> str:
    values = [item.value for item in config if item.key == key and item.scope != "command"]
    return values[-1] if values else ""
