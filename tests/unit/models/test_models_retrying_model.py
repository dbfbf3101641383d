"""A model that is asked patiently."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_crmeval.domain.messages import user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import BackendAnswer
from pytest_crmeval.models.control import NO_CHARGE, Charge, Feedback
from pytest_crmeval.models.retrying_model import RetryingModel
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.chat_model import Cause, Completion, ModelError, Prompt, StopReason
from tests.fakes import says

PROMPT = Prompt(system="Be brief.", messages=(user_says("Hello"),))
RETRIED = (Cause.RATE_LIMITED, Cause.OVERLOADED, Cause.CONNECTION, Cause.TIMEOUT, Cause.MALFORMED)


class Moody:
    """A backend with scripted failures that then answers."""

    def __init__(self, *failures: ModelError | BaseException, headers: Mapping[str, str] | None = None) -> None:
        self._failures = list(failures)
        self._headers = headers or {}
        self.deadlines: list[float] = []
        self.concessions = 0
        """Requests that are refused as they are, and made in another way."""
        self.ending: StopReason = "said"
        self.text = "Hi."

    def fail(self, *failures: ModelError) -> None:
        """Fail from now on."""
        self._failures += failures

    def attempt(self, prompt: Prompt, seconds: float, ask_again: Callable[[], None] = lambda: None) -> BackendAnswer:
        """Fail, or answer."""
        del prompt
        self.deadlines.append(seconds)
        for _ in range(self.concessions):
            ask_again()
        if self._failures:
            raise self._failures.pop(0)
        usage = Usage(input=100, output=10, calls=1)
        return BackendAnswer(
            completion=Completion(reply=says(self.text), usage=usage, ending=self.ending), headers=self._headers
        )


class Generous:
    """A control that permits everything and notes it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.patiences: list[float | None] = []
        self.charges: list[Charge] = []
        self.lessons: list[Feedback] = []
        self.failed: list[str] = []
        """The models whose calls ended without an answer."""

    def objection(self, agent: str) -> str:
        """Have none."""
        return agent[:0]

    def stop(self, agent: str, why: str) -> None:
        """Do nothing."""

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Permit."""
        self.charges.append(charge)
        self.patiences.append(patience)
        self.asked.append((model, tokens))
        return len(self.asked)

    def release(self, permit: int, feedback: Feedback) -> None:
        """Note how it went."""
        assert permit == len(self.asked)
        self.lessons.append(feedback)

    def refusal(self, model: str) -> str:
        """Refuse nothing."""
        return model[:0]

    def fail(self, model: str) -> None:
        """Note a call without an answer."""
        self.failed.append(model)

    def end(self, trial: str) -> None:
        """Keep no money for anything."""

    def has_answered(self, model: str) -> bool:
        """Tell whether anybody was answered."""
        return any(lesson.heard == model for lesson in self.lessons)


class Crowded(Generous):
    """A control that permits first attempts, and lets retries wait, perhaps in vain."""

    def __init__(self, seconds: float, *, vain: bool = False) -> None:
        super().__init__()
        self._seconds = seconds
        self._vain = vain

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Let wait."""
        if patience is not None:
            time.sleep(min(self._seconds, patience))
        permit = super().acquire(model, tokens, patience, charge)
        return None if patience is not None and self._vain else permit


class Desk:
    """A model with everything around it."""

    def __init__(self, *failures: ModelError | BaseException, spec: str = "openai:m", patience: float = 300.0) -> None:
        self.backend = Moody(*failures, headers={"x-ratelimit-remaining-requests": "7"})
        self.control = Generous()
        """Who gives the permits; another may take its place."""
        self.pauses: list[float] = []
        self.meter = UsageMeter(patience=patience)
        self.model = RetryingModel(
            ModelSpec.parse(spec),
            lambda: self.backend,
            lambda: self.control,
            lambda usage: usage.input / 100,
            sleep=self.pauses.append,
        )

    def ask(self) -> Completion:
        """Ask once."""
        with opened(self.meter):
            return self.model.complete(PROMPT)


def failures(cause: Cause, count: int, retry_after: float | None = None) -> Sequence[ModelError]:
    """Return the same failure several times."""
    return [ModelError(cause, "no", retry_after=retry_after) for _ in range(count)]


def test_an_answer_is_on_the_books_with_its_price() -> None:
    """Usage, cost and the exchange itself are in the trial's meter."""
    desk = Desk()

    completion = desk.ask()

    assert says("Hi.") == completion.reply
    assert desk.meter.bill is not None
    assert (1.0, Usage(input=100, output=10, calls=1)) == (desk.meter.bill.cost, desk.meter.bill.usage)
    assert [PROMPT] == [asking.prompt for asking in desk.meter.calls]


@pytest.mark.parametrize("cause", RETRIED)
def test_temporary_errors_are_retried(cause: Cause) -> None:
    """The answer counts the attempts before it."""
    desk = Desk(*failures(cause, 3))

    completion = desk.ask()

    assert (1, 3) == (completion.usage.calls, completion.usage.retries)
    assert 4 == len(desk.backend.deadlines)


@pytest.mark.parametrize("cause", sorted(set(Cause) - set(RETRIED)))
def test_permanent_errors_are_not_retried(cause: Cause) -> None:
    """One attempt, one error, the same cause."""
    desk = Desk(*failures(cause, 1))

    with pytest.raises(ModelError) as caught:
        desk.ask()

    assert cause == caught.value.cause
    assert (1, []) == (len(desk.backend.deadlines), desk.pauses)


def test_pauses_double_and_are_jittered() -> None:
    """Each pause is between half of its bound and its bound."""
    desk = Desk(*failures(Cause.OVERLOADED, 4))

    desk.ask()

    bounds = [0.5, 1.0, 2.0, 4.0]
    assert all(bound / 2 <= pause <= bound for pause, bound in zip(desk.pauses, bounds, strict=True))


def test_no_pause_is_shorter_than_the_server_asked_for() -> None:
    """Retry-After goes before our own idea."""
    desk = Desk(*failures(Cause.RATE_LIMITED, 1, retry_after=17.0))

    desk.ask()

    assert 17.0 <= desk.pauses[0] <= 17.0 * 1.1


@pytest.mark.parametrize(("retry_after", "least", "most"), [(None, 0.25, 0.5), (17.0, 17.0, 18.7)])
def test_workers_that_fail_together_don_t_come_back_together(
    retry_after: float | None, least: float, most: float
) -> None:
    desks = [Desk(*failures(Cause.RATE_LIMITED, 1, retry_after=retry_after)) for _ in range(40)]
    for desk in desks:
        desk.ask()

    pauses = [pause for desk in desks for pause in desk.pauses]
    assert 40 == len(set(pauses))
    assert max(pauses) - min(pauses) > (most - least) / 2


def test_attempts_are_bounded_in_count() -> None:
    desk = Desk(*failures(Cause.OVERLOADED, 10), spec="openai:m?retries=2")

    with pytest.raises(ModelError, match=r"server error: no \(3 attempts\)"):
        desk.ask()

    assert 3 == len(desk.backend.deadlines)
    assert desk.meter.bill is not None
    assert Usage(retries=2) == desk.meter.bill.usage


def test_pauses_are_bounded_in_time_over_all_calls_of_a_trial() -> None:
    """A trial that has lost its patience does not wait any more."""
    desk = Desk(*failures(Cause.RATE_LIMITED, 10, retry_after=40.0), patience=100.0)

    with pytest.raises(ModelError):
        desk.ask()

    assert 2 == len(desk.pauses)
    assert 0 <= desk.meter.patience < 20


def test_a_server_that_wants_more_time_than_there_is_is_not_waited_for() -> None:
    """No point in sleeping for an hour and then giving up."""
    desk = Desk(*failures(Cause.RATE_LIMITED, 1, retry_after=3600.0))

    with pytest.raises(ModelError):
        desk.ask()

    assert [] == desk.pauses


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_asked_any_more() -> None:
    """No other call would be answered, either."""
    desk = Desk(*failures(Cause.RATE_LIMITED, 1, retry_after=3600.0))

    with pytest.raises(ModelError) as caught:
        desk.ask()

    assert Cause.LATER == caught.value.cause
    assert caught.value.is_final


@pytest.mark.parametrize("cause", [Cause.CONNECTION, Cause.TIMEOUT])
def test_an_address_that_has_never_answered_is_not_asked_any_more(cause: Cause) -> None:
    """A typo in it costs one trial, not 1,200; one that has answered may be down for a while."""
    never = Desk(*failures(cause, 9), spec="openai:m?retries=1")
    with pytest.raises(ModelError) as unanswered:
        never.ask()
    once = Desk(spec="openai:m?retries=1")
    once.ask()
    once.backend.fail(*failures(cause, 9))
    with pytest.raises(ModelError) as interrupted:
        once.ask()

    assert (Cause.UNREACHABLE, True) == (unanswered.value.cause, unanswered.value.is_final)
    assert (cause, False) == (interrupted.value.cause, interrupted.value.is_final)


def test_a_further_attempt_has_no_more_time_than_patience_is_left() -> None:
    """Else ten attempts with a long timeout would take for ever."""
    desk = Desk(*failures(Cause.TIMEOUT, 1), patience=20.0)

    desk.ask()

    first, second = desk.backend.deadlines
    assert 120.0 == first
    assert second <= 20.0


def test_every_attempt_has_a_permit_and_gives_it_back() -> None:
    desk = Desk(*failures(Cause.RATE_LIMITED, 1, retry_after=2.0))

    desk.ask()

    headers = {"x-ratelimit-remaining-requests": "7"}
    assert ["openai:m", "openai:m"] == [model for model, _ in desk.control.asked]
    assert [
        Feedback(ok=False, heard="openai:m", throttled=True, retry_after=2.0, trouble="rate limited: no"),
        Feedback(ok=True, heard="openai:m", tokens=110, cost=1.0, headers=headers),
    ] == desk.control.lessons


def test_only_further_attempts_have_no_more_patience_than_is_left() -> None:
    """The first waits for its turn as long as it takes."""
    desk = Desk(*failures(Cause.RATE_LIMITED, 1, retry_after=2.0), patience=300.0)

    desk.ask()

    first, again = desk.control.patiences
    assert first is None
    assert again is not None
    assert 0.0 < again <= 298.0


def test_waiting_to_ask_again_takes_from_the_patience() -> None:
    """As pauses do, and attempts that fail."""
    desk = Desk(*failures(Cause.OVERLOADED, 2), patience=300.0)
    desk.control = Crowded(0.1)

    desk.ask()

    assert 0.0 < desk.meter.patience <= 300.0 - sum(desk.pauses) - 0.2


def test_model_without_time_for_a_retry_raises_the_last_error() -> None:
    desk = Desk(*failures(Cause.RATE_LIMITED, 1), patience=1.0)
    desk.control = Crowded(0.0, vain=True)

    with pytest.raises(ModelError, match="rate limited: no") as caught:
        desk.ask()

    assert Cause.RATE_LIMITED == caught.value.cause
    assert (1, 1) == (len(desk.backend.deadlines), len(desk.control.lessons))


def test_a_request_that_is_made_in_another_way_has_a_permit_of_its_own() -> None:
    """A server counts what it refuses, too; there is nothing to be learnt from it but that it is there."""
    desk = Desk()
    desk.backend.concessions = 2

    desk.ask()

    refused = Feedback(ok=False, heard="openai:m")
    assert 3 == len(desk.control.asked)
    assert [refused, refused] == desk.control.lessons[:2]
    assert desk.control.lessons[2].ok


def test_a_request_that_is_made_in_another_way_waits_no_longer_than_there_is_patience() -> None:
    """It is a further attempt, too."""
    desk = Desk(patience=0.1)
    desk.control = Crowded(0.1, vain=True)
    desk.backend.concessions = 1

    with pytest.raises(ModelError, match="rate limited: openai:m: the time was up before the request"):
        desk.ask()

    assert desk.meter.patience <= 0
    assert [Feedback(ok=False, heard="openai:m")] == desk.control.lessons


def test_an_answer_that_is_of_no_use_is_paid_for() -> None:
    """It is on the bill and taken from the budget, its tokens count, and so does the call."""
    wasted = Usage(input=50, output=5, calls=1)
    desk = Desk(ModelError(Cause.MALFORMED, "no choice", usage=wasted))

    desk.ask()

    assert desk.meter.bill is not None
    assert Usage(input=150, output=15, calls=2, retries=1) == desk.meter.bill.usage
    assert 1.5 == desk.meter.bill.cost
    assert [(55, 0.5), (110, 1.0)] == [(lesson.tokens, lesson.cost) for lesson in desk.control.lessons]


def test_cost_of_failed_calls_is_billed() -> None:
    """Also if there is no answer in the end."""
    desk = Desk(ModelError(Cause.FILTERED, "no", usage=Usage(input=50, calls=1)))

    with pytest.raises(ModelError):
        desk.ask()

    assert desk.meter.bill is not None
    assert (0.5, 1) == (desk.meter.bill.cost, desk.meter.bill.usage.calls)


def test_rate_limit_headers_of_refusals_are_used() -> None:
    """That is when it matters."""
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6s"}
    desk = Desk(ModelError(Cause.RATE_LIMITED, "no", headers=headers))

    desk.ask()

    assert headers == desk.control.lessons[0].headers


def test_an_answer_that_was_cut_short_is_noted_once() -> None:
    """And what to do about it."""
    desk = Desk()
    desk.backend.ending = "length"

    desk.ask()
    desk.ask()

    assert ["m ran out of its 800 output tokens; ?max_output_tokens= gives it more"] == desk.meter.notes


def test_servers_with_a_model_of_the_same_name_are_distinguished() -> None:
    """One that is dead is found dead, though the other has answered."""
    alive, dead = (Desk(spec=f"openai:m?retries=0&base_url=http://{host}/v1") for host in ("alive", "dead"))
    dead.control.lessons = alive.control.lessons
    alive.ask()
    dead.backend.fail(*failures(Cause.CONNECTION, 1))

    with pytest.raises(ModelError) as caught:
        dead.ask()

    assert "openai:m http://alive/v1" == alive.control.lessons[0].heard
    assert Cause.UNREACHABLE == caught.value.cause


def test_a_permit_comes_back_also_when_the_user_interrupts() -> None:
    desk = Desk(KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        desk.ask()

    assert [Feedback(ok=False)] == desk.control.lessons


def test_bound_on_tokens_uses_the_previous_call() -> None:
    """The second call of a dialogue: what the first took, what was said since, and the most that may be answered."""
    desk = Desk()
    longer = Prompt(system=PROMPT.system, messages=(*PROMPT.messages, user_says("x" * 300)))

    with opened(desk.meter):
        desk.model.complete(PROMPT)
        desk.model.complete(longer)

    (_, first), (_, second) = desk.control.asked
    assert 800 < first < 900
    assert 110 + 100 + 800 < second < 110 + 200 + 800


def test_the_bound_of_a_first_call_is_learnt_from_those_before() -> None:
    """A server counts 100 tokens for 30,000 characters of tools, and not the 10,000 that they might be."""
    desk = Desk()
    prompt = Prompt(system="x" * 30_000, messages=PROMPT.messages)
    for _ in range(2):
        with opened(UsageMeter()):
            desk.model.complete(prompt)

    (_, first), (_, second) = desk.control.asked
    assert 10_000 + 800 < first
    assert 100 + 800 - 1 <= second <= 100 + 800


def test_the_backend_is_made_when_it_is_needed_and_once() -> None:
    """An SDK takes a second to import."""
    made = []
    backend = Moody()

    def make() -> Moody:
        made.append(1)
        return backend

    model = RetryingModel(ModelSpec.parse("openai:m"), make, Generous, lambda _: None)
    before = list(made)
    model.complete(PROMPT)
    model.complete(PROMPT)

    assert ([], [1]) == (before, made)


def test_backend_is_created_once_for_concurrent_calls() -> None:
    """Else each would have connections of its own, and find out by itself what the server refuses."""
    made = []

    def make() -> Moody:
        made.append(1)
        time.sleep(0.05)
        return Moody()

    model = RetryingModel(ModelSpec.parse("openai:m"), make, Generous, lambda _: None)
    with ThreadPoolExecutor(8) as threads:
        for _ in range(8):
            threads.submit(model.complete, PROMPT)

    assert [1] == made


@pytest.mark.parametrize(
    ("cause", "counted"),
    [(Cause.OVERLOADED, True), (Cause.TIMEOUT, True), (Cause.BAD_REQUEST, True), (Cause.FILTERED, False)],
)
def test_failed_call_is_counted_once_if_the_model_is_the_cause(cause: Cause, *, counted: bool) -> None:
    """The number of attempts does not matter, and a content filter says nothing about the model."""
    desk = Desk(*failures(cause, 3), spec="openai:m?retries=2")

    with pytest.raises(ModelError):
        desk.ask()

    assert ["openai:m"] * counted == desk.control.failed


class Refusing(Generous):
    """A control that has given the model up, perhaps after its first call."""

    def __init__(self, *, first: bool = False) -> None:
        super().__init__()
        self._first = first

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Refuse."""
        permit = super().acquire(model, tokens, patience, charge)
        return permit if self._first and patience is None else None

    def refusal(self, model: str) -> str:
        """Say why."""
        return f"no answer from {model}"


def test_model_that_was_given_up_is_not_called() -> None:
    """The error says why, and that no other request would be answered."""
    desk = Desk()
    desk.control = Refusing()

    with pytest.raises(ModelError, match="given up: openai:m: no answer from openai:m") as caught:
        desk.ask()

    assert caught.value.is_final
    assert ([], []) == (desk.backend.deadlines, desk.control.failed)


def test_an_empty_answer_is_not_the_reply_if_no_other_call_is_allowed() -> None:
    """The budget is used up, for one: the trial is errored and not failed, and the answer is paid for."""
    desk = Desk()
    desk.backend.text, desk.control = "", Refusing(first=True)

    with pytest.raises(ModelError, match="given up: openai:m: no answer from openai:m"):
        desk.ask()

    assert desk.meter.bill is not None
    assert (1.0, 1) == (desk.meter.bill.cost, desk.meter.bill.usage.calls)


def test_the_note_of_an_empty_answer_says_that_it_was_asked_for_again_only_if_it_was() -> None:
    """It is not where no call is made again."""
    notes = []
    for spec in ("openai:m?retries=0", "openai:m"):
        desk = Desk(spec=spec)
        desk.backend.text = ""
        desk.ask()
        notes += desk.meter.notes

    assert [
        "openai:m returned an empty answer: it counts as the reply",
        "openai:m returned an empty answer, even when asked again: it counts as the reply",
    ] == notes


def test_a_call_says_what_it_may_cost_at_most() -> None:
    """For which trial and agent, too; without a budget there is nothing to say."""
    desk = Desk()
    desk.meter = UsageMeter(trial="test[one]", agent="openai:m")
    desk.ask()
    desk.meter = UsageMeter()
    desk.ask()

    first, second = desk.control.charges
    assert ("test[one]", "openai:m", True) == (first.trial, first.agent, first.most > 0)
    assert NO_CHARGE == second
