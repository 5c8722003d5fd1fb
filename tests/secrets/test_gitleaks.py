"""gitleaks is asked where it is installed, and nothing depends on it (spec page 5, "Secrets")."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

import pytest

from touchline.secrets.allow import Allowances, value_digest
from touchline.secrets.scan import Scanner
from touchline.secrets.values import Grade, whole


def install(folder: Path, body: str) -> Path:
    """A gitleaks that does what `body` says; $SOURCE, $REPORT and $CONFIG are its arguments' values."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "gitleaks"
    options = "--source=*) SOURCE=${given#*=};; --report-path=*) REPORT=${given#*=};; --config=*) CONFIG=${given#*=};;"
    place.write_text(f'#!/bin/sh\nfor given in "$@"; do case $given in {options} esac; done\n{body}\n')
    place.chmod(0o755)
    return place


@pytest.fixture
def asking(scanner: Scanner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scanner:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return dataclasses.replace(scanner, gitleaks=True)


def finds(rule: str, value: str, line: int = 1) -> str:
    row = f'[{{"RuleID":"{rule}","StartLine":{line},"File":"\'"$SOURCE"\'/0.py","Secret":"{value}"}}]'
    return f"case $(ls \"$SOURCE\") in *0.py*) printf '%s' '{row}' > \"$REPORT\";; *) echo '[]' > \"$REPORT\";; esac"


def test_what_gitleaks_finds_counts_without_its_value(asking: Scanner, tmp_path: Path) -> None:
    install(tmp_path / "bin", finds("acme-token", "zzz-only-gitleaks", 2))
    scan = asking.scan_sources([whole("src/a.py", "clean = 1\nx = 'zzz-only-gitleaks'\n")])
    assert [(hit.path, hit.line, hit.kind, hit.grade) for hit in scan.hits] == [
        ("src/a.py", 2, "acme-token", Grade.STOP)
    ]
    assert "zzz-only-gitleaks" not in repr(scan)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["bin", "private"]


def test_a_guess_of_gitleaks_is_noticed(asking: Scanner, tmp_path: Path) -> None:
    install(tmp_path / "bin", finds("generic-api-key", "zzz-only-gitleaks"))
    assert not asking.scan_sources([whole("a.py", "x = 'zzz-only-gitleaks'\n")]).stops


def test_the_allow_list_of_the_base_counts_for_gitleaks_too(asking: Scanner, tmp_path: Path) -> None:
    install(tmp_path / "bin", finds("acme-token", "zzz-only-gitleaks"))
    allowed = Allowances(accepted=frozenset({("a.py", value_digest("zzz-only-gitleaks"))}))
    assert (
        not dataclasses.replace(asking, allowed=allowed).scan_sources([whole("a.py", "x = 'zzz-only-gitleaks'\n")]).hits
    )


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("exit 3", "it ended with status 3"),
        ("kill -9 $$", "it ended with status -9"),
        ("true", "it wrote no report that can be read"),
        ('echo "{" > "$REPORT"', "it wrote no report that can be read"),
        ('echo "{}" > "$REPORT"', "it wrote no report that can be read"),
    ],
)
def test_a_gitleaks_that_fails_is_a_note_and_no_more(asking: Scanner, tmp_path: Path, body: str, note: str) -> None:
    install(tmp_path / "bin", body)
    scan = asking.scan_sources([whole("a.py", "x = 1\n")])
    assert not scan.stops
    assert scan.notes == (f"gitleaks was not used: {note}",)


def test_a_gitleaks_of_the_work_being_judged_is_not_run(asking: Scanner, tmp_path: Path) -> None:
    install(tmp_path / "bin", f"touch {tmp_path}/pwned; echo '[]' > \"$REPORT\"")
    dataclasses.replace(asking, work_tree=tmp_path / "bin").scan_sources([whole("a.py", "x = 1\n")])
    assert not (tmp_path / "pwned").exists()


def test_only_rules_of_the_trusted_base_reach_gitleaks(
    asking: Scanner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITLEAKS_CONFIG", "/from/the/environment")
    show = f'env > {tmp_path}/env; cat "$CONFIG" > {tmp_path}/config; find "$SOURCE" -type f > {tmp_path}/files'
    install(tmp_path / "bin", f"{show}; echo '[]' > \"$REPORT\"")
    told = dataclasses.replace(asking, gitleaks_config=b"title = 'base'\n")
    told.scan_sources([whole(".gitleaks.toml", "title = 'evil'\n"), whole(".gitleaksignore", "x\n")])
    assert (tmp_path / "config").read_text() == "title = 'base'\n"
    assert "GITLEAKS_CONFIG" not in (tmp_path / "env").read_text()
    assert ".gitleaksignore" not in (tmp_path / "files").read_text()


def test_the_real_gitleaks_agrees(scanner: Scanner, tmp_path: Path, secrets: dict[str, str]) -> None:
    if shutil.which("gitleaks") is None:
        pytest.skip("gitleaks is not on PATH")
    both = dataclasses.replace(scanner, gitleaks=True)
    scan = both.scan_sources(
        [whole("a.py", f"x = '{secrets['github classic']}'  # gitleaks:allow\n"), whole("b.py", "x = 1\n")]
    )
    assert {hit.path for hit in scan.stopping} == {"a.py"}
    assert not scan.notes
