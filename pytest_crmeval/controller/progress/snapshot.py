"""The progress of a run, in the process that owns it; thread-safe."""

from collections.abc import Iterator, Sequence

from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler
from pytest_crmeval.controller.plan import RunPlan
from pytest_crmeval.controller.recorder import Recorder
from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.progress import Progress

SHOWN = 4
"""Maximum number of long cases that are shown separately."""


class Files:
    """The progress of long cases: solution files, one per worker at a time."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def note(self, key: str, judged: int, lines: int, solved: int) -> None:
        """Note the progress of one case; any thread may call this."""
        name = key.partition("[")[2].removesuffix("]") or key
        share = f"{judged} of {lines}" if judged <= lines else str(judged)
        self._told[key] = f"{name}: {share} graded, {solved} solved"

    def forget(self, key: str) -> None:
        """Note that one is finished."""
        self._told.pop(key, None)

    def lines(self) -> Sequence[str]:
        """Return their progress, a line each."""
        lines = sorted(list(self._told.values()))  # noqa: C414 (others may tell at the same time)
        left = len(lines) - SHOWN
        more = [f"... and {left} more file{'s' * (left != 1)}"] if left > 0 else []
        return [*lines[:SHOWN], *more]


class ProgressSnapshot:
    """Combines the recorder's counts, the queue's cases in flight, and the control's model calls."""

    def __init__(  # noqa: PLR0913, PLR0917 (all that progress is about)
        self,
        plan: RunPlan,
        recorder: Recorder,
        loop: ControllerLoop,
        handler: MessageHandler,
        files: Files,
        outage: object,
    ) -> None:
        self.files = files
        self._plan = plan
        self._recorder = recorder
        self._loop = loop
        self._queue = handler.queue
        self._control = handler.control
        self._outage = outage
        self._started: set[str] = set()
        """Cases whose items have started and not ended."""

    def started(self, nodeid: str) -> None:
        """Note that an item has started."""
        if key := self._plan.key_of(nodeid):
            self._started.add(key)

    def ended(self, nodeid: str) -> None:
        """Note that an item has ended."""
        self._started.discard(self._plan.key_of(nodeid))

    def read(self, now: float) -> tuple[Sequence[Progress], Progress]:
        """Return the progress of each subject in each suite, and the total."""
        begun = tuple(self._started)
        return self._loop.call(lambda: self._recorder.progress(now, {*self._queue.playing, *begun}))

    def outage(self) -> str:
        """Return how long the run's server has been unreachable; empty if it is reachable."""
        return str(self._outage)

    def traffic(self) -> Sequence[str]:
        """Return phrases about the server and the models: cost, pauses, waiting calls; empty if there are none."""
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
            yield f"{_calls(control.again)} retried"
        if control.throttled:
            yield f"{control.throttled} rate-limited"
        if control.spent:
            yield f"spent {money(control.spent)}"


def _calls(number: int) -> str:
    return f"{number} call{'s' * (number != 1)}"
