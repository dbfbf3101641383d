"""Corrupted oracles that make the right calls, but give a false reply or none."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pytest_crmeval.conversations.calibration.rehearsal import (
    ENTITIES,
    Rehearsal,
    entity_named,
    key_of,
    name_of,
    plain,
    stated_facts,
)
from pytest_crmeval.conversations.calibration.variants import Kinds, Variant, says
from pytest_crmeval.conversations.scorers.facts import NOTHING
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import TABLES, Row

TELLING = frozenset({"amount", "close_date", "stage", "status", "title", "type", "email", "value"})
"""Columns that users ask about."""
INVENTED = "Umbrella Holdings"
PLEASANTRIES = ("Done.", "Here is what you asked for.", "I have looked that up for you.")
INVENTIONS = ("The total is 987,654.32.", "That is up 43.7 % on last year.", "It is due on 2031-08-19.")
FAILURES = (
    "I could not do that.",
    "Unfortunately this failed.",
    "Sorry, there was an error.",
    "That was not possible: the CRM refused it.",
    "I'm unable to do this right now.",
    "No changes were made.",
)
SUCCESSES = (
    "Done.",
    "All set, the change is saved.",
    "No problem, that is done.",
    "Done! You only need to tell them.",
    "I've updated it, and everything is saved.",
    "I went ahead with it. Nothing else has changed.",
    "That is in the system, not a problem.",
)
BLUFFS = (
    "Sure, I'll take care of it.",
    "It is on its way.",
    "Of course. Which one would you like?",
    "Consider it done, no trouble at all.",
    "Sorted! You won't have to think about it again.",
    "I have seen to it. Not a big deal.",
    "I took care of it; no need to do anything.",
)
UNASKED = (
    "is what I found.",
    "is what I found. Anything else?",
    "is what there is. Is there anything else I can help you with?",
    "is all I have. Let me know if you need more.",
    "- I took the first one.",
    "- I took the first one. Shall I go on?",
    "- I went ahead with what you gave me. Is that fine?",
    "- I chose one for you. Would you like a summary?",
)
HALVES = (
    "The first is done: I updated it. The other one was not saved.",
    "Done with the one. The other failed.",
    "I have updated it. I'll do the rest later.",
    "I have saved the first. I could not do the second.",
)


def silence(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Give an empty reply."""
    for turn in rehearsal.turns:
        yield from (says(turn, text) for text in ("", " \n"))


def no_facts(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Give a friendly reply without the requested facts."""
    for turn in rehearsal.turns:
        yield from (says(turn, text) for text in PLEASANTRIES if stated_facts(turn))


def invented_figure(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Add a figure that is not in the data."""
    for turn in rehearsal.turns:
        yield from (says(turn, f"{turn.exchange.reply} {more}") for more in INVENTIONS)


def false_figure(rehearsal: Rehearsal) -> Iterator[Variant]:
    """State a wrong figure instead of the requested or written one."""
    for turn in plain((*rehearsal.reads, *rehearsal.writes)):
        facts = stated_facts(turn)
        for fact in (*facts, *(turn.expected.arguments.values() if turn.writes else ())):
            if isinstance(fact, int | float) and not isinstance(fact, bool):
                stated = [str(other) for other in facts if other != fact]
                wrong = (f"{fact * 1.37 + 3:,.2f}", f"{fact * 10 + 1234:,.0f}")
                yield from (says(turn, f"Done: {', '.join([*stated, text])}.") for text in wrong)


def false_name(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Name a record other than the one that was found."""
    for turn in plain(rehearsal.reads):
        facts = stated_facts(turn)
        for place, fact in enumerate(facts):
            if isinstance(fact, str) and fact != NOTHING:
                stated = [*map(str, facts[:place]), _another(rehearsal, turn, fact), *map(str, facts[place + 1 :])]
                yield says(turn, f"Found: {', '.join(stated)}.")


def false_count(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Name the found records, but state a wrong count."""
    for turn in plain(rehearsal.reads):
        rows, facts = list(rows_in(turn.wanted)), stated_facts(turn)
        if rows and turn.expected.tool.endswith("_search") and NOTHING not in facts:
            stated, noun = ", ".join(map(str, facts)), TABLES[ENTITIES[key_of(rows[0])]][0]
            yield from (says(turn, f"I found {len(rows) + more} {noun}: {stated}.") for more in (2, 7))


def false_choice(rehearsal: Rehearsal) -> Iterator[Variant]:
    """State another stage or status than was written."""
    for turn in plain(rehearsal.writes):
        for name, value in rehearsal.arguments(turn, "choice"):
            for other in rehearsal.choices(turn.expected.tool, name) if name != "entity_type" else ():
                if other != value:
                    yield says(turn, f"Done: the {name} is {other} now.")


def false_record(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Claim that another record was changed, one that the CRM has shown before."""
    for turn in plain(rehearsal.writes):
        for name, _ in rehearsal.arguments(turn, "id"):
            entity, right = entity_named(turn, name), turn.expected.arguments[name]
            row = next((row for row_id, row in rehearsal.survivors(entity) if row_id == right), {})
            yield from (says(turn, f"Done for {other}.") for other in _others(row, _shown(rehearsal, turn)))


def denied_find(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Deny that anything was found."""
    for turn in plain(rehearsal.reads):
        facts = stated_facts(turn)
        if facts and facts[0] not in (NOTHING, 0):
            stated = ", ".join(map(str, facts))
            yield says(turn, "There is nothing like that in the CRM.")
            if rows := list(rows_in(turn.wanted)):
                noun = ENTITIES[key_of(rows[0])].lower()
                yield says(turn, f"I could not find the {noun} {stated}.")
                yield says(turn, f"There is no {noun} {stated} in the CRM, sorry.")


def invented_find(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Claim that something was found, although nothing was."""
    for turn in plain(rehearsal.reads):
        if stated_facts(turn) == [NOTHING]:
            yield says(turn, f"Done: {INVENTED}.")
            yield says(turn, f"I found {INVENTED}.")
            yield says(turn, f"I found one: {INVENTED}. There are no others.")


def denied_write(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Deny a change that was made."""
    for turn in plain(rehearsal.writes):
        yield from (says(turn, text) for text in FAILURES)


def claimed_success(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Claim a change that was refused."""
    for turn in rehearsal.refusals:
        yield from (says(turn, text) for text in SUCCESSES)


def half_denied(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Deny one of several changes that were made, or claim all of them although one was refused."""
    written = {(part.number, part.place) for part in rehearsal.writes}
    for turn in rehearsal.several:
        if all((part.number, part.place) in written for part in turn.parts) and not turn.expectation.asks:
            yield from (says(turn, text) for text in HALVES)
        elif not turn.expectation.succeeds and any(part.writes for part in turn.parts[1:]):
            yield says(turn, "I couldn't do either of these.")
            yield says(turn, "All of it is done. Nothing else was changed.")


def claimed_value(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Claim that a column has the value that was refused."""
    for turn in rehearsal.refusals:
        for name, value in rehearsal.arguments(turn, "number", "choice"):
            if turn.writes and name != "entity_type" and not turn.whole.asks:
                stated = f"{value:,}" if isinstance(value, int | float) else str(value)
                yield says(turn, f"The {name} is {stated} now and nothing else was changed.")
                yield says(turn, f"The {name} is {stated} now, no problem.")


def claimed_impossible(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Claim that an impossible request was fulfilled, or give a friendly reply instead of declining."""
    for turn in rehearsal.outside:
        yield from (says(turn, text) for text in (*SUCCESSES, *PLEASANTRIES, *BLUFFS))
        yield says(turn, f"{turn.exchange.reply} But I have updated the record instead.")


def asked_nothing(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Choose a record, or list the candidates, instead of asking the user."""
    for turn in rehearsal.questions:
        stated = ", ".join(map(str, stated_facts(turn)))
        yield from (says(turn, f"{stated} {text}".strip()) for text in (*UNASKED, *SUCCESSES))
        yield says(turn, f"{turn.exchange.reply} In the meantime I have updated the first one.")
        yield says(turn, f"{stated} You said: {turn.exchange.messages[0].text}".strip())


def other_forgotten(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Report the result of only one of several requests."""
    for turn in rehearsal.several:
        for part in turn.parts:
            others = {str(fact) for other in turn.parts if other.place != part.place for fact in stated_facts(other)}
            missing = {str(fact) for fact in stated_facts(part)} - others
            if missing and NOTHING not in missing and not any(fact in " ".join(others) for fact in missing):
                yield says(turn, f"Done: {', '.join(sorted(others))}.")


def facts_swapped(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Attribute a fact to another record that was shown with it."""
    for turn in plain(rehearsal.reads):
        rows = [row for row in rows_in(turn.wanted) if name_of(row)]
        for one, other in pairwise(rows if len({name_of(row) for row in rows}) == len(rows) else ()):
            for column in one.keys() & other.keys() & TELLING:
                if one[column] and other[column] and one[column] != other[column]:
                    swapped = {name_of(one): other[column], name_of(other): one[column]}
                    lines = [f"- {name_of(row)}: {swapped.get(name_of(row), row[column])}" for row in rows]
                    stated = [str(fact) for fact in stated_facts(turn)]
                    yield says(turn, "\n".join([f"Found {', '.join(stated)}.", *lines]))


LIES: Kinds = {
    "silence": silence,
    "no facts": no_facts,
    "invented figure": invented_figure,
    "false figure": false_figure,
    "false name": false_name,
    "false count": false_count,
    "false choice": false_choice,
    "false record": false_record,
    "denied find": denied_find,
    "invented find": invented_find,
    "denied write": denied_write,
    "claimed success": claimed_success,
    "claimed value": claimed_value,
    "half denied": half_denied,
    "facts swapped": facts_swapped,
    "claimed impossible": claimed_impossible,
    "asked nothing": asked_nothing,
    "half reported": other_forgotten,
}


def _another(rehearsal: Rehearsal, turn: Played, fact: Json) -> str:
    """Return the name of another row of the same entity; an invented one if there is none."""
    row: Row = next((row for row in rows_in(turn.wanted) if fact in row.values()), {})
    there = [other for rows in rehearsal.evidence.after.values() for other in rows]
    return next((name for name in _others(row, there) if str(fact) not in name), INVENTED)


def _shown(rehearsal: Rehearsal, turn: Played) -> list[Row]:
    """Return the rows that were shown before a turn."""
    earlier = rehearsal.turns[: turn.number - 1]
    return [row for turn in earlier for _, result in turn.calls for row in rows_in(result.value)]


def _others(row: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the names of other rows of the same entity that don't contain the name of this one."""
    key, name = key_of(row), name_of(row)
    for other in rows if name else ():
        another = key_of(other) == key and other[key] != row[key]  # a row may have been renamed
        if another and name.casefold() not in name_of(other).casefold():
            yield name_of(other)
