"""Scenarios that no real CLI plays on demand: its stream is given, its behaviour is made (spec page 2)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from touchline.execution import ExecutedTurn, execute_turn
from touchline.executor import Executor, Limits, PermissionAnswer, TurnRequest
from touchline.testing.contract.base import Isolated
from touchline.testing.replay import ReplayCli, assert_read_again
from touchline.turn.record import TurnRecord
from touchline.turn.settle import FailureKind

SESSION = "99999999-8888-4777-8666-555555555555"
Play = Callable[..., ExecutedTurn]


class RecordedScenarios(Isolated):
    """A subclass gives `driver` (a driver on a command) and `stream` (what its CLI prints for a turn)."""

    def driver(self, command: tuple[str, ...]) -> Executor:
        """The driver, with `command` in place of its CLI. To be given by the subclass."""
        pytest.fail("a recorded contract class gives the method `driver`")

    def stream(self, text: str, session_id: str) -> bytes:
        """All that the CLI prints in a turn that ends by itself with `text`. To be given by the subclass."""
        pytest.fail("a recorded contract class gives the method `stream`")

    @pytest.fixture
    def play(self, tmp_path: Path) -> Play:
        """Run one turn on a replayed stream."""

        def run(
            stream: bytes,
            *,
            resume: bool = False,
            limits: Limits | None = None,
            status: int = 0,
            hang_s: float = 0.0,
            piece: int = 0,
            after_interrupt: bool = False,
        ) -> ExecutedTurn:
            cli = ReplayCli(
                tmp_path, stream, status=status, hang_s=hang_s, piece=piece, after_interrupt=after_interrupt
            )
            scratch = tmp_path / f"private-{uuid.uuid4().hex}"
            scratch.mkdir(mode=0o700)
            request = TurnRequest(
                "task-1",
                "player",
                "Do it.",
                tmp_path,
                SESSION,
                scratch,
                resume=resume,
                limits=limits or Limits(wall_s=30.0, idle_s=15.0, grace_s=1.0),
            )
            driver, folder = self.driver(cli.command), tmp_path / f"record-{uuid.uuid4().hex}"
            with TurnRecord(folder) as record:
                turn = execute_turn(
                    driver, request, record=record, permit=lambda asked: PermissionAnswer(True), run_id="recorded"
                )
            assert_read_again(driver, folder)
            return turn

        return run

    def test_recorded_end_is_read_whole(self, play: Play) -> None:
        turn = play(self.stream("Grüße, 世界 👩‍🚀", SESSION))
        assert (turn.text, turn.failure) == ("Grüße, 世界 👩‍🚀", None)

    def test_exit_status_after_an_end_changes_nothing(self, play: Play) -> None:
        turn = play(self.stream("Hello.", SESSION), status=1)
        assert (turn.text, turn.failure) == ("Hello.", None)

    def test_program_that_hangs_after_its_end_is_stopped_and_the_end_is_kept(self, play: Play) -> None:
        turn = play(self.stream("Hello.", SESSION), hang_s=60.0)
        assert (turn.text, turn.failure) == ("Hello.", None)
        assert turn.duration_s < 15

    def test_stream_without_its_end_is_never_success(self, play: Play) -> None:
        whole = self.stream("Hello.", SESSION).rstrip(b"\n")
        turn = play(whole[: whole.rfind(b"\n") + 1])
        assert turn.failure is not None
        assert turn.failure.kind is FailureKind.LOST_RESULT

    def test_stream_that_breaks_off_inside_its_end_is_never_success(self, play: Play) -> None:
        turn = play(self.stream("Hello.", SESSION).rstrip(b"\n")[:-3])
        assert turn.failure is not None
        assert turn.failure.kind is FailureKind.LOST_RESULT

    @pytest.mark.parametrize("status", [0, 1])
    def test_program_that_prints_nothing_is_never_success(self, play: Play, status: int) -> None:
        turn = play(b"", status=status)
        assert turn.failure is not None
        assert turn.failure.kind is (FailureKind.CRASHED if status else FailureKind.LOST_RESULT)

    def test_resumed_program_that_prints_nothing_is_never_success(self, play: Play) -> None:
        turn = play(b"", resume=True)
        assert turn.lost_resume

    def test_end_that_comes_after_the_deadline_is_not_accepted(self, play: Play) -> None:
        limits = Limits(wall_s=30.0, idle_s=1.0, grace_s=1.0)
        turn = play(self.stream("Hello.", SESSION), after_interrupt=True, limits=limits)
        assert turn.failure is not None
        assert turn.failure.kind is FailureKind.STALLED
        assert turn.text == ""

    def test_stream_cut_inside_its_characters_is_put_together(self, play: Play) -> None:
        turn = play(self.stream("Grüße, 世界 👩‍🚀", SESSION), piece=3, limits=Limits(60.0, 30.0, 1.0))
        assert (turn.text, turn.failure) == ("Grüße, 世界 👩‍🚀", None)

    def test_bytes_that_are_no_text_harm_nothing(self, play: Play) -> None:
        turn = play(b"\xff\xfe\x00 \xf0\x9f\n" + self.stream("Hello.", SESSION))
        assert (turn.text, turn.failure) == ("Hello.", None)

    def test_line_beyond_all_measure_is_dropped_and_survived(self, play: Play) -> None:
        turn = play(b"x" * 17 * 2**20 + b"\n" + self.stream("Hello.", SESSION))
        assert (turn.text, turn.failure) == ("Hello.", None)
