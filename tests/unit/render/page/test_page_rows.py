"""The trials of a run as the table of the page has them."""

from dataclasses import replace
from typing import Any

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.render.page.rows import COLUMNS, ROOM, rows_of
from tests.fakes import planned, trial
from tests.pages import failed_scores, trials_of


def table(*trials: Trial) -> list[dict[str, Any]]:
    """Return the rows, each by the names of its columns, with names in place of numbers."""
    found: Any = rows_of(trials)
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in found["rows"]]
    for row in rows:
        row["suite"], row["subject"] = found["suites"][row["suite"]], found["subjects"][row["subject"]]
        row["verdict"] = found["verdicts"][row["verdict"]]
        row["labels"] = [":".join(found["labels"][number]) for number in row["labels"]]
        row["scores"] = dict(zip(found["scores"], row["scores"], strict=True))
    return rows


def test_row_has_the_fields_that_trials_are_searched_and_sorted_by() -> None:
    """Verdict, scores, time, money, tokens, labels, and why it did not pass."""
    (one, *_) = trials_of(3)
    bill = Bill(usage=Usage(input=1_200, output=34, calls=2), cost=0.0123456)
    found = replace(one, verdict=Verdict.FAILED, scores=failed_scores("it is\n wrong"), bill=bill, seconds=1.23456)
    (row,) = table(found)

    assert ("client-simple-0000", "crm", "claude", "failed") == tuple(row[name] for name in COLUMNS[:4])
    assert (1.235, 0.012346, 1_234) == (row["seconds"], row["cost"], row["tokens"])
    assert {"state": 0.0, "calls": 0.5, "reply": 1.0} == row["scores"]
    assert ["complexity:simple", "category:Client Management", "split:test"] == row["labels"][:3]
    assert "state: it is" == row["why"]


def test_unknown_values_are_not_zero() -> None:
    """Who asks no model has no bill; a price may be unknown; an errored trial has no scores."""
    unpriced = replace(trial("one"), bill=Bill(usage=Usage(input=5, calls=1), cost=None))
    free, unknown, broken = table(trial("none"), unpriced, trial("two", Verdict.ERRORED))

    assert (None, None) == (free["cost"], free["tokens"])
    assert (None, 5) == (unknown["cost"], unknown["tokens"])
    assert ({"state": None}, "ConnectionError: no route to model") == (broken["scores"], broken["why"])


def test_repeats_of_a_case_have_numbers() -> None:
    """The first has the name of its case alone."""
    again = trial(replace(planned("one"), trial=2, key="again"))

    assert ["one", "one #2"] == [row["case"] for row in table(trial("one"), again)]


def test_reasons_are_as_long_as_there_is_room() -> None:
    """A few trials have them whole; thousands share the room, also when every letter takes three bytes."""
    few = trials_of(30, words=40)
    many = [
        replace(found, scores=failed_scores("理由" * 200), verdict=Verdict.FAILED)
        for found in trials_of(3_600, words=1)
    ]
    whole: Any = rows_of(few)
    shared: Any = rows_of(many)
    shown = [len(row[-1]) for row in shared["rows"]]

    assert max(len(row[-1]) for row in whole["rows"]) > 150
    assert len(encoded(shared)) <= ROOM
    assert 20 < min(shown) <= max(shown) < 150


def test_an_empty_run_has_an_empty_table() -> None:
    """Nothing was played, and the page says so."""
    found: Any = rows_of([])

    assert [] == found["rows"]
