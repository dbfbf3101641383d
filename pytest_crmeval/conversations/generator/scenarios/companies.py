"""What users want to know about companies that are no clients."""

from collections.abc import Mapping
from functools import partial

from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.scenarios.particulars import answered, found, listed, only
from pytest_crmeval.conversations.generator.story import Story

TYPES: Mapping[str, str] = {"Partner": "partners", "Vendor": "vendors", "Competitor": "competitors"}
ABSENT = 0.15
"""How often one asks for companies of which there are none."""


def find_company(story: Story) -> Intent | None:
    """Ask what we have about a company."""
    row = story.pick_unseen("Company")
    if row is None:
        return None
    said = story.call(row)
    return listed(story, "company_search", only(story, row, said, {"name": row.full_name}), [row], {"company": said})


def companies_of_type(story: Story) -> Intent | None:
    """Ask for all partners, vendors or competitors; perhaps there are none."""
    companies = story.world.of("Company")
    known = [company["type"] for company in companies]
    missing = [type_ for type_ in TYPES if type_ not in known and type_ not in story.seen]
    if companies and missing and not any(row.ref in story.seen for row in companies) and story.chance.chance(ABSENT):
        return _missed(story, story.chance.one_of(missing))
    row = story.pick_unseen("Company")
    return _of_type(story, row["type"]) if row else None


def _of_type(story: Story, type_: str) -> Intent | None:
    rows = story.world.of("Company", type=type_)
    return listed(story, "company_search", {"type": type_}, rows, {"kind": TYPES[type_]})


def _missed(story: Story, type_: str) -> Intent:
    """Ask for what there is none of; from then on it is known."""
    story.seen.add(type_)
    return Intent(
        tool="company_search",
        args={"type": type_},
        slots={"kind": TYPES[type_]},
        facts=["nothing"],
        skills=frozenset({"lookup", "absence"}),
    )


def companies_in_industry(story: Story) -> Intent | None:
    """Ask for the companies of an industry."""
    row = story.pick_unseen("Company", lambda company: bool(company["industry"]))
    args = {"industry": row["industry"]} if row else {}
    return listed(story, "company_search", args, found(story, "Company", args), args) if row else None


def _asked(story: Story, column: str) -> Intent | None:
    row = story.pick_unseen("Company", lambda company: bool(company[column]))
    return answered(story, row, column, story.call(row), {"name": row.full_name}) if row else None


def ask_company_address(story: Story) -> Intent | None:
    """Ask where a company is."""
    return _asked(story, "address")


def ask_company_type(story: Story) -> Intent | None:
    """Ask what a company is to us."""
    return _asked(story, "type")


def ask_company_industry(story: Story) -> Intent | None:
    """Ask what industry a company is in."""
    return _asked(story, "industry")


def list_all_companies(story: Story) -> Intent | None:
    """Ask for all companies that are no clients."""
    return listed(story, "list_companies", {}, story.world.of("Company"), {})


_read = partial(Scenario, entity="Company", tools=["company_search"])

MOVES = (
    _read(make=find_company, weight=1.5),
    _read(make=companies_of_type, weight=2.0),
    _read(make=companies_in_industry),
    _read(make=ask_company_address, weight=1.5),
    _read(make=ask_company_type, weight=1.5),
    _read(make=ask_company_industry),
    Scenario(make=list_all_companies, entity="Company", tools=["list_companies"], weight=1.0),
)
