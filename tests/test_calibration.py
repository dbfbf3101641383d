"""Whether scores can be believed: on every suite the perfect agent scores 1.000, and nobody else who is not as good."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_crmeval.agents.scripted import mute, parrot
from pytest_crmeval.datasets.conversations import index
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence, Reference
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.score import Verdict, verdict_of
from pytest_crmeval.play.conversation import observe, refer
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.scoring.calibration import Calibration, Observe, Tally, calibrate
from pytest_crmeval.scoring.named import SCORERS
from pytest_crmeval.scoring.oracle import Oracle

ROOT = Path(__file__).parents[1]
BUNDLED = [ROOT / "evals" / "data" / "crm.jsonl"]
HANDMADE = ROOT / "tests" / "data" / "handmade.jsonl"
"""What no generator thinks of."""
DEVELOPMENT = ROOT.parent / "shared" / "data" / "clbench_dev.jsonl"
"""Published conversations. Most of them are invalid; they are played all the same."""
DEFAULT = [SCORERS[name] for name in ("state", "calls", "reply")]
TRIES = 40
"""Of each kind; ``crmeval calibrate`` tries more."""


def cases_of(path: Path) -> list[Conversation]:
    """Return every case of a suite."""
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return [ref.read() for ref in index([path])]


def observer(crm: Crm) -> Observe:
    """Let agents play on ``crm``; the reference calls of a case are made once."""
    references: dict[str, Reference] = {}

    def played(case: Conversation, agent: Agent) -> Evidence:
        if case.id not in references:
            references[case.id] = refer(case, Oracle(case), crm)
        return observe(case, agent, crm, references[case.id])

    return played


@pytest.mark.parametrize("suite", [*BUNDLED, HANDMADE, DEVELOPMENT], ids=lambda path: path.stem)
def test_scores_can_be_believed(crm: Crm, suite: Path) -> None:
    """The figures that ``crmeval calibrate`` prints; they are shown when they are not good enough."""
    cases = cases_of(suite)

    found = calibrate(cases, observer(crm), DEFAULT, tools=crm.tools, bluffers=[mute(), parrot()], tries=TRIES)

    told = "\n".join(found.lines())
    assert {"oracle": 1.000, "mute": 0.000, "parrot": 0.000} == found.to_dict()["passed"], told
    assert found.caught >= 0.99, told
    assert found.accepted >= 0.99, told
    assert found.holds
    assert all_tried(found.corrupted) >= 10
    assert all_tried(found.equivalent) >= 10
    assert [] == [kind for kind, tally in found.corrupted.items() if tally.misses and f"corrupted {kind}" not in told]
    assert len(cases) == found.cases


def all_tried(tallies: Mapping[str, Tally]) -> int:
    """Count the kinds that were tried."""
    return sum(tally.tried > 0 for tally in tallies.values())


@pytest.fixture(scope="module")
def published(crm: Crm) -> Calibration:
    """Return what the published benchmark's own rule makes of a suite, played by agents that recite."""
    cases = cases_of(HANDMADE)
    return calibrate(cases, observer(crm), [SCORERS["clbench"]], tools=crm.tools, recites=True, tries=20)


def test_a_scorer_that_can_not_be_believed_is_found_out(published: Calibration) -> None:
    """The published benchmark looks neither at further arguments nor at what an agent leaves behind."""
    assert 1.0 == published.agents["oracle"].share
    assert published.corrupted["extra write"].share < 0.5
    assert published.corrupted["argument added"].share < 0.5
    assert not published.holds


def test_a_scorer_that_is_unfair_is_found_out(published: Calibration) -> None:
    """It knows one way to write a change; ``updates`` is another."""
    assert published.accepted < 1.0
    assert "with updates" in "\n".join(published.lines())


@pytest.mark.parametrize("suite", [*BUNDLED, HANDMADE], ids=lambda path: path.stem)
def test_no_bundled_case_contradicts_itself(crm: Crm, suite: Path) -> None:
    """The CRM does what the answer key expects of it: it refuses what is to be refused, and nothing else."""
    for case in cases_of(suite):
        transcript = refer(case, Oracle(case), crm).transcript
        turns = zip(case.turns, transcript.exchanges, strict=True)

        assert [] == [
            (case.id, call)
            for turn, exchange in turns
            for part, (call, result) in zip(turn.expectation.parts, exchange.calls, strict=False)
            if not part.is_met_by(result)
        ]


class Declining:
    """Calls nothing, and answers whatever it is with the same words."""

    name = "declining"

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Decline, and ask back, to be on the safe side."""
        del messages, tools
        return Reply(text="I could not do that. Which one do you mean?")


@pytest.mark.parametrize("suite", BUNDLED, ids=lambda path: path.stem)
def test_who_always_declines_passes_nothing(crm: Crm, suite: Path) -> None:
    """It is right in turns that must not be done as told; no conversation has only those."""
    played, agent = observer(crm), Declining()
    short = [case for case in cases_of(suite) if case.complexity == "simple"]

    assert [] == [
        case.id
        for case in short
        if verdict_of([scorer(case, played(case, agent)) for scorer in DEFAULT]) is Verdict.PASSED
    ]


def test_there_are_bundled_suites() -> None:
    """Otherwise this file would say nothing."""
    assert "crm" in [path.stem for path in BUNDLED]
