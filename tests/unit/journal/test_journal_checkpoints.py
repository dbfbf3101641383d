"""The figures of checkpoints: counts that add up, and correct shares."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.journal.checkpoints import (
    CheckpointFigures,
    PassAt,
    added_samples,
    best_of,
    combined,
    curves_of,
    figures_of,
    label_order,
    pass_figures,
    pooled_figures,
    rating_group,
    with_lost,
)
from pytest_crmeval.journal.solutions.outcomes import Defect

COUNTS = st.integers(min_value=0, max_value=9)


@st.composite
def outcomes(draw: st.DrawFn) -> FileOutcome:
    """Return a possible result of a file."""
    samples: dict[tuple[int, int], int] = {}
    for judged in range(1, 4):
        for solved in range(judged + 1):
            if count := draw(COUNTS):
                samples[judged, solved] = count
    solved = sum(found * count for (_, found), count in samples.items())
    wrong = sum(judged * count for (judged, _), count in samples.items()) - solved
    verdicts = {"AC": solved, "WA": wrong, "JE": draw(COUNTS), "SKIPPED": draw(COUNTS)}
    return FileOutcome(
        step=draw(st.sampled_from([None, 1, 2])),
        verdicts={name: count for name, count in verdicts.items() if count},
        ungradable={str(defect): count for defect in Defect if (count := draw(COUNTS))},
        missing=draw(COUNTS),
        samples=tuple((*sample, count) for sample, count in sorted(samples.items())),
        by={"rating": {"800-1199": (solved, solved + wrong)}},
        results="eval_x/eval_y.jsonl",
    )


def whole(*samples: tuple[int, int], step: int | None = None, missing: int = 0) -> CheckpointFigures:
    """Return figures of problems with these numbers of graded and solved solutions."""
    solved = sum(found for _, found in samples)
    counts = added_samples([tuple((*each, 1) for each in samples)])
    verdicts = {"AC": solved, "WA": sum(judged for judged, _ in samples) - solved}
    return CheckpointFigures.of(FileOutcome(step=step, verdicts=verdicts, samples=counts, missing=missing), 1)


@given(outcomes())
def test_every_line_is_counted_once_and_survives_json(outcome: FileOutcome) -> None:
    """Graded, not graded, or ungradable."""
    figures = CheckpointFigures.of(outcome, 1)

    assert outcome == FileOutcome.from_dict(outcome.to_dict())
    assert figures.to_dict() == CheckpointFigures.from_dict(figures.to_dict()).to_dict()
    assert outcome.lines == sum(outcome.verdicts.values()) + sum(outcome.ungradable.values()) + outcome.missing
    assert outcome.judged == sum(judged * count for judged, _, count in outcome.samples)


@given(outcomes(), outcomes())
def test_counts_of_files_add_up(one: FileOutcome, other: FileOutcome) -> None:
    both = combined([one, other])

    assert (one.lines + other.lines, one.solved + other.solved) == (both.lines, both.solved)
    assert (one.judged + other.judged, one.unjudged + other.unjudged) == (both.judged, both.unjudged)
    assert figures_of([one, None, other]) == CheckpointFigures.of(both, 2)
    assert pooled_figures([figures_of([one]), figures_of([other])]) == figures_of([one, other])


def test_pass_at_1_with_one_sample_per_problem_is_the_share_of_solved_among_graded() -> None:
    figures = whole(*[(1, 1)] * 82, *[(1, 0)] * 82)

    assert {1: PassAt(value=0.5, problems=164)} == figures.pass_at
    assert pytest.approx(wilson(82, 164), abs=1e-6) == figures.interval
    assert 0.5 == figures.solved_of_all


def test_each_problem_has_the_same_weight_with_several_samples() -> None:
    """By brute force: the share of all pairs of different samples of which at least one is solved."""
    figures = whole((4, 1), (3, 0), (1, 1))
    pairs = [any(pair) for pair in combinations([1, 0, 0, 0], 2)]

    assert pytest.approx((0.25 + 0.0 + 1.0) / 3, abs=1e-6) == figures.pass_at[1].value
    assert pytest.approx((sum(pairs) / len(pairs) + 0.0) / 2, abs=1e-6) == figures.pass_at[2].value
    assert (3, 2) == (figures.pass_at[1].problems, figures.pass_at[2].problems)
    assert (1, 2, 3, 4) == tuple(figures.pass_at)


def test_metrics_for_gates_count_problems_not_samples() -> None:
    """Two samples of a problem are not two problems."""
    figures = pass_figures([whole((2, 1), (2, 1)).whole], 0.95)

    assert (0.5, 4, 2) == (figures["pass@1"].value, figures["pass@1"].n, figures["pass@1"].units)
    assert wilson(1.0, 2) == figures["pass@1"].interval
    assert (1.0, 2) == (figures["pass@2"].value, figures["pass@2"].units)
    assert {} == pass_figures([None], 0.95)


def test_pass_at_1_without_graded_solutions_is_not_zero() -> None:
    """A file of truncated answers has no pass@1, but it has solved nothing."""
    figures = CheckpointFigures.of(FileOutcome(ungradable={"truncated": 3}), 1)

    assert (None, None, {}) == (figures.whole.pass_at_1, figures.interval, figures.pass_at)
    assert 0.0 == figures.solved_of_all
    assert CheckpointFigures.of(FileOutcome(), 1).solved_of_all is None


def test_best_checkpoint_is_the_earliest_with_the_highest_complete_result() -> None:
    figures = {
        "checkpoint-100": whole((1, 1), (1, 0), step=100),
        "checkpoint-20": whole((1, 1), (1, 0), step=20),
        "checkpoint-30": whole((1, 1), step=30, missing=1),
        "checkpoint-5": whole((1, 0), step=5),
    }

    curve = curves_of(("code", name, found) for name, found in figures.items())["code"]

    assert "checkpoint-20" == best_of(figures) == curve["best"]
    assert [5, 20, 30, 100] == [each["step"] for each in curve["curve"]]  # type: ignore[union-attr, index, call-overload]
    assert "" == best_of({"checkpoint-1": whole((1, 1), missing=1)})


def test_checkpoint_with_a_lost_file_is_not_the_best() -> None:
    half = with_lost(whole((1, 1), step=30), "checkpoint-30", 1)
    gone = with_lost(None, "run-a/checkpoint-20-sft", 2)

    assert half is not None
    assert gone is not None
    assert "checkpoint-10" == best_of({"checkpoint-10": whole((1, 0), step=10), "checkpoint-30": half})
    assert (20, 0, 2, None) == (gone.whole.step, gone.files, gone.lost, gone.whole.pass_at_1)
    assert gone == CheckpointFigures.from_dict(gone.to_dict())
    assert with_lost(None, "oracle", 0) is None


def test_ratings_are_grouped_in_steps_of_400() -> None:
    """In numerical order; unrated problems come last."""
    labels = [rating_group(rating) for rating in (800, 1199, 1200, 3500, None)]

    assert ["800-1199", "800-1199", "1200-1599", "3200-3599", "unrated"] == labels
    assert labels == sorted(labels, key=label_order)
