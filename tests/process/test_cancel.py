from __future__ import annotations

import os
import select
import signal
import threading

import pytest

from touchline.process.cancel import Cancellation, on_signals


def is_readable(cancellation: Cancellation) -> bool:
    return bool(select.select([cancellation], [], [], 0)[0])


def test_a_cancellation_wakes_a_selector_and_stays_set() -> None:
    cancellation = Cancellation()
    assert not cancellation.is_set()
    assert not is_readable(cancellation)
    cancellation.set("first")
    cancellation.set("second")
    assert cancellation.is_set()
    assert is_readable(cancellation)
    assert is_readable(cancellation)
    assert cancellation.reason == "first"


def test_a_closed_cancellation_keeps_its_answer_and_takes_another_set() -> None:
    cancellation = Cancellation()
    cancellation.close()
    cancellation.close()
    cancellation.set()
    assert cancellation.is_set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_a_clean_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with on_signals() as cancellation:
        os.kill(os.getpid(), number)
        assert cancellation.is_set()
        assert cancellation.reason == number.name
    assert signal.getsignal(number) is before


def test_a_second_interrupt_ends_at_once() -> None:
    with on_signals() as cancellation:
        os.kill(os.getpid(), signal.SIGINT)
        assert cancellation.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_second_terminate_changes_nothing() -> None:
    with on_signals() as cancellation:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert cancellation.reason == "SIGTERM"


def test_outside_the_main_thread_no_handler_is_touched() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def work() -> None:
        with on_signals() as cancellation:
            seen.append(signal.getsignal(signal.SIGINT))
            seen.append(cancellation.is_set())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == [before, False]
