"""Owns questions about the shape of the settings: which keys exist where, and which one was meant."""

from __future__ import annotations

import types
from difflib import get_close_matches
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from touchline.config.keys import Path
from touchline.documents.settings import Settings


def valid_keys(path: Path) -> list[str]:
    """The fixed keys of the section at `path`; [] where keys are free (executor names) or there are none."""
    found = _type_at(path)
    if isinstance(found, type) and issubclass(found, BaseModel):
        return [field.alias or name for name, field in found.model_fields.items()]
    return []


def has_free_keys(path: Path) -> bool:
    """Whether `path` is a mapping whose keys are names of the user's choice."""
    return get_origin(_type_at(path)) is dict


def exists(path: Path) -> bool:
    """Whether a value can stand at `path`."""
    return _type_at(path) is not None


def nearest(word: str, candidates: list[str]) -> str | None:
    """The candidate that `word` was probably meant to be; case, '-' and '_' do not count."""
    folded = {candidate.lower().replace("-", "_"): candidate for candidate in candidates}
    found = get_close_matches(word.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _type_at(path: Path) -> Any:
    current: Any = Settings
    for step in path:
        current = _child(current, step)
        if current is None:
            return None
    return current


def _child(current: Any, step: str | int) -> Any:
    if isinstance(current, type) and issubclass(current, BaseModel):
        for name, field in current.model_fields.items():
            if (field.alias or name) == step:
                return _bare(field.annotation)
        return None
    if get_origin(current) is dict:
        return _bare(get_args(current)[1]) if isinstance(step, str) else None
    if get_origin(current) is tuple:
        return _bare(get_args(current)[0]) if isinstance(step, int) else None
    return None


def _bare(annotation: Any) -> Any:
    """The type without Annotated and without `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        (only,) = (part for part in get_args(annotation) if part is not type(None))
        return _bare(only)
    return annotation
