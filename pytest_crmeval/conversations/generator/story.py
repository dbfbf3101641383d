"""The state of a conversation while it is being written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.days import Day
from pytest_crmeval.conversations.generator.intents import DoesNotFitError, Intent
from pytest_crmeval.conversations.generator.naming import Referent, refer_to
from pytest_crmeval.conversations.generator.rows import Row, World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

COUNTED = "summarize_counts"
"""The entry in ``Story.seen`` for the counts of all entities, which one tool shows together."""
STAYS = 0.7
"""Probability that the next request is about the same record."""
NEAR = 0.8
"""Probability, if it is not, that it is about a related record."""


@dataclass(slots=True, kw_only=True)
class Story:
    """The state that a scenario needs to write the next turn."""

    chance: SeededRandom
    world: World
    now: datetime
    currency: str
    number: int = 1
    """The turn that is being written."""
    subject: Row | None = None
    """The record that a pronoun means."""
    focus: dict[str, Row] = field(default_factory=dict)
    """Entity -> the record that was mentioned last."""
    seen: set[str] = field(default_factory=set)
    """References of the records that an agent has seen; it could answer questions about them without a call."""
    last: Intent | None = None

    def pick(self, entity: str, fits: Callable[[Row], bool] = lambda _: True) -> Row:
        """Return a record that fits, often the current one or a related one; DoesNotFitError if there is none."""
        row = self.pick_or_none(entity, fits)
        if row is None:
            raise DoesNotFitError(f"no {entity} fits")
        return row

    def pick_or_none(self, entity: str, fits: Callable[[Row], bool] = lambda _: True) -> Row | None:
        """Return the same; None if no record fits."""
        rows = [row for row in self.world.of(entity) if fits(row)]
        if self.focus.get(entity) in rows and self.chance.chance(STAYS):
            return self.focus[entity]
        around = {each.ref for each in self.focus.values()}
        near = [row for row in rows if {row.ref, row["opportunity_id"], row["client_id"]} & around]
        if near and self.chance.chance(NEAR):
            return self.chance.one_of(near)
        return self.chance.one_of(rows) if rows else None

    def pick_unseen(self, entity: str, fits: Callable[[Row], bool] = lambda _: True) -> Row:
        """Return a record that the agent has not seen yet, to ask a question about."""
        return self.pick(entity, lambda row: row.ref not in self.seen and fits(row))

    def refer_to(self, row: Row) -> Referent:
        """Return the user's words for a record in this turn."""
        return refer_to(self, row)

    def money(self, value: float) -> str:
        """Return an amount as it is said."""
        return figures.money(self.chance, value, self.currency)

    def day_ahead(self) -> Day:
        """Return a future date; a scenario that uses a relative one sets ``relative`` in its intent."""
        return days.ahead(self.chance, self.now.date())

    def next_turn(self, intent: Intent) -> None:
        """Go on to the next turn."""
        self.last = intent
        self.focus_on(intent)
        self.number += 1

    def focus_on(self, intent: Intent) -> None:
        """Update subject, focus and seen records after a request."""
        self.subject = intent.about
        for row in (*intent.looked_at, *([intent.about] if intent.about else [])):
            self.seen |= {each.ref for each in (row, *self._on_the_way_to(row))}
        if intent.about:
            self._focus_on(intent.about)

    def snapshot(self) -> Callable[[], None]:
        """Return a function that restores the present state."""
        rows = [(row, dict(row.columns)) for row in self.world.rows]
        seen, focus, subject = set(self.seen), dict(self.focus), self.subject

        def undo() -> None:
            self.world.rows = [row for row, _ in rows]
            for row, columns in rows:
                row.columns = columns
            self.seen, self.focus, self.subject = seen, focus, subject

        return undo

    def _on_the_way_to(self, row: Row) -> list[Row]:
        """Return the records that an agent may have seen while it looked for a record: similar and related ones."""
        if row.entity == "Client":
            return [other for other in self.world.of("Client") if row.known_as and other.known_as == row.known_as]
        if row.entity == "Contact":
            namesakes = self.world.of("Contact", last_name=row["last_name"])
            return [*namesakes, *self.world.of("Contact", client_id=row["client_id"])]
        if row.entity == "Opportunity":
            return [self.world.client_of(row), *self.world.of("Opportunity", client_id=row["client_id"])]
        return self.world.of("Quote", opportunity_id=row["opportunity_id"]) if row.entity == "Quote" else []

    def _focus_on(self, row: Row) -> None:
        self.focus[row.entity] = row
        if row["opportunity_id"]:
            self._focus_on(self.world.row(row["opportunity_id"]))
        if row["client_id"]:
            self.focus["Client"] = self.world.row(row["client_id"])
