"""Unlucky, careless and hostile uses of models: nothing is lost, nothing leaks, nothing hangs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import forkserver
from tests.plugin.conftest import CANARY
from tests.projects import case, report_of
from tests.providers.answers import Answer, Say, Status, Tokens
from tests.providers.loopback import Loopback, Seen, chatty_brain, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
M = ("--crmeval-agent", "openai:m")
ODD_IDS = ["CON", "a/b", "..", "A", "a", "é😀", 'a b?*:<>|"', ".hidden", "trailing. ", "one.judge", "one.2", "one"]
HALF_A_PAIR = "half a pair \ud83d, \U0001f600, \x00 and \x1b[31mred"
SLOW = {"anthropic", "dotenv", "genai_prices", "httpx2", "openai"}
SHOW_MODULES = """
import sys
from pathlib import Path

def pytest_unconfigure(config):
    name = "worker" if hasattr(config, "workerinput") else "controller"
    Path(f"{name}.modules").write_text(" ".join(sys.modules))
"""


def breaks_off(seen: Seen) -> Answer:
    """Answer the first call, and refuse all others."""
    return Status(400, "no more") if seen.results else crm_brain(seen)


def trials(path: Path) -> list[dict[str, Any]]:
    """Return the trials of the latest report."""
    found: list[dict[str, Any]] = report_of(path)["trials"]
    return found


def texts(path: Path) -> dict[str, str]:
    """Return all files below ``path``."""
    return {str(file): file.read_text(encoding="utf-8") for file in path.rglob("*") if file.is_file()}


def test_value_of_the_variable_that_a_spec_names_is_redacted(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY", "zebra-0123-not-like-a-key")
    providers(lambda seen: Say(f"You sent {seen.headers['authorization'].split()[-1]}"))
    pytester = project([case("one")])

    result = pytester.runpytest("--crmeval-agent", "openai:m?key=GATEWAY")

    seen = {"stdout": result.stdout.str(), **texts(pytester.path / "reports")}
    assert "You sent [redacted]" in seen["stdout"]
    assert [] == [name for name, text in seen.items() if "zebra-0123" in text]


def test_agent_that_cannot_be_created_does_not_show_the_key(project: Project, providers: Providers) -> None:
    """Its own message might contain it."""
    providers()
    pytester = project()
    pytester.makepyfile(
        vain="import os\nclass Vain:\n    def __init__(self):\n        raise ValueError(os.environ['OPENAI_API_KEY'])\n"
    )

    result = pytester.runpytest("--crmeval-agent", "vain:Vain")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert "ValueError" in result.stderr.str()
    assert CANARY not in result.stderr.str() + result.stdout.str()


def test_env_file_with_invalid_names_is_refused(project: Project, providers: Providers) -> None:
    """The error names the file, and no value."""
    providers()
    pytester = project(ini="crmeval_env_file = .env")
    Path(pytester.path, ".env").write_bytes(b"SOME_NAME=be\0fore\n")

    result = pytester.runpytest(*M)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*.env*"])
    assert "fore" not in result.stderr.str()


@pytest.mark.parametrize("address", ["http://127.0.0.1:99999/v1", "nonsense", "ftp://127.0.0.1/v1"])
def test_invalid_address_is_refused_before_the_run_starts(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    providers()
    pytester = project([case("one")])

    in_spec = pytester.runpytest("--crmeval-agent", f"openai:m?retries=0&base_url={address}")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    in_environment = pytester.runpytest("--crmeval-agent", "openai:m?retries=0")

    assert pytest.ExitCode.USAGE_ERROR == in_spec.ret
    assert pytest.ExitCode.USAGE_ERROR == in_environment.ret
    assert address in in_environment.stderr.str()


def test_server_that_asks_for_an_hour_of_patience_does_not_hold_up_the_run(
    project: Project, providers: Providers
) -> None:
    server = providers([Status(429, "come back later", headers={"retry-after": "3600"})])
    pytester = project([case("one"), case("two")])

    result = pytester.runpytest_subprocess(*M, timeout=600)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert len(server.seen) <= 2
    assert "come back later" in trials(pytester.path)[0]["reason"]


def test_unknown_cost_is_not_zero(project: Project, providers: Providers) -> None:
    """Nor is it for the whole run."""
    providers()

    result = project([case("one")]).runpytest(*M)

    result.stdout.fnmatch_lines(["total: * cost unknown*"])
    result.stdout.no_fnmatch_line("*spent by this run: $0.00*")


def test_summary_does_not_ask_for_a_price_that_is_given(project: Project, providers: Providers) -> None:
    """The server does not count tokens."""
    providers([Say("No.", usage=Tokens(input=0, output=0))])

    result = project([case("one")]).runpytest("--crmeval-agent", "openai:m?price=1/1")

    result.stdout.fnmatch_lines(["*unknown*"])
    result.stdout.no_fnmatch_line("*price of*is unknown*")


def test_unused_judge_is_explained(project: Project, providers: Providers) -> None:
    providers(lambda seen: Status(422, "the court is closed") if seen.model == "j" else chatty_brain(seen))

    result = project([case("one")]).runpytest(*M, "--crmeval-judge", "openai:j?samples=1")

    result.stdout.fnmatch_lines(["*1 not graded*", "*the court is closed*"])


def test_invalid_judge_is_refused_and_quoted_as_given(project: Project, providers: Providers) -> None:
    providers()

    result = project().runpytest("--crmeval-judge", "oracle")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*'oracle'*must name a model; see crmeval models*"])


@pytest.mark.parametrize("spec", ["openai:", "OpenAI:gpt-4.1"])
def test_incomplete_spec_is_refused_with_the_complete_form(project: Project, providers: Providers, spec: str) -> None:
    """It is not mistaken for a module of the user."""
    providers()

    result = project().runpytest("--crmeval-agent", spec)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*'{spec}' is not PROVIDER:MODEL; providers: openai, anthropic, *"])


def test_undecodable_byte_in_a_spec_causes_no_internal_error(project: Project, providers: Providers) -> None:
    """Refused or played, but not an internal error."""
    providers()

    result = project([case("one")]).runpytest("--crmeval-agent", "openai:a\udcffb")

    assert pytest.ExitCode.INTERNAL_ERROR != result.ret


def test_estimate_without_a_terminal_succeeds(project: Project, providers: Providers) -> None:
    server = providers()

    result = project().runpytest(*M, "--crmeval-estimate", "-p", "no:terminal")

    assert pytest.ExitCode.OK == result.ret
    assert [] == server.seen


def test_different_price_does_not_make_a_different_model(project: Project, providers: Providers) -> None:
    """An estimate uses earlier trials, whatever their price was."""
    providers()
    pytester = project([case("one")])
    pytester.runpytest("--crmeval-agent", "openai:m?price=1/1")

    result = pytester.runpytest("--crmeval-agent", "openai:m?price=2/2&timeout=9", "--crmeval-estimate")

    result.stdout.fnmatch_lines(["*1 of 1 cases were played before*"])


def test_interrupted_trial_keeps_the_old_cassette(project: Project, providers: Providers) -> None:
    """Half a recording is worth less than the complete old one."""
    providers()
    pytester = project([case("one")])
    pytester.runpytest(*M, "--crmeval-record", "tapes")
    before = texts(pytester.path / "tapes")
    providers(breaks_off)

    pytester.runpytest(*M, "--crmeval-record", "tapes")

    assert "errored" == trials(pytester.path)[0]["verdict"]
    assert before == texts(pytester.path / "tapes")


def test_unwritable_cassette_is_reported_without_a_traceback(project: Project, providers: Providers) -> None:
    """Frames of the plugin explain nothing."""
    providers()
    pytester = project([case("one")])
    Path(pytester.path, "tapes").mkdir()
    Path(pytester.path, "tapes", "crm").write_text("a file, not a folder")

    result = pytester.runpytest(*M, "--crmeval-record", "tapes")

    assert result.ret in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR}
    shown = result.stdout.str() + result.stderr.str()
    assert "tapes" in shown
    assert "books.py" not in shown


def test_missing_cassette_names_the_recorded_agents(project: Project, providers: Providers) -> None:
    """Cassettes are stored by the names of agents."""
    providers()
    pytester = project([case("one")], ini="crmeval_agents = oak = openai:m")
    pytester.runpytest(*M, "--crmeval-record", "tapes")

    pytester.runpytest("--crmeval-agent", "oak", "--crmeval-replay", "tapes")

    (trial,) = trials(pytester.path)
    assert "errored" == trial["verdict"]
    assert "openai:m" in trial["reason"]


def test_torn_cassette_is_reported_with_its_line(project: Project, providers: Providers) -> None:
    """The trial is ERRORED, and says what to do."""
    providers()
    pytester = project([case("one")])
    pytester.runpytest(*M, "--crmeval-record", "tapes")
    (tape,) = Path(pytester.path, "tapes", "crm").rglob("one.jsonl")
    tape.write_bytes(tape.read_bytes()[:-20])

    pytester.runpytest(*M, "--crmeval-replay", "tapes")

    (trial,) = trials(pytester.path)
    assert "errored" == trial["verdict"]
    assert f"{tape}:3: not an exchange" in trial["reason"]


def test_cases_with_any_name_have_their_own_cassettes(project: Project, providers: Providers) -> None:
    """Even on file systems that ignore case or don't allow a colon."""
    server = providers()
    pytester = project([case(name) for name in ODD_IDS])
    pytester.runpytest(*M, "--crmeval-record", "tapes")
    server.seen.clear()

    result = pytester.runpytest(*M, "--crmeval-replay", "tapes")

    result.assert_outcomes(passed=len(ODD_IDS))
    assert [] == server.seen
    names = [file.name.lower() for file in Path(pytester.path, "tapes", "crm").rglob("*.jsonl")]
    assert len(ODD_IDS) == len(set(names))
    assert all(set(name).isdisjoint('<>:"/\\|?*') for name in names)


def test_lone_surrogate_is_recorded_and_replayed(project: Project, providers: Providers) -> None:
    """Models may return any text."""
    providers([Say(HALF_A_PAIR)])
    pytester = project([case("one")])
    pytester.runpytest(*M, "--crmeval-record", "tapes")
    recorded = [trial["verdict"] for trial in trials(pytester.path)]

    pytester.runpytest(*M, "--crmeval-replay", "tapes")

    assert ["failed"] == recorded
    assert recorded == [trial["verdict"] for trial in trials(pytester.path)]


def test_replay_does_not_affect_agents_without_a_model(project: Project) -> None:
    """The oracle has no cassette."""
    pytester = project()
    Path(pytester.path, "tapes").mkdir()

    pytester.runpytest("--crmeval-replay", "tapes").assert_outcomes(passed=3)


def test_agents_whose_names_differ_only_in_case_are_two(project: Project, providers: Providers) -> None:
    providers()
    pytester = project([case("one")])

    pytester.runpytest(*M, "--crmeval-agent", "openai:M", "--crmeval-record", "tapes")

    assert ["openai:M", "openai:m"] == sorted(trial["subject"] for trial in trials(pytester.path))
    assert 2 == len({folder.name.lower() for folder in Path(pytester.path, "tapes", "crm").iterdir()})


def test_repeated_test_is_paid_twice(project: Project, providers: Providers) -> None:
    """By a plugin that repeats failed tests: the last trial counts, and so do all costs."""
    first = iter([Say("No.")])
    providers(lambda seen: next(first, None) or crm_brain(seen))
    pytester = project([case("one")])
    pytester.makeconftest(
        "from _pytest.runner import runtestprotocol\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    if all(report.passed for report in runtestprotocol(item, log=True, nextitem=nextitem)):\n"
        "        return True\n"
        "    return bool(runtestprotocol(item, log=True, nextitem=nextitem))\n"
    )

    pytester.runpytest("--crmeval-agent", "openai:m?price=1000/1000")

    assert ["passed"] == [trial["verdict"] for trial in trials(pytester.path)]
    assert report_of(pytester.path)["run"]["spent"] == pytest.approx(3 * 0.12)


def test_replay_needs_no_price(project: Project, providers: Providers) -> None:
    """It costs nothing, so a budget in the settings is respected."""
    providers()
    pytester = project([case("one"), case("two")])
    pytester.runpytest(*M, "--crmeval-record", "tapes")

    result = pytester.runpytest(*M, "--crmeval-replay", "tapes", "--crmeval-budget", "1")

    assert pytest.ExitCode.OK == result.ret
    result.assert_outcomes(passed=2)


def test_home_folder_can_have_cassettes(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shells don't expand ~ after an equals sign."""
    providers()
    pytester = project([case("one")])
    monkeypatch.setenv("HOME", str(pytester.path / "home"))

    pytester.runpytest(*M, "--crmeval-record=~/tapes")
    result = pytester.runpytest(*M, "--crmeval-replay=~/tapes")

    result.assert_outcomes(passed=1)
    assert not Path(pytester.path, "~").exists()


def test_rate_limit_that_can_never_apply_is_refused(project: Project) -> None:
    """All calls to a model count, whatever its parameters."""
    result = project(ini="crmeval_rates = openai:m?temperature=0 5rpm").runpytest(*M)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*crmeval_rates*"])


def test_unreadable_env_file_does_not_affect_the_oracle(project: Project) -> None:
    pytester = project([case("one")])
    Path(pytester.path, ".env").write_bytes(b"CITY=K\xf6ln\n")

    pytester.runpytest().assert_outcomes(passed=1)


def test_unreadable_reports_do_not_prevent_an_estimate(project: Project, providers: Providers) -> None:
    providers()
    pytester = project([case("one")])
    reports = pytester.path / "reports"
    for name, content in {
        "text": b'not json "bill"\n{"trial": 3, "bill": 1}\n["bill"]\n',
        "bytes": bytes(range(256)) * 40,
        "lies": json.dumps({"trial": {"verdict": "passed", "bill": {"usage": {"input": "many"}}}}).encode() + b"\n",
    }.items():
        (reports / name).mkdir(parents=True)
        (reports / name / "trials.jsonl").write_bytes(content)
    (reports / "folder" / "trials.jsonl").mkdir(parents=True)
    (reports / "loop").symlink_to("loop")

    result = pytester.runpytest(*M, "--crmeval-estimate")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["*1 of 1 cases are estimated from assumptions*"])


def test_run_without_models_loads_no_sdk(
    pytester: pytest.Pytester, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing them takes seconds.

    The processes here are started normally, because the fork server has imported everything.
    """
    monkeypatch.delenv(forkserver.HOME, raising=False)
    project([case("one")])
    pytester.makeconftest(SHOW_MODULES)

    pytester.runpytest_subprocess("-n", "1").assert_outcomes(passed=1)

    loaded = {name: set(Path(name).read_text().split()) for name in map(str, pytester.path.glob("*.modules"))}
    assert all("pytest_crmeval.controller.worker" in modules for modules in loaded.values())
    assert {} == {name: modules & SLOW for name, modules in loaded.items() if modules & SLOW}
    assert loaded
