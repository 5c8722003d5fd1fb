"""`touchline config` (spec page 8): show, read, change and check the configuration; secrets are never shown."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

_REPO = click.option("--repo", metavar="DIR", default=".", help="The repository; default: the current folder.")
_CONFIG = click.option("--config", "config_file", metavar="FILE", help="One more file, above the others.")


@click.group()
def config() -> None:
    """Show, check and change the configuration."""


@config.command()
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_CONFIG
@_REPO
def show(*, origin: bool, as_json: bool, config_file: str | None, repo: str) -> None:
    """Show the settings in effect."""
    from touchline.config import keys
    from touchline.config.load import load_local
    from touchline.config.masking import shown
    from touchline.turn.shown import printable, printable_lines

    loaded = load_local(Path(repo), environ=os.environ, config_file=_path(config_file))
    values = shown(loaded.settings.model_dump(mode="json", by_alias=True))
    leaves = dict(_leaves(values))
    if as_json:
        origins = {keys.render(path): loaded.origin(path) for path in leaves}
        click.echo(
            json.dumps(
                {
                    "settings": values,
                    "origins": {key: {"level": one.level, "place": one.place} for key, one in origins.items()},
                },
                indent=2,
            )
        )
        return
    for path, value in leaves.items():
        line = printable_lines(f"{keys.render(path)} = {json.dumps(value, ensure_ascii=False)}")
        click.echo(f"{line}   # {printable(str(loaded.origin(path)), 1000)}" if origin else line)


@config.command()
@click.argument("key")
@_CONFIG
@_REPO
def get(*, key: str, config_file: str | None, repo: str) -> None:
    """Print one value: a text as it is, anything else as JSON."""
    from touchline.config.load import load_local
    from touchline.config.masking import shown
    from touchline.turn.shown import printable_lines

    path = _known_key(key)
    loaded = load_local(Path(repo), environ=os.environ, config_file=_path(config_file))
    value: Any = shown(loaded.settings.model_dump(mode="json", by_alias=True))
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
    click.echo(printable_lines(value) if isinstance(value, str) else json.dumps(value))


@config.command(name="set")
@click.argument("key")
@click.argument("value")
@click.option("--user", is_flag=True, help="Change the user file instead of the repository's touchline.yaml.")
@click.option("--file", "file", metavar="FILE", help="Change this file instead.")
@_REPO
def set_(*, key: str, value: str, user: bool, file: str | None, repo: str) -> None:
    """Change one value; comments and everything else in the file stay.

    VALUE is read as YAML: 5, true, 30m, "text", [a, b].
    """
    from touchline.config import places
    from touchline.config.edit import with_value
    from touchline.config.load import check_document
    from touchline.config.masking import holds_secret
    from touchline.config.source import parse_value
    from touchline.config.writing import replace_file
    from touchline.errors import ConfigError, UsageError

    if user and file is not None:
        raise UsageError("--user and --file exclude each other", fix="Leave one of them out.")
    path = _known_key(key)
    parsed = parse_value(value, f"the value of {key}")
    if parsed is None:
        raise UsageError(f"{key}: the value is empty", fix='Give a value; an empty text is written "".')
    if holds_secret(parsed):
        raise ConfigError(
            f"{key}: this looks like a secret, and secrets are not stored in configuration files",
            fix="Put it into an environment variable and name that one (`env_from`, `token_env`).",
        )
    target = Path(file) if file else places.user_file(os.environ) if user else places.repository_file(Path(repo))
    before = places.read_optional(target) or b""
    after = with_value(before, path, parsed, str(target))
    check_document(after, str(target))
    replace_file(target, after)
    click.echo(f"{target}: {key} is set", err=True)


@config.command()
@click.argument("file", required=False)
@_REPO
def check(*, file: str | None, repo: str) -> None:
    """Check FILE, or everything that would be read: files and environment."""
    from touchline.config import places
    from touchline.config.load import check_document, load_local
    from touchline.config.masking import holds_secret
    from touchline.config.source import parse_document
    from touchline.errors import ConfigError

    if file is not None:
        checked = [Path(file)]
        check_document(places.read_required(Path(file)), file)
    else:
        candidates = (places.user_file(os.environ), places.repository_file(Path(repo)))
        checked = [path for path in candidates if places.read_optional(path) is not None]
        load_local(Path(repo), environ=os.environ)
    for path in checked:
        if holds_secret(parse_document(places.read_required(path), str(path)).value):
            raise ConfigError(
                f"{path}: a value looks like a secret",
                fix="Put it into an environment variable and name that one (`env_from`, `token_env`).",
            )
        click.echo(f"{path}: ok")
    if not checked:
        click.echo("no configuration file: the defaults are in effect")


def _known_key(key: str) -> tuple[str | int, ...]:
    from touchline.config import keys, shape
    from touchline.config.problems import unknown_key
    from touchline.errors import UsageError

    try:
        path = keys.parse(key)
    except ValueError as exc:
        raise UsageError(str(exc), fix='Write it like run.max_turns or forge."git.example.com".driver.') from exc
    for length in range(1, len(path) + 1):
        if not shape.exists(path[:length]):
            raise UsageError(f"{key}: {unknown_key(path[:length])}", fix="`touchline config show` lists every key.")
    return path


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(one, (*path, key))
    elif path == ("permissions", "deny") and value:  # its rules can come from several levels
        for index, one in enumerate(value):
            yield (*path, index), one
    else:
        yield path, value


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
