"""Translates an SDK's exception into a ModelError: with the server's words, and without the key."""

import json
import math
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from pytest_crmeval.domain.cutting import cut, redacted
from pytest_crmeval.models.sdks.event_loop import TooLargeError
from pytest_crmeval.ports.chat_model import Cause, ModelError

LONGEST = 500
_LONGEST_CHAIN = 20
_CLOUDS = frozenset({"azure", "foundry", "bedrock", "vertex"})
_EXCERPT = 200
_LIMITS = frozenset({"retry-after", "retry-after-ms", "date"})
"""Headers that are stored besides those with "ratelimit" in their names; the date is the server's clock."""
_SHORTEST_KEY = 8
"""Shorter keys are placeholders for servers that require none; they may be ordinary words."""
_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|rk)-[\w*.-]{4,}")
_NO_MONEY = re.compile(
    r"""insufficient_quota|credit\ balance\ is\ too\ low|insufficient\ (?:credit|balance|funds)
    |\b(?:run|ran|are|is)\ out\ of\ (?:\w+\ )?(?:credit|funds|money)
    |\b(?:no|used\ (?:up\ )?all|exhausted)\ (?:(?:of|your|its|the|more|available|remaining|prepaid)\ )*credits?\b
    |\bcredits?(?:\ balance|\ limit)?\ (?:(?:is|are|was|were|has|have|been)\ )*(?:exhausted|exceeded|depleted|used\ up)
    |\b(?:purchase|buy|add)\ (?:more\ |additional\ )?credits?\b|\btop\ up\ your\b
    |\bspending\ limit\ (?:(?:is|was|has|been)\ )*(?:reached|exceeded)|\breach\w*\ (?:\w+\ ){0,2}spending\ limit""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_CARD = re.compile(r"\b(?:add|set up|provide|no)\b(?: an?| your)?(?: valid)? payment method\b", re.IGNORECASE)
_TOO_FAST_WORDS = re.compile(r"rate.?limit|too many requests|per minute", re.IGNORECASE)
"""Words of a rate limit, whose message may recommend a payment method."""
_BILLING = re.compile("billing", re.IGNORECASE)
_NO_MONEY_CODE = re.compile(r"insufficient_quota|billing_\w+")
_TOO_FAST_CODES = frozenset({"rate_limit_exceeded", "requests", "tokens"})
_SOON = re.compile(r"(?:try again|retry) in\b", re.IGNORECASE)
_FILTER = re.compile(
    r"content[ _]?(?:filter|policy|management|moderation)|usage polic|safety system|flagged|policy_violation",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"""model_not_found|\binvalid_model\b|\bmodel\ not\ exist
    |\bmodel\b.{0,100}\bdoes\ not\ exist
    |\bmodel:?(?:\ \S{1,100})?(?:\ was|\ is|\ could)?\ not\ (?:be\ )?found
    |\binvalid\ model(?:\ (?:name|id|identifier)\b|:|\ ?['"`])  # not: invalid model parameter
    |\bnot\ a\ valid\ model\ (?:name|id|identifier)\b""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_TOO_LONG = re.compile(
    r"""context_length_exceeded|\bcontext\ (?:length|window|size|limit)\b|\bmaximum\ context\b|\bmax_model_len\b
    |\b(?:prompt|input|request|message)s?\ (?:is|are|was)\ too\ (?:long|large)\b|request_too_large
    |\btoo\ many\ (?:input\ )?tokens\b""",
    re.IGNORECASE | re.VERBOSE,
)
_BAD_KEY = re.compile(
    r"\bapi[ _-]key(?: is)?[ _](?:not valid|invalid)\b|\b(?:incorrect|invalid)[ _]api[ _-]key\b", re.IGNORECASE
)
_NAMES_NOTHING = frozenset({"", "None", "null"})
"""Values of ``param`` in a refusal that is not about a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The model and server of a request, for messages, and the key, which must not be in them."""

    provider: str
    model: str
    address: str
    key_name: str
    key: str = field(repr=False)

    def __str__(self) -> str:
        """Return provider:model."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorResponse:
    """An error response of a server."""

    status: int
    words: str
    code: str = ""
    """Code and type, if it has them."""
    param: str = ""
    """The parameter that it is about, if it names one."""
    headers: Mapping[str, str] = field(default_factory=dict)


def error_response(error: BaseException) -> ErrorResponse | None:
    """Return the error response of a server; None if there was no response."""
    status, response = getattr(error, "status_code", None), getattr(error, "response", None)
    if not isinstance(status, int) or response is None:
        return None
    return parsed_error(status, getattr(error, "body", None), response.headers)


def parsed_error(status: int, body: object, headers: Mapping[str, str]) -> ErrorResponse:
    """Return the error response with a body, which may be JSON of any form."""
    said = _inner(body)
    parts = [each for each in (said, _inner(_behind(said))) if isinstance(each, dict)]
    params = [param for each in parts if (param := str(each.get("param") or "")) not in _NAMES_NOTHING]
    words, behind = _words(said), _words(_inner(_behind(said)))
    return ErrorResponse(
        status=status,
        # The words of a server behind a gateway come first: they have the reason.
        words=(f"{behind} ({words})" if behind else words) or str(headers.get("location", "")),
        code=" ".join(str(each[name]) for each in parts for name in ("code", "type") if each.get(name)),
        param=params[0] if params else "",
        headers=headers,
    )


def explained(error: BaseException, target: Target) -> ModelError:
    """Return the error for a request without an answer."""
    refusal = error_response(error)
    if refusal is not None:
        return refused(refusal, target)
    causes = [error]
    while (inner := causes[-1].__cause__ or causes[-1].__context__) and len(causes) < _LONGEST_CHAIN:
        causes.append(inner)
    for cause in causes:
        if isinstance(cause, TooLargeError):
            return failed(Cause.TOO_LARGE, str(cause), target)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            advice = "; SSL_CERT_FILE can name your certificate authorities"
            return failed(Cause.UNREACHABLE, f"{target.address}: {cause}", target, advice=advice)
    if any(_is_about_sign_in(cause, target.provider) for cause in causes):
        said = next(text for cause in reversed(causes) if (text := str(cause)))
        return failed(Cause.AUTHENTICATION, said, target, advice=f"; check {target.key_name} or sign in again")
    if any("Timeout" in type(cause).__name__ for cause in causes):
        return failed(Cause.TIMEOUT, f"no complete answer from {target.address} within the time limit", target)
    said = next((text for cause in reversed(causes) if (text := str(cause))), "")
    return failed(Cause.CONNECTION, f"{target.address}: {type(causes[-1]).__name__} {said}", target)


def _is_about_sign_in(error: BaseException, provider: str) -> bool:
    """Whether a client could not sign in, so that no request was sent: the SDKs' own errors have no subclass for it."""
    kind = type(error)
    if not str(error):
        return False
    if kind.__name__ in {"OpenAIError", "AnthropicError", "MissingDependencyError"}:
        return True
    if kind is RuntimeError:  # what the SDKs' clients of clouds raise
        return provider in _CLOUDS
    return kind.__module__.startswith(("botocore.", "google.auth."))


def failed(
    cause: Cause, what: str, target: Target, *, advice: str = "", retry_after: float | None = None
) -> ModelError:
    """Return an error with one line: the model, what happened, what to do."""
    said = _excerpt(f"{target}: {what}", target.key, LONGEST - len(advice))
    return ModelError(cause, said + advice, retry_after=retry_after)


def excerpt(text: str, target: Target) -> str:
    """Return the beginning of a text in one line; the key is redacted before it is shortened."""
    return _excerpt(text, target.key, _EXCERPT)


def limits(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers about rate limits, names in lower case."""
    named = {name.lower(): value for name, value in headers.items()}
    return {name: value for name, value in named.items() if "ratelimit" in name or name in _LIMITS}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks us to wait; None if it does not, or if they can't be parsed."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    wanted = headers.get("retry-after")
    seconds = _number(wanted)
    if seconds is not None or not wanted:
        return seconds
    end, start = _moment(wanted), _moment(headers.get("date", ""))  # the server's clock: ours may differ
    return None if end is None else max(0.0, end - (time.time() if start is None else start))


def shown(address: str) -> str:
    """Return an address without a password."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def refused(refusal: ErrorResponse, target: Target) -> ModelError:
    """Return the error for an error response."""
    cause = _cause(refusal)
    advice = ""
    if cause is Cause.AUTHENTICATION:
        advice = f"; check {target.key_name}"
    elif cause is Cause.UNKNOWN_MODEL:
        advice = cut(f"; check that {target.address} has a model {target.model}", LONGEST // 2)
    what = f"the server answered {refusal.status}: {refusal.words}"
    error = failed(cause, what, target, advice=advice, retry_after=retry_after(refusal.headers))
    error.overloaded, error.headers = refusal.status in _TOO_MUCH_WORK, limits(refusal.headers)
    too_long = refusal.status == _CONTENT_TOO_LARGE or bool(_TOO_LONG.search(f"{refusal.code} {refusal.words}"))
    error.too_long = cause is Cause.BAD_REQUEST and too_long
    return error


def _cause(refusal: ErrorResponse) -> Cause:
    status, text = refusal.status, f"{refusal.code} {refusal.words}"
    if status == _PAYMENT_REQUIRED or _is_about_money(refusal):
        return Cause.QUOTA
    if status in _ABOUT_CONTENT and _FILTER.search(text):
        return Cause.FILTERED
    if status == _BAD_REQUEST and _BAD_KEY.search(text):
        return Cause.AUTHENTICATION
    is_no_model = status == _BAD_REQUEST and refusal.param in {"", "model"} and _NO_MODEL.search(text)
    if is_no_model or status < _BAD_REQUEST:  # a redirect is not followed: the key stays here
        return Cause.UNKNOWN_MODEL
    return _BY_STATUS.get(status, Cause.OVERLOADED if status >= _SERVER_ERROR else Cause.BAD_REQUEST)


def _is_about_money(refusal: ErrorResponse) -> bool:
    """Whether the account has no money left, so that waiting does not help.

    A 429 may mention billing only to explain how to raise the limit: there the code decides, if it has one.
    """
    if refusal.status != _TOO_FAST:
        text = f"{refusal.code} {refusal.words}"
        return refusal.status in _ABOUT_MONEY and bool(_speaks_of_money(text) or _BILLING.search(text))
    codes = refusal.code.lower().split()
    if any(map(_NO_MONEY_CODE.fullmatch, codes)):
        return True
    if not _TOO_FAST_CODES.isdisjoint(codes):
        return False
    return _speaks_of_money(refusal.words) and not _SOON.search(refusal.words)


def _speaks_of_money(text: str) -> bool:
    """Whether a text says that the account has no money left or no payment method."""
    return bool(_NO_MONEY.search(text) or (_NO_CARD.search(text) and not _TOO_FAST_WORDS.search(text)))


_BAD_REQUEST, _PAYMENT_REQUIRED, _CONTENT_TOO_LARGE, _TOO_FAST, _SERVER_ERROR = 400, 402, 413, 429, 500
_TOO_MUCH_WORK = frozenset({503, 529})
_ABOUT_MONEY = frozenset({400, 401, 403, 412})
_ABOUT_CONTENT = frozenset({400, 403, 422})
_BY_STATUS: Mapping[int, Cause] = {
    401: Cause.AUTHENTICATION,
    403: Cause.AUTHENTICATION,
    404: Cause.UNKNOWN_MODEL,
    405: Cause.UNKNOWN_MODEL,
    408: Cause.OVERLOADED,
    409: Cause.OVERLOADED,
    429: Cause.RATE_LIMITED,
}


def _inner(body: object) -> object:
    return body.get("error", body) if isinstance(body, dict) else body


def _behind(body: object) -> object:
    """Return the error of the server behind a gateway, which OpenRouter has in its metadata; None if there is none."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return raw


def _words(body: object) -> str:
    """Return the message in an error, in any of the formats in use."""
    if isinstance(body, dict):
        found = (body[name] for name in ("message", "detail", "msg", "error") if body.get(name))
        return str(next(found, body or ""))
    return re.sub(r"<[^>]*>", " ", str(body or "")).strip()


def _excerpt(text: str, key: str, room: int) -> str:
    """Return a text in one line of limited length, without any key."""
    if len(key) >= _SHORTEST_KEY:
        text = text.replace(key, "[key]")
    line = " ".join(_LIKE_A_KEY.sub("[key]", redacted(text)).split())
    return line if len(line) <= room else cut(line, room - 1)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
