"""The output on the terminal."""

import re
from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.projects import case, failing
from tests.screens import terminal

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]


@pytest.fixture(autouse=True)
def narrow_terminal(wide_terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the width to 80 columns."""
    del wide_terminal
    monkeypatch.setenv("COLUMNS", "80")


def ours(said: str) -> str:
    """Return the plugin's part of the output, without varying parts."""
    lines = [line for line in said.splitlines() if line.startswith("crmeval ")]
    text = "\n".join([*lines, *summary(said)])
    return re.sub(r"PostgreSQL at .*", "PostgreSQL at <somewhere>", text)


def summary(said: str) -> list[str]:
    """Return the lines of our section, which comes right before the last line."""
    section = re.search(r"=+ crmeval =+\n(.*)\n=[^\n]*=\s*\Z", said, re.DOTALL)
    assert section, said
    return section[1].splitlines()


@pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
def test_header_and_summary(project: Project, snapshot: SnapshotAssertion, xdist: list[str]) -> None:
    """The run, the agents and the server; then the figures, the gates and the path of the report."""
    ini = "crmeval_gates = crm.pass_rate >= 0.60\ncrmeval_agents = closer = bots:Half"
    pytester = project([case("one"), failing("two")], ini=ini)

    run = f"shown{xdist[0]}"
    result = pytester.runpytest("--crmeval-run", run, "--crmeval-agent=closer", "--crmeval-agent=oracle", *xdist)

    assert snapshot(name="header and summary") == ours(result.stdout.str()).replace(run, "<run>")


def test_quiet_run_shows_only_the_summary(project: Project) -> None:
    result = project().runpytest("-q")

    result.stdout.no_fnmatch_line("crmeval run:*")
    result.stdout.fnmatch_lines(["suite *subject*", "crm *oracle*"])


def test_heading_of_the_summary_follows_an_empty_line_like_those_of_pytest(project: Project) -> None:
    said = project().runpytest("-p", "no:xdist").stdout.str()

    assert re.search(r"\[100%\]\n\n=+ crmeval =+\nsuite +subject .*\ncrm +oracle ", said)


def test_failure_shows_dialogue_and_difference(project: Project) -> None:
    """The dialogue with its calls, what is wrong, and the difference in the CRM."""
    result = project([failing("two")]).runpytest("--crmeval-agent", "bots:Half")

    result.stdout.fnmatch_lines(
        [
            "half failed two (crm, * s): state 0.000, calls 0.000, reply 1.000",
            "  turn 1",
            "    user   Please create Ada Ltd, ada@ada.example, active.",
            "    agent  Done.",
            "    ✗ calls: not written: create_new_client(name='Ada Ltd',*",
            "      *",
            "  ✗ state: clients: missing: name='Ada Ltd', *",
        ]
    )
    assert all(len(line) <= 80 for line in result.stdout.str().partition(" FAILURES ")[2].splitlines())
    for line in ("*assert False*", "*where False = *", "FAILED *", ">*assert trial.passed*"):
        result.stdout.no_fnmatch_line(line)


def test_error_of_an_agent_fits_the_terminal(project: Project) -> None:
    pytester = project([case("one")])
    pytester.makepyfile(wrong="def dicts(messages, tools):\n    return {}")

    shown = pytester.runpytest("--crmeval-agent", "wrong:dicts").stdout.str().partition(" FAILURES ")[2]

    assert '    return "Acme is an active client."  # or answer the user' in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


MIXED = """
import pytest

@pytest.mark.conversations("cases.jsonl", suite="crm")
def test_conversation(conversation, evaluate):
    trial = evaluate(conversation)
    assert trial.passed

def test_of_the_user():
    assert 1 + 1 == 3
"""


def test_few_failed_cases_are_shown_and_other_tests_as_usual(project: Project) -> None:
    """Ten of fifteen failed cases have a dialogue; a failed test that is not a case is shown by pytest as always."""
    pytester = project([failing(f"wrong-{n:02}") for n in range(15)], test=MIXED)

    said = pytester.runpytest("--crmeval-agent", "bots:Half", "-n", "1").stdout.str()

    assert 10 == said.count("half failed wrong-")
    assert "assert (1 + 1) == 3" in said
    assert ["FAILED test_crm.py::test_of_the_user - assert (1 + 1) == 3"] == re.findall(
        r"^FAILED.*", said, re.MULTILINE
    )
    assert "15 trials failed; the most frequent reasons:" in summary(said)
    assert "    15  state: clients: missing: …                                      wrong-00" in summary(said)
    assert "show:   crmeval show wrong-00" == summary(said)[-1]
    assert said.rstrip().splitlines()[-1].strip("= ").startswith("16 failed in ")


def test_number_of_failed_cases_shown_is_a_setting_and_verbose_shows_all(project: Project) -> None:
    """With the source of the test, the repr of the trial, and a line for each."""
    pytester = project([failing(f"wrong-{n:02}") for n in range(12)], ini="crmeval_failures = 2", test=MIXED)
    few = pytester.runpytest("--crmeval-agent", "bots:Half", "-p", "no:xdist").stdout.str()
    many = pytester.runpytest("--crmeval-agent", "bots:Half", "-p", "no:xdist", "--crmeval-verbose").stdout.str()

    assert 2 == few.count("half failed wrong-")
    assert 12 == many.count(" +  where False = Trial(")
    assert 13 == len(re.findall(r"^FAILED ", many, re.MULTILINE))


def test_other_plugins_see_all_failed_cases(project: Project) -> None:
    """A plugin that counts failures in its summary counts all of them."""
    pytester = project([failing("one"), failing("two")], ini="crmeval_failures = 1")
    pytester.makeconftest(
        """
        def pytest_terminal_summary(terminalreporter):
            terminalreporter.write_line(f"counted {len(terminalreporter.stats['failed'])}")
        """
    )

    result = pytester.runpytest("--crmeval-agent", "bots:Half", "-p", "no:xdist")

    result.stdout.fnmatch_lines(["counted 2", "*= crmeval =*", "*= 2 failed in *"])


def test_summary_is_the_last_thing_on_a_screen_of_80_columns(project: Project) -> None:
    """In a real terminal, with a very long name: nothing wraps, and the gates are visible."""
    name = "a-company-wide-sales-assistant-of-the-second-generation"
    ini = f"crmeval_gates = crm.pass_rate >= 0.60\ncrmeval_agents = {name} = bots:Half"
    pytester = project([failing(f"a-conversation-with-a-long-name-{n}") for n in range(12)], ini=ini)
    agents = [f"--crmeval-agent={agent}" for agent in (name, "oracle", "mute")]

    with terminal(pytester.path, "pytest", "-p", "no:xdist", *agents) as shown:
        assert pytest.ExitCode.TESTS_FAILED == shown.end()

    said = re.sub(r"\x1b\[[\d;]*m|\r", "", shown.said.decode())
    assert 80 >= max(map(len, summary(said)))
    assert "= crmeval =" in "\n".join(shown.screen)
    assert any(re.match(r"crm +oracle \(control\) +12 +12 +0 +1.000", line) for line in shown.screen)
    assert any(re.match(r"crm +a-comp.*… *.*12 +0 +12 +0.000", line) for line in shown.screen)
    assert "12 trials failed; the most frequent reasons:" in shown.screen


def test_passwords_are_never_shown(project: Project, given_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRMEVAL_DSN", f"{given_server} password=hunter2")
    pytester = project()

    result = pytester.runpytest("-n", "1")

    result.assert_outcomes(passed=3)
    assert "hunter2" not in result.stdout.str()
    assert not [path for path in pytester.path.rglob("*.json*") if "hunter2" in path.read_text()]


def test_help_explains_the_options(pytester: pytest.Pytester) -> None:
    """Options and settings are in ``--help``."""
    said = pytester.runpytest("--help").stdout.str()

    for name in ("--crmeval-agent", "--crmeval-scorer", "--crmeval-invalid", "crmeval_gates", "crmeval_agents"):
        assert name in said
