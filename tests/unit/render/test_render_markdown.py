"""A report in Markdown, for a comment on a pull request."""

from dataclasses import replace

import pytest

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.render.markdown import escaped, report_page
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import Report
from tests.fakes import trial
from tests.pages import FACTS, MARKUP, failed_scores, planned_case, rulings, trials_of


def report(count: int = 30) -> Report:
    """Return the report of a run that asked models."""
    return reports.build(FACTS, {each.planned.key: each for each in trials_of(count)}, [])


def heads(page: str) -> list[str]:
    """Return the names of the columns of the first table."""
    line = next(line for line in page.splitlines() if line.startswith("| suite"))
    return [name.strip() for name in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("found", "head"),
    [
        (report(), "## crmeval shown: complete; no gate was evaluated"),
        (replace(report(), rulings=rulings()[:1]), "## ✅ crmeval shown: 1 gate holds"),
        (replace(report(), rulings=rulings()), "## ❌ crmeval shown: 1 of 3 gates breached"),
    ],
)
def test_the_first_line_says_how_it_ended(found: Report, head: str) -> None:
    assert head == report_page(found).splitlines()[0]


def test_report_omits_columns_without_values() -> None:
    """Costs only if models were called; errored, invalid and missing cases only if there are any."""
    free = reports.build(FACTS, {"a": trial("one"), "b": trial("two", Verdict.INVALID)}, [])

    assert ["cost", "per pass", "p95"] == heads(report_page(report()))[-3:]
    assert not {"errored", "invalid", "not run"} & set(heads(report_page(report())))
    assert ("invalid", False) == (heads(report_page(free))[5], "cost" in heads(report_page(free)))


def test_checkpoint_has_columns_for_pass_at_1_and_solved_of_all() -> None:
    found = report()
    figures = {"pass@1": Figure(value=0.5, interval=(0.43, 0.57)), "solved_of_all": Figure(value=0.4)}
    page = report_page(replace(found, standings=[replace(found.standings[0], figures=figures)]))

    assert ["pass@1 (95 %)", "solved_of_all (95 %)"] == heads(page)[6:8]
    assert "| 0.500 (0.430 to 0.570) | 0.400 |" in page


def test_every_row_has_as_many_cells_as_the_head() -> None:
    mixed = [*trials_of(6), trial("free")]
    page = report_page(reports.build(FACTS, {each.planned.key: each for each in mixed}, []))
    table = [line for line in page.splitlines() if line.startswith("|")]

    assert {len(heads(page))} == {line.strip("|").count("|") + 1 for line in table}


@pytest.mark.parametrize("evil", [*MARKUP, "@everybody | `x` [a](b)"])
def test_text_of_a_run_is_escaped_in_markdown(evil: str) -> None:
    found = replace(trial(planned_case(evil, evil), Verdict.FAILED), scores=failed_scores(evil))
    page = report_page(reports.build(FACTS, {"a": found}, []))
    summary = next(line for line in page.splitlines() if "<summary>" in line)
    inner = summary.removeprefix("<details><summary>").removesuffix("</summary>")

    assert not set(inner) & set("<>")
    assert "@everybody" not in page
    assert not [line for line in page.splitlines() if "<script" in line.replace("\\<", "")]


def test_direction_characters_cannot_reverse_a_line() -> None:
    """A sign that writes from right to left is spelled out, where ours follows."""
    assert r"a\u202eb" == escaped("a\u202eb")


def test_last_line_names_time_commit_cost_and_command() -> None:
    """Time, commit, money and command; a backtick in it ends nothing."""
    facts: JsonObject = {**FACTS, "parts": [{"command": "pytest -k 'a`b'", "git": {"commit": "0123456789abcdef"}}]}
    last = report_page(replace(report(), run=facts)).splitlines()[-1]

    assert "commit 0123456789ab · spent $12.34 · `pytest -k 'a'b'`</sub>" in last
