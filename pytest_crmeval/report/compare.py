"""Compare a report with another, case by case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_crmeval.domain.file_outcome import PASS_AT_1
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial, is_of_checkpoint
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.journal.shard import objects
from pytest_crmeval.report.comparison import SIGNIFICANT, CaseChange, Comparison, Contrast
from pytest_crmeval.report.figures import case_values
from pytest_crmeval.report.metrics import SCORED
from pytest_crmeval.report.outliers import reason_of
from pytest_crmeval.report.paired import Pair, difference_of, fisher, holm, mean_difference
from pytest_crmeval.report.report import Report

Group = tuple[str, str]
"""Suite and subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The trials of a case in two runs; none in a run that does not have the case."""

    case: str
    before: Sequence[Trial]
    after: Sequence[Trial]

    @property
    def is_same(self) -> bool:
        """Whether the content is the same in both."""
        return {trial.planned.fingerprint for trial in self.before} == {
            trial.planned.fingerprint for trial in self.after
        }

    @property
    def is_scored(self) -> bool:
        """Whether both runs have a scored trial."""
        return bool(_scored(self.before) and _scored(self.after))


def compare(
    report: Report, baseline: Report, *, source: str = "", subjects: tuple[str, str] | None = None
) -> Comparison:
    """Return how a report differs from a baseline: subject by subject, or one subject of each run.

    ``source`` is how the baseline was named.
    """
    after, before = _groups(report), _groups(baseline)
    if subjects:
        after = {group: trials for group, trials in after.items() if group[1] == subjects[0]}
        before = {(suite, subjects[0]): trials for (suite, name), trials in before.items() if name == subjects[1]}
    other = subjects[1] if subjects else ""
    contrasts = [contrast(*group, before[group], after[group], other) for group in after if group in before]
    corrected = iter(holm([each.p for each in contrasts if each.p is not None and each.is_tested]))
    return Comparison(
        baseline=_side(baseline, source),
        run=_side(report, ""),
        contrasts=tuple(replace(each, p_holm=next(corrected)) if each.is_tested else each for each in contrasts),
        missing=tuple(
            f"{' × '.join(group)} is only in {'the baseline' if group in before else 'this run'}"
            for group in sorted(before.keys() ^ after.keys())
        ),
    )


def contrast(
    suite: str, subject: str, before: Sequence[Trial], after: Sequence[Trial], baseline_subject: str = ""
) -> Contrast:
    """Compare the trials of a subject in a suite with others."""
    matches = matched(before, after)
    of_files = any(is_of_checkpoint(trial.planned) for trial in after)
    pairs = pairs_of(matches, f"score:{PASS_AT_1}" if of_files else "pass_rate")
    found = Contrast(
        suite=suite,
        subject=subject,
        baseline_subject=baseline_subject or subject,
        paired=len(pairs),
        better=sum(pair.difference > 0 for pair in pairs),
        worse=sum(pair.difference < 0 for pair in pairs),
    )
    changes: dict[str, Any] = _lists(matches, {pair.case: pair for pair in pairs})
    found = replace(found, **changes)
    if not pairs:
        return found
    found = replace(found, before=_mean([pair.before for pair in pairs]), after=_mean([pair.after for pair in pairs]))
    if of_files:  # a completely graded file is not a success, and its solutions are not known here
        return replace(found, difference=Figure(value=_mean([pair.difference for pair in pairs]), n=len(pairs)))
    difference = difference_of(pairs)
    names = {score.name for match in matches for trial in match.after for score in trial.scores}
    metrics = [*(f"score:{name}" for name in sorted(names)), "turn_success"]
    scored = {metric: pairs_of(matches, metric) for metric in metrics}
    return replace(
        found,
        difference=difference.figure,
        p=difference.p,
        p_holm=difference.p,
        test=difference.test,
        detectable=difference.detectable,
        scores={metric: mean_difference(both) for metric, both in scored.items() if both},
    )


def matched(before: Sequence[Trial], after: Sequence[Trial]) -> list[Match]:
    """Return all cases of both, in the order of their names."""
    cases: dict[str, tuple[list[Trial], list[Trial]]] = {}
    for side, trials in enumerate((before, after)):
        for trial in trials:
            cases.setdefault(trial.planned.case, ([], []))[side].append(trial)
    return [Match(case=case, before=cases[case][0], after=cases[case][1]) for case in sorted(cases)]


def pairs_of(matches: Sequence[Match], metric: str) -> list[Pair]:
    """Return the cases that have a metric in both runs, with the same content."""
    comparable = [match for match in matches if match.before and match.after and match.is_same and match.is_scored]
    before = case_values([trial for match in comparable for trial in match.before], metric)
    after = case_values([trial for match in comparable for trial in match.after], metric)
    return [
        Pair(case=match.case, unit=match.after[0].unit, before=before[match.case], after=after[match.case])
        for match in comparable
        if match.case in before and match.case in after
    ]


def is_same(report: Report, other: Report) -> bool:
    """Whether two reports are of one run, a copy of it included."""
    alike = all(report.run.get(name) == other.run.get(name) for name in ("id", "started", "ended"))
    return alike and list(report.trials) == list(other.trials)


def commit_of(report: Report) -> str:
    """Return the commit of the last part of a run; empty if it is unknown."""
    return str(_git_of(report).get("commit", ""))


def commit_label(report: Report) -> str:
    """Return the short commit, and whether there were uncommitted changes."""
    commit, dirty = commit_of(report)[:12], _git_of(report).get("dirty")
    return f"{commit} with uncommitted changes" if commit and dirty else commit


def _git_of(report: Report) -> JsonObject:
    known = (part["git"] for part in reversed(objects(report.run.get("parts"))) if "git" in part)
    return next((git for git in known if isinstance(git, Mapping)), {})


def _lists(matches: Sequence[Match], pairs: Mapping[str, Pair]) -> dict[str, Any]:
    """Return the cases that differ between the runs, by the kind of change."""
    found: dict[str, list[CaseChange]] = {}
    for match in matches:
        if name := _list_of(match, pairs.get(match.case)):
            pair = pairs.get(match.case)
            before, after = (pair.before, pair.after) if pair else (_rate(match.before), _rate(match.after))
            wrong = [
                trial for trial in match.after if trial.verdict in {Verdict.FAILED, Verdict.ERRORED, Verdict.INVALID}
            ]
            found.setdefault(name, []).append(
                CaseChange(case=match.case, before=before, after=after, reason=reason_of(wrong[0]) if wrong else "")
            )
    return {name: tuple(changes) for name, changes in found.items()}


def _list_of(match: Match, pair: Pair | None) -> str:
    if not match.before:
        return "new"
    if not match.after:
        return "gone"
    if not match.is_same:
        return "changed"
    if pair is None:
        return "unscored"
    if pair.difference < 0:
        return "newly_failing" if _is_significant(match) else "passes_less_often"
    return "" if not pair.difference else "newly_passing" if _is_significant(match) else "passes_more_often"


def _is_significant(match: Match) -> bool:
    """Whether the change of a case is significant at 5 %: Fisher's exact test of its repeats.

    A case that was tried once in each run has passed or failed, and is not tested.
    """
    before, after = _scored(match.before), _scored(match.after)
    if len(before) == len(after) == 1:
        return True
    return fisher(_passed(before), len(before), _passed(after), len(after)) < SIGNIFICANT


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rate(trials: Sequence[Trial]) -> float | None:
    scored = _scored(trials)
    return sum(trial.passed for trial in scored) / len(scored) if scored else None


def _passed(trials: Sequence[Trial]) -> int:
    return sum(trial.passed for trial in trials)


def _scored(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.verdict in SCORED]


def _groups(report: Report) -> dict[Group, list[Trial]]:
    found: dict[Group, list[Trial]] = {(each.suite, each.subject): [] for each in report.standings}
    for trial in report.trials:
        found.setdefault((trial.planned.suite, trial.planned.subject), []).append(trial)
    return found


def _side(report: Report, source: str) -> JsonObject:
    commit = commit_of(report)
    return {
        "id": report.run["id"],
        "started": report.run["started"],
        "complete": report.complete,
        **({"source": source} if source else {}),
        **({"commit": commit} if commit else {}),
    }
