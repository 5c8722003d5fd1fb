"""Where things are on disk, and the slugs that name them (spec page 3, "Place").

Every part of a place is a slug of `[a-z0-9_-]`, so no input, be it a branch name or a remote URL, can make a
path that leaves the state folder. Standard library only: the command line imports this before anything else.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from touchline.errors import ConfigError, UsageError

MAX_SLUG = 60
"""Characters of a slug before any suffix; every file name stays far below what file systems allow."""

_NOT_SLUG = re.compile(r"[^a-z0-9_]+")
_SLUG = re.compile(r"[a-z0-9_][a-z0-9_-]{0,127}", re.ASCII)
_AMBIGUOUS_KEY = re.compile(r"detached-.*|.*-local|.*-[0-9a-f]{12}", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)", re.DOTALL)
_SCP = re.compile(r"(?:[^@/]*@)?(?P<host>\[[^\]/]*\]|[^:/\[\]]+):(?!:)(?P<path>.*)", re.DOTALL)
_WEB_PORTS = {"https": "443", "http": "80"}
_CASE_BLIND_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org"})


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The places inside the folder of one change."""

    path: Path

    @property
    def ledger(self) -> Path:
        """The authority: `ledger.json`."""
        return self.path / "ledger.json"

    @property
    def plan(self) -> Path:
        """The copy of the plan."""
        return self.path / "plan.md"

    @property
    def steps(self) -> Path:
        """Each planned step with its facts: evidence for replay, never read by the loop."""
        return self.path / "steps.jsonl"

    @property
    def lock(self) -> Path:
        """The file that the running process holds."""
        return self.path / "run.lock"

    @property
    def private(self) -> Path:
        """What must outlive a crash but not the run."""
        return self.path / "private"

    @property
    def output(self) -> Path:
        """Whole outputs of commands."""
        return self.path / "output"

    def process_mark(self, run_number: str) -> str:
        """What the programs of this run carry in their environment; the next start of the run kills what has it.

        Two runs may begin in one second and then have one number, so the place is part of the mark.
        """
        place = hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:16]
        return f"{run_number}-{place}"

    def feedback(self, run_number: str, turn: int) -> Path:
        """The feedback file given to turn `turn` of run `run_number`."""
        return self.path / "feedback" / _run_number(run_number) / f"turn-{_count(turn)}.md"

    def start(self, run_number: str) -> Path:
        """The ledger as run `run_number` began with it: evidence for replay, never read by the loop."""
        return self.path / "starts" / f"{_run_number(run_number)}.json"

    def report(self, verify_run: int) -> Path:
        """The report of verification run `verify_run`."""
        return self.path / "reports" / f"{_count(verify_run)}.json"

    def evidence(self, ci_run: int) -> Path:
        """The evidence of CI reading `ci_run`."""
        return self.path / "evidence" / f"{_count(ci_run)}.json"


def slug(text: str, *, max_length: int = MAX_SLUG) -> str:
    """Lower-case ASCII words of `text` joined by "-"; empty when nothing of it survives."""
    folded = unicodedata.normalize("NFKD", text).lower().encode("ascii", "ignore").decode()
    return _NOT_SLUG.sub("-", folded).strip("-")[:max_length].strip("-")


def is_slug(text: str) -> bool:
    """Whether `text` can be one part of a place on disk."""
    return _SLUG.fullmatch(text) is not None


def canonical_identity(remote_url: str, *, base: Path | None = None) -> str:
    """What stays the same of a remote however its URL is written: `host/path`, or `file:/path`.

    Credentials, query, `.git`, trailing slashes and default ports go; so does every ssh port, since the ssh
    and web addresses of one server differ in it, while a web port of its own tells two servers apart. The
    host's letter case is folded, the path's only for hosts known to ignore it. `base` resolves a relative
    local path.
    """
    text = remote_url.strip()
    if url := _URL.match(text):
        scheme = url["scheme"].lower()
        if scheme == "file":
            return _local_identity(unquote(url["path"]), base)
        host, port = _split_authority(url["authority"])
        if port and port != _WEB_PORTS.get(scheme) and scheme in _WEB_PORTS:
            host = f"{host}:{port}"
        return _remote_identity(host, unquote(url["path"]))
    if (scp := _SCP.match(text)) and "/" not in text.partition(":")[0]:
        return _remote_identity(scp["host"].lower(), scp["path"])
    return _local_identity(text, base)


def project_key(remote_url: str | None, common_dir: Path) -> str:
    """The folder name of a project: slug of `owner/repo` and 8 hex digits of its canonical identity.

    Without a remote the real path of the common git folder is the identity, so that all worktrees of one
    repository share a project.
    """
    if remote_url and remote_url.strip():
        identity = canonical_identity(remote_url, base=common_dir.parent)
        name = "-".join(identity.rpartition(":")[2].split("/")[-2:])
    else:
        real = os.path.realpath(common_dir)
        identity = f"file:{real}"
        name = Path(real).parent.name if Path(real).name == ".git" else Path(real).name
    return f"{slug(name.removesuffix('.git')) or 'project'}-{_digest(identity)[:8]}"


def change_key(branch: str | None, *, local: bool = False, detached_sha: str | None = None) -> str:
    """The folder name of a change: the branch's slug, or `detached-{sha12}`; `-local` with `--no-pr`.

    A branch that its slug does not spell out exactly, or that looks like a key of another form, carries 12
    hex digits of its name, so that two branches never share a key.
    """
    if branch:
        key = slug(branch)
        if key != branch or _AMBIGUOUS_KEY.fullmatch(key):
            key = f"{key or 'branch'}-{_digest(branch)[:12]}"
    else:
        sha = (detached_sha or "").lower()
        if not _SHA.fullmatch(sha):
            raise ValueError(f"neither a branch nor a full commit id: {detached_sha!r}")
        key = f"detached-{sha[:12]}"
    return f"{key}-local" if local else key


def state_root(environ: Mapping[str, str]) -> Path:
    """The folder that holds every project's runs; nothing is created or written here.

    An `XDG_STATE_HOME` that cannot be written is an error, not a reason to look elsewhere: a run that is kept
    in two places is a run forgotten. A relative one is ignored, as the XDG specification says.
    """
    named = environ.get("XDG_STATE_HOME", "")
    if named and Path(named).is_absolute():
        root = Path(named) / "player-coach"
        if not _can_be_written(root):
            raise ConfigError(
                f"the state folder {root} cannot be written",
                fix="Make it writable, or point XDG_STATE_HOME at a folder that is.",
            )
        return root
    home = _home(environ)
    candidates = (home / ".local" / "state" / "player-coach", home / ".player-coach")
    for candidate in candidates:
        if _can_be_written(candidate):
            return candidate
    raise ConfigError(
        f"no place to keep runs: neither {candidates[0]} nor {candidates[1]} can be written",
        fix="Make one of them writable, or point XDG_STATE_HOME at a folder that is.",
    )


def require_outside(root: Path, work_tree: Path) -> None:
    """Refuse a state folder inside the repository: the work being judged must not hold its own judgement."""
    real_root, real_tree = Path(os.path.realpath(root)), Path(os.path.realpath(work_tree))
    if real_root.is_relative_to(real_tree):
        raise ConfigError(
            f"the state folder {root} lies inside the repository {work_tree}",
            fix="Point XDG_STATE_HOME at a folder outside of it.",
        )


def run_folder(root: Path, project: str, key: str) -> RunFolder:
    """The folder of one change; both names may come from a person and are refused unless they are slugs."""
    for part in (project, key):
        if not is_slug(part):
            raise UsageError(
                f"{part!r} is no name of a project or change",
                fix="Give PROJECT/CHANGE as `touchline runs` lists them.",
            )
    return RunFolder(root / project / key)


def run_folders(root: Path) -> Iterator[RunFolder]:
    """Every change folder under `root`, sorted by name; links and foreign names are left out."""
    for project in _slug_folders(root):
        for change in _slug_folders(project):
            yield RunFolder(change)


def make_private_folder(path: Path) -> None:
    """Create `path` and its missing parents with mode 0700 whatever the umask; an OSError is the caller's."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)


def config_home(environ: Mapping[str, str]) -> Path:
    """The folder of the user's configuration: `$XDG_CONFIG_HOME/touchline` or `~/.config/touchline`."""
    named = environ.get("XDG_CONFIG_HOME", "")
    base = Path(named) if named and Path(named).is_absolute() else _home(environ) / ".config"
    return base / "touchline"


def _home(environ: Mapping[str, str]) -> Path:
    named = environ.get("HOME", "")
    if named and Path(named).is_absolute():
        return Path(named)
    try:
        return Path.home()
    except RuntimeError as error:
        fix = "Set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME."
        raise ConfigError("there is no home folder", fix=fix) from error


def _can_be_written(folder: Path) -> bool:
    # Asked of the nearest folder that exists, creating nothing: `doctor` and `--dry-run` come by here.
    existing = folder
    while not os.path.lexists(existing) and existing != existing.parent:
        existing = existing.parent
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _slug_folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names) if is_slug(name)]


def _split_authority(authority: str) -> tuple[str, str]:
    host = authority.rpartition("@")[2]
    name, colon, port = host.rpartition(":")
    if colon and port.isascii() and (port.isdigit() or not port):
        host = name
    else:
        port = ""
    return host.lower(), port


def _remote_identity(host: str, path: str) -> str:
    if host in _CASE_BLIND_HOSTS:
        path = path.lower()
    return f"{host}/{_clean_path(path)}"


def _local_identity(path: str, base: Path | None) -> str:
    real = _real_path(str((base or Path()) / path)).rstrip("/")
    return f"file:{real.removesuffix('.git').rstrip('/')}"


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # text that no file name can be, from a hand-written remote
        return os.path.abspath(path)  # noqa: PTH100 - lexical on purpose


def _clean_path(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git") or parts[-1]
    return "/".join(parts)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _run_number(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,32}", text, re.ASCII):
        raise ValueError(f"not a run number: {text!r}")
    return text


def _count(number: int) -> int:
    if number < 1:
        raise ValueError(f"counted from 1: {number}")
    return number
