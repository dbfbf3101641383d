"""The answers of the loopback server: texts, calls, errors, and every kind of failure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_crmeval.domain.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the server says that a call took; ``input`` and ``output`` are all there were."""

    input: int = 100
    cached: int = 0
    output: int = 20
    reasoning: int = 0
    written: int = 0


_USUAL = Tokens()


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What every dialect has words for."""

    text: str = ""
    calls: tuple[tuple[str, object], ...] = ()
    """Names and arguments; arguments that are a text are sent as they are, JSON or not."""
    ending: Literal["said", "calls", "length", "refusal", "nothing"] = "said"
    usage: Tokens = _USUAL
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Say:
    """Words; ``cut`` if the tokens ran out before they ended."""

    text: str
    usage: Tokens = _USUAL
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False

    @property
    def speech(self) -> Speech:
        """The neutral form."""
        ending: Literal["length", "said"] = "length" if self.cut else "said"
        return Speech(text=self.text, ending=ending, usage=self.usage, headers=self.headers)


@dataclass(frozen=True, slots=True, init=False)
class Call:
    """Calls, perhaps with words beside them."""

    calls: tuple[ToolCall, ...]
    text: str
    usage: Tokens

    def __init__(self, *calls: ToolCall, text: str = "", usage: Tokens = _USUAL) -> None:
        object.__setattr__(self, "calls", calls)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "usage", usage)

    @property
    def speech(self) -> Speech:
        """The neutral form."""
        calls = tuple((call.tool, dict(call.arguments)) for call in self.calls)
        return Speech(text=self.text, calls=calls, ending="calls", usage=self.usage)


@dataclass(frozen=True, slots=True)
class BrokenArguments:
    """A call whose arguments are this text, which need not be JSON."""

    tool: str
    text: str

    @property
    def speech(self) -> Speech:
        """The neutral form."""
        return Speech(calls=((self.tool, self.text),), ending="calls")


@dataclass(frozen=True, slots=True)
class Refuse:
    """The model does not want to."""

    text: str

    @property
    def speech(self) -> Speech:
        """The neutral form."""
        return Speech(text=self.text, ending="refusal")


@dataclass(frozen=True, slots=True)
class EmptyChoice:
    """An answer with nothing in it."""

    @property
    def speech(self) -> Speech:
        """The neutral form."""
        return Speech(ending="nothing")


@dataclass(frozen=True, slots=True)
class Huge:
    """A valid answer with this many bytes of text; zipped, it is small on the wire."""

    count: int
    zipped: bool = False

    @property
    def speech(self) -> Speech:
        """The neutral form."""
        return Speech(text="x" * self.count)


@dataclass(frozen=True, slots=True)
class Status:
    """An error as the real servers word it, or as a ``body`` of one's own.

    ``kind`` is OpenAI's code and Anthropic's type.
    """

    code: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    param: str = ""
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """Status 200, and a body that is something else."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes, HTTP or not; the connection stays."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer, until the client leaves."""


@dataclass(frozen=True, slots=True)
class CloseAtOnce:
    """Close the connection instead of an answer."""

    content = b""


@dataclass(frozen=True, slots=True)
class CloseMidBody:
    """Close it in the middle of a valid answer."""


Speaking = Say | Call | BrokenArguments | Refuse | EmptyChoice | Huge


@dataclass(frozen=True, slots=True)
class Drip:
    """A valid answer, so many bytes per second; its headers come at once with ``body_only``."""

    per_second: float = 1.0
    body_only: bool = False
    then: Speaking = Say("drop by drop")


@dataclass(frozen=True, slots=True)
class ThenClose:
    """A valid answer on a connection that seems to stay, and is closed."""

    then: Speaking = Say("bye")


@dataclass(frozen=True, slots=True)
class Slow:
    """Some other answer, later."""

    seconds: float
    then: "Answer"


Answer = Speaking | Status | Malformed | Raw | Hang | CloseAtOnce | CloseMidBody | Drip | ThenClose | Slow
