"""The deterministic turn engine: budgets, early stop, structured output, and what it keeps (spec page 7).

Pure but for the responder: without one, an answer is a summary of the matches. Tokens are white-space words.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

StopReason = Literal["completed", "max_turns_reached", "max_budget_reached", "failed"]

DEFAULT_BUDGET = 2000

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Bounds of one engine: `max_turns` messages are kept, `max_budget_tokens` is input and output together."""

    max_turns: int = 8
    max_budget_tokens: int = DEFAULT_BUDGET
    structured_output: bool = False


@dataclass(frozen=True, slots=True)
class PermissionDenial:
    """A tool that was not allowed in a turn, and why."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """Tokens of the session so far."""

    input_tokens: int = 0
    output_tokens: int = 0

    def add_turn(self, input_tokens: int, output_tokens: int) -> UsageSummary:
        """The sum with one more turn."""
        return UsageSummary(self.input_tokens + input_tokens, self.output_tokens + output_tokens)

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One turn as it went; `usage` is that of the session after it.

    `failed` is said only where an executor answered and its turn failed; the reason is in `output`.
    """

    prompt: str
    output: str
    matched_commands: tuple[str, ...]
    matched_tools: tuple[str, ...]
    permission_denials: tuple[PermissionDenial, ...]
    usage: UsageSummary
    stop_reason: StopReason


@dataclass(frozen=True, slots=True)
class Response:
    """What a responder said to one prompt; None counts the text's words. `failure` is "" for a good turn."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    denials: tuple[PermissionDenial, ...] = ()
    failure: str = ""


Responder = Callable[[str, int], Response]
"""From a prompt and the turn's number (from 1) to the response."""


@dataclass(slots=True)
class TurnEngine:
    """One session. Prompts that reach the engine are kept, up to the configured number of messages."""

    config: EngineConfig = field(default_factory=EngineConfig)
    session_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    responder: Responder | None = None
    usage: UsageSummary = UsageSummary()
    results: list[TurnResult] = field(default_factory=list)
    _messages: list[str] = field(default_factory=list)

    @classmethod
    def from_saved_session(
        cls,
        session_id: str,
        config: EngineConfig | None = None,
        *,
        responder: Responder | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> TurnEngine:
        """An engine that goes on where the stored session stopped.

        Raises UsageError for an id that is hostile or unknown, LedgerError for a file that cannot be trusted.
        """
        from touchline.probe.sessions import fill_engine  # the store knows the engine, so not at import

        engine = cls(config or EngineConfig(), session_id, responder)
        fill_engine(engine, environ)
        return engine

    def submit_message(
        self,
        prompt: str,
        commands: Sequence[str] = (),
        tools: Sequence[str] = (),
        denied: Sequence[PermissionDenial] = (),
    ) -> TurnResult:
        """Run one turn. At the message limit nothing is kept of it; over budget it is kept and says so."""
        matched = (tuple(commands), tuple(tools))
        if len(self._messages) >= self.config.max_turns:
            lines = [f"Message limit reached, not processed: {prompt}"]
            output = self._formatted(lines)
            result = TurnResult(prompt, output, *matched, tuple(denied), self.usage, "max_turns_reached")
            self.results.append(result)
            return result
        response = self._respond(prompt, matched, denied)
        lines = response.text.split("\n") + ([f"failed: {response.failure}"] if response.failure else [])
        output = self._formatted(lines)
        used = (response.input_tokens, response.output_tokens)
        self.usage = self.usage.add_turn(
            count_tokens(prompt) if used[0] is None else used[0],
            count_tokens(output) if used[1] is None else used[1],
        )
        self._messages.append(prompt)
        reason: StopReason = "completed"
        if self.usage.total > self.config.max_budget_tokens:
            reason = "max_budget_reached"
        if response.failure:
            reason = "failed"
        denials = (*denied, *response.denials)
        result = TurnResult(prompt, output, *matched, denials, self.usage, reason)
        self.results.append(result)
        return result

    def replay_user_messages(self) -> tuple[str, ...]:
        """The prompts that were kept, in order."""
        return tuple(self._messages)

    def restore(self, messages: Sequence[str], usage: UsageSummary, results: Sequence[TurnResult]) -> None:
        """Take over what a stored session holds."""
        self._messages = list(messages)
        self.usage = usage
        self.results = list(results)

    def _respond(
        self,
        prompt: str,
        matched: tuple[tuple[str, ...], tuple[str, ...]],
        denied: Sequence[PermissionDenial],
    ) -> Response:
        if self.responder is not None:
            return self.responder(prompt, len(self._messages) + 1)
        lines = [
            f"Prompt: {prompt}",
            f"Matched commands: {', '.join(matched[0]) or 'none'}",
            f"Matched tools: {', '.join(matched[1]) or 'none'}",
            f"Permission denials: {len(denied)}",
        ]
        return Response("\n".join(lines))

    def _formatted(self, lines: Sequence[str]) -> str:
        if self.config.structured_output:
            return json.dumps({"summary": [clean(line) for line in lines], "session_id": clean(self.session_id)})
        return clean("\n".join(lines))


def count_tokens(text: str) -> int:
    """White-space words."""
    return len(text.split())


def clean(text: str) -> str:
    """`text` with U+FFFD for lone surrogates, so that it can be encoded anywhere."""
    return _SURROGATE.sub("\ufffd", text)
