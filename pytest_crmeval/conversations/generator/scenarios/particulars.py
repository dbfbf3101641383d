"""What clients and people have: numbers, addresses, names; how it is drawn, said and changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Fix, Intent, Slot
from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.state import TABLES

MANY = 10
"""Nobody wants to hear of more rows than this."""
_SAID: Mapping[str, Sequence[str]] = {
    "title": ("title {}", "job title {}"),
    "industry": ("industry {}", 'industry "{}"'),
    "email": ("e-mail {}", "email {}", "e-mail address {}"),
    "phone": ("phone {}", "tel. {}", "phone number {}"),
    "owner": ("owner {}", "account owner {}", "owned by {}"),
    "notes": ('"{}" in the notes field', '"{}" in the field for notes'),
    "address": ("address {}", 'address "{}"'),
}
"""How a particular is said, in the order in which they are said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A column that users change."""

    column: str
    thing: str
    """What it is called."""
    draw: Callable[[Story, Row], str]
    """Draws what it has not been."""

    def fix(self, row: Row) -> Fix:
        """Return how the user may put right what he has said of a record."""
        return Fix(
            tool=f"modify_{row.entity.lower()}",
            row=row,
            column=self.column,
            thing=self.thing,
            said=row[self.column],
            draw=partial(_again, self, row),
        )

    def made(self, story: Story, row: Row) -> Intent:
        """Give a record another value."""
        said, value = story.call(row), self.draw(story, row)
        row.columns[self.column] = value
        return Intent(
            tool=f"modify_{row.entity.lower()}",
            args={TABLES[row.entity][1]: row.ref, self.column: value},
            slots={row.entity.lower(): said, self.column: value},
            skills=frozenset({"update"}),
            about=row,
            fixes=(self.fix(row),),
        )


def _again(change: Change, row: Row, story: Story) -> tuple[str, str]:
    value = change.draw(story, row)
    return value, value


def another(chance: SeededRandom, values: Sequence[str], than: str | None) -> str:
    """Return one of the values that is not what there is already."""
    return chance.one_of([value for value in values if value != than])


def phone(story: Story, _: Row | None = None) -> str:
    """Return a telephone number that nobody has."""
    return story.chance.digits(story.chance.one_of(vocabulary.places()).phone)


def address(story: Story, _: Row | None = None) -> str:
    """Return where a house is."""
    place = story.chance.one_of(vocabulary.places())
    return place.address(story.chance.one_of(place.streets), story.chance.between(1, 180))


def told(chance: SeededRandom, values: Mapping[str, str]) -> str:
    """Return particulars one after the other, each with what it is."""
    return ", ".join(chance.one_of(_SAID[column]).format(values[column]) for column in _SAID if column in values)


def found(story: Story, entity: str, filters: Mapping[str, str]) -> list[Row]:
    """Return what the CRM finds by texts: part of a name will do, and small letters."""
    rows = story.world.of(entity)
    return [row for row in rows if all(sought.lower() in str(row[at] or "").lower() for at, sought in filters.items())]


def only(story: Story, row: Row, said: Referent, filters: Mapping[str, str]) -> Mapping[str, str]:
    """Return filters that are said and find one record and no other; if these don't, its id does."""
    heard = all(value in said.object for value in filters.values())
    return filters if heard and found(story, row.entity, filters) == [row] else {TABLES[row.entity][1]: row.ref}


def answered(story: Story, row: Row, column: str, said: Referent, filters: Mapping[str, str]) -> Intent:
    """Ask for one thing that a record has, which is spoken of as it is ``said``."""
    return Intent(
        tool=f"{row.entity.lower()}_search",
        args=only(story, row, said, filters),
        slots={row.entity.lower(): said},
        facts=row[column].split(", ") if column == "address" else [row[column]],
        skills=frozenset({"lookup"}),
        about=row,
    )


def listed(
    story: Story, tool: str, args: Mapping[str, str], rows: Sequence[Row], slots: Mapping[str, Slot]
) -> Intent | None:
    """Ask who or what there is; None if nobody would ask: there is none, too much, or it is known already."""
    if not rows or len(rows) > MANY or all(row.ref in story.seen for row in rows):
        return None
    alike = {"disambiguation"} if len(rows) > 1 and any(column.endswith("name") for column in args) else set()
    return Intent(
        tool=tool,
        args=args,
        slots=slots,
        skills=frozenset({"lookup", *alike}),
        about=rows[0] if len(rows) == 1 else None,
        looked_at=rows,
    )
