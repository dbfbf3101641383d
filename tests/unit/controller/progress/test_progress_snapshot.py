"""Progress of models, as known to the control of the run."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.controller.plan import RunPlan
from pytest_crmeval.controller.progress.snapshot import Files, ProgressSnapshot
from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits import LimitsClosed
from pytest_crmeval.models.shared_control import SharedControl
from tests.channels import controller
from tests.fakes import planned
from tests.postgres.processes import eventually

ONE, TWO, THREE = (planned(name) for name in ("one", "two", "three"))


class Books:
    """A recorder that notes its calls."""

    asked: Any = None

    def progress(self, now: float, playing: set[str]) -> None:
        """Note the cases in flight."""
        self.asked = now, playing


@contextmanager
def snapshot_of(control: SharedControl, recorder: Any = None) -> Iterator[ProgressSnapshot]:  # noqa: ANN401 (a fake)
    """Create a run of three cases; the first one is played by a slot."""
    plan, no_outage = RunPlan(), ""
    plan.take([(case.key, case) for case in (ONE, TWO, THREE)], PrefetchPlan(weights={}, alone={}), {})
    with controller(control) as run:
        run.loop.call(run.queue.open, {ONE.key: 1.0}, at_once=1)
        run.loop.call(run.queue.next, "gw0")
        yield ProgressSnapshot(plan, recorder, run.loop, run.handler, Files(), no_outage)


def test_retried_and_rate_limited_calls_are_counted() -> None:
    control = SharedControl()
    first = control.acquire("openai:gpt-4.1", 100)
    assert first is not None
    control.release(first, Feedback(ok=False, throttled=True))
    again = control.acquire("openai:gpt-4.1", 100, 10.0)
    assert again is not None
    control.release(again, Feedback(ok=True, cost=0.25))

    with snapshot_of(control) as snapshot:
        assert ["1 call retried", "1 rate-limited", "spent $0.25"] == snapshot.traffic()


def test_waiting_calls_are_shown_while_they_wait() -> None:
    """Here for a rate limit of one call in ten seconds."""
    control = SharedControl([Cap.parse("openai:* 6rpm")])
    assert control.acquire("openai:gpt-4.1", 100) is not None

    def wait() -> None:
        with suppress(LimitsClosed):
            control.acquire("openai:gpt-4.1", 100, 600.0)

    waiting = Thread(target=wait)
    with snapshot_of(control) as snapshot:
        waiting.start()
        shown = ["1 call waiting for a rate limit", "1 call retried"]
        eventually(lambda: shown == snapshot.traffic(), "it waits")
    waiting.join()


def test_run_without_models_has_no_traffic() -> None:
    with snapshot_of(SharedControl()) as snapshot:
        assert [] == snapshot.traffic()


def test_in_flight_are_cases_started_ahead_or_as_an_item() -> None:
    """Each case once; items without a case, and items that are over, don't count."""
    recorder = Books()
    with snapshot_of(SharedControl(), recorder) as snapshot:
        for nodeid in (ONE.key, TWO.key, THREE.key, "test_other"):
            snapshot.started(nodeid)
        snapshot.ended(TWO.key)

        snapshot.read(7.0)

    assert (7.0, {ONE.key, THREE.key}) == recorder.asked


def test_model_that_has_stopped_answering_is_shown_as_paused() -> None:
    """The address of the model is not shown."""
    control = SharedControl(failures=1)
    control.fail("openai:m http://127.0.0.1:8000/v1")

    with snapshot_of(control) as snapshot:
        assert ["openai:m paused: it has stopped answering and is being probed"] == snapshot.traffic()
