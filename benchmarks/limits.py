"""Measure the cost of a permit for a model call: acquire and release, in microseconds. Part of ``make bench``.

The peer is a bare ``threading.Semaphore``, without caps, ordering or learning.

alone
    One thread in the process that owns the run, never waiting: the minimum that we add to each call.
over the channel
    One thread of a worker, over its execnet channel; so is the semaphore. This is what xdist workers see.
contending
    Three processes of eight threads each, over their channels, all at once, with no work between acquire and release.
    This is the maximum rate of permits, not the waiting time of a call: models answer in seconds.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from threading import Semaphore

from benchmarks.measuring import Spread, heading, sized, take_turns, warm_up
from benchmarks.rows import Row, report
from pytest_crmeval.channel import ExecnetChannel, WorkerChannel
from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import NO_CHARGE, Charge, Control, Feedback
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.player.remote import RemoteControl
from tests.channels import controller, worker

MODEL, BOUND = "openai:gpt-4.1", 9_000
NEVER_REACHED = "openai:* 900000000rpm 900000000000000tpm"
HEADERS = {
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-reset-requests": "120ms",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-tokens": "6m0s",
}
ROUNDS = sized(5, small=1)
ALONE, LINKED, CONTENDED = sized((5_000, 1_000, 100), small=(10, 5, 2))
"""Permits that each thread acquires in a pass."""
PROCESSES, THREADS = sized((3, 8), small=(1, 2))


class Counting(SharedControl):
    """The peer: a semaphore with a fixed number of permits."""

    def __init__(self) -> None:
        super().__init__()
        self._semaphore = Semaphore(512)

    def acquire(
        self,
        model: str,  # noqa: ARG002 (the port's)
        tokens: int,  # noqa: ARG002
        patience: float | None = None,  # noqa: ARG002
        charge: Charge = NO_CHARGE,  # noqa: ARG002
    ) -> int | None:
        """Count."""
        self._semaphore.acquire()
        return 1

    def release(self, permit: int, feedback: Feedback) -> None:  # noqa: ARG002 (the port's)
        """Count."""
        self._semaphore.release()


CONTENDERS: Mapping[str, tuple[Callable[[], SharedControl], Feedback]] = {
    "semaphore": (Counting, Feedback(ok=True)),
    "no cap": (SharedControl, Feedback(ok=True, tokens=8_000)),
    "caps": (lambda: SharedControl([Cap.parse(NEVER_REACHED)]), Feedback(ok=True, tokens=8_000)),
    "caps, headers": (
        lambda: SharedControl([Cap.parse(NEVER_REACHED)]),
        Feedback(ok=True, tokens=8_000, headers=HEADERS),
    ),
}


def passed(control: Control, feedback: Feedback, permits: int) -> float:
    """Acquire and release permits; return the mean seconds per permit."""
    start = time.perf_counter()
    for _ in range(permits):
        if (permit := control.acquire(MODEL, BOUND)) is not None:
            control.release(permit, feedback)
    return (time.perf_counter() - start) / permits


def alone(make: Callable[[], SharedControl], feedback: Feedback) -> float:
    """Measure one thread in this process."""
    with closing(make()) as control:
        return passed(control, feedback, ALONE)


def linked(make: Callable[[], SharedControl], feedback: Feedback) -> float:
    """Measure one thread of a worker."""
    return _together(make, feedback, processes=1, threads=1, permits=LINKED) / LINKED


def contended(make: Callable[[], SharedControl], feedback: Feedback) -> float:
    """Measure all workers at once."""
    seconds = _together(make, feedback, processes=PROCESSES, threads=THREADS, permits=CONTENDED)
    return seconds / (PROCESSES * THREADS * CONTENDED)


def _together(
    make: Callable[[], SharedControl], feedback: Feedback, *, processes: int, threads: int, permits: int
) -> float:
    """Return the seconds that the slowest process took."""
    with controller(make()) as run, ExitStack() as stack:
        arguments = (feedback.tokens, dict(feedback.headers), threads, permits)
        workers = [stack.enter_context(worker(run, f"gw{number}", work, *arguments)) for number in range(processes)]
        return max(float(str(each.result())) for each in workers)


def work(channel: ExecnetChannel, tokens: int | None, headers: dict[str, str], threads: int, permits: int) -> float:
    """Run the threads of a worker; return the seconds until all were done."""
    control, feedback = RemoteControl(WorkerChannel(channel)), Feedback(ok=True, tokens=tokens, headers=headers)
    with ThreadPoolExecutor(max_workers=threads) as pool:
        start = time.perf_counter()
        for ended in [pool.submit(passed, control, feedback, permits) for _ in range(threads)]:
            ended.result()
        return time.perf_counter() - start


def measure(title: str, way: Callable[..., float]) -> Mapping[str, float]:
    """Print the cost of a permit for all contenders; return the median seconds."""
    heading(title)
    contenders = {name: partial(way, *given) for name, given in CONTENDERS.items()}
    warm_up(contenders)
    spreads = {name: Spread(seconds) for name, seconds in take_turns(contenders, ROUNDS).items()}
    for name, spread in spreads.items():
        print(f"  {name:<14} {spread.shown('us', 1e6, digits=1)}", flush=True)
    return {name: spread.median * 1e6 for name, spread in spreads.items()}


def main() -> None:
    """Run the benchmark."""
    measure("alone", alone)
    measure("over the channel", linked)
    found = measure("contending", contended)
    report(
        Row(
            name="permit for a model call, all workers at once",
            unit="us",
            ours=found["caps, headers"],
            peer="semaphore over the same channel",
            theirs=found["semaphore"],
        )
    )


if __name__ == "__main__":
    from benchmarks import limits  # under this name its workers can import it

    limits.main()
