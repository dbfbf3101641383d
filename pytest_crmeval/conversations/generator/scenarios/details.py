"""Columns of clients and contacts: how values are drawn, said, changed and asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Fix, Intent, Slot
from pytest_crmeval.conversations.generator.naming import Referent
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.domain.state import TABLES

MANY = 10
"""The most rows that a question may find."""
_SAID: Mapping[str, Sequence[str]] = {
    "title": ("title {}", "job title {}"),
    "industry": ("industry {}", 'industry "{}"'),
    "email": ("e-mail {}", "email {}", "e-mail address {}"),
    "phone": ("phone {}", "tel. {}", "phone number {}"),
    "owner": ("owner {}", "account owner {}", "owned by {}"),
    "notes": ('"{}" in the notes field', '"{}" in the field for notes'),
    "address": ("address {}", 'address "{}"'),
}
"""Column -> how its value is said; utterances have them in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """A column that users change."""

    column: str
    thing: str
    """The words for it."""
    draw: Callable[[Story, Row], str]
    """Draws a new value."""

    def fix(self, row: Row) -> Fix:
        """Return how the user may correct the value in the next turn."""

        def draw(story: Story) -> tuple[str, str]:
            value = self.draw(story, row)
            return value, value

        return Fix(
            tool=f"modify_{row.entity.lower()}",
            row=row,
            column=self.column,
            thing=self.thing,
            said=row[self.column],
            draw=draw,
        )

    def made(self, story: Story, row: Row) -> Intent:
        """Change the value in a record."""
        said, value = story.refer_to(row), self.draw(story, row)
        row.columns[self.column] = value
        return Intent(
            tool=f"modify_{row.entity.lower()}",
            args={TABLES[row.entity][1]: row.ref, self.column: value},
            slots={row.entity.lower(): said, self.column: value},
            skills=frozenset({"update"}),
            about=row,
            fixes=(self.fix(row),),
        )


def another(chance: SeededRandom, values: Sequence[str], than: str | None) -> str:
    """Return one of the values, but not the present one."""
    return chance.one_of([value for value in values if value != than])


def change_of(column: str, thing: str, values: Callable[[], Sequence[str]]) -> ColumnChange:
    """Return the change of a column to another one of ``values``."""
    return ColumnChange(
        column=column, thing=thing, draw=lambda story, row: another(story.chance, values(), row[column])
    )


def address(story: Story, _: Row | None = None) -> str:
    """Return a new address."""
    place = story.chance.one_of(vocabulary.places())
    return place.address(story.chance.one_of(place.streets), story.chance.between(1, 180))


def in_words(chance: SeededRandom, values: Mapping[str, str]) -> str:
    """Return values in words, each with its label."""
    return ", ".join(chance.one_of(_SAID[column]).format(values[column]) for column in _SAID if column in values)


def found(story: Story, entity: str, filters: Mapping[str, str]) -> list[Row]:
    """Return the rows that the CRM finds by texts: a part is enough, in any case."""
    rows = story.world.of(entity)
    return [row for row in rows if all(sought.lower() in str(row[at] or "").lower() for at, sought in filters.items())]


def only(story: Story, row: Row, said: Referent, filters: Mapping[str, str]) -> Mapping[str, str]:
    """Return the filters if the user says them and they find only this record; else a filter by its id."""
    heard = all(value in said.object for value in filters.values())
    return filters if heard and found(story, row.entity, filters) == [row] else {TABLES[row.entity][1]: row.ref}


def answered(story: Story, row: Row, column: str, said: Referent, filters: Mapping[str, str]) -> Intent:
    """Ask for one column of a record, which the user refers to as ``said``."""
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
    """Ask for a list of rows; None if there are none, too many, or all of them have been seen."""
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
