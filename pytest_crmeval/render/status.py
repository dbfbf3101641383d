"""How it stands with a run, in words."""

from collections.abc import Iterator

from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.jobs import State
from pytest_crmeval.journal.status import Status
from pytest_crmeval.render.progress_table import cut, duration, folded, in_words, sheet


def lines(status: Status, width: int | None) -> Iterator[str]:
    """Yield all there is to say, no wider than given."""
    yield from head(status, width)
    yield from sheet(status.rows, status.whole, width).lines()
    yield from foot(status, width)


def head(status: Status, width: int | None) -> Iterator[str]:
    """Yield which run it is, and how it stands with it."""
    told = [f"run {status.run}: {status.state}"]
    if status.seconds is not None:
        told.append(f"{'for' if status.state is State.RUNNING else 'after'} {duration(status.seconds)}")
    if status.parts > 1:
        told.append(f"part {status.parts}")
    if status.pid is not None:
        told.append(f"process {status.pid}")
    if status.exit_status:
        told.append(f"exit status {status.exit_status}")
    yield from folded(told, width)


def foot(status: Status, width: int | None) -> Iterator[str]:
    """Yield what else there is to say: money, the end of the log, and what to do now."""
    if not status.rows and not status.is_over:
        yield "nothing is played yet"
    yield from (cut(line, width) for line in status.files)
    if status.spent or status.unpriced:
        yield f"spent: {'more than ' * bool(status.unpriced)}{money(status.spent)}"
    if status.log:
        yield "the end of its log:"
        yield from (cut(f"  {line}", width) for line in status.log)
    if status.resume:
        yield {
            State.SUBMITTED: "nobody has begun it; begin with:",
            State.STOPPED: "not all was played; go on with:",
            State.LOST: "its process is gone; go on with:",
            State.FINISHED: "what errored may be repeated with:",
        }.get(status.state, "go on with:")
        yield f"  {status.resume}"
    if status.state is State.FINISHED and status.parts:
        yield f"its figures: crmeval report {status.run}{status.where}"
    elif status.state is State.FINISHED:
        what = "correct the command and submit it again" if status.exit_status else "see its log"
        yield f"nothing was played; {what}"


def in_a_line(status: Status) -> str:
    """Return how far all are together, on one line."""
    return f"{status.run} {status.state}: {in_words(status.whole)}"
