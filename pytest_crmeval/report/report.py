"""The metrics of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.file_outcome import PASS_AT_1
from pytest_crmeval.domain.formats import headed
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.records import always
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, Service, served, total
from pytest_crmeval.journal.checkpoints import CheckpointFigures, by_step, curves_of, figures_of, pooled_figures
from pytest_crmeval.journal.figures import Counts, Figure, Figures
from pytest_crmeval.journal.shard import is_merged, missing_shards
from pytest_crmeval.report.comparison import Comparison
from pytest_crmeval.report.judge_figures import JudgeFigures, judge_figures
from pytest_crmeval.report.learning_curve import Learning
from pytest_crmeval.report.metrics import Breakdown, Metrics, breakdown_of, metrics_of
from pytest_crmeval.report.outliers import Outlier, Reason, dearest, reasons_of, slowest
from pytest_crmeval.report.ruling import Ruling

SCHEMA = "crmeval.report/1"
_NOTHING: Mapping[str, Any] = {}
SERVICE = ("tokens_per_second", "latency_first_token", "cache_hit_rate", "cost_saved")
"""Metrics of what users of a model notice."""
_PER = ("cost_per_trial", "cost_per_pass", "tokens_per_pass")


class SubjectSummary(Counts, frozen=True, kw_only=True):
    """The results of one subject in one suite. The five counts add up to the planned trials."""

    suite: str
    subject: str
    not_run: int = always(0)
    seconds: float = always(0.0)
    scores: Mapping[str, float] = always(_NOTHING)
    """Mean of each score over the trials that have it."""
    metrics: Metrics = always(Metrics())
    by: Breakdown = always(_NOTHING)
    """The same by complexity, category, tag and tool."""
    bill: Bill | None = None
    """Usage and cost of its trials, without the judge; None if it called no model."""
    judge: JudgeFigures | None = None
    """Grades of the judge, and its agreement with the scorers; None without a judge."""
    replayed: int = 0
    """Trials whose model calls were replayed from a cassette."""
    notes: Mapping[str, int] = {}
    """Note for the reader -> number of trials that have it."""
    service: Service | None = None
    """How fast the models answered; None if no model was called, or only a cassette."""
    models: Mapping[str, int] = {}
    """Model that was asked, provider:model -> number of trials that asked it."""
    cases: int | None = None
    """Distinct planned cases; fewer than the planned trials if cases are tried several times."""
    figures: Figures = always(_NOTHING)
    """Every estimated metric that a gate may name, with its interval."""
    slowest: tuple[Outlier, ...] = always(())
    dearest: tuple[Outlier, ...] = ()
    reasons: tuple[Reason, ...] = always(())
    """Why trials failed or errored, the most frequent first."""
    checkpoint: CheckpointFigures | None = None
    """Results of its solutions, also in trials that errored; None for subjects other than checkpoints."""
    learning: Learning | None = None
    """The results of learning; None for subjects that don't learn."""

    @property
    def planned(self) -> int:
        """All planned trials: as many as cases, unless each is tried several times."""
        return self.done + self.not_run

    @property
    def is_control(self) -> bool:
        """Whether the subject only checks the harness: the oracle must score 1.000, mute 0.000."""
        return self.subject in CONTROLS

    @property
    def pass_rate(self) -> float | None:
        """Share of scored trials that passed; None if nothing was scored.

        Also None for a checkpoint, which is measured by pass@1.
        """
        return None if self.checkpoint else self.passed_share

    @property
    def headline(self) -> tuple[str, Figure | None]:
        """The main metric of the subject and its figure: pass@1 for a checkpoint, else the pass rate."""
        name = PASS_AT_1 if self.checkpoint else "pass_rate"
        return name, self.figures.get(name)

    @property
    def cost(self) -> float | None:
        """Dollars for its trials; None if a price is unknown, zero if it called no model."""
        cost = self.bill.cost if self.bill else 0.0
        return None if cost is None else round(cost, 8)

    @property
    def cost_per_trial(self) -> float | None:
        """Dollars per played trial, errored ones included; None if unknown."""
        return _shared(self.cost, self.passed + self.failed + self.errored)

    @property
    def cost_per_pass(self) -> float | None:
        """Dollars of all trials per trial that passed; None if unknown, or if nothing passed."""
        return _shared(self.cost, self.passed)

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens, read and written, per trial that passed; None if nothing passed."""
        return _shared(self.bill.usage.input + self.bill.usage.output if self.bill else 0, self.passed)

    @property
    def tokens_per_second(self) -> float | None:
        """Output tokens per second while models answered; None if no model was timed."""
        return self.service.output / self.service.seconds if self.service and self.service.seconds else None

    @property
    def latency_first_token(self) -> float | None:
        """Mean seconds to the first token; None if no answer was streamed."""
        found = self.service
        return found.first_seconds / found.streamed if found and found.streamed else None

    @property
    def cache_hit_rate(self) -> float | None:
        """Share of input tokens that came from the server's cache; None if no tokens were counted."""
        return self.bill.usage.cached / self.bill.usage.input if self.bill and self.bill.usage.input else None

    @property
    def cost_saved(self) -> float | None:
        """Dollars that the prompt cache saved; None if unknown."""
        return self.service.saved if self.service else None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON primitives, with the figures that follow from the counts; undefined rates are absent."""
        known: dict[str, Any] = {"pass_rate": self.pass_rate}
        if self.bill:
            per = {name: getattr(self, name) for name in (*_PER, *SERVICE)}
            known |= {name: value if value is None else round(value, 8) for name, value in per.items()}
            known["replayed"] = self.replayed
        return {
            **super().to_dict(),
            "planned": self.planned,
            "seconds": round(self.seconds, 6),
            **{name: value for name, value in known.items() if value is not None},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All trials of one run, with their summaries."""

    run: JsonObject
    """Id, times, command, versions: where the numbers come from."""
    standings: Sequence[SubjectSummary]
    trials: Sequence[Trial]
    rulings: Sequence[Ruling] = ()
    """The rulings of the gates; empty before they are evaluated, and in the run of a shard."""
    comparison: Comparison | None = None
    """The comparison with the baseline; None if there is none."""

    @property
    def complete(self) -> bool:
        """Whether every planned case has a trial, and a run that was merged from shards has all of them.

        The run of one shard is complete when its own part is.
        """
        parts = self.run.get("parts")
        return not any(summary.not_run for summary in self.standings) and not (is_merged(parts) and self.missing)

    @property
    def missing(self) -> list[str]:
        """The missing shards."""
        return missing_shards(self.run.get("parts"))

    def suite(self, name: str) -> SubjectSummary | None:
        """Return the summary of all subjects of a suite together; None if the run has no such suite."""
        parts = [summary for summary in self.standings if summary.suite == name]
        return pooled(name, parts) if parts else None

    def to_dict(self) -> JsonObject:
        """Return the document that is written to ``reports/<run>.json``."""
        found = curves_of((each.suite, each.subject, each.checkpoint) for each in self.standings if each.checkpoint)
        return {
            **headed(SCHEMA),
            "run": dict(self.run),
            "complete": self.complete,
            "results": [summary.to_dict() for summary in self.standings],
            **({"checkpoints": found} if found else {}),
            **({"gates": [ruling.to_dict() for ruling in self.rulings]} if self.rulings else {}),
            "trials": [trial.to_dict() for trial in self.trials],
            **({"comparison": self.comparison.to_dict()} if self.comparison else {}),
        }


def pooled(suite: str, parts: Sequence[SubjectSummary]) -> SubjectSummary:
    """Return one summary for several subjects: their counts and bills; means and metrics are each subject's own."""
    return SubjectSummary(
        suite=suite,
        subject="*",
        passed=sum(part.passed for part in parts),
        failed=sum(part.failed for part in parts),
        errored=sum(part.errored for part in parts),
        invalid=sum(part.invalid for part in parts),
        not_run=sum(part.not_run for part in parts),
        seconds=sum(part.seconds for part in parts),
        bill=total(part.bill for part in parts),
        replayed=sum(part.replayed for part in parts),
        service=served(part.service for part in parts),
        notes=sum((Counter(part.notes) for part in parts), start=Counter()),
        models=sum((Counter(part.models) for part in parts), start=Counter()),
        checkpoint=pooled_figures(part.checkpoint for part in parts),
    )


def summary_of(suite: str, subject: str, trials: Sequence[Trial], not_run: int) -> SubjectSummary:
    """Summarise the trials of one subject in one suite."""

    def count(verdict: Verdict) -> int:
        return sum(trial.verdict is verdict for trial in trials)

    notes = (
        {printable(note) for note in (*trial.notes, *(trial.judgement.notes if trial.judgement else ()))}
        for trial in trials
    )
    values: dict[str, list[float]] = {}
    for trial in (trial for trial in trials if trial.solutions is None):
        for score in trial.scores:
            values.setdefault(score.name, []).append(score.value)
    return SubjectSummary(
        suite=suite,
        subject=subject,
        passed=count(Verdict.PASSED),
        failed=count(Verdict.FAILED),
        errored=count(Verdict.ERRORED),
        invalid=count(Verdict.INVALID),
        not_run=not_run,
        seconds=sum(trial.seconds for trial in trials),
        scores={name: sum(found) / len(found) for name, found in sorted(values.items())},
        metrics=metrics_of(trials),
        by=breakdown_of(trials),
        bill=total(trial.bill for trial in trials),
        judge=judge_figures(trials),
        replayed=sum(trial.bill is not None and trial.bill.replayed for trial in trials),
        notes=dict(sorted(Counter(chain.from_iterable(notes)).items())),
        service=served(trial.service for trial in trials),
        models=dict(sorted(Counter(chain.from_iterable(trial.models for trial in trials)).items())),
        slowest=slowest(trials),
        dearest=dearest(trials),
        reasons=reasons_of(trials),
        checkpoint=figures_of(trial.solutions for trial in trials),
    )


def _shared(whole: float | None, parts: int) -> float | None:
    return None if whole is None or not parts else whole / parts


def checkpoints_in_order(summaries: Sequence[SubjectSummary]) -> list[tuple[SubjectSummary, CheckpointFigures]]:
    """Return the summaries of checkpoints with their figures, ordered by suite and step."""
    found = [(summary, summary.checkpoint) for summary in summaries if summary.checkpoint]
    return sorted(found, key=lambda each: (each[0].suite, *by_step(each[0].subject, each[1].whole.step)))
