"""Whether the replies say what the user asked for, and nothing that the CRM does not bear out."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pytest_crmeval.conversations.scorers.deeds import claimed, false_deeds, says_now
from pytest_crmeval.conversations.scorers.denials import denied
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.lexicon import OPEN, listed
from pytest_crmeval.conversations.scorers.mentions import read, words_of
from pytest_crmeval.conversations.scorers.naming import (
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
from pytest_crmeval.conversations.scorers.turns import Played, Remembered, told, turns_of
from pytest_crmeval.conversations.scorers.untold import asked_facts, untold
from pytest_crmeval.conversations.scorers.values import untrue_values
from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.cutting import redacted_quotes
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.messages import ToolResult
from pytest_crmeval.domain.score import Score

READ = 20_000
"""Letters of a reply that are read."""
_REFUSALS = listed(
    "invalid error already closed deleted gone removed locked blocked duplicate unknown exists must only taken belongs "
    "exceed exceeds exceeded exceeding maximum minimum limit limits capped caps highest lowest most least past passed "
    "malformed typo mistyped incomplete stays stay remains remain still rejected rejects refuses refuse refused "
    "declined "
    "denied outside beyond impossible unsupported unavailable limited afraid unfortunately sorry yourself lacks ends "
    "department elsewhere too above over between problem fewer uses contact desk"
)
"""Words by which one says that something can't be done."""
_TURNED_DOWN = (
    *("another tool", "other tool", "please ask", "please use", "please turn", "for your", "have to", "has to"),
    *("as it was", "someone else", "can only"),
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
"""Questions that one asks out of politeness."""
_PUT_OFF = frozenset({"later", "soon", "please"})
_STANDS = re.compile(r"\bis (?:at|in)\s+([^;:]{1,40})$")


def reply(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose reply is right; all of them must be."""
    faults = reply_faults(case, evidence)
    return Score(name="reply", value=faults.count("") / len(faults), reason=told(faults))


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
    fault = _amiss(said, turn, facts, seeded) or untold(text, said, turn, facts) or next(_untrue(said, turn, facts), "")
    return fault and redacted_quotes(fault, turn.exchange.reply)


def _base(turn: Played, records: Records, *, reads: bool) -> Sequence[Key]:
    """Return the records that a turn is about: written, shown if it was to read, or else those it should have shown."""
    written = [write.key for write in records.written]
    shown = [key for keys in records.shown for key in keys] + records.sought
    if written:
        return [*dict.fromkeys([*written, *(shown if reads else ())])]
    wanted = [key_of(row) for part in turn.parts for row in rows_in(part.wanted)]
    return [*dict.fromkeys([*shown, *(key for key in wanted if key in records.rows)])]


def _amiss(  # noqa: PLR0911 (one for each kind of turn)
    said: Sequence[Sentence], turn: Played, facts: TurnFacts, seeded: Collection[str]
) -> str:
    """Return where a reply does not go with what is to come of a turn: a question back, a no, a yes."""
    written = facts.records.written
    if turn.expectation.asks:
        if not _asks_back(said, turn):
            return "the user is to be asked back, and the reply does not ask"
        now = says_now(said) if not written else ""
        return f'"{now}": nothing was written' if now else _claimed(said, facts)
    if turn.calls_nothing:
        return (
            _claimed(said, facts) if _declines(said, turn) else "this is not for the CRM, and the reply does not say so"
        )
    if not turn.expectation.succeeds:
        if not _declines(said, turn) and not _asks_back(said, turn):
            return "the CRM refuses this, and the reply does not say so"
        refused = _as_if(said, turn.parts[0], facts) or wrong_reason(said, facts)
        return refused or (_denial(said, facts) if written else _claimed(said, facts))
    wrote = any(writes(call.tool) and not result.refused for call, result in turn.calls)
    if wrote and any(_changes(part, seeded) for part in turn.parts):
        return "the reply does not say that it was done" if _puts_off(said) else _denial(said, facts)
    return ""


def _denial(said: Sequence[Sentence], facts: TurnFacts) -> str:
    clause = denied(said, facts)
    return f'the reply denies the change ("{clause}")' if clause else ""


def _claimed(said: Sequence[Sentence], facts: TurnFacts) -> str:
    words = claimed(said) if not facts.records.written else ""
    return f'"{words}": nothing was written' if words else ""


def _as_if(said: Sequence[Sentence], turn: Played, facts: TurnFacts) -> str:
    """Return where a reply says that something is now what it was not allowed to become."""
    ids = {str(value) for value in turn.expected.arguments.values()}
    current = [row for key, row in facts.records.rows.items() if key[1] in ids]
    refused = [
        read(str(value)).words.strip() if isinstance(value, str) else value
        for name, value in turn.expected.arguments.items()
        if turn.writes and not name.endswith("_id") and not any(row.get(name) == value for row in current)
    ]
    for sentence in said:
        for start, end, words in sentence.clauses if not sentence.asks else ():
            clause = sentence.text[start:end].strip(" ,;.!")
            now = "now" in words and not denies(words[: words.index("now")])
            there = _STANDS.search(clause) if not denies(words) else None
            heard = read(clause if now else there[1] if there else "")
            if any(value for value in refused if value and heard.text and heard.says(value)) and not OPEN & {*words}:
                return f'"{clause}": the CRM refused it'
    return ""


def _puts_off(said: Sequence[Sentence]) -> bool:
    """Whether a reply only asks, promises or demands."""
    return bool(said) and all(s.asks or (s.spelled & _PUT_OFF and not s.mentions) for s in said)


def _declines(said: Sequence[Sentence], turn: Played) -> bool:
    """Whether a reply says no: in words that deny, or that tell a limit; not in those of the user."""
    user = words_of(turn.exchange.messages[0].text)
    for sentence in said:
        words = words_of(sentence.text)
        if words in user:
            continue
        if any(denies(clause) for _, _, clause in sentence.clauses) or sentence.spelled & _REFUSALS:
            return True
        if any(f" {phrase} " in words for phrase in _TURNED_DOWN):
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
        if sentence.mentions or any(word.capital for word in sentence.words[1:]) or {"no", "any"} & sentence.spelled:
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
    yield from miscounts(sentence, facts, said) if not facts.records.written else ()
    yield from unasked(sentence, asked, facts)


def _asked(turn: Played) -> list[Key]:
    """Return the records that were to be found by what they are; none if the turn wants something else as well."""
    parts = turn.parts
    if turn.expectation.asks or not all(
        p.expected.tool.endswith("_search") and p.expectation.facts is None for p in parts
    ):
        return []
    return [key_of(row) for part in parts for row in rows_in(part.wanted)]
