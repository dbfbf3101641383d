"""Counts of the run, including its earlier parts."""

from dataclasses import replace

from msgspec import convert

from pytest_crmeval.controller.counting import counted, group_of, outcome_of
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal.reader import RecordedTrial, RunRecord, counted_trial
from tests.fakes import planned, trial


def test_earlier_parts_are_counted_without_a_pace() -> None:
    past = RunRecord()
    past.begin({"started": "2026-11-16T02:18:47+00:00"}, [planned("one"), planned("two")])
    past.take(trial("one"))

    (row,) = counted(past).rows(100.0)

    assert (1, 2, None, None) == (row.done, row.total, row.rate, row.eta)


def test_case_that_is_played_again_is_not_done() -> None:
    """It errored before, and is in the plan of this part."""
    past = RunRecord()
    past.begin({"started": "2026-11-16T02:18:47+00:00"}, [planned("one"), planned("two")])
    past.take(trial("one"))
    past.take(trial("two", Verdict.ERRORED))
    tally = counted(past)

    tally.begin({planned("two").key: group_of(planned("two"))})

    assert (1, 0) == (tally.whole(0.0).done, tally.whole(0.0).errored)


def test_trial_is_counted_as_in_its_journal() -> None:
    """`crmeval status` shows the same figures."""
    played = replace(trial("one"), bill=Bill(usage=Usage(input=7, output=3, calls=1), cost=0.25))

    assert counted_trial(convert(played.to_dict(), RecordedTrial)) == outcome_of(played)
