"""Keys come from the environment or a .env file, and are never shown."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_crmeval import ToolCall
from pytest_crmeval.agents.specs import secret_parameter
from pytest_crmeval.domain.json import Json
from tests.plugin.conftest import CANARY
from tests.projects import case, report_of
from tests.providers.answers import Answer, Call, Say, Status
from tests.providers.loopback import Loopback, Seen

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
MINI = ("--crmeval-agent", "openai:gpt-4.1-mini?retries=1")
TALKATIVE = """
import logging
import os
import sys
import warnings

import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    key = os.environ["OPENAI_API_KEY"]
    print("the key is", key)
    print("and again", key, file=sys.stderr)
    logging.getLogger("mine").warning("Authorization: Bearer %s", key)
    try:
        raise ValueError(f"no key {key}")
    except ValueError:
        logging.getLogger("mine").exception("that went wrong")
    trial = evaluate(conversation)
    assert trial.passed, trial.explain()
    assert not key

def test_skipped():
    pytest.skip(os.environ["OPENAI_API_KEY"])

def test_expected_to_fail(record_property):
    record_property("key", os.environ["OPENAI_API_KEY"])
    pytest.xfail(os.environ["OPENAI_API_KEY"])

def test_warning():
    warnings.warn(os.environ["OPENAI_API_KEY"])

def test_suite(record_testsuite_property):
    record_testsuite_property("key", os.environ["OPENAI_API_KEY"])

def test_subtests(subtests):
    key = os.environ["OPENAI_API_KEY"]
    with subtests.test(msg=key, key=key):
        print(key)
        logging.getLogger("mine").warning(key)
        assert not key
"""


def echo(seen: Seen) -> Answer:
    """Answer with the received key: in words, or in an error."""
    key = seen.headers["authorization"]
    return Status(500, f"your header was {key}") if len(seen.last_user_text) % 2 else Say(f"You said {key}")


def written(path: Path) -> Iterator[tuple[str, str]]:
    """Yield every file of a project except those that the test wrote."""
    for file in path.rglob("*"):
        if file.is_file() and file.suffix in {".json", ".jsonl", ".xml", ".log"}:
            yield str(file), file.read_text(encoding="utf-8")


PLAIN = "canary of mine, which looks like no key"
KEYS = pytest.mark.parametrize("key", [CANARY, PLAIN], ids=["of a known form", "of no known form"])
"""Text in the format of a key is always redacted; the other key only because its variable is known."""


@pytest.mark.parametrize(("key", "xdist"), [(CANARY, ["-p", "no:xdist"]), (PLAIN, ["-n", "1"])])
def test_key_is_never_shown(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch, xdist: list[str], key: str
) -> None:
    """A server that echoes it, a test that prints and logs it, a traceback that shows it, debug logs of the SDK."""
    server = providers(echo)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    odd, even = case("odd"), case("even")
    even["turns"][0]["user_utterance"] += "!"
    pytester = project([odd, even], test=TALKATIVE)

    result = pytester.runpytest_subprocess(
        *MINI,
        *xdist,
        *("--crmeval-record", "tapes", "--showlocals", "-rA", "--junitxml=junit.xml", "--log-file=run.log"),
        "--log-level=DEBUG",
    )

    seen = {"stdout": result.stdout.str(), "stderr": result.stderr.str(), **dict(written(pytester.path))}
    assert server.seen
    assert key in server.seen[0].headers["authorization"]
    assert {"tapes", "trials.jsonl", "transcripts", "junit.xml", "run.log"} == {
        part for part in ("tapes", "trials.jsonl", "transcripts", "junit.xml", "run.log") if part in " ".join(seen)
    }
    assert [] == [name for name, text in seen.items() if key in text or key[9:30] in text]
    assert "[redacted]" in seen["stdout"]


def test_secret_in_a_spec_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Specs are shown and stored."""
    monkeypatch.setenv("MY_SERVICE_TOKEN", "zq81-kkw0-99xy-aab2")

    result = project().runpytest("--crmeval-agent", "bots:Half?token=zq81-kkw0-99xy-aab2")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*specs are shown and stored, so they must not contain a secret*"])
    assert "zq81" not in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize("parameter", ["token=abc", "api_key=x1", "my_password=hunter2", "key=lower", "secret="])
def test_custom_agent_parameter_with_a_name_like_a_secret_is_refused(project: Project, parameter: str) -> None:
    """As in the spec of a model; the error does not repeat the value."""
    result = project().runpytest("--crmeval-agent", f"bots:Half?{parameter}")

    name, _, value = parameter.partition("=")
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*bots:Half: the parameter '{name}' looks like a secret*"])
    assert not value or f"={value}" not in result.stderr.str() + result.stdout.str()


def test_custom_agent_parameter_may_name_an_environment_variable() -> None:
    """Parameters that only sound like a secret are also allowed."""
    specs = ["bots:Half?token=MY_TOKEN", "bots:Half?max_tokens=800&keywords=a", "bots:Half"]

    assert ["", "", ""] == list(map(secret_parameter, specs))


LEAKING = """
import os

from pytest_crmeval import Reply, ToolCall

KNOWN, SHAPED = os.environ["WAREHOUSE_CREDENTIALS"], "AKIAQ7RK2LMZ81XTPW04"
PLACES = [*range(95, 120, 5), *range(0, 60, 7), *range(200, 260, 5), *range(460, 520, 7)]
PLACES += [*range(960, 1010, 7), *range(1970, 2010, 7)]
TEXTS = [f"{'x' * place} {secret} {'y' * 300}" for secret in (KNOWN, SHAPED) for place in PLACES]

class Leaking:
    name = "leaking"

    def reply(self, messages, tools):
        if "raise" in messages[0].text:
            raise RuntimeError("\\x1b[2J\\x1b]0;title\\x07\\x1b[31m" + "\\n".join(TEXTS))
        if len(messages) > 1:
            return Reply(text="\\n".join(TEXTS))
        calls = [ToolCall(tool="client_search", arguments={"name": text}) for text in TEXTS]
        return Reply(calls=[*calls, *(ToolCall(tool=text, arguments={}) for text in TEXTS)])
"""
SHORTENED = """
import pytest
from leaking import KNOWN, SHAPED, TEXTS

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    trial = evaluate(conversation)
    assert trial.passed, trial.explain()

def fails(text, texts):
    local, both = [text], {"text": text}
    raise ValueError(len(text))

@pytest.mark.parametrize("number", range(0, len(TEXTS), 5))
def test_arguments(number):
    fails(TEXTS[number], TEXTS)

@pytest.mark.parametrize("number", range(0, len(TEXTS), 9))
def test_operands(number):
    text = TEXTS[number].rstrip("y")
    assert text + "a" == text + "b"

def test_rows():
    assert {"rows": TEXTS} == {"rows": TEXTS[1:]}

def test_in():
    assert "nothing" in TEXTS[3]
"""


@pytest.mark.parametrize("inflight", ["1", "4"])
def test_no_part_of_a_secret_remains_in_shortened_output(
    project: Project, monkeypatch: pytest.MonkeyPatch, inflight: str
) -> None:
    """Not in terminal, JUnit XML, journal, report, page, Markdown or transcripts, neither by us nor by pytest.

    Escape sequences of an agent's exception don't reach the terminal either.
    """
    known, shaped = "wd40-seven-seas-of-swordfish", "AKIAQ7RK2LMZ81XTPW04"
    monkeypatch.setenv("WAREHOUSE_CREDENTIALS", known)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    raising = case("raising")
    raising["turns"][0]["user_utterance"] += " raise"
    pytester = project([case("calling"), raising], test=SHORTENED)
    pytester.makepyfile(leaking=LEAKING)

    result = pytester.runpytest_subprocess(
        *("--crmeval-agent", "leaking:Leaking", "--crmeval-inflight", inflight, "-p", "no:xdist"),
        *("--showlocals", "-rA", "--junitxml=junit.xml"),
    )

    seen = {"stdout": result.stdout.str(), "stderr": result.stderr.str()}
    suffixes = {".json", ".jsonl", ".xml", ".html", ".md"}
    files = [path for path in pytester.path.rglob("*") if path.is_file() and path.suffix in suffixes]
    seen |= {str(path): path.read_text(encoding="utf-8") for path in files if path.name != "cases.jsonl"}
    parts = [secret[start : start + 6] for secret in (known, shaped) for start in range(len(secret) - 5)]
    assert [] == [(name, part) for name, text in seen.items() for part in parts if part in text]
    assert {"junit.xml", "trials.jsonl", "summary.md"} <= {path.name for path in files}
    assert "RuntimeError" in seen["stdout"]
    assert "[redacted]" in seen["stdout"]
    assert not {"\x1b", "\x07"} & set(seen["stdout"])


def test_trial_is_recognised_whatever_the_environment_contains(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable whose value is in the name of a test hides neither the test nor its trial."""
    providers()
    monkeypatch.setenv("STRANGE_PASSWORD", "test_crm.py::test_conversation")
    pytester = project([case("one")])

    result = pytester.runpytest(*MINI)

    assert pytest.ExitCode.OK == result.ret
    assert (1, 0) == tuple(report_of(pytester.path)["results"][0][name] for name in ("passed", "not_run"))


@KEYS
def test_opinion_of_a_judge_is_stored_without_the_key(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    opinion: dict[str, Json] = {"statements": [{"id": "s1", "reason": f"It said {key}.", "answer": "true"}]}
    providers([Call(ToolCall(tool="check", arguments=opinion))])
    monkeypatch.setenv("OPENAI_API_KEY", key)
    pytester = project([case("one")])

    pytester.runpytest("--crmeval-agent", "bots:Chatty", "--crmeval-judge", "openai:judge?samples=1")

    kept = "".join(path.read_text() for path in (pytester.path / "reports/judgements").rglob("*.json"))
    assert "[redacted]" in kept
    assert key not in kept


def test_key_can_be_in_an_env_file(project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Next to the project's settings; the file is never shown."""
    server = providers()
    monkeypatch.delenv("OPENAI_API_KEY")
    pytester = project([case("one")])
    Path(pytester.path, ".env").write_text(f"# mine\nexport OPENAI_API_KEY='{CANARY}'\nEMPTY=\n")

    result = pytester.runpytest_subprocess(*MINI)

    result.assert_outcomes(passed=1)
    assert f"Bearer {CANARY}" == server.seen[0].headers["authorization"]
    assert CANARY not in result.stdout.str()


def test_empty_variable_is_filled_by_the_env_file(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CI systems set missing secrets to an empty value."""
    server = providers()
    monkeypatch.setenv("OPENAI_API_KEY", "")
    pytester = project([case("one")])
    Path(pytester.path, ".env").write_text(f"OPENAI_API_KEY={CANARY}\n")

    pytester.runpytest_subprocess(*MINI).assert_outcomes(passed=1)

    assert f"Bearer {CANARY}" == server.seen[0].headers["authorization"]


def test_variable_takes_precedence_over_the_env_file(project: Project, providers: Providers) -> None:
    server = providers()
    pytester = project([case("one")], ini="crmeval_env_file = secrets.env")
    Path(pytester.path, "secrets.env").write_text("OPENAI_API_KEY=sk-other-0123456789abcdef\n")

    pytester.runpytest_subprocess(*MINI)

    assert f"Bearer {CANARY}" == server.seen[0].headers["authorization"]


def test_env_file_that_is_named_must_exist(project: Project, providers: Providers) -> None:
    """The default file need not."""
    providers()
    pytester = project(ini="crmeval_env_file = secrets.env")

    result = pytester.runpytest(*MINI)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*crmeval_env_file = secrets.env: the file does not exist*"])


def test_env_file_is_not_read_without_cases(pytester: pytest.Pytester) -> None:
    """The plugin is loaded in every run; the file is read when a case is to be played."""
    Path(pytester.path, ".env").write_text("MY_OWN_VARIABLE=1\n")
    pytester.makepyfile("import os\ndef test_it():\n    assert 'MY_OWN_VARIABLE' not in os.environ\n")

    pytester.runpytest_subprocess().assert_outcomes(passed=1)

    assert "MY_OWN_VARIABLE" not in os.environ


def test_custom_server_needs_no_key(project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ollama and vLLM don't require one."""
    server = providers()
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    pytester = project([case("one")])

    result = pytester.runpytest("--crmeval-agent", f"openai:llama?base_url={server.openai_url}")

    result.assert_outcomes(passed=1)
    assert "unknown" in result.stdout.str()
    assert report_of(pytester.path)["trials"][0]["bill"]["cost"] is None
