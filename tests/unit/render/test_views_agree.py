"""One run, all its views: each prints the same pass rate, pass@1, solved_of_all and intervals."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pytest_crmeval import cli
from pytest_crmeval.controller.counting import counted, outcome_of
from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.interval import Interval, clustered, wilson
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial
from pytest_crmeval.journal import reader as journal
from pytest_crmeval.render import summary
from pytest_crmeval.render.page.suites import suites_of
from pytest_crmeval.render.progress_table import sheet
from pytest_crmeval.report.gate import Gate
from pytest_crmeval.report.gating import judge
from pytest_crmeval.report.report import Report
from tests.fakes import planned, trial
from tests.kept_runs import keep
from tests.viewer import site_of

Run = Callable[..., str]
SUBJECTS = ("gpt-4.1", "claude")
CHECKPOINT = "checkpoint-49"
PASS_AT_1 = (3 + 0 + 1) / 8
SOLVED_OF_ALL = 4 / 22


def conversations(subject: str) -> Iterator[Trial]:
    """Yield thirty cases in ten chains, each tried twice; some errored, one is invalid."""
    dice = Random(subject)  # noqa: S311 (no secret)
    for number in range(30):
        for repeat in (1, 2):
            case = planned(f"case-{number}", subject=subject)
            verdict = Verdict.PASSED if dice.random() < 0.8 else Verdict.FAILED
            verdict = {5: Verdict.ERRORED, 11: Verdict.INVALID}.get(number, verdict)
            made = trial(replace(case, trial=repeat, key=f"{case.key}-{subject}-{repeat}"), verdict)
            yield replace(made, labels=Labels(chain=f"chain-{number % 10}"))


def files() -> Iterator[Trial]:
    """Yield four files of a checkpoint: passed, failed by its threshold, errored half way, nothing to judge."""
    outcomes = {
        Verdict.PASSED: FileOutcome(step=49, verdicts={"AC": 3, "WA": 1}, samples=((1, 0, 1), (1, 1, 3))),
        Verdict.FAILED: FileOutcome(step=49, verdicts={"WA": 2}, samples=((1, 0, 2),)),
        Verdict.ERRORED: FileOutcome(step=49, verdicts={"AC": 1, "WA": 1, "JE": 2}, samples=((1, 0, 1), (1, 1, 1))),
        Verdict.INVALID: FileOutcome(step=49, ungradable={"truncated": 12}),
    }
    for verdict, outcome in outcomes.items():
        case = planned(f"{verdict}.jsonl", subject=CHECKPOINT, suite="checkpoints")
        scores = {"pass@1": outcome.pass_at_1 or 0.0} if verdict in {Verdict.PASSED, Verdict.FAILED} else {}
        yield replace(trial(replace(case, spec="sandbox:local"), verdict, scores=scores), solutions=outcome)


@pytest.fixture
def kept(tmp_path: Path) -> Report:
    """Keep such a run, with its journal."""
    trials = [*(each for subject in SUBJECTS for each in conversations(subject)), *files()]
    return keep(tmp_path / "reports", "mixed", trials)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: Report) -> Run:
    """Return what a command prints about the run."""

    def run(*arguments: str) -> str:
        assert kept.trials
        cli.main([*arguments, "--reports", str(tmp_path / "reports")])
        return capsys.readouterr().out

    return run


def passing(subject: str) -> tuple[float, Interval]:
    """Return the pass rate of a subject and its interval, over chains, computed here."""
    units: dict[str, list[bool]] = {}
    for each in conversations(subject):
        if each.verdict in {Verdict.PASSED, Verdict.FAILED}:
            units.setdefault(each.labels.chain, []).append(each.passed)
    found = [verdict for unit in units.values() for verdict in unit]
    interval = clustered([(sum(unit), len(unit)) for unit in units.values()])
    assert interval
    assert wilson(sum(found), len(found)) != interval
    return sum(found) / len(found), interval


def solving() -> tuple[float, Interval]:
    """Return pass@1 of the checkpoint and its interval, over the problems of all its files."""
    interval = wilson(8 * PASS_AT_1, 8)
    assert interval
    return PASS_AT_1, interval


def row_of(text: str, *names: str) -> str:
    """Return the only line that has all the names, blanks and table marks squeezed."""
    (line,) = [line for line in text.splitlines() if all(name in line for name in names)]
    return re.sub(r"[\s|]+", " ", line.replace("\\", ""))


def output(value: float, interval: Interval, between: str) -> str:
    """Return a figure as a view prints it."""
    return f"{value:.3f}{between}".format(*(f"{end:.3f}" for end in interval))


EXPECTED = [*((("crm", subject), passing(subject)) for subject in SUBJECTS), (("checkpoints", CHECKPOINT), solving())]


@pytest.mark.parametrize(("names", "figure"), EXPECTED)
def test_terminal_table_shows_the_expected_figures(
    run: Run, kept: Report, names: Sequence[str], figure: tuple[float, Interval]
) -> None:
    """At the end of the run, and of ``crmeval report``."""
    for text in ("\n".join(summary.table(kept)), run("report", "mixed").partition("\n\n")[0]):
        assert output(*figure, " {} to {}") in row_of(text, *names)


@pytest.mark.parametrize(("names", "figure"), EXPECTED)
def test_figures_of_the_terminal_report(run: Run, names: Sequence[str], figure: tuple[float, Interval]) -> None:
    """A table per suite, a column per subject; no metric has two values."""
    table = next(block for block in run("report", "mixed").split("\n\n") if block.startswith(f"{names[0]} with 95 %"))
    metric = "pass@1" if CHECKPOINT in names else "pass rate"
    rows = [line for line in table.splitlines() if line.startswith(("pass@1", "score:pass@1", "pass rate"))]
    wanted = output(*figure, " ({} to {})")

    assert any(line.startswith(metric) and wanted in line for line in rows)
    assert CHECKPOINT not in names or 1 == len(rows)


@pytest.mark.parametrize(("names", "figure"), EXPECTED)
def test_json_report_has_the_expected_figures(run: Run, names: Sequence[str], figure: tuple[float, Interval]) -> None:
    """Its figures, its counts, and the curve of checkpoints."""
    document = json.loads(run("report", "mixed", "--json"))
    (result,) = [each for each in document["results"] if (each["suite"], each["subject"]) == tuple(names)]
    metric = "pass@1" if CHECKPOINT in names else "pass_rate"

    assert figure[0] == pytest.approx(result["figures"][metric]["value"])
    assert figure[1] == pytest.approx(result["figures"][metric]["interval"])
    if CHECKPOINT in names:
        (point,) = document["checkpoints"]["checkpoints"]["curve"]
        shown = (result["checkpoint"]["pass_at"]["1"]["value"], point["pass_at"]["1"]["value"])
        assert (figure[0], figure[0]) == pytest.approx(shown)
        assert figure[1] == pytest.approx(point["interval"], abs=1e-6)
        assert not {"pass_rate", "score:pass@1"} & {*result["figures"], *result, *result["metrics"]}
        assert {} == result["scores"]


@pytest.mark.parametrize(("names", "figure"), EXPECTED)
def test_markdown_shows_the_expected_figures(run: Run, names: Sequence[str], figure: tuple[float, Interval]) -> None:
    """A checkpoint has no pass rate there; of cases that are tried several times, pass@1 is the pass rate."""
    text = run("report", "mixed", "--md").replace("\u200b", "")
    head, row = (re.split(r"\s*\|\s*", line) for line in (row_of_table(text, "suite"), row_of_table(text, names[1])))
    cells = dict(zip(head, row, strict=True))

    assert output(*figure, " ({} to {})") == cells["pass@1 (95 %)"]
    assert ("-" if CHECKPOINT in names else output(*figure, " ({} to {})")) == cells["pass rate (95 %)"]


def row_of_table(text: str, name: str) -> str:
    """Return the line of a Markdown table that has a name."""
    return next(line for line in text.splitlines() if line.startswith("|") and name in line.replace("\\", ""))


@pytest.mark.parametrize(("names", "figure"), EXPECTED)
def test_gate_uses_the_expected_figures(kept: Report, names: Sequence[str], figure: tuple[float, Interval]) -> None:
    """Value and interval of its ruling."""
    metric = "pass@1" if CHECKPOINT in names else "pass_rate"
    (ruling,) = judge([Gate.parse(f"{names[0]}[{names[1]}].{metric} >= 0.01")], kept)

    assert figure[0] == pytest.approx(ruling.value)
    assert figure[1] == pytest.approx((ruling.low, ruling.high))


def test_solved_of_all_counts_files_with_nothing_to_judge_in_every_view(run: Run, kept: Report) -> None:
    """Twelve truncated answers solve nothing: a gate that asks for more is breached."""
    (ruling,) = judge([Gate.parse("checkpoints.solved_of_all >= 0.5")], kept)
    (result,) = [each for each in json.loads(run("report", "mixed", "--json"))["results"] if "checkpoint" in each]
    markdown = run("report", "mixed", "--md")

    assert not ruling.holds
    assert pytest.approx(SOLVED_OF_ALL) == ruling.value
    assert (SOLVED_OF_ALL, SOLVED_OF_ALL) == pytest.approx(
        (result["checkpoint"]["solved_of_all"], result["figures"]["solved_of_all"]["value"]), abs=1e-6
    )
    assert f" {SOLVED_OF_ALL:.3f} " in row_of("\n".join(summary.table(kept)), CHECKPOINT)
    assert f" {SOLVED_OF_ALL:.3f} (" in row_of_table(markdown, CHECKPOINT)


@pytest.mark.parametrize("metric", ["pass_rate", "strict_success"])
def test_gate_on_the_pass_rate_of_a_checkpoint_names_the_metrics_it_has(kept: Report, metric: str) -> None:
    """It would be the share of files that were judged, which is 1.000 for most."""
    (ruling,) = judge([Gate.parse(f"checkpoints.{metric} >= 0.01")], kept)

    assert not ruling.holds
    assert f"a checkpoint has no {metric}; use pass@1 or solved_of_all" == ruling.explanation


@pytest.mark.parametrize(("names", "figure"), EXPECTED)
def test_status_shows_the_expected_figures(run: Run, names: Sequence[str], figure: tuple[float, Interval]) -> None:
    (task,) = [each for each in json.loads(run("status", "mixed", "--json"))["tasks"] if each["subject"] == names[1]]
    metric, other = ("pass@1", "pass_rate") if CHECKPOINT in names else ("pass_rate", "pass@1")

    assert output(*figure, " {} to {}") in row_of(run("status", "mixed"), " × ".join(names)).replace(" - ", " ")
    assert (figure[0], *figure[1]) == pytest.approx((task[metric], *task["interval"]), abs=1e-6)
    assert task[other] is None


@pytest.mark.parametrize(("names", "figure"), EXPECTED)
@pytest.mark.parametrize("width", [80, 200])
def test_live_progress_shows_the_expected_figures(
    tmp_path: Path, kept: Report, width: int, names: Sequence[str], figure: tuple[float, Interval]
) -> None:
    """The recorder's own tally, on a wide terminal and on a narrow one."""
    tally = counted(journal.read(tmp_path / "reports" / str(kept.run["id"]) / "trials.jsonl"))
    for each in kept.trials:
        tally.take(outcome_of(each))  # a trial that is recorded twice counts once

    text = "\n".join(sheet(tally.rows(0.0), tally.whole(0.0), width).lines())

    assert f"{figure[0]:.3f}" in row_of(text, names[1])


def test_list_shows_the_expected_figures(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each subject by itself; the table has the first of them."""
    monkeypatch.setattr("pytest_crmeval.cli.listing.SHOWN", 3)
    (document,) = json.loads(run("list", "--json"))["runs"]
    tasks = {task["subject"]: task for task in document["tasks"]}
    rates = {subject: figure[0] for (_, subject), figure in EXPECTED}

    assert {CHECKPOINT: None, **{subject: pytest.approx(rates[subject]) for subject in SUBJECTS}} == {
        subject: task["pass_rate"] for subject, task in tasks.items()
    }
    assert {CHECKPOINT: pytest.approx(PASS_AT_1), **dict.fromkeys(SUBJECTS)} == {
        subject: task["pass@1"] for subject, task in tasks.items()
    }
    shown = [f"pass@1 {rates[CHECKPOINT]:.3f}", *(f"{rates[subject]:.3f}" for subject in sorted(SUBJECTS))]
    assert f" {', '.join(shown)} " in row_of(run("list"), "mixed")


@pytest.mark.parametrize("state", ["finished", "in progress"])
def test_viewer_shows_the_expected_figures(tmp_path: Path, kept: Report, state: str) -> None:
    """The list of runs of ``crmeval view``, from the report and from the journal; and its trend."""
    if state == "in progress":
        (tmp_path / "reports" / f"{kept.run['id']}.json").unlink()
    with site_of(tmp_path / "reports") as site:
        listed = site.answer("", {}).content.decode()
        trend = site.answer("trend", {}).content.decode()

    for (suite, subject), figure in EXPECTED:
        by = " pass@1" if subject == CHECKPOINT else ""
        shown = output(*figure, "</b> <small>{} to {}")
        assert f"{suite} × {subject}</span> <b>{shown}{by}</small>" in listed
        assert f"{subject} <small>1 run, now {output(*figure, ' ({} to {})')}</small>" in trend


def test_page_shows_the_expected_figures(kept: Report) -> None:
    """The first table of each suite."""
    places = {place.summary.subject: place for suite in suites_of(kept) for place in suite.places}

    for (_, subject), (value, interval) in EXPECTED:
        place = places[subject]
        assert (value, *interval) == pytest.approx((place.value, place.low, place.high))
        assert ("pass@1" if subject == CHECKPOINT else "") == place.metric
        assert output(value, interval, " ({} to {})") in str(suites_of(kept))
