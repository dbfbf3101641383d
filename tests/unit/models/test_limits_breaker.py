"""A model that stops answering is paused, probed, and given up; the test controls the clock."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits.breaker import BACKOFF
from pytest_crmeval.models.limits.queues import ModelQueues, Moment, Ticket

GPT, MINI = "openai:gpt-4.1", "openai:gpt-4.1-mini"
DOWN = Feedback(ok=False, trouble="server error: 500")


class Road:
    """ModelQueues with a breaker that opens after two failures, and a fake clock."""

    def __init__(self, failures: int = 2) -> None:
        self.now = 0.0
        self.lanes = ModelQueues([], failures)

    def join(self, calls: int = 1, model: str = GPT) -> Sequence[Ticket]:
        """Have calls stand in line."""
        return [self.lanes.join(model, 100) for _ in range(calls)]

    def admit(self) -> Sequence[Ticket]:
        """Return the calls that go out now."""
        return self.lanes.admit(self.now)[0]

    def back(self, tickets: Sequence[Ticket], feedback: Feedback) -> None:
        """Have calls come back."""
        for ticket in tickets:
            self.lanes.learn(ticket.number, feedback, Moment(time=self.now, date=datetime(2026, 3, 1, tzinfo=UTC)))

    def fail(self, calls: int) -> None:
        """Send calls that end without an answer."""
        self.join(calls)
        self.back(self.admit(), DOWN)
        for _ in range(calls):
            self.lanes.fail(GPT, self.now)

    def probe(self, feedback: Feedback) -> None:
        """Advance the clock to the next probe, and return it."""
        _, delay = self.lanes.admit(self.now)
        assert delay is not None
        self.now += delay
        (probe,) = self.admit()
        self.back([probe], feedback)


def test_calls_are_held_after_too_many_consecutive_failures() -> None:
    """The first probe goes out after the first backoff; other models are not held."""
    road = Road()
    road.fail(2)
    road.join(5)
    (other,) = road.join(model=MINI)

    assert ([other], BACKOFF[0]) == road.lanes.admit(road.now)
    assert [GPT] == road.lanes.paused


def test_answer_resets_the_failure_count() -> None:
    """Failures that are not in a row do not pause a model."""
    road = Road()
    road.fail(1)
    road.join()
    road.back(road.admit(), Feedback(ok=True))
    road.fail(1)

    road.join(3)

    assert 3 == len(road.admit())


def test_only_one_call_at_a_time_is_a_probe() -> None:
    """The others wait until it is back."""
    road = Road()
    road.fail(2)
    road.join(5)
    road.now += BACKOFF[0]

    assert 1 == len(road.admit())
    assert ([], None) == road.lanes.admit(road.now)


def test_answered_probe_releases_all_calls() -> None:
    """The breaker is closed again at once."""
    road = Road()
    road.fail(2)
    road.join(5)

    road.probe(Feedback(ok=True))

    assert 4 == len(road.admit())
    assert [] == road.lanes.paused


def test_a_model_is_given_up_after_the_last_probe_has_failed() -> None:
    """All waiting calls end with the reason."""
    road = Road()
    road.fail(2)
    waiting = road.join(6)
    begun = road.now

    for _ in BACKOFF:
        assert "" == road.lanes.given_up(GPT)
        road.probe(DOWN)

    assert sum(BACKOFF) == road.now - begun
    assert [] == road.admit()
    assert waiting[len(BACKOFF) :] == road.lanes.dismissed()
    assert "no answer to 2 consecutive calls and 4 probes: server error: 500" == road.lanes.given_up(GPT)
    assert [] == road.lanes.paused


def test_a_probe_whose_worker_died_is_followed_by_another_at_once() -> None:
    """It says nothing about the model."""
    road = Road()
    road.fail(2)
    road.join(2)
    road.now += BACKOFF[0]
    (probe,) = road.admit()

    road.lanes.forget(probe.number)

    assert 1 == len(road.admit())


def test_probe_goes_out_although_earlier_calls_hang() -> None:
    """A provider that hangs would not be probed otherwise."""
    road = Road()
    road.join(10)
    hanging = road.admit()
    assert 8 == len(hanging)
    for _ in range(2):
        road.lanes.fail(GPT, road.now)

    road.now += BACKOFF[0]

    assert 1 == len(road.admit())


def test_breaker_with_limit_zero_never_pauses() -> None:
    """crmeval_max_failures = 0."""
    road = Road(failures=0)
    road.fail(8)

    road.join(1)

    assert 1 == len(road.admit())
