"""The allow-list of the trusted base, and only of it (spec page 5, "the repository's own patterns and allow-list")."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from touchline.git.repository import Repository
from touchline.secrets.allow import parse_baseline
from touchline.secrets.scan import Scanner
from touchline.secrets.trusted import read_allowances, read_gitleaks_config
from touchline.secrets.values import whole


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout.strip()


def baseline(path: str, value: str, **more: Any) -> bytes:
    entry = {"type": "x", "filename": path, "hashed_secret": hashlib.sha1(value.encode()).hexdigest(), "line_number": 1}
    return json.dumps({"version": "1.5.0", "results": {path: [entry | more]}}).encode()


def scan_with(scanner: Scanner, content: bytes, path: str, text: str) -> bool:
    allowed = dataclasses.replace(scanner, allowed=parse_baseline(content))
    return bool(allowed.scan_sources([whole(path, text)]).hits)


def test_an_accepted_value_is_allowed_at_its_path_only(scanner: Scanner, secrets: dict[str, str]) -> None:
    value = secrets["npm"]
    accepted = baseline("tests/a.py", value)
    assert not scan_with(scanner, accepted, "tests/a.py", f"x = '{value}'\n")
    assert scan_with(scanner, accepted, "src/a.py", f"x = '{value}'\n")
    assert scan_with(scanner, accepted, "tests/a.py", f"x = '{secrets['github classic']}'\n")


def test_a_value_that_a_person_marked_as_real_is_not_allowed(scanner: Scanner, secrets: dict[str, str]) -> None:
    value = secrets["npm"]
    assert scan_with(scanner, baseline("a.py", value, is_secret=True), "a.py", f"x = '{value}'\n")
    assert not scan_with(scanner, baseline("a.py", value, is_secret=False), "a.py", f"x = '{value}'\n")


def test_excluding_patterns_of_the_base_count_and_are_said(scanner: Scanner, secrets: dict[str, str]) -> None:
    content = json.dumps(
        {
            "filters_used": [{"path": "detect_secrets.filters.regex.should_exclude_file", "pattern": ["^fixtures/"]}],
            "results": {},
        }
    ).encode()
    allowed = dataclasses.replace(scanner, allowed=parse_baseline(content))
    scan = allowed.scan_sources([whole("fixtures/a", secrets["npm"])])
    assert not scan.stops
    assert scan.notes == ("1 hit(s) excluded by the allow-list of the base",)
    assert allowed.scan_sources([whole("src/a", secrets["npm"])]).stops


def test_detectors_and_limits_of_the_base_tune_what_is_noticed_and_never_what_stops(
    scanner: Scanner, secrets: dict[str, str]
) -> None:
    content = json.dumps({"plugins_used": [{"name": "KeywordDetector"}], "results": {}}).encode()
    entropy = 'x = "q8Zt5vLmXw3KdR7nB2yHc9PfG4sJ6aTuE1oWiVzQ"\n'
    assert scan_with(scanner, b"", "a.py", entropy)
    assert not scan_with(scanner, content, "a.py", entropy)
    assert scan_with(scanner, content, "a.py", f"x = '{secrets['npm']}'\n")


def test_code_that_a_baseline_names_is_not_run_and_is_said(tmp_path: Path, scanner: Scanner) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'pwned')!r}).touch()\n")
    content = json.dumps(
        {
            "plugins_used": [{"name": "Evil", "path": f"file://{evil}"}, {"name": "KeywordDetector"}],
            "filters_used": [
                {"path": f"file://{evil}::f"},
                {"path": "detect_secrets.filters.wordlist.should_exclude_secret"},
            ],
        }
    ).encode()
    allowed = parse_baseline(content)
    assert len(allowed.notes) == 3
    dataclasses.replace(scanner, allowed=allowed).scan_sources([whole("a.py", "password = 'q8Zt5vLmXw'\n")])
    assert not (tmp_path / "pwned").exists()


@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.text(max_size=5) | st.integers(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["results", "plugins_used", "filters_used", "path", "pattern", "name", "limit", "a"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_no_baseline_breaks_the_reading(content: bytes) -> None:
    assert parse_baseline(content).accepted == frozenset()


def test_a_broken_baseline_allows_nothing_and_is_said() -> None:
    assert parse_baseline(b"{").notes == (".secrets.baseline is no JSON object: nothing in it counts",)


def test_the_lines_allowed_in_the_base_stay_allowed_where_they_move_and_new_ones_are_not(
    repo: Path, scanner: Scanner, secrets: dict[str, str]
) -> None:
    comment = "pragma: allow" + "list"
    old = f"FIXTURE = '{secrets['npm']}'  # {comment} secret"
    following = f"TOKEN = '{secrets['github classic']}'"
    (repo / "a.py").write_text(f"{old}\n# {comment} nextline secret\n{following}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "fixtures")
    base = git(repo, "rev-parse", "HEAD")
    (repo / "a.py").write_text(f"x = '{secrets['stripe']}'  # {comment} secret\n")
    (repo / ".secrets.baseline").write_bytes(baseline("b.py", secrets["stripe"]))
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "the work being judged")
    trusting = dataclasses.replace(scanner, allowed=read_allowances(Repository.open(repo), base))
    assert not trusting.scan_sources([whole("moved.py", f"  {old}\n{following}\n")]).hits
    assert trusting.scan_sources([whole("b.py", f"x = '{secrets['stripe']}'  # {comment} secret\n")]).stops


def test_without_a_base_only_the_configured_patterns_count(repo: Path) -> None:
    found = read_allowances(Repository.open(repo), "", patterns={"a": "b"})
    assert (found.accepted, found.lines, dict(found.patterns)) == (frozenset(), frozenset(), {"a": "b"})


def test_the_rules_for_gitleaks_come_from_the_base(repo: Path) -> None:
    opened = Repository.open(repo)
    assert read_gitleaks_config(opened, "") == read_gitleaks_config(opened, git(repo, "rev-parse", "HEAD")) == b""
    (repo / ".gitleaks.toml").write_text("title = 'base'\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "rules")
    assert read_gitleaks_config(opened, git(repo, "rev-parse", "HEAD")) == b"title = 'base'\n"
