"""A credential in the remote's URL that everybody in a run repeats: it stands in nothing that is kept or published.

`Scene.truthful` looks for it after every run, in every file of the state, in both streams and in the record.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from touchline.testing.repositories import git

TOKEN = "tok-9c41e7-in-the-remotes-url"


@pytest.mark.slow
def test_what_everybody_repeats_of_the_remotes_url_is_masked(make_scene: Any) -> None:
    report = {"build": f"pushed with {TOKEN}", "concerns": [f"the token {TOKEN} is in .git/config"]}

    def turn(value: int) -> list[dict[str, Any]]:
        return [
            {"say": f"the remote is http://me:{TOKEN}@host/widget.git"},
            {"run": {"command": "git remote -v"}},
            {"write": {"path": "value.py", "content": f"VALUE = {value}\n"}},
            {"finish": {"summary": f"set the value with {TOKEN}", "report": report}},
        ]

    loud = ["sh", "-c", "git remote -v; git remote -v >&2; grep -q 'VALUE = 3' value.py"]
    with make_scene("scene", [turn(1), turn(3)], permissions={"allow": ["bash(git remote -v)"]}) as scene:
        settings = json.loads((scene.project.path / "touchline.yaml").read_text())
        settings["tests"]["command"] = settings["reviewers"][0]["command"] = settings["exerciser"]["command"] = loud
        (scene.project.path / "touchline.yaml").write_text(json.dumps(settings))
        scene.project.git("commit", "--quiet", "--all", "--message", "Say it aloud")
        scene.project.git("push", "--quiet", str(scene.bare), "main")
        ran = scene.project.touchline("run", "--headless", "--no-ci", "--json")
        scene.secretless(ran)
        assert ran.status == 0, ran.err
        kept = list(Path(os.environ["XDG_STATE_HOME"]).glob("player-coach/*/*/output/**/*"))
        assert any(
            b"[masked]" in place.read_bytes() or b"***" in place.read_bytes() for place in kept if place.is_file()
        )
        messages = scene.project.git("log", "--format=%B", "main..")
        assert TOKEN not in messages


@pytest.mark.slow
def test_a_secret_committed_by_hand_after_a_failed_push_is_not_pushed_by_the_next_run(
    make_scene: Any, attempt_of: Any
) -> None:
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA0" * 3 + "\n-----END RSA " + "PRIVATE KEY-----\n"
    with make_scene("scene", [attempt_of(3)]) as scene:
        scene.server.fail("403", 18)
        assert scene.run().block["STATUS"] == "FAILED_PUBLISH"
        scene.server.heal()
        (scene.project.path / "key").write_text(key)
        scene.project.git("add", "key")
        scene.project.git("commit", "--quiet", "--message", "Add a key")
        ran = scene.run()
        assert ran.block["STATUS"] == "FAILED_PUBLISH"
        assert "suspected secrets" in ran.err
        assert git(scene.bare, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]


@pytest.mark.slow
def test_a_host_that_repeats_the_credential_in_its_refusal_is_not_quoted(make_scene: Any, attempt_of: Any) -> None:
    with make_scene("scene", [attempt_of(3)]) as scene:
        hook = scene.bare / "hooks" / "pre-receive"
        hook.write_text(f"#!/bin/sh\necho 'not with {TOKEN}' >&2\nexit 1\n")
        hook.chmod(0o755)
        assert scene.run().block["STATUS"] == "FAILED_PUBLISH"


@pytest.mark.parametrize("url", ["http://{host}/widget.git", "http://me:wrong-password-31c@{host}/widget.git"])
def test_a_missing_or_wrong_credential_ends_in_seconds_with_what_to_do(
    make_scene: Any, attempt_of: Any, url: str
) -> None:
    with make_scene("scene", [attempt_of(3)]) as scene:
        host = scene.server.url.removeprefix("http://")
        scene.project.git("remote", "set-url", "upstream", url.format(host=host))
        began = time.monotonic()
        ran = scene.run()
        assert time.monotonic() - began < 30
        assert (ran.block["STATUS"], ran.block["TURNS_USED"]) == ("FAILED_PUBLISH", "0 of 10")
        assert "credential helper" in ran.err
        assert "wrong-password-31c" not in ran.err + ran.out
