"""The metrics of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

from pytest_crmeval.domain.checkpoints import (
    PASS_AT_1,
    CheckpointFigures,
    by_step,
    curves_of,
    figures_of,
    pooled_figures,
)
from pytest_crmeval.domain.cutting import printable
from pytest_crmeval.domain.figures import Figure, Figures, figures_from
from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.shard import is_merged, missing_shards
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.usage import Bill, total
from pytest_crmeval.report.comparison import Comparison
from pytest_crmeval.report.judge_agreement import Agreement, agreement_of
from pytest_crmeval.report.learning_curve import Learning
from pytest_crmeval.report.metrics import Breakdown, Metrics, breakdown_from, breakdown_of, metrics_of
from pytest_crmeval.report.outliers import Outlier, Reason, dearest, reasons_of, slowest
from pytest_crmeval.report.ruling import Ruling

SCHEMA = "crmeval.report/1"
_SINCE_THE_BEGINNING = ("suite", "subject", "passed", "failed", "errored", "not_run", "seconds", "scores")
_PER = ("cost_per_trial", "cost_per_pass", "tokens_per_pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one subject stands in one suite. The five counts add up to the trials that were planned."""

    suite: str
    subject: str
    passed: int = 0
    failed: int = 0
    errored: int = 0
    invalid: int = 0
    """Cases that nobody can pass: neither for the subject nor against it."""
    not_run: int = 0
    seconds: float = 0.0
    scores: Mapping[str, float] | None = None
    """Mean of each score over the trials that have it."""
    metrics: Metrics = field(default_factory=Metrics)
    by: Breakdown = field(default_factory=dict)
    """The same, told apart by complexity, category, tag and tool."""
    bill: Bill | None = None
    """What its trials took, the judge apart; None if it asked no model."""
    judge: Agreement | None = None
    """What the judge thinks of its trials, and how far the scorers agree; None without a judge."""
    replayed: int = 0
    """Trials whose models were played from a cassette."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """What the reader has to know -> how many trials say so."""
    cases: int | None = None
    """Different cases among what was planned; fewer than that where cases are tried several times."""
    figures: Figures = field(default_factory=dict)
    """Every metric that a gate may name and that is an estimate, with its interval."""
    slowest: Sequence[Outlier] = ()
    dearest: Sequence[Outlier] = ()
    reasons: Sequence[Reason] = ()
    """Why trials failed or errored, the most frequent first."""
    checkpoint: CheckpointFigures | None = None
    """How its solutions were judged, also in trials that errored; None if it is no checkpoint."""
    learning: Learning | None = None
    """What has come of learning; None for who does not learn."""

    @property
    def planned(self) -> int:
        """All trials that the run meant to play: as many as cases, unless each is tried several times."""
        return self.passed + self.failed + self.errored + self.invalid + self.not_run

    @property
    def pass_rate(self) -> float | None:
        """Share of scored trials that passed; None if nothing was scored.

        Also None for a checkpoint, which is measured by pass@1.
        """
        scored = self.passed + self.failed
        return self.passed / scored if scored and not self.checkpoint else None

    @property
    def headline(self) -> tuple[str, Figure | None]:
        """The main metric of the subject and its figure: pass@1 for a checkpoint, else the pass rate."""
        name = PASS_AT_1 if self.checkpoint else "pass_rate"
        return name, self.figures.get(name)

    @property
    def cost(self) -> float | None:
        """Dollars that its trials took; None if a price is not known, zero for who asked no model."""
        cost = self.bill.cost if self.bill else 0.0
        return None if cost is None else round(cost, 8)

    @property
    def cost_per_trial(self) -> float | None:
        """Dollars for each trial that was played, errored ones included; None if unknown."""
        return _shared(self.cost, self.passed + self.failed + self.errored)

    @property
    def cost_per_pass(self) -> float | None:
        """Dollars for each trial that passed, paid for the others, too; None if unknown, or if nothing passed."""
        return _shared(self.cost, self.passed)

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens, read and written, for each trial that passed; None if nothing did."""
        return _shared(self.bill.usage.input + self.bill.usage.output if self.bill else 0, self.passed)

    def to_dict(self) -> JsonObject:
        """Return JSON primitives; a rate of nothing is absent."""
        return {
            "suite": self.suite,
            "subject": self.subject,
            "planned": self.planned,
            "passed": self.passed,
            "failed": self.failed,
            "errored": self.errored,
            "invalid": self.invalid,
            "not_run": self.not_run,
            "seconds": round(self.seconds, 6),
            "scores": dict(self.scores or {}),
            "metrics": self.metrics.to_dict(),
            "by": {
                name: {label: group.to_dict() for label, group in groups.items()} for name, groups in self.by.items()
            },
            **({} if self.pass_rate is None else {"pass_rate": self.pass_rate}),
            **self._bill_to_dict(),
            **({"judge": self.judge.to_dict()} if self.judge else {}),
            **({"notes": dict(self.notes)} if self.notes else {}),
            **({} if self.cases is None else {"cases": self.cases}),
            "figures": {name: figure.to_dict() for name, figure in self.figures.items()},
            "slowest": [each.to_dict() for each in self.slowest],
            **({"dearest": [each.to_dict() for each in self.dearest]} if self.dearest else {}),
            "reasons": [reason.to_dict() for reason in self.reasons],
            **({"checkpoint": self.checkpoint.to_dict()} if self.checkpoint else {}),
            **({"learning": self.learning.to_dict()} if self.learning else {}),
        }

    def _bill_to_dict(self) -> dict[str, Json]:
        """Return what is known of money; nothing for who asked no model."""
        if self.bill is None:
            return {}
        found = {name: getattr(self, name) for name in _PER}
        known = {name: round(value, 8) for name, value in found.items() if value is not None}
        return {"bill": self.bill.to_dict(), "replayed": self.replayed, **known}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the standing that ``to_dict`` wrote, perhaps before there were metrics, or bills.

        KeyError, TypeError or ValueError if it did not write it.
        """
        given = dict(record)
        return cls(
            invalid=given.get("invalid", 0),
            metrics=Metrics.from_dict(given.get("metrics", {})),
            by=breakdown_from(given.get("by", {})),
            bill=Bill.from_dict(given["bill"]) if "bill" in given else None,
            judge=Agreement.from_dict(given["judge"]) if "judge" in given else None,
            replayed=given.get("replayed", 0),
            notes=dict(given.get("notes", {})),
            cases=given.get("cases"),
            figures=figures_from(given.get("figures", {})),
            slowest=tuple(map(Outlier.from_dict, given.get("slowest", ()))),
            dearest=tuple(map(Outlier.from_dict, given.get("dearest", ()))),
            reasons=tuple(map(Reason.from_dict, given.get("reasons", ()))),
            checkpoint=CheckpointFigures.from_dict(given["checkpoint"]) if "checkpoint" in given else None,
            learning=Learning.from_dict(given["learning"]) if "learning" in given else None,
            **{name: given[name] for name in _SINCE_THE_BEGINNING},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All trials of one run, summed up."""

    run: JsonObject
    """Id, times, command, versions: where the numbers come from."""
    standings: Sequence[Standing]
    trials: Sequence[Trial]
    rulings: Sequence[Ruling] = ()
    """What the gates found; nothing before they were judged, and in the run of a shard."""
    comparison: Comparison | None = None
    """The run against its baseline; None if there is none."""

    @property
    def complete(self) -> bool:
        """Whether every planned case has a trial; what was merged of shards has all of them, too.

        The run of one shard is complete when its own part is.
        """
        parts = self.run.get("parts")
        return not any(standing.not_run for standing in self.standings) and not (is_merged(parts) and self.missing)

    @property
    def missing(self) -> list[str]:
        """The shards that are not in it, and would make it whole."""
        return missing_shards(self.run.get("parts"))

    def suite(self, name: str) -> Standing | None:
        """Return the standing of all subjects of a suite together; None if the run has no such suite."""
        parts = [standing for standing in self.standings if standing.suite == name]
        return pooled(name, parts) if parts else None

    def to_dict(self) -> JsonObject:
        """Return the document that is written to ``reports/<run>.json``."""
        return {
            "schema": SCHEMA,
            "run": dict(self.run),
            "complete": self.complete,
            "results": [standing.to_dict() for standing in self.standings],
            **self._curves(),
            "trials": [trial.to_dict() for trial in self.trials],
            **({"gates": [ruling.to_dict() for ruling in self.rulings]} if self.rulings else {}),
            **({"comparison": self.comparison.to_dict()} if self.comparison else {}),
        }

    def _curves(self) -> JsonObject:
        """Return how checkpoints do over their steps, suite by suite; nothing if there are none."""
        found = curves_of((each.suite, each.subject, each.checkpoint) for each in self.standings if each.checkpoint)
        return {"checkpoints": found} if found else {}


def pooled(suite: str, parts: Sequence[Standing]) -> Standing:
    """Return one standing for several subjects: their counts and bills; means and metrics are each subject's own."""
    return Standing(
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
        notes=sum((Counter(part.notes) for part in parts), start=Counter()),
        checkpoint=pooled_figures(part.checkpoint for part in parts),
    )


def standing_of(suite: str, subject: str, trials: Sequence[Trial], not_run: int) -> Standing:
    """Sum up the trials of one subject in one suite."""

    def count(verdict: Verdict) -> int:
        return sum(trial.verdict is verdict for trial in trials)

    return Standing(
        suite=suite,
        subject=subject,
        passed=count(Verdict.PASSED),
        failed=count(Verdict.FAILED),
        errored=count(Verdict.ERRORED),
        invalid=count(Verdict.INVALID),
        not_run=not_run,
        seconds=sum(trial.seconds for trial in trials),
        scores=_means(trials),
        metrics=metrics_of(trials),
        by=breakdown_of(trials),
        bill=total(trial.bill for trial in trials),
        judge=agreement_of(trials),
        replayed=sum(trial.bill is not None and trial.bill.replayed for trial in trials),
        notes=_counted(trials),
        slowest=slowest(trials),
        dearest=dearest(trials),
        reasons=reasons_of(trials),
        checkpoint=figures_of(trial.solutions for trial in trials),
    )


def _counted(trials: Sequence[Trial]) -> dict[str, int]:
    """Count the trials that have each note, their judge's included."""
    notes = (
        {printable(note) for note in (*trial.notes, *(trial.judgement.notes if trial.judgement else ()))}
        for trial in trials
    )
    return dict(sorted(Counter(chain.from_iterable(notes)).items()))


def _shared(whole: float | None, parts: int) -> float | None:
    return None if whole is None or not parts else whole / parts


def _means(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the mean of each score, without solution files: their pass@1 is not a mean over files."""
    values: dict[str, list[float]] = {}
    for trial in (trial for trial in trials if trial.solutions is None):
        for score in trial.scores:
            values.setdefault(score.name, []).append(score.value)
    return {name: sum(found) / len(found) for name, found in sorted(values.items())}


def checkpoints_in_order(standings: Sequence[Standing]) -> list[tuple[Standing, CheckpointFigures]]:
    """Return the summaries of checkpoints with their figures, ordered by suite and step."""
    found = [(standing, standing.checkpoint) for standing in standings if standing.checkpoint]
    return sorted(found, key=lambda each: (each[0].suite, *by_step(each[0].subject, each[1].whole.step)))
