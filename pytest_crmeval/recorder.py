"""On the controller: trials in; journal, report and gate out."""

import platform
import shlex
from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import pytest

from pytest_crmeval.domain.gate import Ruling
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.report import Report
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.options import Options
from pytest_crmeval.runs import journal, reports, summary


class Recorder:
    """Keeps the books of one run."""

    def __init__(self, config: pytest.Config, ready: Callable[[], object], server: Callable[[], str]) -> None:
        self._config = config
        self._options = Options.from_config(config)
        self._ready = ready
        self._server = server
        self._planned: dict[str, PlannedCase] = {}
        self._journal: journal.Journal | None = None
        self._session: pytest.Session | None = None
        self._report: Report | None = None
        self._rulings: Sequence[Ruling] = ()
        self._played: set[str] = set()
        self._forgivable = 0

    @cached_property
    def past(self) -> journal.Past:
        """What earlier parts of this run have done, read once."""
        if not self._options.resumable:
            return journal.Past()
        try:
            return journal.read(self._options.folder / "trials.jsonl")
        except journal.JournalError as error:
            raise pytest.UsageError(f"crmeval: {error}") from error

    @property
    def done(self) -> set[tuple[str, str]]:
        """Cases, with their content, that need not be played again; what errored is repeated."""
        return {
            (key, trial.planned.fingerprint)
            for key, trial in self.past.trials.items()
            if trial.verdict is not Verdict.ERRORED
        }

    def plan(self, cases: Sequence[tuple[str, PlannedCase]]) -> None:
        """Begin: know what is to be played, wait for the server, open the journal."""
        if self._planned or self._journal or not (self.past.trials or cases):
            return
        self._planned = dict(cases)
        if self._config.option.collectonly:
            return
        if cases:
            self._ready()
        self._journal = self._opened()
        self._announce()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the trial that a report carries; a crashed worker leaves a report without one."""
        record = getattr(report, "crmeval_trial", None)
        trial = Trial.from_dict(record) if record else self._crashed(report)
        if trial is not None:
            self._record(trial)
        self._forgivable += bool(report.failed and trial and trial.verdict is Verdict.FAILED)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Write the report before the terminal sums up, and decide the exit status after all others."""
        self._close()
        self._session = session
        yield
        # After the others: syrupy ORs the old exit status back in.
        session.exitstatus = self._decided(session)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show how the run went."""
        lines = list(self._dry_run() if self._config.option.collectonly else self._result())
        if lines:
            terminalreporter.section("crmeval")
            for line in lines:
                terminalreporter.write_line(line)

    def _opened(self) -> journal.Journal:
        part: JsonObject = {
            "started": _now(),
            "command": shlex.join(["pytest", *self._config.invocation_params.args]),
        }
        try:
            opened = journal.Journal.open(self._options.folder / "trials.jsonl")
        except journal.JournalError as error:
            raise pytest.UsageError(f"crmeval: {error}") from error
        opened.part(part)
        self.past.parts.append(part)
        return opened

    def _record(self, trial: Trial) -> None:
        if self._journal is None:
            raise RuntimeError(f"a trial of {trial.planned.key} came before its plan")
        self._journal.trial(trial)
        self.past.trials[trial.planned.key] = trial
        self._played.add(trial.planned.key)
        self._config.hook.pytest_crmeval_trial_finished(config=self._config, trial=trial)

    def _crashed(self, report: pytest.TestReport) -> Trial | None:
        planned = self._planned.get(report.nodeid)
        if planned is None or report.when in {"setup", "call", "teardown"}:
            return None
        return Trial.errored(planned, str(report.longrepr))

    def _close(self) -> None:
        if self._journal is None:
            return
        self._journal.close()
        self._report = reports.build(self._facts(), self.past.trials, self._planned.values())
        reports.write(self._report, self._options.reports)
        self._config.hook.pytest_crmeval_report(config=self._config, report=self._report)
        self._rulings = [gate.judge(self._report) for gate in self._options.gates]

    def _decided(self, session: pytest.Session) -> int:
        """Return the exit status of the whole run, earlier parts included."""
        status = int(session.exitstatus)
        earlier = [trial for key, trial in self.past.trials.items() if key not in self._played]
        if self._report is None or status not in {0, 1, 5 if earlier else 1}:
            return status
        # Whatever else is red is not ours to forgive: other tests, other phases, other plugins.
        foreign = session.testsfailed != self._forgivable or (status == 1 and not session.testsfailed)
        if foreign or any(standing.errored for standing in self._report.standings):
            return 1
        if self._rulings:
            return int(not all(ruling.holds for ruling in self._rulings))
        return int(status == 1 or not all(trial.passed for trial in earlier))

    def _facts(self) -> JsonObject:
        return {
            "id": self._options.run,
            "started": self.past.parts[0]["started"],
            "ended": _now(),
            "parts": self.past.parts,
            "agents": list(self._options.agents),
            "sample": self._options.sample,
            "seed": self._options.seed,
            "server": self._server(),
            "machine": platform.platform(),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("pytest", "pytest-crmeval", "pytest-xdist")},
            },
        }

    def _announce(self) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or self._config.option.verbose < 0:
            return
        again = f", resumed: {len(self.done)} done" if self.past.trials else ""
        terminal.ensure_newline()
        terminal.write_line(f"crmeval run:    {self._options.run} ({len(self._planned)} to play{again})")
        terminal.write_line(f"crmeval agent:  {', '.join(map(self._named, self._options.agents))}")
        terminal.write_line(f"crmeval server: {self._server()}")

    def _named(self, agent: str) -> str:
        spec = self._options.spec(agent)
        return agent if spec == agent else f"{agent} = {spec}"

    def _dry_run(self) -> Iterator[str]:
        counts: dict[tuple[str, str], int] = {}
        for planned in self._planned.values():
            counts[planned.suite, planned.subject] = counts.get((planned.suite, planned.subject), 0) + 1
        for (suite, subject), count in sorted(counts.items()):
            yield f"{suite} × {subject}: {count} case{'s' * (count != 1)}"

    def _result(self) -> Iterator[str]:
        if self._report is None:
            return
        yield from summary.table(self._report)
        yield from summary.gates(self._rulings)
        if self._session and self._session.exitstatus == 1 and self._decided(self._session) == 0:
            yield "the gates hold: failed cases are forgiven, exit status 0"
        yield f"report: {_short(self._options.reports / f'{self._options.run}.json')}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
