"""Names and addresses that nobody in the CRM has."""

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.mail import domain
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.story import Story

MAILBOXES = ("info", "office", "hello", "sales", "accounts", "team", "contact", "billing", "reception", "purchasing")


def company(story: Story) -> str:
    """Return the name of a company that is neither a client nor a partner, nor like one."""
    industry = story.chance.one_of(vocabulary.industries())
    taken = " | ".join(row.full_name for row in story.world.rows if row.entity in {"Client", "Company"}).casefold()
    cores = [core for core in industry.cores if core.casefold() not in taken]
    return f"{story.chance.one_of(cores)} {story.chance.one_of(industry.tails)}"


def person(story: Story) -> tuple[str, str, bool]:
    """Return the first and last name of somebody who is in nobody's contacts, and whether she is a woman."""
    region, feminine = story.chance.one_of(vocabulary.people()), story.chance.chance(0.5)
    known = story.world.of("Contact")
    firsts = [name for name in (region.first_f if feminine else region.first_m) if not _is_borne(name, known)]
    lasts = [name for name in region.last if not _is_borne(name, known)]
    return story.chance.one_of(firsts), story.chance.one_of(lasts), feminine


def deal_name(story: Story) -> str:
    """Return the name of a deal that there is not."""
    taken = [row.full_name for row in story.world.of("Opportunity")]
    names = [name for industry in vocabulary.industries() for name in industry.deals if name not in taken]
    return story.chance.one_of(names)


def next_deal(story: Story, client: Row) -> str:
    """Return what a client might buy next."""
    taken = [row.full_name for row in story.world.of("Opportunity")]
    own = [industry.deals for industry in vocabulary.industries() if industry.name == client["industry"]]
    names = [name for deals in own for name in deals if name not in taken]
    return story.chance.one_of(names) if names else deal_name(story)


def mailbox(story: Story, name: str) -> str:
    """Return an address at a company that no client has yet."""
    taken = [str(row["email"]).casefold() for row in story.world.of("Client")]
    addresses = [f"{box}@{domain(name)}" for box in MAILBOXES]
    return story.chance.one_of([address for address in addresses if address not in taken])


def phone(story: Story) -> str:
    """Return a telephone number."""
    return story.chance.digits(story.chance.one_of(vocabulary.places()).phone)


def _is_borne(name: str, people: list[Row]) -> bool:
    """Whether somebody has that name, or one that holds it."""
    sought = name.casefold()
    others = [str(row[column]).casefold() for row in people for column in ("first_name", "last_name")]
    return any(sought in other or other in sought for other in others)
