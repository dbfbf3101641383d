"""Three ways to extend the plugin: fixtures, specs, hooks."""

from collections.abc import Callable

import pytest

from tests.projects import case, report_of, turned

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)


def test_conftest_can_provide_the_agent(project: Project) -> None:
    """It is reported under its own name, not as the oracle that it replaces."""
    pytester = project([case("one")])
    pytester.makeconftest(
        """
        import pytest
        from bots import Half

        @pytest.fixture
        def agent():
            return Half()
        """
    )

    pytester.runpytest().assert_outcomes(passed=1)

    assert "half" == report_of(pytester.path)["results"][0]["subject"]


def test_failing_agent_of_a_conftest_is_reported_under_its_own_name(project: Project) -> None:
    pytester = project([case("one")])
    pytester.makeconftest("import pytest, bots\n@pytest.fixture\ndef agent(): return bots.Broken()")

    pytester.runpytest().assert_outcomes(failed=1)

    assert [("broken", 1)] == [
        (summary["subject"], summary["errored"]) for summary in report_of(pytester.path)["results"]
    ]


def test_conftest_can_provide_the_scorers(project: Project) -> None:
    """Their scores decide, and each is in the trial."""
    pytester = project([case("one")])
    pytester.makeconftest(
        """
        import pytest
        from pytest_crmeval import Score

        def polite(case, evidence):
            last = evidence.transcript.exchanges[-1].reply
            return Score(name="polite", value=float("please" in last), reason=f"said {last!r}")

        @pytest.fixture(scope="session")
        def scorers():
            return [polite]
        """
    )

    result = pytester.runpytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["oracle failed one (crm, * s): polite 0.000", "*✗ polite: said 'Done.'"])
    (trial,) = report_of(pytester.path)["trials"]
    assert [("polite", 0.0)] == [(score["name"], score["value"]) for score in trial["scores"]]


CURT = """
from bots import Half
from pytest_crmeval import Reply

class Curt(Half):
    name = "curt"

    def reply(self, messages, tools):
        reply = super().reply(messages, tools)
        return reply if reply.calls else Reply()
"""


@pytest.mark.parametrize(
    ("chosen", "verdict", "names"),
    [
        pytest.param([], "failed", ["state", "calls", "reply"], id="default"),
        pytest.param(["state"], "passed", ["state"], id="state"),
        pytest.param(["calls", "state", "calls"], "passed", ["calls", "state"], id="calls and state"),
        pytest.param(["reply"], "failed", ["reply"], id="reply"),
        pytest.param(["clbench"], "passed", ["clbench"], id="clbench"),
    ],
)
def test_scorers_are_selected_by_name(project: Project, chosen: list[str], verdict: str, names: list[str]) -> None:
    """All selected scorers must pass, each once, and no other counts: this agent is correct, but says nothing."""
    pytester = project([case("one")])
    pytester.makepyfile(curt=CURT)

    pytester.runpytest("--crmeval-agent", "curt:Curt", *(f"--crmeval-scorer={name}" for name in chosen))

    (trial,) = report_of(pytester.path)["trials"]
    assert (verdict, names) == (trial["verdict"], [score["name"] for score in trial["scores"]])


def test_oracle_passes_the_published_score(project: Project) -> None:
    record = turned(expected_response={"text": "Created Ada Ltd (c-0815) on 2025-11-11."})
    pytester = project([record])

    pytester.runpytest("--crmeval-scorer", "clbench").assert_outcomes(passed=1)
    pytester.runpytest().assert_outcomes(passed=1)


def test_fixture_takes_precedence_over_an_option(project: Project) -> None:
    """A conftest decides what the project measures."""
    pytester = project([case("one")])
    pytester.makeconftest(
        """
        import pytest
        from pytest_crmeval import Score

        @pytest.fixture(scope="session")
        def scorers():
            return [lambda case, evidence: Score(name="mine", value=1.0)]
        """
    )

    pytester.runpytest("--crmeval-scorer", "state").assert_outcomes(passed=1)

    (trial,) = report_of(pytester.path)["trials"]
    assert ["mine"] == [score["name"] for score in trial["scores"]]


def test_verdict_needs_a_scorer(project: Project) -> None:
    """Without a score there is no success."""
    pytester = project([case("one")])
    pytester.makeconftest("import pytest\n@pytest.fixture(scope='session')\ndef scorers(): return []")

    pytester.runpytest().assert_outcomes(failed=1)

    assert ["errored"] == [trial["verdict"] for trial in report_of(pytester.path)["trials"]]


def test_hook_of_a_plugin_provides_agents(project: Project) -> None:
    """``pytest_crmeval_agent`` takes precedence for its own specs; the report uses the agent's name."""
    pytester = project([case("one")])
    pytester.makeconftest(
        """
        from bots import Half

        def pytest_crmeval_agent(config, spec):
            return Half() if spec == "acme:closer" else None
        """
    )

    pytester.runpytest("--crmeval-agent", "acme:closer", "-n", "1").assert_outcomes(passed=1)

    assert "half" == report_of(pytester.path)["results"][0]["subject"]


@WAYS
def test_hooks_receive_each_trial_and_the_report_once(project: Project, xdist: list[str]) -> None:
    pytester = project()
    pytester.makeconftest(
        """
        def pytest_crmeval_trial_finished(config, trial):
            print("heard", trial.planned.case, trial.verdict)

        def pytest_crmeval_report(config, report):
            print("report of", len(report.trials))
        """
    )

    said = pytester.runpytest("-s", *xdist).stdout.str()

    assert [1, 1, 1] == [said.count(f"heard {name} passed") for name in ("one", "two", "three")]
    assert 1 == said.count("report of 3")
