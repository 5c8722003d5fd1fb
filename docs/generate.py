"""Writes the reference pages from the code: `python docs/generate.py`. A test holds the pages to what this prints."""

from __future__ import annotations

import inspect
import re
import typing
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from touchline.documents.settings import Settings
from touchline.executor import Capability
from touchline.permissions import rules as rule_language
from touchline.plugins import hookspecs

HERE = Path(__file__).parent


def configuration() -> str:
    """Every configuration key with its default and meaning."""
    lines = [
        "# Configuration reference",
        "",
        "Everything is optional. Lowest to highest: defaults, `$XDG_CONFIG_HOME/touchline/config.yaml`,",
        "`touchline.yaml` in the repository, `--config PATH`, environment (`TOUCHLINE_CFG__RUN__SEVERITY=7`), flags.",
        "Denials of all levels add up. `touchline config show --origin` says where each value came from;",
        "`touchline init` writes a start.",
        "Times are seconds, or a number with a unit: 90, 30m, 1h. A command is a line of words, or a list of them.",
        "The repository's file is read as it stood at the start of the run, never from the work being judged.",
        "",
        "| key | default | meaning |",
        "|---|---|---|",
    ]
    rules = (rule_language.__doc__ or "").partition("\n\n")[2].strip()
    return "\n".join([*lines, *_keys(Settings, ""), "", "# Permission rules", "", rules]) + "\n"


def hooks() -> str:
    """Every hook with its real signature, and every capability of an executor."""
    lines = [
        "# Hooks and capabilities",
        "",
        "A hook plugin is a module or object that declares `api_version = 1` and marks functions with",
        "`touchline.api.hookimpl`. It is found by the entry-point group `touchline.hooks`, by `-p MODULE`, or by",
        "`hooks.modules` in the configuration. A function may take fewer arguments than are offered, by name.",
        "A hook that raises is reported once with its plugin's name and never ends a run;",
        "a gate that raises is blocked.",
        "",
    ]
    for name, function in vars(hookspecs).items():
        if name.startswith("touchline_"):
            arguments = ", ".join(inspect.signature(function).parameters)
            lines += [f"## {name}({arguments})", "", inspect.cleandoc(function.__doc__ or ""), ""]
    lines += [
        "# Capabilities of an executor",
        "",
        "Declared on the driver; the contract kit checks them both ways.",
        "",
    ]
    lines += ["| capability | meaning |", "|---|---|"]
    source = inspect.getsource(Capability)
    for capability in Capability:
        meaning = re.search(rf'{capability.name} = "[^"]*"\n\s+"""(.*?)"""', source, re.DOTALL)
        assert meaning is not None, capability
        lines.append(f"| `{capability.value}` | {' '.join(meaning[1].split())} |")
    return "\n".join(lines) + "\n"


def _keys(model: type[BaseModel], prefix: str) -> list[str]:
    lines = []
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        inner, many = _section(field.annotation)
        if inner is None:
            meaning = (field.description or "").replace("\n", " ").replace("|", "\\|")
            lines.append(f"| `{key}` | {_default(field.get_default(call_default_factory=True))} | {meaning} |")
        else:
            lines += _keys(inner, f"{key}{many}.")
    return lines


def _section(annotation: object) -> tuple[type[BaseModel] | None, str]:
    """The section that a key holds, and how its items are named: `.NAME` for a mapping, `[]` for a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    many = {dict: ".NAME", tuple: "[]", list: "[]"}.get(typing.get_origin(annotation) or object)
    for argument in typing.get_args(annotation):
        inner, below = _section(argument)
        if inner is not None:
            return inner, f"{many or ''}{below}"
    return None, ""


def _default(value: object) -> str:
    if value is PydanticUndefined:
        return "required"
    if value is None or value in ((), {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


PAGES = {"configuration.md": configuration, "hooks.md": hooks}


if __name__ == "__main__":
    for page, make in PAGES.items():
        (HERE / page).write_text(make(), encoding="utf-8")
