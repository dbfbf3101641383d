"""Calibration of the scorers with agents whose correct verdict is known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from pytest_crmeval.conversations.calibration.equivalents import EQUIVALENTS
from pytest_crmeval.conversations.calibration.flaws import FLAWS
from pytest_crmeval.conversations.calibration.lies import LIES
from pytest_crmeval.conversations.calibration.misreadings import MISREADINGS
from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal
from pytest_crmeval.conversations.calibration.tally import WHY, AgentAccuracy, Miss, Share, share_of
from pytest_crmeval.conversations.calibration.variants import Deviant, Kinds, Variant, with_reply
from pytest_crmeval.conversations.calibration.wordings import WORDINGS
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.messages import Tool
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.scorer import Evidence, Scorer

CORRUPTED: Kinds = {**FLAWS, **MISREADINGS, **LIES}
"""Kinds that must not pass: flaws in calls and state, and false replies."""
EQUIVALENT: Kinds = {**EQUIVALENTS, **WORDINGS}
"""Kinds that must pass: equivalent calls, and other wordings."""
SHARES: Mapping[str, Kinds] = {
    "flaws in calls and state, caught": {**FLAWS, **MISREADINGS},
    "other ways to the same result, accepted": EQUIVALENTS,
    "generated false replies, caught": LIES,
    "generated true replies, accepted": WORDINGS,
}
"""Shares that are reported separately: name -> kinds."""
TRIES = 200
"""Maximum number of variants of each kind."""
AIM = 0.99
"""Minimum share of corrupted oracles that are caught, and of equivalent ones that are accepted."""
SHORT = 200

Observe = Callable[[Conversation, Agent], Evidence]
"""Plays a case with an agent on its own CRM; the reference of a case is made once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The verdicts of the scorers on agents whose correct verdict is known."""

    cases: int
    agents: Mapping[str, AgentAccuracy]
    """The oracle, which must always pass, and agents that call nothing, which must never pass."""
    corrupted: Mapping[str, AgentAccuracy]
    equivalent: Mapping[str, AgentAccuracy]
    labelled: Sequence[Share] = ()
    """Results for labelled replies; they are independent of ``cases``."""

    @property
    def shares(self) -> Sequence[Share]:
        """The shares that are reported separately, with intervals."""
        tallies = {**self.corrupted, **self.equivalent}
        found = [share_of(name, [tallies[kind] for kind in kinds]) for name, kinds in SHARES.items()]
        return [*found, *self.labelled]

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
        """Whether the scorers are sound."""
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
            "shares": [share.to_dict() for share in self.shares],
            "agents": _listed(self.agents),
            "corrupted": _listed(self.corrupted),
            "equivalent": _listed(self.equivalent),
        }

    def lines(self) -> Iterator[str]:
        """Yield a table of all kinds, then the variants that were scored wrongly."""
        yield from (f"{self.cases} conversations", "", f"{'agent':24}{'tried':>8}{'passed':>10}{'share':>8}")
        for name, tally in self.agents.items():
            passed = _passed(name, tally)
            yield f"{name:24}{tally.tried:8}{round(passed * tally.tried):10}{passed:8.3f}"
        yield from share_lines(self.shares)
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
    """Play ``cases`` with the oracle, with ``bluffers``, which must never pass, and with variants of the oracle.

    ``tools`` are those of the CRM behind ``observe``. With ``recites``, all agents say the published replies, which the
    scorer ``clbench`` requires. Each kind is tried up to ``tries`` times, spread over all cases. ``progress`` is called
    with the number of cases that are done.
    """
    bench = _Bench(observe, scorers, tools, recites=recites)
    agents = {agent: AgentAccuracy(kind=agent) for agent in (Oracle.name, *(bluffer.name for bluffer in bluffers))}
    for done, case in enumerate(cases, start=1):
        evidence = observe(case, Oracle(case, recites=recites))
        right = Variant(turn=1, what="as it should be")
        agents[Oracle.name].add(case.id, bench.judged(case, evidence, right, passes=True))
        for bluffer in bluffers:
            bluff = Variant(turn=1, what="no call at all")
            agents[bluffer.name].add(case.id, bench.judged(case, observe(case, bluffer), bluff, passes=False))
        bench.vary(case, evidence, round(tries * done / len(cases)))
        if progress:
            progress(done)
    return Calibration(cases=len(cases), agents=agents, corrupted=bench.corrupted, equivalent=bench.equivalent)


class _Bench:
    """Plays variants and counts the verdicts."""

    def __init__(self, observe: Observe, scorers: Sequence[Scorer], tools: Sequence[Tool], *, recites: bool) -> None:
        self._observe = observe
        self._scorers = scorers
        self._tools = tools
        self._recites = recites
        self.corrupted = {kind: AgentAccuracy(kind=kind) for kind in CORRUPTED}
        self.equivalent = {kind: AgentAccuracy(kind=kind) for kind in EQUIVALENT}

    def vary(self, case: Conversation, evidence: Evidence, tries: int) -> None:
        """Play variants of every kind of one case, until each kind was tried ``tries`` times."""
        rehearsal = Rehearsal(case, evidence, self._tools)
        for kinds, tallies in ((CORRUPTED, self.corrupted), (EQUIVALENT, self.equivalent)):
            for kind, make in kinds.items():
                left = tries - tallies[kind].tried
                for variant in spread(list(make(rehearsal)), left, crc32(case.id.encode())) if left > 0 else ():
                    tallies[kind].add(case.id, self._tried(rehearsal, variant, passes=kinds is EQUIVALENT))

    def judged(self, case: Conversation, evidence: Evidence, variant: Variant, *, passes: bool) -> Miss | None:
        """Score a trial; return it if its verdict is wrong."""
        scores = (scorer(case, evidence) for scorer in self._scorers)
        fault = next((score for score in scores if not score.passed), None)
        if passes is (fault is None):
            return None
        reason = f"{fault.name}: {fault.reason}".replace("\n", "; ") if fault else ""
        return Miss(case=case.id, turn=variant.turn, what=variant.what, reason=reason)

    def _tried(self, rehearsal: Rehearsal, variant: Variant, *, passes: bool) -> Miss | None:
        case = rehearsal.case
        if variant.steps or variant.text is None:
            evidence = self._observe(case, Deviant(rehearsal, variant, recites=self._recites))
        else:
            evidence = with_reply(rehearsal.evidence, variant.turn, variant.text)
        return self.judged(case, evidence, variant, passes=passes)


def spread(variants: Sequence[Variant], most: int, start: int) -> Sequence[Variant]:
    """Return at most ``most`` variants, evenly spread."""
    there = len(variants)
    if there <= most:
        return variants
    return [variants[(start + place * there // most) % there] for place in range(most)]


def share_lines(shares: Sequence[Share]) -> Iterator[str]:
    """Yield a table of shares."""
    yield from ("", f"{'':48}{'tried':>7}{'right':>9}{'share':>8}   95 % interval", *map(str, shares))


def _share(tallies: Mapping[str, AgentAccuracy]) -> float:
    tried = sum(tally.tried for tally in tallies.values())
    return sum(tally.right for tally in tallies.values()) / tried if tried else 1.0


def _passed(name: str, tally: AgentAccuracy) -> float:
    return tally.share if name == Oracle.name else 1 - tally.share


def _listed(tallies: Mapping[str, AgentAccuracy]) -> JsonObject:
    return {kind: tally.to_dict() for kind, tally in tallies.items()}


def _table(title: str, right: str, tallies: Mapping[str, AgentAccuracy]) -> Iterator[str]:
    yield from ("", f"{title:24}{'tried':>8}{right:>10}{'share':>8}")
    for kind, tally in tallies.items():
        share = f"{tally.share:.3f}" if tally.tried else "-"
        yield f"{kind:24}{tally.tried:8}{tally.right:10}{share:>8}"
    tried, done = (sum(getattr(tally, name) for tally in tallies.values()) for name in ("tried", "right"))
    yield f"{'in all':24}{tried:8}{done:10}{_share(tallies):8.3f}"


def _misses(title: str, tallies: Mapping[str, AgentAccuracy]) -> Iterator[str]:
    for kind, tally in tallies.items():
        if tally.misses:
            why = f": {WHY[kind]}" if kind in WHY else ""
            yield from ("", f"{title} {kind}: {tally.tried - tally.right} of {tally.tried} scored wrongly{why}")
            yield from (f"    {cut(str(miss), SHORT)}" for miss in tally.misses)
