"""A model that is asked patiently: permits before each attempt, pauses between them, every answer on the books."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from pytest_crmeval.domain.prompt import Asking, Completion, ModelIdentity, Prompt
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.backend import Answer, Backend
from pytest_crmeval.models.control import Charge, Control, Feedback
from pytest_crmeval.models.guesses import Guess
from pytest_crmeval.models.prices import Pricing
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.usage_meter import PATIENCE, UsageMeter, current
from pytest_crmeval.ports.chat_model import Cause, ModelError

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
EMPTY = 2
"""How often an empty answer is requested again before it counts as the reply."""
_NOTHING = ModelError(Cause.MALFORMED, "an empty answer")


class Model:
    """One language model. The only place where a call is made again: the SDKs' own retries are off."""

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
        """Whom we ask, for whoever gives the permits."""
        self._guess = Guess(spec.max_output_tokens)

    @property
    def identity(self) -> ModelIdentity:
        """Which model this is, as it was asked for."""
        return self._spec.identity

    def complete(self, prompt: Prompt) -> Completion:
        """Ask until there is an answer, or no hope of one."""
        meter, start, failures, empty = current(), time.monotonic(), 0, 0
        turn = self._turn(prompt, meter)
        while True:
            try:
                answer = self._attempt(prompt, turn, meter, again=failures > 0)
            except ModelError as error:
                failures += 1
                if not (self._pause(error, failures, meter) and turn.renew()):
                    raise self._given_up(error, failures, turn, meter) from error
                continue
            if empty == EMPTY or not _is_empty(answer.completion):
                break
            again = self._pause(_NOTHING, failures + 1, meter) and turn.renew()
            if not (again or turn.refusal):
                break
            empty, failures = empty + 1, failures + 1
            meter.take_useless(answer.completion.usage, self._price(answer.completion.usage))
            if not again:  # an answer that others are asked for again is not counted against this trial
                raise ModelError(Cause.GIVEN_UP, f"{self._spec}: {turn.refusal}")
        completion = answer.completion
        if _is_empty(completion) and not completion.reply.has_only_thoughts:  # the meter notes those
            also = ", also when it was asked again" if empty else ""
            meter.note(f"{self._spec} returned an empty answer{also}: it counts as the reply")
        if failures:
            completion = replace(completion, usage=completion.usage + Usage(retries=failures))
        seconds = time.monotonic() - start
        asking = Asking(identity=self.identity, prompt=prompt, completion=completion, seconds=seconds)
        self._guess.learn(asking, meter)
        meter.take(asking, self._price(completion.usage))
        if not completion.usage.input:
            meter.note(f"{self._spec} does not say how many tokens it takes: nobody knows what it costs")
        return completion

    def _turn(self, prompt: Prompt, meter: UsageMeter) -> "_Turn":
        """Return what asks for permits, with the maximum tokens and cost of the call."""
        tokens, written = self._guess.bound(prompt, meter), self._spec.max_output_tokens
        most = self._price(Usage(input=max(1, tokens - written), output=written, calls=1)) if meter.trial else None
        charge = Charge(most=most or 0.0, trial=meter.trial, agent=meter.agent)
        return _Turn(self._control(), self._name, tokens, meter, charge)

    def _attempt(self, prompt: Prompt, turn: "_Turn", meter: UsageMeter, *, again: bool) -> Answer:
        """Ask once, with a permit; what a failure took is taken from the meter's patience."""
        lesson, begun = Feedback(ok=False), time.monotonic()
        try:
            backend = self._ready_backend()
            if not again:
                turn.begin()
            seconds = min(self._spec.timeout, meter.patience) if again else self._spec.timeout
            begun, turn.waited = time.monotonic(), 0.0
            answer = backend.attempt(prompt, seconds, turn.concede)
            lesson = self._learnt(answer)
        except ModelError as error:
            meter.patience -= time.monotonic() - begun - turn.waited
            lesson = self._suffered(error, meter)
            raise
        finally:
            turn.end(lesson)
        return answer

    def _ready_backend(self) -> Backend:
        with self._making:  # many may ask at the same time
            if self._backend is None:
                self._backend = self._make_backend()
            return self._backend

    def _learnt(self, answer: Answer) -> Feedback:
        usage = answer.completion.usage
        cost = self._price(usage)
        return Feedback(ok=True, heard=self._name, tokens=_tokens(usage), cost=cost, headers=answer.headers)

    def _suffered(self, error: ModelError, meter: UsageMeter) -> Feedback:
        """Return what is to be learnt from a failure; what it cost is paid."""
        usage = error.usage
        cost = self._price(usage) if usage else 0.0
        if usage:
            meter.take_useless(usage, cost)
        return Feedback(
            ok=False,
            heard="" if error.is_silence else self._name,
            throttled=error.is_throttling,
            # Who wants to be left alone for an hour is not waited for: others are to hear it, too.
            retry_after=error.retry_after if (error.retry_after or 0.0) <= PATIENCE else None,
            tokens=_tokens(usage) if usage else None,
            cost=cost,
            trouble="" if error.is_about_content else str(error),
            headers=error.headers,
        )

    def _pause(self, error: ModelError, failures: int, meter: UsageMeter) -> bool:
        """Wait before the next attempt; False if there is not to be one."""
        pause = _pause_after(failures, error.retry_after)
        if not error.is_retried or failures > self._spec.retries or pause >= meter.patience:
            return False
        meter.patience -= pause
        self._sleep(pause)
        return True

    def _given_up(self, error: ModelError, failures: int, turn: "_Turn", meter: UsageMeter) -> ModelError:
        """Return the error that ends the call, and count it if the model is the cause."""
        if turn.refusal:
            return ModelError(Cause.GIVEN_UP, f"{self._spec}: {turn.refusal}")
        meter.take_failures(failures - 1)
        if not error.is_about_content:
            self._control().fail(self._name)
        told = f"{error.args[0]} ({failures} attempts)" if failures > 1 else error.args[0]
        return ModelError(self._cause(error), told, retry_after=error.retry_after)

    def _cause(self, error: ModelError) -> Cause:
        """Return why we give up: not only this call, where all others would end the same way."""
        if error.is_retried and (error.retry_after or 0.0) > PATIENCE:
            return Cause.LATER
        if error.is_silence and not self._control().has_answered(self._name):
            return Cause.UNREACHABLE
        return error.cause


class _Turn:
    """The permit of one attempt after the other, from when it is given to when it is given back."""

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
        """Seconds for permits to ask again; they are taken from the meter's patience."""

    def begin(self) -> None:
        """Wait for the first permit as long as necessary; ModelError if no further call is allowed."""
        self._acquire(None)
        if self._permit is None:
            raise ModelError(Cause.GIVEN_UP, self.refusal)

    def renew(self) -> bool:
        """Wait for a permit to ask again, as long as there is patience; tell whether there is one."""
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

    def concede(self) -> None:
        """Wait for another permit: the request was refused as it was, and is made in another way."""
        self.end(Feedback(ok=False, heard=self._model))
        if not self.renew():
            raise ModelError(
                Cause.RATE_LIMITED, f"{self._model}: a request was to be made in another way, but too late"
            )

    def end(self, lesson: Feedback) -> None:
        """Give the permit back, if there is one."""
        permit, self._permit = self._permit, None
        if permit is not None:
            self._control.release(permit, lesson)


def _is_empty(completion: Completion) -> bool:
    """Whether a model has finished without text and without a call, and not because it ran out of tokens.

    A reply with only thoughts is empty, because they are not part of its text.
    """
    reply = completion.reply
    return completion.ending == "said" and not (reply.text.strip() or reply.calls)


def _tokens(usage: Usage) -> int | None:
    return usage.input + usage.output or None


def _pause_after(failures: int, retry_after: float | None) -> float:
    """Return a pause that doubles, with jitter so that workers don't come back in step; no less than was asked for."""
    doubled = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (failures - 1)) * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)
    asked = (retry_after or 0.0) * random.uniform(1.0, 1.1)  # noqa: S311
    return max(doubled, asked)
