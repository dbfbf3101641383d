"""The oracle: an agent that knows the answer key. If it scores below 1.000, the harness is wrong."""

from collections.abc import Sequence

from pytest_crmeval.conversations.references import REFERENCE, outputs_of, resolve, resolved
from pytest_crmeval.conversations.scorers.facts import NOTHING, facts_of
from pytest_crmeval.conversations.troubled_crm import NO_ANSWER
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolResult
from pytest_crmeval.domain.transcript import Outputs, answered_in
from pytest_crmeval.ports.crm_calls import canonical, writes

DECLINED = "That is not something the CRM can do."
UNCLEAR = "Which one do you mean? Please tell me more."


class Oracle:
    """Makes the reference calls of one conversation, and then reports their results."""

    name = "oracle"
    reply_timeout = 0

    def __init__(self, conversation: Conversation, *, recites: bool = False) -> None:
        self._expectations = [turn.expectation for turn in conversation.turns]
        self._calls = [expectation.call for expectation in self._expectations]
        self._recites = recites
        """Whether it replies with the expected response of the dataset, word for word, true or not."""

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make the next expected call of the current turn; after the last one, report the results."""
        del tools  # the oracle knows what to call
        starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
        expectation, said = self._expectations[len(starts) - 1], messages[starts[-1] :]
        results = [result for _, result in answered_in(said) if result.error != NO_ANSWER]
        if len(results) < len(expectation.calls):
            call = expectation.calls[len(results)]
            refers = REFERENCE.search(repr(call.arguments))
            return Reply(calls=(resolved(call, outputs_of(messages, self._calls)) if refers else call,))
        if self._recites and expectation.answer:
            return Reply(text=expectation.answer.text or next(iter(expectation.answer.others), "Done."))
        outputs = outputs_of(messages, self._calls) if expectation.facts else {}
        return Reply(text=truthful_reply(expectation, results, outputs))


def truthful_reply(expectation: Expectation, results: Sequence[ToolResult], outputs: Outputs) -> str:
    """Return a reply that reports the results of a turn's calls, in their order.

    If the turn expects no call, the reply asks back or declines, after the facts that the case expects.
    """
    if not expectation.calls:
        said = UNCLEAR if expectation.asks else DECLINED
        facts = _listed([resolve(fact, outputs) for fact in expectation.facts or ()])
        return f"{facts}. {said}" if facts else said
    beside = bool(expectation.further)
    parts = zip(expectation.parts, results, strict=False)
    words = [result_in_words(part, result, outputs, beside=beside) for part, result in parts]
    words += [UNCLEAR] if expectation.asks else []
    return " ".join(filter(None, dict.fromkeys(words)))


def result_in_words(part: Expectation, result: ToolResult, outputs: Outputs, *, beside: bool = False) -> str:
    """Return one result in words; ``beside`` others, a result that was only found is not reported as done."""
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
