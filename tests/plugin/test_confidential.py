"""Nothing of a confidential suite remains in plain text: not on disk, not in the terminal."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_crmeval import ToolCall
from pytest_crmeval.journal.transcripts import load
from pytest_crmeval.player.trial_record import WITHHELD
from tests.projects import report_of
from tests.providers.answers import Answer, Call, Say, Status
from tests.providers.loopback import Loopback, Seen
from tests.questions import browsecomp, lines, record

Providers = Callable[..., Loopback]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
M = ("--crmeval-agent", "openai:m?retries=0")
JUDGE = ("--crmeval-judge", "openai:judge?samples=1&retries=0")
ASKED, RIGHT, SAID, THOUGHT = "zebrafinch asked", "zebrafinch right", "zebrafinch said", "zebrafinch thought"
TRACE = "zebrafinch"
"""Is part of everything that must not be visible."""
TEST = """
import logging
import sys
import pytest

@pytest.mark.questions("q.csv", suite="secret", confidential=True)
def test_question(question, evaluate, record_property):
    record_property("asked", question.text)
    print(question.text)
    print(question.answer, file=sys.stderr)
    logging.getLogger("mine").warning("asked: %s", question.text)
    trial = evaluate(question)
    assert trial.passed, trial.explain()
"""
QUOTING = """
import pytest

pytestmark = pytest.mark.questions("q.jsonl", confidential=True)

def test_asserting(question, evaluate):
    evaluate(question)
    assert "nothing" in question.text

def test_choosing(question, record_property):
    record_property("choices", question.choices)
    assert question.choices == []

def test_misusing(question, evaluate):
    evaluate(question.text)

def test_skipping(question):
    pytest.skip(question.text[:20])

@pytest.mark.skip("not today")
def test_skipped(question):
    pass

@pytest.mark.xfail
def test_expected(question):
    assert "nothing" in question.text

def test_expecting(question):
    pytest.xfail(question.text[:20])

def test_marking(question, request):
    request.applymarker(pytest.mark.xfail(reason=question.text[:20]))
"""
BOTS = f"""
import logging
import pytest
from pytest_crmeval import Reply

class Wrong:
    name = "wrong"

    def reply(self, messages, tools):
        print("{SAID}", messages[-1].text)
        logging.getLogger("bot").error(messages[-1].text)
        return Reply(text="Exact Answer: {SAID}")

class Broken:
    name = "broken"

    def reply(self, messages, tools):
        raise ValueError("{SAID}: " + messages[-1].text)

class Raising:
    def __init__(self, raised):
        self.name = raised.__name__
        self._raised = raised

    def reply(self, messages, tools):
        raise self._raised("{SAID}: " + messages[-1].text)

failing, skipping = Raising(pytest.fail.Exception), Raising(pytest.skip.Exception)
"""
SCORERS = """
import pytest
from pytest_crmeval import Score

@pytest.fixture
def scorers():
    return [wordy]

def wordy(question, evidence):
    return Score(name="wordy", value=0.0, reason=f"{question.text}: {evidence.transcript.exchanges[0].reply}")
"""


@pytest.fixture
def secret(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, without_strangers: Callable[..., None]
) -> pytest.Pytester:
    """Make a project of encrypted questions, without a server."""
    without_strangers()
    monkeypatch.setenv("CRMEVAL_DSN", "host=127.0.0.1 port=1 connect_timeout=1")
    Path(pytester.path, "q.csv").write_text(browsecomp((f"{ASKED}?", RIGHT), (f"{ASKED} again?\nYes.", RIGHT)))
    pytester.makepyfile(test_q=TEST)
    pytester.makeini("[pytest]\npythonpath = .\nfilterwarnings = error\njunit_family = xunit1")
    return pytester


@pytest.fixture
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create agents that say what must not be visible, outside of the searched project."""
    (tmp_path / "secretbots.py").write_text(BOTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def leaks(pytester: pytest.Pytester, result: pytest.RunResult) -> Iterator[str]:
    """Yield every place where something was found; all files of the project are searched."""
    for number, line in enumerate([*result.outlines, *result.errlines]):
        if TRACE in line:
            yield f"terminal:{number}: {line}"
    for path in Path(pytester.path).rglob("*"):
        if path.is_file() and TRACE.encode() in path.read_bytes():
            yield str(path)


def brain(seen: Seen) -> Answer:
    """Answer the first question wrongly, the second correctly in other words; and judge."""
    if "<evidence>" in seen.last_user_text:
        found = {
            "extracted_answer": SAID,
            "reasoning": THOUGHT,
            "correct": "yes" if "again" in str(seen.body) else "no",
        }
        return Call(ToolCall(tool="grade", arguments=found))
    return Say(f"Explanation: {SAID}\nExact Answer: {SAID}\nConfidence: 70%")


def test_search_finds_text_of_other_suites(pytester: pytest.Pytester, providers: Providers) -> None:
    """Text of a suite that is not confidential is found; otherwise the other tests would prove nothing."""
    providers(brain)
    Path(pytester.path, "q.csv").write_text(lines(record("one", question=ASKED, answer=RIGHT, grader="judge")))
    Path(pytester.path, "q.csv").rename(Path(pytester.path, "q.jsonl"))
    pytester.makepyfile(test_q=TEST.replace("q.csv", "q.jsonl").replace(", confidential=True", ""))
    pytester.makeini("[pytest]\njunit_family = xunit1")

    result = pytester.runpytest(*M, *JUDGE, "-p", "no:xdist", "--junitxml", "junit.xml")

    found = "\n".join(leaks(pytester, result))
    assert all(name in found for name in ("terminal:", "trials.jsonl", "latest.json", "transcripts", "junit.xml"))
    assert "judgements" in found


@WAYS
def test_model_and_judge_leave_no_trace(secret: pytest.Pytester, providers: Providers, xdist: list[str]) -> None:
    """In journal, report, transcripts, the judge's cache, JUnit XML and the terminal, for passed and failed trials."""
    providers(brain)

    result = secret.runpytest(*M, *JUDGE, *xdist, "--junitxml", "junit.xml", "-rA", "-v")

    result.assert_outcomes(passed=1, failed=1)
    assert [] == list(leaks(secret, result))
    (summary,) = report_of(secret.path)["results"]
    assert (0.5, 0.2) == (summary["metrics"]["correct"], summary["metrics"]["calibration_error"])


@pytest.mark.usefixtures("bots")
def test_agent_that_prints_leaves_no_trace(secret: pytest.Pytester, providers: Providers) -> None:
    """What it prints or logs is withheld, even if locals are shown."""
    providers(brain)

    result = secret.runpytest("--crmeval-agent", "secretbots:Wrong", *JUDGE, "--junitxml", "junit.xml", "-rA", "-l")

    result.assert_outcomes(passed=1, failed=1)
    assert [] == list(leaks(secret, result))


@pytest.mark.usefixtures("bots")
def test_exception_of_an_agent_is_reported_without_its_message(secret: pytest.Pytester, providers: Providers) -> None:
    """Only its type and location."""
    providers(brain)

    result = secret.runpytest("--crmeval-agent", "secretbots:Broken", *JUDGE, "--junitxml", "junit.xml", "-rA", "-l")

    result.stdout.fnmatch_lines(["*errored: ValueError in secretbots.py:1? (details withheld: *confidential)*"])
    assert {"errored"} == {trial["verdict"] for trial in report_of(secret.path)["trials"]}
    assert [] == list(leaks(secret, result))


@pytest.mark.usefixtures("bots")
@pytest.mark.parametrize(("bot", "verdicts"), [("failing", {"errored"}), ("skipping", set())])
def test_exception_that_ends_a_prefetched_test_is_withheld(
    secret: pytest.Pytester, providers: Providers, bot: str, verdicts: set[str]
) -> None:
    """Even one that pytest does not report as an error: the journal does not contain it."""
    providers(brain)
    ahead = ("--crmeval-agent", f"secretbots:{bot}", "--crmeval-inflight", "2", "-p", "no:xdist")

    result = secret.runpytest(*ahead, *JUDGE, "--junitxml", "junit.xml", "-rA")

    assert WITHHELD in result.stdout.str()
    assert verdicts == {trial["verdict"] for trial in report_of(secret.path)["trials"]}
    assert [] == list(leaks(secret, result))


def test_reasons_of_custom_scorers_are_withheld(secret: pytest.Pytester) -> None:
    """Their scores are not."""
    secret.makeconftest(SCORERS)

    result = secret.runpytest("-p", "no:xdist", "-rA")

    scores = [score for trial in report_of(secret.path)["trials"] for score in trial["scores"]]
    assert [("wordy", 0.0)] * 2 == [(score["name"], score["value"]) for score in scores]
    assert [] == list(leaks(secret, result))


def test_server_that_repeats_the_question_leaves_no_trace(secret: pytest.Pytester, providers: Providers) -> None:
    providers(lambda seen: Status(400, f"I was asked {seen.last_user_text}"))

    result = secret.runpytest(*M, *JUDGE, "-rA")

    result.stdout.fnmatch_lines(["*errored: bad request (details withheld: the suite is confidential)*"])
    assert [] == list(leaks(secret, result))


def test_test_that_quotes_its_question_is_withheld(secret: pytest.Pytester) -> None:
    secret.makepyfile(test_q=TEST.replace("assert trial.passed", "assert not trial.passed, question.text; assert 1"))

    result = secret.runpytest("-rA")

    result.assert_outcomes(failed=2)
    assert [] == list(leaks(secret, result))


def test_test_that_quotes_a_part_of_its_question_is_withheld(secret: pytest.Pytester, tmp_path: Path) -> None:
    long = f"{TRACE} {'and so on ' * 100} {TRACE}"
    asked = record("one", question=long, grader="choice", choices=[f"{TRACE} a", f"{TRACE} b"], answer="A")
    (tmp_path / "q.jsonl").write_text(lines(asked))
    secret.makepyfile(test_q=QUOTING.replace("q.jsonl", str(tmp_path / "q.jsonl")))

    result = secret.runpytest("-p", "no:xdist", "-rA", "-l", "--xfail-tb", "--junitxml", "junit.xml")

    result.assert_outcomes(failed=3, skipped=2, xfailed=2, xpassed=1)
    result.stdout.fnmatch_lines(
        [
            f"AssertionError in test_q.py:* ({WITHHELD})",
            "oracle passed one (q, * s): answer 1.000",
            "*: evaluate takes the question of this test",
            f"SKIPPED * Skipped ({WITHHELD})",
            "SKIPPED * not today",
        ]
    )
    assert [] == list(leaks(secret, result))


def test_transcript_can_be_decrypted_on_purpose(secret: pytest.Pytester, providers: Providers) -> None:
    """It is encrypted like the questions, with its canary next to it."""
    providers(brain)
    secret.runpytest(*M, *JUDGE, "--crmeval-run", "r")

    (path,) = Path(secret.path, "reports", "r", "transcripts", "secret").rglob("browsecomp-0001.json")
    asked, answered = load(path).exchanges[0].messages

    assert {"$schema", "schema", "suite", "subject", "case", "trial", "canary", "encrypted"} == set(
        json.loads(path.read_bytes())
    )
    assert (True, True) == (ASKED in asked.text, SAID in answered.text)


@pytest.mark.parametrize("option", ["--crmeval-record", "--crmeval-replay"])
def test_confidential_suite_is_not_recorded(secret: pytest.Pytester, providers: Providers, option: str) -> None:
    server = providers(brain)

    result = secret.runpytest(*M, *JUDGE, option, ".")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*none of 2 cases can be played: the suite is confidential, and cassettes are plain*"])
    assert not server.seen
