"""The perfect agent: it knows the answer key, so a score below 1.000 means that the harness is wrong."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.domain.references import outputs_of, resolve


class Oracle:
    """Plays the reference calls of one conversation, then says that it did."""

    name = "oracle"

    def __init__(self, conversation: Conversation) -> None:
        self._expectations = [turn.expectation for turn in conversation.turns]

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make the expected call of the current turn; when it has been answered, say so."""
        del tools  # the oracle knows what to call
        if messages[-1].speaker == "crm":
            return Reply(text="Done.")
        turn = sum(message.speaker == "user" for message in messages)
        expected = self._expectations[turn - 1].call
        arguments = resolve(expected.arguments, outputs_of(messages))
        if not isinstance(arguments, Mapping):
            raise TypeError(f"turn {turn}: arguments are no object: {arguments!r}")
        return Reply(calls=(ToolCall(tool=expected.tool, arguments=arguments),))
