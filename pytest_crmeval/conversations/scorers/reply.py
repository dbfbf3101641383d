"""Whether the replies say what the user asked for, and nothing that the CRM does not bear out."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pytest_crmeval.conversations.scorers.deeds import claimed, claims_in, denied, false_deeds, says_done, says_now
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.lexicon import listed
from pytest_crmeval.conversations.scorers.mentions import words_of
from pytest_crmeval.conversations.scorers.missing_facts import asked_facts, missing_facts
from pytest_crmeval.conversations.scorers.naming import (
    absent_records,
    miscounts,
    misplaced,
    strangers,
    unasked,
    unnamed,
    wrong_records,
)
from pytest_crmeval.conversations.scorers.number_words import in_digits
from pytest_crmeval.conversations.scorers.reading import sentences_of
from pytest_crmeval.conversations.scorers.records import Key, Records, key_of
from pytest_crmeval.conversations.scorers.refusals import wrong_reason
from pytest_crmeval.conversations.scorers.statements import Sentence, denies
from pytest_crmeval.conversations.scorers.texts import untrue_texts
from pytest_crmeval.conversations.scorers.turn_facts import TurnFacts
from pytest_crmeval.conversations.scorers.turns import Played, Remembered, reason_of, turns_of
from pytest_crmeval.conversations.scorers.values import untrue_values
from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.cutting import redacted_quotes
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.messages import ToolResult
from pytest_crmeval.domain.score import Score

READ = 20_000
"""Characters of a reply that are read."""
_REFUSALS = listed(
    "invalid error already closed deleted gone removed locked blocked duplicate unknown exists must only taken belongs "
    "exceed exceeds exceeded exceeding maximum minimum limit limits capped caps highest lowest most least past passed "
    "malformed typo mistyped incomplete stays stay remains remain still outside beyond impossible unsupported "
    "unavailable limited afraid unfortunately sorry lacks ends too above over between fewer uses"
)
"""Words by which a reply says that something can't be done, beside denials."""
_TURNED_DOWN = re.compile(
    r" (?:(?:an)?other tool|please (?:ask|use|turn)|ha(?:ve|s) to|as it was|someone else|can only|yourself|department"
    r"|elsewhere|for your|contact your) "
)
_INVITES = re.compile(
    r" (?:(?:please|kindly|could you|can you|would you|just) (?:\w+ly )?(?:tell|confirm|specify|clarify|provide"
    r"|let me know|give|choose|pick|share|send|check|say|name|double check)"
    r"|(?:let me know|tell me) (?:which|what|who|whose|the|whether|your|how|more|if you mean)"
    r"|(?:i|will|would|still) (?:still )?need|i require|need to know|(?:not sure|unclear) (?:which|what|who)"
    r"|(?:send|give) me|once (?:i|you)) "
)
"""Questions without a question mark."""
_COURTESY = re.compile(
    r" (?:(?:anything|what|something) else|what (?:s )?next|(?:help|assist) (?:you )?(?:further|with|today)"
    r"|(?:how can|how may) i help|(?:any|other|further) questions|(?:does|is) that (?:help|fine|ok|all right|right)"
    r"|a summary) "
)
"""Questions that are only polite."""


def reply(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose reply is right; all of them must be."""
    faults = reply_faults(case, evidence)
    return Score(name="reply", value=faults.count("") / len(faults), reason=reason_of(faults))


@Remembered
def reply_faults(case: Conversation, evidence: Evidence) -> Iterator[str]:
    """Yield for each turn what is wrong with its reply; empty if nothing is."""
    seeded = {row_id for rows in case.seed.values() for row_id in rows}
    for turn, facts in turn_facts(case, evidence):
        yield _fault(turn, facts, seeded)


def turn_facts(case: Conversation, evidence: Evidence) -> Iterator[tuple[Played, TurnFacts]]:
    """Yield each turn with what its reply can be judged by; judge it before you ask for the next."""
    seeded = {row_id for rows in case.seed.values() for row_id in rows}
    records = Records.seeded(evidence.reference.before, seeded)
    heard: list[str] = []
    today = case.now.date().isoformat()
    for turn in turns_of(case, evidence):
        records.play(turn.calls)
        results = [result for message in turn.exchange.messages for result in message.results]
        answers = " ".join(
            result.error.message if result.error else f"{result.note} {_overview(result)}" for result in results
        )
        user = turn.exchange.messages[0].text
        heard += [user, answers, *_given(turn)]
        reads = not all(part.writes for part in turn.parts)
        yield (
            turn,
            TurnFacts(
                records=records,
                user=user,
                answers=answers,
                heard=heard,
                base=_base(turn, records, reads=reads),
                facts=[fact for part in turn.parts for fact in asked_facts(part)],
                today=today,
                reads=reads,
                several=bool(turn.expectation.further),
                errors=[result.error for result in results if result.error],
            ),
        )


def _overview(result: ToolResult) -> str:
    """Return what a result says that has no rows: counts and sums."""
    return "" if any(rows_in(result.value)) else str(result.value)


def _given(turn: Played) -> Iterator[str]:
    """Yield the texts that the agent has given to tools."""
    for call, _ in turn.calls:
        if isinstance(call.arguments, Mapping):  # an agent may send anything
            yield from (value for value in call.arguments.values() if isinstance(value, str))


def _fault(turn: Played, facts: TurnFacts, seeded: Collection[str]) -> str:
    text = in_digits(turn.exchange.reply[:READ])
    if not text.strip():
        return "it was still calling tools when its steps ran out" if turn.exchange.cut else "the reply is empty"
    said = facts.said = sentences_of(text, facts.records.phrases)
    fault = _wrong_outcome(said, turn, facts, seeded) or missing_facts(text, said, turn, facts)
    fault = fault or next(_untrue(said, turn, facts), "")
    return fault and redacted_quotes(fault, turn.exchange.reply)


def _base(turn: Played, records: Records, *, reads: bool) -> Sequence[Key]:
    """Return the records that a turn is about: written, shown if it was to read, or else those it should have shown."""
    written = [write.key for write in records.written]
    shown = [key for keys in records.shown for key in keys] + records.sought
    if written:
        return [*dict.fromkeys([*written, *(shown if reads else ())])]
    wanted = [key_of(row) for part in turn.parts for row in rows_in(part.wanted)]
    return [*dict.fromkeys([*shown, *(key for key in wanted if key in records.rows)])]


def _wrong_outcome(said: Sequence[Sentence], turn: Played, facts: TurnFacts, seeded: Collection[str]) -> str:
    """Return where a reply does not fit the outcome that is expected of a turn: a question, a refusal, a change."""
    written, fault = facts.records.written, ""
    if turn.expectation.asks and not _asks_back(said, turn):
        return "the reply should ask the user, but does not"
    if turn.calls_nothing and not turn.expectation.asks and not _declines(said, turn):
        return "the CRM can't do this, but the reply does not say so"
    if turn.expectation.asks or turn.calls_nothing or not turn.expectation.succeeds:
        if not turn.expectation.succeeds and not _declines(said, turn) and not _asks_back(said, turn):
            return "the CRM refuses this, but the reply does not say so"
        fault = wrong_reason(said, facts) if not turn.expectation.succeeds else ""
        words = claimed(said) or (says_now(said) if turn.expectation.asks else "") if not written else ""
        fault = fault or (f'"{words}": nothing was written' if words else "")
    wrote = any(writes(call.tool) and not result.refused for call, result in turn.calls)
    if not fault and wrote and (not turn.expectation.succeeds or any(_changes(part, seeded) for part in turn.parts)):
        clause = denied(said, facts)
        fault = f'the reply denies the change ("{clause}")' if clause else ""
        if not fault and turn.expectation.succeeds and _says_nothing(said):
            fault = "the reply does not say that it was done"
    return fault


def _says_nothing(said: Sequence[Sentence]) -> bool:
    """Whether a reply only asks, promises, or says that it does not know."""
    if not said or claims_in(said) or says_done(said):
        return False
    put_off = frozenset({"later", "soon", "please"})
    return all(s.asks or (not s.mentions and (s.spelled & put_off or denies([w.text for w in s.words]))) for s in said)


def _declines(said: Sequence[Sentence], turn: Played) -> bool:
    """Whether a reply says no: in words that deny, or that state a limit; not in those of the user."""
    user = words_of(turn.exchange.messages[0].text)
    for sentence in said:
        words = words_of(sentence.text)
        declines = sentence.spelled & _REFUSALS or any(denies(clause) for _, _, clause in sentence.clauses)
        if words not in user and (declines or _TURNED_DOWN.search(words)):
            return True
    return False


def _asks_back(said: Sequence[Sentence], turn: Played) -> bool:
    """Whether a reply wants to know something before it goes on; politeness, or the user's own question, does not."""
    user = words_of(turn.exchange.messages[0].text)
    for sentence in said:
        words = words_of(sentence.text)
        asks = sentence.asks or words.endswith(" please ") or _INVITES.search(words)
        if asks and words not in user and not _COURTESY.search(words):
            return True
    return False


def _changes(turn: Played, seeded: Collection[str]) -> bool:
    """Whether a turn changes something; who ensures what is there already changes nothing."""
    row = turn.wanted if turn.expected.tool.startswith("ensure_") else None
    return turn.writes and not (isinstance(row, Mapping) and row.get("client_id") in seeded)


def _untrue(said: Sequence[Sentence], turn: Played, facts: TurnFacts) -> Iterator[str]:
    """Yield what a reply says that is not so."""
    asked = _asked(turn)
    for sentence in said:
        yield from _untrue_sentence(sentence, said, asked, facts)
        if len(said) > 1:
            facts.follow(sentence)
    yield from false_deeds(said, facts)
    yield from wrong_records(said, facts)
    if turn.expectation.succeeds and not turn.expectation.asks:
        yield from unnamed(said, facts)


def _untrue_sentence(
    sentence: Sentence, said: Sequence[Sentence], asked: Sequence[Key], facts: TurnFacts
) -> Iterator[str]:
    yield from untrue_values(sentence, facts)
    yield from untrue_texts(sentence, facts)
    yield from strangers(sentence, facts)
    yield from misplaced(sentence, facts)
    yield from miscounts(sentence, facts, said)
    yield from absent_records(sentence, facts)
    yield from unasked(sentence, asked, facts)


def _asked(turn: Played) -> list[Key]:
    """Return the records that were to be found by what they are; none if the turn wants something else as well."""
    parts = turn.parts
    if turn.expectation.asks or not all(
        p.expected.tool.endswith("_search") and p.expectation.facts is None for p in parts
    ):
        return []
    return [key_of(row) for part in parts for row in rows_in(part.wanted)]
