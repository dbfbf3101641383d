"""Figures, rulings and repeats are written and read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, PlannedCase, Trial
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.journal.transcripts import path_of
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.ruling import Ruling
from pytest_crmeval.report.scope import is_unchosen
from tests.fakes import planned, trial

SURE = Figure(value=0.7, interval=(0.397, 0.892), n=10, units=5, method="bootstrap")
BARE = Figure(value=3.0)
RULING = Ruling(
    gate="crm.pass_rate >= 0.6",
    holds=True,
    explanation="pass_rate is 0.7",
    suite="crm",
    subject="gpt",
    value=0.7,
    low=0.397,
    high=0.892,
    bound=0.6,
    margin=0.1,
    needed=0,
    p=0.5,
)


@pytest.mark.parametrize("figure", [SURE, BARE])
def test_written_figure_can_be_read(figure: Figure) -> None:
    """Also one with nothing but its value."""
    assert figure == Figure.from_dict(json.loads(json.dumps(figure.to_dict())))


def test_unknown_parts_of_a_figure_are_absent() -> None:
    assert {"value": 3.0} == BARE.to_dict()
    assert (None, None) == (BARE.low, BARE.high)
    assert (0.397, 0.892) == SURE.interval


@pytest.mark.parametrize("junk", [{}, {"value": "much"}, {"value": 1, "interval": [0]}, {"value": None}])
def test_invalid_figure_is_refused(junk: JsonObject) -> None:
    """A report that contains it can't be read."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Figure.from_dict(junk)


@pytest.mark.parametrize("ruling", [RULING, Ruling(gate="mine", holds=False, explanation="no", of_plugin=True)])
def test_written_ruling_can_be_read(ruling: Ruling) -> None:
    """Also one of a plugin, which has only three fields."""
    assert ruling == Ruling.from_dict(json.loads(json.dumps(ruling.to_dict())))


def test_settled_ruling_needs_zero_more_cases() -> None:
    """Zero is different from unknown."""
    assert 0 == RULING.to_dict()["needed"]
    assert "needed" not in replace(RULING, needed=None).to_dict()


def test_report_keeps_its_rulings(tmp_path: Path) -> None:
    report = reports.build({"id": "mine", "started": "now"}, {"one": trial("one")}, [])
    reports.save(replace(report, rulings=(RULING,)), tmp_path / "mine.json")

    assert (RULING,) == reports.load(tmp_path / "mine.json").rulings


def test_report_without_figures_can_be_loaded(tmp_path: Path) -> None:
    """Its gates can still be evaluated from its trials."""
    report = reports.build({"id": "mine", "started": "now"}, {"one": trial("one")}, [])
    document = json.loads(json.dumps(report.to_dict()))
    for name in ("figures", "slowest", "reasons", "cases"):
        del document["results"][0][name]
    (tmp_path / "mine.json").write_text(json.dumps(document))

    loaded: Report = reports.load(tmp_path / "mine.json")

    (summary,) = loaded.standings
    assert ({}, (), (), None) == (summary.figures, summary.slowest, summary.reasons, summary.cases)
    assert (None, ()) == (loaded.comparison, loaded.rulings)


def test_repeat_is_written_with_its_number() -> None:
    """The first trial of a case is written without one."""
    again = replace(planned("one"), trial=3)

    assert 3 == again.to_dict()["trial"]
    assert "trial" not in planned("one").to_dict()
    assert [again, planned("one")] == [PlannedCase.from_dict(each.to_dict()) for each in (again, planned("one"))]


@pytest.mark.parametrize("junk", ["2", 1.5, None])
def test_repeat_needs_a_number(junk: object) -> None:
    """Anything else is not a planned case."""
    with pytest.raises(ValueError, match="Expected `int`"):
        PlannedCase.from_dict({**planned("one").to_dict(), "trial": junk})


def test_repeat_has_its_own_transcript(tmp_path: Path) -> None:
    """Next to that of the first trial."""
    again = trial(replace(planned("one"), trial=3))

    assert ["one.json", "one.3.json"] == [path_of(tmp_path, each).name for each in (trial("one"), again)]


def test_tallies_of_a_kind_of_case_are_written() -> None:
    """Two numbers per name; other trials have none."""
    counted = replace(trial("one"), tallies={"pass@1": (82, 164)})

    assert {"pass@1": [82, 164]} == counted.to_dict()["tallies"]
    assert counted == Trial.from_dict(json.loads(json.dumps(counted.to_dict())))
    assert "tallies" not in trial("one").to_dict()


def test_unit_is_the_case_or_its_chain() -> None:
    """A chain with the name of a case is not that case."""
    chained = replace(trial("one"), labels=Labels(chain="two"))

    assert ("case one", "chain two", "case two") == (trial("one").unit, chained.unit, trial("two").unit)
    assert Labels(chain="two") == Labels.from_dict(Labels(chain="two").to_dict())
    assert "chain" not in Labels().to_dict()


@pytest.mark.parametrize(
    ("parts", "nobody"),
    [
        ([{"chosen": True, "agents": {"x": "x"}}], True),
        ([{"chosen": True, "agents": {"gpt": "gpt"}}], False),
        ([{"agents": {"x": "x"}}], False),
        ([], False),
        ([{"chosen": True, "agents": {"x": "x"}}, {"merged": {"runs": []}}], True),
    ],
)
def test_selection_of_agents_is_recorded(parts: list[JsonObject], *, nobody: bool) -> None:
    """Whoever names agents names all of them; a merge plays nothing itself."""
    assert nobody == is_unchosen({"parts": parts}, "gpt", {"x"})


def test_reasons_of_invalid_cases_are_not_failures() -> None:
    report = reports.build({"id": "mine", "started": "now"}, {"one": trial("one", Verdict.INVALID)}, [])

    assert () == report.standings[0].reasons
