"""Everything that the reply of one turn can be judged by, and which records a value in it is said of."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_crmeval.conversations.scorers.facts import facts_of
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.lexicon import COLUMNS, NOUNS, OWNERS, STATUS_KINDS
from pytest_crmeval.conversations.scorers.mentions import LOCAL, Figure, Reading, read, same_day, same_phone, words_of
from pytest_crmeval.conversations.scorers.records import Key, Records, key_of, spelled
from pytest_crmeval.conversations.scorers.statements import Mention, Sentence
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolError
from pytest_crmeval.domain.state import Row

PERSONS = ("owner", "created_by", "uploaded_by")
_VALUED = frozenset({"opportunity_id", "quote_id", "contract_id"})
_REACHED = frozenset({"client_id", "contact_id"})
KINDS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("amount", "date"), _VALUED),
    **dict.fromkeys(("email", "phone"), _REACHED),
    **dict.fromkeys(("percent", "stage"), frozenset({"opportunity_id"})),
    **dict.fromkeys(("version", "prefix"), frozenset({"quote_id"})),
    **dict.fromkeys(PERSONS, frozenset({"client_id", "opportunity_id", "note_id", "document_id"})),
    **dict.fromkeys(("industry", "address"), frozenset({"client_id", "company_id"})),
    "status": frozenset({"client_id", "quote_id", "contract_id"}),
    "type": frozenset({"company_id"}),
    "title": frozenset({"contact_id"}),
    "notes": frozenset({"client_id", "contact_id", "opportunity_id"}),
}
"""Sort of value, or column -> the kinds of records that have it."""
_AFTER = re.compile(
    r"\s*\(?(?:(?:one|quote|contract|deal)s?\s+)?(?:(?:with|for|at|on|from|of)\s+(?:the\s+)?)?", re.IGNORECASE
)


_IS = re.compile(r"\b(?:is|are|was|were)(?: an?)?\s$")


@dataclass(kw_only=True)
class TurnFacts:
    """Everything that the reply of one turn can be judged by."""

    records: Records
    user: str
    """What the user says in the turn."""
    answers: str
    """What the CRM says in words: why it refuses something, what it cut off."""
    heard: Sequence[str]
    """The rules of the company, and what the user and the CRM have said in the dialogue."""
    base: Sequence[Key]
    """The records that the turn is about: those it has written, or else shown."""
    facts: Sequence[Json] = ()
    """What the user asked for, as the CRM has it."""
    today: str = ""
    rules: str = ""
    """The rules of the company."""
    errors: Sequence[ToolError] = ()
    """How the CRM refused calls of the turn."""
    refused: Sequence[Row] = ()
    """The arguments of these calls."""
    several: bool = False
    """Whether the user wants several things at once."""
    reads: bool = False
    """Whether the user wants to know something."""
    asked_for: frozenset[Key] = frozenset()
    """The records that were to be found by what they are; none if the turn wants something else as well."""
    said: Sequence[Sentence] = ()
    """The sentences of the reply."""

    @property
    def subject(self) -> str:
        """The kind of record that the turn is about, if it is one."""
        kinds = {kind for kind, _ in self.base}
        return min(kinds) if len(kinds) == 1 else ""

    @cached_property
    def asked(self) -> Reading:
        """What can be read in the rules, in the words of the user and of the CRM, and on the calendar."""
        return read(f"{self.rules} {self.user} {self.answers} {self.today}")

    @cached_property
    def _texts(self) -> Sequence[str]:
        return [*self.heard, *self.records.texts]

    @cached_property
    def _words(self) -> Sequence[str]:
        return [words_of(text) for text in self._texts]

    @cached_property
    def _heard_words(self) -> set[str]:
        return {word for text in self.heard for word in spelled(text)}

    def has_heard(self, said: str) -> bool:
        """Whether the dialogue or a record has these words side by side."""
        sought = words_of(said)
        return any(sought in words for words in self._words)

    def knows_word(self, word: str) -> bool:
        """Whether the dialogue or a record has a word."""
        forms = {word, word.removesuffix("s")}
        known = (self._heard_words, self.records.phrases.words)
        return not all(map(forms.isdisjoint, known)) or not forms.isdisjoint(self.records.vocabulary)

    def knows_id(self, said: str) -> bool:
        """Whether a record or the dialogue has an id, or one that begins so."""
        return any(said in text.lower() for text in self._texts)

    @cached_property
    def involved(self) -> frozenset[Key]:
        """The records that the turn is about, and those that they belong to."""
        return frozenset(self.base).union(*map(self.records.up, self.base))

    @cached_property
    def written(self) -> frozenset[Key]:
        """The records that the turn has written or copied, and those that they belong to."""
        keys = [*(write.key for write in self.records.written), *self.records.cloned]
        return frozenset(keys).union(*map(self.records.up, keys))

    @cached_property
    def locked(self) -> frozenset[Key]:
        """The records of calls that the CRM has refused."""
        ids = {value for arguments in self.refused for value in arguments.values() if isinstance(value, str)}
        return frozenset(key for key in self.records.rows if key[1] in ids)

    def family(self, keys: Iterable[Key]) -> set[Key]:
        """Return records, those that they belong to, and everything that belongs to any of these."""
        found = {*keys}.union(*map(self.records.up, keys))
        return found | {each for each in self.records.rows if self.records.up(each) & found}


def facts_after(turn: Played, records: Records, heard: list[str], today: str, rules: str) -> TurnFacts:
    """Return what the reply of a turn can be judged by, after ``records`` have taken in its calls."""
    results = [result for message in turn.exchange.messages for result in message.results]
    overviews = [str(result.value) if not any(rows_in(result.value)) else "" for result in results]
    said = [r.error.message if r.error else f"{r.note} {text}" for r, text in zip(results, overviews, strict=True)]
    user, answers = turn.exchange.messages[0].text, " ".join(said)
    heard += [user, answers]
    parts, reads = turn.parts, not all(part.writes for part in turn.parts)
    wanted = [key_of(row) for part in parts for row in rows_in(part.wanted)]
    searches = all(part.expected.tool.endswith("_search") and part.expectation.facts is None for part in parts)
    base = [write.key for write in records.written]
    if reads or not base:
        base += [key for keys in records.shown for key in keys] + records.sought
    if not records.written:
        base += [key for key in wanted if key in records.rows]
    return TurnFacts(
        records=records,
        user=user,
        answers=answers,
        heard=heard,
        base=[*dict.fromkeys(base)],
        facts=[fact for part in parts for fact in asked_facts(part)],
        today=today,
        rules=rules,
        several=bool(turn.expectation.further),
        reads=reads,
        asked_for=frozenset(wanted if searches and not turn.expectation.asks else ()),
        errors=[result.error for result in results if result.error],
        refused=[
            call.arguments for call, result in turn.calls if result.refused and isinstance(call.arguments, Mapping)
        ],
    )


def asked_facts(turn: Played) -> Sequence[Json]:
    """Return what the user asked for in a turn."""
    return facts_of(turn.expectation, turn.expected.tool, turn.wanted, turn.outputs)


def holds(row: Row, columns: Sequence[str], mention: Mention) -> bool:
    """Whether a row has a value in one of the columns."""
    return any(same(mention.value, row.get(column)) for column in columns if row.get(column) is not None)


def same(value: object, cell: object) -> bool:
    """Whether a value is what a cell holds."""
    if isinstance(value, Figure):
        return isinstance(cell, int | float) and value.means(cell)
    if isinstance(value, frozenset):
        return any(same_day(one, day) for one in value for days in read(str(cell)).dates for day in days)
    text, own = str(value).casefold(), str(cell).casefold()
    if text.isdigit() and len(text) >= LOCAL:
        return same_phone(text, re.sub(r"\D", "", own))
    return own in (text, f"{text}.0") or words_of(text) == words_of(own)


def columns_of(mention: Mention) -> Sequence[str]:
    """Return the columns that a value may be of."""
    if mention.column:
        return PERSONS if mention.column in PERSONS else (mention.column,)
    return COLUMNS.get(mention.sort, ())


def subjects(mention: Mention, sentence: Sentence, facts: TurnFacts) -> list[Key]:
    """Return the records that a value may be said of."""
    found: set[Key] = set()
    for kind in _kinds(mention, sentence, facts):
        direct = [name for name in sentence.names if kind in name.kinds]
        around = _nearest(mention, sentence, direct or sentence.names)
        around = around & facts.written or around  # of records with the same name, that of the turn
        below = related(around, kind, facts)
        if direct:
            found |= {key for key in around if key[0] == kind}
        elif around and (below or any(key[0] in OWNERS[kind] for key in around)):
            found |= below & facts.involved or below
        else:
            found |= _focus(kind, sentence, facts)
    return sorted(found)


def _kinds(mention: Mention, sentence: Sentence, facts: TurnFacts) -> Collection[str]:
    """Return the kinds of records that a value may be of, as far as the words before it say so."""
    kinds = KINDS[mention.column or mention.sort]
    after = [word for word in sentence.words if word.start >= mention.end][:1]
    noun = NOUNS.get(after[0].text) if after and mention.sort in ("stage", "status") else None
    if noun in kinds and not sentence.text[mention.end : after[0].start].strip():
        return {noun}  # 'active contract'
    based = {kind for kind, _ in facts.base}
    if mention.sort == "status":
        valued = any(each.sort == "amount" for each in sentence.mentions)
        kinds = STATUS_KINDS[str(mention.value)]
        kinds = (kinds & _VALUED & based if valued else ()) or kinds
    if mention.column in PERSONS and {"owner", "owned", "owns"}.intersection(
        sentence.words_between(0, mention.start)[-2:]
    ):
        kinds = frozenset({"client_id", "opportunity_id"})
    for since in (sentence.clause(mention.start).start, 0):
        anchors = [anchor for anchor in sentence.anchors if since <= anchor[0] < mention.start and anchor[1] in kinds]
        for led in (False, True):
            if said := [kind for _, kind, is_led in anchors if is_led is led]:
                return {said[-1], *(based & kinds if led else ())}
    if sentence.subject in kinds and not sentence.names:
        return {sentence.subject}
    return kinds


def _nearest(mention: Mention, sentence: Sentence, names: Sequence[Mention]) -> frozenset[Key]:
    """Return the records that a value goes with: named right after it ('437,500 with Acme'), or else before it."""
    after = [name for name in names if name.start >= mention.end][:1]
    before = [name for name in names if name.start < mention.start][-1:]
    between = sentence.text[mention.end : after[0].start] if after else ""
    leads = mention.sort == "type" and not _IS.search(sentence.text[: mention.start])
    goes = not before or _AFTER.fullmatch(between) or (leads and not between.strip(" ,:("))
    chosen = after if after and goes else before
    return chosen[0].keys if chosen else frozenset()


def related(keys: Iterable[Key], kind: str, facts: TurnFacts) -> set[Key]:
    """Return the records of a kind that belong to others, or that these belong to."""
    found = {below for key in keys for below in facts.records.down(key)}
    return {key for key in found.union(*map(facts.records.up, keys)) if key[0] == kind}


def _focus(kind: str, sentence: Sentence, facts: TurnFacts) -> set[Key]:
    """Return the records that the turn is about: its own, those that they belong to, or that belong to them."""
    for keys in (sentence.topic, facts.base, facts.involved):
        if found := {key for key in keys if key[0] == kind}:
            return found
    return related([*sentence.topic, *facts.base], kind, facts)
