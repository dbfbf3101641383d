"""Whatever happens in a run, the counts of its report add up."""

import json
from collections import Counter
from dataclasses import replace
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, PlannedCase, Trial
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.report import pooled
from tests.fakes import planned, trial
from tests.hypothesis_settings import DETERMINISTIC
from tests.kept_runs import part

SCHEMA = Draft202012Validator(json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text()))
FACTS: JsonObject = {
    "id": "mine",
    "started": "2026-11-17T09:00:00+00:00",
    "ended": "2026-11-17T09:00:00+00:00",
    "parts": [part()],
    "machine": "m",
    "versions": {},
}

PLACES = st.tuples(
    st.sampled_from(["crm", "q"]), st.sampled_from(["x", "y"]), st.sampled_from("abcde"), st.integers(1, 3)
)
ENDS = st.tuples(
    st.sampled_from([*Verdict, None]),
    st.sampled_from(["", "chain-1"]),
    st.lists(st.sampled_from(["t", "u"]), unique=True),
    st.floats(0, 100),
)


def cases(
    played: dict[tuple[str, str, str, int], tuple[Verdict | None, str, list[str], float]],
) -> tuple[dict[str, Trial], list[PlannedCase]]:
    """Return the trials that were played, and all planned cases; a case without a verdict has no trial."""
    trials, everything = {}, []
    for (suite, subject, case, number), (verdict, chain, tags, seconds) in played.items():
        first = planned(case, suite=suite, subject=subject)
        place = replace(first, trial=number, key=f"{first.key}-t{number}")
        everything.append(place)
        if verdict:
            labels = Labels(complexity="simple", tags=tuple(tags), chain=chain)
            trials[place.key] = replace(trial(place, verdict, seconds=seconds), labels=labels)
    return trials, everything


@DETERMINISTIC
@given(st.dictionaries(PLACES, ENDS, min_size=1, max_size=30))
def test_counts_add_up(played: dict[tuple[str, str, str, int], tuple[Verdict | None, str, list[str], float]]) -> None:
    """For each subject, for the suite, in reasons, in groups and in figures; and the report is valid."""
    trials, everything = cases(played)
    report = reports.build(FACTS, trials, everything)

    assert len(everything) == sum(summary.planned for summary in report.standings)
    assert len(trials) == len(report.trials)
    assert report.complete == (len(trials) == len(everything))
    for summary in report.standings:
        mine = [each for each in everything if (each.suite, each.subject) == (summary.suite, summary.subject)]
        ends = Counter(str(trials[each.key].verdict) if each.key in trials else "not_run" for each in mine)
        assert ends == +Counter({name: getattr(summary, name) for name in (*map(str, Verdict), "not_run")})
        assert summary.cases == len({each.case for each in mine})
        assert summary.failed + summary.errored == sum(reason.count for reason in summary.reasons)
        scored = summary.passed + summary.failed
        groups = summary.by.get("complexity", {}).values()
        assert scored == sum((group.passed or 0) + (group.failed or 0) for group in groups)
        if scored:
            figure = summary.figures["pass_rate"]
            assert (summary.pass_rate, scored) == (figure.value, figure.n)
        else:
            assert "pass_rate" not in summary.figures
    for suite in {summary.suite for summary in report.standings}:
        parts = [summary for summary in report.standings if summary.suite == suite]
        assert pooled(suite, parts).planned == sum(each.suite == suite for each in everything)
    document = json.loads(json.dumps(report.to_dict()))
    SCHEMA.validate(document)
    assert report.to_dict() == reports.read(document).to_dict()
