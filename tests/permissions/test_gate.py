"""Who answers what the rules leave open, and that nobody's silence is a yes (spec page 8)."""

from __future__ import annotations

import io
import json
import os
import pty
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from touchline.commands.reply import command as reply
from touchline.errors import UsageError
from touchline.executor import PermissionAsked
from touchline.permissions.gate import Decided, PermissionGate
from touchline.permissions.person import Terminal, Waiting, read_typed
from touchline.permissions.policy import make_policy
from touchline.permissions.tickets import Answer, Ticket, TicketError, TicketFolder
from touchline.process.cancel import Cancellation

NOW = "2026-01-01T00:00:00+00:00"
OPAQUE = PermissionAsked("7", "bash", command="python -c 'print(1)'", text="python -c 'print(1)'", raw_tool="Bash")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "state" / "player-coach" / "demo-12345678" / "main-local"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def tree_of_run(tmp_path: Path) -> Path:
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / "src").mkdir()
    return tmp_path / "tree"


def gate(
    tree: Path, run: Path, waiting: Waiting | None = None, name: str = "1"
) -> tuple[PermissionGate, list[Decided]]:
    seen: list[Decided] = []
    policy = make_policy("player", str(tree))
    return PermissionGate(policy, run, run=name, waiting=waiting, decided=seen.append), seen


def answered(run: Path, ticket: str, answer: Answer) -> threading.Thread:
    """Answers the ticket from another thread as soon as it stands there."""
    folder = TicketFolder(run)

    def work() -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not (folder.path / f"{ticket}.json").exists():
            time.sleep(0.01)
        folder.answer(ticket, answer)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_rules_decide_without_a_person_and_are_recorded(tree_of_run: Path, run: Path) -> None:
    one, seen = gate(tree_of_run, run)
    assert one.permit(PermissionAsked("1", "bash", command="ls")).allowed
    refused = one.permit(PermissionAsked("2", "bash", command="git push"))
    assert not refused.allowed
    assert "the coach" in refused.reason
    assert "Do not try the same" in refused.reason
    assert [decision.how for decision in seen] == ["rule", "rule"]


def test_headless_what_is_open_is_denied_with_the_reason_at_once(tree_of_run: Path, run: Path) -> None:
    one, seen = gate(tree_of_run, run)
    answer = one.permit(OPAQUE)
    assert not answer.allowed
    assert "nobody can be asked" in answer.reason
    assert seen[0].how == "nobody"
    assert not (run / "tickets").exists()


def test_an_approved_ticket_lets_the_call_through_and_keeps_the_whole_text(tree_of_run: Path, run: Path) -> None:
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10))
    thread = answered(run, "1", Answer(decision="approve"))
    answer = one.permit(OPAQUE)
    thread.join(10)
    assert answer.allowed
    assert (seen[0].how, seen[0].ticket) == ("person", "1")
    kept = json.loads((run / "tickets" / "1.json").read_text())
    assert kept["command"] == OPAQUE.command
    assert kept["outcome"] == "approved"
    assert stat.S_IMODE((run / "tickets").stat().st_mode) == 0o700
    assert stat.S_IMODE((run / "tickets" / "1.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((run / "tickets" / "1.answer.json").stat().st_mode) == 0o600


def test_a_byte_identical_request_is_not_asked_again_in_this_run(tree_of_run: Path, run: Path) -> None:
    waiting = Waiting(now=lambda: NOW, wait_s=10)
    one, _ = gate(tree_of_run, run, waiting)
    thread = answered(run, "1", Answer(decision="approve"))
    assert one.permit(OPAQUE).allowed
    thread.join(10)
    after_restart, seen = gate(tree_of_run, run, None)
    assert after_restart.permit(OPAQUE).allowed
    assert (seen[0].how, seen[0].ticket) == ("reused", "1")
    changed = PermissionAsked("8", "bash", command="python -c 'print(1) '", text=OPAQUE.text, raw_tool="Bash")
    assert not after_restart.permit(changed).allowed
    other_run, _ = gate(tree_of_run, run, None, name="2")
    assert not other_run.permit(OPAQUE).allowed


def test_a_cut_request_is_never_reused(tree_of_run: Path, run: Path) -> None:
    cut = PermissionAsked("1", "bash", command="ls … [truncated]")
    one, _ = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10))
    thread = answered(run, "1", Answer(decision="approve"))
    assert one.permit(cut).allowed
    thread.join(10)
    again, _ = gate(tree_of_run, run, None)
    assert not again.permit(cut).allowed


def test_a_denial_hands_the_persons_reason_to_the_model(tree_of_run: Path, run: Path) -> None:
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10))
    thread = answered(run, "1", Answer(decision="deny", text="use the test target"))
    answer = one.permit(OPAQUE)
    thread.join(10)
    assert not answer.allowed
    assert "use the test target" in answer.reason
    assert seen[0].how == "person"


def test_no_answer_in_time_is_a_denial(tree_of_run: Path, run: Path) -> None:
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=0.3))
    started = time.monotonic()
    assert not one.permit(OPAQUE).allowed
    assert time.monotonic() - started < 5
    assert seen[0].how == "expired"
    with pytest.raises(UsageError, match="does not wait any more"):
        TicketFolder(run).answer("1", Answer(decision="approve"))


def test_a_cancelled_run_stops_waiting(tree_of_run: Path, run: Path) -> None:
    cancel = Cancellation()
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=60, cancel=cancel))
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    assert not one.permit(OPAQUE).allowed
    timer.join(5)
    assert seen[0].how == "cancelled"


def test_a_damaged_answer_is_a_denial(tree_of_run: Path, run: Path) -> None:
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10))
    (run / "tickets").mkdir(mode=0o700)
    (run / "tickets" / "1.answer.json").write_text("{")
    assert not one.permit(OPAQUE).allowed
    assert seen[0].how == "failed"


def test_a_ticket_that_cannot_be_written_is_a_denial(tree_of_run: Path, run: Path) -> None:
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10))
    (run / "tickets").write_text("in the way")
    assert not one.permit(OPAQUE).allowed
    assert seen[0].how == "failed"


def test_the_next_process_closes_tickets_that_nobody_reads_any_more(tree_of_run: Path, run: Path) -> None:
    left = Ticket(id="0", run="1", kind="permission", asked_at=NOW, deadline=NOW)
    TicketFolder(run).open(left)
    gate(tree_of_run, run, Waiting(now=lambda: NOW))
    assert TicketFolder(run).read("1").outcome == "abandoned"


def test_an_answer_counts_once(run: Path) -> None:
    folder = TicketFolder(run)
    folder.open(Ticket(id="0", run="1", kind="permission", asked_at=NOW, deadline=NOW))
    folder.answer("1", Answer(decision="deny", text="no"))
    with pytest.raises(UsageError, match="has its answer already"):
        folder.answer("1", Answer(decision="approve"))
    kept = folder.answer_to("1")
    assert kept is not None
    assert kept.decision == "deny"


@pytest.mark.parametrize("name", ["../1", "0", "1/../1", "", "x", "1.answer", "01"])
def test_a_ticket_number_is_never_a_path(run: Path, name: str) -> None:
    (run / "1.json").write_text("{}")
    with pytest.raises(UsageError, match="no ticket"):
        TicketFolder(run).read(name)


def test_a_link_in_place_of_an_answer_is_not_followed(run: Path, tmp_path: Path) -> None:
    folder = TicketFolder(run)
    folder.open(Ticket(id="0", run="1", kind="permission", asked_at=NOW, deadline=NOW))
    elsewhere = tmp_path / "answer.json"
    elsewhere.write_bytes(Answer(decision="approve").to_bytes())
    (folder.path / "1.answer.json").symlink_to(elsewhere)
    with pytest.raises(TicketError):
        folder.answer_to("1")


def test_lone_surrogates_and_control_characters_do_not_break_a_ticket(tree_of_run: Path, run: Path) -> None:
    one, _ = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=0.1))
    assert not one.permit(PermissionAsked("1", "bash", command="ls \ud800 \x1b[2J", text="\udfff")).allowed
    assert TicketFolder(run).read("1").outcome == "expired"


@pytest.fixture
def typing() -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize(
    ("typed", "allowed", "said"),
    [("y\n", True, ""), ("what\ny\n", True, ""), ("n not here\n", False, "not here"), ("yes please\nn\n", False, "")],
)
def test_a_person_at_the_terminal_is_shown_the_command_and_answers(
    tree_of_run: Path, run: Path, typing: tuple[int, int], typed: str, allowed: bool, said: str
) -> None:
    master, slave = typing
    shown = io.StringIO()
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10, terminal=Terminal(slave, shown)))

    def type_when_asked() -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and "Answer y" not in shown.getvalue():
            time.sleep(0.01)
        os.write(master, typed.encode())

    thread = threading.Thread(target=type_when_asked)
    thread.start()
    answer = one.permit(OPAQUE)
    thread.join(10)
    assert answer.allowed is allowed
    assert said in answer.reason
    assert OPAQUE.command in shown.getvalue()
    assert seen[0].how == "person"
    kept = TicketFolder(run).read("1").answer
    assert kept is not None
    assert kept.by == "terminal"


def test_what_was_typed_before_the_question_is_no_answer(tree_of_run: Path, run: Path, typing: tuple[int, int]) -> None:
    master, slave = typing
    os.write(master, b"y\n")
    time.sleep(0.05)
    one, seen = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=0.4, terminal=Terminal(slave, io.StringIO())))
    assert not one.permit(OPAQUE).allowed
    assert seen[0].how == "expired"


def test_a_reply_from_elsewhere_ends_the_question_at_the_terminal(
    tree_of_run: Path, run: Path, typing: tuple[int, int]
) -> None:
    _, slave = typing
    terminal = Terminal(slave, io.StringIO())
    one, _ = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10, terminal=terminal))
    thread = answered(run, "1", Answer(decision="approve", by="reply"))
    assert one.permit(OPAQUE).allowed
    thread.join(10)


def test_a_hostile_request_cannot_repaint_the_terminal(tree_of_run: Path, run: Path, typing: tuple[int, int]) -> None:
    _, slave = typing
    shown = io.StringIO()
    one, _ = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=0.1, terminal=Terminal(slave, shown)))
    one.permit(PermissionAsked("1", "bash", command="ls \x1b[2J\u202e evil", raw_tool="Bash\x1b[1A"))
    assert "\x1b" not in shown.getvalue()
    assert "\u202e" not in shown.getvalue()


def test_a_question_of_the_player_is_answered_through_a_ticket(tree_of_run: Path, run: Path) -> None:
    one, _ = gate(tree_of_run, run, Waiting(now=lambda: NOW, wait_s=10))
    thread = answered(run, "1", Answer(decision="answer", text="the second"))
    answer = one.ask_person("Which one?")
    thread.join(10)
    assert answer is not None
    assert answer.text == "the second"
    headless, _ = gate(tree_of_run, run, None)
    assert headless.ask_person("Which one?") is None


def test_typed_text_means_only_what_it_says() -> None:
    permission = Ticket(id="1", run="1", kind="permission", asked_at=NOW, deadline=NOW)
    question = permission.model_copy(update={"kind": "question"})
    assert read_typed(permission, "", NOW) is None
    assert read_typed(permission, "yes but", NOW) is None
    assert read_typed(question, "", NOW) is None
    said = read_typed(question, "yes", NOW)
    assert said is not None
    assert (said.decision, said.text) == ("answer", "yes")


def test_a_shell_that_moved_is_judged_from_every_folder_it_may_stand_in(tree_of_run: Path, run: Path) -> None:
    (tree_of_run / "src" / "link").symlink_to("/")
    one, _ = gate(tree_of_run, run)
    assert one.permit(PermissionAsked("1", "bash", command="touch link2/x || true")).allowed
    assert one.permit(PermissionAsked("2", "bash", command="cd src")).allowed
    assert not one.permit(PermissionAsked("3", "bash", command="touch link/x")).allowed
    assert not one.permit(PermissionAsked("4", "bash", command="touch ../x")).allowed
    one.new_turn()
    assert one.permit(PermissionAsked("5", "bash", command="touch link/x")).allowed


def open_ticket(run: Path, kind: str = "permission") -> None:
    (run / "ledger.json").write_text("{}")
    ticket = {"id": "0", "run": "1", "kind": kind, "asked_at": NOW, "deadline": NOW, "command": "x\x1b[2J"}
    TicketFolder(run).open(Ticket.model_validate(ticket))


def test_reply_answers_a_ticket_from_elsewhere(run: Path) -> None:
    open_ticket(run)
    args = ["demo-12345678/main-local", "--ticket", "1"]
    runner = CliRunner()
    shown = runner.invoke(reply, [*args, "--show"], catch_exceptions=False)
    assert '"command"' in shown.output
    assert "\x1b" not in shown.output
    done = runner.invoke(reply, [*args, "--deny", "--reason", "not here"], catch_exceptions=False)
    assert done.exit_code == 0
    answer = TicketFolder(run).answer_to("1")
    assert answer is not None
    assert (answer.decision, answer.text, answer.by) == ("deny", "not here", "reply")


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        ("permission", []),
        ("permission", ["--approve", "--deny", "--reason", "x"]),
        ("permission", ["--deny"]),
        ("permission", ["--deny", "--reason", " "]),
        ("permission", ["--approve", "--reason", "x"]),
        ("permission", ["--answer", "x"]),
        ("question", ["--approve"]),
        ("question", ["--answer", " "]),
    ],
)
def test_reply_refuses_what_does_not_fit_the_ticket(run: Path, kind: str, extra: list[str]) -> None:
    open_ticket(run, kind)
    with pytest.raises(UsageError) as caught:
        reply.main(["main-local", "--ticket", "1", *extra], standalone_mode=False)
    assert caught.value.fix
    assert TicketFolder(run).answer_to("1") is None


@pytest.mark.parametrize("name", ["../demo-12345678/main-local", "nope", "/etc"])
def test_reply_refuses_a_run_that_is_none(run: Path, name: str) -> None:
    open_ticket(run)
    with pytest.raises(UsageError):
        reply.main([name, "--ticket", "1", "--approve"], standalone_mode=False)
