"""Journals and transcripts that cannot be written: paid trials are not lost, and the error is shown."""

from collections.abc import Callable

import pytest

from tests.fake_sandbox import Made, solution
from tests.projects import case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]

AFTER_TWO = """
import pathlib, shutil

played = []

def pytest_crmeval_trial_finished(config, trial):
    played.append(trial)
    if len(played) == 2:
        {what}
"""


@pytest.mark.parametrize(
    "what",
    [
        'shutil.rmtree("reports", ignore_errors=True)',
        'next(pathlib.Path("reports").glob("gone/trials.jsonl")).unlink()',
        'path = pathlib.Path("reports/gone/trials.jsonl"); path.rename("elsewhere"); shutil.copy("elsewhere", path)',
    ],
    ids=["folder removed", "file removed", "file replaced"],
)
def test_run_stops_when_its_journal_is_removed_or_replaced(project: Project, what: str) -> None:
    """The next trial notices; without a journal, resuming would pay for everything again."""
    pytester = project([case(f"case-{number}") for number in range(8)])
    pytester.makeconftest(AFTER_TWO.format(what=what))

    result = pytester.runpytest_subprocess("--crmeval-run", "gone", "-n", "1")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "trials.jsonl was removed or replaced during the run" in result.stdout.str()
    report = report_of(pytester.path)
    assert not report["complete"]
    assert 2 <= len(report["trials"]) < 8


def test_journal_that_is_removed_after_the_last_trial_is_noticed(project: Project) -> None:
    """No trial follows, and resuming would pay for everything again."""
    pytester = project([case("one"), case("two")])
    pytester.makeconftest(AFTER_TWO.format(what='shutil.rmtree("reports", ignore_errors=True)'))

    result = pytester.runpytest_subprocess("--crmeval-run", "gone", "-p", "no:xdist")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "trials.jsonl was removed or replaced during the run" in result.stdout.str()
    assert 2 == len(report_of(pytester.path)["trials"])


@pytest.mark.parametrize(
    ("what", "output"),
    [
        ('shutil.rmtree("reports", ignore_errors=True)', "trials.jsonl was removed or replaced during the run"),
        ('pathlib.Path("reports/gone/trials.jsonl").write_text("moths\\n")', "trials.jsonl:1: not a line of a journal"),
    ],
    ids=["removed", "spoilt"],
)
def test_summary_appears_after_ctrl_c_although_the_journal_is_lost(project: Project, what: str, output: str) -> None:
    """With the finished trials, and the reason why the run can't be resumed."""
    pytester = project([case(f"case-{number}") for number in range(4)])
    pytester.makeconftest(AFTER_TWO.format(what=f"{what}; raise KeyboardInterrupt"))

    result = pytester.runpytest_subprocess("--crmeval-run", "gone", "-p", "no:xdist")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["*= crmeval =*", f"crmeval: *{output}*", "report: *"])
    assert 2 == len(report_of(pytester.path)["trials"])


def test_trial_is_recorded_without_its_transcript_if_that_cannot_be_written(project: Project) -> None:
    """A file is in the place of the folder: the trials count, and the summary says what is missing."""
    pytester = project([case("one"), case("two")])
    folder = pytester.path / "reports" / "no-room"
    folder.mkdir(parents=True)
    (folder / "transcripts").write_text("in the way")

    result = pytester.runpytest("--crmeval-run", "no-room")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["note: oracle: transcript not written: *transcripts: * (2 trials)"])
    report = report_of(pytester.path)
    assert 2 == report["results"][0]["passed"]
    assert report["complete"]


def test_full_disk_is_named_instead_of_the_solution_file(judging: Made) -> None:
    """Results are written to /dev/full."""
    pytester = judging({"checkpoint-49/s": [solution("a")]})
    results = pytester.path / "reports" / "full" / "eval_checkpoint_49" / "eval_s.jsonl.part"
    results.parent.mkdir(parents=True)
    results.symlink_to("/dev/full")

    pytester.runpytest("-p", "no:xdist", "--crmeval-run", "full").assert_outcomes(failed=1)

    (trial,) = report_of(pytester.path)["trials"]
    assert "errored" == trial["verdict"]
    assert trial["reason"].endswith("eval_checkpoint_49/eval_s.jsonl: No space left on device")


@pytest.mark.parametrize("options", [("-n", "1"), ("-p", "no:xdist")], ids=" ".join)
def test_trial_that_cannot_be_recorded_ends_the_run_with_its_reason(project: Project, options: tuple[str, ...]) -> None:
    pytester = project([case("one"), case("two")])
    pytester.makeconftest(
        """
        import pytest
        from pytest_crmeval import Score

        @pytest.fixture
        def scorers():
            return [lambda case, evidence: Score(name="odd", value=1.0, threshold=float("-inf"))]
        """
    )

    result = pytester.runpytest_subprocess(*options)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "[oracle-one] can't be recorded: " in result.stdout.str() + result.stderr.str()
