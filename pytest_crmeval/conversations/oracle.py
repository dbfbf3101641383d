"""The perfect agent: it knows the answer key, so a score below 1.000 means that the harness is wrong."""

from collections.abc import Sequence

from pytest_crmeval.conversations.scorers.facts import NOTHING, facts_of
from pytest_crmeval.domain.calls import canonical, writes
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolResult
from pytest_crmeval.domain.references import REFERENCE, Outputs, answered_in, outputs_of, resolve, resolved

DECLINED = "That is not something the CRM can do."
UNCLEAR = "Which one do you mean? Please tell me more."


class Oracle:
    """Makes the reference calls of one conversation, and then says what came of them."""

    name = "oracle"

    def __init__(self, conversation: Conversation, *, recites: bool = False) -> None:
        self._expectations = [turn.expectation for turn in conversation.turns]
        self._calls = [expectation.call for expectation in self._expectations]
        self._recites = recites
        """Whether it says the published reply, to the letter, true or not."""

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make the next expected call of the current turn; when all have been answered, say what came of them."""
        del tools  # the oracle knows what to call
        starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
        expectation, said = self._expectations[len(starts) - 1], messages[starts[-1] :]
        step = sum(message.speaker == "agent" for message in said)
        if step < len(expectation.calls):
            return Reply(calls=(self._resolved(expectation.calls[step], messages),))
        return Reply(text=self._words(expectation, messages, [result for _, result in answered_in(said)]))

    def _resolved(self, call: ToolCall, messages: Sequence[Message]) -> ToolCall:
        refers = REFERENCE.search(repr(call.arguments))
        return resolved(call, outputs_of(messages, self._calls)) if refers else call

    def _words(self, expectation: Expectation, messages: Sequence[Message], results: Sequence[ToolResult]) -> str:
        if self._recites and expectation.answer:
            return expectation.answer.text or next(iter(expectation.answer.others), "Done.")
        return told(expectation, results, outputs_of(messages, self._calls) if expectation.facts else {})


def told(expectation: Expectation, results: Sequence[ToolResult], outputs: Outputs) -> str:
    """Return what a truthful agent says about the results of a turn's calls, in their order."""
    if not expectation.calls:
        return _unanswered(expectation, outputs)
    beside = bool(expectation.further)
    parts = zip(expectation.parts, results, strict=False)
    words = [told_of(part, result, outputs, beside=beside) for part, result in parts]
    words += [UNCLEAR] if expectation.asks else []
    return " ".join(filter(None, dict.fromkeys(words)))


def _unanswered(expectation: Expectation, outputs: Outputs) -> str:
    """Return what is said where there is nothing to call: a question, or no; and what the case wants to hear."""
    said = UNCLEAR if expectation.asks else DECLINED
    facts = _listed([resolve(fact, outputs) for fact in expectation.facts or ()])
    return f"{facts}. {said}" if facts else said


def told_of(part: Expectation, result: ToolResult, outputs: Outputs, *, beside: bool = False) -> str:
    """Return what a truthful agent says about one result; ``beside`` others, what was found is not said to be done."""
    if result.error is not None:
        return f"That was not possible: {result.error.message}"
    facts = facts_of(part, canonical(part.call).tool, result.value, outputs)
    if facts == [NOTHING]:
        return "There is nothing like that in the CRM."
    if not facts:
        return "" if part.asks else "Done."
    if not beside:
        return f"{'I found:' if part.asks else 'Done:'} {_listed(facts)}."
    return f"{'Done. ' if writes(part.call.tool) else ''}I found: {_listed(facts)}."


def _listed(facts: Sequence[Json]) -> str:
    return ", ".join(map(str, facts))
