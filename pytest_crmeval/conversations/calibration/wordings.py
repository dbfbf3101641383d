"""Other wordings of true replies that a truthful agent may use."""

from collections.abc import Iterator, Sequence
from datetime import date

from pytest_crmeval.conversations.calibration.rehearsal import ENTITIES, Rehearsal, key_of, plain, stated_facts
from pytest_crmeval.conversations.calibration.variants import Kinds, Variant, says
from pytest_crmeval.conversations.scorers.facts import NOTHING
from pytest_crmeval.conversations.scorers.groundedness import rows_in
from pytest_crmeval.conversations.scorers.turns import Played
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import TABLES

THOUSAND, MILLION = 1_000, 1_000_000
EMPTY = (
    "I couldn't find any.",
    "No matches.",
    "There are 0 results.",
    "The search came back empty.",
    "Nobody by that name is in the CRM.",
    "None so far. Shall I look for something else?",
    "Unfortunately, I don't see any record that matches.",
)
CONFIRMED = (
    "All set!",
    "I've taken care of that.",
    "That's saved now. Anything else?",
    "Updated. I did not change anything else.",
    "No problem, it's done.",
    "Consider it done \u2014 nothing else was touched.",
    "Done. Without any error, by the way.",
)
DECLINED = (
    "Unfortunately the CRM wouldn't accept this.",
    "I was unable to make that change; everything is as it was.",
    "I'm sorry, but that can't be done, so nothing was changed.",
    "The CRM has rules for that, and this is outside the allowed values.",
    "Changes like this are blocked, so I left it as it is.",
    "There is a typo in it; what is the right one?",
    "It has to be something else; everything stays as it was.",
)
OUTSIDE = (
    "I'm sorry, but I can't help with that; I only have access to the CRM.",
    "That's outside of what I can do here. I can add a note about it, if you like.",
    "I don't have a tool for that. Would you like me to log it as a note instead?",
    "Unfortunately, this is beyond my capabilities: I can look up and change CRM records, and that's about it.",
    "That isn't something I'm able to do. Is there anything in the CRM that I can help you with?",
    "I can only help with clients, contacts, deals, quotes and contracts.",
    "I'm afraid that's not possible from within the CRM, so nothing was changed.",
    "As a CRM assistant I'm limited to your CRM data, so you'd have to use another tool for this.",
    "That is a job for another department.",
    "I'm a CRM assistant; please turn to the right department for that.",
    "You would have to do that yourself; my reach ends at the CRM.",
)
ASKED = (
    "Which one did you mean?",
    "Could you tell me which of them you mean?",
    "Please let me know which one you'd like me to use.",
    "Before I go on I need to know which one it is.",
    "Can you give me a bit more detail, please?",
    "I want to be sure I change the right record. Which one is it? I haven't changed anything yet.",
    "Please confirm which one you are referring to, and I'll take care of it.",
    "Who exactly are we talking about?",
    "What should it be?",
    "I'm not sure which one you mean.",
    "Just send me the missing details.",
    "Give me a bit more to go on, and I'll do it.",
    "More details, please.",
)


def number_formats(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Use other formats of numbers."""
    for turn in plain((*rehearsal.reads, *rehearsal.writes)):
        facts = stated_facts(turn)
        for place, fact in enumerate(facts):
            if isinstance(fact, int | float) and not isinstance(fact, bool):
                yield from (says(turn, f"Done: {_listed(facts, place, text)}.") for text in _numbers(fact))


def date_formats(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Use other formats of dates."""
    for turn in plain((*rehearsal.reads, *rehearsal.writes)):
        facts = stated_facts(turn)
        for place, fact in enumerate(facts):
            if day := _day(fact):
                yield from (says(turn, f"Done: {_listed(facts, place, text)}.") for text in _dates(day))


def other_order(rehearsal: Rehearsal) -> Iterator[Variant]:
    """State the facts in another order."""
    for turn in plain(rehearsal.reads):
        facts = [str(fact) for fact in stated_facts(turn)]
        if len(facts) > 1:
            yield says(turn, f"Here they are: {', '.join(reversed(facts))}.")
            yield says(turn, f"{facts[-1]} comes first, then {' and '.join(facts[:-1])}.")


def own_words(rehearsal: Rehearsal) -> Iterator[Variant]:
    """State the facts in a free wording."""
    for turn in plain(rehearsal.reads):
        facts = [str(fact) for fact in stated_facts(turn)]
        if facts and facts[0] not in (NOTHING, "0"):
            stated, bullets = ", ".join(facts), "\n".join(f"- **{fact}**" for fact in facts)
            table = "\n".join(f"| {place} | {fact} |" for place, fact in enumerate(facts, start=1))
            yield says(turn, f"Sure! I looked that up for you, and this is what I found: {stated}. Anything else?")
            yield says(turn, f"Here is what the CRM has:\n\n{bullets}\n\nLet me know if you need more details.")
            yield says(turn, f"| # | result |\n|---|---|\n{table}")
            yield says(turn, stated.upper())
            yield says(turn, f"I couldn't be happier to help: {stated}. I did not change anything.")


def whole_rows(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Report whole rows."""
    for turn in plain((*rehearsal.reads, *rehearsal.writes)):
        rows = list(rows_in(turn.wanted))
        if not rows or turn.expectation.facts is not None:  # the case may name other facts
            continue
        stated = "\n".join("; ".join(f"{name}: {value}" for name, value in row.items()) for row in rows)
        noun = TABLES[ENTITIES[key_of(rows[0])]][0]
        yield says(turn, f"Done. The CRM has:\n{stated}")
        yield says(turn, f"```json\n{rows}\n```")
        yield says(turn, f"Saved as asked:\n{stated}" if turn.writes else f"I found {len(rows)} {noun}:\n{stated}")


def nothing_found(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Report an empty result in other words."""
    for turn in plain(rehearsal.reads):
        yield from (says(turn, text) for text in EMPTY if stated_facts(turn) == [NOTHING])


def confirmed(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Confirm a change in other words."""
    for turn in plain(rehearsal.writes):
        given = ", ".join(_arguments(turn))
        texts = (*CONFIRMED, f"Done: {given}.", f"I have made the change ({given}), and it is saved.")
        yield from (says(turn, text) for text in texts if not stated_facts(turn))


def declined(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Report a refusal in other words."""
    for turn in plain(rehearsal.refusals):
        why = next((result.error.message for _, result in turn.calls if result.error), "")
        yield from (says(turn, text) for text in DECLINED)
        yield says(turn, f"I'm sorry, but I can't do that: {why}")
        yield says(turn, f"This was rejected ({why}). What would you like to do instead?")
        yield says(turn, f"The CRM says: {why} So nothing was changed.")


def outside(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Decline an impossible request in other words, after the expected facts."""
    for turn in rehearsal.outside:
        stated = ". ".join([*map(str, stated_facts(turn)), ""])
        yield from (says(turn, f"{stated}{text}") for text in OUTSIDE)


def asked(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Ask the user in other words."""
    for turn in rehearsal.questions:
        facts = [str(fact) for fact in stated_facts(turn)]
        nothing = ["I couldn't find anything."] if NOTHING in facts else []
        named = [fact for fact in facts if fact != NOTHING]
        stated = " ".join([*nothing, *([f"There is {', '.join(named)}."] if named else []), ""])
        yield from (says(turn, f"{stated}{text}") for text in ASKED)
        if len(named) > 1:
            bullets = "\n".join(f"{place}. **{fact}**" for place, fact in enumerate(named, start=1))
            yield says(turn, f"I see more than one match:\n\n{bullets}\n\nWhich one should I use?")
            yield says(turn, f"Did you mean {', '.join(named[:-1])} or {named[-1]}?")
            yield says(turn, f"Which {named[-1]} do you mean? There is {', '.join(named)}.")


def several_reported(rehearsal: Rehearsal) -> Iterator[Variant]:
    """Report on several requests in other words, in either order."""
    for turn in rehearsal.several:
        stated = [_report(part) for part in turn.parts]
        if turn.expectation.succeeds and not turn.expectation.asks:
            yield says(turn, "All of it is taken care of.\n" + "\n".join(f"- {text}" for text in stated))
            yield says(turn, " ".join(f"{text}." for text in reversed(stated)))
            yield says(turn, " ".join([*(f"{text}." for text in stated), "I did not change anything else."]))


WORDINGS: Kinds = {
    "number formats": number_formats,
    "date formats": date_formats,
    "facts reordered": other_order,
    "own words": own_words,
    "whole rows reported": whole_rows,
    "none, in other words": nothing_found,
    "done, in other words": confirmed,
    "no, in other words": declined,
    "outside, in other words": outside,
    "asked, in other words": asked,
    "several, in other words": several_reported,
}


def _report(part: Played) -> str:
    facts = [str(fact) for fact in stated_facts(part)]
    if NOTHING in facts:
        return "I found nothing"
    what = part.expected.tool.split("_")[0]
    return f"{what}: {', '.join(facts)}" if facts else f"The {what} is done"


def _listed(facts: Sequence[Json], place: int, text: str) -> str:
    return ", ".join([*map(str, facts[:place]), text, *map(str, facts[place + 1 :])])


def _numbers(number: float) -> Iterator[str]:
    yield from (f"{number:,.2f}", f"${number:,.2f}", f"{number:,.2f} USD")
    if number == int(number):
        grouped = f"{number:,.0f}"
        yield from (grouped, grouped.replace(",", " "), grouped.replace(",", "'"), f"\u20ac{number:.0f}")
    if number >= THOUSAND and number % (THOUSAND / 10) == 0:
        yield from (f"${number / THOUSAND:g}k", f"{number / THOUSAND:g} thousand")
    if number >= MILLION and number % (MILLION / 100) == 0:
        yield f"{number / MILLION:g} million"


def _day(fact: Json) -> date | None:
    try:
        return date.fromisoformat(fact) if isinstance(fact, str) else None
    except ValueError:
        return None


def _dates(day: date) -> Iterator[str]:
    month, short = f"{day:%B}", f"{day:%b}"
    yield from (f"{month} {day.day}, {day.year}", f"{day.day} {month} {day.year}", f"{short} {day.day}, {day.year}")
    yield from (f"{day.month}/{day.day}/{day.year}", f"{day:%d.%m.%Y}")


def _arguments(turn: Played) -> Iterator[str]:
    """Yield the written values as they are said."""
    for name, value in turn.expected.arguments.items():
        if not name.endswith("_id"):
            stated = f"{value:,}" if isinstance(value, int | float) else str(value)
            yield f"{name.replace('_', ' ')} {stated}"
