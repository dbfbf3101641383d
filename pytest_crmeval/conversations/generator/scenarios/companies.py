"""Questions about companies that are not clients: partners, vendors, competitors."""

from collections.abc import Mapping
from functools import partial

from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.scenarios.details import answered, found, listed, only
from pytest_crmeval.conversations.generator.story import Story

TYPES: Mapping[str, str] = {"Partner": "partners", "Vendor": "vendors", "Competitor": "competitors"}
ABSENT = 0.15
"""Probability of a question about a type of which there are no companies."""


def find_company(story: Story) -> Intent | None:
    """Ask for all that is known about a company."""
    row = story.pick_unseen("Company")
    said = story.refer_to(row)
    return listed(story, "company_search", only(story, row, said, {"name": row.full_name}), [row], {"company": said})


def companies_of_type(story: Story) -> Intent | None:
    """Ask for all partners, vendors or competitors; perhaps there are none."""
    companies = story.world.of("Company")
    known = [company["type"] for company in companies]
    missing = [type_ for type_ in TYPES if type_ not in known and type_ not in story.seen]
    if companies and missing and not any(row.ref in story.seen for row in companies) and story.chance.chance(ABSENT):
        type_ = story.chance.one_of(missing)
        story.seen.add(type_)
        return Intent(
            tool="company_search",
            args={"type": type_},
            slots={"kind": TYPES[type_]},
            facts=["nothing"],
            skills=frozenset({"lookup", "absence"}),
        )
    row = story.pick_unseen("Company")
    args = {"type": row["type"]}
    return listed(story, "company_search", args, story.world.of("Company", **args), {"kind": TYPES[row["type"]]})


def companies_in_industry(story: Story) -> Intent | None:
    """Ask for the companies of an industry."""
    row = story.pick_unseen("Company", lambda company: bool(company["industry"]))
    args = {"industry": row["industry"]}
    return listed(story, "company_search", args, found(story, "Company", args), args)


def _ask(story: Story, column: str) -> Intent | None:
    """Ask for one column of a company."""
    row = story.pick_unseen("Company", lambda company: bool(company[column]))
    return answered(story, row, column, story.refer_to(row), {"name": row.full_name})


def list_all_companies(story: Story) -> Intent | None:
    """Ask for all companies that are not clients."""
    return listed(story, "list_companies", {}, story.world.of("Company"), {})


_read = partial(Scenario, entity="Company", tools=["company_search"])

SCENARIOS = (
    _read(make=find_company, weight=1.5),
    _read(make=companies_of_type, weight=2.0),
    _read(make=companies_in_industry),
    _read(make=partial(_ask, column="address"), wordings="ask_company_address", weight=1.5),
    _read(make=partial(_ask, column="type"), wordings="ask_company_type", weight=1.5),
    _read(make=partial(_ask, column="industry"), wordings="ask_company_industry"),
    Scenario(make=list_all_companies, entity="Company", tools=["list_companies"], weight=1.0),
)
