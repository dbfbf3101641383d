"""A run writes a page next to its report."""

import json
import re
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from zlib import decompress

import pytest

from pytest_crmeval import cli
from tests.projects import case, failing

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
SHOWN = "crmeval_page = true"
PACK = re.compile(r'<script type="text/plain" id="pack-\d+">(.*?)</script>')
CLOSED = """
import pytest

@pytest.mark.questions("q.jsonl", suite="secret", confidential=True)
def test_question(question, evaluate):
    trial = evaluate(question)
    assert trial.passed, trial.explain()
"""
DATA = re.compile(r'<script type="application/json" id="trials-data">(.*?)</script>', re.DOTALL)


def test_run_writes_a_page(project: Project) -> None:
    pytester = project([case("one"), failing("two")], ini=f"{SHOWN}\ncrmeval_gates = crm.pass_rate >= 0.40")
    result = pytester.runpytest("--crmeval-run", "mine", "--crmeval-agent", "bots:Half")
    page = Path(pytester.path, "reports", "latest.html").read_text(encoding="utf-8")
    found = DATA.search(page)
    assert found
    rows = json.loads(found[1])["rows"]

    result.stdout.fnmatch_lines(["report: reports/mine.json", "page: * reports/mine.html"])
    assert ["one", "two"] == sorted(row[0] for row in rows)
    assert "crm.pass_rate &gt;= 0.40" in page
    assert "mine.html" == Path(pytester.path, "reports", "latest.html").readlink().name


def test_page_can_be_turned_off(project: Project) -> None:
    """The report is written as usual."""
    pytester = project(ini="crmeval_page = false")
    result = pytester.runpytest("--crmeval-run", "mine")

    result.stdout.no_fnmatch_line("page:*")
    assert ["latest.json", "mine.json"] == sorted(path.name for path in Path(pytester.path, "reports").glob("*.*"))


def test_unwritable_page_is_reported_and_affects_nothing_else(project: Project) -> None:
    """The exit status of the run does not change."""
    pytester = project(ini=SHOWN)
    Path(pytester.path, "reports", "mine.html").mkdir(parents=True)
    result = pytester.runpytest("--crmeval-run", "mine")

    result.stdout.fnmatch_lines(["report: reports/mine.json", "the page could not be written: *mine.html*"])
    assert pytest.ExitCode.OK == result.ret


def test_page_of_a_stored_run_is_the_same(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester = project(ini=SHOWN)
    pytester.runpytest("--crmeval-run", "mine")
    page = Path(pytester.path, "reports", "mine.html")
    written = page.read_text(encoding="utf-8")
    page.unlink()
    monkeypatch.chdir(pytester.path)

    assert 0 == cli.main(["report", "mine", "--html"])
    assert written == page.read_text(encoding="utf-8")


def test_page_of_a_confidential_suite_has_no_dialogues(project: Project) -> None:
    """Neither in plain text nor compressed; the trial is listed, and says why its dialogue is missing."""
    pytester = project(test=CLOSED, ini=SHOWN)
    question = {"id": "one", "question": "zebrafinch asked", "answer": "zebrafinch right", "grader": "exact"}
    Path(pytester.path, "q.jsonl").write_text(json.dumps(question) + "\n")
    pytester.runpytest("--crmeval-run", "mine", "--crmeval-agent", "oracle", "--crmeval-agent", "mute")
    page = Path(pytester.path, "reports", "mine.html").read_text(encoding="utf-8")
    packs = [decompress(b64decode(content)).decode() for content in PACK.findall(page)]

    assert [2] == [pack.count('"closed":true') for pack in packs]
    assert "zebrafinch" not in "".join([page, *packs])
