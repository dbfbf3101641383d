"""Who goes next; time is what the test says."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from pytest_crmeval.models.caps import Cap
from pytest_crmeval.models.control import Feedback
from pytest_crmeval.models.limits.queues import ModelQueues, Moment, Ticket

GPT, MINI, CLAUDE = "openai:gpt-4.1", "openai:gpt-4.1-mini", "anthropic:claude"
START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class Hall:
    """ModelQueues, and a clock on the wall."""

    def __init__(self, *caps: str) -> None:
        self.now = 0.0
        self._lanes = ModelQueues([Cap.parse(text) for text in caps])

    def join(self, model: str = GPT, *, calls: int = 1, tokens: int = 100, again: bool = False) -> Sequence[Ticket]:
        """Have calls stand in line."""
        return [self._lanes.join(model, tokens, again=again) for _ in range(calls)]

    def admit(self) -> Sequence[Ticket]:
        """Return who may go now."""
        return self._lanes.admit(self.now)[0]

    @property
    def delay(self) -> float | None:
        """Return the seconds until the next call may start."""
        admitted, delay = self._lanes.admit(self.now)
        assert not admitted
        return delay

    def answer(self, tickets: Sequence[Ticket], feedback: Feedback | None = None) -> None:
        """Have calls come back."""
        moment = Moment(time=self.now, date=START + timedelta(seconds=self.now))
        for ticket in tickets:
            self._lanes.learn(ticket.number, feedback or Feedback(ok=True), moment)

    def lose(self, tickets: Sequence[Ticket]) -> None:
        """Have calls never come back."""
        for ticket in tickets:
            self._lanes.forget(ticket.number)


def test_without_a_cap_eight_may_go() -> None:
    """The others wait until one is back, however long that is."""
    hall = Hall()
    hall.join(calls=10)

    assert 8 == len(hall.admit())
    assert hall.delay is None


def test_an_answer_lets_two_in() -> None:
    """One for the place, and one because it went well."""
    hall = Hall()
    hall.join(calls=20)
    hall.answer(hall.admit()[:1])

    assert 2 == len(hall.admit())


def test_calls_of_a_model_are_admitted_in_order() -> None:
    """Within a model."""
    hall = Hall("* 60rpm")
    tickets = hall.join(calls=5)
    order: list[Ticket] = []
    for _ in range(50):
        order += hall.admit()
        hall.now += 0.2

    assert tickets == order


def test_capped_model_does_not_delay_others() -> None:
    """Its line is its own."""
    hall = Hall(f"{GPT} 1rpm")
    hall.join(GPT, calls=3)
    others = hall.join(MINI, calls=3)

    assert [GPT, MINI, MINI, MINI] == [ticket.model for ticket in hall.admit()]
    assert {ticket.number for ticket in others} < {4, 5, 6, 7}


def test_models_share_a_cap_with_a_wildcard() -> None:
    """One a minute, whichever it is; and who came first goes first, across models."""
    hall = Hall("openai:* 1rpm")
    first, second, third = hall.join(GPT)[0], hall.join(MINI)[0], hall.join(GPT)[0]
    order: list[Ticket] = []
    for _ in range(4):
        order += hall.admit()
        hall.answer(order[-1:])
        hall.now += 61.0

    assert [first, second, third] == order


def test_retries_go_first_across_models_that_share_a_cap() -> None:
    """He has lost time already; the cap is kept all the same."""
    hall = Hall("openai:* 1rpm")
    first, second, again = hall.join(GPT)[0], hall.join(GPT)[0], hall.join(MINI, again=True)[0]
    order: list[Ticket] = []
    for _ in range(3):
        order += (let_in := hall.admit())
        assert 1 == len(let_in)
        hall.answer(let_in)
        hall.now += 61.0

    assert [again, first, second] == order


def test_a_large_call_is_not_overtaken_by_small_ones_of_another_model() -> None:
    """They share a cap, which small ones keep full: what it waits for is not taken away from under it."""
    hall = Hall("openai:* 60000tpm")
    for _ in range(200):
        hall.join(MINI, tokens=500)
        hall.answer(hall.admit(), Feedback(ok=True))
        hall.now += 0.1
    large = hall.join(GPT, tokens=5_000)[0]
    later = hall.join(MINI, calls=3, tokens=500)
    order: list[Ticket] = []
    while later[0] not in order:
        hall.now += 0.1
        order += (let_in := hall.admit())
        hall.answer(let_in, Feedback(ok=True))

    assert order.index(large) < order.index(later[0])


def test_a_model_that_waits_for_its_own_sake_leaves_a_shared_cap_to_others() -> None:
    """It could not use it."""
    hall = Hall("openai:* 6000rpm")
    paused = hall.join(GPT)
    hall.admit()
    hall.answer(paused, Feedback(ok=False, throttled=True, retry_after=30.0))
    hall.join(GPT)
    others = hall.join(MINI)
    hall.now = 1.0

    assert others == hall.admit()


def test_retry_after_pauses_the_whole_model() -> None:
    """And no other."""
    hall = Hall()
    asking = hall.join(calls=2)
    hall.admit()
    hall.now = 10.0
    hall.answer(asking[:1], Feedback(ok=False, throttled=True, retry_after=7.0))
    waiting, others = hall.join(), hall.join(CLAUDE)

    assert others == hall.admit()
    assert 7.0 == hall.delay
    hall.now = 17.0
    assert waiting == hall.admit()


@pytest.mark.parametrize(("said", "delay"), [(3600.0, 120.0), (float("inf"), 120.0)])
def test_no_pause_is_longer_than_two_minutes(said: float, delay: float) -> None:
    """Whatever the server says."""
    hall = Hall()
    asking = hall.join()
    hall.admit()
    hall.answer(asking, Feedback(ok=False, throttled=True, retry_after=said))
    hall.join()

    assert delay == hall.delay


@pytest.mark.parametrize("said", [-5.0, float("nan"), 0.0])
def test_invalid_retry_after_is_ignored(said: float) -> None:
    """The model goes on."""
    hall = Hall()
    asking = hall.join()
    hall.admit()
    hall.answer(asking, Feedback(ok=False, throttled=True, retry_after=said))
    waiting = hall.join()

    assert waiting == hall.admit()


def remaining(kind: str, number: int, seconds: float) -> Mapping[str, str]:
    """Return what OpenAI says."""
    return {f"x-ratelimit-remaining-{kind}": str(number), f"x-ratelimit-reset-{kind}": f"{seconds}s"}


def test_requests_that_remain_are_not_exceeded() -> None:
    """Of three, two may be needed by those under way: one goes, and the next waits for the reset."""
    hall = Hall()
    asking = hall.join(calls=3)
    hall.admit()
    hall.answer(asking[:1], Feedback(ok=True, headers=remaining("requests", 3, 20.0)))
    waiting = hall.join(calls=2)

    assert waiting[:1] == hall.admit()
    assert 20.0 == hall.delay
    hall.now = 20.0
    assert waiting[1:] == hall.admit()


def test_tokens_that_remain_are_not_exceeded() -> None:
    """Calls are expected to take what they may."""
    hall = Hall()
    asking = hall.join(calls=2, tokens=400)
    hall.admit()
    hall.answer(asking[:1], Feedback(ok=True, headers=remaining("tokens", 1_000, 5.0)))
    waiting = hall.join(calls=2, tokens=400)

    assert waiting[:1] == hall.admit()
    assert 5.0 == hall.delay


def test_tokens_that_may_be_written_are_a_matter_of_their_own() -> None:
    """Of 20,000 tokens that a call may take, it does not write more than 800."""
    hall = Hall()
    asking = hall.join(tokens=20_000)
    hall.admit()
    headers = {
        "anthropic-ratelimit-output-tokens-remaining": "2000",
        "anthropic-ratelimit-output-tokens-reset": (START + timedelta(seconds=9)).isoformat(),
    }
    hall.answer(asking, Feedback(ok=True, headers=headers))
    waiting = hall.join(calls=3, tokens=20_000)

    assert waiting[:2] == hall.admit()
    assert 9.0 == hall.delay


def test_the_latest_headers_count() -> None:
    """More is there again."""
    hall = Hall()
    asking = hall.join(calls=2)
    hall.admit()
    hall.answer(asking[:1], Feedback(ok=True, headers=remaining("requests", 0, 50.0)))
    waiting = hall.join()
    assert 50.0 == hall.delay
    hall.answer(asking[1:], Feedback(ok=True, headers=remaining("requests", 10, 50.0)))

    assert waiting == hall.admit()


def test_throttled_answers_of_one_round_halve_the_crowd_once() -> None:
    """Eight were let in together and all were refused: four may go then."""
    hall = Hall()
    hall.join(calls=30)
    hall.answer(hall.admit(), Feedback(ok=False, throttled=True))

    assert 4 == len(hall.admit())


def test_a_call_that_failed_otherwise_teaches_nothing() -> None:
    """A broken connection says nothing about how many a server bears."""
    hall = Hall()
    hall.join(calls=30)
    hall.answer(hall.admit(), Feedback(ok=False))

    assert 8 == len(hall.admit())


def test_permits_that_are_forgotten_are_free_again() -> None:
    """And nothing is learned."""
    hall = Hall()
    hall.join(calls=30)
    hall.lose(hall.admit())

    assert 8 == len(hall.admit())


def test_a_forgotten_call_counts_for_the_cap() -> None:
    """It may have been made."""
    hall = Hall("* 1rpm")
    hall.join(calls=2)
    hall.lose(hall.admit())

    assert hall.delay is not None


def test_a_call_comes_back_once() -> None:
    """Who is not there is passed over."""
    hall = Hall()
    hall.join(calls=30)
    gone = hall.admit()[:1]
    hall.answer([*gone, *gone])
    hall.lose(gone)

    assert 2 == len(hall.admit())


def test_tokens_that_were_not_taken_are_given_to_others() -> None:
    """As soon as it is known."""
    hall = Hall("* 6100tpm")
    waiting = hall.join(calls=2, tokens=3_000)[1:]
    asking = hall.admit()
    hall.now = 20.0
    assert not hall.admit()
    hall.answer(asking, Feedback(ok=True, tokens=30))

    assert waiting == hall.admit()


def test_reserved_budget_shrinks_with_known_costs() -> None:
    """A tenth of what they may: ten in a window, where there was room for one."""
    hall = Hall("* 60000tpm")
    for _ in range(4):
        hall.join(tokens=10_000)
        hall.answer(hall.admit(), Feedback(ok=True, tokens=1_000))
        hall.now += 60.0
    hall.join(calls=20, tokens=10_000)
    let_in = 0
    for _ in range(100):
        let_in += len(hall.admit())
        hall.now += 0.1

    assert 8 == let_in  # as many as may ask at the same time
