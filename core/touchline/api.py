"""The only module that plugins import (spec page 8, "Plugins"): re-exports, nothing of its own.

What stands here is the plugin API of version `API_VERSION`; everything else in touchline may change at any time.
"""

from __future__ import annotations

from touchline.documents.base import Usage
from touchline.documents.ledger import Ledger
from touchline.documents.report import CustomGate, Report
from touchline.errors import ConfigError, ExecutorError, ProcessError, TouchlineError
from touchline.executor import (
    API_VERSION,
    Capability,
    Event,
    Executor,
    ExecutorHost,
    ExecutorSettings,
    Limits,
    Notice,
    PermissionAnswer,
    PermissionAnswered,
    PermissionAsked,
    QuestionAsked,
    Readiness,
    ReasoningDelta,
    Retrying,
    SessionStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnRequest,
    UsageReported,
)
from touchline.plugins.hookspecs import BodySection, hookimpl
from touchline.process import Child, Completed, Ending, Line
from touchline.process import run as run_program
from touchline.process.environment import clean_environment
from touchline.turn.settle import Failure, FailureKind, Role, TurnSettlement, question_or_silent

__all__ = [
    "API_VERSION",
    "BodySection",
    "Capability",
    "Child",
    "Completed",
    "ConfigError",
    "CustomGate",
    "Ending",
    "Event",
    "Executor",
    "ExecutorError",
    "ExecutorHost",
    "ExecutorSettings",
    "Failure",
    "FailureKind",
    "Ledger",
    "Limits",
    "Line",
    "Notice",
    "PermissionAnswer",
    "PermissionAnswered",
    "PermissionAsked",
    "ProcessError",
    "QuestionAsked",
    "Readiness",
    "ReasoningDelta",
    "Report",
    "Retrying",
    "Role",
    "SessionStarted",
    "TextDelta",
    "ToolFinished",
    "ToolStarted",
    "TouchlineError",
    "TurnEnded",
    "TurnRequest",
    "TurnSettlement",
    "Usage",
    "UsageReported",
    "clean_environment",
    "hookimpl",
    "question_or_silent",
    "run_program",
]
