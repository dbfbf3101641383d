"""What every backend makes of a refusal: with an SDK that is answered by respx, and over a real socket."""

import json
import time
from types import SimpleNamespace

import pytest

from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.sdks import attempts
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.chat_model import Cause, ModelError
from tests.providers.answers import Malformed, Say, Status
from tests.providers.contract import KEY, SECONDS, Desk, prompt

CAUSES = {
    400: Cause.BAD_REQUEST,
    401: Cause.AUTHENTICATION,
    402: Cause.QUOTA,
    403: Cause.AUTHENTICATION,
    404: Cause.UNKNOWN_MODEL,
    408: Cause.OVERLOADED,
    409: Cause.OVERLOADED,
    413: Cause.BAD_REQUEST,
    422: Cause.BAD_REQUEST,
    429: Cause.RATE_LIMITED,
    500: Cause.OVERLOADED,
    502: Cause.OVERLOADED,
    503: Cause.OVERLOADED,
    504: Cause.OVERLOADED,
    529: Cause.OVERLOADED,
}
COUNTED = {"prompt_tokens": 100, "completion_tokens": 20, "input_tokens": 100, "output_tokens": 20}
FILTERED = {
    "choices": [{"finish_reason": "content_filter", "message": {"content": None}}],
    "status": "incomplete",
    "incomplete_details": {"reason": "content_filter"},
    "output": [],
    "content": [],
    "stop_reason": "refusal",
}
"""What a filter leaves of an answer, in the words of every server at once."""
NO_ANSWER = {"choices": [], "output": 5, "content": None}


def worded(record: object) -> Malformed:
    """Return an answer of these very words."""
    return Malformed(json.dumps(record).encode())


class TestErrors:
    """What becomes of a refusal."""

    def test_a_status_has_a_cause(self, desk: Desk) -> None:
        """And the server's own words."""
        errors = desk.errors(*(Status(status, "because I say so") for status in CAUSES))

        assert list(CAUSES.values()) == [error.cause for error in errors]
        for status, error in zip(CAUSES, errors, strict=True):
            assert f"answered {status}: because I say so" in str(error)

    @pytest.mark.parametrize("status", [503, 529])
    def test_a_server_with_too_much_work_wants_less(self, desk: Desk, status: int) -> None:
        """Unlike one that is broken."""
        throttling = (desk.error(Status(status)).is_throttling, desk.error(Status(500)).is_throttling)

        assert (True, False) == throttling

    def test_retry_after_header_is_read(self, desk: Desk) -> None:
        """A pause is heeded."""
        assert 7.0 == desk.error(Status(429, headers={"retry-after": "7"})).retry_after

    def test_rate_limit_headers_of_a_refusal_are_read(self, desk: Desk) -> None:
        """Rate limit headers of a refusal are read."""
        headers = {"x-ratelimit-remaining-requests": "0", "retry-after": "7", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}

        assert headers == desk.error(Status(429, headers={**headers, "x-other": "1"})).headers

    def test_a_key_is_asked_for_by_name(self, desk: Desk) -> None:
        """A key is asked for by name."""
        error = str(desk.error(Status(401, f"who is x{KEY}x?")))

        assert "_API_KEY" in error
        assert KEY not in error

    def test_an_unknown_model_is_named(self, desk: Desk) -> None:
        """And where it is not known."""
        error = str(desk.error(Status(404, "nothing here")))

        assert "; check that http" in error
        assert "://" in error

    def test_a_body_that_is_not_an_answer_is_malformed(self, desk: Desk) -> None:
        """The SDKs check nothing of it."""
        bodies = [b"<html>", b"[]", b"{}", b"null", b'{"choices":null,"output":5,"content":""}']

        assert [Cause.MALFORMED] * 5 == [error.cause for error in desk.errors(*map(Malformed, bodies))]

    @pytest.mark.parametrize(
        ("record", "cause"), [(FILTERED, Cause.FILTERED), (NO_ANSWER, Cause.MALFORMED)], ids=["filtered", "malformed"]
    )
    def test_an_answer_that_cannot_be_used_was_paid_for(
        self, desk: Desk, record: dict[str, object], cause: Cause
    ) -> None:
        """An answer that cannot be used was paid for."""
        error = desk.error(worded({**record, "usage": COUNTED}))

        assert (cause, Usage(input=100, output=20, calls=1)) == (error.cause, error.usage)

    @pytest.mark.parametrize("usage", [5, {"prompt_tokens": "many", "input_tokens": "many"}])
    def test_unreadable_usage_counts_as_a_call_of_unknown_cost(self, desk: Desk, usage: object) -> None:
        """The server charges for it, so the budget must not overlook it."""
        assert Usage(calls=1) == desk.error(worded({**NO_ANSWER, "usage": usage})).usage

    def test_error_without_usage_has_no_usage(self, desk: Desk) -> None:
        """The server does not say that it charges for the answer."""
        assert desk.error(worded({**NO_ANSWER, "usage": None})).usage is None

    def test_the_key_is_not_shown_where_an_answer_is_cut(self, desk: Desk) -> None:
        """Half a key is too much of it."""
        for error in map(str, desk.errors(*(Malformed(f"{'.' * n} {KEY}".encode()) for n in (170, 190, 199)))):
            assert "...." in error
            assert "canary" not in error

    def test_a_failed_attempt_is_not_repeated_by_the_sdk(self, desk: Desk) -> None:
        """The SDK's own retries are off."""
        with desk.server(Status(503), Say("Hi")) as server, pytest.raises(ModelError):
            desk.backend(server).attempt(prompt(), SECONDS)

        assert 1 == len(server.seen)


NO_TEMPERATURE = [
    Status(400, "Unsupported value: 'temperature' does not support 0.0 with this model.", param="temperature"),
    Status(400, "temperature: Extra inputs are not permitted"),
    Status(400, "`temperature` is deprecated for this model."),
    Status(422, "[{'type': 'extra_forbidden', 'loc': ('body', 'temperature'), 'msg': 'Extra inputs'}]"),
    Status(400, "1 validation error for Request\ntemperature\n  Extra inputs are not permitted"),
    Status(400, "m doesn't support temperature=0.0. Only temperature=1 is supported."),
    Status(400, "This model doesn't support the parameter 'temperature'."),
    Status(400, "Unsupported parameter: 'temperature' is not supported with this model.", param="None"),
    Status(400, "Unsupported parameter: 'temperature' is not supported with this model.", param="null"),
]
NOT_ABOUT_TEMPERATURE = [
    "messages: too long",
    "your temperature is fine, but the context length is not supported",
    "the note 'oven temperature must be 200' is not valid",
    "invalid text: \"it's the 'temperature' that must be lower\"",
    "messages.0: `say temperature=3` is not allowed",
    "[{'loc': ('body', 'messages'), 'msg': 'invalid', 'input': {'temperature': 0.0}}]",
    "",
]


class TestConcessions:
    """A parameter that a server refuses is left out, and nothing else is."""

    @pytest.mark.parametrize(
        "refusal",
        NO_TEMPERATURE,
        ids=["a value", "extra", "deprecated", "a list", "a line", "with its value", "an apostrophe", "None", "null"],
    )
    def test_a_temperature_that_is_refused(self, desk: Desk, refusal: Status) -> None:
        """It is left out in the same attempt, and in all that follow."""
        with desk.server(refusal, Say("Hi")) as server:
            backend = desk.backend(server)
            replies = [backend.attempt(prompt(), SECONDS).completion.reply.text for _ in range(2)]

        assert ["Hi", "Hi"] == replies
        assert [True, False, False] == ["temperature" in seen.body for seen in server.seen]

    def test_note_about_a_refused_setting_is_in_every_trial(self, desk: Desk) -> None:
        """Also those that never saw the refusal."""
        trials = [UsageMeter(), UsageMeter()]
        with desk.server(NO_TEMPERATURE[1], Say("Hi")) as server:
            backend = desk.backend(server)
            for trial in trials:
                with opened(trial):
                    backend.attempt(prompt(), SECONDS)

        told = f"{server.seen[0].body['model']} rejects temperature: omitted"
        assert [1, 1] == [trial.notes.count(told) for trial in trials]

    def test_asking_again_is_announced(self, desk: Desk) -> None:
        """Each further request wants a permit of its own, and none is wanted where there is no further request."""
        permits: list[int] = []
        with desk.server(NO_TEMPERATURE[0], Say("Hi")) as server:
            backend = desk.backend(server)
            for _ in range(2):
                backend.attempt(prompt(), SECONDS, lambda: permits.append(len(server.seen)))

        assert [1] == permits

    def test_a_forced_tool_that_is_refused(self, desk: Desk) -> None:
        """The model may do as it likes then."""
        with desk.server(Status(400, "tool_choice: not supported with thinking"), Say("Hi")) as server:
            desk.backend(server).attempt(prompt(must_call="add_note"), SECONDS)

        assert [True, False] == ["tool_choice" in seen.body for seen in server.seen]

    def test_refusals_of_other_parameters_are_not_retried(self, desk: Desk) -> None:
        """To leave something out would not help, so each request is sent once."""
        errors = desk.errors(*(Status(400, words) for words in NOT_ABOUT_TEMPERATURE))

        assert [Cause.BAD_REQUEST] * len(NOT_ABOUT_TEMPERATURE) == [error.cause for error in errors]

    def test_a_server_that_refuses_for_ever(self, desk: Desk) -> None:
        """It is not asked for ever."""
        with desk.server(NO_TEMPERATURE[1]) as server, pytest.raises(ModelError) as caught:
            desk.backend(server).attempt(prompt(), SECONDS)

        assert Cause.BAD_REQUEST is caught.value.cause
        assert 2 == len(server.seen)


def test_waiting_for_a_permit_takes_nothing_from_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is not to blame for it."""
    waited: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(waited))
    monkeypatch.setattr(attempts, "time", clock)
    desk = Desk("chat", "respx")
    with desk.server(Say("Hi"), NO_TEMPERATURE[0], Say("Hi")) as server:
        backend = desk.backend(server)
        backend.attempt(prompt(), SECONDS)
        answer = backend.attempt(prompt(), SECONDS, lambda: waited.append(2 * SECONDS))

    assert "Hi" == answer.completion.reply.text


def test_an_error_of_a_refused_permit_does_not_quote_the_sdk() -> None:
    """Its error may show the key."""

    def refuse() -> None:
        raise RuntimeError("the run is over")

    desk = Desk("chat", "respx")
    with desk.server(NO_TEMPERATURE[0]) as server, pytest.raises(RuntimeError) as caught:
        desk.backend(server).attempt(prompt(), SECONDS, refuse)

    assert caught.value.__context__ is None
