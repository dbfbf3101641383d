"""Whether the replies say what the user asked for, and nothing that is not so."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pytest_crmeval.conversations.scorers.attribution import mixups
from pytest_crmeval.conversations.scorers.contradictions import contradictions, stale
from pytest_crmeval.conversations.scorers.facts import MANY, NOTHING, facts_of, names_of
from pytest_crmeval.conversations.scorers.groundedness import Grounds, rows_in
from pytest_crmeval.conversations.scorers.mentions import Reading, read
from pytest_crmeval.conversations.scorers.overdisclosure import surplus
from pytest_crmeval.conversations.scorers.turns import Played, Remembered, told, turns_of
from pytest_crmeval.conversations.scorers.wording import (
    asks_back,
    claims_any,
    denials,
    figures_stated,
    has_chosen,
    says_absent,
    says_done,
    says_failed,
    says_neither,
    says_no,
    says_none,
    says_not_all,
    says_nothing_done,
    says_outside,
    statements,
    without_absent,
    without_offers,
)
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.references import rows_of
from pytest_crmeval.domain.score import Score

READ = 20_000
"""Letters of a reply that are read; nobody reads on."""
_DENIED = re.compile(r"\bnot\s+(?:on\s+|for\s+)?[$\u20ac\u00a3]?\d[\d,.-]*(?:\s+[A-Z][a-z]+(?:\s+\d{4})?)?")
"""Not 20 March 2027."""
_COLUMNS = re.compile(
    r"\b(?:address|amount|client|contact|contract|date|document|email|industry|name|note|owner|phone|probability|quote|stage"
    r"|status|title|value|version)"
)
"""By what one tells which part of a request is meant."""


def reply(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose reply is right; all of them must be."""
    faults = reply_faults(case, evidence)
    return Score(name="reply", value=faults.count("") / len(faults), reason=told(faults))


@Remembered
def reply_faults(case: Conversation, evidence: Evidence) -> Iterator[str]:
    """Yield for each turn what is wrong with its reply; empty if nothing is."""
    grounds = Grounds(case.now.date().isoformat())
    seeded = {row_id for rows in case.seed.values() for row_id in rows}
    for turn in turns_of(case, evidence):
        grounds.add(turn.exchange.messages)
        yield _fault(turn, grounds, seeded)


def _fault(turn: Played, grounds: Grounds, seeded: Collection[str]) -> str:
    text = turn.exchange.reply[:READ]
    if not text.strip():
        return "it was still calling tools when its steps ran out" if turn.exchange.cut else "it said nothing"
    parts = turn.parts
    facts = [fact for part in parts for fact in _facts(part)]
    words = _without(text, [*(value for part in parts for value in part.expected.arguments.values()), *facts])
    if fault := _amiss(words, turn, seeded):
        return fault
    said, meant = read(text), read(_DENIED.sub(" ", text))
    for part in parts:
        missing = [fact for fact in _facts(part) if not _says(meant, words, fact, facts)]
        if missing and not _tells_all(said, part):
            return f"the reply does not say {', '.join(map(_quoted, missing))}"
    found = [fact for fact in facts if fact not in (NOTHING, 0)]
    if found and turn.expectation.succeeds and says_absent(text, lambda clause: any(map(read(clause).says, found))):
        return "the reply says that there is nothing, and there is"
    return _untrue(text, said, turn, grounds)


def _amiss(words: str, turn: Played, seeded: Collection[str]) -> str:
    """Return where a reply does not go with what is to come of a turn: a question back, a no, a yes."""
    if turn.expectation.asks:
        return _unasked(words, turn)
    words = words if turn.expectation.succeeds else _without(words, [turn.exchange.messages[0].text])
    if turn.calls_nothing:
        return "" if says_outside(words) else "this is not for the CRM, and the reply does not say so"
    if not turn.expectation.succeeds:
        return "" if _says_no(words, turn) else "the CRM refuses this, and the reply does not say so"
    words = without_absent(words) if any(NOTHING in _facts(part) for part in turn.parts) else words
    changes = [_changes(part, seeded) for part in turn.parts]
    denied = says_failed(words) or (all(changes) and turn.expectation.further and _denied(words, turn.parts))
    return "the reply says that it was not done" if any(changes) and denied else ""


def _denied(words: str, done: Sequence[Played]) -> bool:
    """Whether a reply denies something of what was done; what nobody asked for may well be left undone."""
    touched = {column for part in done for column in _columns(part)}
    named = [set(_COLUMNS.findall(denial.lower())) for denial in denials(words)]
    return any(not columns or columns & touched for columns in named)


def _columns(part: Played) -> set[str]:
    """Return what a call is about, in words."""
    return set(_COLUMNS.findall(" ".join([part.expected.tool, *part.expected.arguments]).replace("_", " ")))


def _unasked(words: str, turn: Played) -> str:
    """Return where a reply does not ask back; who repeats the user's own question does not."""
    heard = [message.text for message in turn.exchange.messages if message.speaker == "user"]
    if not asks_back(_without(words, heard)):
        return "the user is to be asked back, and the reply does not ask"
    refused = not turn.expectation.succeeds
    done = says_done(words, deletes=_deletes(turn)) if refused else claims_any(words)
    done = done or has_chosen(words)
    return "the reply says that something was done, and the user is still to be asked" if done else ""


def _untrue(text: str, said: Reading, turn: Played, grounds: Grounds) -> str:
    """Return what a reply says that is not so."""
    untrue = [*_stale(said, turn), *_baseless(said, grounds), *contradictions(said, turn.exchange.messages, grounds)]
    if untrue:
        return f"the reply says {', '.join(untrue)}, which nobody has said"
    if more := next(surplus(said, turn), ""):
        return f"the reply names {more!r} as if it had been asked for"
    rows = [row for _, result in turn.calls for row in rows_in(result.value)]
    return next((f"the reply says {mixed}" for mixed in mixups(text, rows)), "")


def _says_no(words: str, turn: Played) -> bool:
    """Whether a reply tells a refusal, and does not say that something is what it was not allowed to become."""
    refused, *others = turn.parts
    if refused.writes and _states(words, turn.exchange.reply[:READ], refused.expected.arguments):
        return False
    done = [part for part in others if part.writes]
    return _says_which(words, refused, done) if done else says_no(words, reads=not turn.writes, deletes=_deletes(turn))


def _says_which(words: str, refused: Played, done: Sequence[Played]) -> bool:
    """Whether a reply says that one part was refused, and does not say so of the others."""
    error = refused.reference_result.error
    if says_neither(words) or not says_not_all(words, closed=error is not None and "closed" in error.message):
        return False
    others = {column for part in done for column in _columns(part)} - _columns(refused)
    if says_nothing_done(words) and not others.intersection(_COLUMNS.findall(words.lower())):
        return False
    return not any(others.intersection(_COLUMNS.findall(denial.lower())) for denial in denials(words))


def _deletes(turn: Played) -> bool:
    return turn.expected.tool.startswith("delete_")


def _states(words: str, text: str, refused: Mapping[str, Json]) -> bool:
    """Whether a reply says of a number, a stage or a status that was refused that it is so."""
    numbers = [value for value in refused.values() if isinstance(value, int | float)]
    chosen = [re.escape(str(refused[name])) for name in ("stage", "status") if refused.get(name)]
    is_so = re.compile(
        rf"\b(?:is|are|'s)\s+(?:(?:now|in|at|on|set|to)\s+){{0,3}}(?:{'|'.join(chosen)})\b", re.IGNORECASE
    )
    if chosen and any(map(is_so.search, statements(text))):
        return True
    return any(read(figure).says(number) for figure in figures_stated(words) for number in numbers)


def _changes(turn: Played, seeded: Collection[str]) -> bool:
    """Whether a turn changes something; who ensures what is there already changes nothing."""
    row = turn.wanted if turn.expected.tool.startswith("ensure_") else None
    return turn.writes and not (isinstance(row, Mapping) and row.get("client_id") in seeded)


def _stale(said: Reading, turn: Played) -> Iterator[str]:
    """Yield what a reply says to be so that the turn has changed."""
    for part in turn.parts:
        if part.writes and part.expectation.succeeds:
            for name in ("stage", "status"):
                yield from stale(said, part.expected.arguments.get(name))


def _baseless(said: Reading, grounds: Grounds) -> Sequence[str]:
    """Return what nothing bears out; what is only asked or offered need not be."""
    found = list(grounds.baseless(said))
    return list(grounds.baseless(read(without_offers(said.text)))) if found else found


def _facts(turn: Played) -> Sequence[Json]:
    return facts_of(turn.expectation, turn.expected.tool, turn.wanted, turn.outputs)


def _without(text: str, values: Sequence[Json]) -> str:
    """Return a text without what it quotes: a client may be called No Limits, a status Rejected."""
    for value in values:
        quoted = value.strip() if isinstance(value, str) and value != NOTHING else ""
        if quoted and quoted.casefold() in text.casefold():
            text = _blanked(text, quoted)
    return text


def _blanked(text: str, quoted: str) -> str:
    """Return a text with a space for each time that it quotes something, in upper or lower case."""
    if not (text.isascii() and quoted.isascii()):
        return re.sub(re.escape(quoted), " ", text, flags=re.IGNORECASE)
    # The same without a pattern for each name: to compile one takes longer than all the rest of a reply.
    pieces, start = [], 0
    for piece in text.lower().split(quoted.lower()):
        pieces.append(text[start : start + len(piece)])
        start += len(piece) + len(quoted)
    return " ".join(pieces)


def _says(said: Reading, words: str, fact: Json, facts: Sequence[Json]) -> bool:
    if fact in (NOTHING, 0):
        return says_none(words)
    if isinstance(fact, str) and len(facts) > 1:
        return said.says_beside(fact, [other for other in facts if isinstance(other, str)])
    return said.says(fact)


def _tells_all(said: Reading, turn: Played) -> bool:
    """Whether a reply does not count many rows because it names all of them, or counts those that were cut off, too."""
    if turn.expectation.facts is not None or len(rows := rows_of(turn.wanted)) <= MANY:
        return False
    notes = [result.note for _, result in turn.calls if result.note]
    totals = [figure.value for note in notes for figure in read(note).numbers if figure.value >= len(rows)]
    return any(map(said.says, totals)) or all(map(said.says, names_of(rows)))


def _quoted(fact: Json) -> str:
    return "that there is nothing" if fact == NOTHING else repr(fact)
