"""What is asked again, how often and how soon: counted by a real server, with the real SDKs."""

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from pytest_crmeval.models.control import NO_CHARGE, Charge, Feedback
from pytest_crmeval.models.retrying_model import RetryingModel
from pytest_crmeval.models.sdks import event_loop
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.chat_model import Cause, Completion, ModelError
from tests.providers.clients import DIALECTS, GENEROUS, backend_of, bounded, note_deadlines, prompt_of, spec_of
from tests.providers.loopback import (
    Answer,
    CloseAtOnce,
    CloseMidBody,
    EmptyChoice,
    Hang,
    Huge,
    Loopback,
    Malformed,
    Refuse,
    Say,
    Status,
    Tokens,
)

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@pytest.fixture(autouse=True)
def closed_wire() -> Iterator[None]:
    """Leave no connection open."""
    yield
    event_loop.close()


class Turnstile:
    """A control that lets everybody pass and counts."""

    def __init__(self) -> None:
        self.passed = 0
        self.feedbacks: dict[int, Feedback] = {}

    def objection(self, _: str) -> str:
        """Object to nothing."""
        return ""

    def stop(self, agent: str, why: str) -> None:
        """Do nothing."""

    def acquire(self, _: str, __: int, ___: float | None = None, ____: Charge = NO_CHARGE) -> int | None:
        """Let pass."""
        self.passed += 1
        return self.passed

    def release(self, permit: int, feedback: Feedback) -> None:
        """Note how it went."""
        self.feedbacks[permit] = feedback

    def refusal(self, _: str) -> str:
        """Refuse nothing."""
        return ""

    def fail(self, model: str) -> None:
        """Count nothing."""

    def end(self, trial: str) -> None:
        """Keep no money for anything."""

    def has_answered(self, _: str) -> bool:
        """Tell whether anybody was answered."""
        return any(feedback.heard for feedback in self.feedbacks.values())


class Patient:
    """A model at a loopback server, with pauses that are noted and not made."""

    def __init__(self, dialect: str, server: Loopback, *, retries: int = 2, timeout: float = 20.0) -> None:
        spec = spec_of(dialect, server.url, retries=retries, timeout=timeout)
        self.pauses: list[float] = []
        self.turnstile = Turnstile()
        self._model = RetryingModel(
            spec,
            lambda: backend_of(dialect, server.url),
            lambda: self.turnstile,
            lambda _: 0.01,
            sleep=self.pauses.append,
        )

    def complete(self, meter: UsageMeter | None = None) -> Completion:
        """Ask, on an meter."""
        return bounded(lambda: self._complete(meter or UsageMeter()))

    def _complete(self, meter: UsageMeter) -> Completion:
        with opened(meter):
            return self._model.complete(prompt_of())

    def fail(self, meter: UsageMeter | None = None) -> ModelError:
        """Ask in vain."""
        with pytest.raises(ModelError) as caught:
            self.complete(meter)
        return caught.value


@every_dialect
@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_status_that_may_pass_is_asked_again(dialect: str, code: int) -> None:
    with Loopback([Status(code)]) as server:
        error = Patient(dialect, server).fail()

    assert (3, True) == (len(server.seen), error.is_retried)
    assert "3 attempts" in str(error)


@every_dialect
@pytest.mark.parametrize(
    "trouble", [CloseAtOnce(), CloseMidBody(), Malformed(b"{"), Hang()], ids=["closed", "broken off", "half", "hanging"]
)
def test_trouble_on_the_way_is_asked_again(dialect: str, trouble: Answer) -> None:
    with Loopback([Say("Hi"), trouble]) as server:
        before, patient = Patient(dialect, server), Patient(dialect, server, timeout=0.5)
        before.complete()  # who was never answered is not asked again
        patient.turnstile = before.turnstile
        patient.fail()

    assert 1 + 3 == len(server.seen)


@every_dialect
def test_empty_answer_is_requested_again(dialect: str) -> None:
    """The next answer may have content; the empty one was paid for."""
    meter = UsageMeter()
    with Loopback([Say(""), Say(" "), Say("Hi")]) as server:
        completion = Patient(dialect, server).complete(meter)

    assert ("Hi", 2) == (completion.reply.text, completion.usage.retries)
    assert meter.bill
    assert 3 == meter.bill.usage.calls
    assert pytest.approx(0.03) == meter.bill.cost
    assert [] == meter.notes


@every_dialect
def test_answer_that_stays_empty_counts_as_the_reply(dialect: str) -> None:
    """The model has nothing to say, so the scorers decide; a note says so."""
    meter = UsageMeter()
    with Loopback([Say("")]) as server:
        completion = Patient(dialect, server, retries=6).complete(meter)

    assert ("", "said", 3) == (completion.reply.text, completion.ending, len(server.seen))
    assert any("returned an empty answer" in note for note in meter.notes)


@every_dialect
def test_empty_answer_is_not_requested_again_if_the_model_ran_out_of_tokens(dialect: str) -> None:
    """It would run out again; a note says how to allow more tokens."""
    meter = UsageMeter()
    with Loopback([Say("", cut=True)]) as server:
        completion = Patient(dialect, server).complete(meter)

    assert ("length", 1) == (completion.ending, len(server.seen))
    assert "ran out of" in meter.notes[0]


def test_no_choice_is_asked_again() -> None:
    """The next answer may have one."""
    with Loopback([EmptyChoice(), Say("Hi")]) as server:
        completion = Patient("chat", server).complete()

    assert ("Hi", 1) == (completion.reply.text, completion.usage.retries)


@every_dialect
@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 413, 422])
def test_a_status_that_stays_is_never_asked_again(dialect: str, code: int) -> None:
    """The same request would be refused again."""
    with Loopback([Status(code), Say("Hi")]) as server:
        patient = Patient(dialect, server)
        error = patient.fail()

    assert (1, [], False) == (len(server.seen), patient.pauses, error.is_retried)


@every_dialect
def test_too_large_an_answer_is_never_asked_for_again(dialect: str) -> None:
    """It would be paid for twice."""
    with Loopback([Huge(10_000_000), Say("Hi")]) as server:
        error = Patient(dialect, server).fail()

    assert (Cause.TOO_LARGE, 1) == (error.cause, len(server.seen))


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_a_refusal_is_an_answer(dialect: str) -> None:
    with Loopback([Refuse("I'd rather not."), Say("Hi")]) as server:
        completion = Patient(dialect, server).complete()

    assert ("I'd rather not.", "refusal", 1) == (completion.reply.text, completion.ending, len(server.seen))


def test_a_refusal_of_the_provider_is_not_asked_again() -> None:
    """Its classifier would say the same."""
    with Loopback([Refuse("I'd rather not."), Say("Hi")]) as server:
        error = Patient("anthropic", server).fail()

    assert (Cause.FILTERED, 1) == (error.cause, len(server.seen))


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_an_account_without_money_is_not_asked_again(dialect: str) -> None:
    """It is a 429 that no waiting helps."""
    with Loopback([Status(429, "You exceeded your current quota.", kind="insufficient_quota")]) as server:
        error = Patient(dialect, server).fail()

    assert (Cause.QUOTA, True, 1) == (error.cause, error.is_final, len(server.seen))


@every_dialect
def test_retries_are_counted_in_addition_to_answered_calls(dialect: str) -> None:
    """One answer, two attempts that failed, on one bill."""
    meter = UsageMeter()
    with Loopback([Status(503), CloseAtOnce(), Say("Hi", Tokens(100, 80, 20, 5))]) as server:
        completion = Patient(dialect, server).complete(meter)
    usage = completion.usage

    assert (1, 2, 100, 80, 20, 5) == (
        usage.calls,
        usage.retries,
        usage.input,
        usage.cached,
        usage.output,
        usage.reasoning,
    )
    assert meter.bill is not None
    assert (usage, 0.01) == (meter.bill.usage, meter.bill.cost)


def test_attempts_of_a_call_without_an_answer_are_counted() -> None:
    meter = UsageMeter()
    with Loopback([Status(503)]) as server:
        Patient("chat", server).fail(meter)

    assert meter.bill is not None
    assert (0, 2, 0.0) == (meter.bill.usage.calls, meter.bill.usage.retries, meter.bill.cost)


def test_pauses_double_with_jitter() -> None:
    """Half a second at most before the second attempt, a second before the third."""
    with Loopback([Status(500)]) as server:
        patient = Patient("chat", server, retries=6)
        patient.fail()

    assert all(0.25 * 2**n <= pause <= 0.5 * 2**n for n, pause in enumerate(patient.pauses))
    assert 6 == len(patient.pauses)


@every_dialect
@pytest.mark.parametrize(
    ("headers", "least"), [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "7000", "retry-after": "9"}, 7.0)]
)
def test_the_pause_that_a_server_asks_for_is_made(dialect: str, headers: dict[str, str], least: float) -> None:
    """Hardly more, and nothing less."""
    with Loopback([Status(429, headers=headers), Say("Hi")]) as server:
        patient = Patient(dialect, server)
        patient.complete()

    assert 1 == len(patient.pauses)
    assert least <= patient.pauses[0] <= least * 1.1


def test_a_pause_longer_than_our_patience_is_not_made() -> None:
    """A server that wants an hour is not waited for."""
    with Loopback([Status(429, headers={"retry-after": "3600"})]) as server:
        patient = Patient("chat", server)
        error = patient.fail()

    assert (Cause.LATER, [], 1) == (error.cause, patient.pauses, len(server.seen))


def test_pauses_take_no_more_than_the_patience_of_the_account() -> None:
    """Attempts are bounded in time as well as in count."""
    with Loopback([Status(500)]) as server:
        patient = Patient("chat", server, retries=100)
        patient.fail(UsageMeter(patience=300.0))

    assert sum(patient.pauses) < 300.0
    assert 3 <= len(server.seen) < 30


def test_hanging_attempts_count_towards_the_time_limit() -> None:
    """Time is lost, whether it is spent in pauses or not."""
    meter = UsageMeter(patience=300.0)
    with Loopback([Hang()]) as server:
        patient = Patient("chat", server, timeout=0.4)
        patient.fail(meter)

    assert meter.patience <= 300.0 - sum(patient.pauses) - 3 * 0.4


def test_a_further_attempt_lasts_no_longer_than_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of it is less than the time that an attempt may take."""
    deadlines = note_deadlines(monkeypatch)
    with Loopback([Status(503), Say("Hi")]) as server:
        Patient("chat", server, timeout=10 * GENEROUS).complete(UsageMeter(patience=GENEROUS))

    first, second = deadlines[-2:]
    assert first == 10 * GENEROUS
    assert 0.0 < second <= GENEROUS


def test_all_calls_of_a_trial_share_its_patience() -> None:
    """What the first call lost, the second can't lose again."""
    meter = UsageMeter(patience=5.0)
    with Loopback([Status(500)]) as server:
        patient = Patient("chat", server, retries=100)
        patient.fail(meter)
        first = len(server.seen)
        patient.fail(meter)

    assert sum(patient.pauses) < 5.0
    assert len(server.seen) - first <= first


class Crowded(SharedControl):
    """A control whose other permits are all held from the first request on."""

    def acquire(self, model: str, tokens: int, patience: float | None = None, charge: Charge = NO_CHARGE) -> int | None:
        """Take the seven other permits as well, with the first."""
        if patience is None:
            for _ in range(7):
                super().acquire(model, tokens)
        return super().acquire(model, tokens, patience, charge)


def test_a_trial_that_gets_no_permit_to_ask_again_loses_no_more_than_its_patience() -> None:
    """A wait for a permit is a wait, too; after a refusal fewer calls are allowed than others hold permits."""
    refused = Status(429, "slow down", headers={"retry-after-ms": "300"})
    with closing(Crowded()) as control, Loopback([refused]) as server:
        backend = backend_of("chat", server.url)
        model = RetryingModel(spec_of("chat", server.url), lambda: backend, lambda: control, lambda _: 0.0)

        def ask() -> None:
            with opened(UsageMeter(patience=1.5)):
                model.complete(prompt_of())

        with pytest.raises(ModelError) as caught:
            bounded(ask)

    assert (Cause.RATE_LIMITED, 1) == (caught.value.cause, len(server.seen))


@every_dialect
def test_every_attempt_has_a_permit_and_gives_it_back(dialect: str) -> None:
    """With what is to be learned from it."""
    answers: list[Answer] = [
        Status(429, headers={"retry-after": "2"}),
        Status(500),
        Status(529),
        Say("Hi", Tokens(100, 0, 20)),
    ]
    with Loopback(answers) as server:
        patient = Patient(dialect, server, retries=3)
        patient.complete()
    lessons = [patient.turnstile.feedbacks[permit] for permit in range(1, 5)]

    assert 4 == patient.turnstile.passed
    assert [(False, True), (False, False), (False, True), (True, False)] == [
        (lesson.ok, lesson.throttled) for lesson in lessons
    ]
    assert (2.0, 120) == (lessons[0].retry_after, lessons[3].tokens)


@every_dialect
def test_rate_limit_headers_reach_the_limiter(dialect: str) -> None:
    """They tell before a 429 does."""
    name = "anthropic-ratelimit-requests-remaining" if dialect == "anthropic" else "x-ratelimit-remaining-requests"
    with Loopback([Say("Hi", headers={name: "3"})]) as server:
        patient = Patient(dialect, server)
        patient.complete()

    assert "3" == patient.turnstile.feedbacks[1].headers[name]


def test_requests_that_are_made_again_are_the_same() -> None:
    """Byte for byte, as far as the server can see."""
    with Loopback([Status(503), CloseAtOnce(), Say("Hi")]) as server:
        Patient("anthropic", server).complete()

    assert all(first.body == second.body for first, second in pairwise(server.seen))
