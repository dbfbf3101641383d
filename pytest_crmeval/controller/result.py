"""The end of a run: its report, its gates, its summary and its exit status."""

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial

import pytest

from pytest_crmeval.agents.atlas.specs import is_atlas
from pytest_crmeval.collect.context import context_of
from pytest_crmeval.compat import forget_failures
from pytest_crmeval.controller.gates import GateEvaluation
from pytest_crmeval.controller.header import counts, endings, omissions, say, stops
from pytest_crmeval.controller.loop import ControllerLoop
from pytest_crmeval.controller.messages import MessageHandler
from pytest_crmeval.controller.parts import facts_of
from pytest_crmeval.controller.plan import RunPlan
from pytest_crmeval.controller.recorder import Conclusion, Recorder
from pytest_crmeval.controller.session_end import SessionEnd
from pytest_crmeval.controller.terminal_summary import TerminalSummary
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.domain.usage import money
from pytest_crmeval.options.reading import is_dry_run, options_of
from pytest_crmeval.player.agents import subjects_of
from pytest_crmeval.player.models import retiring
from pytest_crmeval.render import summary
from pytest_crmeval.render.github import annotations, write_summary
from pytest_crmeval.render.terminal import RunEnd
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.batch_results import write_batch
from pytest_crmeval.report.gate import has_unjudged_oracle
from pytest_crmeval.report.report import Report


class RunReporter:
    """Writes the report of a run once, and decides its exit status."""

    def __init__(
        self, config: pytest.Config, plan: RunPlan, recorder: Recorder, loop: ControllerLoop, handler: MessageHandler
    ) -> None:
        self._config = config
        self._options = options_of(config)
        self._plan = plan
        self._recorder = recorder
        self._loop = loop
        self._handler = handler
        self.gates = GateEvaluation(config)
        self.end = SessionEnd(config, recorder)
        self.summary = TerminalSummary(config, self._summary)
        self._conclusion: Conclusion | None = None
        self._report: Report | None = None
        self._estimate: Callable[[int], Iterable[str]] | None = None
        """Returns the lines of the estimate for a width."""
        self._forgivable = 0
        """Failed tests that gates may forgive."""
        self._forgiven = self._interrupted = False
        self._trouble = self._unsaid = self._page = self._telemetry = ""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Estimate the run if ``--crmeval-estimate`` is given."""
        if self._options.estimate:
            from pytest_crmeval.controller.estimate import forecast
            from pytest_crmeval.render.estimate import lines

            self._estimate = partial(lines, forecast(session))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how a test with a recorded trial has ended; the report of a crash has no verdict."""
        key = self._plan.key_of(report.nodeid)
        if not key or not self._recorder.has_begun:
            return
        verdict = getattr(report, "crmeval_verdict", None)
        is_crash = report.when not in {"setup", "call", "teardown"}
        trial = self._loop.call(self._recorder.reported, key) if verdict or is_crash else None
        self._exit_if_unrecorded()
        if trial is not None:
            self._config.hook.pytest_crmeval_trial_finished(config=self._config, trial=trial)
        if is_crash and trial is None:  # it will be played again, or is lost
            self._loop.call(self._recorder.crashed, key, str(report.longrepr))
        if report.failed and verdict == Verdict.FAILED:
            self._forgivable += 1
        elif report.failed and (verdict or trial is None or trial.verdict is Verdict.ERRORED):
            self._loop.call(self._recorder.mark_test_failed, key)
            self._exit_if_unrecorded()

    def _exit_if_unrecorded(self) -> None:
        if self._recorder.failure:
            pytest.exit(self._recorder.failure, 1)

    def conclude(self) -> None:
        """Write the report and evaluate the gates, once, if the run has begun."""
        if not self._recorder.has_begun or self._report is not None:
            return
        if any(is_atlas(case.spec) for case in self._plan.cases.values()):
            from pytest_crmeval.player.telemetry import kept

            self._telemetry = kept(context_of(self._config))  # before the server is removed
        self._conclusion = found = self._loop.call(self._recorder.conclude, interrupted=self._interrupted)
        record = found.record
        self._report = reports.build(facts_of(record, self._options), record.trials, record.planned.values())
        for trial in found.unreported:
            self._config.hook.pytest_crmeval_trial_finished(config=self._config, trial=trial)
        try:
            self._report = self.gates.judged(self._report)
        finally:  # even if gates of plugins fail, the report is written
            self._publish(self._report, record.planned.values())
        self._config.hook.pytest_crmeval_report(config=self._config, report=self._report)

    def forgive(self, session: pytest.Session) -> None:
        """Forgive failed trials if nothing else has failed and the gates hold.

        A forgiven trial is not a failure for plugins that finish the session later; their own findings stay.
        """
        self._forgiven = 0 < session.testsfailed == self._forgivable and self._is_gated and not self._has_failed()
        if self._forgiven:
            forget_failures(session)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Write the report before the terminal summary, and decide the exit status last."""
        self.conclude()
        if self._report is not None and self._conclusion is not None:
            anew = bool(self._plan.cases or self._conclusion.played)
            self._page = _write_page(self._config, self._report, anew=anew)
        try:
            yield
        except Exception as error:  # noqa: BLE001 (another plugin's, and it is shown)
            self.end.show(error)
        before = self._recorder.failure
        self._loop.call(self._recorder.close)
        if self._recorder.failure != before:  # the summary has been shown without it
            say(self._config, self._recorder.failure)
        session.exitstatus = status = self._decided(int(session.exitstatus))
        self._loop.call(self._recorder.end_job, status, stopped=self._interrupted)
        self.end.leave(status)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the run was interrupted by a signal; ``pytest.exit`` also arrives here, but is not an interrupt."""
        self._interrupted = isinstance(excinfo.value, KeyboardInterrupt)

    def _publish(self, report: Report, planned: Iterable[PlannedCase]) -> None:
        """Write the report, and the step summary of GitHub Actions if there is one."""
        try:
            self._options.reports.mkdir(parents=True, exist_ok=True)  # it may have been removed during the run
            reports.write(report, self._options.reports)
            write_batch(report, planned, self._options.folder)
        except OSError as error:
            self._trouble = f"the report could not be written: {error}"
        self._unsaid = write_summary(report)

    @property
    def _is_gated(self) -> bool:
        """Whether gates decide, here or after a merge; not if none of them applies to the run."""
        rulings = self._report.rulings if self._report else ()
        return bool(rulings) or len(self._options.gates) > len(self.gates.idle)

    def _has_failed(self) -> bool:
        """Whether the run, including earlier parts, failed because of cases or gates."""
        if self._report is None or self._conclusion is None:
            return False
        failed = self._trouble or self._recorder.failure or self.end.failed or self._handler.control.stopped
        if failed or self._conclusion.record.red:
            return True
        if any(each.errored for each in self._report.standings):
            return True
        if self._is_gated:
            holds = self._report.complete and all(ruling.holds for ruling in self._report.rulings)
            return not holds or (bool(self._report.rulings) and has_unjudged_oracle(self._report))
        return any(trial.verdict is Verdict.FAILED for trial in self._conclusion.earlier)

    def _decided(self, status: int) -> int:
        """Return the exit status of the whole run; failures that other plugins report stay."""
        nothing = status == pytest.ExitCode.NO_TESTS_COLLECTED and self._conclusion is not None
        nothing_left = nothing and (self._plan.has_shards or (self._conclusion and self._conclusion.earlier))
        return int(self._has_failed()) if status == pytest.ExitCode.OK or nothing_left else status

    def _summary(self, width: int, height: int | None) -> Iterable[str]:
        if is_dry_run(self._config):
            if not self._estimate:
                return [*counts(self._plan.cases.values()), *omissions(self._plan.prefetch.left_out)]
            notes = (f"note: {notice}" for notice in retiring(self._options))
            return [*self._estimate(width), *notes, *omissions(self._plan.prefetch.left_out)]
        if self._report is None:
            return ()
        place = f"report: {summary.short(self._options.reports / f'{self._options.run}.json')}"
        end = RunEnd(
            report=self._report,
            idle=self.gates.idle,
            decision=(*endings(self._options, self._report, forgiven=self._forgiven), *filter(None, [self.gates.note])),
            notes=list(self._notes(self._report)),
            places=[*annotations(self._report), *filter(None, [self._trouble or place, self._page])],
        )
        return end.whole() if self._options.verbose else end.lines(width, height)

    def _notes(self, report: Report) -> Iterator[str]:
        if estimated := self._handler.control.estimated:
            lost = "calls that were in flight when a worker died or the run ended"
            yield f"{money(estimated)} of the cost is an estimate: {lost}"
        yield from filter(None, [self._telemetry])
        yield from stops(subjects_of(context_of(self._config)), self._handler.control.stopped, report)
        if why := self._loop.call(lambda: self._handler.queue.shortage):
            yield f"concurrency was reduced: {why}"
        yield from omissions(self._plan.prefetch.left_out)
        yield from filter(None, [self._unsaid])
        if trouble := self._recorder.job_trouble:
            yield f"job.json is not up to date: {trouble}"
        if self._recorder.failure and self._recorder.failure not in self._handler.control.stopped.values():
            yield self._recorder.failure


def _write_page(config: pytest.Config, report: Report, *, anew: bool = True) -> str:
    """Write the page, unless the project has turned it off; return its path, or the error.

    A missing page does not fail the run. Without ``anew``, which means that something was played, an existing page is
    kept unless there are gates or a baseline to show.
    """
    options = options_of(config)
    if not options.page:
        return ""
    from pytest_crmeval.render import page

    reports = options.reports
    there = reports / f"{report.run['id']}.html"
    if not anew and there.exists() and not report.rulings and not report.comparison:
        return f"page:   {summary.short(there)}"
    try:
        return f"page:   {summary.short(page.write(report, reports))}"
    except OSError as error:
        return f"the page could not be written: {error}"
