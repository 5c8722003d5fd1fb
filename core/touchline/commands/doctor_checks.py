"""Owns what `touchline doctor` looks at (spec page 8); nothing is changed and no model is called.

Forge binding and CI policy are looked at once forges are part of touchline.
"""

from __future__ import annotations

import platform
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from touchline import state
from touchline.coach.executors import NEVER_PICKED, build_executor, candidates
from touchline.config import places
from touchline.config.load import load_local
from touchline.config.masking import holds_secret
from touchline.config.source import parse_document
from touchline.documents.settings import Settings
from touchline.errors import ConfigError, GitError, ProcessError, TouchlineError
from touchline.executor import Executor, Readiness
from touchline.git.remotes import remote_names
from touchline.git.repository import OLDEST_GIT, Repository
from touchline.plugins.hook_loading import survey_hooks
from touchline.plugins.load import driver_names
from touchline.plugins.survey import survey_drivers
from touchline.process import run
from touchline.process.environment import inside_run

CHECK_TIMEOUT_S = 20.0
"""How long one executor may take to say whether it can be used."""

Status = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `fix` says what to do, "" where nothing is to be done."""

    name: str
    status: Status
    detail: str
    fix: str = ""


def examine(start: Path, environ: Mapping[str, str], *, check_timeout_s: float = CHECK_TIMEOUT_S) -> list[Check]:
    """Everything that `touchline doctor` reports about work in the folder `start`.

    `check_timeout_s` bounds each executor's own check.
    """
    config_checks, settings = _configuration(start, environ)
    return [
        _python(),
        _git(start),
        *_repository(start),
        _state_folder(start, environ),
        *config_checks,
        *_plugins(environ),
        *_executors(settings, environ, check_timeout_s),
        *_surroundings(environ),
    ]


def _problem(name: str, error: TouchlineError) -> Check:
    return Check(name, "problem", error.what, error.fix)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    system = platform.system()
    if system == "Linux":
        return Check("python", "ok", f"{version} on Linux")
    if system == "Darwin":
        return Check("python", "warning", f"{version} on macOS, which is best effort", "Prefer Linux where you can.")
    return Check("python", "problem", f"{version} on {system}", "Use Linux; on Windows, WSL.")


def _git(start: Path) -> Check:
    oldest = ".".join(map(str, OLDEST_GIT))
    try:
        done = run(["git", "version"], cwd=start if start.is_dir() else Path("/"), timeout_s=10)
    except ProcessError:
        return Check("git", "problem", "not installed", f"Install git {oldest} or newer and put it on PATH.")
    words = done.stdout.decode("utf-8", "replace").split()
    version = words[2] if done.returncode == 0 and len(words) > 2 else ""
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isascii() and part.isdigit())
    if len(numbers) < 2:
        return Check("git", "problem", "`git version` gave no version", "Reinstall git.")
    if numbers < OLDEST_GIT:
        return Check("git", "problem", f"{version} is too old", f"Install git {oldest} or newer.")
    return Check("git", "ok", version)


def _repository(start: Path) -> list[Check]:
    try:
        repo = Repository.open(start)
        head = repo.head()
        remotes = remote_names(repo)
        # Asking with both names is what git itself does before a commit.
        identity = repo.run("var", "GIT_COMMITTER_IDENT")
    except (GitError, ProcessError) as exc:
        return [_problem("repository", exc)]
    where = f"{repo.work_tree}, " + ("no branch (detached HEAD)" if head.detached else f"branch {head.branch}")
    checks = [
        Check("repository", "ok", where)
        if head.commit
        else Check("repository", "problem", f"{where}, without any commit", "Make a first commit.")
    ]
    if identity.returncode == 0 and identity.ending == "exited":
        person = identity.stdout.decode("utf-8", "replace").rsplit(" ", 2)[0]
        checks.append(Check("git identity", "ok", person))
    else:
        fix = "Run `git config --global user.name NAME` and `git config --global user.email ADDRESS`."
        checks.append(Check("git identity", "problem", "git does not know who commits", fix))
    if remotes:
        checks.append(Check("remotes", "ok", ", ".join(remotes)))
    else:
        checks.append(Check("remotes", "warning", "none", "Local runs (--no-pr) work; add one to publish."))
    return checks


def _state_folder(start: Path, environ: Mapping[str, str]) -> Check:
    try:
        root = state.state_root(environ)
        if (repository := places.repository_root(start)) is not None:
            state.require_outside(root, repository)
    except TouchlineError as exc:
        return _problem("state folder", exc)
    return Check("state folder", "ok", str(root))


def _configuration(start: Path, environ: Mapping[str, str]) -> tuple[list[Check], Settings]:
    try:
        settings = load_local(start, environ=environ).settings
        files = [places.user_file(environ), places.repository_file(start)]
        found = {path: data for path in files if (data := places.read_optional(path)) is not None}
        secret = [path for path, data in found.items() if holds_secret(parse_document(data, str(path)).value)]
    except ConfigError as exc:
        return [_problem("configuration", exc)], Settings()
    if secret:
        fix = "Put it into an environment variable and name that one (`env_from`, `token_env`)."
        return [Check("configuration", "problem", f"a value in {secret[0]} looks like a secret", fix)], settings
    return [Check("configuration", "ok", ", ".join(map(str, found)) or "no file, the defaults")], settings


def _plugins(environ: Mapping[str, str]) -> list[Check]:
    rows = [*survey_drivers(environ), *survey_hooks(environ)]
    broken = [row for row in rows if row.error]
    if not broken:
        return [Check("plugins", "ok", f"{len(rows)} installed, none broken")]
    return [
        Check(
            f"plugin {row.name}",
            "problem",
            row.error,
            f"Repair or uninstall {row.distribution or row.value}, or set TOUCHLINE_DISABLE_PLUGINS={row.name}.",
        )
        for row in broken
    ]


def _executors(settings: Settings, environ: Mapping[str, str], timeout_s: float) -> list[Check]:
    drivers = driver_names("executor", environ=environ)
    names = list(dict.fromkeys([*candidates(settings, drivers), *settings.executors, *drivers]))
    checks = []
    usable = 0
    for name in names:
        try:
            readiness = _asked(build_executor(name, settings, environ), timeout_s)
        except TouchlineError as exc:
            checks.append(_problem(f"executor {name}", exc))
            continue
        check = _ready(name, readiness)
        if check.status == "warning" and name == settings.run.executor:
            # The configured player: with it no run can begin.
            check = replace(check, status="problem")
        driver = settings.executors[name].driver or name if name in settings.executors else name
        usable += check.status == "ok" and driver not in NEVER_PICKED
        checks.append(check)
    if not usable:
        fix = "Install a coding-agent CLI, for instance Claude Code, and log in to it. `touchline demo` works without."
        checks.append(Check("executors", "problem", "no agent CLI can be used", fix))
    return checks


def _asked(executor: Executor, timeout_s: float) -> Readiness:
    """What the driver says of itself; a plugin that does not answer, or fails, is not ready."""
    answers: list[Readiness] = []
    failures: list[str] = []

    def ask() -> None:
        try:
            answers.append(executor.check())
        except Exception as exc:  # noqa: BLE001  plugin isolation
            failures.append(f"its check failed: {type(exc).__name__}: {exc}")

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(timeout_s)
    if answers:
        return answers[0]
    what = failures[0] if failures else f"its check did not answer within {timeout_s:g} s"
    return Readiness(installed=False, problem=what, fix="Report it to the plugin's author.")


def _ready(name: str, readiness: Readiness) -> Check:
    label = f"executor {name}"
    if not readiness.installed:
        return Check(label, "warning", readiness.hindrance, readiness.fix)
    known = {True: "logged in", False: "not logged in", None: "login not checked"}[readiness.logged_in]
    parts = dict.fromkeys(part for part in (readiness.version, known, readiness.problem) if part)
    detail = ", ".join(parts)
    return Check(
        label, "warning" if readiness.hindrance else "ok", detail, readiness.fix if readiness.hindrance else ""
    )


def _surroundings(environ: Mapping[str, str]) -> list[Check]:
    if run_id := inside_run(environ):
        return [Check("surroundings", "warning", f"this shell belongs to run {run_id}", "Use a shell of your own.")]
    return []
