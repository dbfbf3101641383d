"""Output that the documentation shows is what the program prints."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval import cli
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.journal.progress import Progress
from pytest_crmeval.render.progress_table import sheet
from pytest_crmeval.render.terminal import RunEnd
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.gate import Gate
from pytest_crmeval.report.gating import judge
from tests.doc_examples import keep_examples
from tests.fakes import planned, share, trial

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"sh", "bash", "console", "text", "python", "javascript", "toml", "json", "yaml", "mermaid"}
ELSEWHERE = {"make", "pytest", "crmeval judge"}
"""Commands of examples that play cases: other tests run them."""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the content of each example of a page."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield each command of the console examples with the output that is shown for it."""
    for page in PAGES:
        for language, content in blocks(page):
            if language == "console":
                for example in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
                    command, *output = example.splitlines()
                    if output:
                        yield command, output


def assert_shown(example: list[str], printed: str) -> None:
    """Assert that the lines of an example were printed in this order; ``...`` stands for any number of lines."""
    rest, skips = printed.splitlines(), False
    for line in example:
        if line == "...":
            skips = True
            continue
        assert line in (rest if skips else rest[:1]), f"not printed: {line}\nbut:\n" + "\n".join(rest)
        rest, skips = rest[rest.index(line) + 1 :], False


def test_every_example_has_a_language() -> None:
    assert {
        (page.name, language) for page in PAGES for language, _ in blocks(page) if language not in LANGUAGES
    } == set()


def test_commands_print_what_their_examples_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    keep_examples(tmp_path / "reports")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\ncrmeval_gates = ["crm.pass_rate >= 0.60"]\n')
    found = [(command, output) for command, output in commands() if not command.startswith(tuple(ELSEWHERE))]
    for command, output in sorted(found):  # gate, list and report before merge, which adds a run
        words = shlex.split(command, comments=True)
        assert words.pop(0) == "crmeval", command
        assert cli.main(words) == 0
        assert_shown(output, capsys.readouterr().out)
    assert len(found) > 5


def test_page_on_status_shows_tables_as_they_are_printed() -> None:
    gpt = Progress(suite="crm", subject="gpt-4.1", total=1200, passed=98, failed=34, pass_rate=share(98, 34))
    gpt = replace(gpt, calls=900, tokens_in=1_234_567, tokens_out=43_210, cost=1.324, rate=24.3, eta=2640.0)
    claude = Progress(suite="crm", subject="claude", total=1200, passed=90, failed=6, pass_rate=share(90, 6))
    claude = replace(claude, calls=700, retries=2, tokens_in=981_000, tokens_out=51_000, cost=3.71, rate=17, eta=3780.0)
    whole = Progress(total=2400, passed=188, failed=40, calls=1600, retries=2, rate=41, eta=3120.0)
    whole = replace(whole, tokens_in=2_215_567, tokens_out=94_210, cost=5.034)
    page = (ROOT / "docs" / "status.md").read_text(encoding="utf-8")
    assert "\n".join(sheet([gpt, claude], whole, None).lines()) in page

    gpt, claude, whole = (replace(row, in_flight=count) for row, count in ((gpt, 8), (claude, 8), (whole, 16)))
    assert "\n".join(sheet([gpt, claude], whole, 80).lines()) in page


def test_page_on_reports_shows_the_summary_as_it_is_printed() -> None:
    clients, deals = "clients: missing: name='Ada Ltd'", "opportunities: missing: name='Ovens'"
    reasons = {**{f"client-{n:02d}": clients for n in range(3, 10)}, **{f"deal-{n:02d}": deals for n in range(12, 16)}}
    trials = [trial(planned(f"note-{n:02d}", subject="mine")) for n in range(8)]
    for case, reason in reasons.items():
        failed = trial(planned(case, subject="mine"), Verdict.FAILED)
        trials.append(replace(failed, scores=(Score(name="state", value=0.0, reason=reason),)))
    trials += [trial(planned(each.planned.case)) for each in trials]
    report = reports.build({"id": "x"}, {each.planned.key: each for each in trials}, [])
    report = replace(report, rulings=judge([Gate.parse("crm[mine].pass_rate >= 0.60")], report))
    places = [
        f"{name} reports/20261118-062041-4a74.{kind}" for name, kind in (("report:", "json"), ("page:  ", "html"))
    ]
    printed = "\n".join(RunEnd(report=report, places=places).lines(80, None))
    assert printed in (ROOT / "docs" / "reference" / "reports.md").read_text(encoding="utf-8"), printed


@pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
def test_page_on_checkpoints_shows_what_crmeval_judge_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["init", "."]) == 0
    ((command, output),) = [each for each in commands() if each[0].startswith("crmeval judge")]
    judge_command = [sys.executable, "-m", "pytest_crmeval.cli", *shlex.split(command)[1:]]
    done = subprocess.run(judge_command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert_shown(output, done.stdout)
