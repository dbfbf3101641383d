"""How far people agree with the scorers."""

from pathlib import Path

import pytest

from pytest_crmeval import cli, load_run
from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.annotations import Annotation, Annotations, Opinion, add, annotation_of
from pytest_crmeval.render.export.tables import AnnotationRow
from pytest_crmeval.report.people import agreements_of
from tests.fakes import planned, trial
from tests.kept_runs import keep

AGREE, DISAGREE = Opinion.AGREE, Opinion.DISAGREE
PASSED, FAILED = Verdict.PASSED, Verdict.FAILED


def opinion(found: Trial, said: Opinion, person: str = "ada") -> Annotation:
    """Return the opinion of a person."""
    return annotation_of(found, said, "because", person)


def opinions(*given: tuple[Verdict, Opinion, int]) -> tuple[list[Trial], Annotations]:
    """Return so many trials with a verdict and an opinion about it."""
    made = [(verdict, said) for verdict, said, count in given for _ in range(count)]
    trials = [trial(planned(f"case-{number}"), verdict) for number, (verdict, _) in enumerate(made)]
    return trials, {each.planned.key: [opinion(each, said)] for each, (_, said) in zip(trials, made, strict=True)}


def test_kappa_corrects_for_agreement_by_chance() -> None:
    """The textbook example: 20 and 15 in agreement, 5 and 10 not, give a kappa of 0.4."""
    (found,) = agreements_of(
        *opinions((PASSED, AGREE, 20), (PASSED, DISAGREE, 5), (FAILED, DISAGREE, 10), (FAILED, AGREE, 15))
    )

    assert found.kappa == pytest.approx(0.4)
    assert (35, 50, 5, 10) == (found.agreed, found.opinions, found.false_passes, found.false_failures)
    assert str(found).startswith(
        "people agree with 35 of 50 verdicts (0.700, 0.562 to 0.809), kappa 0.40; 5 false passes"
    )


def test_several_opinions_about_one_case_are_one_unit_of_the_interval() -> None:
    trials, _ = opinions((PASSED, AGREE, 10), (PASSED, DISAGREE, 10))
    (twice,) = agreements_of(
        trials,
        {
            each.planned.key: [opinion(each, said, person) for person in ("ada", "bob")]
            for each, said in zip(trials, [AGREE, DISAGREE] * 10, strict=True)
        },
    )

    assert 40 == twice.opinions
    assert wilson(10, 20) == pytest.approx(twice.interval, abs=0.01)


def test_kappa_of_equal_verdicts_is_undefined() -> None:
    (found,) = agreements_of(*opinions((PASSED, AGREE, 3)))

    assert found.kappa is None
    assert "kappa undefined" in str(found)


def test_opinions_about_other_verdicts_and_mere_notes_do_not_count() -> None:
    one, two, broken = trial(planned("one")), trial(planned("two")), trial(planned("three"), Verdict.ERRORED)
    earlier = trial(planned("one"), FAILED)
    given = {each.planned.key: [opinion(each, said)] for each, said in ((earlier, AGREE), (two, Opinion.NONE))}

    assert [] == agreements_of([one, two, broken], {**given, broken.planned.key: [opinion(broken, DISAGREE)]})


def test_the_report_and_the_export_have_the_opinions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials, annotations = opinions((PASSED, AGREE, 2), (FAILED, DISAGREE, 1))
    keep(tmp_path, "nightly", trials)
    for found in annotations.values():
        add(tmp_path / "nightly", found[0])
    add(tmp_path / "nightly", opinion(trials[2], AGREE, "bob"))

    assert 0 == cli.main(["report", "nightly", "--reports", str(tmp_path)])
    assert "crm: people agree with 3 of 4 verdicts" in capsys.readouterr().out
    rows = [row for row in load_run("nightly", tmp_path).rows("annotations") if isinstance(row, AnnotationRow)]
    assert [("case-2", "ada", "disagree", True), ("case-2", "bob", "agree", True)] == [
        (row.case, row.person, row.opinion, row.current) for row in rows[2:]
    ]
