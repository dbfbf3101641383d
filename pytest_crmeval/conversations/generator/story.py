"""A conversation while it is being written: what there is, what the talk is of, who is talking."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.days import Day
from pytest_crmeval.conversations.generator.intents import Intent
from pytest_crmeval.conversations.generator.naming import Referent, refer_to
from pytest_crmeval.conversations.generator.rows import Row, World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

COUNTED = "summarize_counts"
"""Stands among what was seen for the counts, which are shown all at once."""
STAYS = 0.7
"""How often people go on about the very record that they have just talked of."""
NEAR = 0.8
"""And how often, if not, about something that belongs to it."""


@dataclass(slots=True, kw_only=True)
class Story:
    """What a move finds when its turn comes."""

    chance: SeededRandom
    world: World
    now: datetime
    currency: str
    number: int = 1
    """The turn that is being written."""
    subject: Row | None = None
    """What a pronoun means."""
    focus: dict[str, Row] = field(default_factory=dict)
    """Of each kind the record that was talked of last."""
    seen: set[str] = field(default_factory=set)
    """References of records that an agent has seen by now: whoever asks for them again gets what is remembered."""
    last: Intent | None = None

    def pick(self, entity: str, fits: Callable[[Row], bool] = lambda _: True) -> Row | None:
        """Return a record for a move: often what the talk is of, or what belongs to it; None if none fits."""
        rows = [row for row in self.world.of(entity) if fits(row)]
        if self.focus.get(entity) in rows and self.chance.chance(STAYS):
            return self.focus[entity]
        near = [row for row in rows if self._is_near(row)]
        if near and self.chance.chance(NEAR):
            return self.chance.one_of(near)
        return self.chance.one_of(rows) if rows else None

    def pick_unseen(self, entity: str, fits: Callable[[Row], bool] = lambda _: True) -> Row | None:
        """Return a record that nobody has looked at yet: only that is worth a question."""
        return self.pick(entity, lambda row: row.ref not in self.seen and fits(row))

    def call(self, row: Row) -> Referent:
        """Return how the user speaks of a record now."""
        return refer_to(self, row)

    def money(self, value: float) -> str:
        """Return an amount as it is said."""
        return figures.money(self.chance, value, self.currency)

    def day_ahead(self) -> Day:
        """Return a day that is still to come; a scenario that uses a relative one says so in its intent."""
        return days.ahead(self.chance, self.now.date())

    def settle(self, intent: Intent) -> None:
        """Go on to the next turn."""
        self.last = intent
        self.turn_to(intent)
        self.number += 1

    def turn_to(self, intent: Intent) -> None:
        """Take in what was talked of."""
        self.subject = intent.about
        for row in (*intent.looked_at, *([intent.about] if intent.about else [])):
            self.seen |= {each.ref for each in (row, *self._on_the_way_to(row))}
        if intent.about:
            self._focus_on(intent.about)

    def mark(self) -> Callable[[], None]:
        """Return what takes everything back to how it is now."""
        rows = [(row, dict(row.columns)) for row in self.world.rows]
        seen, focus, subject = set(self.seen), dict(self.focus), self.subject

        def undo() -> None:
            self.world.rows = [row for row, _ in rows]
            for row, columns in rows:
                row.columns = columns
            self.seen, self.focus, self.subject = seen, focus, subject

        return undo

    def _on_the_way_to(self, row: Row) -> list[Row]:
        """Return what an agent may have seen when it has found a record: whatever looks like it, or is beside it."""
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

    def _is_near(self, row: Row) -> bool:
        """Whether a record is what the talk is of, or belongs to it."""
        around = {each.ref for each in self.focus.values()}
        return row.ref in around or row["opportunity_id"] in around or row["client_id"] in around
