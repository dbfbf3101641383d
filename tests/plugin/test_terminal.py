"""What a person sees."""

import re
from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.projects import case, failing

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]


def ours(said: str) -> str:
    """Return our part of the output, with what changes from run to run taken out."""
    lines = [line for line in said.splitlines() if line.startswith("crmeval ")]
    section = re.search(r"=+ crmeval =+\n(.*?)\n=", said, re.DOTALL)
    assert section
    text = "\n".join([*lines, section[1]])
    return re.sub(r"PostgreSQL at .*", "PostgreSQL at <somewhere>", text)


@pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
def test_header_and_summary(project: Project, snapshot: SnapshotAssertion, xdist: list[str]) -> None:
    """Which run, which agents, which server; then the figures, the gates and where the report is."""
    ini = "crmeval_gates = crm.pass_rate >= 0.60\ncrmeval_agents = closer = bots:Half"
    pytester = project([case("one"), failing("two")], ini=ini)

    run = f"shown{xdist[0]}"
    result = pytester.runpytest("--crmeval-run", run, "--crmeval-agent=closer", "--crmeval-agent=oracle", *xdist)

    assert snapshot(name="header and summary") == ours(result.stdout.str()).replace(run, "<run>")


def test_quiet_shows_the_summary_only(project: Project) -> None:
    """``-q`` is heard."""
    result = project().runpytest("-q")

    result.stdout.no_fnmatch_line("crmeval run:*")
    result.stdout.fnmatch_lines(["suite *subject*", "crm *oracle*"])


def test_a_failure_shows_dialogue_and_difference(project: Project) -> None:
    """Who said what, which calls, where it went wrong."""
    result = project([failing("two")]).runpytest("--crmeval-agent", "bots:Half")

    result.stdout.fnmatch_lines(
        [
            "E *bots:Half failed two (crm, * s): state 0.000, calls 0.000, reply 1.000",
            "E *turn 1",
            "E *user   Please create Ada Ltd, ada@ada.example, active.",
            "E *agent  Done.",
            "E *✗ calls: not written: create_new_client(name='Ada Ltd', *)",
            "E *✗ state: clients: missing: name='Ada Ltd', *",
        ]
    )


def test_passwords_are_never_shown(project: Project, given_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the header, not in the report."""
    monkeypatch.setenv("CRMEVAL_DSN", f"{given_server} password=hunter2")
    pytester = project()

    result = pytester.runpytest("-n", "2")

    result.assert_outcomes(passed=3)
    assert "hunter2" not in result.stdout.str()
    assert not [path for path in pytester.path.rglob("*.json*") if "hunter2" in path.read_text()]


def test_help_teaches(pytester: pytest.Pytester) -> None:
    """Options and settings are in ``--help``."""
    said = pytester.runpytest("--help").stdout.str()

    for name in ("--crmeval-agent", "--crmeval-scorer", "--crmeval-invalid", "crmeval_gates", "crmeval_agents"):
        assert name in said
