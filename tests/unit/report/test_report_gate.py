"""The syntax of gates, and which gates apply to a run."""

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.report.gate import (
    COUNTS,
    METRICS,
    MONEY,
    NOT_WORSE,
    OPEN,
    TIMES,
    Gate,
    GateSyntaxError,
    applicable_gates,
)
from pytest_crmeval.report.report import Report, SubjectSummary

PARTIAL: JsonObject = {"partial": True}


def report(*summaries: SubjectSummary) -> Report:
    """Return the report of a run."""
    return Report(run={"id": "mine"}, standings=summaries, trials=())


def crm(subject: str = "oracle", **counts: Any) -> SubjectSummary:  # noqa: ANN401 (whole numbers)
    """Return a summary in the suite ``crm``."""
    return SubjectSummary(suite="crm", subject=subject, **counts)


def test_a_gate_is_a_suite_a_metric_a_comparison_and_a_number() -> None:
    """The text is kept as written, for the summary."""
    expected = Gate(text="crm.pass_rate >= 0.60", suite="crm", metric="pass_rate", comparison=">=", bound=0.6)

    assert expected == Gate.parse("crm.pass_rate >= 0.60")


@pytest.mark.parametrize("text", ["crm.pass_rate>=0.6", "crm.pass_rate  >=  0.6 ", "crm.pass_rate\t>= 0.6\n"])
def test_spaces_around_the_comparison_and_at_the_end_are_ignored(text: str) -> None:
    """Aligning gates in an ini file is allowed."""
    gate = Gate.parse(text)

    assert ("crm", "pass_rate", ">=", 0.6) == (gate.suite, gate.metric, gate.comparison, gate.bound)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("crm[gpt-4.1].pass_rate >= 0.60", {"subject": "gpt-4.1", "comparison": ">=", "bound": 0.6}),
        ("crm[openai:x?a=b&c=d].errored == 0", {"subject": "openai:x?a=b&c=d", "metric": "errored"}),
        ("crm[*].errored == 0", {"subject": "*", "comparison": "==", "bound": 0.0}),
        ("checkpoints[checkpoint-196].pass@1 >= 0.35", {"suite": "checkpoints", "metric": "pass@1", "bound": 0.35}),
        ("crm.pass^3 >= 0.5", {"metric": "pass^3"}),
        ("crm.score:state >= 0.5", {"metric": "score:state"}),
        ("crm.cost_usd <= 25", {"metric": "cost_usd", "comparison": "<=", "bound": 25.0}),
        ("crm.latency_p95 <= 20s", {"metric": "latency_p95", "bound": 20.0}),
        ("crm.latency_p95 <= 1500ms", {"bound": 1.5}),
        ("crm.latency_mean <= 2min", {"bound": 120.0}),
        ("crm.pass_rate >= baseline - 0.02", {"baseline": True, "bound": -0.02}),
        ("crm.cost <= baseline+1.5", {"baseline": True, "bound": 1.5}),
        ("crm.pass_rate >= baseline", {"baseline": True, "bound": 0.0}),
        ("crm.pass_rate not worse than baseline", {"baseline": True, "comparison": NOT_WORSE}),
        ("crm[*].turn_success  not  worse than baseline ", {"subject": "*", "comparison": NOT_WORSE}),
        ("crm.pass_rate >= 0.60 with 95% confidence", {"bound": 0.6, "confidence": 0.95}),
        ("crm.latency_p95 <= 20s with 99.5% confidence", {"bound": 20.0, "confidence": 0.995}),
    ],
)
def test_every_form_of_a_gate_is_parsed(text: str, expected: dict[str, object]) -> None:
    gate = Gate.parse(text)

    assert expected == {name: getattr(gate, name) for name in expected}


@pytest.mark.parametrize("metric", [*COUNTS, *MONEY, *TIMES])
def test_only_proportions_have_bounds_up_to_one(metric: str) -> None:
    """A hundred passed cases are not a proportion, although ``passed`` begins like ``pass_rate``."""
    assert 100.0 == Gate.parse(f"crm.{metric} <= 100").bound


ALL = f"({', '.join((*METRICS, *OPEN))})"
COMPARED = "a comparison (>=, >, <=, <, ==), or not worse than baseline,"
NOT_PAIRED = (
    "a comparison (>=, >, <=, <, ==; not worse than baseline is for metrics of single cases, such as pass_rate)"
)
UNIT = "a unit (ms, s, min) right after the number, or the end"


@pytest.mark.parametrize(
    ("text", "wanted", "place"),
    [
        ("", "a suite", 0),
        (" crm.pass_rate >= 0.6", "a suite", 0),
        ("crm >= 0.6", "a dot", 3),
        ("crm.recall >= 0.6", f"a metric {ALL}", 4),
        ("crm.pass_rates >= 0.6", "a metric (did you mean pass_rate?)", 4),
        ("crm.not_running >= 0.6", "a metric (did you mean not_run?)", 4),
        ("crm.pass_rate", COMPARED, 13),
        ("crm.pass_rate => 0.6", COMPARED, 13),
        ("crm.pass_rate != 0.6", COMPARED, 13),
        ("crm.pass_rate >= ", "a number (0.5) or baseline", 17),
        ("crm.pass_rate >= most", "a number (0.5) or baseline", 17),
        ("crm.pass_rate >= nan", "a number (0.5) or baseline", 17),
        ("crm.pass_rate >= .6", "a number (0.5) or baseline", 17),
        ("crm.pass_rate >= 60%", "a share between 0 and 1", 17),
        ("crm.pass_rate >= 0.6 # at least", "the end", 20),
        ("crm.pass_rate >= 0.6 and crm.failed == 0", "the end", 20),
        ("crm[.pass_rate >= 0.6", "a closing bracket", 21),
        ("crm[].pass_rate >= 0.6", "a subject, or * for each", 4),
        ("crm[a] pass_rate >= 0.6", "a dot", 6),
        ("crm.pass@ >= 0.6", f"a metric {ALL}", 4),
        ("crm.pass@0 >= 0.6", f"a metric {ALL}", 4),
        ("crm.latency_p95 <= 20h", UNIT, 21),
        ("crm.latency_p95 <= 20 s", UNIT, 21),
        ("crm.score:state >= 1.5", "a share between 0 and 1", 19),
        ("crm.pass_rate >= 0.2s", "the end", 20),
        ("crm.incorrect <= 5", "a share between 0 and 1", 17),
        ("crm.pass_rate >= baseline - most", "a number", 28),
        ("crm.pass_rate >= baselines", "a number (0.5) or baseline", 17),
        ("crm.cost not worse than baseline", NOT_PAIRED, 8),
        ("crm.pass_rate not worse than yesterday", COMPARED, 13),
        ("crm.pass_rate >= 0.6 with confidence", "a percentage (95%)", 26),
        ("crm.pass_rate >= 0.6 with 50% confidence", "more than 50% and less than 100%", 26),
        ("crm.pass_rate >= 0.6 with 95% certainty", "the word confidence", 29),
        ("crm.pass_rate == 0.6 with 95% confidence", "the end", 20),
        ("crm.failed <= 6 with 95% confidence", "the end", 15),
    ],
)
def test_syntax_error_in_a_gate_points_at_the_place(text: str, wanted: str, place: int) -> None:
    with pytest.raises(GateSyntaxError) as caught:
        Gate.parse(text)

    assert f"expected {wanted} here:\n  {text}\n  {' ' * place}^" == str(caught.value)


def concerning(*texts: str, parts: Sequence[JsonObject]) -> tuple[list[str], list[str]]:
    """Return the gates that a run of the suites crm and q must pass, and those that don't apply to it."""
    summaries = [SubjectSummary(suite=suite, subject="s", passed=1) for suite in ("crm", "q")]
    report = Report(run={"parts": parts}, standings=summaries, trials=[])
    judged, idle = applicable_gates([Gate.parse(text) for text in texts], report)
    return [gate.suite for gate in judged], [gate.suite for gate in idle]


def test_partial_run_is_not_evaluated_by_gates_of_the_rest() -> None:
    """Those don't apply; if everything is selected, all gates are evaluated."""
    texts = ("crm.passed > 0", "browse.passed > 0", "q.passed > 0")

    assert (["crm", "q"], ["browse"]) == concerning(*texts, parts=[PARTIAL])
    assert (["crm", "browse", "q"], []) == concerning(*texts, parts=[{}])
    assert (["crm", "browse", "q"], []) == concerning(*texts, parts=[PARTIAL, {}])


def test_gate_is_not_evaluated_only_if_another_is() -> None:
    assert (["crn"], []) == concerning("crn.passed > 0", parts=[PARTIAL])


def test_run_of_selected_suites_is_not_evaluated_by_gates_of_others() -> None:
    """Even if no other gate is left: selected suites exist, or the run is refused."""
    named: JsonObject = {"suites": ["crm", "q", "asked"]}

    assert (["q"], ["browse"]) == concerning("browse.passed > 0", "q.passed > 0", parts=[named])
    assert ([], ["browse"]) == concerning("browse.passed > 0", parts=[named, named])
    assert (["asked"], []) == concerning("asked.passed > 0", parts=[named])
    assert (["browse"], []) == concerning("browse.passed > 0", parts=[named, {}])


def test_suite_whose_cases_were_all_skipped_is_not_evaluated() -> None:
    """Another suite that is missing is misspelt."""
    left: JsonObject = {"left_out": {"browse": {"no judge": 3}, "q": {"no judge": 1}}}

    assert ([], ["browse"]) == concerning("browse.passed > 0", parts=[left])
    assert (["crn", "q"], ["browse"]) == concerning("crn.passed > 0", "browse.passed > 0", "q.passed > 0", parts=[left])


def test_merge_has_the_selection_of_its_runs() -> None:
    """It plays nothing itself."""
    merged: JsonObject = {"merged": {"runs": ["a", "b"]}}

    assert (["q"], ["browse"]) == concerning("q.passed > 0", "browse.passed > 0", parts=[PARTIAL, PARTIAL, merged])


def test_run_of_selected_agents_is_not_evaluated_by_gates_of_others() -> None:
    texts = ("crm[s].passed > 0", "crm[gpt].passed > 0")
    chosen: JsonObject = {"chosen": True, "agents": {"s": "s"}}
    by_default: JsonObject = {"agents": {"s": "s"}}

    def subjects(*parts: JsonObject) -> list[str]:
        summaries = [SubjectSummary(suite="crm", subject="s", passed=1)]
        report = Report(run={"parts": parts}, standings=summaries, trials=[])
        return [gate.subject for gate in applicable_gates([Gate.parse(text) for text in texts], report)[0]]

    assert ["s"] == subjects(chosen)
    assert ["s", "gpt"] == subjects(by_default)
    assert ["s", "gpt"] == subjects(chosen, by_default)


def test_gate_of_another_agent_is_not_evaluated_only_if_another_gate_is() -> None:
    chosen: JsonObject = {"chosen": True, "agents": {"s": "s"}}

    assert (["crm"], []) == concerning("crm[gpt].passed > 0", parts=[chosen])


def test_missing_checkpoint_is_a_breach() -> None:
    summaries = [
        SubjectSummary(suite="checkpoints", subject="checkpoint-49", passed=1),
        SubjectSummary(suite="crm", subject="s"),
    ]
    run: JsonObject = {"parts": [{"chosen": True, "agents": {"s": "s"}}]}
    gates = [Gate.parse("checkpoints[checkpoint-196].pass@1 > 0"), Gate.parse("crm.passed > 0")]

    assert [] == applicable_gates(gates, Report(run=run, standings=summaries, trials=[]))[1]
