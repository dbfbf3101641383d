"""How difficult a suite is: what agents that make one typical mistake each pass, and by which skills they fail."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pytest_crmeval.conversations.calibration.weak_agents import WEAK_AGENTS
from pytest_crmeval.conversations.play import observe
from pytest_crmeval.conversations.scorers.named import SCORERS
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.scorer import Reference

SCORED = ("state", "calls", "reply")


@dataclass(kw_only=True)
class Result:
    """What one weak agent has passed."""

    agent: str
    skill: str
    passed: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    """Tag -> cases with it that the agent has failed."""

    @property
    def caught(self) -> int:
        """The cases with its skill that the agent has failed."""
        return self.failed[self.skill]


@dataclass(kw_only=True)
class Difficulty:
    """What all weak agents have passed."""

    results: Sequence[Result]
    cases: int = 0
    tags: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> JsonObject:
        """Return all figures."""
        agents: list[JsonObject] = [
            {
                "agent": each.agent,
                "passed": each.passed,
                "skill": each.skill,
                "cases_with_skill": self.tags[each.skill],
                "caught": each.caught,
                "failed_by_tag": dict(sorted(each.failed.items())),
            }
            for each in self.results
        ]
        return {"cases": self.cases, "tags": dict(sorted(self.tags.items())), "weak_agents": agents}

    def lines(self) -> Iterator[str]:
        """Yield a table of the agents, and one of the share of cases that each fails, by skill."""
        yield f"{'weak agent':22}{'passed':>16}   {'skill':18}{'caught':>16}"
        for each in self.results:
            there = self.tags[each.skill]
            caught = f"{each.caught}/{there} {_percent(each.caught, there)}" if there else "no such case"
            passed = f"{each.passed}/{self.cases} {_percent(each.passed, self.cases)}"
            yield f"{each.agent:22}{passed:>16}   {each.skill:18}{caught:>16}"
        skills = [skill for skill in dict.fromkeys(each.skill for each in self.results) if self.tags[skill]]
        if skills:
            yield ""
            yield f"failed, by skill      {' '.join(f'{skill:>{_width(skill)}}' for skill in skills)}"
        for each in self.results if skills else ():
            shares = ((skill, _percent(each.failed[skill], self.tags[skill])) for skill in skills)
            yield f"{each.agent:22}{' '.join(f'{share:>{_width(skill)}}' for skill, share in shares)}"


def measured(
    cases: Sequence[tuple[Conversation, Reference]], crm: Crm, show: Callable[[int], None] = lambda _: None
) -> Difficulty:
    """Play valid cases with all weak agents; ``show`` is called with the number of cases that were played."""
    difficulty = Difficulty(results=[Result(agent=agent.name, skill=agent.skill) for agent in WEAK_AGENTS])
    for number, (case, reference) in enumerate(cases, start=1):
        difficulty.cases += 1
        difficulty.tags.update(case.tags)
        for agent, result in zip(WEAK_AGENTS, difficulty.results, strict=True):
            evidence = observe(case, agent(case), crm, reference)
            if all(SCORERS[name](case, evidence).passed for name in SCORED):
                result.passed += 1
            else:
                result.failed.update(case.tags)
        show(number)
    return difficulty


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _width(skill: str) -> int:
    return max(7, len(skill))
