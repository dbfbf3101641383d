"""The trial of one pytest item: played in it, or taken because it was played ahead; and put on its report."""

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.collect.cases import PLANNED, job_of, param_of
from pytest_crmeval.collect.context import context_of
from pytest_crmeval.collect.keys import AHEAD, FINISHING, GIVEN, OUR_AGENT
from pytest_crmeval.collect.prefetch import MAY_BE_AHEAD, is_told, time_limit
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.player.context import SetupError
from pytest_crmeval.player.evaluation import Participants, Setting
from pytest_crmeval.player.kinds import Case
from pytest_crmeval.player.outcome import Ending, Outcome
from pytest_crmeval.player.queue_client import ControllerGoneError
from pytest_crmeval.player.trial_record import WITHHELD, TrialRecord
from pytest_crmeval.questions.question import Question

_TRIAL = pytest.StashKey[tuple[float, Trial | None]]()
"""The trial of an item until it is told, and when it was made."""
_TOLD = pytest.StashKey[bool]()
_TRIAL_RECORD = pytest.StashKey[TrialRecord]()
_ENDING = pytest.StashKey[Ending]()
"""How the evaluation of an item ended: of a confidential one nothing in it is secret."""
_TAKEN = pytest.StashKey[Outcome]()
"""What was played ahead."""
_AGAIN = "the test evaluates something else than it was given: what was played ahead was of no use"


class ItemEvaluation:
    """What the ``evaluate`` fixture gives to a test."""

    def __init__(self, item: pytest.Item, cast: Participants) -> None:
        self._item = item
        self._used = False
        self._is_ours = item.stash.get(OUR_AGENT, None) is cast.agent
        self._kind = param_of(item).kind
        if self._kind.has_agent and not self._is_ours:  # a conftest brings its own
            item.stash[PLANNED] = replace(item.stash[PLANNED], subject=str(cast.agent.name))
        trial_record = item.stash[_TRIAL_RECORD] = _trial_record(item)
        self._ahead = item.config.stash[AHEAD]() if is_told(item) else None
        job = job_of(item)
        setting = Setting(context_of(item.config), trial_record, job.where, job.settings)
        self._evaluation = self._kind.evaluation(setting, cast)

    def __call__(self, case: Case) -> Trial:
        """Return the trial, and record it as this test's; a case that nobody can pass is recorded and skipped."""
        if not isinstance(case, self._kind.case):
            raise pytest.UsageError(f"{self._item.nodeid}: evaluate takes the {self._kind.argument} of this test")
        if self._used:
            raise pytest.UsageError(f"{self._item.nodeid}: one test is one trial; call evaluate once")
        self._used = True
        ending = self._taken(case) or self._played(case)
        self._item.stash[_ENDING] = ending
        self._item.stash[_TRIAL] = (time.time(), ending.trial)
        if ending.exited:
            pytest.exit(ending.exited)
        if ending.skipped:
            pytest.skip(ending.skipped)
        if ending.failed or ending.trial is None:
            raise pytest.fail.Exception(ending.failed, pytrace=False)
        return ending.trial

    def _taken(self, case: Case) -> Ending | None:
        """Return how the case ended when it was played ahead; None if it is to be played now."""
        if self._ahead is None:
            return None
        ahead, key = self._ahead, self._item.stash[PLANNED].key
        told, record = ahead.take(key, patient=time_limit(self._item) is None)
        if told == "over":
            return Ending(skipped="not run: the run was stopped")
        if record is None:
            return None
        if case != self._item.stash[GIVEN] or not self._is_ours:
            self._item.warn(pytest.PytestWarning(_AGAIN))
            ahead.leave(key)
            return None
        outcome = self._item.stash[_TAKEN] = Outcome.from_dict(record, colored=context_of(self._item.config).colored)
        self._item.add_report_section("call", "log", outcome.log)
        return self._in_time(outcome)

    def _in_time(self, outcome: Outcome) -> Ending:
        """Fail a test whose case took longer than the test may; pytest-timeout has seen only the rest of it."""
        limit = time_limit(self._item)
        if limit and outcome.seconds > limit:
            told = f"Timeout (>{limit:g}s): the {self._kind.argument} took {outcome.seconds:.1f} s"
            return replace(outcome.ending, failed=told)
        return outcome.ending

    def _played(self, case: Case) -> Ending:
        """Play now, and have it recorded at once: what was paid for is not to be lost on its way to the report."""
        if self._ahead is None:
            return self._evaluation(case)
        key, config = self._item.stash[PLANNED].key, self._item.config
        # A solution file is not finished first: what it has judged so far is kept.
        with config.stash[FINISHING]() if self._kind.has_agent else nullcontext():
            try:
                ending = self._evaluation(case)
                self._ahead.finish(key, Outcome(ending=ending).to_dict(context_of(config).redactor))
            except BaseException:  # also Ctrl-C, even during the write: no item may wait for it
                self._ahead.drop(key)
                raise
        return ending


def attach_trial(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Put the trial of ``item`` on its report; what broke before there was a trial is an ERRORED one."""
    if PLANNED not in item.stash:
        return
    made, trial = item.stash.get(_TRIAL, (0.0, None))
    if report.when == "setup" and made < call.start:
        trial, item.stash[_TOLD] = None, False  # somebody runs the test, perhaps again
    if item.stash.get(_TOLD, False):
        return
    if report.when == "call" and report.skipped and _TRIAL not in item.stash and item.stash.get(MAY_BE_AHEAD, False):
        item.config.stash[AHEAD]().leave(item.stash[PLANNED].key)  # its test skips itself: others of it may, too
    if trial is None and report.failed and call.excinfo is not None:
        trial_record = item.stash[_TRIAL_RECORD] if _TRIAL_RECORD in item.stash else _trial_record(item)
        trial = trial_record.closed_broken(_reason(call.excinfo, trial_record), call.duration)
    elif report.when != "call" and not (report.when == "setup" and report.skipped):
        return
    if trial is not None:
        vars(report)["crmeval_trial"] = trial.to_dict()  # xdist carries what is JSON
        _note_properties(item, report, trial)
        if _TAKEN in item.stash:
            report.duration = item.stash[_TAKEN].seconds  # its own, not the time that the item has waited for it
        item.stash[_TRIAL], item.stash[_TOLD] = (call.stop, None), True  # a worker has thousands of items


def _note_properties(item: pytest.Item, report: pytest.TestReport, trial: Trial) -> None:
    """Have JUnit XML tell what was evaluated, how it was scored, and what it cost."""
    planned = trial.planned
    told = [
        ("crmeval_suite", planned.suite),
        ("crmeval_subject", planned.subject),
        ("crmeval_case", planned.case),
        ("crmeval_verdict", str(trial.verdict)),
        *((f"crmeval_score_{score.name}", score.value) for score in trial.scores),
    ]
    if planned.trial > 1:
        told.append(("crmeval_trial", planned.trial))
    if trial.bill and trial.bill.cost is not None:
        told.append(("crmeval_cost", round(trial.bill.cost, 8)))
    kept = [pair for pair in item.user_properties if not str(pair[0]).startswith("crmeval_")]
    item.user_properties[:] = [*kept, *told]  # a test that is run again has another trial
    report.user_properties = list(item.user_properties)


def conceal(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Take out of a report what is nobody's business: all that a confidential test, or what it called, has said.

    Nobody searches for quotes: pytest shortens what it shows, so a part of a secret is as likely as the whole.
    """
    if PLANNED not in item.stash or not param_of(item).ref.confidential:
        return
    report.sections = [(name, f"({WITHHELD})\n") for name, _ in report.sections]
    secrets = tuple(_secrets(item))
    report.user_properties = [
        (name, WITHHELD if _quotes(value, secrets) else value) for name, value in report.user_properties
    ]
    if report.failed or (report.skipped and hasattr(report, "wasxfail")):
        report.longrepr = _tellable(item, call, report)
    if GIVEN not in item.stash:  # reasons of who has not seen the case can't quote it
        return
    if hasattr(report, "wasxfail"):
        report.wasxfail = WITHHELD
    elif isinstance(report.longrepr, tuple):
        report.longrepr = (*report.longrepr[:2], f"Skipped: {_tellable(item, call, report)}")


def _tellable(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    """Return what may be told of the end of a confidential test: what we have said, or what it was, and where."""
    ending, error = item.stash.get(_ENDING, Ending()), call.excinfo
    if error and (str(error.value) in {ending.failed, ending.skipped} - {""} or _is_misuse(error)):
        return str(error.value)
    crash = getattr(report.longrepr, "reprcrash", None)
    place = f" in {Path(crash.path).name}:{crash.lineno}" if crash else ""
    told = f"{error.typename if error else report.outcome}{place} ({WITHHELD})"
    return f"{told}\n{ending.trial.explain()}" if report.failed and ending.trial else told


def _is_misuse(error: pytest.ExceptionInfo[BaseException]) -> bool:
    """Whether it is us who tell how something is to be used."""
    module = str(error.traceback[-1].frame.f_globals.get("__name__"))
    return isinstance(error.value, pytest.UsageError | ControllerGoneError | SetupError) and module.startswith(
        "pytest_crmeval."
    )


def _quotes(value: object, secrets: Sequence[str]) -> bool:
    told = str(value)
    return any(secret in told for secret in secrets)


def _secrets(item: pytest.Item) -> Iterator[str]:
    """Yield what nobody may quote, line by line."""
    case = item.stash.get(GIVEN, None)
    if isinstance(case, Question):
        yield from (line for text in (case.text, case.answer, *case.aliases, *case.choices) for line in _lines(text))
    if _TRIAL_RECORD in item.stash:
        yield from (line for message in item.stash[_TRIAL_RECORD].said for line in _lines(message.text))


def _lines(text: str) -> Iterator[str]:
    return (line for line in map(str.strip, text.splitlines()) if line)


def forget_trial(item: pytest.Item) -> None:
    """Let go of whoever has played, and of what was said: pytest keeps every item to the end."""
    keys: Sequence[pytest.StashKey[Any]] = (OUR_AGENT, GIVEN, _TRIAL_RECORD, _ENDING, _TAKEN)
    for key in keys:
        if key in item.stash:
            del item.stash[key]


def _trial_record(item: pytest.Item) -> TrialRecord:
    job = job_of(item)
    return TrialRecord(context_of(item.config), job.planned, job.file_name, confidential=job.ref.confidential)


def _reason(excinfo: pytest.ExceptionInfo[BaseException], trial_record: TrialRecord) -> str:
    if trial_record.is_confidential:
        return f"{excinfo.typename} ({WITHHELD})"
    ours = isinstance(excinfo.value, pytest.fail.Exception)
    return str(excinfo.value) if ours else excinfo.exconly()
