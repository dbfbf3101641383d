"""The scores are sound: on every suite the oracle scores 1.000, and flawed agents score less."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_crmeval.agents.scripted import mute, parrot
from pytest_crmeval.conversations.calibration import Calibration, Observe, calibrate
from pytest_crmeval.conversations.calibration.tally import AgentAccuracy
from pytest_crmeval.conversations.play import observe
from pytest_crmeval.conversations.scorers.named import SCORERS
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.score import Verdict, verdict_of
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.scorer import Evidence
from tests.projects import DEV_DATA
from tests.reference_plays import BUNDLE, ReferencePlay, plays_of

ROOT = Path(__file__).parents[1]
BUNDLED = [BUNDLE]
HANDMADE = ROOT / "tests" / "data" / "handmade.jsonl"
"""What no generator thinks of."""
DEFAULT = [SCORERS[name] for name in ("state", "calls", "reply")]
SMALL, FEW, MANY = 60, 8, 20
"""Tries of each kind: many in a small suite; ``crmeval calibrate`` tries more."""


def observer(crm: Crm, plays: Sequence[ReferencePlay]) -> Observe:
    """Let agents play on ``crm``."""
    references = {play.case.id: play.reference for play in plays}

    def played(case: Conversation, agent: Agent) -> Evidence:
        return observe(case, agent, crm, references[case.id])

    return played


@pytest.mark.parametrize("plays", [*BUNDLED, HANDMADE, DEV_DATA], ids=lambda path: path.stem, indirect=True)
def test_scorers_accept_correct_and_reject_corrupted_behaviour(crm: Crm, plays: list[ReferencePlay]) -> None:
    """The figures that ``crmeval calibrate`` prints; they are shown when they are not good enough."""
    plays = plays[:: 1 if len(plays) <= SMALL else 4]
    cases, observed = [play.case for play in plays], observer(crm, plays)
    tries = MANY if len(plays) <= SMALL else FEW

    found = calibrate(cases, observed, DEFAULT, tools=crm.tools, bluffers=[mute(), parrot()], tries=tries)

    output = "\n".join(found.lines())
    assert {"oracle": 1.000, "mute": 0.000, "parrot": 0.000} == found.to_dict()["passed"], output
    assert found.caught >= 0.99, output
    assert found.accepted >= 0.99, output
    assert found.holds
    assert all_tried(found.corrupted) >= 10
    assert all_tried(found.equivalent) >= 10
    assert [] == [kind for kind, tally in found.corrupted.items() if tally.misses and f"corrupted {kind}" not in output]
    assert len(cases) == found.cases


def all_tried(tallies: Mapping[str, AgentAccuracy]) -> int:
    """Count the kinds that were tried."""
    return sum(tally.tried > 0 for tally in tallies.values())


@pytest.fixture(scope="module")
def published(crm: Crm) -> Calibration:
    """Return what the published benchmark's own rule makes of a suite, played by agents that recite."""
    plays = plays_of(HANDMADE, crm)
    cases, observed = [play.case for play in plays], observer(crm, plays)
    return calibrate(cases, observed, [SCORERS["clbench"]], tools=crm.tools, recites=True, tries=20)


def test_calibration_detects_a_lenient_scorer(published: Calibration) -> None:
    """The published benchmark looks neither at further arguments nor at what an agent leaves behind."""
    assert 1.0 == published.agents["oracle"].share
    assert published.corrupted["extra write"].share < 0.5
    assert published.corrupted["argument added"].share < 0.5
    assert not published.holds


def test_calibration_detects_an_unfair_scorer(published: Calibration) -> None:
    """It knows one way to write a change; ``updates`` is another."""
    assert published.accepted < 1.0
    assert "with updates" in "\n".join(published.lines())


@pytest.mark.parametrize("plays", [*BUNDLED, HANDMADE], ids=lambda path: path.stem, indirect=True)
def test_crm_answers_reference_calls_as_expected(plays: list[ReferencePlay]) -> None:
    """The CRM does what the answer key expects of it: it refuses what is to be refused, and nothing else."""
    for play in plays:
        case = play.case
        turns = zip(case.turns, play.reference.transcript.exchanges, strict=True)

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


@pytest.mark.parametrize("plays", BUNDLED, ids=lambda path: path.stem, indirect=True)
def test_agent_that_always_declines_passes_no_case(crm: Crm, plays: list[ReferencePlay]) -> None:
    played, agent = observer(crm, plays), Declining()
    short = [play.case for play in plays if play.case.complexity == "simple"]

    assert [] == [
        case.id
        for case in short
        if verdict_of([scorer(case, played(case, agent)) for scorer in DEFAULT]) is Verdict.PASSED
    ]


def test_bundled_suite_exists() -> None:
    assert "crm" in [path.stem for path in BUNDLED]
