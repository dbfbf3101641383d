"""How far the run is, by the books of the process that owns it; any thread may ask."""

from collections.abc import Callable, Iterator, Sequence

from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.controller.recorder import Recorder
from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.progress import Progress
from pytest_crmeval.models.shared_control import SharedControl

SHOWN = 4
"""How many long cases are told one by one."""


class Files:
    """How far cases are that take long: solution files, of which each worker has one at a time."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def note(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Hear how far one is; any thread may tell."""
        name = key.partition("[")[2].removesuffix("]") or key
        share = f"{judged} of {lines}" if judged <= lines else str(judged)
        self._told[key] = f"{name}: {share} judged, {solved} solved"

    def forget(self, key: str) -> None:
        """Hear that one is over."""
        self._told.pop(key, None)

    def told(self) -> Sequence[str]:
        """Return how far they are, a line each."""
        lines = sorted(list(self._told.values()))  # noqa: C414 (others may tell at the same time)
        left = len(lines) - SHOWN
        more = [f"... and {left} more file{'s' * (left != 1)}"] if left > 0 else []
        return [*lines[:SHOWN], *more]


class Gauge:
    """Asks the recorder what is done, the queue what is in flight, and the control how it goes with models."""

    def __init__(
        self,
        recorder: Recorder,
        queue: JobQueue,
        control: SharedControl,
        files: Files | None = None,
        outage: Callable[[], str] = str,
    ) -> None:
        self.files = files or Files()
        self.outage = outage
        """Returns how long the run's server has been unreachable; empty if it is reachable."""
        self._recorder = recorder
        self._queue = queue
        self._control = control
        self.started: set[str] = set()
        """Node ids of the items that have begun, and are not over."""

    def read(self, now: float) -> tuple[Sequence[Progress], Progress]:
        """Return how far each subject is in each suite, and all together."""
        begun = [self._recorder.key_of(nodeid) for nodeid in tuple(self.started)]
        return self._recorder.progress(now, {*self._queue.playing, *begun})

    def traffic(self) -> Sequence[str]:
        """Return phrases about the server and the models; none if nothing was paid or waited for."""
        return list(self._traffic())

    def _traffic(self) -> Iterator[str]:
        control = self._control
        if outage := self.outage():
            yield outage
        for model in control.paused:
            yield f"{model} paused: it has stopped answering and is being probed"
        if control.waiting:
            yield f"{_calls(control.waiting)} waiting for a rate limit"
        if control.again:
            yield f"{_calls(control.again)} made again"
        if control.throttled:
            yield f"{control.throttled} refused as too many"
        if control.spent:
            yield f"spent {money(control.spent)}"


def _calls(number: int) -> str:
    return f"{number} call{'s' * (number != 1)}"
