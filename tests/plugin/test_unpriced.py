"""A model with an unknown price, in summary and report."""

import json
from collections.abc import Callable
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from tests.projects import case, report_of
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
UNPRICED = ("--crmeval-agent", "openai:m")
PRICED = ("--crmeval-agent", "openai:n?price=2/8")


def test_report_with_an_unknown_price_is_valid(project: Project, providers: Providers) -> None:
    """The amount spent is a number, even if only a part of it is known."""
    providers()
    pytester = project([case("one")])

    pytester.runpytest(*UNPRICED, *PRICED)

    schema = json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text(encoding="utf-8"))
    report = report_of(pytester.path)
    Draft202012Validator(schema).validate(report)
    assert [None, 0.00072] == [result["bill"]["cost"] for result in report["results"]]
    assert 0.00072 == report["run"]["spent"]


@pytest.mark.parametrize(
    ("agents", "shown"),
    [((*UNPRICED, *PRICED), "more than $0.00072"), (UNPRICED, "unknown"), (PRICED, "$0.00072")],
    ids=["some", "nothing", "all"],
)
def test_summary_shows_that_the_known_cost_is_only_a_part(
    project: Project, providers: Providers, agents: tuple[str, ...], shown: str
) -> None:
    """Unknown is not zero."""
    providers()

    result = project([case("one")]).runpytest(*agents)

    result.stdout.fnmatch_lines([f"total: *; spent by this run: {shown}"])
