"""The status of a run, in words."""

from collections.abc import Iterator

from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.jobs import State
from pytest_crmeval.journal.status import Status
from pytest_crmeval.render.progress_table import cut, duration, folded, in_words, sheet


def lines(status: Status, width: int | None) -> Iterator[str]:
    """Yield the whole status in lines of at most ``width``."""
    yield from head(status, width)
    yield from sheet(status.rows, status.whole, width).lines()
    yield from foot(status, width)


def head(status: Status, width: int | None) -> Iterator[str]:
    """Yield the run and its state."""
    phrases = [f"run {status.run}: {status.state}"]
    if status.seconds is not None:
        phrases.append(f"{'for' if status.state is State.RUNNING else 'after'} {duration(status.seconds)}")
    if status.parts > 1:
        phrases.append(f"part {status.parts}")
    if status.pid is not None:
        phrases.append(f"process {status.pid}")
    if status.exit_status:
        phrases.append(f"exit status {status.exit_status}")
    yield from folded(phrases, width)


def foot(status: Status, width: int | None) -> Iterator[str]:
    """Yield the rest: money, the end of the log, and what to do next."""
    if not status.rows and not status.is_over:
        yield "no case played yet"
    yield from (cut(line, width) for line in status.files)
    if status.spent or status.unpriced:
        yield f"spent: {'more than ' * bool(status.unpriced)}{money(status.spent)}"
    if status.log:
        yield "end of the log:"
        yield from (cut(f"  {line}", width) for line in status.log)
    if status.resume:
        yield {
            State.SUBMITTED: "not started; start it with:",
            State.STOPPED: "incomplete; resume with:",
            State.LOST: "the process has died; resume with:",
            State.FINISHED: "retry errored cases with:",
        }.get(status.state, "resume with:")
        yield f"  {status.resume}"
    if status.state is State.FINISHED and status.parts:
        yield f"figures: crmeval report {status.run}{status.where}"
    elif status.state is State.FINISHED:
        what = "correct the command and submit it again" if status.exit_status else "see the log"
        yield f"no case was played; {what}"


def in_a_line(status: Status) -> str:
    """Return the overall progress on one line."""
    return f"{status.run} {status.state}: {in_words(status.whole)}"
