"""Owns how the settings of one process come together (spec page 8): levels, validation, and where each came from.

Lowest to highest: defaults, user file, repository file, `--config`, environment, flags. Each level is validated
by itself, so that an error names the file that holds it, and then all together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from pydantic import ValidationError

from touchline.config import keys, places
from touchline.config.environment import environment_layer
from touchline.config.keys import Path
from touchline.config.layers import Layer, Level, Origin, merge, without_nulls
from touchline.config.problems import config_error
from touchline.config.source import parse_document
from touchline.documents.settings import PermissionsConfig, Settings
from touchline.permissions.rules import parse_rule


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in effect.

    `origins` holds every value that is no default, by its key's path; `origin` answers for all of them.
    `repository_digest` is the SHA-256 of the repository file's bytes, None where there is none.
    """

    settings: Settings
    origins: Mapping[Path, Origin]
    repository_digest: str | None = None

    def origin(self, path: Path) -> Origin:
        """Where the value at `path` came from; a list's item belongs to its list."""
        for length in range(len(path), 0, -1):
            if (found := self.origins.get(path[:length])) is not None:
                return found
        return Origin(Level.DEFAULT)


def load_settings(
    *,
    user_file: File | None = None,
    repo_file: File | bytes | None = None,
    config_file: File | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Read, merge and validate all levels.

    `repo_file` as bytes is what the base commit holds (published runs), as a path the file of a local run; user
    and repository files may be missing, `config_file` may not. `environ` gives TOUCHLINE_CFG__ variables; None
    gives none. `flags` maps a key such as `run.max_turns` to its value; None values were not given.
    Raises ConfigError naming place, key, what was expected and the nearest valid key.
    """
    layers: list[Layer] = []
    if user_file is not None and (data := places.read_optional(user_file)) is not None:
        layers.append(_file_layer(Level.USER, data, str(user_file)))
    digest = None
    repo_name = str(repo_file) if isinstance(repo_file, File) else places.REPOSITORY_FILE
    repo_data = places.read_optional(repo_file) if isinstance(repo_file, File) else repo_file
    if repo_data is not None:
        digest = hashlib.sha256(repo_data).hexdigest()
        layers.append(_file_layer(Level.REPOSITORY, repo_data, repo_name))
    if config_file is not None:
        layers.append(_file_layer(Level.CONFIG, places.read_required(config_file), str(config_file)))
    if environ:
        _, known = merge(layers)
        layers.append(_checked(environment_layer(environ, known)))
    if flags:
        layers.append(_checked(_flag_layer(flags)))
    value, origins = merge(layers)
    return Loaded(_validated(value, lambda path: _merged_place(origins, path)), origins, digest)


def load_local(
    start: File,
    *,
    environ: Mapping[str, str],
    config_file: File | None = None,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """The settings for work in the folder `start`: `load_settings` with the files at their usual places."""
    return load_settings(
        user_file=places.user_file(environ),
        repo_file=places.repository_file(start),
        config_file=config_file,
        environ=environ,
        flags=flags,
    )


def check_document(data: bytes, name: str) -> Settings:
    """The settings of one file alone. Raises ConfigError."""
    parsed = parse_document(data, name)
    return _validated(without_nulls(parsed.value), parsed.where)


def _file_layer(level: Level, data: bytes, name: str) -> Layer:
    parsed = parse_document(data, name)
    return _checked(Layer(level, without_nulls(parsed.value), parsed.where))


def _flag_layer(flags: Mapping[str, object]) -> Layer:
    value: dict[str, Any] = {}
    for name, one in flags.items():
        if one is None:
            continue
        target = value
        *sections, last = (str(step) for step in keys.parse(name))
        for section in sections:
            target = target.setdefault(section, {})
        target[last] = list(one) if isinstance(one, tuple) else one
    return Layer(Level.FLAG, value, lambda path: "")


def _checked(layer: Layer) -> Layer:
    _validated(layer.value, lambda path: str(layer.origin(path)) if layer.level is Level.FLAG else layer.where(path))
    return layer


def _validated(value: dict[str, Any], where: Callable[[Path], str]) -> Settings:
    try:
        settings = Settings.model_validate(value)
    except ValidationError as exc:
        raise config_error(exc, where) from None  # its text would repeat the values
    _check_rules(settings.permissions, where)
    return settings


def _check_rules(permissions: PermissionsConfig, where: Callable[[Path], str]) -> None:
    # The rule language belongs to touchline.permissions; here its errors only get their place.
    for name in ("deny", "ask", "allow"):
        for index, rule in enumerate(getattr(permissions, name)):
            path = ("permissions", name, index)
            parse_rule(rule, where=f"{where(path)}: {keys.render(path)}")


def _merged_place(origins: Mapping[Path, Origin], path: Path) -> str:
    for length in range(len(path), 0, -1):
        if (found := origins.get(path[:length])) is not None:
            return str(found)
    below = sorted({str(origin) for known, origin in origins.items() if known[: len(path)] == path})
    return " and ".join(below) or "settings"
