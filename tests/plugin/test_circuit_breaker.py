"""A model that stops answering is paused, probed and abandoned."""

from collections.abc import Callable
from itertools import count
from threading import Event, Lock

import pytest

from pytest_crmeval.models.limits import breaker
from tests.atlas_models import answer_by_role, stream
from tests.plugin.test_inflight import many
from tests.projects import report_of
from tests.providers.answers import Answer, Hang, Status
from tests.providers.loopback import Loopback, Seen, chatty_brain, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
IN_FLIGHT = 4
PATIENCE = 300.0
ONCE = ("--crmeval-agent", "openai:m?retries=0", "--crmeval-inflight", str(IN_FLIGHT))
FEW = "crmeval_max_failures = 5"


class Failing:
    """A brain that stops answering after some calls, until it is repaired."""

    def __init__(self, calls: int, answer: Answer) -> None:
        self._numbers = count(1)
        self._calls = calls
        self._answer = answer
        self.repaired = Event()
        self.failed = 0

    def __call__(self, seen: Seen) -> Answer:
        """Answer the first calls, then fail."""
        if next(self._numbers) <= self._calls or self.repaired.is_set():
            return crm_brain(seen)
        self.failed += 1
        return self._answer


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the probe intervals; the test's process owns the run and decides for all workers."""
    monkeypatch.setattr(breaker, "BACKOFF", (0.01, 0.01, 0.01))


def test_provider_that_breaks_down_is_abandoned_and_a_resumed_run_plays_the_rest(
    project: Project, providers: Providers
) -> None:
    """Calls are made until the failure limit, plus those in flight and the probes; the rest is not run."""
    brain = Failing(20, Status(500, "out of order"))
    providers(brain)
    pytester = project(many(60), ini=FEW)
    run = (*ONCE, "--crmeval-run", "broken", "-n", "2")

    broken = pytester.runpytest(*run)
    (summary,) = report_of(pytester.path)["results"]
    failed = brain.failed
    brain.repaired.set()
    resumed = pytester.runpytest(*run)

    assert pytest.ExitCode.TESTS_FAILED == broken.ret
    assert summary["passed"] > 0
    assert 60 == summary["passed"] + summary["errored"] + summary["not_run"]
    assert failed < 5 + 2 * IN_FLIGHT * 2 + 3
    assert summary["not_run"] > 10
    broken.stdout.fnmatch_lines(
        ["openai:m[?]* was stopped: given up: openai:m: no answer to * consecutive calls and 3 probes: *"]
    )
    assert pytest.ExitCode.OK == resumed.ret
    assert 60 == report_of(pytester.path)["results"][0]["passed"]


def test_provider_that_never_answers_is_abandoned(project: Project, providers: Providers) -> None:
    """Without xdist; each call has a limit of two seconds."""
    providers(Failing(20, Hang()))
    pytester = project(many(60), ini=FEW)

    result = pytester.runpytest(ONCE[0], f"{ONCE[1]}&timeout=2", *ONCE[2:], "-p", "no:xdist")

    assert report_of(pytester.path)["results"][0]["not_run"] > 10
    result.stdout.fnmatch_lines(
        ["openai:m[?]* was stopped: given up: openai:m: no answer to * consecutive calls and 3 probes: *"]
    )


def test_short_outage_only_pauses_the_model(project: Project, providers: Providers) -> None:
    """The first answered probe releases all other calls."""
    brain = Failing(4, Status(500))

    def recovering(seen: Seen) -> Answer:
        if brain.failed >= 6:
            brain.repaired.set()
        return brain(seen)

    providers(recovering)
    pytester = project(many(30), ini=FEW)

    pytester.runpytest(*ONCE, "-p", "no:xdist")

    (summary,) = report_of(pytester.path)["results"]
    assert 0 == summary["not_run"]
    assert 6 <= summary["errored"] < 6 + IN_FLIGHT


def test_other_models_continue_when_one_is_abandoned(project: Project, providers: Providers) -> None:
    providers(lambda seen: Status(500) if seen.model == "m" else crm_brain(seen))
    pytester = project(many(20), ini=FEW)

    pytester.runpytest(*ONCE, "--crmeval-agent", "openai:n?retries=0", "-n", "1")

    summaries = {summary["subject"]: summary for summary in report_of(pytester.path)["results"]}
    assert 20 == summaries["openai:n?retries=0"]["passed"]
    assert summaries["openai:m?retries=0"]["not_run"] > 0


class BadAndGood:
    """A brain whose model m fails three times and then stops answering until model n has played all its cases."""

    def __init__(self, cases: int) -> None:
        self._lock = Lock()
        self._failed = self._played = 0
        self._cases = cases
        self._probed, self._done = Event(), Event()
        self.in_time = True

    def __call__(self, seen: Seen) -> Answer:
        """Let n wait until m is probed, and m until n has finished."""
        if seen.model == "n":
            self._probed.wait(PATIENCE)
            with self._lock:
                self._played += bool(seen.results)
                if self._played == self._cases:
                    self._done.set()
            return crm_brain(seen)
        with self._lock:
            self._failed += 1
            fails = self._failed <= 3
        if fails:
            return Status(500)
        self._probed.set()
        self.in_time = self._done.wait(PATIENCE) and self.in_time
        return crm_brain(seen)


@pytest.mark.parametrize("xdist", [["-p", "no:xdist"], ["-n", "1"]], ids=["one-process", "worker"])
def test_cases_of_a_paused_model_leave_the_slots_to_other_agents(
    project: Project, providers: Providers, xdist: list[str]
) -> None:
    brain = BadAndGood(20)
    providers(brain)
    pytester = project(many(20), ini="crmeval_max_failures = 3")
    bad, good = "openai:m?retries=0&timeout=300", "openai:n?timeout=300"

    pytester.runpytest("--crmeval-agent", bad, "--crmeval-agent", good, "--crmeval-inflight", str(IN_FLIGHT), *xdist)

    summaries = {summary["subject"]: summary for summary in report_of(pytester.path)["results"]}
    assert brain.in_time
    assert 20 == summaries[good]["passed"]
    assert (17, 3) == (summaries[bad]["passed"], summaries[bad]["errored"])


def test_learner_whose_model_breaks_down_is_abandoned(project: Project, providers: Providers) -> None:
    """It plays one case at a time, so failures come one at a time."""
    server = providers(lambda seen: Status(500) if "Firm1" in str(seen.body) else answer_by_role(seen))
    pytester = project(stream(30), ini=FEW)
    student = "atlas?student=openai:m;retries=0&teacher=openai:m;retries=0"

    pytester.runpytest("--crmeval-agent", student, "-n", "1")

    (summary,) = report_of(pytester.path)["results"]
    assert summary["not_run"] > 10
    assert len(server.seen) < 100


def test_judge_that_breaks_down_stops_the_run(project: Project, providers: Providers) -> None:
    providers(lambda seen: Status(500) if seen.model == "j" else chatty_brain(seen))
    pytester = project(many(30), ini=FEW)

    result = pytester.runpytest(*ONCE, "--crmeval-judge", "openai:j?samples=1&retries=0", "-n", "1")

    result.stdout.fnmatch_lines(["the run was stopped: given up: openai:j: no answer to *; * cases were not run"])


def test_negative_max_failures_is_refused(project: Project) -> None:
    """0 turns the breaker off."""
    result = project(ini="crmeval_max_failures = -1").runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*crmeval_max_failures = -1: must be a whole number of at least 0*"])
