"""Rules that a report must obey."""

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_crmeval.domain.gate import METRICS, Gate, GateSyntaxError, concerned
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.report import Report, Standing
from pytest_crmeval.domain.usage import Bill

PARTIAL: JsonObject = {"partial": True}


def report(*standings: Standing) -> Report:
    """Return the report of a run."""
    return Report(run={"id": "mine"}, standings=standings, trials=())


def crm(subject: str = "oracle", **counts: Any) -> Standing:  # noqa: ANN401 (whole numbers)
    """Return a standing in the suite ``crm``."""
    return Standing(suite="crm", subject=subject, **counts)


def test_a_gate_is_a_suite_a_metric_a_comparison_and_a_number() -> None:
    """The text is kept as written, for the summary."""
    expected = Gate(text="crm.pass_rate >= 0.60", suite="crm", metric="pass_rate", comparison=">=", bound=0.6)

    assert expected == Gate.parse("crm.pass_rate >= 0.60")


@pytest.mark.parametrize("text", ["crm.pass_rate>=0.6", "crm.pass_rate  >=  0.6 ", "crm.pass_rate\t>= 0.6\n"])
def test_spaces_around_the_comparison_and_at_the_end_say_nothing(text: str) -> None:
    """Aligning gates in an ini file is allowed."""
    gate = Gate.parse(text)

    assert ("crm", "pass_rate", ">=", 0.6) == (gate.suite, gate.metric, gate.comparison, gate.bound)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_can_be_gated(metric: str) -> None:
    """Each name of METRICS is really a figure of a standing."""
    assert Gate.parse(f"crm.{metric} >= 0").judge(report(crm(passed=1, failed=1))).holds


@pytest.mark.parametrize(
    ("text", "wanted", "place"),
    [
        ("", "a suite", 0),
        (" crm.pass_rate >= 0.6", "a suite", 0),
        ("crm >= 0.6", "a dot", 3),
        ("crm.recall >= 0.6", f"a metric ({', '.join(METRICS)})", 4),
        ("crm.pass_rates >= 0.6", f"a metric ({', '.join(METRICS)})", 4),
        ("crm.not_running >= 0.6", f"a metric ({', '.join(METRICS)})", 4),
        ("crm.pass_rate", "a comparison (>=, >, <=, <, ==)", 13),
        ("crm.pass_rate => 0.6", "a comparison (>=, >, <=, <, ==)", 13),
        ("crm.pass_rate != 0.6", "a comparison (>=, >, <=, <, ==)", 13),
        ("crm.pass_rate >= ", "a number", 17),
        ("crm.pass_rate >= most", "a number", 17),
        ("crm.pass_rate >= nan", "a number", 17),
        ("crm.pass_rate >= .6", "a number", 17),
        ("crm.pass_rate >= 60%", "the end", 19),
        ("crm.pass_rate >= 0.6 # at least", "the end", 20),
        ("crm.pass_rate >= 0.6 and crm.failed == 0", "the end", 20),
    ],
)
def test_a_gate_that_cannot_be_read_points_at_the_place(text: str, wanted: str, place: int) -> None:
    """Whoever wrote it sees what was expected, and a caret below where."""
    with pytest.raises(GateSyntaxError) as caught:
        Gate.parse(text)

    assert f"expected {wanted} here:\n  {text}\n  {' ' * place}^" == str(caught.value)


@pytest.mark.parametrize(
    ("comparison", "holds_below", "holds_at", "holds_above"),
    [
        (">=", False, True, True),
        (">", False, False, True),
        ("<=", True, True, False),
        ("<", True, False, False),
        ("==", False, True, False),
    ],
)
def test_a_comparison_means_what_it_says(
    comparison: str, *, holds_below: bool, holds_at: bool, holds_above: bool
) -> None:
    """2, 3 and 4 failed cases against a bound of 3."""
    gate = Gate.parse(f"crm.failed {comparison} 3")

    rulings = [gate.judge(report(crm(failed=failed))) for failed in (2, 3, 4)]

    assert [holds_below, holds_at, holds_above] == [ruling.holds for ruling in rulings]


def test_a_ruling_shows_the_value() -> None:
    """Also when the gate holds: how much room is left is worth knowing."""
    ruling = Gate.parse("crm.pass_rate >= 0.60").judge(report(crm(passed=2, failed=1)))

    assert ("crm.pass_rate >= 0.60", True, "pass_rate is 0.666667") == (ruling.gate, ruling.holds, ruling.explanation)


def test_a_pass_rate_just_at_the_bound_holds() -> None:
    """Seven of ten are 0.7, in binary, too."""
    assert Gate.parse("crm.pass_rate >= 0.7").judge(report(crm(passed=7, failed=3))).holds


def test_all_subjects_of_a_suite_are_judged_together() -> None:
    """One good and one bad agent are one suite of half passed cases."""
    good, bad = crm("oracle", passed=4), crm("mute", failed=4)

    assert "pass_rate is 0.5" == Gate.parse("crm.pass_rate >= 0.6").judge(report(good, bad)).explanation


def test_another_suite_does_not_count() -> None:
    """A gate looks at its own suite only."""
    other = Standing(suite="browsecomp", subject="oracle", failed=9)

    assert Gate.parse("crm.pass_rate >= 1").judge(report(crm(passed=1), other)).holds


def test_a_suite_that_was_not_run_is_a_breach() -> None:
    """A typo in the name of a suite must not pass every merge."""
    ruling = Gate.parse("crn.failed == 0").judge(report(crm(passed=1)))

    assert (False, "the run has no suite 'crn'") == (ruling.holds, ruling.explanation)


def test_a_run_that_is_not_complete_is_a_breach() -> None:
    """Also when the cases that were played are all right."""
    ruling = Gate.parse("crm.pass_rate >= 0.1").judge(report(crm(passed=5, not_run=2)))

    assert (False, "2 of 7 cases were not run") == (ruling.holds, ruling.explanation)


def test_a_rate_of_nothing_is_a_breach() -> None:
    """When every trial errored, or is of an invalid case, there is no pass rate, neither zero nor one."""
    ruling = Gate.parse("crm.pass_rate >= 0").judge(report(crm(errored=3, invalid=2)))

    assert (False, "no trial was scored") == (ruling.holds, ruling.explanation)


def test_invalid_cases_are_no_breach_unless_a_gate_says_so() -> None:
    """They are neither failed nor missing."""
    found = report(crm(passed=1, invalid=2))

    assert Gate.parse("crm.pass_rate >= 1").judge(found).holds
    assert Gate.parse("crm.failed == 0").judge(found).holds
    ruling = Gate.parse("crm.invalid == 0").judge(found)
    assert (False, "invalid is 2") == (ruling.holds, ruling.explanation)


def costs(text: str, *bills: Bill | None, passed: int = 4) -> tuple[bool, str]:
    """Return what a gate says of subjects with these bills, who passed and failed four cases each."""
    found = [crm(str(number), passed=passed, failed=4, bill=bill) for number, bill in enumerate(bills)]
    ruling = Gate.parse(text).judge(report(*found))
    return ruling.holds, ruling.explanation


def test_money_can_be_gated() -> None:
    """In dollars, of all subjects together; to the cent, whatever binary fractions add up to."""
    assert (True, "cost is 0.3") == costs("crm.cost <= 0.30", Bill(cost=0.1), Bill(cost=0.2))
    assert (False, "cost is 5.01") == costs("crm.cost <= 5.00", Bill(cost=5.01))


def test_what_a_passed_case_costs_can_be_gated() -> None:
    """Failed ones have to be paid, too: twelve dollars for eight cases."""
    assert (True, "cost_per_pass is 1.5") == costs("crm.cost_per_pass < 2", Bill(cost=5.0), Bill(cost=7.0))


def test_who_asks_no_model_costs_nothing() -> None:
    """And does not make the price of others unknown."""
    assert (True, "cost is 0") == costs("crm.cost == 0", None)
    assert (True, "cost is 0.5") == costs("crm.cost < 1", None, Bill(cost=0.5))


@pytest.mark.parametrize("metric", ["cost", "cost_per_pass"])
def test_an_unknown_price_is_a_breach(metric: str) -> None:
    """Which is not a price of zero."""
    expected = (False, "the price of a model is unknown: give it with ?price=")

    assert expected == costs(f"crm.{metric} <= 1000", Bill(cost=1.0), Bill(cost=None))


def test_a_cost_per_pass_where_nothing_passed_is_a_breach() -> None:
    """It is neither zero nor a number."""
    assert (False, "no trial passed") == costs("crm.cost_per_pass <= 1000", Bill(cost=1.0), passed=0)


def concerning(*texts: str, parts: Sequence[JsonObject]) -> tuple[list[str], list[str]]:
    """Return which gates a run of the suites crm and q has to pass, and which say nothing about it."""
    standings = [Standing(suite=suite, subject="s", passed=1) for suite in ("crm", "q")]
    report = Report(run={"parts": parts}, standings=standings, trials=[])
    judged, idle = concerned([Gate.parse(text) for text in texts], report)
    return [gate.suite for gate in judged], [gate.suite for gate in idle]


def test_who_asks_for_a_part_is_not_judged_by_gates_of_the_rest() -> None:
    """They are idle; who asks for everything is judged by all of them."""
    texts = ("crm.passed > 0", "browse.passed > 0", "q.passed > 0")

    assert (["crm", "q"], ["browse"]) == concerning(*texts, parts=[PARTIAL])
    assert (["crm", "browse", "q"], []) == concerning(*texts, parts=[{}])
    assert (["crm", "browse", "q"], []) == concerning(*texts, parts=[PARTIAL, {}])


def test_a_gate_is_idle_only_beside_another() -> None:
    """Otherwise a misspelt suite would let everything through."""
    assert (["crn"], []) == concerning("crn.passed > 0", parts=[PARTIAL])


def test_who_asks_for_suites_by_name_is_not_judged_by_gates_of_others() -> None:
    """Also if no other gate is left: suites that were named are there, or refused."""
    named: JsonObject = {"suites": ["crm", "q", "asked"]}

    assert (["q"], ["browse"]) == concerning("browse.passed > 0", "q.passed > 0", parts=[named])
    assert ([], ["browse"]) == concerning("browse.passed > 0", parts=[named, named])
    assert (["asked"], []) == concerning("asked.passed > 0", parts=[named])
    assert (["browse"], []) == concerning("browse.passed > 0", parts=[named, {}])


def test_a_suite_of_which_all_was_left_out_is_not_judged() -> None:
    """Another that is not there is misspelt."""
    left: JsonObject = {"left_out": {"browse": {"no judge": 3}, "q": {"no judge": 1}}}

    assert ([], ["browse"]) == concerning("browse.passed > 0", parts=[left])
    assert (["crn", "q"], ["browse"]) == concerning("crn.passed > 0", "browse.passed > 0", "q.passed > 0", parts=[left])


def test_what_a_merge_was_asked_for_is_what_its_runs_were_asked_for() -> None:
    """It plays nothing itself."""
    merged: JsonObject = {"merged": {"runs": ["a", "b"]}}

    assert (["q"], ["browse"]) == concerning("q.passed > 0", "browse.passed > 0", parts=[PARTIAL, PARTIAL, merged])
