"""How a conversation is written: move after move, in the user's own voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from pytest_crmeval.conversations.dataset.entities import TOOLS
from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.naming import PRONOUN, CannotGoOnError, Referent
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios import MOVES
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.shapes import THEMES, Shape
from pytest_crmeval.conversations.generator.staging import Staging
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.tally import Tally
from pytest_crmeval.conversations.generator.wordings import Speech, mistyped
from pytest_crmeval.domain.calls import TOOL_ALIASES, writes

_FIRST_DAY = datetime(2025, 1, 6, tzinfo=UTC)
_WEEKS = 100
_VOICES = (("plain", 4.0), ("terse", 2.3), ("chatty", 2.0), ("indirect", 2.0))
TROUBLE = 0.085
"""Share of turns in which the right behaviour is a refusal or a question."""
MENDED = 0.75
"""How often a user goes on from trouble to what can be done."""
CORRECTED = 0.12
"""How often he has got something wrong that he can still put right."""
JOINED = 0.09
"""How often he wants two things at once."""
OWN = 5.0
"""So much sooner he does what the conversation is about."""
ON, NEXT = 4.0, 2.5
"""So much sooner he goes on with the kind of record that he has just talked of, or with one that belongs to it."""
_BESIDE: Mapping[str, Sequence[str]] = {
    "Client": ("Contact", "Opportunity", "Contract", "Note"),
    "Contact": ("Client", "Note"),
    "Opportunity": ("Quote", "Note", "Document", "Contract"),
    "Quote": ("Opportunity", "Note", "Document", "Contract"),
    "Contract": ("Client", "Document", "Note"),
}
"""What people talk of after a record of a kind."""
AGAIN = 0.2
"""And so much later what he has done already."""


_ALIASES = {tool: alias for alias, tool in TOOL_ALIASES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTurn:
    """A turn in words, and what is meant."""

    text: str
    intents: Sequence[Intent]
    """One, or two if the user wants two things at once."""
    troubled: bool


@dataclass(slots=True, kw_only=True)
class Author:
    """Writes one conversation."""

    chance: SeededRandom
    shape: Shape
    tally: Tally
    speech: Speech
    voice: str = "plain"
    typos: bool = False
    tags: set[str] = field(default_factory=set)
    turns: list[WrittenTurn] = field(default_factory=list)
    _theme: str = ""
    moves: list[Scenario] = field(default_factory=list)
    _knows_today: bool = False

    def write(self) -> Story:
        """Write all turns; return what the CRM is like in the end."""
        self.voice = self.chance.weighted(_VOICES)
        self.typos = self.chance.chance(0.1)
        self.tags |= {"chain"} if self.shape.is_chain else set()
        story = self._begun()
        for place, length in enumerate(self.shape.segments):
            self._theme = self.chance.weighted(list(THEMES.items())) if place else self.shape.theme
            for _ in range(length):
                self.turns.append(self._turn(story))
        if not any(intent.tool and not intent.error for turn in self.turns for intent in turn.intents):
            raise CannotGoOnError("whoever calls nothing, and always declines, would pass")
        return story

    def _begun(self) -> Story:
        day = _FIRST_DAY + timedelta(weeks=self.chance.below(_WEEKS), days=self.chance.below(5))
        now = day.replace(hour=self.chance.between(8, 17), minute=5 * self.chance.below(12))
        stage = Staging(chance=self.chance, today=now.date(), size=self.shape.size, theme=self.shape.theme)
        currency = self.chance.one_of(list(figures.CURRENCIES))
        return Story(chance=self.chance, world=stage.staged(), now=now, currency=currency)

    def _turn(self, story: Story) -> WrittenTurn:
        move, intent = self._first(story)
        text = self._words(move, intent)
        intents = [intent]
        if not move.trouble and self.chance.chance(JOINED) and (second := self._second(story, move, intent)):
            intents.append(second[1])
            text = self._joined(text, self._words(*second, inside=True))
            self.tags.add("two-requests")
        text = self._dated(story, text, intents)
        story.settle(intents[-1])
        return WrittenTurn(text=self._mannered(text, intents), intents=intents, troubled=move.trouble)

    def _first(self, story: Story) -> tuple[Scenario, Intent]:
        """Return the next thing that the user wants."""
        goes_back = self.moves and self.chance.chance(self._wish_to_go_back(story))
        if goes_back and (found := self._fitting(story, [move for move in MOVES if move.follows])):
            return found
        moves = [move for move in MOVES if not move.follows]
        if self._is_time_for_trouble() and (found := self._fitting(story, [move for move in moves if move.trouble])):
            return found
        found = self._fitting(story, [move for move in moves if not move.trouble])
        if found is None:
            raise CannotGoOnError("no move fits")
        return found

    def _wish_to_go_back(self, story: Story) -> float:
        """Return how likely the user answers, or puts something right; whoever is asked back always answers."""
        if story.last and story.last.asks:
            return 1.0
        return MENDED if self.moves[-1].trouble else CORRECTED

    def _second(self, story: Story, first: Scenario, intent: Intent) -> tuple[Scenario, Intent] | None:
        """Return what else the user wants in the same turn, if it goes with the first thing."""
        undo = story.mark()
        story.turn_to(intent)
        found = self._fitting(story, [move for move in MOVES if _joins(move, first, intent)])
        if found and _goes_with(intent, found[1], story.number):
            return found
        if found:
            self.moves.pop()
        undo()
        return None

    def _is_time_for_trouble(self) -> bool:
        troubled = self.tally.troubled + sum(turn.troubled for turn in self.turns)
        behind = troubled < TROUBLE * (self.tally.turns + len(self.turns))
        return self.chance.chance(1.8 * TROUBLE if behind else 0.5 * TROUBLE)

    def _fitting(self, story: Story, moves: Sequence[Scenario]) -> tuple[Scenario, Intent] | None:
        """Return a move that fits, the likelier ones sooner."""
        left = [(move, self._weight(move, story.subject)) for move in moves]
        while left:
            move = self.chance.weighted(left)
            if intent := move.make(story):
                self.moves.append(move)
                return move, self._by_another_name(intent)
            left = [(other, weight) for other, weight in left if other is not move]
        return None

    def _by_another_name(self, intent: Intent) -> Intent:
        """Return an intent whose tool is called by its other name, now and then, if it has two."""
        aliased = _ALIASES.get(intent.tool)
        return replace(intent, tool=aliased) if aliased and self.chance.chance(0.3) else intent

    def _weight(self, move: Scenario, subject: Row | None) -> float:
        own = OWN if move.entity == self._theme else 1.0
        last = subject.entity if subject else ""
        goes_on = ON if last and move.entity == last else NEXT if move.entity in _BESIDE.get(last, ()) else 1.0
        return float(move.weight * own * goes_on * self.tally.scarcity(move) * AGAIN ** self.moves.count(move))

    def _words(self, move: Scenario, intent: Intent, *, inside: bool = False) -> str:
        self.tags |= intent.skills
        for value in intent.slots.values():
            if isinstance(value, Referent):
                self.tags |= value.skills | (PRONOUN if value.known else frozenset())
        name = intent.phrase or move.name
        said = self.speech.say(self.chance, name, intent.slots, self.voice, optional=intent.optional, inside=inside)
        self.tags |= {self.speech.voice} & {self.voice} - {"plain"}
        return said

    def _joined(self, one: str, other: str) -> str:
        stop = "" if one.endswith((".", "!", "?", '"')) else "."
        return f"{one}{stop} {self.speech.say(self.chance, 'joining', {}, self.voice)} {other}"

    def _dated(self, story: Story, text: str, intents: Sequence[Intent]) -> str:
        """Say what day it is, once, before it matters."""
        if self._knows_today or not any(intent.relative for intent in intents):
            return text
        self._knows_today = True
        today = days.today(self.chance, story.now.date())
        return f"{self.speech.say(self.chance, 'today', {'today': today}, self.voice)} {text}"

    def _mannered(self, text: str, intents: Sequence[Intent]) -> str:
        if self.voice == "chatty" and self.chance.chance(0.25):
            bank = "opening" if not self.turns else "setback" if self.turns[-1].troubled else "aside"
            text = f"{self.speech.say(self.chance, bank, {}, self.voice)} {text}"
        elif self.voice == "chatty" and self.chance.chance(0.2) and text.endswith("."):
            text = f"{text} {self.speech.say(self.chance, 'closing', {}, self.voice)}"
        if not (self.typos and self.chance.chance(0.7)):
            return text
        slipped = mistyped(self.chance, text, [form for intent in intents for form in _forms(intent)])
        self.tags |= {"typos"} if slipped != text else set()
        return slipped


def _joins(second: Scenario, first: Scenario, intent: Intent) -> bool:
    """Whether a move may come second: another one, and no question after a question."""
    reads = not any(map(writes, second.tools))
    return second.joins and second is not first and (not reads or writes(intent.tool))


def _goes_with(first: Intent, second: Intent, turn: int) -> bool:
    """Whether two requests make sense in one breath: the second neither undoes nor overtakes the first."""
    if not writes(first.tool) and writes(second.tool) and TOOLS.get(first.tool) in ("", TOOLS.get(second.tool)):
        return False  # before or after, how many are there?
    met = {row.ref for row in (first.about, *first.looked_at) if row}
    ids = {value for value in second.args.values() if isinstance(value, str)}
    own = any(value.startswith(f"{{{{turn_{turn}.") for value in ids)
    if not own and met.isdisjoint(ids):
        return True
    if not writes(first.tool) or first.tool.startswith(("clone_", "delete_")):
        return False
    if not any(isinstance(value, Referent) and "pronoun" in value.skills for value in second.slots.values()):
        return False  # the same record by another name would seem to be another one
    columns = {name for name in second.args if not name.endswith("_id")}
    return not second.tool.startswith(("delete_", "cancel_")) and columns.isdisjoint(first.args)


def _forms(intent: Intent) -> list[str]:
    """Return all that was said of records and values."""
    values = intent.slots.values()
    return [
        form
        for value in values
        for form in ([value] if isinstance(value, str) else [value.object, value.own, value.subject])
    ]
