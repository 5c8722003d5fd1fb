"""The rule language of the configuration (spec page 8, "matched on the parsed command")."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.errors import ConfigError
from touchline.executor import PermissionAsked
from touchline.permissions.gate import real_path
from touchline.permissions.policy import Verdict, decide, make_policy
from touchline.permissions.rules import parse_rule

Judge = Callable[..., Verdict]


def file_verdict(tree: Path, path: str, tool: str = "edit", profile: str = "player", **rules: list[str]) -> Verdict:
    policy = make_policy(profile, str(tree), rules=[rules])  # type: ignore[arg-type]
    asked = PermissionAsked("1", tool, paths=(path,))  # type: ignore[arg-type]
    return decide(policy, asked, cwd=str(tree), resolve=real_path)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("bash(npm publish *)", "npm publish"),
        ("bash(npm publish *)", "npm --loglevel silent publish --tag x"),
        ("bash(npm publish)", "npm publish --tag x"),
        ("bash(npm *)", "npm test"),
        ("bash(npm *)", "env X=1 npm test"),
        ("bash(npm *)", "bash -c 'cd src && npm test'"),
        ("bash(npm *)", "/usr/bin/npm test"),
        ("bash(npm run deploy *)", "npm run -s deploy"),
        ("bash(rm -rf *)", "rm -rf build"),
        ("bash(rm -rf *)", "rm -fr build"),
        ("bash(rm -rf *)", "rm -r -f build"),
        ("bash(rm -rf *)", "rm build -rf"),
        ("bash(rm -rf *)", "rm --recursive --force build"),
        ("bash(rm -rf *)", "rm -Rf build"),
        ("bash(rm --force *)", "rm -f build/x"),
        ("bash(cat /etc/*)", "cat /etc/hosts"),
        ("bash(cat /etc/*)", "cat /usr/../etc/hosts"),
        ("bash(cat /etc/*)", "cat //etc/hosts"),
        ("bash(make deploy)", "make -j4 deploy"),
        ("bash(make deploy)", "make -C src deploy"),
        ("bash(git status *)", "git --no-pager status"),
        ("bash(* --dangerous *)", "make --dangerous"),
        ("bash(*)", "ls"),
        ("bash(py*)", "pytest -q"),
    ],
)
def test_a_deny_rule_holds_wherever_options_stand_and_however_the_program_is_reached(
    judge: Judge, rule: str, line: str
) -> None:
    verdict = judge(line, deny=[rule])
    assert verdict.kind == "deny"
    assert verdict.rule == rule


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("bash(npm publish *)", "npm test publish.js"),
        ("bash(rm -rf *)", "rm -f build/x"),
        ("bash(rm -rf *)", "rm build/x"),
        ("bash(git status *)", "git log status"),
        ("bash(cat /etc/*)", "cat src/app.py"),
        ("bash(npm *)", "echo npm test"),
        ("bash(make deploy)", "make test"),
    ],
)
def test_a_deny_rule_leaves_other_commands_alone(judge: Judge, rule: str, line: str) -> None:
    assert judge(line, deny=[rule]).kind == "allow"


@pytest.mark.parametrize("line", ["npm $X", "npm run $X", "$X publish", "xargs npm run", "npm pub*"])
def test_what_may_turn_out_to_be_denied_needs_a_person_even_if_a_rule_allows_it(judge: Judge, line: str) -> None:
    verdict = judge(line, deny=["bash(npm publish *)", "bash(npm run publish)"], allow=["bash(*)"])
    assert verdict.kind == "ask"


def test_deny_beats_ask_beats_allow(judge: Judge) -> None:
    everything = ["bash(make *)"]
    assert judge("make x", deny=everything, ask=everything, allow=everything).kind == "deny"
    assert judge("make x", ask=everything, allow=everything).kind == "ask"
    assert judge("make x", allow=everything).kind == "allow"


def test_rules_of_all_levels_add_up(tree: Path) -> None:
    policy = make_policy("player", str(tree), rules=[{"deny": ["bash(make *)"]}, {"allow": ["bash(make *)"]}])
    asked = PermissionAsked("1", "bash", command="make x")
    assert decide(policy, asked, cwd=str(tree), resolve=real_path).kind == "deny"


def test_an_allow_rule_admits_what_the_profile_would_ask_about(judge: Judge) -> None:
    assert judge("python -c 'x'").kind == "ask"
    assert judge("python -c 'x'", allow=["bash(python -c *)"]).kind == "allow"
    assert judge("curl https://example.invalid", allow=["bash(curl https://example.invalid)"]).kind == "allow"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("bash(curl https://example.invalid)", "curl https://example.invalid -o x"),
        ("bash(curl https://example.invalid)", "curl -o x https://example.invalid"),
        ("bash(docker ps *)", "docker --host x ps"),
        ("bash(docker ps *)", "docker ps; docker rm x"),
        ("bash(docker ps *)", "docker ps $(docker rm x)"),
        ("bash(docker *)", "src/docker ps && docker ps > /etc/x"),
        ("bash(docker *)", "/opt/bin/docker ps"),
        ("bash(env *)", "env docker ps"),
        ("bash(sh *)", "sh -c 'docker ps'"),
    ],
)
def test_an_allow_rule_admits_exactly_what_it_says(judge: Judge, rule: str, line: str) -> None:
    assert judge(line, allow=[rule]).kind == "ask"


@pytest.mark.parametrize("line", ["git push", "git config user.name x", "git reset --hard", "git commit -m x"])
def test_no_rule_lifts_what_a_profile_refuses(judge: Judge, line: str) -> None:
    assert judge(line, allow=["bash(*)", "bash(git *)", f"bash({line})"]).kind == "deny"


@pytest.mark.parametrize("line", ["$X", "git push '", "eval $X", "ls … [truncated]"])
def test_no_rule_allows_what_is_not_understood(judge: Judge, line: str) -> None:
    assert judge(line, allow=["bash(*)", "write(**)"]).kind == "ask"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("src/app.py", "allow"),
        ("new/deep/file.py", "allow"),
        ("../x", "ask"),
        ("/etc/passwd", "ask"),
        ("out/x", "ask"),
        ("src/../../x", "ask"),
        ("~/.bashrc", "ask"),
        (".git/config", "deny"),
        ("src/../.git/hooks/pre-commit", "deny"),
        ("inner/config", "deny"),
        (".GIT/config", "deny"),
        ("sub/.git/config", "deny"),
        (".gitignore", "allow"),
        ("a\0b", "ask"),
        ("\ud800", "ask"),
        ("x… [truncated]", "ask"),
    ],
)
def test_an_edit_stays_inside_the_work_tree_and_out_of_gits_folder(tree: Path, path: str, answer: str) -> None:
    assert file_verdict(tree, path).kind == answer
    assert file_verdict(tree, path, tool="write").kind == answer


def test_absolute_paths_are_judged_by_where_they_really_lie(tree: Path) -> None:
    assert file_verdict(tree, str(tree / "src" / "app.py")).kind == "allow"
    assert file_verdict(tree, str(tree / "out" / "x")).kind == "ask"
    assert file_verdict(tree, str(tree)).kind == "allow"
    assert file_verdict(tree, f"{tree}-other/x").kind == "ask"


def test_a_verifier_edits_nothing(tree: Path) -> None:
    assert file_verdict(tree, "src/app.py", profile="verifier").kind == "deny"
    assert file_verdict(tree, "/tmp/x", profile="verifier").kind == "ask"


def test_folders_outside_can_be_opened_for_writing(tree: Path, tmp_path: Path) -> None:
    for profile in ("player", "verifier"):
        policy = make_policy(profile, str(tree), writable=[str(tmp_path)])  # type: ignore[arg-type]
        asked = PermissionAsked("1", "bash", command=f"pytest -q > {tmp_path}/log")
        assert decide(policy, asked, cwd=str(tree), resolve=real_path).kind == "allow"


def test_a_linked_work_trees_git_folder_is_protected_wherever_it_lies(tree: Path) -> None:
    policy = make_policy("player", str(tree), git_dirs=[str(tree / "build")])
    for line in ("echo x > build/config", "rm -rf build", "cp run.sh build/x", "mv build elsewhere"):
        asked = PermissionAsked("1", "bash", command=line)
        assert decide(policy, asked, cwd=str(tree), resolve=real_path).kind == "deny", line


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("echo x > .github/workflows/ci.yml", "deny"),
        ("cp run.sh .github/workflows/ci.yml", "deny"),
        ("rm -rf .github", "deny"),
        ("mv .github elsewhere", "deny"),
        ("sed -i s/a/b/ .github/workflows/ci.yml", "deny"),
        ("rm .github/workflows/*", "deny"),
        ("cd .github && echo x > workflows/ci.yml", "deny"),
        ("cat .github/workflows/ci.yml", "allow"),
        ("echo x > src/app.py", "allow"),
    ],
)
def test_a_protected_file_is_protected_from_the_shell_too(judge: Judge, line: str, answer: str) -> None:
    assert judge(line, deny=["edit(.github/**)"]).kind == answer


def test_a_protected_file_is_protected_from_edit_and_write_alike(tree: Path) -> None:
    for rule in ("edit(.github/**)", "write(.github/**)", "edit(**/workflows/*.yml)"):
        for tool in ("edit", "write"):
            found = file_verdict(tree, ".github/workflows/ci.yml", tool=tool, deny=[rule])
            assert (found.kind, found.rule) == ("deny", rule)


def test_a_path_pattern_knows_parts_from_depth(tree: Path) -> None:
    assert file_verdict(tree, "src/a/b.py", deny=["edit(src/*)"]).kind == "allow"
    assert file_verdict(tree, "src/b.py", deny=["edit(src/*)"]).kind == "deny"
    assert file_verdict(tree, "src/a/b.py", deny=["edit(src/**)"]).kind == "deny"
    assert file_verdict(tree, "a/src/b.py", deny=["edit(**/b.py)"]).kind == "deny"
    assert file_verdict(tree, "b.py", deny=["edit(**/b.py)"]).kind == "deny"
    assert file_verdict(tree, "srcs", deny=["edit(src/**)"]).kind == "allow"


def test_a_write_rule_opens_a_place_outside_for_that_tool_alone(tree: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "x")
    rule = f"write({tmp_path}/**)"
    assert file_verdict(tree, target, tool="write", allow=[rule]).kind == "allow"
    assert file_verdict(tree, target, tool="edit", allow=[rule]).kind == "ask"
    assert file_verdict(tree, ".git/config", tool="write", allow=["write(**)"]).kind == "deny"


def test_a_call_that_names_no_file_is_asked_about(tree: Path) -> None:
    policy = make_policy("player", str(tree), rules=[{"allow": ["edit(**)"]}])
    asked = PermissionAsked("1", "edit")
    assert decide(policy, asked, cwd=str(tree), resolve=real_path).kind == "ask"


@pytest.mark.parametrize(
    ("rules", "text", "answer"),
    [
        ({}, "https://example.org/x", "ask"),
        ({"allow": ["webfetch(*)"]}, "https://example.org/x", "allow"),
        ({"allow": ["webfetch(example.org)"]}, "https://example.org/x", "allow"),
        ({"allow": ["webfetch(example.org)"]}, "https://example.org.evil.invalid/", "ask"),
        ({"allow": ["webfetch(example.org)"]}, "https://example.org@evil.invalid/", "ask"),
        ({"allow": ["webfetch(example.org)"]}, "https://evil.invalid/?https://example.org", "ask"),
        ({"allow": ["webfetch(example.org)"]}, "https://example.org https://evil.invalid", "ask"),
        ({"allow": ["webfetch(https://example.org/docs/*)"]}, "https://example.org/docs/a", "allow"),
        ({"allow": ["webfetch(https://example.org/docs/*)"]}, "https://example.org/other", "ask"),
        ({"allow": ["webfetch(*)"], "deny": ["webfetch(*.invalid)"]}, "https://evil.invalid:80/", "deny"),
        ({"allow": ["webfetch(example.org)"]}, "no address at all", "ask"),
    ],
)
def test_a_fetch_is_judged_by_every_address_in_it(
    tree: Path, rules: dict[str, list[str]], text: str, answer: str
) -> None:
    policy = make_policy("player", str(tree), rules=[rules])
    asked = PermissionAsked("1", "webfetch", text=text)
    assert decide(policy, asked, cwd=str(tree), resolve=real_path).kind == answer


@pytest.mark.parametrize(
    ("raw_tool", "paths", "rules", "answer"),
    [
        ("Read", (), {}, "allow"),
        ("Read", ("~/.ssh/id_rsa",), {}, "ask"),
        ("TodoWrite", (), {}, "allow"),
        ("mcp__forge__merge", (), {}, "ask"),
        ("mcp__forge__merge", (), {"allow": ["other(mcp__forge__*)"]}, "allow"),
        ("Read", (), {"deny": ["other(read)"]}, "deny"),
        ("", (), {}, "ask"),
    ],
)
def test_other_tools_are_known_by_name(
    tree: Path, raw_tool: str, paths: tuple[str, ...], rules: dict[str, list[str]], answer: str
) -> None:
    policy = make_policy("player", str(tree), rules=[rules])
    asked = PermissionAsked("1", "other", raw_tool=raw_tool, paths=paths)
    assert decide(policy, asked, cwd=str(tree), resolve=real_path).kind == answer


@pytest.mark.parametrize(
    "text", ["", "git push", "bash", "bash()", "bash(a", "shell(a)", "bash('a)", "bash(git push:*)", "edit(~/x)"]
)
def test_a_malformed_rule_is_an_error_that_shows_the_form(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_rule(text, where="permissions.deny")
    assert "permissions.deny" in caught.value.what
    assert caught.value.fix


def test_the_denial_names_the_rule_and_the_reason(judge: Judge) -> None:
    assert "the coach" in judge("git push").reason
    assert judge("make x", deny=["bash(make *)"]).reason == "the rule bash(make *) forbids it"
