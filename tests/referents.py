"""Which record is meant: by its name, by what it is or belongs to, or because it was talked of last."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from pytest_crmeval.conversations.references import rows_of
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolResult
from pytest_crmeval.domain.state import TABLES, Row, State
from tests.readings import days, figures, said_word, says

KEYS = ("note_id", "document_id", "contract_id", "quote_id", "contact_id", "opportunity_id", "company_id", "client_id")
"""Ids, those of what belongs to others first: of a row the first one is its own."""
KINDS: Mapping[str, str] = {key: kind for kind, (_, key) in TABLES.items()}
_STEMS = {
    "Sent": ("sent", "send"),
    "Closed-Won": ("won", "win"),
    "Closed-Lost": ("lost", "lose", "loss"),
    "Active": ("activ", "reactiv"),
    "Inactive": ("inactiv", "deactiv"),
}
_ENDING = re.compile(r"(?:ation|ing|ion|ed|al|e)$")
_MOST, _LEAST = r"bigge(?:r|st)|large(?:r|st)|dear(?:er|est)", r"smalle(?:r|st)|cheap(?:er|est)"
_NOUNS = {"opportunity_id": "deal|opportunit", "quote_id": "quote", "contract_id": "contract"}
_AGAIN = re.compile(r"\b(?:that|this) (?:deal|quote|contract)\b", re.IGNORECASE)
"""Means what was talked of, not what belongs to it."""
_OF_IT = re.compile(r"\bquotes? (?:on|for) it\b", re.IGNORECASE)
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Found = Mapping[str, str]
"""Id -> how it was found."""


def chosen(choice: str, text: str) -> bool:
    """Whether a text has a word that stands for one of a few choices: approve, for Approved."""
    return any(said_word(word, text) for word in _STEMS.get(choice, [_ENDING.sub("", choice.lower())]))


def unset(text: str, call: ToolCall) -> str:
    """Return a text without the words for what a call sets: *mark the deal in Proposal as won*, without *won*."""
    for value in (str(call.arguments[name]) for name in ("stage", "status", "title") if call.arguments.get(name)):
        text = re.sub(re.escape(value), ";", text, flags=re.IGNORECASE)
        text = "".join(";" if chosen(value, word) else word for word in re.split(r"([\w-]+)", text))
    return text


@dataclass(frozen=True, kw_only=True)
class World:
    """What the CRM holds."""

    state: State

    @cached_property
    def rows(self) -> Mapping[str, Row]:
        """Every row by its id."""
        return {str(row[key]): row for table, key in TABLES.values() for row in self.state.get(table, ())}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What rows are called, by id; a document by its file."""
        return {row_id: name for row_id, row in self.rows.items() if (name := _name(row))}

    def of(self, kind: str) -> list[str]:
        """Return the ids of a kind."""
        table, key = TABLES[kind]
        return [str(row[key]) for row in self.state.get(table, ())]

    def owners(self, row: Row) -> Iterator[tuple[str, str]]:
        """Yield the kind and id of what a row belongs to, the nearest first."""
        for key in KEYS[KEYS.index(own_key(row)) + 1 :]:
            if isinstance(owner := row.get(key), str):
                yield KINDS[key], owner
                yield from self.owners(self.rows[owner]) if owner in self.rows else ()


def own_key(row: Row) -> str:
    """Return the argument that a row is known by."""
    return next((key for key in KEYS if key in row), KEYS[-1])


def _name(row: Row) -> str:
    person = " ".join(str(row[part]) for part in ("first_name", "last_name") if row.get(part))
    return str(row.get("name") or row.get("file_name") or person)


@dataclass(frozen=True, kw_only=True)
class Event:
    """What was asked for in a world, and what came of it."""

    text: str
    """What the user said."""
    call: ToolCall
    """What was called; nothing, perhaps."""
    result: ToolResult
    world: World
    reply: str = ""

    @cached_property
    def touched(self) -> Mapping[str, Sequence[str]]:
        """Kind -> what it was about: what came back, else what was asked for, else what that one belongs to."""
        found: dict[str, list[str]] = {}
        for source in (self._returned(), self._given(), self._owners()):
            fresh: dict[str, list[str]] = {}
            for kind, row_id in source:
                fresh.setdefault(kind, []).append(row_id)
            found = fresh | found
        return {kind: list(dict.fromkeys(ids)) for kind, ids in found.items()}

    def _rows(self) -> list[Row]:
        value = self.result.value
        wrapped = isinstance(value, Mapping) and not any(key in value for key in KEYS)
        parts = list(value.values()) if wrapped and isinstance(value, Mapping) else [value]
        rows = [row for part in parts for row in rows_of(part)]
        return [row for row in rows if isinstance(row, Mapping) and own_key(row) in row]

    def _returned(self) -> Iterator[tuple[str, str]]:
        yield from ((KINDS[own_key(row)], str(row[own_key(row)])) for row in self._rows())

    def _given(self) -> Iterator[tuple[str, str]]:
        yield from given_ids(self.call)

    def _owners(self) -> Iterator[tuple[str, str]]:
        asked = [self.world.rows[row_id] for _, row_id in self._given() if row_id in self.world.rows]
        shown = self._rows() if len(self._rows()) == 1 else []
        for row in (*shown, *asked):
            yield from self.world.owners(row)

    def meant(self, kind: str) -> Sequence[str]:
        """Return what a pronoun means: what it was about, of several that which the reply named."""
        ids = self.touched.get(kind) or self._named(kind)
        named = [row_id for row_id in ids if any(says(self.reply, label) for label in self._labels(row_id))]
        return named if len(ids) > 1 and named else ids

    def _named(self, kind: str) -> Sequence[str]:
        """Return what only the words tell: nothing was called, or all there is."""
        return () if self.call.arguments else list(_in_words(self.world, kind, self.text))

    def _labels(self, row_id: str) -> list[str]:
        """Return what a reply may call a record by: its name, or its amount, or its last day."""
        row = self.world.rows.get(row_id, {})
        last = [str(row[name]) for name in _filled(row, ("valid_until", "end_date"))]
        return [self.world.names.get(row_id) or f"{_amount(row):.12g}", *last]


def given_ids(call: ToolCall) -> Iterator[tuple[str, str]]:
    """Yield the kinds and ids that a call has for arguments."""
    for name, value in call.arguments.items():
        if name in KINDS:
            yield KINDS[name], str(value)
        elif name == "quote_ids" and isinstance(value, Sequence):
            yield from (("Quote", str(each)) for each in value)
        elif name == "entity_id":
            yield str(call.arguments.get("entity_type")), str(value)


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What is known when a call is due."""

    words: Sequence[str]
    """Utterances that are still open: this one last, before it those that were refused or came to nothing."""
    events: Sequence[Event]
    """What was done so far; the last of it first."""
    world: World


def referents(moment: Moment, kind: str) -> Found:
    """Return the records of a kind that may be meant: one, if the words are clear."""
    return _in_words(moment.world, kind, moment.words[-1]) or _talked_of(moment, kind)


def all_referents(moment: Moment, kind: str) -> Found:
    """Return the records that may be meant by one who speaks of several: *it and the quote for the fleet deal*."""
    world, text = moment.world, moment.words[-1]
    described = _described(world, kind, text, named_in(world, text))
    return {**_talked_of(moment, kind), **described, **_in_words(world, kind, text)}


def _in_words(world: World, kind: str, text: str) -> Found:
    """Return what a text names, or describes by what it names."""
    named = named_in(world, text)
    own = [row_id for row_id in named if row_id in world.of(kind)]
    return dict.fromkeys(own, "named record") or _described(world, kind, text, named)


def named_in(world: World, text: str) -> list[str]:
    """Return every record that a text names: by id, in full, or by how its name alone begins."""
    lower = text.lower()
    ids = [row_id for row_id in world.rows if row_id in lower]
    taken = [name for name in set(world.names.values()) if says(text, name, exactly=False)]
    longest = [name for name in taken if not any(name != other and name in other for other in taken)]
    # What is said only as part of a longer name is not said.
    outer = [name for name in taken if name in longest or says(without(text, name, longest), name, exactly=False)]
    full = [row_id for row_id, name in world.names.items() if name in outer]
    return [*ids, *full, *_short(world, without(text, "", longest)), *_of_trade(world, text)]


def without(text: str, kept: str, names: Iterable[str]) -> str:
    """Return a text without some names in it, but for one that is kept."""
    for name in names:
        if name != kept:
            text = re.sub(re.escape(name), " ; ", text, flags=re.IGNORECASE)
    return text


def _short(world: World, text: str) -> Iterator[str]:
    """Yield firms that are called by the beginning of their names, which no other has."""
    firms = {row_id: world.names[row_id] for kind in ("Client", "Company") for row_id in world.of(kind)}
    for row_id, name in firms.items():
        others = [other for other_id, other in firms.items() if other_id != row_id]
        words = name.split()
        starts = (" ".join(words[:length]) for length in range(len(words) - 1, 0, -1))
        if any(says(text, start) and not any(start in other for other in others) for start in starts):
            yield row_id


def _of_trade(world: World, text: str) -> Iterator[str]:
    """Yield clients that are spoken of by their industry."""
    for row_id in world.of("Client"):
        trade = world.rows[row_id]["industry"]
        if trade and f"our {trade} client".lower() in text.lower():
            yield row_id


def _described(world: World, kind: str, text: str, named: Sequence[str]) -> Found:
    """Return what belongs to the named records, or what they belong to."""
    above = [owner for row_id in named for of, owner in world.owners(world.rows[row_id]) if of == kind]
    rest = without(text, "", [world.names[row_id] for row_id in named if row_id in world.names])
    below = [distinguished(world, children_of(world, kind, row_id), rest) for row_id in named]
    return dict.fromkeys([*above, *(row_id for ids in below for row_id in ids)], "belongs")


def children_of(world: World, kind: str, owner: str) -> list[str]:
    """Return the records of a kind that belong to another one."""
    return [row_id for row_id in world.of(kind) if owner in [one for _, one in world.owners(world.rows[row_id])]]


def _talked_of(moment: Moment, kind: str) -> Found:
    """Return what was talked of last, or what belongs to that; what lies further back has to be of the very kind."""
    silent = takewhile(lambda event: not event.call.tool, moment.events)
    text = "\n".join((moment.words[-1], *(event.text for event in silent)))
    near = bool(_OF_IT.search(text)) or not _AGAIN.search(text)
    for event in moment.events if not _ID.search(text) else ():
        if found := _last(moment.world, kind, event, text, near=near):
            return found
        if event.meant(kind):
            return {}
        near = near and not event.touched
    return {}


def _last(world: World, kind: str, event: Event, text: str, *, near: bool) -> Found:
    """Return what an event was about, or, where the words say so or nothing else is, what belongs to that."""
    meant = event.meant(kind)
    own = dict.fromkeys(distinguished(world, meant, text) or _owned(world, meant, text), "last record")
    below = _belonging(world, kind, event, text) if near else {}
    return below or own if _OF_IT.search(text) else own or below


def _owned(world: World, ids: Sequence[str], text: str) -> Sequence[str]:
    """Return the only one of several records that belongs to what a text names."""
    named = set(named_in(world, text))
    mine = [row_id for row_id in ids if named & {owner for _, owner in world.owners(world.rows.get(row_id, {}))}]
    return mine if len(mine) == 1 else ()


def _belonging(world: World, kind: str, event: Event, text: str) -> Found:
    near = [event.meant(KINDS[key]) for key in KEYS]
    owners = [owner for meant in near if len(meant) == 1 for owner in meant]
    below = (distinguished(world, children_of(world, kind, owner), text) for owner in owners)
    return dict.fromkeys(next(filter(None, below), ()), "belongs")


def distinguished(world: World, ids: Sequence[str], text: str) -> Sequence[str]:
    """Return the only record among several, or those that the words tell from all the others.

    A status may also be what is to become of a record: it only counts where nothing else tells them apart.
    """
    if len(ids) <= 1:
        return ids
    rows = [world.rows[row_id] for row_id in ids if row_id in world.rows]
    return _alone(rows, [_marks(row, rows, text) for row in rows]) or _alone(rows, [_states(row, text) for row in rows])


def _alone(rows: Sequence[Row], marks: Sequence[set[str]]) -> list[str]:
    """Return the rows that have a mark which no other has."""
    counted = Counter(mark for each in marks for mark in each)
    return [str(row[own_key(row)]) for row, own in zip(rows, marks, strict=True) if any(counted[m] == 1 for m in own)]


def _marks(row: Row, rows: Sequence[Row], text: str) -> set[str]:
    """Return what a text says of a row: its size, its version, its end, its name."""
    amounts = [_amount(other) for other in rows]
    found = {
        "most": _amount(row) == max(amounts) and _ranks(row, _MOST, text),
        "least": _amount(row) == min(amounts) and _ranks(row, _LEAST, text),
        f"end {row.get('end_date')}": row.get("end_date") in days(text),
        f"name {_name(row)}": any(says(text, word) for word in _own_words(row, rows)),
    }
    found |= {f"{name} {row[name]}": says(text, str(row[name]), exactly=False) for name in _filled(row, _LABELS)}
    return {mark for mark, fits in found.items() if fits}


def _ranks(row: Row, words: str, text: str) -> bool:
    """Whether a text speaks of the biggest or smallest of such rows, and not of others."""
    others = re.search("|".join(_NOUNS.values()), text, re.IGNORECASE)
    nouns = _NOUNS.get(own_key(row), r"one\b") if others else r"one\b"
    return re.search(rf"\b(?:{words}) (?:of the \w+ )?(?:{nouns})", text, re.IGNORECASE) is not None


def _states(row: Row, text: str) -> set[str]:
    """Return what a text says of how a row stands: its status, its stage, its amount, a person's title."""
    found = {f"{name} {row[name]}": chosen(str(row[name]), text) for name in _filled(row, ("status", "stage"))}
    found |= {f"title {row[name]}": says(text, str(row[name]), exactly=False) for name in _filled(row, ("title",))}
    return {mark for mark, fits in found.items() if fits} | ({f"over {_amount(row)}"} & _sums(text))


_LABELS = ("version", "first_name")


def _filled(row: Row, names: Sequence[str]) -> list[str]:
    return [name for name in names if row.get(name)]


def _sums(text: str) -> set[str]:
    return {f"over {float(figure)}" for figure in figures(text)}


def _amount(row: Row) -> float:
    value: Json = row.get("amount") or row.get("value") or 0
    return float(value) if isinstance(value, int | float) else 0.0


def _own_words(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return the words of a name that no other name has; those that are no names themselves don't count."""
    others = {word for other in rows if other is not row for word in _name(other).split()}
    return [word for word in _name(row).split() if word[0].isupper() and word not in others]
