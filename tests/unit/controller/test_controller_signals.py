"""Signals that are handled like Ctrl-C."""

import os
import pty
import signal
from collections.abc import Iterator
from contextlib import suppress
from threading import Event, Thread

import pytest

from pytest_crmeval.controller.signals import Signals, silence_terminals

BOTH = (signal.SIGTERM, signal.SIGHUP)
SECONDS = 60.0


@pytest.fixture(autouse=True)
def default_signals() -> Iterator[None]:
    """Restore the default signal handlers, as at the start of a process."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in BOTH}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", BOTH)
def test_each_signal_interrupts(number: signal.Signals) -> None:
    signals = Signals()
    signals.take()

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt, match=number.name):
            signal.raise_signal(number)
    signals.give_back()
    assert signal.SIG_DFL is signal.getsignal(number)


@pytest.mark.parametrize(
    ("numbers", "raised", "finished"),
    [
        ([], "", True),
        ([signal.SIGTERM], "SIGTERM", True),
        ([signal.SIGTERM, signal.SIGHUP], "SIGHUP", False),
    ],
)
def test_postponed_signal_interrupts_after_the_block_and_a_second_one_at_once(
    numbers: list[signal.Signals], raised: str, *, finished: bool
) -> None:
    """The block is finished unless there is a second signal."""
    signals, steps = Signals(), []
    signals.take()

    try:
        with signals.postponed():
            for number in numbers:
                signal.raise_signal(number)
            steps.append("finished")
        signals.interrupt()
    except KeyboardInterrupt as interrupt:
        steps.append(str(interrupt))
    signals.give_back()

    assert [*["finished"] * finished, *filter(None, [raised])] == steps


def test_postponed_signal_is_not_lost_if_the_block_fails() -> None:
    """A failing test must not swallow Ctrl-C."""
    signals = Signals()
    signals.take()

    with suppress(ValueError), signals.postponed():
        signal.raise_signal(signal.SIGTERM)
        raise ValueError("a failure")
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        signals.interrupt()
    signals.give_back()


def test_block_that_takes_too_long_after_a_postponed_signal_is_interrupted() -> None:
    """The signal is reported when it comes, and the block need not look at a clock."""
    signals, steps = Signals(), []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    signals.take()

    try:
        with signals.postponed(lambda: steps.append("notified"), 0.01):
            signal.raise_signal(signal.SIGTERM)
            Event().wait(SECONDS)
            steps.append("finished")
    except KeyboardInterrupt:
        steps.append("interrupted")
    signals.give_back()
    signal.signal(signal.SIGINT, before)

    assert ["notified", "interrupted"] == steps


def test_signals_that_others_handle_or_ignore_are_not_changed() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signals = Signals()
    signals.take()
    signal.raise_signal(signal.SIGHUP)

    signals.give_back()
    assert signal.SIG_IGN is signal.getsignal(signal.SIGHUP)


def test_handler_that_was_replaced_in_the_meantime_is_not_restored() -> None:
    signals = Signals()
    signals.take()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    signals.give_back()
    assert signal.SIG_IGN is signal.getsignal(signal.SIGTERM)


def test_signals_are_not_handled_in_another_thread() -> None:
    """Python does not allow it, and pytest may run in one."""
    signals = Signals()
    thread = Thread(target=signals.take)
    thread.start()
    thread.join()

    assert signal.SIG_DFL is signal.getsignal(signal.SIGTERM)


def test_output_to_a_closed_terminal_is_not_an_error() -> None:
    """Neither on its own file descriptor nor on another; other files are not affected."""
    ours, terminal = pty.openpty()
    another = os.dup(terminal)
    device = os.fstat(terminal).st_rdev
    reading, writing = os.pipe()
    os.close(ours)

    silence_terminals({device})

    written = [os.write(file, b"to nobody") for file in (terminal, another)]
    os.write(writing, b"heard")
    assert [9, 9] == written
    assert b"heard" == os.read(reading, 9)
    for file in (terminal, another, reading, writing):
        os.close(file)
