"""A solution file from its checkpoint to its trial."""

import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePath

from pytest_crmeval.domain.checkpoints import PASS_AT_1, FileOutcome
from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Score, Verdict, verdict_of
from pytest_crmeval.domain.solution import Extraction, SolutionFile
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal.solutions.places import found_before, place_of, run_of
from pytest_crmeval.journal.solutions.results import Earlier, Results
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.evaluation import Evaluation
from pytest_crmeval.player.outcome import Ending
from pytest_crmeval.ports.sandbox import Sandbox, SandboxError
from pytest_crmeval.render.solution_results import listed, write_text
from pytest_crmeval.solutions import referee
from pytest_crmeval.solutions.cases import open_problems, problems_of, terms_of
from pytest_crmeval.solutions.files import digest, read
from pytest_crmeval.solutions.play.solution import Judge, Rules
from pytest_crmeval.solutions.play.solution_file import Clock, Judged, Timed, bench, judge_file
from pytest_crmeval.solutions.problems import Problems

EVERY = 0.5
"""Seconds, at least, between two words about how far a file is."""
_CHUNK = 2**20
JUDGING = 3
"""Goes up when we take out programs, compare outputs or read checkers in another way, which could change a verdict."""


class SolutionFileEvaluation(Evaluation[SolutionFile]):
    """Judges the solutions of a file, as many at a time as the sandbox can run, and keeps what it finds."""

    def __call__(self, case: SolutionFile) -> Ending:
        """Judge; whatever is decided about models, nobody asks one here."""
        return self._evaluated(case)

    def _evaluated(self, case: SolutionFile) -> Ending:
        start = time.monotonic()
        try:
            outcome, trouble = self._judged_file(case)
        except (DatasetError, SandboxError, OSError) as error:
            reason = self._reason(error)
            trial = Trial.errored(self._trial_record.planned, reason, time.monotonic() - start)
            return Ending(trial=trial, failed=f"errored: {reason}")
        return self._ending(outcome, trouble, time.monotonic() - start)

    def _reason(self, error: DatasetError | SandboxError | OSError) -> str:
        """Return the error with its file: the solution file, or the file that results could not be written to."""
        if isinstance(error, OSError) and error.filename:
            return f"{error.filename}: {error.strerror}"
        return f"{self._setting.where}: {error}"

    def _judged_file(self, case: SolutionFile) -> tuple[FileOutcome, str]:
        """Return how the solutions were judged, and what kept the first of those without a verdict from one."""
        problems, place = self._problems(), self._place(case)
        head = self._head(case, problems)
        kept = self._kept_results(place, str(head["fingerprint"]))
        whole = bool(kept and (kept.end() or {}).get("complete"))  # now: it may be what is written anew
        with closing(Results.begin(self._setting.options.folder / place, head, kept)) as results:
            reused = results.count.lines
            missing = 0 if whole else self._judge(case, problems, results)
            source = self._source(kept) if kept and reused else ""
            facts = {"missing": missing, "reused": reused if source else 0, "reused_from": source}
            outcome = results.count.outcome(step=case.checkpoint.step, results=place.as_posix(), **facts)
            results.end({"complete": not outcome.unjudged, "missing": missing, "ended": _now()})
        write_text(Earlier(results.path), outcome)
        return outcome, results.count.trouble

    def _judge(self, case: SolutionFile, problems: Problems, results: Results) -> int:
        """Judge what has no verdict yet; return how many solutions there was no time for."""
        asked, known = self._setting.options.checkpoints, results.known()
        clock = Clock(asked.file_seconds)
        sandbox = Timed(self._sandbox, clock)
        progress = _Progress(self._setting.context, self._trial_record.planned.key, results.lines)

        def tell(judged: Judged) -> None:
            results.tell(judged)
            progress.show(results)

        rules = Rules(all_tests=asked.all_tests, solution_seconds=asked.solution_seconds)
        lines = read(case.path, extraction=Extraction(asked.extraction))
        with Judge(sandbox, referee, rules) as judge:
            left = (line for line in lines if line.line not in known)
            judging = bench(problems.get, judge, sandbox)
            return judge_file(left, judging, tell, slots=sandbox.slots, clock=clock)

    @property
    def _sandbox(self) -> Sandbox:
        assert self._participants.sandbox is not None  # noqa: S101 (a solution file has one)
        return self._participants.sandbox

    def _problems(self) -> Problems:
        """Return the problems, opened once per process."""
        paths = tuple(problems_of(self._setting.marked, self._setting.options))
        opened = self._setting.context.once(_opened_problems)
        if paths not in opened:
            opened[paths] = open_problems(paths, self._setting.options)
        return opened[paths]

    def _place(self, case: SolutionFile) -> PurePath:
        """Return where the results go; a file that another test of the run judges, too, has its own there."""
        name = self._trial_record.name.removeprefix(f"{case.checkpoint.name}-")
        return place_of(case.checkpoint, name)

    def _head(self, case: SolutionFile, problems: Problems) -> JsonObject:
        """Return what was judged by what."""
        paths = problems_of(self._setting.marked, self._setting.options)
        terms, content = terms_of(self._setting.options), digest(case.path)
        judge = f"{JUDGING} {self._sandbox.identity}"
        deciding = [content, problems.fingerprint, judge, *(f"{key}={terms[key]}" for key in terms)]
        return {
            "fingerprint": sha256("\0".join(deciding).encode()).hexdigest()[:32],
            "checkpoint": case.checkpoint.name,
            "step": case.checkpoint.step,
            "file": str(case.path),
            "lines": _lines_in(case.path),
            "content": content,
            "problems": [str(path) for path in paths],
            "sandbox": self._sandbox.name,
            "identity": self._sandbox.identity,
            "judging": JUDGING,
            "terms": terms,
            "started": _now(),
        }

    def _kept_results(self, place: PurePath, fingerprint: str) -> Earlier | None:
        """Return what an earlier evaluation has found; one that is to be fresh takes nothing but from its own run."""
        options = self._setting.options
        found = found_before(options.reports, options.run, place, fingerprint)
        fresh = options.checkpoints.fresh and found is not None and run_of(options.reports, found) != options.run
        return None if fresh else found

    def _source(self, kept: Earlier) -> str:
        """Return the run that verdicts are from; nothing if it is this one."""
        options = self._setting.options
        run = run_of(options.reports, kept)
        return "" if run == options.run else run

    def _ending(self, outcome: FileOutcome, trouble: str, seconds: float) -> Ending:
        """Return the trial: without a verdict for each solution the world broke; without any there is no case."""
        if outcome.unjudged:
            reason = f"{outcome.unjudged} of {outcome.lines} solutions were not judged: {_why(outcome, trouble)}"
            trial = self._trial(Verdict.ERRORED, outcome, seconds, reason=reason)
            return Ending(trial=trial, failed=f"errored: {reason}")
        if not outcome.judged:
            what = listed(outcome.ungradable) or "it is empty"
            reason = f"{self._setting.where}: there is nothing to judge: {what}"
            trial = self._trial(Verdict.INVALID, outcome, seconds, reason=reason)
            return Ending(trial=trial, skipped=f"invalid: {reason}")
        score = self._score(outcome)
        return Ending(trial=self._trial(verdict_of([score]), outcome, seconds, scores=(score,)))

    def _score(self, outcome: FileOutcome) -> Score:
        reason = f"{outcome.solved} of {outcome.judged} solved"
        reason += f"; {listed(outcome.ungradable)}" if outcome.ungradable else ""
        threshold = float(self._setting.marked.get("threshold", 0.0))
        return Score(name=PASS_AT_1, value=outcome.pass_at_1 or 0.0, threshold=threshold, reason=reason)

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
            notes=tuple(getattr(self._sandbox, "notes", ())),
            colored=self._setting.colored,
        )


def _opened_problems(_: Context) -> dict[Sequence[Path], Problems]:
    return {}


class _Progress:
    """Tells whoever shows it how far a file is, but not too often."""

    def __init__(self, context: Context, key: str, lines: int) -> None:
        self._report = context.services().progress
        self._key = key
        self._lines = lines
        self._told = 0.0

    def show(self, results: Results) -> None:
        """Tell, if it is time."""
        now = time.monotonic()
        if now - self._told >= EVERY:
            self._told = now
            self._report(self._key, results.count.lines, self._lines, results.count.solved)


def _why(outcome: FileOutcome, trouble: str) -> str:
    """Say what kept solutions from a verdict, and what to do."""
    told = [trouble] if trouble else []
    if outcome.missing:
        resume = "the same --crmeval-run again does only those, and --crmeval-file-timeout gives more time"
        told.insert(0, f"{outcome.missing} were not come to in time ({resume})")
    return "; ".join(told)


def solutions_in(path: Path) -> int:
    """Return the estimated number of solutions in a file before it is read: one per line, and at least one."""
    return max(1, _lines_in(path))


def _lines_in(path: Path) -> int:
    """Return how many lines a file has; the last one may end without a line break."""
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            lines, last = lines + chunk.count(b"\n"), chunk[-1:]
    return lines + (last != b"\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
