"""A language model behind an SDK, or behind a cassette."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, Protocol

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.usage import Usage

StopReason = Literal["said", "calls", "length", "refusal"]
"""Why a model stopped: its answer is complete, it calls tools, its tokens ran out, or it refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIdentity:
    """A model and its settings: everything besides the prompt that its answers depend on."""

    provider: str
    model: str
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Temperature, output tokens and other request parameters, but no key or address."""

    def __str__(self) -> str:
        """Return provider:model."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One complete request; models keep no state between requests."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    must_call: str = ""
    """The tool that the model must call; empty if it may choose."""
    carried: Mapping[int, Json] = field(default_factory=dict)
    """What the model wants back of its earlier answers, by the place of the message that each became."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer of a model."""

    reply: Reply
    usage: Usage
    """Usage of this call: ``calls`` is 1, and ``retries`` counts the attempts before it."""
    ending: StopReason = "said"
    carried: Json = None
    """What the model wants back with this answer: signed thoughts, reasoning items; None if nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One exchange with a model: the prompt and the completion."""

    identity: ModelIdentity
    prompt: Prompt
    completion: Completion
    seconds: float = 0.0
    """From the first attempt to the answer, including waiting."""


class Cause(StrEnum):
    """Why a model gave no answer."""

    AUTHENTICATION = "authentication"
    """401, 403: the key is wrong or lacks permission."""
    UNKNOWN_MODEL = "unknown model"
    """404: there is no such model, or no such address."""
    BAD_REQUEST = "bad request"
    """400, 413, 422 and the like: the same request would be refused again."""
    FILTERED = "filtered"
    """The provider's filter blocked the request or the answer."""
    RATE_LIMITED = "rate limited"
    """429."""
    OVERLOADED = "server error"
    """408, 409, 5xx, 529."""
    CONNECTION = "connection"
    """No connection, or it was lost."""
    TIMEOUT = "timeout"
    """No complete answer within the deadline."""
    MALFORMED = "malformed answer"
    """The answer can't be used: it is not JSON, or has no choice."""
    TOO_LARGE = "too large an answer"
    QUOTA = "out of credit"
    """429 because the account is out of money, so that waiting does not help."""
    LATER = "asked to retry later"
    """429 with a longer wait than our patience."""
    UNREACHABLE = "unreachable"
    """The server can't be reached: a certificate or proxy is invalid, or the address has never answered."""
    GIVEN_UP = "given up"
    """No call is allowed any more: the model has stopped answering, or the budget is used up."""
    NOT_RECORDED = "not in the cassette"
    NO_RECORDING = "can't be recorded"
    """The recording would overwrite a file that must be kept."""


_RETRIED = frozenset({Cause.RATE_LIMITED, Cause.OVERLOADED, Cause.CONNECTION, Cause.TIMEOUT, Cause.MALFORMED})
_FINAL = frozenset(
    {Cause.AUTHENTICATION, Cause.UNKNOWN_MODEL, Cause.QUOTA, Cause.LATER, Cause.UNREACHABLE, Cause.GIVEN_UP}
)
_ABOUT_CONTENT = frozenset({Cause.FILTERED, Cause.TOO_LARGE})
_SILENT = frozenset({Cause.CONNECTION, Cause.TIMEOUT})
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class ModelError(Exception):
    """A model gave no answer; this is an infrastructure failure, never the subject's."""

    def __init__(  # noqa: PLR0913 (all that is known of a failure)
        self,
        cause: Cause,
        message: str,
        *,
        retry_after: float | None = None,
        overloaded: bool = False,
        headers: Mapping[str, str] = _NO_HEADERS,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.overloaded = overloaded
        """Whether a server error reports overload: 503, 529."""
        self.too_long = False
        """Whether a request was refused because the dialogue does not fit into the model's context."""
        self.retry_after = retry_after
        """Seconds that the server wants us to wait."""
        self.headers = headers
        """Response headers about rate limits, names in lower case."""
        self.usage = usage
        """The usage of an unusable answer, which was paid for; None if unknown, or if there was no answer."""

    def __str__(self) -> str:
        """Return the cause and the message."""
        return f"{self.cause}: {self.args[0]}"

    @property
    def is_retried(self) -> bool:
        """Whether the same request may be answered later."""
        return self.cause in _RETRIED

    @property
    def is_throttling(self) -> bool:
        """Whether the server is overloaded, so that fewer calls should be made."""
        return self.cause is Cause.RATE_LIMITED or self.overloaded

    @property
    def is_silence(self) -> bool:
        """Whether there was no response at all."""
        return self.cause in _SILENT

    @property
    def is_about_content(self) -> bool:
        """Whether the error depends on this dialogue only, and says nothing about the model."""
        return self.too_long or self.cause in _ABOUT_CONTENT

    @property
    def is_final(self) -> bool:
        """Whether no further request to this model will be answered."""
        return self.cause in _FINAL


class ChatModel(Protocol):
    """A language model that completes prompts, including any retries."""

    @property
    def identity(self) -> ModelIdentity:
        """The model and its settings."""
        ...

    def complete(self, prompt: Prompt) -> Completion:
        """Return the completion; ModelError if there is none after all retries."""
        ...
