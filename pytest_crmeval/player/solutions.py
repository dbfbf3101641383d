"""Evaluates a solution file: from its checkpoint to its trial."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.file_outcome import PASS_AT_1, FileOutcome
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Score, Verdict, verdict_of
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.solutions.places import distrust, found_before, place_of, run_of
from pytest_crmeval.journal.solutions.records import Count
from pytest_crmeval.journal.solutions.results import EarlierResults, ResultsWriter
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.evaluation import Evaluation
from pytest_crmeval.player.outcome import Outcome
from pytest_crmeval.player.sandboxes import is_local
from pytest_crmeval.ports.sandbox import Sandbox, SandboxError
from pytest_crmeval.render.solution_results import listed, write_text
from pytest_crmeval.solutions.cases import open_problems, problems_of, terms_of
from pytest_crmeval.solutions.files import digest, read
from pytest_crmeval.solutions.json_lines import count_lines
from pytest_crmeval.solutions.play.solution import Rules
from pytest_crmeval.solutions.play.solution_file import Deadline, Judged, judge_file, judging_in
from pytest_crmeval.solutions.problems import Problems
from pytest_crmeval.solutions.solution import Extraction, SolutionFile

EVERY = 0.5
"""Minimum seconds between two progress reports of a file."""
JUDGING = 5
"""Version of extraction, comparison and checkers; increased when a change could affect verdicts."""


class SolutionFileEvaluation(Evaluation[SolutionFile]):
    """Judges the solutions of a file, as many at a time as the sandbox can run, and writes the results."""

    def __call__(self, case: SolutionFile) -> Outcome:
        """Judge the file; the limits on model calls don't apply, because no model is called."""
        return self._evaluated(case)

    def _evaluated(self, case: SolutionFile) -> Outcome:
        start = time.monotonic()
        try:
            outcome, count = self._judged_file(case)
        except (DatasetError, SandboxError, OSError) as error:
            reason = f"{self._setting.where}: {error}"
            if isinstance(error, OSError) and error.filename:
                reason = f"{error.filename}: {error.strerror}"
            trial = Trial.errored(self._trial_record.planned, reason, time.monotonic() - start)
            return Outcome(trial=trial, failed=f"errored: {reason}")
        ended = self._outcome(outcome, count.trouble, time.monotonic() - start)
        notes = (*getattr(self._sandbox, "notes", ()), *sorted(count.notes))
        assert ended.trial is not None  # noqa: S101 (it has one)
        return replace(ended, trial=replace(ended.trial, notes=notes))

    def _judged_file(self, case: SolutionFile) -> tuple[FileOutcome, Count]:
        """Return the outcome of the file, and the count of its verdicts."""
        if case.broken:
            raise DatasetError(case.broken)
        # Opened once per process.
        paths = tuple(problems_of(self._setting.marked, self._setting.options))
        opened = self._setting.context.once(_opened_problems)
        if paths not in opened:
            opened[paths] = open_problems(paths, self._setting.options)
        problems = opened[paths]
        # Each test that runs the same file has its own place.
        place = place_of(case.checkpoint, self._trial_record.name.removeprefix(f"{case.checkpoint.name}-"))
        head = self._head(case, problems)
        options = self._setting.options
        kept = found_before(options.reports, options.run, place, str(head["fingerprint"]))
        if options.checkpoints.fresh and kept is not None and run_of(options.reports, kept) != options.run:
            kept = None
        whole = bool(kept and (kept.end() or {}).get("complete"))  # before the file is written again
        with closing(ResultsWriter.begin(self._setting.options.folder / place, head, kept)) as results:
            reused = results.count.lines
            known_before = self._distrusted
            missing = 0 if whole else self._judge(case, problems, results)
            found = {server: why for server, why in self._distrusted.items() if server not in known_before}
            distrust(self._setting.options.reports, found)
            run = run_of(self._setting.options.reports, kept) if kept and reused else ""
            source = "" if run == self._setting.options.run else run
            facts = {"missing": missing, "reused": reused if source else 0, "reused_from": source}
            outcome = results.count.outcome(step=case.checkpoint.step, results=place.as_posix(), **facts)
            results.end({"complete": not outcome.unjudged, "missing": missing, "ended": _now()})
        write_text(EarlierResults(results.path), outcome)
        return outcome, results.count

    def _judge(self, case: SolutionFile, problems: Problems, results: ResultsWriter) -> int:
        """Judge the lines without a verdict; return how many were not reached in time."""
        options, known = self._setting.options.checkpoints, results.known()
        clock, sandbox = Deadline(options.file_seconds), self._sandbox
        progress = _Progress(self._setting.context, self._trial_record.planned.key, results.lines)

        def record(judged: Judged) -> None:
            results.add(judged)
            progress.show(results)

        rules = Rules(all_tests=options.all_tests, solution_seconds=options.solution_seconds, factors=options.factors)
        lines = read(case.path, extraction=Extraction(options.extraction))
        left = (line for line in lines if line.line not in known)
        elsewhere = getattr(sandbox, "judging", None)  # of the programs of a cluster
        with (elsewhere or partial(judging_in, sandbox))(problems.get, rules, clock) as judging:
            return judge_file(left, judging, record, slots=sandbox.slots, clock=clock)

    @property
    def _sandbox(self) -> Sandbox:
        """Where programs run: the sandbox of the test, or the nodes of a cluster instead of the local one."""
        given = self._participants.sandbox
        assert given is not None  # noqa: S101 (a solution file has one)
        elsewhere = self._setting.context.services().programs if is_local(self._setting.context, given) else None
        return elsewhere or given

    @property
    def _distrusted(self) -> Mapping[str, str]:
        """The servers that gave wrong results, with the reasons; empty if the sandbox does not report any."""
        return dict(getattr(self._sandbox, "distrusted", {}))

    def _head(self, case: SolutionFile, problems: Problems) -> JsonObject:
        """Return the first line of the results, which describes the evaluation."""
        paths = problems_of(self._setting.marked, self._setting.options)
        terms, content = terms_of(self._setting.options), digest(case.path)
        judge = f"{JUDGING} {self._sandbox.identity}"
        deciding = [content, problems.fingerprint, judge, *(f"{key}={terms[key]}" for key in terms)]
        return {
            "fingerprint": sha256("\0".join(deciding).encode()).hexdigest()[:32],
            "checkpoint": case.checkpoint.name,
            "step": case.checkpoint.step,
            "file": str(case.path),
            "lines": count_lines(case.path),
            "content": content,
            "problems": [str(path) for path in paths],
            "sandbox": self._sandbox.name,
            "identity": self._sandbox.identity,
            "servers": list(getattr(self._sandbox, "servers", ())),
            "judging": JUDGING,
            "terms": terms,
            "started": _now(),
        }

    def _outcome(self, outcome: FileOutcome, trouble: str, seconds: float) -> Outcome:
        """Return the outcome: ERRORED if a solution has no verdict, INVALID if no solution can be graded."""
        if outcome.unjudged:
            resume = "resume with the same --crmeval-run, or raise crmeval_file_timeout"
            late = f"{outcome.missing} not reached in time ({resume})" if outcome.missing else ""
            why = "; ".join(filter(None, [late, trouble]))
            reason = f"{outcome.unjudged} of {outcome.lines} solutions were not graded: {why}"
            trial = self._trial(Verdict.ERRORED, outcome, seconds, reason=reason)
            return Outcome(trial=trial, failed=f"errored: {reason}")
        if not outcome.judged:
            what = listed(outcome.ungradable) or "the file is empty"
            reason = f"{self._setting.where}: no solution can be graded: {what}"
            trial = self._trial(Verdict.INVALID, outcome, seconds, reason=reason)
            return Outcome(trial=trial, failed=f"invalid: {reason}")
        solved = f"{outcome.solved} of {outcome.judged} solved"
        score = Score(
            name=PASS_AT_1,
            value=outcome.pass_at_1 or 0.0,
            threshold=float(self._setting.marked.get("threshold", 0.0)),
            reason="; ".join(filter(None, [solved, listed(outcome.ungradable)])),
        )
        return Outcome(trial=self._trial(verdict_of([score]), outcome, seconds, scores=(score,)))

    def _trial(
        self, verdict: Verdict, outcome: FileOutcome, seconds: float, *, reason: str = "", scores: Sequence[Score] = ()
    ) -> Trial:
        return Trial(
            planned=self._trial_record.planned,
            verdict=verdict,
            scores=tuple(scores),
            reason=reason,
            seconds=seconds,
            solutions=outcome,
            colored=self._setting.colored,
        )


def _opened_problems(_: Context) -> dict[Sequence[Path], Problems]:
    return {}


class _Progress:
    """Reports the progress of a file at most every EVERY seconds."""

    def __init__(self, context: Context, key: str, lines: int) -> None:
        self._report = context.services().progress
        self._key = key
        self._lines = lines
        self._reported = 0.0

    def show(self, results: ResultsWriter) -> None:
        """Report the progress, if the last report is old enough."""
        now = time.monotonic()
        if now - self._reported >= EVERY:
            self._reported = now
            self._report(self._key, results.count.lines, self._lines, results.count.solved)


def solutions_in(path: Path) -> int:
    """Return the estimated number of solutions in a file before it is read: one per line, and at least one."""
    return max(1, count_lines(path))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
