"""Levels, origins and errors of the settings (spec page 8)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from touchline.config import places
from touchline.config.layers import Level
from touchline.config.load import Loaded, load_local, load_settings
from touchline.errors import ConfigError


def refusal(**arguments: object) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(**arguments)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / name for name in ("user.yaml", "touchline.yaml", "extra.yaml")}
    for path in found.values():
        path.write_text("")
    return found


def load(files: dict[str, Path], **more: object) -> Loaded:
    return load_settings(
        user_file=files["user.yaml"],
        repo_file=files["touchline.yaml"],
        config_file=files["extra.yaml"],
        **more,  # type: ignore[arg-type]
    )


def test_without_files_the_defaults_are_in_effect_and_say_so() -> None:
    loaded = load_settings()
    assert loaded.settings.run.max_turns == 10
    assert loaded.origin(("run", "max_turns")).level is Level.DEFAULT
    assert loaded.repository_digest is None


def test_each_level_wins_over_the_ones_below(files: dict[str, Path]) -> None:
    levels = [
        ("user.yaml", Level.USER),
        ("touchline.yaml", Level.REPOSITORY),
        ("extra.yaml", Level.CONFIG),
    ]
    for number, (name, level) in enumerate(levels, start=1):
        files[name].write_text(f"run: {{max_turns: {number}}}")
        loaded = load(files)
        assert loaded.settings.run.max_turns == number
        assert loaded.origin(("run", "max_turns")).level is level
        assert loaded.origin(("run", "max_turns")).place == f"{files[name]}:1:7"
    environ = {"TOUCHLINE_CFG__RUN__MAX_TURNS": "4"}
    loaded = load(files, environ=environ)
    assert loaded.settings.run.max_turns == 4
    assert str(loaded.origin(("run", "max_turns"))) == "environment TOUCHLINE_CFG__RUN__MAX_TURNS"
    loaded = load(files, environ=environ, flags={"run.max_turns": 5})
    assert loaded.settings.run.max_turns == 5
    assert loaded.origin(("run", "max_turns")).level is Level.FLAG


def test_mappings_merge_key_by_key_and_lists_are_replaced(files: dict[str, Path]) -> None:
    files["user.yaml"].write_text("executors: {a: {model: x, extra_args: ['1', '2']}}\ngates: {review: [u]}")
    files["touchline.yaml"].write_text("executors: {a: {extra_args: ['3']}, b: {}}\ngates: {review: [r]}")
    settings = load(files).settings
    assert settings.executors["a"].model == "x"
    assert settings.executors["a"].extra_args == ("3",)
    assert list(settings.executors) == ["a", "b"]
    assert settings.gates.review == ("r",)


def test_deny_rules_of_all_levels_add_up_and_keep_their_origins(files: dict[str, Path]) -> None:
    files["user.yaml"].write_text("permissions: {deny: ['bash(a *)'], allow: ['bash(x)']}")
    files["touchline.yaml"].write_text("permissions: {deny: ['bash(b *)', 'bash(a *)'], allow: ['bash(y)']}")
    files["extra.yaml"].write_text("permissions: {deny: []}")
    loaded = load(files, environ={"TOUCHLINE_CFG__PERMISSIONS__DENY": "['bash(c *)']"})
    assert loaded.settings.permissions.deny == ("bash(a *)", "bash(b *)", "bash(c *)")
    assert loaded.settings.permissions.allow == ("bash(y)",)
    levels = [loaded.origin(("permissions", "deny", index)).level for index in range(3)]
    assert levels == [Level.USER, Level.REPOSITORY, Level.ENVIRONMENT]


def test_a_key_without_a_value_says_nothing_at_its_level(files: dict[str, Path]) -> None:
    files["user.yaml"].write_text("run: {max_turns: 3}\ntests: {command: pytest}")
    files["touchline.yaml"].write_text("run:\n  # max_turns: 9\ntests: {command: ~}\n")
    settings = load(files).settings
    assert settings.run.max_turns == 3
    assert settings.tests.command == ("pytest",)


def test_a_higher_level_changes_who_exercises(files: dict[str, Path]) -> None:
    files["user.yaml"].write_text("exerciser: {command: ./use-it}")
    files["touchline.yaml"].write_text("exerciser: {executor: claude}")
    exerciser = load(files).settings.exerciser
    assert (exerciser.executor, exerciser.command) == ("claude", None)


def test_missing_user_and_repository_files_are_no_error_but_a_missing_config_is(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "x.yaml"
    assert load_settings(user_file=nowhere, repo_file=nowhere).settings.run.severity == 5
    assert f"{nowhere}: there is no such file" in refusal(config_file=nowhere)


def test_an_error_gives_file_line_column_key_expectation_and_the_nearest_key(files: dict[str, Path]) -> None:
    files["touchline.yaml"].write_text("run:\n  severity: 11\n  max_turn: 3\nverify: {depth: lite}\ntest: {}\n")
    said = refusal(repo_file=files["touchline.yaml"])
    name = files["touchline.yaml"]
    assert f"{name}:2:3: run.severity: expected at most 10" in said
    assert f"{name}:3:3: run.max_turn: unknown key; did you mean `max_turns`?" in said
    assert f"{name}:4:10: verify.depth: expected 'light' or 'deep'" in said
    assert f"{name}:5:1: test: unknown key; did you mean `tests`?" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("run: {max_turns: '3'}", "run.max_turns: expected a whole number"),
        ("run: {max_turns: true}", "run.max_turns: expected a whole number"),
        ("run: {max_turns: 0}", "run.max_turns: expected at least 1"),
        ("run: {maxTurns: 3}", "run.maxTurns: unknown key; did you mean `max_turns`?"),
        ("run: {max-turns: 3}", "run.max-turns: unknown key; did you mean `max_turns`?"),
        ("run: {zzz: 3}", "unknown key; expected `executor`, `max_turns`"),
        ("run: [1]", "run: expected a mapping"),
        ("tests: {enabled: 'no'}", "tests.enabled: expected true or false"),
        ("executors: {a: {model: 4}}", "executors.a.model: expected text (put it in quotes)"),
        ("executors: {a: {mdel: x}}", "executors.a.mdel: unknown key; did you mean `model`?"),
        ("executors: {A: {}}", "executors.A: expected a name of lower-case letters"),
        ("gates: {review: x}", "gates.review: expected a list"),
        ("gates: {review: [' ']}", "gates.review[0]: expected text that is not empty"),
        ("reviewers: [{executor: x}]", "reviewers[0].name: expected the key `name`"),
        ("permissions: {deny: ['git push']}", "permissions.deny[0]: 'git push' is no permission rule"),
        ("run: {budgets: {run: {max_cost: -1}}}", "run.budgets.run.max_cost: expected more than 0"),
        ("tests: {command: {a: {b: 1}}}", "tests.command: expected a list"),
    ],
)
def test_each_kind_of_mistake_says_what_was_expected(text: str, says: str) -> None:
    said = refusal(repo_file=text.encode())
    assert says in said
    assert said.startswith("touchline.yaml:1:")


def test_an_invalid_value_is_never_repeated() -> None:
    for text in ("run: {max_turns: hunter2}", "run: {plans: [hunter2]}", "verify: {depth: hunter2}"):
        assert "hunter2" not in refusal(repo_file=text.encode())


def test_an_error_in_a_level_is_told_even_where_a_higher_level_hides_it(files: dict[str, Path]) -> None:
    files["user.yaml"].write_text("run: {severity: 99}")
    files["extra.yaml"].write_text("run: {severity: 3}")
    assert f"{files['user.yaml']}:1:7: run.severity" in refusal(
        user_file=files["user.yaml"], config_file=files["extra.yaml"]
    )


def test_an_error_that_only_the_levels_together_make_names_their_places() -> None:
    said = refusal(
        repo_file=b"exerciser: {command: x}",
        environ={"TOUCHLINE_CFG__EXERCISER__EXECUTOR": "a", "TOUCHLINE_CFG__EXERCISER__COMMAND": "b"},
    )
    assert "TOUCHLINE_CFG__EXERCISER__COMMAND" in said
    assert "expected `executor` or `command`, not both" in said


def test_the_bytes_of_the_base_commit_are_read_instead_of_the_work_tree() -> None:
    loaded = load_settings(repo_file=b"run: {severity: 3}")
    assert loaded.settings.run.severity == 3
    assert loaded.repository_digest == hashlib.sha256(b"run: {severity: 3}").hexdigest()
    assert loaded.origin(("run", "severity")).place == "touchline.yaml:1:7"


def test_the_digest_follows_the_bytes_of_the_repository_file() -> None:
    first, second = load_settings(repo_file=b"run: {}"), load_settings(repo_file=b"run: {} ")
    assert first.settings == second.settings
    assert first.repository_digest != second.repository_digest


def test_flags_that_were_not_given_say_nothing() -> None:
    loaded = load_settings(flags={"run.severity": None, "run.executor": "x"})
    assert loaded.settings.run.severity == 5
    assert loaded.settings.run.executor == "x"


def test_local_work_reads_the_file_at_the_root_of_the_repository(repo: Path, clean_home: Path) -> None:
    (repo / "touchline.yaml").write_text("run: {severity: 2}")
    user = places.user_file(os.environ)
    user.parent.mkdir(parents=True)
    user.write_text("run: {max_turns: 7}")
    below = repo / "a" / "b"
    below.mkdir(parents=True)
    settings = load_local(below, environ=os.environ).settings
    assert (settings.run.severity, settings.run.max_turns) == (2, 7)
    assert user == clean_home / "config" / "touchline" / "config.yaml"


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_regular_file_is_an_error_and_not_a_hang(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.yaml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    assert "no regular file" in refusal(config_file=path)


def test_a_path_that_no_file_can_have_is_an_error() -> None:
    assert "cannot be read" in refusal(config_file=Path("a\0b"))
    assert "cannot be read" in refusal(config_file=Path("a" * 5000))


def test_yaml_is_not_imported_where_there_is_nothing_to_read(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, sys; from touchline.config.load import load_local; "
        "load_local(pathlib.Path('.'), environ=os.environ, flags={'run.severity': 3}); "
        "print([name for name in ('ruamel.yaml', 'stevedore', 'pluggy', 'git') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
