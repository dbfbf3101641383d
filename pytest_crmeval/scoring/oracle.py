"""The perfect agent: it knows the answer key, so a score below 1.000 means that the harness is wrong."""

from collections.abc import Sequence

from pytest_crmeval.domain.calls import canonical
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolResult
from pytest_crmeval.domain.references import REFERENCE, Outputs, outputs_of, resolved
from pytest_crmeval.scoring.facts import NOTHING, facts_of


class Oracle:
    """Makes the reference calls of one conversation, and then says what came of them."""

    name = "oracle"

    def __init__(self, conversation: Conversation, *, recites: bool = False) -> None:
        self._expectations = [turn.expectation for turn in conversation.turns]
        self._calls = [expectation.call for expectation in self._expectations]
        self._referring = {
            number for number, call in enumerate(self._calls, start=1) if REFERENCE.search(repr(call.arguments))
        }
        self._recites = recites
        """Whether it says the published reply, to the letter, true or not."""

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make the expected call of the current turn; when it has been answered, say what came of it."""
        del tools  # the oracle knows what to call
        turn = sum(message.speaker == "user" for message in messages)
        expectation = self._expectations[turn - 1]
        if messages[-1].speaker == "crm":
            return Reply(text=self._words(expectation, messages))
        refers = turn in self._referring
        return Reply(
            calls=(resolved(expectation.call, outputs_of(messages, self._calls)) if refers else expectation.call,)
        )

    def _words(self, expectation: Expectation, messages: Sequence[Message]) -> str:
        if self._recites and expectation.answer:
            return expectation.answer.text or next(iter(expectation.answer.others), "Done.")
        outputs = outputs_of(messages, self._calls) if expectation.facts else {}
        return told(expectation, messages[-1].results[-1], outputs)


def told(expectation: Expectation, result: ToolResult, outputs: Outputs) -> str:
    """Return what a truthful agent says about a result."""
    if result.error is not None:
        return f"That was not possible: {result.error.message}"
    facts = facts_of(expectation, canonical(expectation.call).tool, result.value, outputs)
    if facts == [NOTHING]:
        return "There is nothing like that in the CRM."
    return f"Done: {', '.join(map(str, facts))}." if facts else "Done."
