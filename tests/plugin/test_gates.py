"""Gates decide the exit status."""

import json
from collections.abc import Callable

import pytest

from tests.projects import case, failing

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
GATE = "crmeval_gates = crm.pass_rate >= 0.60"
HALF = ("--crmeval-agent", "bots:Half")


def cases(passing: int, wrong: int) -> list[dict[str, object]]:
    """Return cases of which ``bots:Half`` passes and fails the given numbers."""
    return [case(f"right-{n}") for n in range(passing)] + [failing(f"wrong-{n}") for n in range(wrong)]


@WAYS
def test_gate_forgives_failed_trials(project: Project, xdist: list[str]) -> None:
    """The exit status is 0 if the pass rate meets the gate, despite failed tests."""
    result = project(cases(7, 2), ini=GATE).runpytest(*HALF, *xdist)

    result.assert_outcomes(passed=7, failed=2)
    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate crm.pass_rate >= 0.60: holds (pass_rate is 0.778*)",
            "all gates hold, so failed cases do not affect the exit status",
        ]
    )


def test_breached_gate_fails_the_run(project: Project) -> None:
    """The summary says why."""
    result = project(cases(1, 1), ini=GATE).runpytest(*HALF)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["gate crm.pass_rate >= 0.60: BREACHED (pass_rate is 0.500; *margin -0.100; inconclusive: about * more cases *"]
    )


def test_gate_can_fail_a_run_whose_tests_pass(project: Project) -> None:
    """A test without assertions does not help."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        evaluate(conversation)
    """

    result = project(cases(0, 3), ini=GATE, test=test).runpytest(*HALF)

    result.assert_outcomes(passed=3)
    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_errored_trial_is_not_forgiven(project: Project) -> None:
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        if conversation.id == "right-0":
            raise ConnectionError("no route to model")
        assert evaluate(conversation).passed
    """

    result = project(cases(5, 0), ini=GATE, test=test).runpytest("-p", "no:xdist")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate crm.pass_rate >= 0.60: holds*"])


def test_failed_unit_test_is_not_forgiven(project: Project) -> None:
    """It has no trial."""
    pytester = project(cases(3, 0), ini=GATE)
    pytester.makepyfile(test_other="def test_other(): assert False")

    assert pytest.ExitCode.TESTS_FAILED == pytester.runpytest(*HALF, "-p", "no:xdist").ret


def test_failed_assertion_after_a_passed_trial_is_not_forgiven(project: Project) -> None:
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        assert evaluate(conversation).seconds < 0
    """

    assert pytest.ExitCode.TESTS_FAILED == project(cases(3, 0), ini=GATE, test=test).runpytest().ret


def test_failed_teardown_is_not_forgiven(project: Project) -> None:
    """The failed trial alone would be forgiven."""
    test = """
    import pytest

    @pytest.fixture
    def untidy():
        yield
        raise OSError("disk full")

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate, untidy):
        assert evaluate(conversation).passed
    """

    result = project(cases(3, 1), ini=GATE, test=test).runpytest(*HALF)

    result.assert_outcomes(passed=3, failed=1, errors=4)
    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_file_that_cannot_be_collected_is_not_forgiven(project: Project) -> None:
    """It might contain the cases that fail."""
    pytester = project(cases(3, 0), ini=GATE)
    pytester.makepyfile(test_other="import nowhere")

    result = pytester.runpytest("--continue-on-collection-errors", "-p", "no:xdist")

    result.assert_outcomes(passed=3, errors=1)
    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_incomplete_run_cannot_pass(project: Project) -> None:
    """Four of five passed, but the missing one was planned."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        if conversation.id == "right-0":
            pytest.skip("not today")
        assert evaluate(conversation).passed
    """

    result = project(cases(5, 0), ini=GATE, test=test).runpytest()

    result.assert_outcomes(passed=4, skipped=1)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate crm.pass_rate >= 0.60: BREACHED (1 of 5 cases were not run)"])


def test_failure_reported_by_another_plugin_is_not_forgiven(project: Project) -> None:
    """Low coverage, for example, counts like a failed test."""
    pytester = project(cases(7, 2), ini=GATE)
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtestloop(session):
            yield
            session.testsfailed += 1
            return True
        """
    )

    assert pytest.ExitCode.TESTS_FAILED == pytester.runpytest(*HALF).ret


def test_exit_status_set_by_another_plugin_is_kept(project: Project) -> None:
    pytester = project(cases(3, 0), ini=GATE)
    pytester.makeconftest("def pytest_sessionfinish(session): session.exitstatus = 1")

    assert pytest.ExitCode.TESTS_FAILED == pytester.runpytest(*HALF).ret


@pytest.mark.parametrize("agent", ["oracle", "bots:Half"])
def test_exit_status_set_by_another_plugin_is_kept_with_a_forgiven_trial(project: Project, agent: str) -> None:
    pytester = project(cases(7, 1), ini=GATE)
    pytester.makeconftest("def pytest_sessionfinish(session): session.exitstatus = 1")

    assert pytest.ExitCode.TESTS_FAILED == pytester.runpytest("--crmeval-agent", agent).ret


@pytest.mark.parametrize("agent", ["oracle", "bots:Half"])
def test_unused_snapshot_is_not_forgiven(project: Project, monkeypatch: pytest.MonkeyPatch, agent: str) -> None:
    """Syrupy fails the run for it, with and without gates."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # syrupy leaves the judgement to the controller
    pytester = project(cases(7, 1), ini=GATE, plugin="syrupy")
    pytester.makepyfile(test_other="def test_other(snapshot): assert snapshot == 1; assert snapshot == 2")
    pytester.runpytest("--snapshot-update", "test_other.py")
    pytester.makepyfile(test_other="def test_other(snapshot): assert snapshot == 1")

    assert pytest.ExitCode.TESTS_FAILED == pytester.runpytest("--crmeval-agent", agent).ret


@pytest.mark.parametrize("missing", ["skip", "-x"])
def test_incomplete_suite_without_a_gate_cannot_pass(project: Project, missing: str) -> None:
    """The run is incomplete, whichever suite the gates are about."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        assert evaluate(conversation).passed

    @pytest.mark.conversations("other.jsonl")
    def test_other(conversation, evaluate, request):
        if conversation.id == "right-1" and not request.config.option.maxfail:
            pytest.skip("not today")
        assert evaluate(conversation).passed
    """
    pytester = project(cases(3, 0), ini=GATE, test=test)
    others = [failing("wrong-0"), case("right-1")] if missing == "-x" else [case("right-0"), case("right-1")]
    (pytester.path / "other.jsonl").write_text("".join(json.dumps(other) + "\n" for other in others))

    result = pytester.runpytest(*HALF, "-p", "no:xdist", *(["-x"] if missing == "-x" else []))

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate crm.pass_rate >= 0.60: holds*", "the run is incomplete: no gate can pass"])


def test_without_a_gate_a_test_without_assertions_passes(project: Project) -> None:
    """The exit status is pytest's own; the report still has the verdicts."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl", suite="crm")
    def test_conversation(conversation, evaluate):
        evaluate(conversation)
    """

    assert pytest.ExitCode.OK == project(cases(0, 3), test=test).runpytest(*HALF).ret


def test_without_a_gate_the_exit_status_is_pytests_own(project: Project) -> None:
    assert pytest.ExitCode.TESTS_FAILED == project(cases(7, 1)).runpytest(*HALF).ret
    assert pytest.ExitCode.OK == project(cases(7, 0)).runpytest(*HALF).ret


def test_gate_on_a_missing_suite_is_breached(project: Project) -> None:
    """A misspelt suite must not pass silently."""
    result = project(cases(3, 0), ini="crmeval_gates = cmr.pass_rate >= 0.60").runpytest()

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate cmr.pass_rate >= 0.60: BREACHED (the run has no suite 'cmr')"])


def test_gates_are_not_evaluated_if_no_case_is(project: Project) -> None:
    """Unit tests of a project with gates run as usual."""
    pytester = project(ini=GATE)
    pytester.makepyfile(test_other="def test_other(): pass")

    result = pytester.runpytest("test_other.py")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.no_fnmatch_line("gate *")


@WAYS
def test_gate_decides_after_syrupy(project: Project, xdist: list[str]) -> None:
    """Syrupy ORs the old exit status back in; it is installed and active here."""
    pytester = project(cases(7, 2), ini=GATE, plugin="syrupy")
    pytester.makepyfile(test_other="def test_other(snapshot): assert snapshot == 1")
    pytester.runpytest("--snapshot-update", "test_other.py")

    assert pytest.ExitCode.OK == pytester.runpytest(*HALF, *xdist).ret


def test_usage_error_keeps_its_exit_status(project: Project) -> None:
    """A gate does not turn another exit status into success."""
    assert pytest.ExitCode.USAGE_ERROR == project(ini=GATE).runpytest("nowhere.py").ret
