"""On the controller: trials in; journal, report and gate out."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock

import pytest

from pytest_crmeval.agents.atlas.specs import is_atlas
from pytest_crmeval.controller.counting import counted, group_of, outcome_of
from pytest_crmeval.controller.gates import GateEvaluation
from pytest_crmeval.controller.header import announcement, counts, endings, omissions, stops
from pytest_crmeval.controller.job_file import JobFile
from pytest_crmeval.controller.job_log import JobLog
from pytest_crmeval.controller.locking import RunLock
from pytest_crmeval.controller.page import write_page
from pytest_crmeval.controller.parts import check_rules, facts_of, part_of
from pytest_crmeval.controller.playbooks import RunPlaybooks
from pytest_crmeval.controller.session_end import SessionEnd
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.journal import writer as journal
from pytest_crmeval.journal.following import Follower, UnreadableError
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.progress import Progress, Tally
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.shared_control import SharedControl
from pytest_crmeval.options.reading import is_dry_run, options_of
from pytest_crmeval.render import comparison as contrasts
from pytest_crmeval.render import learning as curves
from pytest_crmeval.render import summary
from pytest_crmeval.render.github import annotations, write_summary
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.batch_results import write_batch
from pytest_crmeval.report.costs import lines as bill_lines
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.scope import LeftOut

CHANGES = 5
"""How many cases of a list of changes are shown at the end of a run."""
LEAST = 1e-4
"""Dollars; less is what rounding leaves."""


class Recorder:
    """Keeps the books of one run."""

    def __init__(
        self,
        config: pytest.Config,
        ready: Callable[[], object],
        server: Callable[[], str],
        control: SharedControl,
    ) -> None:
        self._config = config
        self._options = options_of(config)
        self._ready = ready
        self._server = server
        self._control = control
        self._planned: dict[str, PlannedCase] = {}
        self._played: set[str] = set()
        self._reported: set[str] = set()
        """Whose test has ended."""
        self._early: dict[str, Trial] = {}
        """What is on record though its item has not been reported."""
        self._guard = RLock()
        self.playbooks = RunPlaybooks(self._options)
        self._tally = Tally()
        self._lock = RunLock(config.pluginmanager, self._options.folder)
        self._job = JobFile(self._options.folder)
        self.log = JobLog(config, self._options.folder)
        self._journal: journal.Journal | None = None
        self._closed = self._interrupted = False
        self._report: Report | None = None
        self._gates = GateEvaluation(config)
        self._end = SessionEnd(config, lambda: self.has_begun)
        config.pluginmanager.register(self._end, "crmeval-session-end")
        self._forgivable = 0
        self._forgiven = False
        self._trouble = self._full = self._unsaid = self._page = ""
        self.dealt: JsonObject = {}
        """What the shard of this invocation is a part of; nothing if there are no shards."""
        self.forecast: Sequence[str] = ()
        """What the run would take, when it is only estimated."""
        self.ahead = ""
        """How many cases are in flight, for people; empty if that is nothing special."""
        self.left_out: LeftOut = {}
        """What is not played at all."""
        self.sandbox = ""
        """Where programs run, for people; empty if there are none."""
        self.telemetry = ""
        """Where learners have written down what they did, for people; empty if there are none."""
        self.lacking: Callable[[], str] = str
        """Returns why there were fewer."""

    @cached_property
    def past(self) -> journal.Past:
        """What earlier parts of this run have done, read once."""
        if not self._options.resumable:
            return journal.Past()
        if not is_dry_run(self._config):
            self._lock.take()
        try:
            return journal.read(self._path)
        except journal.JournalError as error:
            raise pytest.UsageError(f"crmeval: {error}") from error

    @property
    def done(self) -> set[tuple[str, ...]]:
        """Cases, with their content and agent, that need not be played again; what errored or broke is repeated.

        A case that is invalid stays so until its content changes, unless it is to be played all the same. What somebody
        has learnt from is not played again.
        """
        repeated = {Verdict.ERRORED, *([Verdict.INVALID] if self._options.play_invalid else [])}
        return {
            (trial.planned.key, trial.planned.fingerprint, trial.planned.spec)
            for trial in self.past.trials.values()
            if trial.verdict not in repeated
            and (trial.planned.key not in self.past.red or (trial.lesson and trial.lesson.learns))
        }

    def plan(self, cases: Sequence[tuple[str, PlannedCase]]) -> None:
        """Know what is to be played, by the node id that it is scheduled under."""
        self._planned = self._planned or dict(cases)

    def begin(self) -> None:
        """Wait for the server and open the journal, once, before the first case is played."""
        if self._journal or is_dry_run(self._config) or not (self._planned or self.past.trials or self._is_dealt):
            return
        check_rules(self.past.parts, self._options, self.dealt)
        self._gates.summon()
        self.playbooks.begin(self.past.parts, self.past.trials.values(), self._planned.values())
        done = len(self.done)
        if self._planned:
            self._ready()
        self._control.spend(self.past.spent)
        for trial in self.past.trials.values() if self._options.budget else ():
            self._control.learn(trial.planned.spec, journal.spent_on(trial))
        self._journal = self._opened()
        if self._config.option.verbose >= 0:
            told = announcement(self._options, self._planned.values(), done, self._server(), self.ahead)
            programs = [f"crmeval sandbox: {self.sandbox}"] if self.sandbox else []
            self.say(*told, *programs, *omissions(self.left_out))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Begin, unless xdist's workers still have to tell what there is; at the end, forgive what gates forgive.

        Forgiven here, a failed trial is no failure for the plugins that finish the session, and what they find stays.
        """
        hopeless = session.testsfailed and not session.config.option.continue_on_collection_errors
        if not hopeless and not session.config.pluginmanager.has_plugin("dsession"):
            self.begin()
        result = yield
        self._conclude()
        self._forgiven = self._may_forgive(session)
        if self._forgiven:
            session.testsfailed = 0
        return result

    def take(self, outcome: JsonObject) -> None:
        """Record what was played before its item is reported; any thread may tell.

        If the journal can't be written, the main thread ends the run.
        """
        record = outcome.get("trial")
        if not isinstance(record, dict):
            return
        trial = Trial.from_dict(record, self.past.planned)
        with self._guard:
            if self._journal is None or self._closed or trial.planned.key in self._reported:
                return  # too late: its test has broken off
            try:
                self._keep(trial, self._journal)
            except (OSError, journal.JournalError) as error:
                self._full = self._unwritable(error)
                self._control.stop(EVERYBODY, self._full)
            self._early[trial.planned.key] = trial

    @property
    def has_begun(self) -> bool:
        """Whether cases are played now."""
        return self._journal is not None

    @property
    def asks_atlas(self) -> bool:
        """Whether anybody of this part of the run writes telemetry."""
        return self.has_begun and any(is_atlas(case.spec) for case in self._planned.values())

    def progress(self, now: float, playing: Iterable[str]) -> tuple[Sequence[Progress], Progress]:
        """Return how far each subject is in each suite, and all together; any thread may ask."""
        with self._guard:
            in_flight = self._tally.missing(playing)
            return self._tally.rows(now, in_flight), self._tally.whole(now, in_flight)

    def say(self, *lines: str) -> None:
        """Tell whoever watches."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            if self._config.get_terminal_writer().width_of_current_line:  # xdist tells how many workers are ready
                terminal.line("")
            for line in lines:
                terminal.write_line(line)
            terminal.flush()  # a test may be running, and its output captured next

    def key_of(self, nodeid: str) -> str:
        """Return what the case of an item is known by; nothing if it is not ours."""
        planned = self._planned.get(nodeid)
        return planned.key if planned else ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the trial that a report carries; a crashed worker leaves a report without one."""
        record = getattr(report, "crmeval_trial", None)
        trial = Trial.from_dict(record, self.past.planned) if record else self._crashed(report)
        if self._journal is None:
            return
        if self._full:
            pytest.exit(self._full, 1)
        if trial is not None:
            self._record(trial, self._journal)
        if record and trial:
            self._reported.add(trial.planned.key)
        if report.failed and record and trial and trial.verdict is Verdict.FAILED:
            self._forgivable += 1
        elif report.failed and (planned := self._planned.get(report.nodeid)) and (record or self._is_lost(trial)):
            self.past.red.add(planned.key)
            self._written(lambda book: book.red(planned.key), self._journal)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Write the report before the terminal sums up, and have the last word on the exit status."""
        self._conclude()
        if self._report is not None:
            self._page = write_page(self._config, self._report, anew=bool(self._planned or self._played))
        try:
            yield
        except Exception as error:  # noqa: BLE001 (another plugin's, and it is shown)
            self._end.show(error)
        self._close()
        session.exitstatus = status = self._decided(int(session.exitstatus))
        self._job.end(self._tally, stopped=self._interrupted, status=status)
        self._end.leave(status)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Let others run this run, when nothing of it is left but what is on disk."""
        self._lock.let_go()

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Know that somebody has stopped the run; pytest.exit, which comes here, too, is an end of its own."""
        self._interrupted = isinstance(excinfo.value, KeyboardInterrupt)

    @pytest.hookimpl(tryfirst=True)  # another plugin's summary may fail
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show how the run went."""
        lines = list(self._dry_run() if is_dry_run(self._config) else self._result())
        if lines:
            terminalreporter.section("crmeval")
            for line in lines:
                terminalreporter.write_line(line)

    @property
    def _is_dealt(self) -> bool:
        """Whether there is something to play, though perhaps in other shards only: this one is kept, to be merged."""
        return bool(self.dealt.get("tests"))

    @property
    def _path(self) -> Path:
        return self._options.folder / JOURNAL

    def _opened(self) -> journal.Journal:
        part = part_of(self._config, self._server(), self.dealt, self.left_out)
        part = {**part, **self.playbooks.part, **({"sandbox": self.sandbox} if self.sandbox else {})}
        self._lock.take()
        try:
            opened = journal.Journal.open(self._path, after=self.past.size)
            opened.part(part, list(self._planned.values()))
        except (journal.JournalError, OSError) as error:
            raise pytest.UsageError(f"crmeval: {error}") from error
        self._tally = counted(self.past)
        self._tally.begin({case.key: group_of(case) for case in self._planned.values()})
        self.past.begin(part, list(self._planned.values()))
        self._job.begin(self._tally)
        return opened

    def _record(self, trial: Trial, book: journal.Journal) -> None:
        with self._guard:
            if self._early.pop(trial.planned.key, None) != trial:
                self._written(lambda book: self._keep(trial, book), book)
        self._config.hook.pytest_crmeval_trial_finished(config=self._config, trial=trial)

    def _keep(self, trial: Trial, book: journal.Journal) -> None:
        book.trial(trial)
        self.playbooks.take(trial)
        self.past.take(trial)
        self._tally.take(outcome_of(trial), time.monotonic())
        self._played.add(trial.planned.key)
        self._job.note(self._tally)
        self.log.recorded(trial)

    def _written(self, write: Callable[[journal.Journal], None], book: journal.Journal) -> None:
        try:
            with self._guard:
                write(book)
        except (OSError, journal.JournalError) as error:
            pytest.exit(self._unwritable(error), 1)

    def _unwritable(self, error: OSError | journal.JournalError | UnreadableError) -> str:
        """Return why the journal can't be written or read, and what is left of the trials so far."""
        if isinstance(error, OSError):
            return f"crmeval: {self._path}: {error.strerror}; what was played so far is safe"
        return f"crmeval: {error}; the finished trials are in the report, but this run can't be resumed"

    def _crashed(self, report: pytest.TestReport) -> Trial | None:
        planned = self._planned.get(report.nodeid)
        if planned is None or report.when in {"setup", "call", "teardown"}:
            return None
        # It may have been played ahead, and its worker died of another one.
        return self._early.get(planned.key) or Trial.errored(planned, str(report.longrepr))

    def _is_lost(self, trial: Trial | None) -> bool:
        """Whether a report without a trial of its own leaves none that counts."""
        return trial is None or trial.verdict is Verdict.ERRORED

    def _conclude(self) -> None:
        """Write the report and judge the gates, once."""
        if self._journal is None or self._report is not None:
            return
        with self._guard:  # somebody may still tell of a trial
            try:
                self._journal.check_in_place()  # also after the last trial: a resume would pay for everything again
                if self._interrupted:
                    self._look_again()
            except (OSError, journal.JournalError, UnreadableError) as error:
                self._full = self._unwritable(error)
            self._settle(self._journal)
            left, facts = list(self._early.values()), facts_of(self.past, self._options)
            self._report = reports.build(facts, self.past.trials, self.past.planned.values())
        for trial in left:  # the run ended before their items did
            self._config.hook.pytest_crmeval_trial_finished(config=self._config, trial=trial)
        try:
            self._report = self._gates.judged(self._report)
        finally:  # whatever others' gates do: what was played is told
            self._publish(self._report)
        self._config.hook.pytest_crmeval_report(config=self._config, report=self._report)

    def _publish(self, report: Report) -> None:
        """Write the report, and the summary of a step where there is one."""
        try:
            self._options.reports.mkdir(parents=True, exist_ok=True)  # it may have been removed during the run
            reports.write(report, self._options.reports)
            write_batch(report, self._options.folder)
        except OSError as error:
            self._trouble = f"the report could not be written: {error}"
        self._unsaid = write_summary(report)

    def _look_again(self) -> None:
        """Know all that is in the journal: an interrupt may have come between a line and its being noted."""
        for key, trial in journal.read(self._path).trials.items():
            if self.past.trials.get(key) != trial:
                self.past.take(trial)
                self._played.add(key)
        self._tally = Follower(self._path).read().tally

    def _close(self) -> None:
        """Note what was spent since; a worker may have ended its last call after the report was written."""
        with self._guard:
            if self._journal is not None and not self._closed:
                self._settle(self._journal)
                self._journal.close()
                self._closed = True

    def _settle(self, book: journal.Journal) -> None:
        """Note what was spent and no trial tells of: it was interrupted, or its worker died."""
        unexplained = self._control.spent - self.past.spent
        if unexplained > LEAST:
            try:
                book.spent(unexplained)
            except (OSError, journal.JournalError) as error:
                self._full = self._unwritable(error)
            self.past.spent += unexplained

    def _may_forgive(self, session: pytest.Session) -> bool:
        """Whether everything that is red is a failed trial, and the gates say that those may be."""
        only_ours = 0 < session.testsfailed == self._forgivable
        return only_ours and self._is_gated and not self._red()

    @property
    def _is_gated(self) -> bool:
        """Whether gates decide, here or where shards are merged; not if none of them says anything about the run."""
        rulings = self._report.rulings if self._report else ()
        return bool(rulings) or len(self._options.gates) > len(self._gates.idle)

    def _red(self) -> bool:
        """Whether the run, earlier parts included, is red for reasons of ours."""
        if self._report is None:
            return False
        if self._trouble or self._full or self._end.failed or self._control.stopped or self.past.red:
            return True
        if any(standing.errored for standing in self._report.standings):
            return True
        if self._is_gated:
            return not (self._report.complete and all(ruling.holds for ruling in self._report.rulings))
        return any(trial.verdict is Verdict.FAILED for trial in self._earlier())

    def _earlier(self) -> list[Trial]:
        return [trial for key, trial in self.past.trials.items() if key not in self._played]

    def _decided(self, status: int) -> int:
        """Return the exit status of the whole run; what others have found stays."""
        nothing = status == pytest.ExitCode.NO_TESTS_COLLECTED and self._report is not None
        nothing_left = nothing and (self._earlier() or self._is_dealt)
        return int(self._red()) if status == pytest.ExitCode.OK or nothing_left else status

    def _dry_run(self) -> Iterator[str]:
        yield from self.forecast or counts(self._planned.values())
        yield from omissions(self.left_out)

    def _result(self) -> Iterator[str]:
        if self._report is None:
            return
        yield from summary.table(self._report)
        yield from summary.answers(self._report)
        yield from bill_lines(self._report)
        yield from curves.lines(self._report)
        yield from filter(None, [self.telemetry])
        yield from summary.invalid(self._report)
        yield from stops(self._options, self._control.stopped, self._report)
        if why := self.lacking():
            yield f"fewer cases were in flight than there could have been: {why}"
        yield from omissions(self.left_out)
        if self._report.comparison:
            yield from contrasts.lines(self._report.comparison, most=CHANGES)
        yield from summary.gates(self._report.rulings)
        yield from summary.idle(self._gates.idle)
        yield from endings(self._options, self._report, forgiven=self._forgiven)
        yield from filter(None, (self._gates.note, self._unsaid))
        yield from annotations(self._report)
        if self._job.trouble:
            yield f"the job is not up to date: {self._job.trouble}"
        yield from filter(None, [self._full])
        yield self._trouble or f"report: {summary.short(self._options.reports / f'{self._options.run}.json')}"
        if self._page:
            yield self._page
