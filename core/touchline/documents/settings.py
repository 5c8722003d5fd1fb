"""Owns what can be configured (spec page 8): every key of touchline.yaml, its meaning and its default.

Data only; where values come from and which wins is `touchline.config`. Keys are snake_case, written one way
only; an unknown key is an error. A key whose value is a time takes `30m`; in code its name carries the unit.
"""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from touchline.documents.base import Depth
from touchline.documents.duration import EXPECTED, parse_duration

_SHELL = re.compile(r"[|&;<>`\n]|\$[({]")
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\Z", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*", re.ASCII)


def _duration(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"expected {EXPECTED}")
    return parse_duration(value)


def _words(value: Any) -> Any:
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    if _SHELL.search(value):
        raise ValueError(
            'expected a command without shell syntax; a shell takes a list: ["sh", "-c", "first && second"]'
        )
    try:
        words = tuple(shlex.split(value))
    except ValueError as exc:
        raise ValueError(f"expected a command line with balanced quotes ({exc})") from exc
    return words


def _filled(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not value[0]:
        raise ValueError("expected a command line or a list of words, the program first")
    if any("\0" in word for word in value):
        raise ValueError("expected words without NUL bytes")
    return value


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError("expected the name of an environment variable, never its value")
    return value


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("expected a name of lower-case letters, digits, '-', '_' and '.'")
    return value


def _host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise ValueError("expected a host name in lower case, with `:port` where it has one of its own")
    return value


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("expected text that is not empty")
    return value


Duration = Annotated[
    int,
    BeforeValidator(_duration),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]{1,9}[smh]?$"}]}),
]
"""Whole seconds, >= 1."""

Command = Annotated[
    tuple[str, ...],
    BeforeValidator(_words),
    AfterValidator(_filled),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
"""A program and its arguments, run without a shell; a text is split into words as a shell would."""

Name = Annotated[str, AfterValidator(_name)]
Host = Annotated[str, AfterValidator(_host)]
Variable = Annotated[str, AfterValidator(_variable)]
Text = Annotated[str, AfterValidator(_text)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Variables = Annotated[tuple[Variable, ...], BeforeValidator(_listed)]


class Section(BaseModel):
    """A frozen part of the settings; unknown keys are errors, and a text is never read as a number."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        defer_build=True,  # one validator for all sections instead of one for each: half the time to import
    )


class TurnLimits(Section):
    """Bounds of one turn of an executor."""

    wall_s: Duration = Field(default=3600, alias="wall")
    """Longest time that one turn may take."""
    idle_s: Duration = Field(default=900, alias="idle")
    """Longest time without any output; an announced retry extends it."""
    grace_s: Duration = Field(default=10, alias="grace")
    """Time that the program has to exit after its result."""


class ExecutorConfig(Section):
    """One executor, by a name of your choice."""

    driver: Name | None = None
    """Plugin that drives the program; default: the executor's own name."""
    command: Command | None = None
    """Program and leading arguments; default: the driver's own program, looked up on PATH."""
    model: Text | None = None
    """Model to ask for; default: the program's own choice."""
    env: dict[Variable, str] = {}
    """Environment variables to set. Never a secret: name those under `env_from`."""
    env_from: dict[Variable, Variable] = {}
    """Environment variables to set from other ones: the name for the program, then the name to read."""
    env_remove: Variables = ()
    """Environment variables that the program does not get to see."""
    extra_args: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """Arguments added to the driver's own."""
    script: Text | None = None
    """For the driver `scripted` only: name of a shipped script, or a path to one."""
    limits: TurnLimits = TurnLimits()
    """Bounds of one turn."""

    @model_validator(mode="after")
    def _no_stored_secret(self) -> Self:
        for name in self.env:
            if _SECRET_NAME.search(name):
                raise ValueError(
                    f"expected no secret in `env`: {name} belongs under `env_from`, with the name of the"
                    " environment variable that holds it"
                )
        return self


class ReviewerConfig(Section):
    """One judge: an executor that reviews, or a command that answers with JSON or by its exit status."""

    name: Name
    """Name in reports, gates and the REVIEWER line."""
    executor: Name | None = None
    """Executor that reviews, in a fresh session that writes nothing."""
    command: Command | None = None
    """Command that reviews instead of an executor."""
    model: Text | None = None
    """Model to ask for, where an executor reviews."""
    timeout_s: Duration = Field(default=1800, alias="timeout")
    """Longest time that this judge may take."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.executor is None) == (self.command is None):
            raise ValueError(f"expected either `executor` or `command` for the reviewer {self.name!r}")
        return self


class ExerciserConfig(Section):
    """Who really uses the feature: a fresh session of an executor, or a command."""

    enabled: bool = True
    """Whether the feature is exercised. Off, `touchline run` refuses to start: nothing could ever be approved."""
    executor: Name | None = None
    """Executor that exercises; default: the player's executor, in a fresh session."""
    command: Command | None = None
    """Command that exercises instead of an executor."""
    model: Text | None = None
    """Model to ask for, where an executor exercises."""
    timeout_s: Duration = Field(default=1800, alias="timeout")
    """Longest time that it may take."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.executor is not None and self.command is not None:
            raise ValueError("expected `executor` or `command`, not both")
        return self


class TestsConfig(Section):
    """The project's own test command."""

    enabled: bool = True
    """Whether tests are run. Off is said in every verdict and never counts as a pass."""
    command: Command | None = None
    """The test command; default: detected from the project's files and printed."""
    timeout_s: Duration = Field(default=1800, alias="timeout")
    """Longest time that the tests may take."""
    baseline: bool = True
    """Whether tests are counted at the base too, so that fewer tests than before are noticed."""


class GatesConfig(Section):
    """Rules of your own that must hold before anything is approved."""

    exerciser: Texts = ()
    """Rules that the exerciser checks by using the feature."""
    review: Texts = ()
    """Rules that the judges check by reading the change."""


class VerifyConfig(Section):
    """How a turn's work is verified."""

    depth: Depth = "light"
    """light: the first available judge. deep: every configured judge, in parallel."""
    workspace: Literal["in-place", "worktree"] = "in-place"
    """in-place: the work tree itself. worktree: a clean checkout, made ready with `setup`."""
    setup: Command | None = None
    """Command that makes a clean checkout ready, such as installing dependencies."""
    timeout_s: Duration = Field(default=3600, alias="timeout")
    """Longest time that one verification run may take."""


class ForgeConfig(Section):
    """One forge, by its host name."""

    driver: Name | None = None
    """Plugin that speaks to the host; default: found by the host's name."""
    api_url: Text | None = None
    """Address of the API; default: the usual one of that host."""
    token_env: Variable | None = None
    """Environment variable that holds the token; never the token itself."""
    commands: dict[Name, Command] = {}
    """For the driver `generic`: one command for each operation."""
    read_timeout_s: float = Field(default=60.0, gt=0, le=3600)
    """Seconds that asking the host may take; a transfer of commits has `write_timeout_s`."""
    write_timeout_s: float = Field(default=300.0, gt=0, le=24 * 3600)
    """Seconds that a push, or a transfer of commits, may take."""


class Budget(Section):
    """Spending bounds; unset means no bound."""

    max_tokens: int | None = Field(default=None, ge=1)
    """Tokens sent and received, cached ones included."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars, where the executor reports cost."""


class Budgets(Section):
    """Spending bounds that stop a run at the next safe point."""

    turn: Budget = Budget()
    """Bounds of one turn."""
    run: Budget = Budget()
    """Bounds of a whole run."""


class RunConfig(Section):
    """Defaults of `touchline run`."""

    executor: Name | None = None
    """Executor of the player; default: the first installed one."""
    max_turns: int = Field(default=10, ge=1)
    """Player turns that a run may use."""
    severity: int = Field(default=5, ge=1, le=10)
    """Findings of this severity and above block."""
    plans: Text | None = None
    """Folder to look for a plan in before docs/plans, relative to the repository."""
    ci_timeout_s: Duration = Field(default=21600, alias="ci_timeout")
    """Longest time to wait for CI in one run."""
    budgets: Budgets = Budgets()
    """Spending bounds."""


class PermissionsConfig(Section):
    """Rules for what an executor may do; deny beats ask beats allow, and denials of all levels add up."""

    deny: Texts = ()
    """Never allowed."""
    ask: Texts = ()
    """Asked of a person; headless: denied."""
    allow: Texts = ()
    """Allowed without asking."""


class SecretsConfig(Section):
    """What counts as a secret besides the kinds that are known, in what a run or `touchline pr` would publish."""

    patterns: dict[Name, Text] = {}
    """Kind -> regular expression. A match stops before commit and push; a group named `value` is the secret in it."""

    @field_validator("patterns")
    @classmethod
    def _compile(cls, given: dict[str, str]) -> dict[str, str]:
        for kind, pattern in given.items():
            try:
                found = re.compile(pattern).search("")
            except re.error as error:
                raise ValueError(f"expected a regular expression for {kind}: {error}") from error
            if found is not None:
                raise ValueError(f"expected a regular expression for {kind} that does not match an empty text")
        return given


class HooksConfig(Section):
    """Hook plugins that are loaded besides the installed ones."""

    modules: Texts = ()
    """Names of importable Python modules that implement touchline's hooks."""


class Settings(Section):
    """Everything that can be configured. Every key is optional."""

    executors: dict[Name, ExecutorConfig] = {}
    """Executors by name."""
    reviewers: Annotated[tuple[ReviewerConfig, ...], BeforeValidator(_listed)] = ()
    """Judges, the most preferred one first."""
    exerciser: ExerciserConfig = ExerciserConfig()
    """Who really uses the feature."""
    tests: TestsConfig = TestsConfig()
    """The project's own test command."""
    gates: GatesConfig = GatesConfig()
    """Rules of your own."""
    verify: VerifyConfig = VerifyConfig()
    """How a turn's work is verified."""
    forge: dict[Host, ForgeConfig] = {}
    """Forges by host name."""
    run: RunConfig = RunConfig()
    """Defaults of `touchline run`."""
    permissions: PermissionsConfig = PermissionsConfig()
    """What an executor may do."""
    secrets: SecretsConfig = SecretsConfig()
    """What counts as a secret."""
    hooks: HooksConfig = HooksConfig()
    """Hook plugins."""

    @model_validator(mode="after")
    def _names_once(self) -> Self:
        names = [reviewer.name for reviewer in self.reviewers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"expected reviewer names to differ: {name!r} is there twice")
        return self
