"""Names, addresses and phone numbers that are not in the CRM."""

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.mail import domain
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.story import Story

MAILBOXES = ("info", "office", "hello", "sales", "accounts", "team", "contact", "billing", "reception", "purchasing")


def company(story: Story) -> str:
    """Return the name of a company that is not in the CRM and not similar to one that is."""
    industry = story.chance.one_of(vocabulary.industries())
    taken = " | ".join(row.full_name for row in story.world.rows if row.entity in {"Client", "Company"}).casefold()
    cores = [core for core in industry.cores if core.casefold() not in taken]
    return f"{story.chance.one_of(cores)} {story.chance.one_of(industry.tails)}"


def person(story: Story) -> tuple[str, str, bool]:
    """Return the first and last name of a person who is not in the CRM, and whether it is a woman."""
    region, feminine = story.chance.one_of(vocabulary.people()), story.chance.chance(0.5)
    known = story.world.of("Contact")
    firsts = [name for name in (region.first_f if feminine else region.first_m) if not _is_taken(name, known)]
    lasts = [name for name in region.last if not _is_taken(name, known)]
    return story.chance.one_of(firsts), story.chance.one_of(lasts), feminine


def deal_name(story: Story) -> str:
    """Return the name of a deal that does not exist."""
    taken = [row.full_name for row in story.world.of("Opportunity")]
    names = [name for industry in vocabulary.industries() for name in industry.deals if name not in taken]
    return story.chance.one_of(names)


def next_deal(story: Story, client: Row) -> str:
    """Return the name of a new deal that fits a client."""
    taken = [row.full_name for row in story.world.of("Opportunity")]
    own = [industry.deals for industry in vocabulary.industries() if industry.name == client["industry"]]
    names = [name for deals in own for name in deals if name not in taken]
    return story.chance.one_of(names) if names else deal_name(story)


def mailbox(story: Story, name: str) -> str:
    """Return an e-mail address at a company that no client has."""
    taken = [str(row["email"]).casefold() for row in story.world.of("Client")]
    addresses = [f"{box}@{domain(name)}" for box in MAILBOXES]
    return story.chance.one_of([address for address in addresses if address not in taken])


def phone(story: Story, _: Row | None = None) -> str:
    """Return a fictitious telephone number."""
    return story.chance.digits(story.chance.one_of(vocabulary.places()).phone)


def _is_taken(name: str, people: list[Row]) -> bool:
    """Whether a contact has that name, or one that contains it or is part of it."""
    sought = name.casefold()
    others = [str(row[column]).casefold() for row in people for column in ("first_name", "last_name")]
    return any(sought in other or other in sought for other in others)
