"""Transcripts on disk."""

import errno
import json
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import play, play_reference
from pytest_crmeval.conversations.scorers.tool_calls import tool_calls
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.messages import Reply, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal import transcripts
from pytest_crmeval.journal.transcripts import TranscriptError
from pytest_crmeval.ports.scorer import Evidence
from tests.fakes import PaperCrm, Reciting, call, calls, conversation, planned, says, trial, turn

ROOT = Path(__file__).parents[3]
CASE = conversation(turn("Add Zoë.", call("write", name="Zoë")), turn("And again.", call("write", name="Ada")))
EXCHANGES: list[JsonObject] = [
    {"provider": "openai", "messages": [{"speaker": "user", "text": "Add Zoë."}], "key": "k1"}
]


def played() -> Transcript:
    """Return a conversation with calls, a refusal, replies, and a turn that was cut off."""
    agent = Reciting(calls(call("refuse", why=[1, {"x": None}])), says("Done."), calls(call("write", name="Ada")))
    return play(CASE, agent, PaperCrm(), max_steps=3)


def shown(transcript: Transcript, **more: Any) -> Trial:  # noqa: ANN401 (fields of a trial)
    """Return the trial of a conversation."""
    return replace(trial(planned("quote-0001", subject="gpt-4.1")), transcript=transcript, **more)


def test_transcript_reads_back_completely(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """The trial, every message, and the requests of agent and judge to models; formatted for people."""
    path = transcripts.write(tmp_path, shown(played()), exchanges=EXCHANGES, judged=EXCHANGES)

    assert tmp_path / "crm/gpt-4.1/quote-0001.json" == path
    assert snapshot == path.read_text(encoding="utf-8")


def test_transcript_is_loaded_as_it_was_played(tmp_path: Path) -> None:
    """With results, cut-off turns, and what each turn has shown."""
    transcript = played()
    path = transcripts.write(tmp_path, shown(transcript), exchanges=EXCHANGES)

    assert transcript == transcripts.load(path)
    assert [False, True] == [exchange.cut for exchange in transcript.exchanges]


def test_confidential_transcript_is_encrypted(tmp_path: Path) -> None:
    transcript = played()
    path = transcripts.write(tmp_path, shown(transcript), exchanges=EXCHANGES, judged=EXCHANGES, canary="bird")
    content = path.read_text(encoding="utf-8")

    assert transcript == transcripts.load(path)
    assert [] == [word for word in ("Zoë", "Add", "Ada", "Done", "refuse") if word in content.partition("encrypted")[0]]
    assert "Zo" not in content
    assert '"case":"quote-0001"' in content.replace(" ", "")


def test_confidential_transcript_with_another_canary_is_invalid(tmp_path: Path) -> None:
    path = transcripts.write(tmp_path, shown(played()), canary="bird")
    path.write_text(path.read_text(encoding="utf-8").replace("bird", "fish"), encoding="utf-8")

    with pytest.raises(transcripts.TranscriptError, match="not encrypted with this canary"):
        transcripts.load(path)


def test_transcript_can_be_scored_again(tmp_path: Path) -> None:
    transcript = play(CASE, Reciting(calls(call("write", name="Zoë")), says("Done.")), PaperCrm())
    loaded = transcripts.load(transcripts.write(tmp_path, shown(transcript)))

    reference = play_reference(CASE, Oracle(CASE), PaperCrm())
    before, after = (Evidence(transcript=one, after={}, reference=reference) for one in (transcript, loaded))
    assert 0.5 == tool_calls(CASE, before).value
    assert tool_calls(CASE, before) == tool_calls(CASE, after)


@pytest.mark.parametrize(
    "arguments",
    [{"name": "half \ud83d"}, {"rate": float("inf")}, {"name": "\x00\u2028"}, "{broken", {"deep": [[[{}]]]}],
)
def test_unusual_values_are_loaded_unchanged(tmp_path: Path, arguments: Any) -> None:  # noqa: ANN401 (what a model sends)
    """A model may send anything."""
    reply = Reply(text="half \ude00", calls=(ToolCall(tool="write", arguments=arguments),))
    messages = (user_says(""), agent_says(reply), crm_says([ToolResult(value=None), ToolResult(value=[1.5, True])]))
    transcript = Transcript(exchanges=(Exchange(messages=messages, output={}), Exchange(messages=())))

    assert transcript == transcripts.load(transcripts.write(tmp_path, shown(transcript)))


def test_deeply_nested_value_is_cut_off(tmp_path: Path) -> None:
    value: Any = 1
    for _ in range(50_000):
        value = [value]
    exchange = Exchange(messages=(crm_says([ToolResult(value=value)]),), output={"value": value})
    path = transcripts.write(tmp_path, shown(Transcript(exchanges=(exchange,))))

    assert b"left out" in path.read_bytes()
    assert 1 == len(transcripts.load(path).exchanges)


def test_errored_trial_has_its_exchanges_and_its_reason(tmp_path: Path) -> None:
    path = transcripts.write(tmp_path, trial("one", Verdict.ERRORED), exchanges=EXCHANGES)
    document = json.loads(path.read_text(encoding="utf-8"))

    assert [] == document["turns"]
    assert EXCHANGES == document["exchanges"]
    assert "ConnectionError: no route to model" == document["record"]["reason"]
    assert Transcript() == transcripts.load(path)


def test_transcript_contains_the_record_of_the_trial(tmp_path: Path) -> None:
    some = shown(played())
    document = json.loads(transcripts.write(tmp_path, some).read_text(encoding="utf-8"))

    assert some == Trial.from_dict(document["record"])


def test_every_trial_of_a_case_has_its_transcript(tmp_path: Path) -> None:
    paths = [transcripts.write(tmp_path, shown(played()), index=index) for index in (1, 2, 3)]

    assert ["quote-0001.json", "quote-0001.2.json", "quote-0001.3.json"] == [path.name for path in paths]
    assert [1, 2, 3] == [json.loads(path.read_text(encoding="utf-8"))["trial"] for path in paths]


def test_names_that_look_like_paths_stay_in_the_folder(tmp_path: Path) -> None:
    """A case may have any id."""
    odd = planned("../../x", suite="..", subject="a/b")
    path = transcripts.write(tmp_path / "transcripts", trial(odd))

    assert path.resolve().is_relative_to((tmp_path / "transcripts").resolve())
    assert path.exists()


def test_secrets_are_not_written(tmp_path: Path) -> None:
    leak = "the key is canary-4711"
    reply = Reply(text=leak, calls=(call("write", name=leak),))
    messages = (user_says(leak), agent_says(reply), crm_says([ToolResult(value={leak: leak})]))
    leaky = shown(Transcript(exchanges=(Exchange(messages=messages),)), reason=leak, notes=(leak,))
    path = transcripts.write(tmp_path, leaky, exchanges=[{"key": leak}], redactor=Redactor(["canary-4711"]))

    assert "canary" not in path.read_text(encoding="utf-8")
    assert "the key is [redacted]" == transcripts.load(path).exchanges[0].messages[0].text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "not a transcript"),
        ("[]", "not a transcript"),
        ("{}", "KeyError('schema')"),
        ('{"schema": "crmeval.report/1"}', "unsupported schema 'crmeval.report/1'"),
        ('{"schema": "crmeval.transcript/1"}', "KeyError('turns')"),
        ('{"schema": "crmeval.transcript/1", "turns": [{"messages": [{"speaker": "x"}]}]}', "unknown speaker 'x'"),
    ],
)
def test_invalid_transcript_is_named(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "one.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(TranscriptError) as caught:
        transcripts.load(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)


def test_missing_transcript_is_named(tmp_path: Path) -> None:
    """It must not cause a crash."""
    with pytest.raises(TranscriptError, match=r"one\.json: No such file"):
        transcripts.load(tmp_path / "one.json")


def test_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(OSError, match="file") as caught:
        transcripts.write(tmp_path / "file", shown(played()))

    assert caught.value.filename


def test_full_disk_leaves_no_partial_file(tmp_path: Path) -> None:
    """The error names the file."""
    program = f"""
import resource, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from pytest_crmeval.journal import transcripts
from tests.fakes import trial
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    transcripts.write(Path({str(tmp_path)!r}), trial())
except OSError as error:
    print(error.filename, error.errno, sep="\\n")
"""
    result = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True)

    assert [str(tmp_path / "crm/oracle/one.json"), str(errno.EFBIG)] == result.stdout.split("\n")[:2]
    assert [] == list((tmp_path / "crm/oracle").iterdir())


def test_transcript_has_the_usual_permissions(tmp_path: Path) -> None:
    """Users who share the folder can read it."""
    path = transcripts.write(tmp_path, shown(played()))
    (tmp_path / "other").touch()

    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == stat.S_IMODE(path.stat().st_mode)
