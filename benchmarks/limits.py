"""What a permit to ask a model costs: acquire and release, in microseconds. Takes under half a minute.

The peer is a bare ``threading.Semaphore``, which counts and knows nothing: no caps, no order, no lessons.

alone
    One thread in the process that owns the run, and always room: what we add to each call at least.
over the line
    One thread of a worker that asks over the loopback line, the semaphore as well: what xdist's workers see.
contending
    Three processes of eight threads over the line, all at once, with nothing to do between acquire and release. So this
    is how often permits change hands at most, not what a call waits: models answer in seconds.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing import get_context
from threading import Semaphore

from benchmarks.measuring import Spread, heading, take_turns, warm_up
from pytest_crmeval.channel.line import Line, LineToController
from pytest_crmeval.channel.remote import ControlAnswers, RemoteControl
from pytest_crmeval.models.control import NO_CHARGE, Charge, Control, Feedback
from pytest_crmeval.models.limits import Cap
from pytest_crmeval.models.shared_control import SharedControl

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


@contextmanager
def lined(control: SharedControl) -> Iterator[list[str | int]]:
    """Have workers ask for permits over a line."""
    answers = ControlAnswers(control, control.forget)
    with closing(control), closing(Line(answers.answers(), answers.hung_up)) as line:
        yield line.address


def alone(make: Callable[[], SharedControl], feedback: Feedback) -> float:
    """Measure one thread in this process."""
    with closing(make()) as control:
        return passed(control, feedback, ALONE)


def linked(pool: ProcessPoolExecutor, make: Callable[[], SharedControl], feedback: Feedback) -> float:
    """Measure one thread of a worker."""
    with lined(make()) as address:
        return pool.submit(work, address, feedback, 1, LINKED).result() / LINKED


def contended(pool: ProcessPoolExecutor, make: Callable[[], SharedControl], feedback: Feedback) -> float:
    """Measure all workers at once."""
    with lined(make()) as address:
        ended = [pool.submit(work, address, feedback, THREADS, CONTENDED) for _ in range(PROCESSES)]
        return max(each.result() for each in ended) / (PROCESSES * THREADS * CONTENDED)


def work(address: list[str | int], feedback: Feedback, threads: int, permits: int) -> float:
    """Be a worker; return the seconds that all its threads took together."""
    host, port, secret = address
    with (
        closing(LineToController(str(host), int(port), str(secret))) as line,
        ThreadPoolExecutor(max_workers=threads) as pool,
    ):
        start = time.perf_counter()
        for ended in [pool.submit(passed, RemoteControl(line), feedback, permits) for _ in range(threads)]:
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
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        measure("over the line", partial(linked, pool))
        measure("contending", partial(contended, pool))


if __name__ == "__main__":
    main()
