"""Owns what a benchmark answers with: rows of measured value, floor, ratio and aim, and how they are shown.

An aim is reported, never enforced: a number from a busy machine says little, a ratio taken in one run says more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Unit = Literal["s", "events/s", "MB"]


@dataclass(frozen=True, slots=True)
class Aim:
    """One aim on the measured `value` or on its `ratio` to the floor; met at the bound itself too."""

    of: Literal["value", "ratio"]
    bound: float
    at_least: bool = False

    def met(self, row: Row) -> bool:
        """Whether `row` is within the bound."""
        seen = row.measured if self.of == "value" else row.ratio
        return seen >= self.bound if self.at_least else seen <= self.bound

    def shown(self, unit: Unit) -> str:
        """The aim in words."""
        side = ">=" if self.at_least else "<="
        return f"{side} {self.bound:g} x" if self.of == "ratio" else f"{side} {_number(self.bound, unit)}"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. `ratio` is the median of the ratios of neighbouring runs, not the ratio of the medians.

    `floor_is` says what was measured as floor, `note` what a reader must know about the measurement.
    """

    name: str
    measured: float
    unit: Unit
    floor: float
    floor_is: str
    ratio: float
    aims: tuple[Aim, ...] = ()
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether every aim is met; None where there is none."""
        return all(aim.met(self) for aim in self.aims) if self.aims else None

    def as_json(self) -> dict[str, object]:
        """The row for `--json`."""
        return {
            "name": self.name,
            "measured": self.measured,
            "unit": self.unit,
            "floor": self.floor,
            "floorIs": self.floor_is,
            "ratio": self.ratio,
            "aims": [aim.shown(self.unit) for aim in self.aims],
            "met": self.met,
            "note": self.note,
        }


_HEADINGS = ("benchmark", "measured", "floor", "ratio", "aim", "met?")


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned columns, then what each floor is."""
    cells = [_HEADINGS, *map(_cells, rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    return "\n".join([*lines, "", *_legend(rows)])


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        _number(row.measured, row.unit),
        _number(row.floor, row.unit),
        f"{row.ratio:.2f} x",
        ", ".join(aim.shown(row.unit) for aim in row.aims) or "-",
        {True: "yes", False: "no", None: "-"}[row.met],
    )


def _legend(rows: Iterable[Row]) -> list[str]:
    return [f"{row.name}: floor is {row.floor_is}{f'; {row.note}' if row.note else ''}" for row in rows]


def _number(value: float, unit: Unit) -> str:
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.2f} s"
    return f"{value:,.0f} {unit}"
