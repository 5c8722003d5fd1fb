"""What one turn may spend, and when it is stopped for it (spec page 2, "Budgets"). Pure.

A turn is stopped at the next safe point: after an event, while no tool call is open. So a commit or a build that
is running is never cut in half for money.
"""

from __future__ import annotations

from dataclasses import dataclass

from touchline.documents.base import Usage
from touchline.executor import UsageReported


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left for this turn: the smaller of the turn's own limit and the rest of the run's. None: no limit.

    `max_tokens` counts input (cached included) and output; `max_cost` is in US dollars.
    """

    max_tokens: int | None = None
    max_cost: float | None = None


def add_usage(total: Usage | None, report: UsageReported) -> Usage:
    """`total` with one report added; a cost that was never reported stays unknown, not zero."""
    base = total or Usage()
    cost = base.cost
    if report.cost is not None:
        cost = (cost or 0.0) + report.cost
    return Usage(
        input=base.input + report.input,
        output=base.output + report.output,
        cached=base.cached + report.cached,
        cost=cost,
    )


def overspent(budget: Budget | None, usage: Usage | None) -> str:
    """The reason to stop, or "". A limit that is reached exactly is not overspent."""
    if budget is None or usage is None:
        return ""
    tokens = usage.input + usage.output
    if budget.max_tokens is not None and tokens > budget.max_tokens:
        return f"the turn used {tokens} tokens of {budget.max_tokens}"
    if budget.max_cost is not None and usage.cost is not None and usage.cost > budget.max_cost:
        return f"the turn cost {usage.cost:.4f} US dollars of {budget.max_cost:.4f}"
    return ""


def total_usage(first: Usage | None, second: Usage | None) -> Usage | None:
    """The usage of two stretches of one turn; None is unknown, and a cost that neither reported stays unknown."""
    if first is None or second is None:
        return first or second
    costs = [usage.cost for usage in (first, second) if usage.cost is not None]
    return Usage(
        input=first.input + second.input,
        output=first.output + second.output,
        cached=first.cached + second.cached,
        cost=sum(costs) if costs else None,
    )
