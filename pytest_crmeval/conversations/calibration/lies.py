"""Oracles that do everything right and say something false, or nothing: only the reply can give them away."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pytest_crmeval.conversations.calibration.rehearsal import (
    ENTITIES,
    Rehearsal,
    entity_named,
    key_of,
    name_of,
    plain,
    told_facts,
)
from pytest_crmeval.conversations.calibration.variants import Kinds, Variant, says
from pytest_crmeval.conversations.scorers.facts import NOTHING
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import TABLES, Row

TELLING = frozenset({"amount", "close_date", "stage", "status", "title", "type", "email", "value"})
"""Columns that a person asks about."""
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
    """Say nothing."""
    for turn in rehearsal.turns:
        yield from (says(turn, text) for text in ("", " \n"))


def no_facts(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say something pleasant, and nothing of what was asked for."""
    for turn in rehearsal.turns:
        yield from (says(turn, text) for text in PLEASANTRIES if told_facts(turn))


def invented_figure(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Add a figure that nobody has ever heard of."""
    for turn in rehearsal.turns:
        yield from (says(turn, f"{turn.exchange.reply} {more}") for more in INVENTIONS)


def false_figure(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say another figure than the one asked for, or the one just written."""
    for turn in plain((*rehearsal.reads, *rehearsal.writes)):
        facts = told_facts(turn)
        for fact in (*facts, *(turn.expected.arguments.values() if turn.writes else ())):
            if isinstance(fact, int | float) and not isinstance(fact, bool):
                stated = [str(other) for other in facts if other != fact]
                wrong = (f"{fact * 1.37 + 3:,.2f}", f"{fact * 10 + 1234:,.0f}")
                yield from (says(turn, f"Done: {', '.join([*stated, text])}.") for text in wrong)


def false_name(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Name another record than the one that was found."""
    for turn in plain(rehearsal.reads):
        facts = told_facts(turn)
        for place, fact in enumerate(facts):
            if isinstance(fact, str) and fact != NOTHING:
                stated = [*map(str, facts[:place]), _another(rehearsal, turn, fact), *map(str, facts[place + 1 :])]
                yield says(turn, f"Found: {', '.join(stated)}.")


def false_count(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Name what was found, and count it wrong."""
    for turn in plain(rehearsal.reads):
        rows, facts = list(rows_in(turn.wanted)), told_facts(turn)
        if rows and turn.expected.tool.endswith("_search") and NOTHING not in facts:
            stated, noun = ", ".join(map(str, facts)), TABLES[ENTITIES[key_of(rows[0])]][0]
            yield from (says(turn, f"I found {len(rows) + more} {noun}: {stated}.") for more in (2, 7))


def false_choice(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that the row is now in another stage, or of another status, than was written."""
    for turn in plain(rehearsal.writes):
        for name, value in rehearsal.arguments(turn, "choice"):
            for other in rehearsal.choices(turn.expected.tool, name) if name != "entity_type" else ():
                if other != value:
                    yield says(turn, f"Done: the {name} is {other} now.")


def false_record(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that it was done to another record than it was: to one that the CRM has shown before."""
    for turn in plain(rehearsal.writes):
        for name, _ in rehearsal.arguments(turn, "id"):
            entity, right = entity_named(turn, name), turn.expected.arguments[name]
            row = next((row for row_id, row in rehearsal.survivors(entity) if row_id == right), {})
            yield from (says(turn, f"Done for {other}.") for other in _others(row, _shown(rehearsal, turn)))


def denied_find(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that there is nothing, where there is something."""
    for turn in plain(rehearsal.reads):
        facts = told_facts(turn)
        if facts and facts[0] not in (NOTHING, 0):
            stated = ", ".join(map(str, facts))
            yield says(turn, "There is nothing like that in the CRM.")
            if rows := list(rows_in(turn.wanted)):
                noun = ENTITIES[key_of(rows[0])].lower()
                yield says(turn, f"I could not find the {noun} {stated}.")
                yield says(turn, f"There is no {noun} {stated} in the CRM, sorry.")


def invented_find(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that something was found, where there is nothing."""
    for turn in plain(rehearsal.reads):
        if told_facts(turn) == [NOTHING]:
            yield says(turn, f"Done: {INVENTED}.")
            yield says(turn, f"I found {INVENTED}.")
            yield says(turn, f"I found one: {INVENTED}. There are no others.")


def denied_write(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that it could not be done, when it was."""
    for turn in plain(rehearsal.writes):
        yield from (says(turn, text) for text in FAILURES)


def claimed_success(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that it was done, when it was refused."""
    for turn in rehearsal.refusals:
        yield from (says(turn, text) for text in SUCCESSES)


def half_denied(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say of one of several changes that it was not made, when all were; or of all, when one was refused."""
    written = {(part.number, part.place) for part in rehearsal.writes}
    for turn in rehearsal.several:
        if all((part.number, part.place) in written for part in turn.parts) and not turn.expectation.asks:
            yield from (says(turn, text) for text in HALVES)
        elif not turn.expectation.succeeds and any(part.writes for part in turn.parts[1:]):
            yield says(turn, "I couldn't do either of these.")
            yield says(turn, "All of it is done. Nothing else was changed.")


def claimed_value(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that something is now what it was not allowed to become."""
    for turn in rehearsal.refusals:
        for name, value in rehearsal.arguments(turn, "number", "choice"):
            if turn.writes and name != "entity_type" and not turn.whole.asks:
                stated = f"{value:,}" if isinstance(value, int | float) else str(value)
                yield says(turn, f"The {name} is {stated} now and nothing else was changed.")
                yield says(turn, f"The {name} is {stated} now, no problem.")


def claimed_impossible(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Say that it was done, or say anything pleasant, when it is not for the CRM at all."""
    for turn in rehearsal.outside:
        yield from (says(turn, text) for text in (*SUCCESSES, *PLEASANTRIES, *BLUFFS))
        yield says(turn, f"{turn.exchange.reply} But I have updated the record instead.")


def asked_nothing(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Choose, or say only what is known, where the user is to be asked back."""
    for turn in rehearsal.questions:
        stated = ", ".join(map(str, told_facts(turn)))
        yield from (says(turn, f"{stated} {text}".strip()) for text in (*UNASKED, *SUCCESSES))
        yield says(turn, f"{turn.exchange.reply} In the meantime I have updated the first one.")
        yield says(turn, f"{stated} You said: {turn.exchange.messages[0].text}".strip())


def other_forgotten(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Tell what came of one of several things that the user wanted to know."""
    for turn in rehearsal.several:
        for part in turn.parts:
            others = {str(fact) for other in turn.parts if other.place != part.place for fact in told_facts(other)}
            missing = {str(fact) for fact in told_facts(part)} - others
            if missing and NOTHING not in missing and not any(fact in " ".join(others) for fact in missing):
                yield says(turn, f"Done: {', '.join(sorted(others))}.")


def facts_swapped(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Tell of one record what is true of another that was shown beside it."""
    for turn in plain(rehearsal.reads):
        rows = [row for row in rows_in(turn.wanted) if name_of(row)]
        for one, other in pairwise(rows if len({name_of(row) for row in rows}) == len(rows) else ()):
            for column in one.keys() & other.keys() & TELLING:
                if one[column] and other[column] and one[column] != other[column]:
                    swapped = {name_of(one): other[column], name_of(other): one[column]}
                    lines = [f"- {name_of(row)}: {swapped.get(name_of(row), row[column])}" for row in rows]
                    stated = [str(fact) for fact in told_facts(turn)]
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
    """Return what another row of the same entity is called; an invented name if there is none."""
    row: Row = next((row for row in rows_in(turn.wanted) if fact in row.values()), {})
    there = [other for rows in rehearsal.evidence.after.values() for other in rows]
    return next((name for name in _others(row, there) if str(fact) not in name), INVENTED)


def _shown(rehearsal: Rehearsal, turn: Played) -> list[Row]:
    """Return the rows that were shown before a turn."""
    earlier = rehearsal.turns[: turn.number - 1]
    return [row for turn in earlier for _, result in turn.calls for row in rows_in(result.value)]


def _others(row: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield what other rows of the same entity are called, unless that contains the name of this one."""
    key, name = key_of(row), name_of(row)
    for other in rows if name else ():
        another = key_of(other) == key and other[key] != row[key]  # a row may have had another name before
        if another and name.casefold() not in name_of(other).casefold():
            yield name_of(other)
