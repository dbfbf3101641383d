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
from pytest_crmeval.options import DEFAULT_SCORERS, Options, is_dry_run
from pytest_crmeval.runs import journal, reports, summary

SECRET_OPTION = "--postgresql-password"  # noqa: S105 (its name, to hide its value)


class Recorder:
    """Keeps the books of one run."""

    def __init__(self, config: pytest.Config, ready: Callable[[], object], server: Callable[[], str]) -> None:
        self._config = config
        self._options = Options.from_config(config)
        self._ready = ready
        self._server = server
        self._planned: dict[str, PlannedCase] = {}
        self._played: set[str] = set()
        self._journal: journal.Journal | None = None
        self._report: Report | None = None
        self._rulings: Sequence[Ruling] = ()
        self._forgivable = 0
        self._forgiven = False
        self._trouble = ""

    @cached_property
    def past(self) -> journal.Past:
        """What earlier parts of this run have done, read once."""
        if not self._options.resumable:
            return journal.Past()
        try:
            return journal.read(self._path)
        except journal.JournalError as error:
            raise pytest.UsageError(f"crmeval: {error}") from error

    @property
    def done(self) -> set[tuple[str, ...]]:
        """Cases, with their content and agent, that need not be played again; what errored or broke is repeated.

        A case that is invalid stays so until its content changes, unless it is to be played all the same.
        """
        repeated = {Verdict.ERRORED, *([Verdict.INVALID] if self._options.play_invalid else [])}
        return {
            (trial.planned.key, trial.planned.fingerprint, trial.planned.spec)
            for trial in self.past.trials.values()
            if trial.verdict not in repeated and trial.planned.key not in self.past.red
        }

    def plan(self, cases: Sequence[tuple[str, PlannedCase]]) -> None:
        """Know what is to be played, by the node id that it is scheduled under."""
        self._planned = self._planned or dict(cases)

    def begin(self) -> None:
        """Wait for the server and open the journal, once, before the first case is played."""
        if self._journal or is_dry_run(self._config) or not (self._planned or self.past.trials):
            return
        self._check_rules()
        done = len(self.done)
        if self._planned:
            self._ready()
        self._journal = self._opened()
        self._announce(done)

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

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the trial that a report carries; a crashed worker leaves a report without one."""
        record = getattr(report, "crmeval_trial", None)
        trial = Trial.from_dict(record) if record else self._crashed(report)
        if self._journal is None:
            return
        if trial is not None:
            self._record(trial, self._journal)
        if report.failed and trial and trial.verdict is Verdict.FAILED:
            self._forgivable += 1
        elif report.failed and (planned := self._planned.get(report.nodeid)):
            self.past.red.add(planned.key)
            self._written(lambda book: book.red(planned.key), self._journal)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """Write the report before the terminal sums up, and have the last word on the exit status."""
        self._conclude()
        yield
        session.exitstatus = self._decided(int(session.exitstatus))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show how the run went."""
        lines = list(self._dry_run() if is_dry_run(self._config) else self._result())
        if lines:
            terminalreporter.section("crmeval")
            for line in lines:
                terminalreporter.write_line(line)

    @property
    def _path(self) -> Path:
        return self._options.folder / "trials.jsonl"

    def _check_rules(self) -> None:
        """Refuse to resume a run under other rules: two kinds of verdict do not add up."""
        begun = f"crmeval: the run {self._options.run!r} was begun with"
        for part in self.past.parts:
            before, now = _scorers_of(part), self._options.scorers
            if before and set(before) != set(now):
                raise pytest.UsageError(
                    f"{begun} the scorers {', '.join(before)}, and can't go on with {', '.join(now)}: "
                    "choose the same with --crmeval-scorer, or another --crmeval-run"
                )
            if part.get("invalid") == "play" and not self._options.play_invalid:
                raise pytest.UsageError(
                    f"{begun} --crmeval-invalid=play, and can't go on without: add it, or choose another --crmeval-run"
                )

    def _opened(self) -> journal.Journal:
        part: JsonObject = {
            "started": _now(),
            "command": shlex.join(["pytest", *_without_secret(self._config.invocation_params.args)]),
            "agents": {agent: self._options.spec(agent) for agent in self._options.agents},
            "tags": list(self._options.tags),
            "split": self._options.split or None,
            "sample": self._options.sample,
            "seed": self._options.seed,
            "scorers": list(self._options.scorers),
            "invalid": "play" if self._options.play_invalid else "report",
            "server": self._server(),
        }
        try:
            opened = journal.Journal.open(self._path, after=self.past.size)
            opened.part(part, list(self._planned.values()))
        except (journal.JournalError, OSError) as error:
            raise pytest.UsageError(f"crmeval: {error}") from error
        self.past.begin(part, list(self._planned.values()))
        return opened

    def _record(self, trial: Trial, book: journal.Journal) -> None:
        self._written(lambda book: book.trial(trial), book)
        self.past.take(trial)
        self._played.add(trial.planned.key)
        self._config.hook.pytest_crmeval_trial_finished(config=self._config, trial=trial)

    def _written(self, write: Callable[[journal.Journal], None], book: journal.Journal) -> None:
        try:
            write(book)
        except OSError as error:
            pytest.exit(f"crmeval: {self._path}: {error.strerror}; what was played so far is safe", 1)

    def _crashed(self, report: pytest.TestReport) -> Trial | None:
        planned = self._planned.get(report.nodeid)
        if planned is None or report.when in {"setup", "call", "teardown"}:
            return None
        return Trial.errored(planned, str(report.longrepr))

    def _conclude(self) -> None:
        """Write the report and judge the gates, once."""
        if self._journal is None or self._report is not None:
            return
        self._journal.close()
        self._report = reports.build(self._facts(), self.past.trials, self.past.planned.values())
        try:
            reports.write(self._report, self._options.reports)
        except OSError as error:
            self._trouble = f"the report could not be written: {error}"
        self._config.hook.pytest_crmeval_report(config=self._config, report=self._report)
        self._rulings = [gate.judge(self._report) for gate in self._options.gates]

    def _may_forgive(self, session: pytest.Session) -> bool:
        """Whether everything that is red is a failed trial, and the gates say that those may be."""
        only_ours = 0 < session.testsfailed == self._forgivable
        return only_ours and bool(self._rulings) and not self._red()

    def _red(self) -> bool:
        """Whether the run, earlier parts included, is red for reasons of ours."""
        if self._report is None:
            return False
        if self._trouble or self.past.red or any(standing.errored for standing in self._report.standings):
            return True
        if self._rulings:
            return not (self._report.complete and all(ruling.holds for ruling in self._rulings))
        return any(trial.verdict is Verdict.FAILED for trial in self._earlier())

    def _earlier(self) -> list[Trial]:
        return [trial for key, trial in self.past.trials.items() if key not in self._played]

    def _decided(self, status: int) -> int:
        """Return the exit status of the whole run; what others have found stays."""
        nothing_left = status == pytest.ExitCode.NO_TESTS_COLLECTED and self._report is not None and self._earlier()
        return int(self._red()) if status == pytest.ExitCode.OK or nothing_left else status

    def _facts(self) -> JsonObject:
        return {
            "id": self._options.run,
            "started": self.past.parts[0]["started"],
            "ended": _now(),
            "parts": self.past.parts,
            "machine": platform.platform(),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("pytest", "pytest-crmeval", "pytest-xdist")},
            },
        }

    def _announce(self, done: int) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or self._config.option.verbose < 0:
            return
        again = f", resumed: {done} done" if done else ""
        terminal.ensure_newline()
        terminal.write_line(f"crmeval run:    {self._options.run} ({len(self._planned)} to play{again})")
        terminal.write_line(f"crmeval agent:  {', '.join(map(self._named, self._options.agents))}")
        if self._options.selection:
            terminal.write_line(f"crmeval cases:  {self._options.selection}")
        terminal.write_line(f"crmeval server: {self._server()}")
        if set(self._options.scorers) != set(DEFAULT_SCORERS):
            terminal.write_line(f"crmeval scorer: {', '.join(self._options.scorers)}")

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
        yield from summary.invalid(self._report)
        yield from summary.gates(self._rulings)
        if self._rulings and not self._report.complete:
            yield "the run is not complete: no gate can pass"
        if self._forgiven:
            yield "the gates hold: failed cases are forgiven"
        yield self._trouble or f"report: {summary.short(self._options.reports / f'{self._options.run}.json')}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _scorers_of(part: JsonObject) -> list[str]:
    """Return the scorers that a part of a run was asked for; none if it is older than the question."""
    names = part.get("scorers")
    return list(map(str, names)) if isinstance(names, list) else []


def _without_secret(arguments: Sequence[object]) -> Iterator[str]:
    """Yield the command line as it may be kept: a password is none of the report's business."""
    before = ""
    for argument in map(str, arguments):
        if before == SECRET_OPTION:
            yield "..."
        else:
            yield f"{SECRET_OPTION}=..." if argument.startswith(f"{SECRET_OPTION}=") else argument
        before = argument
