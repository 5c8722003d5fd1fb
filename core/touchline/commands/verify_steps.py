"""What `touchline verify` does: from options to a request, and from the report to words (spec page 5).

The repository's own configuration and rules are taken from the base of the change, never from the change itself.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from touchline.coach.checks import Checks, find_checks
from touchline.coach.executors import build_executor, pick_player, secret_values
from touchline.coach.plan import read_plan
from touchline.commands.verify_scope import Chosen, settle_scope
from touchline.config import places
from touchline.config.load import load_settings
from touchline.documents.ledger import Finding, Ledger, RunOptions
from touchline.documents.report import Report
from touchline.documents.settings import Settings
from touchline.errors import UsageError
from touchline.git.facts import resolve_commit
from touchline.git.paths import check_relative
from touchline.git.repository import Repository
from touchline.ledger.store import LedgerStore, new_run_number, utc_now
from touchline.permissions.gate import PermissionGate
from touchline.permissions.policy import make_policy
from touchline.process.cancel import Cancellation
from touchline.process.environment import inside_run
from touchline.verify.detect import detect
from touchline.verify.pipeline import verify
from touchline.verify.request import TestPlan, VerifyRequest, VerifyServices
from touchline.verify.rules import Rules, verification_rules

RULES_FILE = "VERIFICATION.md"
_MAX_TEXT_BYTES = 1024 * 1024


def run_verification(
    chosen: Chosen,
    *,
    repo: Path,
    output: Path | None,
    environ: Mapping[str, str],
    cancel: Cancellation,
    say: Callable[[str], None],
) -> tuple[Report, Path]:
    """The report and where it lies. Raises UsageError, ConfigError or ExecutorError before anything is started."""
    if run := inside_run(environ):
        raise UsageError(f"this process belongs to run {run}", fix="Start touchline from a shell of your own.")
    repository = Repository.open(repo)
    head = repository.head().commit
    if not head:
        raise UsageError(f"{repository.work_tree} has no commit yet", fix="Make a first commit, then verify.")
    compared = settle_scope(repository, chosen, head, environ)
    chosen, base = compared.chosen, compared.base
    settings = load_settings(
        user_file=places.user_file(environ),
        repo_file=_blob(repository, base, places.REPOSITORY_FILE),
        config_file=chosen.config_file,
        environ=environ,
    ).settings
    rules = verification_rules(_blob(repository, base, RULES_FILE).decode("utf-8", "replace"))
    player = build_executor(pick_player(chosen.executor or settings.run.executor, settings, environ), settings, environ)
    options = RunOptions(executor=player.name, reviewers=list(chosen.reviewers), model=chosen.model)
    tests = _tests(repository, base, settings, environ)
    checks = find_checks(settings, options, player, tests=tests, environ=environ)
    folder = Path(tempfile.mkdtemp(prefix="touchline-verify-"))
    number = new_run_number(utc_now(), ())
    for line in (compared.said, *checks.lines(), f"records:   {folder}"):
        if line:
            say(line)
    request = _request(chosen, repository, head, compared.base_ref, base, settings, rules, checks, folder, output)
    policy = make_policy(
        "verifier",
        str(repository.work_tree),
        rules=[settings.permissions.model_dump()],
        git_dirs=(str(repository.git_dir), str(repository.common_dir)),
    )
    services = VerifyServices(
        judges=checks.judges,
        exerciser=checks.exerciser,
        permit=PermissionGate(policy, folder, run=number).permit,
        cancel=cancel,
        run_id=number,
        secrets=secret_values(settings, environ),
        say=say,
    )
    return verify(request, services), request.report_path


def _request(
    chosen: Chosen,
    repo: Repository,
    head: str,
    base_ref: str | None,
    base: str,
    settings: Settings,
    rules: Rules,
    checks: Checks,
    folder: Path,
    output: Path | None,
) -> VerifyRequest:
    plan = _plan(chosen, folder)
    files = tuple(check_relative(path) for path in chosen.files)
    return VerifyRequest(
        repo=repo,
        report_path=output.absolute() if output is not None else folder / "report.json",
        output_folder=folder / "output",
        mode=chosen.mode,
        head_sha=head,
        base_commit=base,
        base_ref=base_ref,
        files=files,
        owned=files,
        since=None if chosen.no_carry_forward or chosen.since is None else _since(repo, chosen.since),
        depth=chosen.depth or settings.verify.depth,
        threshold=chosen.threshold,
        plan=plan.read_text(encoding="utf-8", errors="replace") if plan is not None else "",
        plan_path=plan,
        epic_context=chosen.epic_context or "",
        known=_known(chosen.ledger_file),
        review_gates=tuple(dict.fromkeys([*settings.gates.review, *rules.review])),
        exerciser_gates=tuple(dict.fromkeys([*settings.gates.exerciser, *rules.exerciser])),
        tests=checks.tests,
        workspace=settings.verify.workspace,
        setup=settings.verify.setup or (),
        timeout_s=settings.verify.timeout_s,
    )


def _plan(chosen: Chosen, folder: Path) -> Path | None:
    """A copy of the plan, which no verifier can change under the others."""
    if chosen.plan_file is None:
        return None
    content, problem = read_plan(Path(chosen.plan_file))
    if problem:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(problem, fix="Or leave --plan-file out: the change is then judged by itself.")
    copy = folder / "plan.md"
    copy.write_bytes(content)
    return copy


def _since(repo: Repository, name: str) -> str:
    commit = resolve_commit(repo, name)
    if commit is None:
        raise UsageError(f"--since {name} names no commit", fix="Give the full id of a commit of this branch.")
    return commit


def _known(ledger_file: str | None) -> tuple[Finding, ...]:
    if ledger_file is None:
        return ()
    path = Path(ledger_file).absolute()
    if path.name != "ledger.json" or not path.is_file():
        raise UsageError(f"--ledger {ledger_file} is no ledger.json", fix="Give the path of a run's ledger.json.")
    ledger: Ledger = LedgerStore(path.parent).read()
    return tuple(ledger.findings)


def _blob(repo: Repository, commit: str, path: str) -> bytes:
    """The file as the commit has it; b"" if it has none. Raises GitQueryError if git cannot tell."""
    entry = repo.git("ls-tree", "-z", "--full-tree", commit, "--", path)
    if not entry.startswith(b"100"):
        return b""
    return repo.git("cat-file", "blob", f"{commit}:{path}", max_output_bytes=_MAX_TEXT_BYTES)


def _tests(repo: Repository, base: str, settings: Settings, environ: Mapping[str, str]) -> TestPlan | None:
    """The test command: configured, or as the base's own files tell."""
    config = settings.tests
    if not config.enabled:
        return None
    if config.command is not None:
        return TestPlan(config.command, config.timeout_s, "configured", config.baseline)
    listed = repo.git("ls-tree", "-z", "--full-tree", "--name-only", base).decode("utf-8", "replace")

    def has_program(name: str) -> bool:
        place = str(repo.inside(name)) if "/" in name else name
        return shutil.which(place, path=environ.get("PATH")) is not None

    def read(path: str) -> str | None:
        return _blob(repo, base, path).decode("utf-8", "replace") or None

    found = detect(set(listed.split("\0")[:-1]), read, has_program=has_program)
    if found is None:
        return None
    program, *rest = found.argv
    argv = (str(repo.inside(program)) if "/" in program else program, *rest)
    return TestPlan(argv, config.timeout_s, found.why, config.baseline)
