"""Where an expected value comes from: every source is looked for, and what has none was made up."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import TABLES, Row
from tests.readings import counted_days, days, factors, figures, percentages, said_word, says, spans
from tests.referents import (
    KINDS,
    Found,
    Moment,
    all_referents,
    children_of,
    chosen,
    distinguished,
    own_key,
    referents,
    unset,
    without,
)

SOURCES = (
    *("said", "figure", "day", "counted day", "shifted day", "worked out", "shown", "choice", "default", "entity"),
    *("named record", "belongs", "last record"),
)
CHOICES = ("status", "stage", "type")
DAYS = ("close_date", "valid_until", "start_date", "end_date")
SUMS = ("amount", "value", "probability")
DEFAULTS: Mapping[tuple[str, str], str] = {("create_contract", "status"): "Pending"}
_UP = (
    *(
        "rais",
        "increas",
        r"add(?:s|ed|ing)?\b",
        r"more\b",
        r"up\b",
        "plus",
        r"high(?:er)?\b",
        "extra",
        r"top\b",
        "grow",
        "longer",
    ),
    *("later", "push", "exten", "prolong", "another", "postpon", "delay", "slip"),
)
_DOWN = (
    *(
        "low",
        "reduc",
        r"cuts?\b",
        r"off\b",
        "less",
        "down",
        "minus",
        "discount",
        "subtract",
        "earlier",
        "sooner",
        "pull",
    ),
    *("below", "before", "knock", "rebate"),
)


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One value of a call's arguments."""

    argument: str
    value: Json


@dataclass(frozen=True, kw_only=True)
class Question:
    """A value whose source is looked for, in a call that is due."""

    moment: Moment
    call: ToolCall
    today: date
    """What the clock of the CRM shows."""
    said: Sequence[str]
    """Every utterance up to now."""
    leaf: Leaf

    @property
    def text(self) -> str:
        """What the user says that is still open."""
        return "\n".join(self.moment.words)

    @property
    def writes(self) -> bool:
        """Whether the value is kept, so that every letter of it counts."""
        return not self.call.tool.endswith("_search") and not self.call.tool.startswith("summarize")


def leaves_of(call: ToolCall) -> Iterator[Leaf]:
    """Yield every value of a call; what is nested goes by the name that it has there."""
    for argument, value in call.arguments.items():
        if isinstance(value, Mapping):
            yield from leaves_of(ToolCall(tool=call.tool, arguments=value))
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield from (Leaf(argument=argument, value=each) for each in value)
        else:
            yield Leaf(argument=argument, value=value)


def sources_of(question: Question) -> list[str]:
    """Return the names of all sources that a value has; none if it can't be known."""
    return list(dict.fromkeys(_FINDERS.get(_sort(question.leaf.argument), _text)(question)))


def _sort(argument: str) -> str:
    sorts = {"id": (*KINDS, "entity_id", "quote_ids"), "choice": CHOICES, "day": DAYS, "sum": SUMS}
    return next((sort for sort, names in sorts.items() if argument in names), argument)


def _text(question: Question) -> Iterator[str]:
    value = str(question.leaf.value)
    if any(says(text, value, exactly=question.writes) for text in question.moment.words):
        yield "said"
    if not question.writes and value in _cells(question):
        yield "shown"


def _cells(question: Question) -> list[Json]:
    """Return what the record that is meant has where a search looks for the value."""
    kind = question.call.tool.removesuffix("_search").capitalize()
    found = referents(question.moment, kind) if kind in TABLES else {}
    return [question.moment.world.rows.get(row_id, {}).get(question.leaf.argument) for row_id in found]


def _record(question: Question) -> Iterator[str]:
    if source := candidates_of(question).get(str(question.leaf.value)):
        yield source


def candidates_of(question: Question) -> Found:
    """Return the records that an id may stand for, with their sources: one, if the words are clear."""
    value, kind = str(question.leaf.value), kind_of(question)
    if any(value in text for text in question.moment.words):
        return {value: "said"}
    if owners := _clients_behind(question):
        return dict.fromkeys(owners, "belongs")
    return _found(question, kind) if kind else {}


def is_clear(question: Question) -> bool:
    """Whether an id can stand for one record only, at least where the words for what is to be set are left out."""
    moment, wanted = question.moment, [str(question.leaf.value)]
    left = [unset(text, question.call) for text in moment.words]
    narrowed = replace(question, moment=replace(moment, words=left))
    return any(list(candidates_of(each)) == wanted for each in (question, narrowed))


def _found(question: Question, kind: str) -> Found:
    """Return the records that are meant; quotes that are compared are all of a deal, or each is named."""
    if question.leaf.argument != "quote_ids":
        return referents(question.moment, kind)
    return dict.fromkeys(_all_quotes(question), "belongs") or all_referents(question.moment, kind)


def kind_of(question: Question) -> str:
    """Return what kind of record a value is the id of; empty if it is none."""
    argument = question.leaf.argument
    named = {**KINDS, "quote_ids": "Quote", "entity_id": str(question.call.arguments.get("entity_type"))}
    return named.get(argument, "") if named.get(argument) in TABLES else ""


def _all_quotes(question: Question) -> Sequence[str]:
    """Return the quotes of a deal that is meant, if the call is about all of them."""
    asked = sorted(str(leaf.value) for leaf in leaves_of(question.call))
    deals = referents(question.moment, "Opportunity")
    quotes = (sorted(children_of(question.moment.world, "Quote", deal)) for deal in deals)
    return next((each for each in quotes if each == asked), ())


def _clients_behind(question: Question) -> Sequence[str]:
    """Return the client of the deal that a contract is about, if there is one: a user need not name both."""
    deal = question.moment.world.rows.get(str(question.call.arguments.get("opportunity_id")))
    is_asked = question.call.tool == "create_contract" and question.leaf.argument == "client_id"
    return [str(deal["client_id"])] if deal and is_asked else ()


def _entity(question: Question) -> Iterator[str]:
    record = Leaf(argument="entity_id", value=question.call.arguments.get("entity_id"))
    known = question.moment.world.rows.get(str(record.value))
    if known is None and said_word(str(question.leaf.value).lower(), question.text):
        yield "entity"
    if known and TABLES.get(str(question.leaf.value), ("", ""))[1] == own_key(known):
        yield from ("entity" for _ in sources_of(replace(question, leaf=record))[:1])


def _choice(question: Question) -> Iterator[str]:
    value = str(question.leaf.value)
    if chosen(value, question.text) or says(question.text, value, exactly=False):
        yield "choice"
    default = DEFAULTS.get((question.call.tool, question.leaf.argument))
    if value == default and not any(chosen(other, question.text) for other in ("Active", "Expired")):
        yield "default"


def _sum(question: Question) -> Iterator[str]:
    value = Fraction(str(question.leaf.value))
    if value in figures(question.text):
        yield "figure"
    bases = [Fraction(str(base)) for base in _bases(question) if base and question.leaf.argument != "probability"]
    if value in (round(result, 2) for base in bases for result in _worked_out(base, question)):
        yield "worked out"
    if question.call.tool.startswith("create") and value in bases:
        yield "shown"


def _bases(question: Question) -> Iterator[Json]:
    """Yield the amounts that may be meant: of the record, of the deal behind it, of what was quoted for that."""
    world, call = question.moment.world, question.call
    own = world.rows.get(str(call.arguments.get("quote_id") or call.arguments.get("opportunity_id")), {})
    yield own.get("amount")
    if call.tool == "create_contract":
        quotes = children_of(world, "Quote", str(call.arguments.get("opportunity_id")))
        yield from (world.rows[quote]["amount"] for quote in distinguished(world, quotes, question.text))


def _worked_out(base: Fraction, question: Question) -> Iterator[Fraction]:
    text = question.text
    for sign in _signs(question):
        yield from (base * (1 + sign * percent / 100) for percent in percentages(text))
        yield from (base + sign * abs(figure) for figure in figures(text))
    yield from (base * factor for factor in factors(text))


def _signs(question: Question) -> Sequence[int]:
    """Return whether something is to become more, or less; both, if the words, names apart, don't tell."""
    text = without(question.text, "", question.moment.world.names.values())
    if wrong := re.search(r"\btoo (low|little|high|much)\b", text):
        return (1,) if wrong[1] in ("low", "little") else (-1,)
    if signed := re.search(r"(?<!\w)([+-]) ?[\d.]+(?: ?%| per)", text):
        return (1,) if signed[1] == "+" else (-1,)
    up, down = (any(said_word(word, text) for word in words) for words in (_UP, _DOWN))
    return (1, -1) if up == down else (1,) if up else (-1,)


def _day(question: Question) -> Iterator[str]:
    value, text = str(question.leaf.value), question.text
    if value in days(text):
        yield "day"
    if question.today.isoformat() in days("\n".join(question.said)) and value in counted_days(text, question.today):
        yield "counted day"
    if value in _shifted(question):
        yield "shifted day"


def _shifted(question: Question) -> Iterator[str]:
    """Yield the days that are as far as is said from a day that is known: that of the record, or the first of two."""
    own = next(_changed(question), {})
    start = question.call.arguments.get("start_date") if question.leaf.argument == "end_date" else None
    for base in filter(None, (own.get(question.leaf.argument), start)):
        for span in spans(question.text):
            for sign in (1,) if base == start else _signs(question):
                yield span.after(date.fromisoformat(str(base)), sign).isoformat()


def _changed(question: Question) -> Iterator[Row]:
    rows, arguments = question.moment.world.rows, question.call.arguments
    ids = (str(arguments.get(key)) for key in KINDS) if question.call.tool.startswith("modify") else ()
    yield from (rows[row_id] for row_id in ids if row_id in rows)


_FINDERS: Mapping[str, Callable[[Question], Iterator[str]]] = {
    "id": _record,
    "entity_type": _entity,
    "choice": _choice,
    "sum": _sum,
    "day": _day,
}
