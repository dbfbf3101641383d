"""Which conversations start first: those that take longest."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.collect.prefetch import PrefetchPlan
from pytest_crmeval.controller.plan import RunPlan
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal.writer import JournalWriter
from tests.fakes import planned
from tests.plugin.test_inflight import M, asked, named
from tests.providers.loopback import Loopback

Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]


def case(name: str) -> PlannedCase:
    """Return a case for a model."""
    return replace(planned(name), spec="openai:m")


def weights(reports: Path, turns: Mapping[str, int]) -> Mapping[str, float]:
    """Return how long a case with this number of turns may take."""
    cases = [case(name) for name in turns]
    foresight = PrefetchPlan(weights={case(name).key: float(count) for name, count in turns.items()}, alone={})
    plan = RunPlan()
    plan.take([(each.key, each) for each in cases], foresight, {})
    found = plan.weights(reports, {})
    return {each.case: found[each.key] for each in cases}


def remember(reports: Path, **seconds: float) -> None:
    """Write the journal of an earlier run."""
    journal = JournalWriter.open(reports / "earlier" / "trials.jsonl")
    for name, took in seconds.items():
        bill = Bill(usage=Usage(input=1, output=1, calls=1))
        journal.trial(Trial(planned=case(name), verdict=Verdict.PASSED, seconds=took, bill=bill))
    journal.close()


def test_without_an_earlier_run_the_number_of_turns_decides(tmp_path: Path) -> None:
    assert {"short": 1.0, "long": 6.0} == weights(tmp_path, {"short": 1, "long": 6})


def test_durations_of_an_earlier_run_order_the_cases(tmp_path: Path) -> None:
    """For a case that it did not play, the time is estimated from its turns."""
    remember(tmp_path, short=40.0, long=10.0)

    assert {"short": 40.0, "long": 10.0, "new": 50.0} == weights(tmp_path, {"short": 1, "long": 6, "new": 2})


@pytest.mark.parametrize(
    ("foresight", "each", "shown"),
    [
        (
            PrefetchPlan(weights={"a": 1.0}, alone={}, kinds=["conversations"]),
            8,
            "8 conversations in flight per worker",
        ),
        (PrefetchPlan(weights={"a": 1.0}, alone={}, kinds=["questions"]), 8, "8 questions in flight per worker"),
        (PrefetchPlan(weights={}, alone={}), 8, ""),
        (PrefetchPlan(weights={}, alone={"marked skip": 1}), 8, "1 case one at a time (marked skip)"),
        (
            PrefetchPlan(weights={"a": 1.0}, alone={"marked skip": 2}, kinds=["conversations"]),
            4,
            "4 conversations in flight per worker; 2 cases one at a time (marked skip)",
        ),
    ],
)
def test_header_shows_what_is_in_flight(foresight: PrefetchPlan, each: int, shown: str) -> None:
    plan = RunPlan()
    plan.take([], foresight, {})

    assert shown == plan.described(each)


@pytest.mark.usefixtures("given_server")
def test_longest_conversations_start_first(project: Project, providers: Providers) -> None:
    """By their turns; the first item, which is short, waits, and is not forgotten."""
    server = providers()
    cases = [named(f"c{number}") for number in range(4)]
    cases[3]["turns"] = [
        {
            **cases[3]["turns"][0],
            "turn_id": number,
            "user_utterance": f"Add c3 Ltd {number}, ada{number}@ada.example, active.",
            "expected_args": {"name": f"c3 Ltd {number}", "email": f"ada{number}@ada.example", "status": "Active"},
        }
        for number in (1, 2, 3)
    ]

    result = project(cases).runpytest(*M, "-p", "no:xdist", "--crmeval-inflight", "2")

    begun = list(dict.fromkeys(asked(server)))
    result.assert_outcomes(passed=4)
    assert begun.index("c3") < 3
