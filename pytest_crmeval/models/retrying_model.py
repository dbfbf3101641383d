"""A model whose calls are retried: a permit before each attempt, pauses between them, and every answer metered."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, agent_says
from pytest_crmeval.domain.usage import Service, Usage
from pytest_crmeval.models.backend import Backend, BackendAnswer
from pytest_crmeval.models.control import Charge, Control, Feedback
from pytest_crmeval.models.prices import Pricing, notice_of
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.token_estimates import TokenEstimate
from pytest_crmeval.models.usage_meter import PATIENCE, UsageMeter, current
from pytest_crmeval.ports.chat_model import Cause, Completion, ModelCall, ModelError, ModelIdentity, Prompt

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
EMPTY = 2
"""How often an empty answer is requested again before it counts as the reply."""
_NOTHING = ModelError(Cause.MALFORMED, "an empty answer")


class RetryingModel:
    """One language model. The only place where calls are retried: the SDKs' own retries are off."""

    def __init__(
        self,
        spec: ModelSpec,
        backend: Callable[[], Backend],
        control: Callable[[], Control],
        price: Pricing,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._spec = spec
        self._make_backend = backend
        self._backend: Backend | None = None
        self._making = threading.Lock()
        self._control = control
        self._price = price
        self._sleep = sleep
        self._name = f"{spec} {spec.base_url}" if spec.base_url else str(spec)
        """The model's name in permits."""
        self._notice = notice_of(spec)
        self._estimate = TokenEstimate(spec.output_limit)

    @property
    def identity(self) -> ModelIdentity:
        """The model and its settings, as the spec has them."""
        return self._spec.identity

    def complete(self, prompt: Prompt) -> Completion:
        """Call the model until there is an answer, or the attempts or the patience run out."""
        meter, start, failures, empty = current(), time.monotonic(), 0, 0
        meter.note(self._notice)  # also on a trial that fails because the model is gone
        tokens, written = self._estimate.bound(prompt, meter), self._spec.output_limit
        most = self._price(Usage(input=max(1, tokens - written), output=written, calls=1)) if meter.trial else None
        charge = Charge(most=most or 0.0, trial=meter.trial, agent=meter.agent)
        permits = _Permits(self._control(), self._name, tokens, meter, charge)
        sent = replace(prompt, carried=carried_in(prompt, self.identity, meter.calls))
        while True:
            try:
                answer = self._attempt(sent, permits, meter, again=failures > 0)
            except ModelError as error:
                failures += 1
                if not (self._pause(error, failures, meter) and permits.renew()):
                    raise self._given_up(error, failures, permits, meter) from error
                continue
            if empty == EMPTY or not _is_empty(answer.completion):
                break
            again = self._pause(_NOTHING, failures + 1, meter) and permits.renew()
            if not (again or permits.refusal):
                break
            empty, failures = empty + 1, failures + 1
            meter.record_useless(answer.completion.usage, self._price(answer.completion.usage))
            if not again:  # no retry is allowed, but in other trials it would be: this one is not a failure
                raise ModelError(Cause.GIVEN_UP, f"{self._spec}: {permits.refusal}")
        completion = answer.completion
        if _is_empty(completion) and not completion.reply.has_only_thoughts:  # the meter notes those
            also = ", even when asked again" if empty else ""
            meter.note(f"{self._spec} returned an empty answer{also}: it counts as the reply")
        if failures:
            completion = replace(completion, usage=completion.usage + Usage(retries=failures))
        seconds = time.monotonic() - start
        call = ModelCall(identity=self.identity, prompt=prompt, completion=completion, seconds=seconds)
        self._estimate.learn(call, meter)
        meter.take(call, self._price(completion.usage))
        meter.record_service(self._service(answer))
        if not completion.usage.input:
            meter.note(f"{self._spec} does not report its tokens: the cost is unknown")
        return completion

    def _attempt(self, prompt: Prompt, permits: "_Permits", meter: UsageMeter, *, again: bool) -> BackendAnswer:
        """Make one attempt, with a permit; the time of a failure is subtracted from the meter's patience."""
        feedback, begun = Feedback(ok=False), time.monotonic()
        try:
            with self._making:  # threads may make their first call at the same time
                self._backend = self._backend or self._make_backend()
            if not again:
                permits.begin()
            seconds = min(self._spec.seconds, meter.patience) if again else self._spec.seconds
            begun, permits.waited = time.monotonic(), 0.0
            answer = self._backend.attempt(prompt, seconds, permits.exchange)
            usage = answer.completion.usage
            cost, tokens = self._price(usage), _tokens(usage)
            feedback = Feedback(ok=True, heard=self._name, tokens=tokens, cost=cost, headers=answer.headers)
        except ModelError as error:
            meter.patience -= time.monotonic() - begun - permits.waited
            feedback = self._failure(error, meter)
            raise
        finally:
            permits.end(feedback)
        return answer

    def _service(self, answer: BackendAnswer) -> Service:
        """Return how fast an answer came, and what its thoughts cost and the cache saved."""
        usage = answer.completion.usage
        cost, fresh = self._price(usage), self._price(replace(usage, cached=0))
        mute = self._price(replace(usage, output=max(0, usage.output - usage.reasoning)))
        return Service(
            calls=1,
            seconds=answer.seconds,
            output=usage.output,
            streamed=int(answer.first_seconds is not None),
            first_seconds=answer.first_seconds or 0.0,
            thoughts_cost=None if cost is None or mute is None else cost - mute,
            saved=None if cost is None or fresh is None else fresh - cost,
        )

    def _failure(self, error: ModelError, meter: UsageMeter) -> Feedback:
        """Return the feedback on a failed attempt, and record its cost."""
        usage = error.usage
        cost = self._price(usage) if usage else 0.0
        if usage:
            meter.record_useless(usage, cost)
        return Feedback(
            ok=False,
            heard="" if error.is_silence else self._name,
            throttled=error.is_throttling,
            # If the server asks for more time than our patience, calls go on and fail, instead of waiting for an hour.
            retry_after=error.retry_after if (error.retry_after or 0.0) <= PATIENCE else None,
            tokens=_tokens(usage) if usage else None,
            cost=cost,
            trouble="" if error.is_about_content else str(error),
            headers=error.headers,
        )

    def _pause(self, error: ModelError, failures: int, meter: UsageMeter) -> bool:
        """Wait before the next attempt; False if there must not be one."""
        pause = _pause_after(failures, error.retry_after)
        if not error.is_retried or failures > self._spec.retries or pause >= meter.patience:
            return False
        meter.patience -= pause
        self._sleep(pause)
        return True

    def _given_up(self, error: ModelError, failures: int, permits: "_Permits", meter: UsageMeter) -> ModelError:
        """Return the error that ends the call, and count it if the model is the cause."""
        if permits.refusal:
            return ModelError(Cause.GIVEN_UP, f"{self._spec}: {permits.refusal}")
        meter.record_failures(failures - 1)
        if not error.is_about_content:
            self._control().fail(self._name)
        cause = error.cause  # LATER and UNREACHABLE end more than this call: others would end in the same way
        if error.is_retried and (error.retry_after or 0.0) > PATIENCE:
            cause = Cause.LATER
        elif error.is_silence and not self._control().has_answered(self._name):
            cause = Cause.UNREACHABLE
        what = f"{error.args[0]} ({failures} attempts)" if failures > 1 else error.args[0]
        return ModelError(cause, what, retry_after=error.retry_after)


class _Permits:
    """The permits for the attempts at one call, one after the other."""

    def __init__(self, control: Control, model: str, tokens: int, meter: UsageMeter, charge: Charge) -> None:
        self._control = control
        self._model = model
        self._tokens = tokens
        self._meter = meter
        self._charge = charge
        self._permit: int | None = None
        self.refusal = ""
        """Why no further call is allowed; empty if calls are."""
        self.waited = 0.0
        """Seconds spent waiting for permits of retries; they are subtracted from the meter's patience."""

    def begin(self) -> None:
        """Wait for the first permit as long as necessary; ModelError if no further call is allowed."""
        self._acquire(None)
        if self._permit is None:
            raise ModelError(Cause.GIVEN_UP, self.refusal)

    def renew(self) -> bool:
        """Wait for a permit for a retry, as long as there is patience; return whether there is one."""
        begun = time.monotonic()
        self._acquire(self._meter.patience)
        waited = time.monotonic() - begun
        self.waited += waited
        self._meter.patience -= waited
        return self._permit is not None

    def _acquire(self, patience: float | None) -> None:
        self._permit = self._control.acquire(self._model, self._tokens, patience, self._charge)
        if self._permit is None:
            self.refusal = self._control.refusal(self._model)

    def exchange(self) -> None:
        """Exchange the permit for a new one: the server refused the form of the request, which is sent in another."""
        self.end(Feedback(ok=False, heard=self._model))
        if not self.renew():
            raise ModelError(
                Cause.RATE_LIMITED, f"{self._model}: the time was up before the request could be sent in another form"
            )

    def end(self, feedback: Feedback) -> None:
        """Give the permit back, if there is one."""
        permit, self._permit = self._permit, None
        if permit is not None:
            self._control.release(permit, feedback)


def carried_in(prompt: Prompt, identity: ModelIdentity, calls: Iterable[ModelCall]) -> Mapping[int, Json]:
    """Return what earlier answers want back, by the place of the message that each became.

    Providers check that everything before an answer is as it was: other requests, as of an agent whose system prompt
    changes, go without it.
    """
    carried: dict[int, Json] = {}
    for call in (call for call in calls if call.completion.carried is not None):
        before, place = call.prompt, len(call.prompt.messages)
        if (before.system, before.tools, call.identity) == (prompt.system, prompt.tools, identity) and (
            list(prompt.messages[: place + 1]) == [*before.messages, _without_thoughts(call.completion.reply)]
        ):
            carried[place] = call.completion.carried
    return carried


def _without_thoughts(reply: Reply) -> Message:
    return replace(agent_says(reply), thoughts="")


def _is_empty(completion: Completion) -> bool:
    """Whether an answer has neither text nor a call, and not because its tokens ran out.

    A reply with only thoughts is empty, because they are not part of its text.
    """
    reply = completion.reply
    return completion.ending == "said" and not (reply.text.strip() or reply.calls)


def _tokens(usage: Usage) -> int | None:
    return usage.input + usage.output or None


def _pause_after(failures: int, retry_after: float | None) -> float:
    """Return a pause that doubles with each failure, with jitter, and is not shorter than the server asks for."""
    doubled = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (failures - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
    asked = (retry_after or 0.0) * random.uniform(1.0, 1.1)  # noqa: S311
    return max(doubled, asked)
