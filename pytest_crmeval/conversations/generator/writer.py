"""Writes one conversation, request by request, in one user's voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from pytest_crmeval.conversations.dataset.crm_schema import TOOLS
from pytest_crmeval.conversations.generator import days, figures
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.naming import PRONOUN, DeadEndError, Referent
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios import SCENARIOS
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.shapes import THEMES, Shape
from pytest_crmeval.conversations.generator.starting_rows import StartingRows
from pytest_crmeval.conversations.generator.story import Story
from pytest_crmeval.conversations.generator.tally import Tally
from pytest_crmeval.conversations.generator.wordings import Speech, mistyped
from pytest_crmeval.ports.crm_calls import TOOL_ALIASES, writes

_FIRST_DAY = datetime(2025, 1, 6, tzinfo=UTC)
_WEEKS = 100
_VOICES = (("plain", 4.0), ("terse", 2.3), ("chatty", 2.0), ("indirect", 2.0))
TROUBLE = 0.085
"""Share of turns in which the right behaviour is a refusal or a question."""
RECOVERY = 0.75
"""Probability that the user follows up on such a turn with a request that can be fulfilled."""
CORRECTED = 0.12
"""Probability that the user corrects the previous request."""
JOINED = 0.09
"""Probability of two requests in one turn."""
OWN = 5.0
"""Factor for the weight of scenarios about the theme of the conversation."""
SAME, RELATED = 4.0, 2.5
"""Factors for the weight of scenarios about the entity of the previous turn, and about a related entity."""
_RELATED: Mapping[str, Sequence[str]] = {
    "Client": ("Contact", "Opportunity", "Contract", "Note"),
    "Contact": ("Client", "Note"),
    "Opportunity": ("Quote", "Note", "Document", "Contract"),
    "Quote": ("Opportunity", "Note", "Document", "Contract"),
    "Contract": ("Client", "Document", "Note"),
}
"""Entity -> the entities that users turn to next."""
AGAIN = 0.2
"""Factor for the weight of a scenario, for each time that the conversation has used it."""


_ALIASES = {tool: alias for alias, tool in TOOL_ALIASES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTurn:
    """The utterance of a turn, with its intents."""

    text: str
    intents: Sequence[Intent]
    """One, or two if the turn has two requests."""
    troubled: bool


@dataclass(slots=True, kw_only=True)
class ConversationWriter:
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
    scenarios: list[Scenario] = field(default_factory=list)
    _knows_today: bool = False

    def write(self) -> Story:
        """Write all turns; return the final state."""
        self.voice = self.chance.weighted(_VOICES)
        self.typos = self.chance.chance(0.1)
        self.tags |= {"chain"} if self.shape.is_chain else set()
        day = _FIRST_DAY + timedelta(weeks=self.chance.below(_WEEKS), days=self.chance.below(5))
        now = day.replace(hour=self.chance.between(8, 17), minute=5 * self.chance.below(12))
        rows = StartingRows(chance=self.chance, today=now.date(), size=self.shape.size, theme=self.shape.theme)
        currency = self.chance.one_of(list(figures.CURRENCIES))
        story = Story(chance=self.chance, world=rows.build(), now=now, currency=currency)
        for place, length in enumerate(self.shape.segments):
            self._theme = self.chance.weighted(list(THEMES.items())) if place else self.shape.theme
            for _ in range(length):
                self.turns.append(self._turn(story))
        if not any(intent.tool and not intent.error for turn in self.turns for intent in turn.intents):
            raise DeadEndError("an agent that calls nothing and always declines would pass")
        return story

    def _turn(self, story: Story) -> WrittenTurn:
        scenario, intent = self._first_request(story)
        text = self._utterance(scenario, intent)
        intents = [intent]
        if not scenario.trouble and self.chance.chance(JOINED):
            second = self._second_request(story, scenario, intent)
            if second:
                intents.append(second[1])
                other = self._utterance(*second, inside=True)
                stop = "" if text.endswith((".", "!", "?", '"')) else "."
                text = f"{text}{stop} {self.speech.say(self.chance, 'joining', {}, self.voice)} {other}"
                self.tags.add("two-requests")
        if not self._knows_today and any(intent.relative for intent in intents):
            self._knows_today = True
            today = days.today(self.chance, story.now.date())
            text = f"{self.speech.say(self.chance, 'today', {'today': today}, self.voice)} {text}"
        story.next_turn(intents[-1])
        return WrittenTurn(text=self._with_manner(text, intents), intents=intents, troubled=scenario.trouble)

    def _first_request(self, story: Story) -> tuple[Scenario, Intent]:
        if self.scenarios:
            asked = story.last and story.last.asks  # the user always answers a question
            likely = 1.0 if asked else RECOVERY if self.scenarios[-1].trouble else CORRECTED
            follow_ups = [scenario for scenario in SCENARIOS if scenario.follows]
            if self.chance.chance(likely) and (found := self._fitting(story, follow_ups)):
                return found
        scenarios = [scenario for scenario in SCENARIOS if not scenario.follows]
        troubles = [scenario for scenario in scenarios if scenario.trouble]
        troubled = self.tally.troubled + sum(turn.troubled for turn in self.turns)
        behind = troubled < TROUBLE * (self.tally.turns + len(self.turns))
        if self.chance.chance(1.8 * TROUBLE if behind else 0.5 * TROUBLE) and (found := self._fitting(story, troubles)):
            return found
        found = self._fitting(story, [scenario for scenario in scenarios if not scenario.trouble])
        if found is None:
            raise DeadEndError("no scenario fits")
        return found

    def _second_request(self, story: Story, first: Scenario, intent: Intent) -> tuple[Scenario, Intent] | None:
        """Return another request for the same turn, if one goes with the first; a question never follows a question."""
        undo = story.snapshot()
        story.focus_on(intent)
        scenarios = [
            scenario
            for scenario in SCENARIOS
            if scenario.joins and scenario is not first and (any(map(writes, scenario.tools)) or writes(intent.tool))
        ]
        found = self._fitting(story, scenarios)
        if found and _goes_with(intent, found[1], story.number):
            return found
        if found:
            self.scenarios.pop()
        undo()
        return None

    def _fitting(self, story: Story, scenarios: Sequence[Scenario]) -> tuple[Scenario, Intent] | None:
        """Return a scenario that fits, chosen by weight; now and then its tool is called by an alias."""
        left = [(scenario, self._weight(scenario, story.subject)) for scenario in scenarios]
        while left:
            scenario = self.chance.weighted(left)
            if intent := scenario.intent(story):
                self.scenarios.append(scenario)
                alias = _ALIASES.get(intent.tool)
                return scenario, replace(intent, tool=alias) if alias and self.chance.chance(0.3) else intent
            left = [(other, weight) for other, weight in left if other is not scenario]
        return None

    def _weight(self, scenario: Scenario, subject: Row | None) -> float:
        own = OWN if scenario.entity == self._theme else 1.0
        last = subject.entity if subject else ""
        near = RELATED if scenario.entity in _RELATED.get(last, ()) else 1.0
        near = SAME if last and scenario.entity == last else near
        again = AGAIN ** self.scenarios.count(scenario)
        return float(scenario.weight * own * near * self.tally.scarcity(scenario) * again)

    def _utterance(self, scenario: Scenario, intent: Intent, *, inside: bool = False) -> str:
        self.tags |= intent.skills
        for value in intent.slots.values():
            if isinstance(value, Referent):
                self.tags |= value.skills | (PRONOUN if value.known else frozenset())
        name = intent.phrase or scenario.name
        said = self.speech.say(self.chance, name, intent.slots, self.voice, optional=intent.optional, inside=inside)
        self.tags |= {self.speech.voice} & {self.voice} - {"plain"}
        return said

    def _with_manner(self, text: str, intents: Sequence[Intent]) -> str:
        """Return the utterance with small talk and typing mistakes, if this user makes them."""
        if self.voice == "chatty" and self.chance.chance(0.25):
            bank = "opening" if not self.turns else "setback" if self.turns[-1].troubled else "aside"
            text = f"{self.speech.say(self.chance, bank, {}, self.voice)} {text}"
        elif self.voice == "chatty" and self.chance.chance(0.2) and text.endswith("."):
            text = f"{text} {self.speech.say(self.chance, 'closing', {}, self.voice)}"
        if not (self.typos and self.chance.chance(0.7)):
            return text
        kept: list[str] = []
        for value in (value for intent in intents for value in intent.slots.values()):
            kept += [value] if isinstance(value, str) else [value.object, value.own, value.subject]
        changed = mistyped(self.chance, text, kept)
        self.tags |= {"typos"} if changed != text else set()
        return changed


def _goes_with(first: Intent, second: Intent, turn: int) -> bool:
    """Whether two requests make sense in one turn: the second neither undoes the first nor depends on its order."""
    if not writes(first.tool) and writes(second.tool) and TOOLS.get(first.tool) in ("", TOOLS.get(second.tool)):
        return False  # the answer to the first would depend on whether the second comes before it
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
