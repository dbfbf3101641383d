"""Compare a report with another, case by case."""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from numpy import array
from scipy.stats import fisher_exact

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.render import comparison as contrasts
from pytest_crmeval.render import markdown
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.compare import compare
from pytest_crmeval.report.comparison import LISTS, CaseChange, Comparison
from pytest_crmeval.report.report import Report
from tests.fakes import planned, trial

PASSED, FAILED, ERRORED = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED


def of(*trials: Trial, run: str = "new", parts: Sequence[JsonObject] = ()) -> Report:
    """Return the report of trials."""
    facts: JsonObject = {"id": run, "started": "2026-11-17T09:00:00+00:00", "parts": parts}
    return reports.build(facts, {f"{n} {each.planned.key}": each for n, each in enumerate(trials)}, [])


def content(case: str, fingerprint: str, verdict: Verdict = PASSED) -> Trial:
    """Return a trial of a case with some content."""
    return trial(replace(planned(case), fingerprint=fingerprint), verdict)


BEFORE = of(
    trial("stays"),
    trial("lost"),
    trial("won", FAILED),
    content("edited", "old"),
    trial("gone"),
    trial("broken"),
    run="old",
    parts=[{"git": {"commit": "c0ffee"}}],
)
AFTER = of(
    trial("stays"),
    trial("lost", FAILED),
    trial("won"),
    content("edited", "new"),
    trial("new"),
    trial("broken", ERRORED),
)


def test_each_case_is_in_the_list_of_its_change() -> None:
    """Only cases that both runs have scored with the same content are paired."""
    (contrast,) = compare(AFTER, BEFORE).contrasts

    assert (3, 2 / 3, 2 / 3, 1, 1) == (
        contrast.paired,
        contrast.before,
        contrast.after,
        contrast.better,
        contrast.worse,
    )
    assert {
        "newly_failing": ["lost"],
        "newly_passing": ["won"],
        "passes_less_often": [],
        "passes_more_often": [],
        "changed": ["edited"],
        "new": ["new"],
        "gone": ["gone"],
        "unscored": ["broken"],
    } == {name: [change.case for change in getattr(contrast, name)] for name in LISTS}


def test_new_failure_has_a_reason() -> None:
    """That of the score that is too low, or of the error."""
    (contrast,) = compare(AFTER, BEFORE).contrasts

    assert "state is too low" == contrast.newly_failing[0].reason
    assert "ConnectionError: no route to model" == contrast.unscored[0].reason
    assert "" == contrast.newly_passing[0].reason


def test_scores_are_compared_by_paired_bootstrap() -> None:
    """A score that fell by a tenth everywhere fell by a tenth."""
    before = of(*(trial(str(n), scores={"state": 0.9}) for n in range(12)))
    after = of(*(trial(str(n), scores={"state": 0.8 + n / 1000}) for n in range(12)))

    figure = compare(after, before).contrasts[0].scores["score:state"]

    assert pytest.approx(-0.1 + 0.0055) == figure.value
    assert "paired bootstrap" == figure.method
    assert figure.high is not None
    assert figure.high < -0.09


def test_p_values_of_several_suites_are_corrected() -> None:
    """Six lost cases in one suite are significant alone, and not together with another suite."""

    def suite(name: str, lost: int) -> list[Trial]:
        return [trial(planned(str(n), suite=name, subject="mine"), FAILED if n < lost else PASSED) for n in range(20)]

    alone = compare(of(*suite("crm", 6)), of(*suite("crm", 0)))
    both = compare(of(*suite("crm", 6), *suite("q", 0)), of(*suite("crm", 0), *suite("q", 0)))

    assert ("", True) == (alone.correction, alone.contrasts[0].significant)
    assert ("Holm over 2 contrasts", False) == (both.correction, both.contrasts[0].significant)
    assert [0.03125, 1.0] == [contrast.p for contrast in both.contrasts]
    assert [0.0625, 1.0] == [contrast.p_holm for contrast in both.contrasts]


def test_controls_are_excluded_from_the_correction() -> None:
    """Their result is known beforehand; their p-value is not corrected."""

    def suite(subject: str, lost: int) -> list[Trial]:
        return [trial(planned(str(n), subject=subject), FAILED if n < lost else PASSED) for n in range(20)]

    found = compare(of(*suite("mine", 6), *suite("oracle", 7)), of(*suite("mine", 0), *suite("oracle", 0)))

    assert "" == found.correction
    assert [("mine", 0.03125), ("oracle", 0.015625)] == [(each.subject, each.p_holm) for each in found.contrasts]


def test_repeats_are_not_additional_cases() -> None:
    """Three trials of each of two cases are two pairs."""

    def tried(*verdicts: Verdict) -> list[Trial]:
        return [
            replace(trial(planned(case), verdict), planned=replace(planned(case), trial=n))
            for case in ("a", "b")
            for n, verdict in enumerate(verdicts, start=1)
        ]

    (contrast,) = compare(of(*tried(PASSED, PASSED, FAILED)), of(*tried(PASSED, PASSED, PASSED))).contrasts

    assert (2, "permutation of signs") == (contrast.paired, contrast.test)
    assert pytest.approx([1, 2 / 3]) == [contrast.before, contrast.after]
    assert [1.0, 1.0] == [each.before for each in contrast.passes_less_often]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (5, 1, "newly_failing"),
        (5, 0, "newly_failing"),
        (5, 2, "passes_less_often"),
        (4, 1, "passes_less_often"),
        (1, 4, "passes_more_often"),
        (0, 4, "newly_passing"),
        (2, 2, ""),
    ],
)
def test_repeats_are_newly_failing_or_passing_only_if_the_change_is_significant(
    before: int, after: int, name: str
) -> None:
    """Five trials of a case, with the given numbers of passes before and after.

    By Fisher's test in scipy, 5 and 1 have p = 0.048.
    """
    table = [[before, 5 - before], [after, 5 - after]]
    assert name.startswith("newly") == (fisher_exact(array(table)).pvalue < 0.05)

    def tried(passed: int) -> list[Trial]:
        verdicts = [PASSED] * passed + [FAILED] * (5 - passed)
        return [
            replace(trial("a", verdict), planned=replace(planned("a"), trial=n)) for n, verdict in enumerate(verdicts)
        ]

    (contrast,) = compare(of(*tried(after)), of(*tried(before))).contrasts

    assert [name] * bool(name) == [each for each in LISTS if getattr(contrast, each)]
    for change in getattr(contrast, name, ()):
        assert pytest.approx([before / 5, after / 5]) == [change.before, change.after]


def test_subjects_of_only_one_run_are_listed() -> None:
    """They are not compared with nothing."""
    other = trial(planned("stays", subject="gpt"))

    assert ("crm × gpt is only in this run",) == compare(of(trial("stays"), other), of(trial("stays"))).missing
    assert ("crm × gpt is only in the baseline",) == compare(of(trial("stays")), of(trial("stays"), other)).missing


def test_two_subjects_can_be_compared() -> None:
    run = of(trial(planned("a", subject="x"), FAILED), trial(planned("a", subject="y")))

    (contrast,) = compare(run, run, subjects=("y", "x")).contrasts

    assert ("y", "x", 0.0, 1.0) == (contrast.subject, contrast.baseline_subject, contrast.before, contrast.after)


def test_without_pairs_there_is_no_comparison() -> None:
    (contrast,) = compare(of(content("a", "new")), of(content("a", "old"))).contrasts

    assert (0, None, None, None, False) == (
        contrast.paired,
        contrast.difference,
        contrast.p,
        contrast.p_holm,
        contrast.significant,
    )


def test_comparison_is_written_as_documented_and_can_be_read(tmp_path: Path) -> None:
    schema = json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text())
    comparison = compare(AFTER, BEFORE, source="git:main")
    written = json.loads(json.dumps(comparison.to_dict()))

    Draft202012Validator({"$ref": "#/$defs/comparison", "$defs": schema["$defs"]}).validate(written)
    assert comparison == Comparison.from_dict(written)
    reports.save(replace(AFTER, comparison=comparison), tmp_path / "new.json")
    assert comparison == reports.load(tmp_path / "new.json").comparison


def test_comparison_on_a_terminal() -> None:
    """Subjects, cases, change, significance; and the changed cases."""
    shown = list(contrasts.lines(compare(AFTER, BEFORE)))

    assert "compared with old (2026-11-17T09:00:00+00:00 at c0ffee)" == shown[0]
    assert shown[1].split()[:5] == ["suite", "subject", "paired", "before", "after"]
    assert ["crm", "oracle", "3", "0.667", "0.667", "+0.000"] == shown[2].split()[:6]
    assert "newly failing in crm, oracle: 1" in shown
    assert "  lost: state is too low" in shown


def test_only_some_of_many_changes_are_shown() -> None:
    before, after = (of(*(trial(str(n), verdict) for n in range(9))) for verdict in (PASSED, FAILED))
    comparison = compare(after, before)

    assert "  ... and 7 more; full list: crmeval compare" in list(contrasts.lines(comparison, most=2))
    assert not [line for line in contrasts.lines(comparison) if "more" in line]


def test_comparison_in_markdown_is_plain_text() -> None:
    """Whatever the name of a case or the words of a model: no markup, no mention, one line."""
    evil = "<script>`x`|@team\n# [a](b)"
    failed = replace(trial(planned(evil), FAILED), scores=())
    page = markdown.comparison_page(compare(of(replace(failed, reason=evil)), of(trial(planned(evil)))))

    assert "<script>" not in page
    assert "@team" not in page
    assert r"\<script\>\`x\`\|@" in page
    assert [] == [line for line in page.splitlines() if line.startswith("# ")]


def test_report_in_markdown() -> None:
    """Gates, subjects, reasons, and the comparison."""
    page = markdown.report_page(replace(AFTER, comparison=compare(AFTER, BEFORE)))

    assert page.startswith("## ⚠️ crmeval new: 1 errored: infrastructure failed\n")
    assert "| crm | oracle (control) | 6 | 4 | 1 | 1 | 0.800 (0.376 to 0.964) |" in page
    assert "- 1 × failed: state is too low" in page
    assert "### new vs old" in page
    assert "<details open><summary>newly failing in crm: 1</summary>" in page


def test_case_that_passes_less_often_is_listed_with_its_shares() -> None:
    """With repeats, "failing" would be too simple; without them, the list says everything."""
    shares = ((1.0, 0.5), (1.0, 0.0), (None, 0.5))
    shown = [CaseChange(case="a", before=before, after=after).shares for before, after in shares]

    assert ["1.00 to 0.50", "", ""] == shown


def test_comparison_of_an_incomplete_run_warns_about_missing_and_new_cases() -> None:
    """On the terminal and in Markdown; not if both runs are complete."""
    part = replace(AFTER, standings=[replace(each, not_run=1) for each in AFTER.standings])
    here = "this run is incomplete: cases listed as gone may just not have been played in it"
    there = "the baseline is incomplete: cases listed as new may just not have been played in it"

    assert here in list(contrasts.lines(compare(part, BEFORE)))
    assert f"- {there}" in markdown.comparison_page(compare(BEFORE, part)).splitlines()
    assert [] == compare(AFTER, BEFORE).cautions


def judged(case: str, share: float) -> Trial:
    """Return the trial of a solution file of which this share was solved."""
    file = replace(planned(case, suite="checkpoints", subject="checkpoint-7"), spec="sandbox:local")
    return trial(file, scores={"pass@1": share})


def test_checkpoints_are_compared_by_their_solutions() -> None:
    """A completely graded file is not a success, and the files don't contain the significance."""
    (contrast,) = compare(of(judged("a", 0.5), judged("b", 0.3)), of(judged("a", 0.25), judged("b", 0.25))).contrasts
    assert contrast.difference

    assert pytest.approx((0.25, 0.4, 0.15)) == (contrast.before, contrast.after, contrast.difference.value)
    assert (2, None, None, None) == (contrast.paired, contrast.difference.interval, contrast.p, contrast.detectable)


def test_comparison_that_can_not_be_significant_is_not_corrected_for() -> None:
    """Next to six lost cases, a suite of five can't be significant: p stays 0.03125."""

    def suites(lost: int) -> Report:
        crm = [trial(planned(str(n)), FAILED if n < lost else PASSED) for n in range(6)]
        return of(*crm, *(trial(planned(str(n), suite="q"), FAILED if n < lost else PASSED) for n in range(5)))

    found = compare(suites(6), suites(0))

    assert [("crm", 0.03125, True), ("q", 0.0625, False)] == [
        (each.suite, each.p_holm, each.significant) for each in found.contrasts
    ]
    assert "" == found.correction
