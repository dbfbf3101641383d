"""``--crmeval-trials`` plays each case several times: repeats are not additional cases."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval import cli
from tests.projects import case, failing, report_of
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
NO_XDIST = ("-p", "no:xdist")
HALF = ("--crmeval-agent", "bots:Half")
MINE = os.environ.get("PYTEST_XDIST_WORKER", "main")  # workers share a server


def played(path: Path) -> list[tuple[str, int]]:
    """Return the numbers of the trials of each case."""
    return sorted((trial["case"], trial.get("trial", 1)) for trial in report_of(path)["trials"])


def test_each_case_is_played_once_per_trial(project: Project) -> None:
    """Trials are counted, the number of cases stays the same, and there are pass@k and pass^k; the table shows both."""
    pytester = project([case("one"), failing("two")])

    result = pytester.runpytest(*HALF, "--crmeval-trials", "3", *NO_XDIST)

    result.assert_outcomes(passed=3, failed=3)
    (summary,) = report_of(pytester.path)["results"]
    assert (2, 6, 3, 3) == tuple(summary[name] for name in ("cases", "planned", "passed", "failed"))
    assert [(name, n) for name in ("one", "two") for n in (1, 2, 3)] == played(pytester.path)
    figures = summary["figures"]
    assert ("wilson (clustered)", 6, 2) == tuple(figures["pass_rate"][name] for name in ("method", "n", "units"))
    assert [0.5] * 6 == [figures[f"pass{sign}{k}"]["value"] for sign in "@^" for k in (1, 2, 3)]
    result.stdout.fnmatch_lines(["suite  subject  cases  trials *", "crm    half         2       6 *"])


def test_repeats_have_their_own_names(project: Project) -> None:
    """Even next to a case with such a name; -k finds them."""
    pytester = project([case("one"), case("one-t2")])

    result = pytester.runpytest("--collect-only", "-q", "--crmeval-trials", "2", *NO_XDIST)

    names = [line.partition("[")[2].rstrip("]") for line in result.outlines if "[" in line]
    assert ["oracle-one", "oracle-one-t2", "oracle-one~t2", "oracle-one-t2-t2"] == names


def test_resumed_run_plays_the_missing_repeats(project: Project) -> None:
    """Two were played before, and a third is requested."""
    pytester = project()
    run = ("--crmeval-run", f"more-{MINE}")
    pytester.runpytest("--crmeval-trials", "2", *run)

    result = pytester.runpytest("--crmeval-trials", "3", *run)

    assert 3 == result.parseoutcomes()["passed"]
    assert 9 == report_of(pytester.path)["results"][0]["passed"]


def test_repeats_of_a_case_are_in_one_shard(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The merged run has all of them; a shard with a different number conflicts."""
    pytester = project([case(f"case-{n}") for n in range(4)])
    for index, trials in ((1, 2), (2, 2)):
        run = ("--crmeval-run", f"s{index}-{MINE}", "--crmeval-shard", f"{index}/2", *NO_XDIST)
        pytester.runpytest("--crmeval-trials", str(trials), *run)
        cases = [name for name, _ in played(pytester.path)]
        assert all(cases.count(name) == 2 for name in cases)
    monkeypatch.chdir(pytester.path)

    assert 0 == cli.main(["merge", f"s1-{MINE}", f"s2-{MINE}", "-o", "whole"]), capsys.readouterr()

    (summary,) = report_of(pytester.path)["results"]
    assert (4, 8, 8) == (summary["cases"], summary["planned"], summary["passed"])


def test_repeats_are_recorded_and_replayed_separately(project: Project, providers: Providers) -> None:
    """Each has a transcript and a section of the cassette, also with cases in flight."""
    providers()
    pytester = project([case("one")])
    models = ("--crmeval-agent", "gpt-4.1", "--crmeval-trials", "2")
    pytester.runpytest(*models, "--crmeval-record", "tapes", "-n", "1")

    folder = pytester.path / "reports/latest/transcripts/crm/gpt-4.1"
    assert ["one.2.json", "one.json"] == sorted(path.name for path in folder.iterdir())
    tape = (pytester.path / "tapes/crm/gpt-4.1/one.jsonl").read_text(encoding="utf-8")
    assert 2 == tape.count('"cassette"')

    result = pytester.runpytest(*models, "--crmeval-replay", "tapes", *NO_XDIST)

    result.assert_outcomes(passed=2)
    trials: list[dict[str, Any]] = report_of(pytester.path)["trials"]
    assert [True, True] == [trial["bill"]["replayed"] for trial in trials]


def test_zero_trials_are_refused(project: Project) -> None:
    result = project().runpytest("--crmeval-trials", "0")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--crmeval-trials 0: must be a whole number of at least 1*"])
