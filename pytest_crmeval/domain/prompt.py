"""What is asked of a language model, and what it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.usage import Usage

StopReason = Literal["said", "calls", "length", "refusal"]
"""Why a model stopped: it had said all, it calls tools, its tokens ran out, it does not want to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIdentity:
    """Which model is asked, and how: what decides its answers besides the prompt."""

    provider: str
    model: str
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Temperature, output tokens, and whatever else is sent along; no key, no address."""

    def __str__(self) -> str:
        """Return provider:model."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request: it is complete, models remember nothing."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    must_call: str = ""
    """The one tool that the model has to call; empty if it may do as it likes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer of a model."""

    reply: Reply
    usage: Usage
    """Of this one call: ``calls`` is 1, ``retries`` what came before."""
    ending: StopReason = "said"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One exchange with a model: what was asked, and what came back."""

    identity: ModelIdentity
    prompt: Prompt
    completion: Completion
    seconds: float = 0.0
    """From the first attempt to the answer, waiting included."""
