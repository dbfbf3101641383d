"""What an error says: who said what, in one line, and never the key."""

import time
from dataclasses import replace
from email.utils import formatdate
from types import SimpleNamespace

import pytest

from pytest_crmeval.models.sdks.errors import LONGEST, Target, explained, retry_after, shown
from pytest_crmeval.models.sdks.event_loop import TooLargeError
from pytest_crmeval.ports.chat_model import Cause, ModelError

KEY = "canary-0123456789abcdef"
ASKED = Target(provider="openai", model="gpt-x", address="http://x.example/v1", key_name="MY_KEY", key=KEY)


class StatusError(Exception):
    """An SDK's exception, as far as we look at it."""

    def __init__(self, status: int, body: object, **headers: str) -> None:
        super().__init__(f"raw {body}")
        self.status_code = status
        self.body = body
        self.response = SimpleNamespace(headers={name.replace("_", "-"): value for name, value in headers.items()})


def said(status: int, body: object, **headers: str) -> ModelError:
    """Return what we make of a status."""
    return explained(StatusError(status, body, **headers), ASKED)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "too bad"}},
        {"message": "too bad"},
        {"error": "too bad"},
        {"detail": "too bad"},
        "<html><body><h1>too\n\nbad</h1></body></html>",
    ],
)
def test_the_words_of_every_kind_of_server(body: object) -> None:
    """In one line."""
    assert "bad request: openai:gpt-x: the server answered 400: too bad" == " ".join(str(said(400, body)).split())


@pytest.mark.parametrize("body", [None, "", {}, [], 7, {"error": {"message": None, "code": 5}}])
def test_a_server_without_words(body: object) -> None:
    """The status is enough."""
    assert "the server answered 400" in str(said(400, body))


def told(message: str, code: str | None = None, kind: str | None = None, **more: object) -> dict[str, object]:
    """Return an error as OpenAI words it."""
    return {"error": {"message": message, "code": code, "type": kind, **more}}


ADD_A_CARD = "Rate limit reached: limit 3, used 3. Visit https://x.example/account/billing to add a payment method."
GEMINI = "You exceeded your current quota, please check your plan and billing details. Please retry in 34.07s."


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (told(ADD_A_CARD, "rate_limit_exceeded", "requests"), Cause.RATE_LIMITED),
        (told(ADD_A_CARD, None, "tokens"), Cause.RATE_LIMITED),
        (told(ADD_A_CARD), Cause.RATE_LIMITED),
        (told("Insufficient balance of tokens", "rate_limit_exceeded"), Cause.RATE_LIMITED),
        (told("Insufficient credit for now, please try again in 2s"), Cause.RATE_LIMITED),
        ([told(GEMINI, status="RESOURCE_EXHAUSTED")], Cause.RATE_LIMITED),
        (told("You exceeded your current quota.", "insufficient_quota"), Cause.QUOTA),
        (told("You exceeded your current quota.", None, "insufficient_quota"), Cause.QUOTA),
        (told("Your account is not active.", "billing_not_active"), Cause.QUOTA),
        (told("Your credit balance is too low."), Cause.QUOTA),
        (told("Insufficient funds."), Cause.QUOTA),
        (told("You have run out of credits."), Cause.QUOTA),
        (told("You've run out of free credits. Please add a payment method to continue."), Cause.QUOTA),
        (told("Please add a payment method to your account."), Cause.QUOTA),
        (told("Your team has used all available credits or reached its monthly spending limit."), Cause.QUOTA),
        (told("Credit limit exceeded, please navigate to the billing page to add credits."), Cause.QUOTA),
        (told("Your prepayment credits are depleted."), Cause.QUOTA),
        (told("Please purchase more credits."), Cause.QUOTA),
        (told("Add a payment method to increase your rate limit."), Cause.RATE_LIMITED),
        (told("upstream: {'code': 'insufficient_quota'}"), Cause.QUOTA),
    ],
)
def test_a_429_is_about_money_only_if_waiting_does_not_help(body: object, cause: Cause) -> None:
    assert cause is said(429, body, retry_after="1").cause


@pytest.mark.parametrize(
    "body",
    [
        told("Invalid model name passed in model=zzz. Call `/v1/models` to view available models for your key."),
        told("Invalid model 'x/y'"),
        told("Invalid model: zzz", None, "invalid_model"),
        told("zzz is not a valid model ID", "400"),
        told("Model Not Exist", "invalid_request_error"),
        told("The model `zzz` was not found.", param="model"),
        told("model 'zzz' not found, try pulling it first", param="None"),
        told("Model not found: zzz"),
    ],
)
def test_unknown_model_reported_by_a_gateway_as_a_bad_request_stops_the_agent(body: object) -> None:
    """No other case would be answered, either."""
    assert Cause.UNKNOWN_MODEL is said(400, body).cause


@pytest.mark.parametrize(
    "body",
    [
        told("This model does not support temperature"),
        told("Invalid model parameter: top_k"),
        told("The model called a tool that was not found"),
        told("Tool 'x' of this model not found", param="tools"),
    ],
)
def test_a_bad_request_that_names_the_model(body: object) -> None:
    """It is this request's fault, and the next may be better."""
    assert Cause.BAD_REQUEST is said(400, body).cause


@pytest.mark.parametrize(
    "body",
    [
        [told("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT")],
        told("Incorrect API key provided: x"),
        told("Invalid API-key provided."),
        told("No.", "API_KEY_INVALID"),
        told("No.", "invalid_api_key"),
    ],
)
def test_bad_key_reported_as_a_bad_request_is_recognised(body: object) -> None:
    """And which variable holds it."""
    error = said(400, body)

    assert Cause.AUTHENTICATION is error.cause
    assert str(error).endswith("; check MY_KEY")


@pytest.mark.parametrize(
    "raw",
    ["too bad", '{"error": {"message": "too bad", "param": "temperature"}}', '"too bad"', {"message": "too bad"}],
    ids=["text", "JSON", "a text in JSON", "an object"],
)
def test_the_words_of_the_server_behind_a_gateway(raw: object) -> None:
    """OpenRouter's own say nothing."""
    error = said(400, told("Provider returned error", metadata={"raw": raw, "provider_name": "x"}))

    assert "too bad (Provider returned error)" in str(error)


@pytest.mark.parametrize("metadata", [None, "x", {}, {"raw": None}, {"raw": ""}])
def test_a_gateway_without_a_server_behind_it(metadata: object) -> None:
    """Its own words are there."""
    assert "too bad" in str(said(400, told("too bad", metadata=metadata)))


@pytest.mark.parametrize("words", [f"{KEY} is wrong", f"x{KEY}y", f"{'.' * 470}{KEY}", "sk-proj-abc***wxyz is wrong"])
def test_the_key_is_not_repeated(words: str) -> None:
    """Not in the middle of a word, not in part, not where the line is cut."""
    error = str(said(401, {"error": {"message": words}}))

    assert not any(part in error for part in (KEY, KEY[:10], "abc***"))


def test_the_key_is_not_in_the_repr() -> None:
    """Of whom we asked."""
    assert KEY not in repr(ASKED)


def test_placeholder_is_an_ordinary_word() -> None:
    """Servers that want no key get one that says so."""
    asked = Target(provider="openai", model="m", address="http://x", key_name="K", key="ollama")

    assert "ollama says no" in str(explained(StatusError(400, "ollama says no"), asked))


@pytest.mark.parametrize("status", [400, 401, 404])
def test_an_error_is_a_line(status: int) -> None:
    """What to do is never cut off."""
    error = said(status, {"message": "very\nbad " * 1000})

    assert len(error.args[0]) <= LONGEST
    assert "\n" not in error.args[0]
    assert error.args[0].endswith({400: "…", 401: "; check MY_KEY", 404: "has a model gpt-x"}[status])


def test_a_redirect_is_a_wrong_address() -> None:
    """It is not followed: the key is for the address that was given."""
    error = said(307, None, location="https://elsewhere.example/")

    assert Cause.UNKNOWN_MODEL is error.cause
    assert "https://elsewhere.example/" in str(error)


def test_the_causes_of_an_error_are_looked_through() -> None:
    """SDKs wrap what the transport raises."""
    wrapped = RuntimeError("Connection error.")
    wrapped.__cause__ = TooLargeError("it is huge")

    assert Cause.TOO_LARGE is explained(wrapped, ASKED).cause


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (TimeoutError(), Cause.TIMEOUT),
        (ConnectionRefusedError("refused"), Cause.CONNECTION),
        (RuntimeError(), Cause.CONNECTION),
        (RuntimeError("the event loop is closed"), Cause.CONNECTION),
    ],
)
def test_connection_error_names_the_address(error: Exception, cause: Cause) -> None:
    """The address is named."""
    told = explained(error, ASKED)

    assert cause is told.cause
    assert "http://x.example/v1" in str(told)


def test_client_of_a_cloud_that_can_not_sign_in_is_a_matter_of_credentials() -> None:
    """The SDKs raise a RuntimeError then."""
    error = explained(RuntimeError("could not resolve credentials"), replace(ASKED, provider="bedrock"))

    assert Cause.AUTHENTICATION is error.cause


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": " , "}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_seconds_milliseconds_or_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    """In seconds, milliseconds, or until a date that is past."""
    assert seconds == retry_after(headers)


def test_retry_after_may_be_a_date() -> None:
    """A date in a minute or so."""
    seconds = retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)})

    assert seconds is not None
    assert 30 < seconds <= 60


def test_retry_after_date_is_relative_to_the_clock_of_the_server() -> None:
    """Ours may be wrong."""
    headers = {"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}

    assert 30.0 == retry_after(headers)


def test_an_address_is_shown_without_a_password() -> None:
    """Or anything else that may be secret."""
    assert "https://x.example:8/v1" == shown("https://me:secret@x.example:8/v1?token=secret#secret")
