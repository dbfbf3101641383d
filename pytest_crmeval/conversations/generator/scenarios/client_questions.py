"""What users want to know about clients, and about the CRM as a whole."""

from collections.abc import Mapping
from functools import partial

from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.particulars import answered, found, listed
from pytest_crmeval.conversations.generator.story import COUNTED, Story

GROUPS: Mapping[str, str] = {"Active": "active clients", "Prospect": "prospects", "Inactive": "inactive clients"}
"""What clients of a status are called together."""
THINGS: Mapping[str, tuple[str, ...]] = {
    "Client": ("clients",),
    "Contact": ("contacts", "people"),
    "Opportunity": ("deals", "opportunities"),
    "Quote": ("quotes",),
    "Contract": ("contracts",),
    "Document": ("documents",),
    "Note": ("notes",),
}
"""What can be counted, in the words for it."""
LONG = 5
"""Letters of a word by which one looks for a name."""


def _asked(story: Story, column: str) -> Intent | None:
    row = story.pick_unseen("Client", lambda client: bool(client[column]))
    return answered(story, row, column, story.call(row), {"name": row.full_name}) if row else None


def ask_client_email(story: Story) -> Intent | None:
    """Ask for a client's e-mail address."""
    return _asked(story, "email")


def ask_client_phone(story: Story) -> Intent | None:
    """Ask for a client's phone number."""
    return _asked(story, "phone")


def ask_client_owner(story: Story) -> Intent | None:
    """Ask who of ours looks after a client."""
    return _asked(story, "owner")


def ask_client_status(story: Story) -> Intent | None:
    """Ask whether a client is active, inactive or a prospect."""
    return _asked(story, "status")


def ask_client_address(story: Story) -> Intent | None:
    """Ask where a client is."""
    return _asked(story, "address")


def clients_in_industry(story: Story) -> Intent | None:
    """Ask which clients are of an industry."""
    row = story.pick_unseen("Client", lambda client: bool(client["industry"]))
    args = {"industry": row["industry"]} if row else {}
    return listed(story, "client_search", args, found(story, "Client", args), args) if row else None


def clients_with_status(story: Story) -> Intent | None:
    """Ask which clients are active, inactive or prospects."""
    row = story.pick_unseen("Client")
    if row is None:
        return None
    rows = story.world.of("Client", status=row["status"])
    return listed(story, "client_search", {"status": row["status"]}, rows, {"kind": GROUPS[row["status"]]})


def clients_of_owner(story: Story) -> Intent | None:
    """Ask which clients one of ours looks after."""
    row = story.pick_unseen("Client", lambda client: bool(client["owner"]))
    args = {"owner": row["owner"]} if row else {}
    return listed(story, "client_search", args, found(story, "Client", args), args) if row else None


def _parts(row: Row) -> list[str]:
    """Return what one may remember of a name."""
    words = [word for word in row.full_name.split() if len(word) >= LONG]
    return [*([row.known_as] * 3 if row.known_as else []), *words]


def find_clients_named(story: Story) -> Intent | None:
    """Ask for clients by a part of the name; often several have it."""
    row = story.pick_unseen("Client", lambda client: bool(_parts(client)))
    args = {"name": story.chance.one_of(_parts(row))} if row else {}
    return listed(story, "client_search", args, found(story, "Client", args), {"part": args["name"]}) if row else None


def list_all_clients(story: Story) -> Intent | None:
    """Ask for all clients."""
    return listed(story, "list_clients", {}, story.world.of("Client"), {})


def count_everything(story: Story) -> Intent | None:
    """Ask how many there are of something."""
    kinds = [entity for entity in THINGS if _is_uncounted(story, entity)]
    if not kinds or COUNTED in story.seen:
        return None
    entity = story.chance.one_of(kinds)
    story.seen.add(COUNTED)
    return Intent(
        tool="summarize_counts",
        args={},
        slots={"things": story.chance.one_of(THINGS[entity])},
        facts=[len(story.world.of(entity))],
        skills=frozenset({"aggregation"}),
    )


def _is_uncounted(story: Story, entity: str) -> bool:
    rows = story.world.of(entity)
    return len(rows) > 1 and any(row.ref not in story.seen for row in rows)


_read = partial(Scenario, entity="Client", tools=["client_search"])

MOVES = (
    _read(make=ask_client_email),
    _read(make=ask_client_phone),
    _read(make=ask_client_owner),
    _read(make=ask_client_status, weight=1.2),
    _read(make=ask_client_address, weight=0.7),
    _read(make=clients_in_industry, weight=0.8),
    _read(make=clients_with_status, weight=0.8),
    _read(make=clients_of_owner, weight=0.8),
    _read(make=find_clients_named, weight=1.5),
    Scenario(make=list_all_clients, entity="Client", tools=["list_clients"], weight=0.5),
    Scenario(make=count_everything, entity="Client", tools=["summarize_counts"], weight=0.6),
)
