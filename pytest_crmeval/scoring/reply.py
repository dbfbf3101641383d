"""Whether the replies say what the user asked for, and nothing that the CRM does not bear out."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.references import rows_of
from pytest_crmeval.domain.score import Score
from pytest_crmeval.scoring.clauses import Clause, denies, spelled
from pytest_crmeval.scoring.counting import false_totals, miscounts
from pytest_crmeval.scoring.deeds import claimed, denied, false_deeds
from pytest_crmeval.scoring.facts import MANY, NOTHING, facts_of, names_of
from pytest_crmeval.scoring.grounds import Grounds, rows_in
from pytest_crmeval.scoring.lexicon import COLUMN_WORDS, COURTESY, INVITES, NOUNS, OPEN, REFUSALS, SOUGHT, TURNED_DOWN
from pytest_crmeval.scoring.mentions import Reading, read, words_of
from pytest_crmeval.scoring.naming import (
    altered_texts,
    misplaced,
    mixed_people,
    unasked,
    unknown_files,
    unknown_names,
    unknown_phrases,
    wrong_records,
)
from pytest_crmeval.scoring.records import Key, Records, key_of
from pytest_crmeval.scoring.scene import Scene
from pytest_crmeval.scoring.statements import became, sums, untrue
from pytest_crmeval.scoring.turns import Played, Remembered, told, turns_of
from pytest_crmeval.scoring.values import Told, told_in

_FINDS = "|".join(sorted(SOUGHT - {"contact"} | {noun for noun in NOUNS if noun.endswith("s")} - {"notes", "contacts"}))
_EMPTY_CELL = re.compile(rf"\b(?!(?:{_FINDS})\b)\w+[\"'*_`]*\s*[:|][\s*_`]*(none)\b", re.IGNORECASE)
"""The value 'none' of a field, as in 'phone: none'; 'matches: none' is another thing."""
_IS_AT = re.compile(r"\bis (?:at|in)\s+([^;:]{1,40}?)[\s.!*_]*$")
"""The end of 'the deal is at 70,000'."""
READ = 20_000
"""Letters of a reply that are read; nobody reads on."""


def reply(case: Conversation, evidence: Evidence) -> Score:
    """Score the share of turns whose reply is right; all of them must be."""
    faults = reply_faults(case, evidence)
    return Score(name="reply", value=faults.count("") / len(faults), reason=told(faults))


@Remembered
def reply_faults(case: Conversation, evidence: Evidence) -> Iterator[str]:
    """Yield for each turn what is wrong with its reply; empty if nothing is."""
    grounds = Grounds(case.now.date().isoformat())
    records = Records.seeded(evidence.reference.before, {row_id for rows in case.seed.values() for row_id in rows})
    seeded = records.known
    for turn in turns_of(case, evidence):
        grounds.add(turn.exchange.messages)
        records.play(turn.calls)
        yield _fault(turn, records, grounds, seeded)


def _fault(turn: Played, records: Records, grounds: Grounds, seeded: Collection[str]) -> str:
    text = turn.exchange.reply[:READ]
    if not text.strip():
        return "it was still calling tools when its steps ran out" if turn.exchange.cut else "it said nothing"
    scene = Scene(records, grounds, turn.exchange.messages, reads=not all(part.writes for part in turn.parts))
    facts = scene.facts = [fact for part in turn.parts for fact in _facts(part)]
    said = told_in(text, scene)
    return (
        _amiss(said, turn, scene, seeded)
        or _untold(text, said, turn, facts)
        or next(_untrue(text, said, turn, scene), "")
    )


def _amiss(  # noqa: PLR0911 (one for each kind of turn)
    said: Sequence[Told], turn: Played, scene: Scene, seeded: Collection[str]
) -> str:
    """Return where a reply does not go with what is to come of a turn: a question back, a no, a yes."""
    if turn.expectation.asks:
        if not _asks_back(said, turn):
            return "the user is to be asked back, and the reply does not ask"
        return _claimed(said, scene)
    if turn.calls_nothing:
        return (
            _claimed(said, scene) if _declines(said, turn) else "this is not for the CRM, and the reply does not say so"
        )
    if not turn.expectation.succeeds:
        if not _declines(said, turn) and not _asks_back(said, turn):
            return "the CRM refuses this, and the reply does not say so"
        if any(part.writes for part in turn.parts[1:]):
            return _denial(said, turn, scene) or _as_if(said, turn.parts[0], scene)
        return _claimed(said, scene) or _as_if(said, turn, scene)
    if scene.records.written and any(_changes(part, seeded) for part in turn.parts):
        return _denial(said, turn, scene)
    return ""


def _denial(said: Sequence[Told], turn: Played, scene: Scene) -> str:
    """Return where a reply denies what was written."""
    clause = denied(said, scene, several=bool(turn.expectation.further)) if scene.records.written else ""
    return f'reply denies the change ("{clause}")' if clause else ""


def _claimed(said: Sequence[Told], scene: Scene) -> str:
    """Return where a reply says that something was done in a turn that can't have done it."""
    words = claimed(said) or became(said, scene) if not scene.records.written else ""
    return f'"{words}": nothing was written' if words else ""


def _as_if(said: Sequence[Told], turn: Played, scene: Scene) -> str:
    """Return where a reply says that something is now what it was not allowed to become."""
    arguments = turn.expected.arguments
    row = next((scene.records.rows[key] for key in arguments.items() if key in scene.records.rows), {})
    refused = [
        value
        for name, value in arguments.items()
        if turn.writes and not name.endswith("_id") and value not in (None, row.get(name))
    ]
    clauses = (clause for each in said if not each.sentence.asks for clause in each.sentence.clauses)
    for clause in clauses:
        words = clause.spelled
        now = clause.text if "now" in words and not denies(words[: words.index("now")]) else ""
        there = _IS_AT.search(clause.text) if not _negates(clause) and not clause.has(OPEN) else None
        if any(map(read(now or (there[1] if there else "")).says, refused)):
            return f'"{clause.text.strip()}": the CRM refused it'
    return ""


def _declines(said: Sequence[Told], turn: Played) -> bool:
    """Whether a reply says no: in words that deny, or that tell a limit; not in those of the user."""
    user = words_of(turn.exchange.messages[0].text)
    for each in said:
        if each.sentence.text.strip() and words_of(each.sentence.text) in user:
            continue
        for clause in each.sentence.clauses:
            if (
                _negates(clause)
                or clause.has(REFUSALS)
                or any(f" {phrase} " in words_of(clause.text) for phrase in TURNED_DOWN)
            ):
                return True
    return False


def _negates(clause: Clause, names: Sequence[Json] = ()) -> bool:
    """Whether a clause denies something; 'no problem' does not, nor a name such as 'No Limits', nor 'Phone: none'."""
    within = {word for name in names if isinstance(name, str) for word in name.casefold().split()}
    cells = [match.start(1) + clause.start for match in _EMPTY_CELL.finditer(clause.text)]
    return denies([spelled(word) for word in clause.words if spelled(word) not in within and word.start not in cells])


def _asks_back(said: Sequence[Told], turn: Played) -> bool:
    """Whether a reply wants to know something before it goes on; politeness, or the user's own question, does not."""
    user = words_of(turn.exchange.messages[0].text)
    for each in said:
        words = words_of(each.sentence.text)
        asks = each.sentence.asks or words.endswith(" please ") or any(f" {phrase} " in words for phrase in INVITES)
        if asks and words not in user and not any(f" {phrase} " in words for phrase in COURTESY):
            return True
    return False


def _changes(turn: Played, seeded: Collection[str]) -> bool:
    """Whether a turn changes something; who ensures what is there already changes nothing."""
    row = turn.wanted if turn.expected.tool.startswith("ensure_") else None
    return turn.writes and not (isinstance(row, Mapping) and row.get("client_id") in seeded)


def _untold(text: str, said: Sequence[Told], turn: Played, facts: Sequence[Json]) -> str:
    """Return what was asked for and is not said."""
    reading = read(text)
    meant = read(
        re.sub(r"\bnot\s+(?:on\s+|for\s+)?[$\u20ac\u00a3]?\d[\d,.-]*(?:\s+[A-Z][a-z]+(?:\s+\d{4})?)?", " ", text)
    )
    for part in turn.parts:
        missing = [fact for fact in _facts(part) if not _says(meant, said, fact, facts)]
        if missing and not _tells_all(reading, part):
            return f"the reply does not say {', '.join(map(_quoted, missing))}"
    found = [fact for fact in facts if fact not in (NOTHING, 0)]
    if found and turn.expectation.succeeds and (clause := _says_absent(said, found)):
        return f'the reply says that there is nothing ("{clause}"), and there is'
    return ""


def _says_absent(said: Sequence[Told], found: Sequence[Json]) -> str:
    """Return the clause that says that nothing was found, if no other one mentions what was."""
    clauses = [(each, clause) for each in said for clause in each.sentence.clauses]
    absent = [
        clause
        for each, clause in clauses
        if not each.sentence.asks
        and _negates(clause, found)
        and clause.has(SOUGHT, frozenset({"nothing", "nobody", "none", "no"}))
    ]
    others = [
        clause
        for _, clause in clauses
        if not _negates(clause) and not {w.text for w in clause.words} & {"searched", "looked", "checked", "search"}
    ]
    if not absent or any(read(clause.text).says(fact) for clause in others for fact in found):
        return ""
    return absent[0].text.strip()


def _untrue(text: str, said: Sequence[Told], turn: Played, scene: Scene) -> Iterator[str]:
    """Yield what a reply says that is not so."""
    heard = {figure.value for figure in (*scene.ask.figures, *scene.answers.figures)}
    told_facts = {float(fact) for part in turn.parts for fact in _facts(part) if isinstance(fact, int | float)}
    yield from untrue(said, scene)
    yield from false_deeds(said, scene)
    yield from altered_texts(said, scene, text)
    yield from unknown_files(said, scene)
    yield from misplaced(said, scene)
    yield from mixed_people(said, scene)
    yield from wrong_records(said, scene)
    yield from miscounts(said, scene, heard | told_facts)
    yield from false_totals(said, scene)
    yield from unknown_names(said, scene)
    yield from unknown_phrases(said, scene)
    yield from unasked(said, _asked(turn), scene)
    near = [scene.records.rows[key] for own in scene.own for key in scene.related(own)]
    unknown = scene.grounds.baseless(read(_rest(text, said)), list(sums(near)))
    yield from (f'"{figure}": unknown' for figure in unknown)


def _asked(turn: Played) -> list[Key]:
    """Return the records that were to be found by what they are; none if the turn wants something else as well."""
    parts = turn.parts
    if (
        not all(part.expected.tool.endswith("_search") and part.expectation.facts is None for part in parts)
        or turn.expectation.asks
    ):
        return []
    return [key_of(row) for part in parts for row in rows_in(part.wanted)]


def _rest(text: str, said: Sequence[Told]) -> str:
    """Return what is stated without the values that were judged already."""
    left = list(text)
    for each in said:
        offered = each.sentence.asks or any(clause.has(OPEN) for clause in each.sentence.clauses)
        spans = (
            [(each.sentence.start, each.sentence.end)] if offered else [(one.start, one.end) for one in each.statements]
        )
        for start, end in spans:
            left[start:end] = " " * (end - start)
    return "".join(left)


def _facts(turn: Played) -> Sequence[Json]:
    return facts_of(turn.expectation, turn.expected.tool, turn.wanted, turn.outputs)


def _says(reading: Reading, said: Sequence[Told], fact: Json, facts: Sequence[Json]) -> bool:
    if fact in (NOTHING, 0):
        return any(_says_none(clause) for each in said for clause in each.sentence.clauses) or reading.says(0)
    if isinstance(fact, str) and len(facts) > 1:
        others = [other for other in facts if isinstance(other, str)]
        shared = any(fact not in other and other.split()[:1] == fact.split()[:1] for other in others)
        parts = shared and {*words_of(fact).split()} <= {*reading.words.split()}  # 'Acme Direct and Pacific'
        return parts or reading.says_beside(fact, others) or (fact.isalpha() and reading.says(f"{fact}s"))
    return reading.says(fact) or (isinstance(fact, str) and fact.isalpha() and reading.says(f"{fact}s"))


def _says_none(clause: Clause) -> bool:
    """Whether a clause says that there is nothing; that a column is empty is another thing."""
    words = clause.spelled
    if {"empty", "zero", "0"} & {*words}:
        return True
    fields = [
        n
        for n, word in enumerate(words)
        if word == "no" and {*words[n + 1 : n + 3]} & {*COLUMN_WORDS, "date", "fields"}
    ]
    return denies([word for n, word in enumerate(words) if n not in fields])


def _tells_all(said: Reading, turn: Played) -> bool:
    """Whether a reply does not count many rows because it names all of them, or counts those that were cut off, too."""
    if turn.expectation.facts is not None or len(rows := rows_of(turn.wanted)) <= MANY:
        return False
    notes = [result.note for _, result in turn.calls if result.note]
    totals = [figure.value for note in notes for figure in read(note).numbers if figure.value >= len(rows)]
    return any(map(said.says, totals)) or all(map(said.says, names_of(rows)))


def _quoted(fact: Json) -> str:
    return "that there is nothing" if fact == NOTHING else repr(fact)
