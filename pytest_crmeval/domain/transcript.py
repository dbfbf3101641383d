"""The dialogue as it was played."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.messages import Message, ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One turn as played: what the user said and everything that followed it."""

    messages: Sequence[Message]
    cut: bool = False
    """Whether the agent was still calling tools when its steps ran out."""

    @property
    def calls(self) -> Iterator[tuple[ToolCall, ToolResult]]:
        """Every call of the turn with what came back."""
        for asked, answered in zip(self.messages, self.messages[1:], strict=False):
            yield from zip(asked.calls, answered.results, strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """All turns of one conversation as played."""

    exchanges: Sequence[Exchange] = ()

    def lines(self) -> Iterator[str]:
        """Yield the dialogue as a person wants to read it."""
        for number, exchange in enumerate(self.exchanges, start=1):
            for message in exchange.messages:
                yield from _lines(number, message)
            if exchange.cut:
                yield f"  {number} (stopped: the agent used up its steps)"


def _lines(turn: int, message: Message) -> Iterator[str]:
    if message.text or message.speaker == "user":
        yield f"  {turn} {message.speaker}: {message.text}"
    for call in message.calls:
        arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        yield f"  {turn} {message.speaker} calls {call.tool}({arguments})"
    for result in message.results:
        said = f"{result.error.kind}: {result.error.message}" if result.error else _short(result.value)
        yield f"  {turn} {message.speaker}: {said}"


def _short(value: object, limit: int = 400) -> str:
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
