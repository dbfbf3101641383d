"""Cassettes: what was asked of models is written to disk."""

import errno
import json
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.messages import Reply, ToolCall, agent_says, user_says
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models import cassettes
from pytest_crmeval.models.cassettes import CassetteError
from pytest_crmeval.ports.chat_model import ModelCall
from tests.fakes import call, calls, says
from tests.unit.models.recordings import ASKED, FILE, LOOKED, PURPOSE, TWO_STEPS, asking, meter

ROOT = Path(__file__).parents[3]


def lines(path: Path) -> list[dict[str, Any]]:
    """Return what is in a cassette, read as anybody would."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_cassette_can_be_read_by_people(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """One line per exchange, with what was added to the one before; nothing that is another at another time."""
    cassettes.write(tmp_path, meter(*TWO_STEPS))

    assert snapshot == (tmp_path / FILE).read_text(encoding="utf-8")


def test_system_prompt_and_tools_are_stored_once(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """System prompt and tools, line by line."""
    cassettes.write(tmp_path, meter(*TWO_STEPS))

    [path] = (tmp_path / "prompts").iterdir()
    assert {path.stem} == {line["prompt"] for line in lines(tmp_path / FILE)[1:]}
    assert snapshot == path.read_text(encoding="utf-8")


def test_the_same_exchanges_are_the_same_bytes(tmp_path: Path) -> None:
    """Whenever, wherever, however long they took and however often they had to be tried."""
    weather = Usage(input=900, cached=100, output=20, calls=1)
    again = [replace(one, seconds=9.0, completion=replace(one.completion, usage=weather)) for one in TWO_STEPS]
    cassettes.write(tmp_path / "one", meter(*TWO_STEPS))
    cassettes.write(tmp_path / "other", meter(*again))

    assert (tmp_path / "one" / FILE).read_bytes() == (tmp_path / "other" / FILE).read_bytes()


def test_request_that_does_not_continue_the_previous_one_is_stored_completely(tmp_path: Path) -> None:
    """A second model may be asked something else in between."""
    other = asking(user_says("Rate this."), reply=says("Good."))
    cassettes.write(tmp_path, meter(TWO_STEPS[0], other, other))

    found = [sorted({"added", "messages"} & set(line)) for line in lines(tmp_path / FILE)[1:]]
    assert [["messages"], ["messages"], ["added"]] == found
    assert [] == lines(tmp_path / FILE)[3]["added"]


def test_requests_of_a_judge_have_a_cassette_of_their_own(tmp_path: Path) -> None:
    cassettes.write(tmp_path, meter(TWO_STEPS[0], purpose=replace(PURPOSE, role="judge")))

    assert ["quote-0001.judge.jsonl"] == [path.name for path in (tmp_path / "crm/gpt-4.1").iterdir()]


def test_a_tool_that_must_be_called_is_part_of_the_request(tmp_path: Path) -> None:
    """And of the key."""
    free, bound = asking(ASKED, reply=LOOKED), asking(ASKED, reply=LOOKED, must_call="search")
    cassettes.write(tmp_path, meter(free, bound))

    _, one, other = lines(tmp_path / FILE)
    keys = {exchange.key for exchange in cassettes.read(tmp_path / FILE)[1]}
    assert ("search", False) == (other["must_call"], "must_call" in one)
    assert 2 == len(keys)


def test_a_change_is_a_change_of_one_line(tmp_path: Path) -> None:
    """Those who review it see nothing else."""
    first, second = TWO_STEPS
    other = user_says("Who is Zoe?")
    changed = [asking(other, reply=LOOKED), asking(other, *second.prompt.messages[1:], reply=second.completion.reply)]
    cassettes.write(tmp_path / "before", meter(first, second))
    cassettes.write(tmp_path / "after", meter(*changed))

    pairs = zip(lines(tmp_path / "before" / FILE), lines(tmp_path / "after" / FILE), strict=True)
    assert [True, False, True] == [before == after for before, after in pairs]


def test_trials_of_a_case_live_together(tmp_path: Path) -> None:
    """Each is replaced alone, in the order of their numbers."""
    second = replace(PURPOSE, trial=2)
    cassettes.write(tmp_path, meter(*TWO_STEPS, purpose=second))
    cassettes.write(tmp_path, meter(*TWO_STEPS))
    before = cassettes.read(tmp_path / FILE)
    cassettes.write(tmp_path, meter(TWO_STEPS[0], purpose=second))
    after = cassettes.read(tmp_path / FILE)

    assert [1, 2] == list(before) == list(after)
    assert before[1] == after[1]
    assert (2, 1) == (len(before[2]), len(after[2]))
    assert before[1][0].key != before[2][0].key


def test_writing_the_same_cassette_changes_nothing(tmp_path: Path) -> None:
    """Not a byte."""
    cassettes.write(tmp_path, meter(*TWO_STEPS))
    before = (tmp_path / FILE).read_bytes()
    cassettes.write(tmp_path, meter(*TWO_STEPS))

    assert before == (tmp_path / FILE).read_bytes()


def test_trial_without_model_calls_has_no_cassette(tmp_path: Path) -> None:
    """The oracle, for one."""
    cassettes.write(tmp_path, meter())

    assert [] == list(tmp_path.iterdir())


def deep(levels: int) -> Any:  # noqa: ANN401 (JSON)
    """Return lists in lists."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"name": "Zo', id="broken JSON, kept as text"),
        pytest.param({"rate": float("inf")}, id="infinity"),
        pytest.param({"name": "half \ud83d"}, id="half a surrogate pair"),
        pytest.param({"name": "\x00\u2028\n"}, id="odd characters"),
        pytest.param([1, 2], id="a list"),
        pytest.param({}, id="nothing"),
    ],
)
def test_odd_arguments_survive(tmp_path: Path, arguments: Any) -> None:  # noqa: ANN401 (what a model sends)
    """A model may send anything."""
    odd = Reply(text="half \ude00", calls=(ToolCall(tool="search\n", arguments=arguments),))
    cassettes.write(tmp_path, meter(asking(ASKED, reply=odd), asking(ASKED, agent_says(odd), reply=says("?"))))

    [first, _] = cassettes.read(tmp_path / FILE)[1]
    assert odd == first.completion.reply


@pytest.mark.parametrize("value", [float("nan"), deep(70), deep(900), deep(50_000), "\ud83d\ude00"])
def test_a_cassette_that_is_read_and_written_is_the_same(tmp_path: Path, value: Any) -> None:  # noqa: ANN401 (JSON)
    """Also where a value had to be thoughts_text out or cut."""
    odd = calls(call("search", name=value))
    steps = [asking(ASKED, reply=odd), asking(ASKED, agent_says(odd), reply=says("?"))]
    cassettes.write(tmp_path, meter(*steps))
    before = (tmp_path / FILE).read_bytes()
    cassettes.write(tmp_path, meter(*steps, purpose=replace(PURPOSE, trial=2)))

    assert (tmp_path / FILE).read_bytes().startswith(before)


def test_secrets_are_not_recorded(tmp_path: Path) -> None:
    """In no part of an exchange."""
    leak = "it is canary-4711"
    told = asking(user_says(leak), reply=Reply(text=leak, calls=[call(leak, **{leak: leak})]), system=leak)
    cassettes.write(tmp_path, meter(told), Redactor(["canary-4711"]))

    written = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.json*")]
    assert [("canary" in text, "[redacted]" in text) for text in written] == [(False, True)] * 2


SECRETS = CANARY, BASIC, JWT, NAMED = (
    "canary-4711",
    "dXNlcjpwYXNzd29yZA==",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.x1Y2z3A4b5",
    "AKx91kd72hs8812jjs",
)


@pytest.mark.parametrize(
    ("told", "marks"),
    [
        pytest.param([asking(ASKED, reply=says(CANARY))], [True], id="an answer in words"),
        pytest.param([asking(ASKED, reply=calls(call("search", name=CANARY)))], [True], id="a call"),
        pytest.param([asking(user_says(CANARY), reply=LOOKED)], [True], id="a question"),
        pytest.param([asking(ASKED, reply=says(f"Basic {BASIC}"))], [True], id="credentials"),
        pytest.param([asking(ASKED, reply=says(f"Authorization: Bearer {JWT}"))], [True], id="a bearer token"),
        pytest.param([asking(ASKED, reply=says(f'api_key="{NAMED}"'))], [True], id="a named key"),
        pytest.param([asking(ASKED, reply=calls(call("search", api_key=NAMED)))], [True], id="an argument"),
        pytest.param(TWO_STEPS, [False, False], id="nothing"),
    ],
)
def test_redacted_exchange_is_marked(tmp_path: Path, told: Sequence[ModelCall], marks: list[bool]) -> None:
    """Both to people and to those who play it again."""
    cassettes.write(tmp_path, meter(*told), Redactor([CANARY]))

    assert marks == ["redacted" in line for line in lines(tmp_path / FILE)[1:]]
    assert [] == [secret for secret in SECRETS if secret in (tmp_path / FILE).read_text(encoding="utf-8")]
    assert marks == [exchange.redacted for exchange in cassettes.read(tmp_path / FILE)[1]]


@pytest.mark.parametrize(
    "text",
    [
        "Basic PowerPoint Ltd",
        "Authorization: Bearer abc123def456",
        "api_key=12ab34cd",
        "[redacted]",
    ],
)
def test_text_that_could_be_part_of_an_answer_is_not_redacted(tmp_path: Path, text: str) -> None:
    """Another answer would be played to another verdict."""
    cassettes.write(tmp_path, meter(asking(user_says(text), reply=calls(call("search", name=text)))))

    [exchange] = cassettes.read(tmp_path / FILE)[1]
    assert (calls(call("search", name=text)), False) == (exchange.completion.reply, exchange.redacted)


def test_cassettes_do_not_depend_on_the_environment(tmp_path: Path) -> None:
    """Other people have other secrets."""
    cassettes.write(tmp_path / "one", meter(*TWO_STEPS), Redactor([CANARY]))
    cassettes.write(tmp_path / "other", meter(*TWO_STEPS))

    assert (tmp_path / "one" / FILE).read_bytes() == (tmp_path / "other" / FILE).read_bytes()


HEAD = '{"cassette": "crmeval.cassette/1", "suite": "s", "subject": "s", "case": "c", "trial": 1}\n'


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        pytest.param(HEAD + "<<<<<<< HEAD\n", 2, "Expecting value", id="a merge conflict"),
        pytest.param(HEAD + '{"provider": "openai", "mod', 2, "Unterminated string", id="torn"),
        pytest.param(HEAD + "\n[]\n", 3, "list indices", id="no object"),
        pytest.param(HEAD + "7\n", 2, "not iterable", id="a number"),
        pytest.param(HEAD + '"cassette"\n', 2, "string indices", id="a word"),
        pytest.param(HEAD + "{}\n", 2, "it has no 'ending'", id="an empty object"),
        pytest.param(HEAD + '{"ending": "bored"}\n', 2, "unknown ending 'bored'", id="another ending"),
        pytest.param('{"provider": "openai"}\n', 1, "the first line must be the header of", id="no first line"),
        pytest.param('{"cassette": "crmeval.cassette/9", "trial": 1}\n', 1, "crmeval.cassette/1", id="a newer one"),
        pytest.param('{"cassette": "crmeval.cassette/1", "trial": "x"}\n', 1, "crmeval.cassette/1", id="no number"),
        pytest.param(HEAD + "[" * 100_000, 2, "nested too deeply", id="an abyss"),
    ],
)
def test_invalid_exchange_is_reported_with_its_line(tmp_path: Path, content: str, line: int, why: str) -> None:
    """With its file, its number, and what to do."""
    path = tmp_path / "case.jsonl"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(CassetteError) as caught:
        cassettes.read(path)

    assert str(caught.value).startswith(f"{path}:{line}: not an exchange (")
    assert why in str(caught.value)
    assert str(caught.value).endswith("restore the file, or delete it and record it again")


def test_exchange_with_a_field_of_the_wrong_type_is_refused(tmp_path: Path) -> None:
    """Each of them is looked at."""
    [good] = cassettes.lines_of([TWO_STEPS[0]], 1)
    path = tmp_path / "case.jsonl"
    bad: dict[str, Any] = {
        "provider": 1,
        "model": None,
        "prompt": [],
        "messages": [{"speaker": "nobody"}],
        "must_call": 1,
        "reply": {"text": 1},
        "ending": 1,
        "usage": {"input": "many"},
    }
    for name, value in bad.items():
        path.write_text(HEAD + json.dumps({**good, name: value}), encoding="utf-8")

        with pytest.raises(CassetteError, match=r"case\.jsonl:2: not an exchange"):
            cassettes.read(path)


def test_file_that_is_not_a_cassette_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("notes\n", encoding="utf-8")

    with pytest.raises(CassetteError, match=r"quote-0001\.jsonl:1"):
        cassettes.write(tmp_path, meter(*TWO_STEPS))

    assert "notes\n" == (tmp_path / FILE).read_text(encoding="utf-8")


def test_invalid_folder_is_named_in_the_error(tmp_path: Path) -> None:
    """Also to root, who may write anywhere."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(OSError, match="file") as caught:
        cassettes.write(tmp_path / "file", meter(*TWO_STEPS))

    assert caught.value.filename


def test_a_full_disk_leaves_the_cassette_as_it_was(tmp_path: Path) -> None:
    """The error names the file, and nothing is left beside it."""
    cassettes.write(tmp_path, meter(*TWO_STEPS))
    before = (tmp_path / FILE).read_bytes()
    program = f"""
import resource, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from dataclasses import replace
from pathlib import Path
from pytest_crmeval.models import cassettes
from tests.unit.models.recordings import PURPOSE, TWO_STEPS, meter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    cassettes.write(Path({str(tmp_path)!r}), meter(TWO_STEPS[0]))
except OSError as error:
    print(error.filename, error.errno, sep="\\n")
"""
    result = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True)

    assert [str(tmp_path / FILE), str(errno.EFBIG)] == result.stdout.split("\n")[:2]
    assert before == (tmp_path / FILE).read_bytes()
    assert ["quote-0001.jsonl"] == [path.name for path in (tmp_path / "crm/gpt-4.1").iterdir()]


def test_a_cassette_is_a_file_like_others(tmp_path: Path) -> None:
    """Those who share the folder can read it."""
    cassettes.write(tmp_path, meter(*TWO_STEPS))
    (tmp_path / "other").touch()

    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == stat.S_IMODE((tmp_path / FILE).stat().st_mode)


def test_workers_that_write_trials_of_one_case_lose_none(tmp_path: Path) -> None:
    """At the same time."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from dataclasses import replace
from pathlib import Path
from pytest_crmeval.models import cassettes
from tests.unit.models.recordings import PURPOSE, TWO_STEPS, meter
for trial in map(int, sys.argv[1:]):
    cassettes.write(Path({str(tmp_path)!r}), meter(*TWO_STEPS, purpose=replace(PURPOSE, trial=trial)))
"""
    numbers = [range(1, 40, 2), range(2, 41, 2)]
    workers = [subprocess.Popen([sys.executable, "-B", "-c", program, *map(str, some)]) for some in numbers]
    ended = [worker.wait(300) for worker in workers]

    assert [0, 0] == ended
    assert list(range(1, 41)) == list(cassettes.read(tmp_path / FILE))
