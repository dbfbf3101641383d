"""Whether scores can be believed: what they make of agents whose every step is known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from pytest_crmeval.conversations.calibration.equivalents import EQUIVALENTS
from pytest_crmeval.conversations.calibration.flaws import FLAWS
from pytest_crmeval.conversations.calibration.lies import LIES
from pytest_crmeval.conversations.calibration.misreadings import MISREADINGS
from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal
from pytest_crmeval.conversations.calibration.variants import Deviant, Kinds, Variant, revoiced
from pytest_crmeval.conversations.calibration.wordings import WORDINGS
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.messages import Tool
from pytest_crmeval.domain.score import Score
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.scorer import Scorer

CORRUPTED: Kinds = {**FLAWS, **MISREADINGS, **LIES}
"""What must not pass."""
EQUIVALENT: Kinds = {**EQUIVALENTS, **WORDINGS}
"""What must pass."""
TRIES = 200
"""How often each kind is tried, if there are so many variants of it."""
AIM = 0.99
"""The share of corrupted oracles that must be caught, and of equivalent ones that must be accepted."""
KEPT = 5
"""Misses of one kind that are told."""
SHORT = 200

Observe = Callable[[Conversation, Agent], Evidence]
"""Lets an agent play a case on a CRM of its own; the reference of a case is made once."""

_FREE = (
    "where a case says itself what a table ends with, the columns that it does not name may hold anything, and what a "
    "later turn writes over leaves no trace"
)
WHY: Mapping[str, str] = {
    "choice changed": _FREE,
    "argument added": _FREE,
    "extra write": _FREE,
    "filters dropped": "rows that were not asked for are told as if they had been; but an honest agent may name others "
    "for contrast, or has heard of them before, and words alone don't always tell the one from the other",
    "false name": "signs don't count in names: uk-old and uk_old are the same words",
}
"""Kind that scorers can't always catch -> why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A trial that was judged wrongly."""

    case: str
    turn: int
    what: str
    """What was different from what the oracle does."""
    reason: str = ""
    """Why it was not accepted; empty if it should not have been."""

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {"case": self.case, "turn": self.turn, "what": self.what, "reason": self.reason}

    def __str__(self) -> str:
        """Return one line."""
        told = f"{self.case}, turn {self.turn}: {self.what}"
        return f"{told} -> {self.reason}" if self.reason else told


@dataclass(slots=True, kw_only=True)
class Tally:
    """How often one kind of agent was judged rightly."""

    kind: str
    tried: int = 0
    right: int = 0
    misses: list[Miss] = field(default_factory=list)
    """The first ones."""

    @property
    def share(self) -> float:
        """What part was judged rightly."""
        return self.right / self.tried if self.tried else 1.0

    def add(self, miss: Miss | None) -> None:
        """Count one trial."""
        self.tried += 1
        self.right += miss is None
        if miss is not None and len(self.misses) < KEPT:
            self.misses.append(miss)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        figures: JsonObject = {
            "tried": self.tried,
            "right": self.right,
            "share": round(self.share, 6),
            "misses": [miss.to_dict() for miss in self.misses],
        }
        return {**figures, "why": WHY[self.kind]} if self.misses and self.kind in WHY else figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the scores made of agents whose every step is known."""

    cases: int
    agents: Mapping[str, Tally]
    """Those that do nothing but one thing: the oracle, which must always pass, and the others, which never may."""
    corrupted: Mapping[str, Tally]
    equivalent: Mapping[str, Tally]

    @property
    def caught(self) -> float:
        """The share of corrupted oracles that did not pass."""
        return _share(self.corrupted)

    @property
    def accepted(self) -> float:
        """The share of equivalent oracles that passed."""
        return _share(self.equivalent)

    @property
    def holds(self) -> bool:
        """Whether the scores can be believed."""
        sure = all(tally.right == tally.tried for tally in self.agents.values())
        return sure and min(self.caught, self.accepted) >= AIM

    def to_dict(self) -> JsonObject:
        """Return JSON primitives."""
        return {
            "cases": self.cases,
            "holds": self.holds,
            "passed": {name: round(_passed(name, tally), 6) for name, tally in self.agents.items()},
            "caught": round(self.caught, 6),
            "accepted": round(self.accepted, 6),
            "agents": _listed(self.agents),
            "corrupted": _listed(self.corrupted),
            "equivalent": _listed(self.equivalent),
        }

    def lines(self) -> Iterator[str]:
        """Yield a table of all kinds, and then what was judged wrongly."""
        yield from (f"{self.cases} conversations", "", f"{'agent':24}{'tried':>8}{'passed':>10}{'share':>8}")
        for name, tally in self.agents.items():
            passed = _passed(name, tally)
            yield f"{name:24}{tally.tried:8}{round(passed * tally.tried):10}{passed:8.3f}"
        yield from _table("corrupted oracle", "caught", self.corrupted)
        yield from _table("equivalent oracle", "accepted", self.equivalent)
        for title, tallies in (("agent", self.agents), ("corrupted", self.corrupted), ("equivalent", self.equivalent)):
            yield from _misses(title, tallies)


def calibrate(  # noqa: PLR0913 (each is another thing, and most are left out)
    cases: Sequence[Conversation],
    observe: Observe,
    scorers: Sequence[Scorer],
    *,
    tools: Sequence[Tool],
    bluffers: Sequence[Agent] = (),
    recites: bool = False,
    tries: int = TRIES,
    progress: Callable[[int], None] | None = None,
) -> Calibration:
    """Play ``cases`` with the oracle, with ``bluffers``, who must never pass, and with what is not quite the oracle.

    ``tools`` are those of the CRM behind ``observe``. With ``recites`` everybody says the published replies, as the
    scorer ``clbench`` wants. Each kind is tried up to ``tries`` times, spread over all cases. ``progress`` is told
    how many cases are done.
    """
    bench = _Bench(observe, scorers, tools, recites=recites)
    agents = {agent: Tally(kind=agent) for agent in (Oracle.name, *(bluffer.name for bluffer in bluffers))}
    for done, case in enumerate(cases, start=1):
        evidence = observe(case, Oracle(case, recites=recites))
        agents[Oracle.name].add(bench.judged(case, evidence, Variant(turn=1, what="as it should be"), passes=True))
        for bluffer in bluffers:
            bluff = Variant(turn=1, what="no call at all")
            agents[bluffer.name].add(bench.judged(case, observe(case, bluffer), bluff, passes=False))
        bench.vary(case, evidence, round(tries * done / len(cases)))
        if progress:
            progress(done)
    return Calibration(cases=len(cases), agents=agents, corrupted=bench.corrupted, equivalent=bench.equivalent)


class _Bench:
    """Where variants are tried and counted."""

    def __init__(self, observe: Observe, scorers: Sequence[Scorer], tools: Sequence[Tool], *, recites: bool) -> None:
        self._observe = observe
        self._scorers = scorers
        self._tools = tools
        self._recites = recites
        self.corrupted = {kind: Tally(kind=kind) for kind in CORRUPTED}
        self.equivalent = {kind: Tally(kind=kind) for kind in EQUIVALENT}

    def vary(self, case: Conversation, evidence: Evidence, tries: int) -> None:
        """Try every kind on one case, until each was tried ``tries`` times."""
        rehearsal = Rehearsal(case, evidence, self._tools)
        for kinds, tallies in ((CORRUPTED, self.corrupted), (EQUIVALENT, self.equivalent)):
            for kind, make in kinds.items():
                left = tries - tallies[kind].tried
                for variant in spread(list(make(rehearsal)), left, crc32(case.id.encode())) if left > 0 else ():
                    tallies[kind].add(self._tried(rehearsal, variant, passes=kinds is EQUIVALENT))

    def judged(self, case: Conversation, evidence: Evidence, variant: Variant, *, passes: bool) -> Miss | None:
        """Score a trial, and return it if it does not pass that should, or passes that should not."""
        scores = (scorer(case, evidence) for scorer in self._scorers)
        fault = next((score for score in scores if not score.passed), None)
        if passes is (fault is None):
            return None
        return Miss(case=case.id, turn=variant.turn, what=variant.what, reason=_told(fault) if fault else "")

    def _tried(self, rehearsal: Rehearsal, variant: Variant, *, passes: bool) -> Miss | None:
        case = rehearsal.case
        if variant.steps or variant.text is None:
            evidence = self._observe(case, Deviant(rehearsal, variant, recites=self._recites))
        else:
            evidence = revoiced(rehearsal.evidence, variant.turn, variant.text)
        return self.judged(case, evidence, variant, passes=passes)


def spread(variants: Sequence[Variant], most: int, start: int) -> Sequence[Variant]:
    """Return at most so many variants, from everywhere."""
    there = len(variants)
    if there <= most:
        return variants
    return [variants[(start + place * there // most) % there] for place in range(most)]


def _told(score: Score) -> str:
    return f"{score.name}: {score.reason}".replace("\n", "; ")


def _share(tallies: Mapping[str, Tally]) -> float:
    tried = sum(tally.tried for tally in tallies.values())
    return sum(tally.right for tally in tallies.values()) / tried if tried else 1.0


def _passed(name: str, tally: Tally) -> float:
    return tally.share if name == Oracle.name else 1 - tally.share


def _listed(tallies: Mapping[str, Tally]) -> JsonObject:
    return {kind: tally.to_dict() for kind, tally in tallies.items()}


def _table(title: str, right: str, tallies: Mapping[str, Tally]) -> Iterator[str]:
    yield from ("", f"{title:24}{'tried':>8}{right:>10}{'share':>8}")
    for kind, tally in tallies.items():
        share = f"{tally.share:.3f}" if tally.tried else "-"
        yield f"{kind:24}{tally.tried:8}{tally.right:10}{share:>8}"
    tried, done = (sum(getattr(tally, name) for tally in tallies.values()) for name in ("tried", "right"))
    yield f"{'in all':24}{tried:8}{done:10}{_share(tallies):8.3f}"


def _misses(title: str, tallies: Mapping[str, Tally]) -> Iterator[str]:
    for kind, tally in tallies.items():
        if tally.misses:
            why = f": {WHY[kind]}" if kind in WHY else ""
            yield from ("", f"{title} {kind}: {tally.tried - tally.right} of {tally.tried} judged wrongly{why}")
            yield from (f"    {cut(str(miss), SHORT)}" for miss in tally.misses)
