"""What a turn costs beyond the bare CLI on the same prompt: wall time, CPU, and memory of our own (spec page 2).

Each CLI that is installed (on PATH, or in the folder of tests/clis/install.py) answers one prompt of the scripted
model, once started by hand and once through its driver, in turn.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.measure import peak_mb, timed
from bench.rows import Aim, Row
from bench.scale import Scale
from touchline.execution import execute_turn
from touchline.executor import Executor, ExecutorSettings, ModelApi, PermissionAnswer, Rehearsal, Rehearses, TurnRequest
from touchline.plugins.load import load_executor
from touchline.process.environment import clean_environment
from touchline.testing.anthropic import AnthropicMessages
from touchline.testing.dialect import Dialect
from touchline.testing.model import ScriptedModel
from touchline.testing.openai_chat import OpenAIChat
from touchline.testing.openai_responses import OpenAIResponses
from touchline.testing.repositories import make_repository
from touchline.testing.steps import Say

BARE: Mapping[str, tuple[str, ...]] = {
    "claude": ("-p", "--output-format", "stream-json", "--verbose"),
    "codex": ("exec", "--json", "--disable", "plugins", "--disable", "apps", "--skip-git-repo-check", "-"),
    "opencode": ("run", "--format", "json", "Say hello."),
    "grok": ("-p", "Say hello.", "--output-format", "streaming-json", "--always-approve"),
}
"""How each CLI is started by hand; the prompt goes in through standard input where it takes it there."""

DIALECTS: Mapping[ModelApi, type[Dialect]] = {
    "anthropic-messages": AnthropicMessages,
    "openai-responses": OpenAIResponses,
    "openai-chat": OpenAIChat,
}
ROUNDS, QUICK_ROUNDS = 5, 1
TURN_S = 120
PROMPT = "Say hello."
AIMS = (Aim("ratio", 1.05),)
FOLDER_VARIABLE = "BENCH_CLIS"


def run(scale: Scale) -> list[Row]:
    """Three rows for each CLI that is there; none where there is no CLI at all."""
    rows: list[Row] = []
    for name in BARE:
        program = _find(name)
        if program is not None:
            rows += _compare(name, program, scale)
    return rows


def _compare(name: str, program: str, scale: Scale) -> list[Row]:
    folder = scale.scratch / name
    repo = make_repository(folder / "repo")
    private = folder / "private"
    private.mkdir(mode=0o700)
    probe = load_executor(name, ExecutorSettings(command=(program,)))
    assert isinstance(probe, Rehearses)
    with ScriptedModel(DIALECTS[probe.rehearsal("http://127.0.0.1:1").api]()) as model:
        rehearsal = probe.rehearsal(model.url)
        settings = ExecutorSettings(command=(program,), env=rehearsal.env, extra_args=rehearsal.extra_args)
        executor = load_executor(name, settings)

        def by_us() -> None:
            model.play(Say("Hello."))
            _turn(executor, repo, private)

        def by_hand() -> None:
            model.play(Say("Hello."))
            _bare(name, program, rehearsal, repo)

        by_us()
        by_hand()
        pairs = [(_costs(by_us), _costs(by_hand)) for _ in range(QUICK_ROUNDS if scale.quick else ROUNDS)]
    floor_is = f"`{Path(program).name} {' '.join(BARE[name][:2])} ...` by hand, same model and prompt"
    return [
        _row(f"cli-{name}-wall", [(ours[0], theirs[0]) for ours, theirs in pairs], floor_is, AIMS),
        _row(f"cli-{name}-cpu", [(ours[1], theirs[1]) for ours, theirs in pairs], floor_is, AIMS),
        Row(
            f"cli-{name}-memory",
            peak_mb(),
            "MB",
            peak_mb(),
            "the whole benchmark process, everything that touchline loads in it",
            1.0,
            (Aim("value", 60.0),),
            "our own process alone; the CLI's memory is its own",
        ),
    ]


def _turn(executor: Executor, repo: Path, private: Path) -> None:
    request = TurnRequest("bench", "player", PROMPT, repo, str(uuid.uuid4()), private)
    executed = execute_turn(executor, request, permit=lambda asked: PermissionAnswer(True), run_id="bench")
    if executed.failure is not None:
        raise RuntimeError(f"{executor.name}: {executed.failure.reason}")


def _bare(name: str, program: str, rehearsal: Rehearsal, repo: Path) -> None:
    arguments: Sequence[str] = (*rehearsal.extra_args, *BARE[name])
    subprocess.run(
        [program, *arguments],
        cwd=repo,
        env=clean_environment(os.environ, add=rehearsal.env),
        input=PROMPT.encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=TURN_S,
        check=False,
    )


def _costs(action: Callable[[], None]) -> tuple[float, float]:
    """Seconds of wall time and of CPU, our own and that of every ended child."""
    before = _cpu_s()
    wall_s = timed(action)
    return wall_s, _cpu_s() - before


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _row(name: str, pairs: list[tuple[float, float]], floor_is: str, aims: tuple[Aim, ...]) -> Row:
    return Row(
        name,
        statistics.median(ours for ours, _ in pairs),
        "s",
        statistics.median(theirs for _, theirs in pairs),
        floor_is,
        statistics.median(ours / theirs for ours, theirs in pairs if theirs > 0),
        aims,
    )


def _find(name: str) -> str | None:
    folder = os.environ.get(FOLDER_VARIABLE, "")
    places = [str(Path(folder) / "node_modules" / ".bin")] if folder else []
    return shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", os.defpath)]))
