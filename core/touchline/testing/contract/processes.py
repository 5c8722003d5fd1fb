"""Scenarios: large and odd streams, limits, kills, runaways, secrets (spec page 2, "The process host")."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psutil
import pytest

from touchline.executor import Capability, Event, Limits, ToolStarted
from touchline.process.cancel import Cancellation
from touchline.testing.bench import Bench, Ran
from touchline.testing.contract.base import ContractBase, requires
from touchline.testing.steps import Say, Shell
from touchline.turn.settle import FailureKind

MB = 1_000_000


class ProcessScenarios(ContractBase):
    """Nothing is lost, nothing is left behind, nothing leaks."""

    def test_large_prompt_that_looks_like_an_option_arrives_whole(self, bench: Bench) -> None:
        prompt = "--help\n" + "line of a long plan\n" * 10_000 + "the end of the plan"
        bench.turn(Say("Hello."), prompt=prompt)
        assert any(prompt in known for known in bench.model.prompts())

    def test_text_of_five_megabytes_arrives_whole(self, bench: Bench) -> None:
        text = "a long line " * (5 * MB // 12) + '\n{"ask": "still here?"}'
        ran = bench.turn(Say(text))
        assert ran.executed.failure is None
        assert ran.executed.text == text
        assert (ran.settlement.kind, ran.settlement.question) == ("asked", "still here?")

    def test_output_that_is_no_text_harms_nothing(self, bench: Bench) -> None:
        ran = bench.turn(Shell(r"printf '\377\376\000 \360\237 caf\303'"), Say("Still here."))
        assert ran.executed.failure is None
        assert ran.executed.text == "Still here."

    def test_turn_that_takes_too_long_is_ended_with_its_tool(self, bench: Bench) -> None:
        limits = Limits(wall_s=4.0 + self.startup_s, idle_s=30.0, grace_s=2.0)
        ran = bench.turn(Shell("echo $$ > pid.txt; sleep 300"), Say("Never."), limits=limits)
        assert ran.executed.failure is not None
        assert ran.executed.failure.kind is FailureKind.TIMEOUT
        assert ran.took_s < 20 + self.startup_s
        assert_gone(bench.repo / "pid.txt")

    @requires(Capability.INTERRUPT)
    def test_cancelled_turn_ends_its_tool_and_keeps_its_session(self, bench: Bench) -> None:
        ran = self._cancelled(bench, "echo $$ > pid.txt; sleep 300")
        assert ran.executed.failure is not None
        assert ran.executed.failure.kind is FailureKind.CANCELLED
        assert ran.settlement.kind == "interrupted"
        assert_gone(bench.repo / "pid.txt")
        if Capability.RESUME in bench.executor.capabilities:
            again = bench.turn(Say("Back."), session_id=ran.executed.session_id, resume=True)
            assert again.executed.failure is None

    def test_killed_program_is_a_crash_and_leaves_no_tool_behind(self, bench: Bench) -> None:
        ran = bench.turn(Shell("echo $$ > pid.txt; kill -9 $PPID; sleep 300"), Say("Never."))
        assert ran.executed.failure is not None
        assert ran.executed.failure.kind is FailureKind.CRASHED
        assert_gone(bench.repo / "pid.txt")

    @requires(Capability.RESUME)
    def test_session_goes_on_after_a_kill(self, bench: Bench) -> None:
        killed = bench.turn(Shell("kill -9 $PPID; sleep 300"), Say("Never."), prompt="Begin.")
        again = bench.turn(Say("Back."), session_id=killed.executed.session_id, resume=True, prompt="Go on.")
        assert again.executed.failure is None
        assert again.executed.session_id == killed.executed.session_id
        assert "Go on." in "\n".join(bench.model.prompts())

    def test_runaway_grandchild_is_ended_with_the_turn(self, bench: Bench) -> None:
        ran = bench.turn(
            Shell(
                "setsid sh -c 'echo $$ > pid.txt; exec sleep 300' >/dev/null 2>&1 </dev/null & "
                "while [ ! -s pid.txt ]; do sleep 0.05; done"
            ),
            Say("Done."),
        )
        assert ran.executed.text == "Done."
        assert_gone(bench.repo / "pid.txt")

    @requires(Capability.RESUME)
    def test_two_sessions_at_once_do_not_mix(self, bench: Bench) -> None:
        bench.model.play(*[Say("Hello.")] * 2)
        ran: list[Ran] = []
        threads = [
            threading.Thread(target=lambda word=word: ran.append(bench.turn(prompt=f"The word is {word}.")))
            for word in ("heron", "otter")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert len({one.executed.session_id for one in ran}) == 2
        for one in ran:
            bench.turn(Say("Again."), session_id=one.executed.session_id, resume=True, prompt="Which word?")
            known = "\n".join(bench.model.prompts())
            assert ("heron" in known) != ("otter" in known)

    def test_prompt_is_in_no_command_line(self, bench: Bench) -> None:
        command_lines: list[str] = []

        def look(event: Event) -> None:
            if isinstance(event, ToolStarted):
                for child in psutil.Process().children(recursive=True):
                    try:
                        command_lines.append(" ".join(child.cmdline()))
                    except psutil.Error:  # it ended while we looked
                        continue

        bench.turn(Shell("sleep 0.3"), Say("Hello."), prompt="the secret word is cormorant", on_event=look)
        assert command_lines
        assert not any("cormorant" in line for line in command_lines)

    def test_environment_is_marked_and_holds_no_forge_token(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "a-token-that-must-not-arrive")
        monkeypatch.setenv("CLAUDECODE", "1")
        bench.turn(Shell("env > environment.txt"), Say("Hello."))
        lines = (bench.repo / "environment.txt").read_text().splitlines()
        assert f"TOUCHLINE_RUN={bench.run_id}" in lines
        assert not any("a-token-that-must-not-arrive" in line for line in lines)

    def test_users_own_configuration_stays_as_it_is(self, bench: Bench, home: Path) -> None:
        before = {name: (home / name).read_bytes() for name in self.user_files}
        ran = bench.turn(Shell("true"), Say("Hello."))
        assert ran.executed.failure is None
        assert {name: (home / name).read_bytes() for name in self.user_files} == before

    def _cancelled(self, bench: Bench, command: str) -> Ran:
        """A turn that is cancelled while its tool runs."""
        cancel = Cancellation()
        marker = bench.repo / "pid.txt"

        def wait_and_cancel() -> None:
            deadline = time.monotonic() + 30
            while not (marker.exists() and marker.read_text().strip()) and time.monotonic() < deadline:
                time.sleep(0.02)
            cancel.set()

        thread = threading.Thread(target=wait_and_cancel)
        thread.start()
        try:
            return bench.turn(Shell(command), Say("Never."), cancel=cancel)
        finally:
            thread.join(timeout=60)
            cancel.close()


def assert_gone(pid_file: Path) -> None:
    """The process whose id the file holds has ended (within a moment; a zombie has ended too)."""
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return
        except psutil.NoSuchProcess:
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} is still there")
