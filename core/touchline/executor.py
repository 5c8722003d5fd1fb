"""The executor contract (spec page 2): what a plugin is given, what it yields, what it declares.

An executor turns one coding-agent program into a stream of normalised events. It never settles a turn by
itself: `touchline.execution` drives it and `touchline.turn.settle` gives the verdict, the same for all. It
never starts a process by itself either: the host does, so that limits, records and clean-up cannot drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from touchline.process import Child, Ending, Line
from touchline.turn.settle import Failure, Role, TurnSettlement

API_VERSION = 1
"""Version of the plugin API; a driver declares the one that it was written for and must match exactly."""


class Capability(StrEnum):
    """What a driver can do. Declared once on the driver; the contract kit checks it both ways."""

    RESUME = "resume"
    """A later process continues a session of an earlier one."""
    CHOSEN_SESSION_ID = "chosen-session-id"
    """The session id of `TurnRequest.session_id` is used as given; without it the CLI chooses and tells."""
    PERMISSION_GATE = "permission-gate"
    """Tool calls are asked of `ExecutorHost.permit` before they run."""
    DENY_REASON = "deny-reason"
    """The model sees a denial's reason in the same turn."""
    USAGE = "usage"
    """Tokens are reported for each turn."""
    COST = "cost"
    """US dollars are reported for each turn."""
    MODEL_NAME = "model-name"
    """The name of the model in use is reported."""
    INTERRUPT = "interrupt"
    """A running turn can be interrupted so that its tools end and its session stays usable."""
    NATIVE_QUESTION = "native-question"
    """The CLI has a question of its own that reaches us as an event."""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The session is open; `session_id` is what a later turn resumes."""

    session_id: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text of the model, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Reasoning of the model, as it arrives; never part of the turn's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call began. `input` is what a person should see of its input (for a shell: the command)."""

    tool: str
    input: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call ended; `duration_s` is None where the CLI does not tell."""

    status: Literal["ok", "error", "denied", "unknown"]
    output: str
    duration_s: float | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """A tool call waits for permission.

    `tool` is normalised (bash, write, edit, webfetch, other), `command` the shell command line or "", `paths`
    the files named by the call, `text` the whole request for a person. `raw_tool` is the CLI's own name. The host
    emits this event and its answer when a driver calls `ExecutorHost.permit`; a driver never yields them.
    """

    id: str
    tool: Literal["bash", "write", "edit", "webfetch", "other"]
    command: str = ""
    paths: tuple[str, ...] = ()
    text: str = ""
    raw_tool: str = ""


@dataclass(frozen=True, slots=True)
class PermissionAnswered:
    """What the host answered to a `PermissionAsked` of the same id."""

    id: str
    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The CLI's own question tool was used."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens of this turn so far or of one step; `execution` adds reports up, so each is a difference.

    `input` counts everything that was sent, cached tokens included; `cached` is the part read from a cache.
    """

    input: int
    output: int
    cached: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Retrying:
    """The CLI announced a retry; the idle limit waits for `next_in_s` (seconds) more."""

    reason: str
    attempt: int
    next_in_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth recording that is no part of the turn: a warning, an unknown event, an oversized line."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The last event of a turn, exactly once.

    `text` is the turn's final text (the trailer is read from it). `failure` is set when the turn did not end
    by itself. Exit status 0, a "success" word or a stream that just ends are never success: a driver that saw
    no terminal event of its CLI ends with `FailureKind.LOST_RESULT` or `CRASHED`.
    """

    text: str
    failure: Failure | None = None


Event = (
    SessionStarted
    | TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolFinished
    | PermissionAsked
    | PermissionAnswered
    | QuestionAsked
    | UsageReported
    | Retrying
    | Notice
    | TurnEnded
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one turn, in seconds. `grace_s` is the time a CLI has to exit after its result."""

    wall_s: float = 3600.0
    idle_s: float = 900.0
    grace_s: float = 10.0


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    """The configured side of a driver (config section `executors`); environment values may be secret."""

    command: tuple[str, ...] = ()
    """The program and leading arguments; empty: the driver's own default name, looked up on PATH."""
    model: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    env_remove: tuple[str, ...] = ()
    """Variables that the program must not see; a driver hands them to `ExecutorHost.start` as `unset`."""
    extra_args: tuple[str, ...] = ()
    script: str | None = None
    """`scripted` only: name of a shipped script or a path to one."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn to run.

    `session_id` is chosen by the run (a UUID); with `resume` the session of that id is continued, otherwise
    opened. `readable` are absolute folders and files outside `cwd` that the model may read. `scratch` is a private
    folder (0700) for files that the driver needs; it outlives a crash and is removed at the end of the run.
    `purpose` tells the two kinds of verifier turns apart, for drivers that play a part without reading the prompt.
    """

    task_id: str
    role: Role
    prompt: str
    cwd: Path
    session_id: str
    scratch: Path
    resume: bool = False
    readable: tuple[Path, ...] = ()
    limits: Limits = Limits()
    model: str | None = None
    turn: int = 1
    purpose: Literal["work", "judge", "exerciser"] = "work"


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """The answer to a permission request; a denial's `reason` is meant for the model."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What `check` found without calling a model.

    `logged_in` is None where it cannot be told cheaply. `problem` says why it cannot be used, `fix` what to do.
    """

    installed: bool
    version: str = ""
    logged_in: bool | None = None
    problem: str = ""
    fix: str = ""

    @property
    def hindrance(self) -> str:
        """Why no turn can be played with it, "" where nothing is known to stand against one."""
        if self.problem:
            return self.problem
        if not self.installed:
            return "not installed"
        return "not logged in" if self.logged_in is False else ""


class Program(Protocol):
    """What a driver sees of its program: a `Child`, or in a replay what one printed."""

    @property
    def ending(self) -> Ending:
        """How it ended, or `running`."""
        ...

    @property
    def returncode(self) -> int | None:
        """Its exit status; None while it runs or when it is not known."""
        ...

    @property
    def stderr_tail(self) -> str:
        """The end of its standard error so far."""
        ...

    def lines(self) -> Iterator[Line]:
        """The lines of its standard output until it has ended."""
        ...

    def write(self, content: bytes) -> None:
        """Write to its standard input without waiting."""
        ...

    def close_stdin(self) -> None:
        """Close its standard input after what was written."""
        ...

    def finish(self, grace_s: float) -> None:
        """Its result is here: give it `grace_s` to exit, then stop it."""
        ...


class ExecutorHost(Protocol):
    """What the core gives a driver for one turn."""

    def start(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = b"",
        env: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
    ) -> Child:
        """Start `argv` in the turn's folder under the process host, with the turn's limits.

        `stdin`: bytes are written and the pipe is closed; None holds the pipe open for `Child.write`. `env` is
        added to the cleaned environment, `unset` names are removed from it. Prompts never go into `argv`.
        """
        ...

    def permit(self, asked: PermissionAsked) -> PermissionAnswer:
        """Decide one permission request by the run's policy; bounded in time, fails closed."""
        ...


@runtime_checkable
class Executor(Protocol):
    """A driver: one class per name, built with its `ExecutorSettings`. No base class to inherit."""

    name: str
    api_version: int
    capabilities: frozenset[Capability]

    def check(self) -> Readiness:
        """Whether the program can be used, in at most a few seconds and without a model call."""
        ...

    def run_turn(self, request: TurnRequest, host: ExecutorHost) -> Iterator[Event]:
        """Run one turn; the last event is `TurnEnded`. Closing the iterator early stops the program."""
        ...

    def settle_without_work(self, session_id: str, text: str, question: QuestionAsked | None) -> TurnSettlement:
        """The verdict when there was no trailer and no new work; `turn.settle.question_or_silent` is the default."""
        ...


@runtime_checkable
class ReplayableExecutor(Protocol):
    """What a driver of one program a turn may offer beside: its recorded stream can be read again (spec page 7).

    Its `run_turn` starts the program, sends the prompt, and yields from `read_program`.
    """

    def read_program(self, request: TurnRequest, program: Program, host: ExecutorHost) -> Iterator[Event]:
        """The events of what the program prints, answering it; the last one is `TurnEnded`.

        In a replay the program is a recorded one, `request` tells no more than session, turn and part, and nothing
        can be started. No input but these three may count.
        """
        ...


ModelApi = Literal["anthropic-messages", "openai-responses", "openai-chat"]
"""The model APIs that the scripted model speaks."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a driver's program is turned to a local model: environment and arguments that are added to its own.

    No value is a real secret. With them the program contacts the given address and nothing else.
    """

    api: ModelApi
    env: Mapping[str, str] = field(default_factory=dict)
    extra_args: tuple[str, ...] = ()


@runtime_checkable
class Rehearses(Protocol):
    """A driver that `touchline rehearse` can use; optional."""

    def rehearsal(self, model_url: str) -> Rehearsal:
        """What makes the program talk to the scripted model at `model_url`; the user's configuration stays as it is."""
        ...
