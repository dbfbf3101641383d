"""A run is recorded once, and replayed without network or key."""

import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval import ToolCall
from tests.projects import case, failing, report_of
from tests.providers.answers import Call, Status
from tests.providers.loopback import Loopback, chatty_brain, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
OPINION = Call(ToolCall(tool="check", arguments={"statements": [{"id": "s1", "reason": "Fine.", "answer": "true"}]}))
AGENTS = ("--crmeval-agent", "claude", "--crmeval-agent", "gpt-4.1")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[Loopback], None]:
    """Return a function that removes keys and server."""

    def cut(server: Loopback) -> None:
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.delenv(name)
        server.seen.clear()

    return cut


def verdicts(path: Path) -> list[tuple[str, str, str]]:
    """Return subject, case and verdict of every trial."""
    trials: list[dict[str, Any]] = report_of(path)["trials"]
    return [(trial["subject"], trial["case"], trial["verdict"]) for trial in trials]


@WAYS
def test_recorded_run_is_replayed_with_the_same_verdicts(
    project: Project, providers: Providers, offline: Callable[[Loopback], None], xdist: list[str]
) -> None:
    """Without requests or a key; the report says that it was replayed."""
    server = providers()
    pytester = project([case("one"), failing("two")])
    pytester.runpytest(*AGENTS, "--crmeval-record", "tapes", *xdist)
    recorded = verdicts(pytester.path)
    offline(server)

    pytester.runpytest(*AGENTS, "--crmeval-replay", "tapes", *xdist)

    assert 4 == len(recorded)
    assert recorded == verdicts(pytester.path)
    assert [] == server.seen
    assert [True] * 4 == [trial["bill"]["replayed"] for trial in report_of(pytester.path)["trials"]]
    assert 0 == report_of(pytester.path)["run"]["spent"]


def test_recording_twice_writes_the_same_bytes(project: Project, providers: Providers) -> None:
    """The files are meant to be committed."""
    providers()
    pytester = project([case("one"), case("two")])
    pytester.runpytest(*AGENTS, "--crmeval-record", "first")
    pytester.runpytest(*AGENTS, "--crmeval-record", "second", "-n", "2")

    assert _files(pytester.path / "first") == _files(pytester.path / "second")
    assert {"crm/claude/one.jsonl", "crm/gpt-4.1/two.jsonl"} < set(_files(pytester.path / "first"))


def test_missing_request_errors_the_trial_and_shows_the_difference(project: Project, providers: Providers) -> None:
    """The conversation has changed; the others are replayed."""
    providers()
    pytester = project([case("one"), case("two")])
    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")
    changed = case("one")
    changed["turns"][0]["user_utterance"] = "Add Ada Ltd, ada@ada.example, active. Thanks!"
    project([changed, case("two")])

    result = pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-replay", "tapes")

    one, two = report_of(pytester.path)["trials"]
    assert ("errored", "passed") == (one["verdict"], two["verdict"])
    assert "Thanks!" in one["reason"]
    assert "--crmeval-record" in one["reason"]
    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_transcripts_of_a_run_can_be_replayed(project: Project, providers: Providers) -> None:
    """They are complete: every turn, every exchange."""
    server = providers()
    pytester = project([case("one"), failing("two")])
    pytester.runpytest("--crmeval-agent", "claude", "--crmeval-run", "live")
    recorded = verdicts(pytester.path)
    server.seen.clear()

    pytester.runpytest("--crmeval-agent", "claude", "--crmeval-replay", "reports/live/transcripts")

    assert recorded == verdicts(pytester.path)
    assert [] == server.seen


def test_every_trial_has_a_transcript(project: Project) -> None:
    pytester = project([case("one")])

    pytester.runpytest("--crmeval-run", "mine")

    path = pytester.path / "reports/mine/transcripts/crm/oracle/one.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert "passed" == document["record"]["verdict"]
    assert "Add Ada Ltd, ada@ada.example, active." == document["turns"][0]["messages"][0]["text"]


def test_incomplete_recording_does_not_replace_a_complete_one(project: Project, providers: Providers) -> None:
    """An interrupted trial has a transcript, but no cassette."""
    providers()
    pytester = project([case("one")])
    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")
    before = _files(pytester.path / "tapes")
    providers(lambda seen: Status(400, "no more") if seen.results else crm_brain(seen))

    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")

    assert "errored" == report_of(pytester.path)["trials"][0]["verdict"]
    assert before == _files(pytester.path / "tapes")


def test_transcript_of_an_errored_trial_has_the_messages_so_far(project: Project, providers: Providers) -> None:
    """The interrupted trial is the one to be investigated."""
    providers(lambda seen: Status(400, "no more") if seen.results else crm_brain(seen))
    pytester = project([case("one")])

    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-run", "mine")

    path = pytester.path / "reports/mine/transcripts/crm/gpt-4.1/one.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    (turn,) = document["turns"]
    assert "errored" == document["record"]["verdict"]
    assert ["user", "agent", "crm"] == [message["speaker"] for message in turn["messages"]]
    assert 1 == len(document["exchanges"])


TWO_TESTS = """
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    assert evaluate(conversation).passed

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_again(conversation, evaluate):
    assert evaluate(conversation).passed
"""


def test_two_tests_of_the_same_case_have_their_own_files(project: Project, providers: Providers) -> None:
    server = providers()
    pytester = project([case("one")], test=TWO_TESTS)
    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes", "--crmeval-run", "mine")
    server.seen.clear()

    result = pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-replay", "tapes")

    result.assert_outcomes(passed=2)
    assert [] == server.seen
    assert 2 == len(list((pytester.path / "tapes/crm/gpt-4.1").glob("one*.jsonl")))
    assert 2 == len(list((pytester.path / "reports/mine/transcripts/crm/gpt-4.1").glob("one*.json")))


OWN, SHARED = "test_crm.py::test_again", "test_crm.py"


@pytest.mark.parametrize(("recorded", "replays"), [(SHARED, [OWN]), (OWN, [SHARED, OWN])], ids=["all", "one"])
def test_test_finds_its_files_whatever_else_is_collected(
    project: Project, providers: Providers, recorded: str, replays: Sequence[str]
) -> None:
    """All tests were recorded and one is replayed, or one was recorded and all are replayed."""
    server = providers()
    pytester = project([case("one")], test=TWO_TESTS)
    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes", "--crmeval-run", "mine", recorded)
    server.seen.clear()

    for source, replayed in product(["tapes", "reports/mine/transcripts"], replays):
        result = pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-replay", source, replayed)

        result.assert_outcomes(passed=1 if replayed == OWN else 2)
        assert [] == server.seen


def test_test_that_is_recorded_again_keeps_its_file(project: Project, providers: Providers) -> None:
    """Otherwise the old recording would be replayed with all tests, and the new one with this test."""
    providers()
    pytester = project([case("one")], test=TWO_TESTS)
    recording = ("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")
    pytester.runpytest(*recording)
    before = _files(pytester.path / "tapes")

    pytester.runpytest(*recording, OWN)

    assert before == _files(pytester.path / "tapes")


def test_parts_that_no_agent_sees_can_be_changed_without_recording_again(
    project: Project, providers: Providers
) -> None:
    """A tag, a category, the answer key: the dialogue and the ids in it are the same."""
    providers()
    pytester = project([case("one")])
    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")
    project([case("one", tags=["mended"], workflow_category="Other")])

    result = pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-replay", "tapes")

    result.assert_outcomes(passed=1)


def test_trial_without_a_recording_is_marked_as_replayed(project: Project, providers: Providers) -> None:
    """It was not played live."""
    providers()
    pytester = project([case("one")])
    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")
    project([case("two")])

    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-replay", "tapes")

    (trial,) = report_of(pytester.path)["trials"]
    assert ("errored", True) == (trial["verdict"], trial["bill"]["replayed"])


def test_cassette_of_another_agent_name_is_reported(project: Project, providers: Providers) -> None:
    """The folder is named after the agent's spec."""
    providers()
    pytester = project([case("one")])
    pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")

    pytester.runpytest("--crmeval-agent", "openai:gpt-4.1", "--crmeval-replay", "tapes")

    reason = report_of(pytester.path)["trials"][0]["reason"]
    assert "recorded there for this case: gpt-4.1" in reason


def test_cassette_that_cannot_be_written_stops_the_run(project: Project, providers: Providers) -> None:
    """The trial is errored, its transcript exists, and nothing more is paid for."""
    server = providers()
    pytester = project([case("one"), case("two"), case("three")])
    Path(pytester.path, "tapes").mkdir()
    Path(pytester.path, "tapes", "crm").write_text("a file where a folder should be")

    one_at_a_time = ("--crmeval-agent", "gpt-4.1", "--crmeval-inflight", "1")
    result = pytester.runpytest(*one_at_a_time, "--crmeval-record", "tapes", "--crmeval-run", "mine")

    (summary,) = report_of(pytester.path)["results"]
    assert (1, 2) == (summary["errored"], summary["not_run"])
    assert 2 == len(server.seen)
    assert (pytester.path / "reports/mine/transcripts/crm/gpt-4.1/one.json").exists()
    result.stdout.fnmatch_lines(["the run was stopped: *tapes/crm*"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize("broken", ["one.jsonl", "one.judge.jsonl"])
def test_nothing_is_paid_for_if_it_cannot_be_recorded(project: Project, providers: Providers, broken: str) -> None:
    """A cassette of the agent or of the judge has a merge conflict; the others are recorded."""
    server = providers(lambda seen: OPINION if seen.model == "judge" else chatty_brain(seen))
    pytester = project([case("one"), case("two")])
    recording = ("--crmeval-agent", "gpt-4.1", "--crmeval-judge", "openai:judge?samples=1", "--crmeval-record", "tapes")
    pytester.runpytest(*recording)
    Path(pytester.path, "tapes/crm/gpt-4.1", broken).write_text("<<<<<<< HEAD\n")
    server.seen.clear()

    pytester.runpytest(*recording)

    one, two = report_of(pytester.path)["trials"]
    assert ("errored", "passed") == (one["verdict"], two["verdict"])
    assert one["reason"].startswith("can't be recorded: ")
    assert f"{broken}:1: not an exchange" in one["reason"]
    assert 3 == len(server.seen)


def test_invalid_folder_for_recording_is_refused(project: Project, providers: Providers) -> None:
    providers()
    pytester = project([case("one")])
    Path(pytester.path, "tapes").write_text("a file, not a folder")

    result = pytester.runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-record", "tapes")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--crmeval-record tapes: *tapes is not a writable folder*"])


def test_missing_folder_for_replay_is_refused(project: Project) -> None:
    result = project().runpytest("--crmeval-agent", "gpt-4.1", "--crmeval-replay", "nowhere")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--crmeval-replay nowhere: the folder does not exist; --crmeval-record creates one*"])


def test_recording_and_replaying_at_once_is_refused(project: Project) -> None:
    result = project().runpytest("--crmeval-record", "a", "--crmeval-replay", "b")

    assert pytest.ExitCode.USAGE_ERROR == result.ret


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
