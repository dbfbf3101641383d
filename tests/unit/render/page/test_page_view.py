"""What the page shows, from the top to the bottom."""

import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, TurnOutcome
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.render.page.baseline import baseline_of, changes_of
from pytest_crmeval.render.page.gates import GateView
from pytest_crmeval.render.page.heat import LABELS, heats_of
from pytest_crmeval.render.page.suites import suites_of
from pytest_crmeval.render.page.view import view_of
from pytest_crmeval.render.page.words import amount, percent, seconds, signed, to_trials
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.comparison import CaseChange
from pytest_crmeval.report.outcome import outcome_of
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.ruling import Ruling
from tests.fakes import planned, trial
from tests.pages import FACTS, comparison, rulings, trials_of


def report(*trials: Any, not_run: int = 0, **changes: Any) -> Report:  # noqa: ANN401 (fields of a report)
    """Return the report of some trials."""
    missing = [planned(f"missing-{number}") for number in range(not_run)]
    found = reports.build(FACTS, {each.planned.key: each for each in trials}, missing)
    return replace(found, **changes)


HOLDS, BREACHED = rulings()[0], rulings()[1]


@pytest.mark.parametrize(
    ("found", "mood", "output"),
    [
        (report(trial("one")), "plain", "Complete; no gate was evaluated"),
        (report(trial("one"), rulings=[HOLDS]), "good", "1 gate holds"),
        (report(trial("one"), rulings=[HOLDS, HOLDS]), "good", "2 gates hold"),
        (report(trial("one"), rulings=[HOLDS, BREACHED]), "bad", "1 of 2 gates breached"),
        (report(trial("one"), trial("two", Verdict.ERRORED)), "warn", "1 errored: infrastructure failed"),
        (report(trial("one"), not_run=3, rulings=[HOLDS]), "bad", "Incomplete: 3 not run"),
        (report(trial("one"), not_run=3), "warn", "Incomplete: 3 not run"),
        (report(), "plain", "Complete; no gate was evaluated"),
    ],
)
def test_outcome_of_a_run_is_its_worst_result(found: Report, mood: str, output: str) -> None:
    """An incomplete run is never good, nor is one in which the world broke."""
    outcome = outcome_of(found)

    assert (mood, output) == (outcome.mood, outcome.text)


def test_tiles_count_all_suites_together() -> None:
    """What there is none of, and is rare, has no tile."""
    found = report(trial("one"), trial(planned("two", suite="questions")), trial("three", Verdict.INVALID), not_run=2)
    tiles = {tile.name: tile.value for tile in view_of(found).tiles}

    assert {"Planned": "5", "Passed": "2", "Failed": "0", "Errored": "0", "Invalid": "1", "Not run": "2"} == {
        name: value for name, value in tiles.items() if name != "Time of all trials"
    }


PART = {"command": "pytest evals/ -n 3", "agents": {}, "seed": 0}


def test_page_shows_the_origin_of_the_figures() -> None:
    """Every fact of the run, whatever others add to it."""
    facts: dict[str, Any] = {
        **FACTS,
        "parts": [{**PART, "git": {"commit": "0123456789abcdef", "dirty": True}}],
        "other": [1, None, {"deep": False}],
    }
    view = view_of(replace(report(trial("one")), run=facts))

    assert ("commit", "0123456789ab with uncommitted changes") in view.facts
    assert "command: pytest evals/ -n 3" in dict(view.origin)["part 1"]
    assert ("other", "1, \N{EN DASH}, deep no") in view.origin
    assert "seed: 0" in dict(view.origin)["part 1"]


def test_the_interval_is_that_of_the_report() -> None:
    """A report from an older version has no figures."""
    whole = report(*(trial(f"case-{n}") for n in range(8)))
    (summary,) = whole.standings
    figures = {"pass_rate": Figure(value=1.0, interval=(0.5, 1.0))}
    (output,) = suites_of(replace(whole, standings=[replace(summary, figures=figures)]))
    (untold,) = suites_of(replace(whole, standings=[replace(summary, figures={})]))

    assert [("", 1.0, 0.5, 1.0)] == [(each.metric, each.value, each.low, each.high) for each in output.places]
    assert [(1.0, None, None)] == [(each.value, each.low, each.high) for each in untold.places]


def test_suite_without_scored_trials_shows_a_dash() -> None:
    """A dash, not a zero."""
    (suite,) = suites_of(report(trial("one", Verdict.ERRORED)))

    assert ("\N{EN DASH}", "") == (suite.places[0].rate, suite.places[0].interval)


def test_a_subject_has_one_colour_on_the_whole_page() -> None:
    trials = [trial(planned("one", suite=suite, subject=who)) for suite in ("a", "b") for who in ("x", "y")]
    colours = [[place.colour for place in suite.places] for suite in suites_of(report(*trials))]

    assert [[0, 1], [0, 1]] == colours


def test_the_heat_map_has_a_row_per_label_and_a_column_per_subject() -> None:
    """Rates agree with the breakdown of the report; each cell leads to its trials."""
    found = report(*trials_of(240))
    heat = next(each for each in heats_of(found.standings) if each.kind == "tag")
    label, cells = heat.rows[0]
    group = found.standings[0].by["tag"][label]

    assert ["claude", "gpt-4.1", "gpt-4.1-mini"] == list(heat.subjects)
    assert (round(group.pass_rate or 0, 3), group.cases) == (cells[0].share, cells[0].size)
    assert f"#trials?suite=crm&subject=claude&label=tag%3A{label}" == cells[0].link


def test_heat_map_shows_the_largest_labels() -> None:
    trials = [
        replace(found, labels=replace(found.labels, tags=(f"tag-{number % 60}",)))
        for number, found in enumerate(trials_of(240))
    ]
    heat = next(each for each in heats_of(report(*trials).standings) if each.kind == "tag")

    assert (LABELS, 20) == (len(heat.rows), heat.more)


def test_causes_lead_to_trials_that_have_them() -> None:
    """A trial with several faults counts for each of its causes, once."""
    trials = trials_of(60, words=1)
    (suite,) = suites_of(report(*trials))
    failed = sum(not each.passed for each in trials)

    assert {
        ("state", "client not created"),
        ("state", "wrong contact title"),
        ("calls", "client_search not called"),
    } == {(cause.score, cause.text) for cause in suite.causes}
    assert {failed} == {cause.trials for cause in suite.causes}
    assert suite.causes[0].link.endswith("cause=calls%3A+client_search+not+called")


def test_subjects_have_their_change_from_the_baseline() -> None:
    """Its colour says whether it is significant; controls are apart."""
    changed = replace(report(*trials_of(60)), comparison=comparison(["a"], ["b"]))
    (suite,) = suites_of(changed)
    changes = {place.summary.subject: (place.change, place.change_mood) for place in suite.places}

    assert {
        "claude": ("\N{MINUS SIGN}0.040", "bad"),
        "gpt-4.1": ("\N{EN DASH}", ""),
        "gpt-4.1-mini": ("\N{EN DASH}", ""),
    } == changes


def test_turns_and_repeats_have_charts() -> None:
    """The share of conversations without a fault falls from turn to turn; pass@k rises."""
    turn = TurnOutcome(tool="client_search", called=True, replied=True, steps=1, errors=0)
    trials = [
        replace(
            each,
            turns=(turn, replace(turn, called=each.passed), turn),
            planned=replace(each.planned, trial=k, key=f"{each.planned.key}{k}"),
        )
        for k, seed in ((1, 7), (2, 8))
        for each in trials_of(60, seed=seed)
    ]
    charts = {chart.title: chart for chart in suites_of(report(*trials))[0].charts}
    falling = [float(row[2]) for row in charts["First failed turn"].rows if row[1] == "claude"]
    rising = [float(row[2]) for row in charts["Repeats"].rows if row[1] == "claude"]

    assert 1.0 == falling[0] > falling[1] == falling[2]
    assert 2 == len(rising)
    assert rising[0] < rising[1]


def test_gate_shows_value_interval_margin_and_cases_needed() -> None:
    """The whisker is drawn for rates only."""
    gate = GateView(found=BREACHED)
    slow = GateView(
        found=Ruling(
            gate="crm.latency_p95 <= 20s", holds=True, explanation="it is", value=0.5, low=0.4, high=0.6, bound=1
        )
    )

    assert ("0.520", "0.440 to 0.600", "\N{MINUS SIGN}0.160") == (gate.value, gate.interval, gate.margin)
    assert gate.why.endswith("; inconclusive: about 420 more cases needed")
    assert (True, False) == (gate.is_rate, slow.is_rate)
    assert ("500 ms", "400 ms to 600 ms") == (slow.value, slow.interval)


def test_margins_have_the_unit_of_what_they_are_margins_of() -> None:
    """Seconds of a time, dollars of money, whole ones of a count."""
    dear = Ruling(gate="crm.cost_usd <= 5", holds=False, explanation="e", value=6.3, bound=5, margin=-1.3)
    slow = Ruling(gate="crm.latency_p95 <= 20s", holds=True, explanation="e", value=0.5, bound=20, margin=19.5)
    count = Ruling(gate="crm.failed <= 3", holds=False, explanation="e", value=7, bound=3, margin=-4)

    margins = [GateView(found=each).margin for each in (slow, dear, count)]
    assert ["+20 s", "\N{MINUS SIGN}$1.30", "\N{MINUS SIGN}4"] == margins
    assert "$6.30" == GateView(found=dear).value


def test_gate_on_the_baseline_shows_a_difference() -> None:
    """With its sign; it is no rate, and has no margin but itself."""
    change: dict[str, Any] = {
        "value": 0.05,
        "low": 0.01,
        "high": 0.1,
        "bound": 0.0,
        "margin": 0.05,
        "p": 0.3,
        "needed": 1,
    }
    gate = GateView(found=Ruling(gate="crm.pass_rate not worse than baseline", holds=True, explanation="e", **change))

    output = (gate.value, gate.interval, gate.margin, gate.is_rate, gate.why)
    assert ("+0.050", "+0.010 to +0.100", "\N{EN DASH}", False, "e; inconclusive: about 1 more case needed") == output


def test_run_that_failed_for_another_reason_is_not_good() -> None:
    """Nor is what plugins were not asked about; gates that hold do not help."""
    holding = replace(report(trial("one")), rulings=rulings()[:1])
    red = replace(holding, run={**FACTS, "red": ["a"]})
    unasked = replace(holding, run={**FACTS, "parts": [{"plugin_gates": True}, {"merged": {}}]})

    assert ("good", "1 gate holds") == (view_of(holding).outcome.mood, view_of(holding).outcome.text)
    assert ("warn", "1 test failed outside a trial") == (view_of(red).outcome.mood, view_of(red).outcome.text)
    assert ("warn", "Gates of plugins were not evaluated") == (
        view_of(unasked).outcome.mood,
        view_of(unasked).outcome.text,
    )


def test_metrics_have_their_intervals() -> None:
    first = planned("one")
    again = [trial(replace(first, trial=n, key=str(n)), verdict) for n, verdict in enumerate(Verdict, start=1)]
    (suite,) = suites_of(report(*again, *(trial(str(n), seconds=n) for n in range(9))))
    (table,) = [each for each in suite.figures if each.title.startswith("Metrics")]
    rows = {name: output for name, output in table.rows}  # noqa: C416 (a row is a sequence)

    assert {"score:state", "pass rate", "pass@2", "pass^2", "latency mean"} <= set(rows)
    assert "strict success" not in rows
    assert re.fullmatch(r"0\.\d{3} \(0\.\d{3} to [01]\.\d{3}\)", rows["pass rate"])
    assert re.fullmatch(r"[\d.]+ s \(.* to [\d.]+ s\)", rows["latency mean"])


def test_heat_map_names_its_unit() -> None:
    """Cases of an agent, solutions of a checkpoint; a case that is tried twice is one."""
    twice = [replace(trial(replace(planned("one"), trial=n, key=str(n))), labels=Labels(tags=("t",))) for n in (1, 2)]
    solved = FileOutcome(verdicts={"AC": 1}, samples=((1, 1, 1),), by={"tag": {"dp": (1, 1)}})
    file = replace(trial(planned("f", suite="checkpoints", subject="checkpoint-1")), solutions=solved)
    found = {suite.name: suite.heats[0] for suite in suites_of(report(*twice, file))}

    assert ("cases", "oracle, t: 100 % of 1 case") == (found["crm"].of, found["crm"].rows[0][1][0].title)
    shown = found["checkpoints"].of, found["checkpoints"].rows[0][1][0].title
    assert ("solutions", "checkpoint-1, dp: 100 % of 1 solution") == shown


def test_a_gate_of_each_subject_names_the_subject() -> None:
    """``crm[*].errored == 0`` is several rulings."""
    every = Ruling(gate="crm[*].errored == 0", holds=True, explanation="0", subject="mute")

    assert "crm[*].errored == 0 (mute)" == GateView(found=every).text
    assert BREACHED.gate == GateView(found=BREACHED).text


def test_a_long_list_names_a_few_and_leads_to_all() -> None:
    """Unless it leads nowhere; so the rest of the page is not far away."""
    many = [str(n) for n in range(30)]
    (contrast,) = comparison(many, []).contrasts
    gone = [CaseChange(case=case) for case in many]
    (found,) = baseline_of(replace(comparison([], []), contrasts=(replace(contrast, gone=tuple(gone)),))).contrasts

    assert [("newly failing", 30, 10, True), ("gone", 30, 30, False)] == [
        (each.name, each.count, len(each.cases), bool(each.link)) for each in found.lists
    ]


def test_contrast_without_a_test_is_marked() -> None:
    (tested,) = baseline_of(comparison(["a"], [])).contrasts
    untested = replace(tested, contrast=replace(tested.contrast, p=None, p_holm=None))

    assert ("not tested", "crm × claude (pass@1)") == (untested.ruling, untested.title)


def test_a_comparison_names_what_changed() -> None:
    """Lists with links; a case that is gone has no trial to be shown."""
    found = baseline_of(comparison(["a", "b"], ["c"]))
    (contrast,) = found.contrasts

    assert [("newly failing", 2), ("newly passing", 1), ("gone", 1)] == [
        (each.name, each.count) for each in contrast.lists
    ]
    assert (True, True, False) == tuple(bool(each.link) for each in contrast.lists)
    assert ("worse", "\N{MINUS SIGN}0.040", "0.031") == (contrast.ruling, contrast.difference, contrast.p)
    assert 0.0 <= contrast.place(-0.09) < contrast.place(-0.04) < 0.5 < contrast.place(0.01) <= 1.0
    assert "newly failing" == changes_of(comparison(["a"], []))["crm", "claude", "a"]


def test_a_difference_that_is_not_sure_is_neither_better_nor_worse() -> None:
    (contrast,) = comparison(["a"], []).contrasts
    unsure = replace(comparison(["a"], []), contrasts=(replace(contrast, p_holm=0.4),))

    assert "no significant change" == baseline_of(unsure).contrasts[0].ruling


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (seconds(0.0000362), "0.036 ms"),
        (seconds(0.0125), "12 ms"),
        (seconds(4.25), "4.2 s"),
        (seconds(75), "1.2 min"),
        (seconds(9_000), "2.5 h"),
        (percent(0.999), "99 %"),
        (percent(0.001), "1 %"),
        (percent(1.0), "100 %"),
        (amount(6_012_345), "6.0 M"),
        (signed(-0.5), "\N{MINUS SIGN}0.500"),
        (to_trials(suite="a b", text=""), "#trials?suite=a+b"),
    ],
)
def test_numbers_are_short_and_not_rounded_up_to_all(said: str, expected: str) -> None:
    """And never better than they are: 99.9 % is not all."""
    assert expected == said
