"""The trial of one pytest item: played by the item or prefetched, and added to its report."""

import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.agents.calling import agent_traceback
from pytest_crmeval.channel import ControllerGoneError, Dropped, StopPrefetch, Take
from pytest_crmeval.collect.case_item import CASE, CaseItem, case_of
from pytest_crmeval.collect.context import context_of
from pytest_crmeval.collect.prefetch import asks_controller, time_limit
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.player.context import SetupError
from pytest_crmeval.player.evaluation import Participants, Setting
from pytest_crmeval.player.kinds import Case
from pytest_crmeval.player.outcome import Outcome
from pytest_crmeval.player.subjects import learns
from pytest_crmeval.player.trial_record import WITHHELD, TrialRecord
from pytest_crmeval.questions.question import Question

_LEARNER = "a learning agent plays each conversation once, unchanged: call evaluate with the test's own conversation"
_BARE = "assert False\n +  where False = Trial("
"""The beginning of pytest's explanation of ``assert trial.passed``."""
_AGAIN = "the test evaluates something other than its case, so the prefetched result was discarded"


class ItemEvaluation:
    """The value of the ``evaluate`` fixture."""

    def __init__(self, item: pytest.Item, cast: Participants) -> None:
        self._item = item
        self._case = case = case_of(item)
        self._used = False
        self._is_ours = case.our_agent is cast.agent
        self._kind = case.param.kind
        if self._kind.has_agent and not self._is_ours:  # from a conftest
            case.planned = replace(case.planned, subject=str(cast.agent.name))
        trial_record = case.record = _trial_record(case)
        self._channel = context_of(item.config).services().channel
        self._asks_first = asks_controller(case)
        job = case.job
        setting = Setting(context_of(item.config), trial_record, job.where, job.settings)
        self._evaluation = self._kind.evaluation(setting, cast)

    def __call__(self, case: Case) -> Trial:
        """Return the trial and record it for this test; an invalid case is recorded and skipped."""
        if not isinstance(case, self._kind.case):
            raise pytest.UsageError(f"{self._item.nodeid}: evaluate takes the {self._kind.argument} of this test")
        if self._used:
            raise pytest.UsageError(f"{self._item.nodeid}: one test is one trial; call evaluate once")
        self._used = True
        __tracebackhide__ = True
        try:
            outcome = (self._taken(case) if self._asks_first else None) or self._played(case)
        except (Exception, SystemExit) as error:
            if frames := agent_traceback(error):  # the user's own code: show it without our frames
                raise error.with_traceback(frames)  # noqa: B904 (the same error)
            raise
        self._case.outcome = outcome
        self._case.finished, self._case.trial = time.time(), outcome.trial
        if outcome.exited:
            pytest.exit(outcome.exited)
        if outcome.skipped:
            pytest.skip(outcome.skipped)
        if outcome.failed or outcome.trial is None:
            raise pytest.fail.Exception(outcome.failed, pytrace=False)
        return outcome.trial

    def _taken(self, case: Case) -> Outcome | None:
        """Return the outcome of a prefetched case; None if it has to be played now."""
        key = self._case.planned.key
        state, content = self._channel.ask(Take(key, time_limit(self._item) is None))
        if state == "over":
            return Outcome(skipped="not run: the run was stopped")
        if state == "refused":
            raise pytest.UsageError(f"{self._item.nodeid}: {content[0].decode() or _LEARNER}")
        if state == "alone":
            return None
        if case != self._case.given or not self._is_ours:
            if learns(self._case.planned.spec):
                raise pytest.UsageError(f"{self._item.nodeid}: {_LEARNER}")
            self._item.warn(pytest.PytestWarning(_AGAIN))
            self._channel.tell(StopPrefetch(key))
            return None
        outcome = Outcome.received(*content, colored=context_of(self._item.config).colored)
        self._item.add_report_section("call", "log", outcome.log)
        limit = time_limit(self._item)
        if limit and outcome.seconds > limit:  # pytest-timeout has measured only the rest of it
            reason = f"Timeout (>{limit:g}s): the {self._kind.argument} took {outcome.seconds:.1f} s"
            return replace(outcome, failed=reason)
        return outcome

    def _played(self, case: Case) -> Outcome:
        """Play now, and record it at once, because it may have cost something."""
        # An interrupt does not wait for a solution file: its verdicts so far are kept.
        waits = self._asks_first and self._kind.has_agent
        with context_of(self._item.config).services().finishing() if waits else nullcontext():
            try:
                outcome = self._evaluation(case)
                _send(self._case, outcome)
            except BaseException:  # also after Ctrl-C, even while it is being sent: no item may wait for it
                if self._asks_first:
                    self._channel.tell(Dropped(self._case.planned.key))
                raise
        return outcome


def _send(case: CaseItem, outcome: Outcome) -> None:
    """Send the trial of an item to be recorded."""
    if outcome.trial is not None and case.record is not None:
        context = context_of(case.item.config)
        context.services().channel.tell(
            outcome.message(case.planned.key, case.record.files, context.redactor, in_item=True)
        )


def finish_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Add the verdict of our item to its report, without confidential content."""
    if case := item.stash.get(CASE, None):
        _attach_trial(case, call, report)
        _conceal(case, call, report)
        if call.when == "teardown":
            case.forget()


def _attach_trial(case: CaseItem, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Add the verdict of a case to the report of its item; a test that failed before its trial has an ERRORED one."""
    if report.when == "setup" and case.finished < call.start:
        case.trial, case.finished, case.reported = None, 0.0, False  # the test starts, perhaps not for the first time
    if case.reported:
        return
    if report.when == "call" and report.skipped and not case.finished and case.may_be_ahead:
        # The test skips itself, and may do so for other cases.
        context_of(case.item.config).services().channel.tell(StopPrefetch(case.planned.key))
    trial = case.trial
    if trial is None and report.failed and call.excinfo is not None:
        case.record = case.record or _trial_record(case)
        trial = case.record.closed_broken(_reason(call.excinfo, case.record), call.duration)
        _send(case, Outcome(trial=trial))
    elif report.when != "call" and not (report.when == "setup" and report.skipped):
        return
    if trial is not None:
        vars(report)["crmeval_verdict"] = str(trial.verdict)
        if not options_of(case.item.config).verbose:
            _shorten_failure(report, call, trial)
        _note_properties(case.item, report, trial)
        if case.outcome and case.outcome.seconds:
            report.duration = case.outcome.seconds  # its own duration, not the time that the item has waited for it
        case.trial, case.finished, case.reported = None, call.stop, True  # a worker has thousands of items


def _shorten_failure(report: pytest.TestReport, call: pytest.CallInfo[None], trial: Trial) -> None:
    """Show only the dialogue if a test failed because it asserts that its trial passed.

    The source of the test and ``assert False`` with the repr of the trial add nothing. Turns that passed are folded.
    Any other failure keeps the text of pytest.
    """
    error = call.excinfo.value if call.excinfo else None
    if trial.verdict is not Verdict.FAILED or not isinstance(error, AssertionError):
        return
    said = str(error)
    if said.startswith(_BARE) or said.partition("\n")[0] == trial.explain().partition("\n")[0]:
        report.longrepr = trial.explain(folded=True)


def _note_properties(item: pytest.Item, report: pytest.TestReport, trial: Trial) -> None:
    """Add the case, its scores and its cost to the properties in JUnit XML."""
    planned = trial.planned
    ours = [
        ("crmeval_suite", planned.suite),
        ("crmeval_subject", planned.subject),
        ("crmeval_case", planned.case),
        ("crmeval_verdict", str(trial.verdict)),
        *((f"crmeval_score_{score.name}", score.value) for score in trial.scores),
    ]
    if planned.trial > 1:
        ours.append(("crmeval_trial", planned.trial))
    if trial.bill and trial.bill.cost is not None:
        ours.append(("crmeval_cost", round(trial.bill.cost, 8)))
    kept = [pair for pair in item.user_properties if not str(pair[0]).startswith("crmeval_")]
    item.user_properties[:] = [*kept, *ours]  # a repeated test has another trial
    report.user_properties = list(item.user_properties)


def _conceal(case: CaseItem, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Remove all output of a confidential test, and of code that it called, from a report.

    Searching for quotes would not be enough: pytest shortens what it shows, so a part of a secret may be left.
    """
    if not case.param.ref.confidential:
        return
    report.sections = [(name, f"({WITHHELD})\n") for name, _ in report.sections]
    given = case.given
    texts = [given.text, given.answer, *given.aliases, *given.choices] if isinstance(given, Question) else []
    texts += [message.text for message in case.record.said] if case.record else []
    secrets = tuple(line for text in texts for line in map(str.strip, text.splitlines()) if line)
    report.user_properties = [
        (name, WITHHELD if any(secret in str(value) for secret in secrets) else value)
        for name, value in report.user_properties
    ]
    if report.failed or (report.skipped and hasattr(report, "wasxfail")):
        report.longrepr = _publishable(case, call, report)
    if case.given is None:  # a reason can't quote a case that was not read
        return
    if hasattr(report, "wasxfail"):
        report.wasxfail = WITHHELD
    elif isinstance(report.longrepr, tuple):
        report.longrepr = (*report.longrepr[:2], f"Skipped: {_publishable(case, call, report)}")


def _publishable(case: CaseItem, call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    """Return what may be shown of a failed confidential test: our own message, or the error's type and location."""
    outcome, error = case.outcome or Outcome(), call.excinfo
    if error and (str(error.value) in {outcome.failed, outcome.skipped} - {""} or _is_misuse(error)):
        return str(error.value)
    crash = getattr(report.longrepr, "reprcrash", None)
    place = f" in {Path(crash.path).name}:{crash.lineno}" if crash else ""
    shown = f"{error.typename if error else report.outcome}{place} ({WITHHELD})"
    return f"{shown}\n{outcome.trial.explain()}" if report.failed and outcome.trial else shown


def _is_misuse(error: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether an error is our own message about incorrect use."""
    module = str(error.traceback[-1].frame.f_globals.get("__name__"))
    return isinstance(error.value, pytest.UsageError | ControllerGoneError | SetupError) and module.startswith(
        "pytest_crmeval."
    )


def _trial_record(case: CaseItem) -> TrialRecord:
    job = case.job
    return TrialRecord(context_of(case.item.config), job.planned, job.file_name, confidential=job.ref.confidential)


def _reason(excinfo: pytest.ExceptionInfo[BaseException], trial_record: TrialRecord) -> str:
    """Return why a test failed before its trial was finished."""
    if trial_record.is_confidential:
        return f"{excinfo.typename} ({WITHHELD})"
    if isinstance(excinfo.value, pytest.FixtureLookupError):
        return f"fixture {excinfo.value.argname!r} not found"
    ours = isinstance(excinfo.value, pytest.fail.Exception)
    return str(excinfo.value) if ours else excinfo.exconly()
