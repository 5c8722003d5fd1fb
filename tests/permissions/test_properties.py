"""No text breaks the policy, no wrapping frees a denied program, and bash itself is the judge of what ran."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from touchline.executor import PermissionAsked
from touchline.permissions.gate import real_path
from touchline.permissions.policy import Verdict, decide, make_policy
from touchline.permissions.shell import MAX_LINE, Parsed, SimpleCommand, parse

Judge = Callable[..., Verdict]

SHARED = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

ATOMS = [
    *("git", "push", "git push", " ", " ", "\n", ";", "&&", "|", "&", "(", ")", "{ ", "; }", "$(", "`", "'", '"'),
    *("\\", "$", "#", "<<E", "<<'E'", "\nE\n", "<", ">", "f", "2>&1", "<(", "$'", "x=", "$x", "${x", "}", "!", "if "),
    *("then ", "fi", "case x in ", "x)", ";;", " esac", "[[", "]]", "((", "))", "echo ", "eval ", "env ", "sh -c "),
    *("\t", "*", "?", "[", "]", "{", ",", "~", "=", "\\\n", "<<-E", "<<<", "''", "for x in ", "do ", "done", "f()"),
    *("time ", "command ", "exec ", "1", "=~", "coproc ", "|&", "&>", ">&", "cat ", "pu", "sh", "gi", "t "),
]
soups = st.lists(st.sampled_from(ATOMS), min_size=2, max_size=14).map("".join)


def quoted(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from([word, f"'{word}'", f'"{word}"', f"\\{word}", f"{word[0]}''{word[1:]}", f"$'{word}'"])


def wrapped(depth: int) -> st.SearchStrategy[str]:
    plain = st.tuples(quoted("git"), quoted("push")).map(" ".join)
    if depth == 0:
        return plain
    inner = wrapped(depth - 1)
    shell = inner.map(shlex.quote)
    return st.one_of(
        plain,
        inner.map(lambda text: f"true && {{ {text}\n}}"),
        inner.map(lambda text: f"( {text}\n)"),
        inner.map(lambda text: f"{{ {text}\n}}"),
        inner.map(lambda text: f"echo $( {text}\n)"),
        inner.map(lambda text: f'echo "$( {text}\n)"'),
        inner.map(lambda text: f"if true; then {text}\nfi"),
        inner.map(lambda text: f"for i in 1; do {text}\ndone"),
        inner.map(lambda text: f"cat <<E{depth}\n$( {text}\n)\nE{depth}"),
        inner.map(lambda text: f": | ( {text}\n)"),
        inner.map(lambda text: f"fn() {{ {text}\n}}; fn"),
        shell.map(lambda text: f"bash -c {text}"),
        shell.map(lambda text: f"bash -ec {text}"),
        shell.map(lambda text: f"env A=1 bash -c {text}"),
        shell.map(lambda text: f"eval {text}"),
        shell.map(lambda text: f"nice -n 1 timeout 5 bash -c {text}"),
        # bash runs no EXIT trap that is set while the EXIT trap runs
        shell.filter(lambda text: "trap" not in text).map(lambda text: f"trap {text} EXIT"),
        plain.map(lambda text: f"env A=1 {text}"),
        plain.map(lambda text: f"A=1 {text} >out"),
    )


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Runs a line in real bash with nothing on the PATH but a few tools and a `git` that only tells its words."""
    folder = tmp_path_factory.mktemp("bash")
    tools, work, told = folder / "bin", folder / "work", folder / "told"
    tools.mkdir()
    work.mkdir()
    (tools / "git").write_text(f'#!/bin/bash\necho "$*" >> {told}\n')
    (tools / "git").chmod(0o755)
    for name in ("env", "cat", "sh", "bash", "true", "nice", "timeout"):
        found = next(Path(one, name) for one in ("/bin", "/usr/bin") if Path(one, name).exists())
        (tools / name).symlink_to(found)

    def run(line: str) -> list[str]:
        told.unlink(missing_ok=True)
        try:
            subprocess.run(
                ["/bin/bash", "-c", line],
                cwd=work,
                env={"PATH": str(tools), "HOME": str(work)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=10,
                check=False,
            )
        except ValueError:  # a NUL in the line
            return []
        return told.read_text().splitlines() if told.exists() else []

    return run


@SHARED
@given(st.text(max_size=300))
@example("\0")
@example("\ud800")
@example("$(" * 400)
@example("`" * 999)
@example("a|" * 9_000)
@example("<<A " * 3_000)
@example("{a,{b,c}}" * 40)
@example("x=(" * 6_000)
def test_no_text_makes_the_policy_raise(judge: Judge, line: str) -> None:
    assert judge(line).kind in ("allow", "deny", "ask")


@SHARED
@given(soups)
def test_no_shell_like_text_makes_the_policy_raise(judge: Judge, line: str) -> None:
    assert judge(line).kind in ("allow", "deny", "ask")


@SHARED
@given(st.sampled_from(["edit", "write", "webfetch", "other"]), st.text(max_size=80), st.text(max_size=80))
def test_no_other_request_makes_the_policy_raise(tree: Path, tool: str, path: str, text: str) -> None:
    rules = [{"deny": ["edit(src/**)", "webfetch(a.invalid)"], "allow": ["write(/tmp/**)", "other(x*)"]}]
    policy = make_policy("player", str(tree), rules=rules)
    asked = PermissionAsked("1", tool, paths=(path,), text=text, raw_tool=text)  # type: ignore[arg-type]
    assert decide(policy, asked, cwd=str(tree), resolve=real_path).kind in ("allow", "deny", "ask")


@SHARED
@given(wrapped(3))
def test_a_denied_program_stays_denied_in_any_wrapping(judge: Judge, line: str) -> None:
    assert judge(line).kind == "deny"


@settings(SHARED, max_examples=60)
@given(wrapped(2))
def test_the_wrappings_do_run_the_program(bash: Callable[[str], list[str]], line: str) -> None:
    assert "push" in bash(line)


@settings(SHARED, max_examples=150)
@given(
    st.tuples(st.sampled_from(["echo ", "cat ", "true ", "x=", ": ", "echo '", "cat <<E\n", ""]), soups).map("".join)
)
@example("cat eval  E\n\\\ngit push''")
@example("cat {&>!coproc $\ngit push\n")
@example("echo >x $\ngit push")
def test_what_bash_would_push_is_never_allowed(judge: Judge, bash: Callable[[str], list[str]], line: str) -> None:
    if judge(line).kind == "allow":
        assert not [told for told in bash(line) if "push" in told.split()[:1]]


@SHARED
@given(soups)
def test_the_parser_gives_whole_words_or_says_that_it_cannot(line: str) -> None:
    read = parse(line)
    if isinstance(read, Parsed):
        assert all(isinstance(one, SimpleCommand) for one in read.commands)
        assert all(one.words[0].text or one.words[0].glob is False for one in read.commands if one.words)
    else:
        assert read.reason


def test_a_line_over_the_bound_is_not_read_at_all() -> None:
    assert not isinstance(parse("a" * (MAX_LINE + 1)), Parsed)
    assert isinstance(parse("echo " + "a " * (MAX_LINE // 2 - 5)), Parsed)


def test_real_paths_survive_any_text(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert real_path(str(tmp_path / "loop" / "x")).startswith(os.path.realpath(tmp_path))
    assert real_path("/a\0b") == "/"
    assert real_path("/\ud800") == "/"
