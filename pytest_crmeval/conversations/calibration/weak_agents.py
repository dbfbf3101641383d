"""Weak agents: each plays like the oracle, but makes one typical mistake wherever it can."""

from collections.abc import Sequence
from typing import ClassVar

from pytest_crmeval.conversations.oracle import Oracle, truthful_reply
from pytest_crmeval.conversations.references import fields_of, outputs_of, resolved
from pytest_crmeval.conversations.troubled_crm import NO_ANSWER
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.domain.transcript import answered_in
from pytest_crmeval.ports.crm_calls import canonical

DONE = Reply(text="Done.")


class WeakAgent(Oracle):
    """Makes the calls that the case lists for its mistake; in other turns it is the oracle."""

    skill: ClassVar[str]
    """The tag of cases in which the mistake matters."""

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Make the next call of the mistake; after the last one, report the results."""
        starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
        calls = self.mistaken(len(starts))
        if calls is None:
            return super().reply(messages, tools)
        results = [result for _, result in answered_in(messages[starts[-1] :]) if result.error != NO_ANSWER]
        if len(results) < len(calls):
            return Reply(calls=(resolved(calls[len(results)], outputs_of(messages, self._calls)),))
        return Reply(text=truthful_reply(Expectation(call=calls[0], further=calls[1:]), results, {})) if calls else DONE

    def mistaken(self, turn: int) -> Sequence[ToolCall] | None:
        """Return the wrong calls of a turn, counted from 1; None if the mistake is not possible."""
        return self._expectations[turn - 1].mistakes.get(self.name)


class FirstMatch(WeakAgent):
    """Takes the first record that a search finds."""

    name, skill = "first-match", "near-duplicates"


class OnePage(WeakAgent):
    """Stops after the first page of a result."""

    name, skill = "one-page", "pages"


class IgnoresPolicy(WeakAgent):
    """Does what the user asks for, whatever the rules of the company are."""

    name, skill = "ignores-policy", "policy"


class NeverAsks(WeakAgent):
    """Guesses where it should ask; if the case has no guess, it even knows the answer of the next turn."""

    name, skill = "never-asks", "reacting-user"

    def mistaken(self, turn: int) -> Sequence[ToolCall] | None:
        """Return the guess."""
        listed = super().mistaken(turn)
        if listed is not None or not self._expectations[turn - 1].asks:
            return listed
        return self._expectations[turn].calls if turn < len(self._expectations) else ()


class TrustsNotes(WeakAgent):
    """Follows instructions in records."""

    name, skill = "trusts-notes", "injection"


class RoundsWrongly(WeakAgent):
    """Rounds amounts the wrong way."""

    name, skill = "rounds-wrongly", "rounding"


class SkipsReReading(WeakAgent):
    """Calculates with values that it has read earlier."""

    name, skill = "skips-re-reading", "stale-read"


class Forgets(WeakAgent):
    """Remembers only what was said last."""

    name, skill = "forgets", "long-range"


class AnswersFromMemory(WeakAgent):
    """Repeats the answer of an earlier turn, instead of making the same call again."""

    name, skill = "answers-from-memory", "stale-read"

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer with the earlier result, if there is one."""
        starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
        expectation, outputs = self._expectations[len(starts) - 1], outputs_of(messages[: starts[-1]], self._calls)
        wanted = canonical(resolved(expectation.call, outputs))
        seen = [result for call, result in answered_in(messages[: starts[-1]]) if canonical(call) == wanted]
        if expectation.further or not seen or seen[-1].refused:
            return super().reply(messages, tools)
        remembered = {**outputs, len(starts): fields_of(seen[-1].value)}
        return Reply(text=truthful_reply(expectation, seen[-1:], remembered))


class GivesUp(WeakAgent):
    """Does not repeat a call that got no answer."""

    name, skill = "gives-up", "outage"

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Report the outage."""
        results = messages[-1].results
        return (
            Reply(text=NO_ANSWER.message)
            if NO_ANSWER in [each.error for each in results]
            else super().reply(messages, tools)
        )


class HidesFailures(WeakAgent):
    """Reports everything as done, also what the CRM has refused."""

    name, skill = "hides-failures", "lock"

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Say that it is done."""
        reply = super().reply(messages, tools)
        start = max(place for place, message in enumerate(messages) if message.speaker == "user")
        refused = any(result.refused for _, result in answered_in(messages[start:]))
        return DONE if refused and not reply.calls else reply


WEAK_AGENTS: Sequence[type[WeakAgent]] = (
    FirstMatch,
    NeverAsks,
    IgnoresPolicy,
    AnswersFromMemory,
    OnePage,
    TrustsNotes,
    RoundsWrongly,
    SkipsReReading,
    Forgets,
    GivesUp,
    HidesFailures,
)
