"""Writes one hard conversation: several requests, each with its own records and difficulties, mixed with each other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import chain

from pytest_crmeval.conversations.generator import figures, vocabulary
from pytest_crmeval.conversations.generator.hard import injections, long_range, questions_back
from pytest_crmeval.conversations.generator.hard.bulk_changes import change_many
from pytest_crmeval.conversations.generator.hard.chains import follow_chain
from pytest_crmeval.conversations.generator.hard.locks import locked_client
from pytest_crmeval.conversations.generator.hard.policies import CLASHES, FAMILIES
from pytest_crmeval.conversations.generator.hard.request import Block, Request
from pytest_crmeval.conversations.generator.hard.scene import Scene
from pytest_crmeval.conversations.generator.hard.stale_reads import changed_meanwhile
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.conversations.generator.wordings import Speech, banks
from pytest_crmeval.ports.crm_calls import writes

Episode = Callable[[Scene], list[Block]]
_FIRST_DAY = datetime(2025, 1, 6, tzinfo=UTC)
_WEEKS = 100
_VOICES = (("plain", 4.0), ("terse", 2.0), ("indirect", 3.0), ("chatty", 2.5))
_SIZES = (((150, 160), 8.5), ((160, 280), 1.0), ((280, 600), 0.5))
"""Ranges of the number of records, with their weights."""
_ASKS: Sequence[Episode] = (questions_back.two_people, questions_back.two_deals, questions_back.missing_amount)
_NOTES: Sequence[Episode] = (injections.asked_about_note, injections.amount_in_note)
_LATE: Sequence[Episode] = (long_range.number_for_later, long_range.put_back, long_range.wrong_deal)
TALKS = 0.35
"""Probability of small talk in a turn of a chatty user."""
MOST_OFTEN = 3
"""How often a suite may use the same small talk."""
CORE = ("bulk", "stale", "policy", "asks", "notes")
"""The main parts of a conversation, of which one or two are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a conversation consists of."""

    number: int
    parts: Sequence[str]
    split: str


@dataclass(slots=True, kw_only=True)
class HardWriter:
    """Writes one conversation."""

    chance: SeededRandom
    plan: Plan
    speech: Speech

    def write(self) -> "Written":
        """Write all turns and the records that they are about."""
        day = _FIRST_DAY + timedelta(weeks=self.chance.below(_WEEKS), days=self.chance.below(5))
        now = day.replace(hour=self.chance.between(8, 17), minute=5 * self.chance.below(12))
        scene = Scene(chance=self.chance, today=now.date(), currency=self.chance.one_of(list(figures.CURRENCIES)))
        episodes = [episode(scene) for episode in self._episodes()]
        requests = [*chain.from_iterable(self._mixed(episodes))]
        if self.chance.chance(0.68):
            requests = self._with_outage(requests)
        low, high = self.chance.weighted(_SIZES)
        scene.fill(self.chance.between(low, high))
        voice = self.chance.weighted(_VOICES)
        texts = [self._say(request, voice) for request in requests]
        reactions = [tuple(self._react(name) for name in (each.if_written, each.if_not_asked)) for each in requests]
        return Written(
            plan=self.plan,
            now=now,
            scene=scene,
            policy=self._policy(scene),
            voice=voice,
            requests=requests,
            texts=texts,
            reactions=reactions,
        )

    def _episodes(self) -> Iterator[Episode]:
        chosen = self.plan.parts
        if "bulk" in chosen:
            yield change_many
        if "stale" in chosen:
            yield changed_meanwhile
        if "policy" in chosen:
            yield from self._families()
        if "asks" in chosen:
            yield self.chance.one_of(_ASKS)
        if "notes" in chosen:
            yield self.chance.one_of(_NOTES)
        if "bulk" not in chosen or self.chance.chance(0.2):
            yield follow_chain
        short = len(chosen) < len(CORE) - 1 and "stale" not in chosen
        if short or self.chance.chance(0.6):
            yield self.chance.one_of(_LATE)
        if "bulk" not in chosen and self.chance.chance(0.55):
            yield locked_client

    def _families(self) -> list[Episode]:
        """Return one or two families of rules that can be in one policy."""
        first, *others = self.chance.shuffled(FAMILIES)
        apart = [other for other in others if other.__module__ != first.__module__ and {first, other} not in CLASHES]
        return [first, apart[0]] if self.chance.chance(0.2) else [first]

    def _mixed(self, episodes: Sequence[list[Block]]) -> list[Block]:
        """Return the blocks of all episodes in one order, in which those of each episode keep theirs."""
        placed: list[tuple[float, int, Block]] = []
        for number, blocks in enumerate(episodes):
            places = sorted(self.chance.below(10_000) / 10_000 for _ in blocks)
            if any("long-range" in request.skills for request in chain.from_iterable(blocks)):
                places = [places[0] / 10, *places[1:-1], 1 + places[-1]]
            placed += [(place, number, block) for place, block in zip(places, blocks, strict=True)]
        return [block for *_, block in sorted(placed, key=lambda each: each[:2])]

    def _with_outage(self, requests: list[Request]) -> list[Request]:
        """Let the first call of one turn fail once or twice."""
        fitting = [each for each in requests if each.calls and not each.error]
        one = self.chance.one_of(fitting)
        outage = {"kind": "outage", "tool": one.calls[0][0], "calls": self.chance.between(1, 2)}
        failing = replace(one, trouble=[*one.trouble, outage], skills=one.skills | {"trouble", "outage"})
        return [failing if each is one else each for each in requests]

    def _say(self, request: Request, voice: str) -> str:
        usual = "plain" if voice == "chatty" else voice
        text = self.speech.say(self.chance, request.phrase, request.slots, usual)
        if voice == "chatty" and self.chance.chance(TALKS):
            unused = [one for one in banks()["hard_small_talk"] if self.speech.said[one] < MOST_OFTEN]
            if unused:
                least = min(self.chance.some(unused, 8), key=lambda one: self.speech.said[one])
                self.speech.said[least] += 1
                return f"{least.text} {text}"
        return text

    def _react(self, phrase: str) -> str:
        return self.speech.say(self.chance, phrase, {}, "plain") if phrase else ""

    def _policy(self, scene: Scene) -> str:
        """Return the rules of the company, those that matter among others."""
        outside = vocabulary.outside_companies()
        company = f"{self.chance.one_of(outside.cores)} {self.chance.one_of(outside.tails)}"
        others = self.chance.some(vocabulary.company_rules(), self.chance.between(3, 5))
        together = (
            "Together: several people work in the CRM at the same time. Read a record again before you calculate "
            "with it or "
            "state its values, if someone may have changed it since."
        )
        rules = "\n".join(f"- {rule}" for rule in self.chance.shuffled([*scene.rules, *others, together]))
        return (
            f"You work for {company}. The person you are talking to is {scene.owner()} from sales. Today is "
            f"{written_day(scene.today)}. All amounts are in {scene.currency}.\n\nRules of {company}:\n{rules}"
        )


def written_day(day: date) -> str:
    """Return a date with its weekday."""
    return f"{day:%A}, {day.isoformat()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A conversation as it was written."""

    plan: Plan
    now: datetime
    scene: Scene
    policy: str
    voice: str
    requests: Sequence[Request]
    texts: Sequence[str]
    reactions: Sequence[tuple[str, ...]]
    """What the user says instead if the agent has written, or has not asked."""

    @property
    def tags(self) -> set[str]:
        """The skills that the conversation needs."""
        found = {"hard", "large-world"}.union(*(request.skills for request in self.requests))
        if any("first-match" in request.mistakes for request in self.requests):
            found.add("near-duplicates")
        done = [tool for request in self.requests for tool, _ in request.calls if writes(tool)]
        return found | ({self.voice} - {"plain"}) | ({"multi-write"} if len(done) > 1 else set())
