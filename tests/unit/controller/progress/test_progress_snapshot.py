"""How it goes with models, by the control of the run."""

from contextlib import suppress
from threading import Thread
from typing import Any

from pytest_crmeval.controller.progress.snapshot import Gauge
from pytest_crmeval.controller.queue import JobQueue
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits import Cap, LimitsClosed
from pytest_crmeval.models.shared_control import SharedControl
from tests.postgres.processes import eventually


class Books:
    """A recorder that notes what it is asked."""

    asked: Any = None

    def key_of(self, nodeid: str) -> str:
        """Know cases by their node id; others by nothing."""
        return nodeid if nodeid.startswith("test_crm") else ""

    def progress(self, now: float, playing: set[str]) -> None:
        """Note what is played."""
        self.asked = now, playing


def test_calls_that_were_made_again_and_refused_are_counted() -> None:
    """With what all of it has cost."""
    control = SharedControl()
    books: Any = Books()
    first = control.acquire("openai:gpt-4.1", 100)
    assert first is not None
    control.release(first, Feedback(ok=False, throttled=True))
    again = control.acquire("openai:gpt-4.1", 100, 10.0)
    assert again is not None
    control.release(again, Feedback(ok=True, cost=0.25))

    gauge = Gauge(books, JobQueue(lambda _: None), control)

    assert ["1 call made again", "1 refused as too many", "spent $0.25"] == gauge.traffic()
    control.close()


def test_calls_that_wait_are_told_as_long_as_they_do() -> None:
    """Here for a cap that lets one go in ten seconds."""
    control = SharedControl([Cap.parse("openai:* 6rpm")])
    books: Any = Books()
    gauge = Gauge(books, JobQueue(lambda _: None), control)
    assert control.acquire("openai:gpt-4.1", 100) is not None

    def wait() -> None:
        with suppress(LimitsClosed):
            control.acquire("openai:gpt-4.1", 100, 600.0)

    waiting = Thread(target=wait)
    waiting.start()
    told = ["1 call waiting for a rate limit", "1 call made again"]
    eventually(lambda: told == gauge.traffic(), "it waits")
    control.close()
    waiting.join()


def test_who_asks_no_model_has_no_traffic() -> None:
    """Nothing to say."""
    books: Any = Books()
    assert [] == Gauge(books, JobQueue(lambda _: None), SharedControl()).traffic()


def test_what_is_played_is_what_was_begun_ahead_or_as_an_item() -> None:
    """Each case once; items of others are none of ours, and count for nothing."""
    books: Any = Books()
    queue = JobQueue(lambda _: None)
    queue.open({"test_crm[one]": 1.0, "test_crm[two]": 1.0}, at_once=1)
    queue.join("main", 1)
    begun = queue.next("main")
    gauge = Gauge(books, queue, SharedControl())
    gauge.started = {"test_crm[one]", "test_crm[three]", "test_other"}

    gauge.read(7.0)

    now, playing = books.asked
    assert (7.0, {"test_crm[one]", "test_crm[three]"}) == (now, playing - {""})
    assert [begun] == queue.playing
    queue.close()


def test_a_model_that_has_stopped_answering_is_shown_as_paused() -> None:
    """The address of the model is not shown."""
    control = SharedControl(failures=1)
    books: Any = Books()
    control.fail("openai:m http://127.0.0.1:8000/v1")

    assert ["openai:m paused: it has stopped answering and is being probed"] == Gauge(
        books, JobQueue(lambda _: None), control
    ).traffic()
