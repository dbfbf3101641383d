"""What a permit to ask a model costs: acquire and release, in microseconds. Takes under half a minute.

The peer is a bare ``threading.Semaphore``, which counts and knows nothing: no caps, no order, no lessons.

alone
    One thread in the process that owns the run, and always room: what we add to each call at least.
over the channel
    One thread of a worker that asks over its execnet channel, the semaphore as well: what xdist's workers see.
contending
    Three processes of eight threads over their channels, all at once, with nothing to do between acquire and release.
    So this is how often permits change hands at most, not what a call waits: models answer in seconds.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from threading import Semaphore

from benchmarks.measuring import Spread, heading, take_turns, warm_up
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
ROUNDS = 7
ALONE, LINKED, CONTENDED = 5_000, 1_000, 100
"""Permits that each thread takes in a pass."""
PROCESSES, THREADS = 3, 8


class Counting(SharedControl):
    """The peer: as many permits as a model bears in the end."""

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
    """Take permits and give them back; return the seconds that each took."""
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
    """Be a worker; return the seconds that all its threads took together."""
    control, feedback = RemoteControl(WorkerChannel(channel)), Feedback(ok=True, tokens=tokens, headers=headers)
    with ThreadPoolExecutor(max_workers=threads) as pool:
        start = time.perf_counter()
        for ended in [pool.submit(passed, control, feedback, permits) for _ in range(threads)]:
            ended.result()
        return time.perf_counter() - start


def measure(title: str, way: Callable[..., float]) -> None:
    """Print what a permit costs all contenders."""
    heading(title)
    contenders = {name: partial(way, *given) for name, given in CONTENDERS.items()}
    warm_up(contenders)
    for name, seconds in take_turns(contenders, ROUNDS).items():
        print(f"  {name:<14} {Spread(seconds).shown('us', 1e6, digits=1)}", flush=True)


def main() -> None:
    """Measure all ways."""
    measure("alone", alone)
    measure("over the channel", linked)
    measure("contending", contended)


if __name__ == "__main__":
    main()
