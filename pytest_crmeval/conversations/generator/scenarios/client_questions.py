"""Questions about clients, and about the CRM as a whole."""

from collections.abc import Mapping
from functools import partial

from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.details import answered, found, listed
from pytest_crmeval.conversations.generator.story import COUNTED, Story

GROUPS: Mapping[str, str] = {"Active": "active clients", "Prospect": "prospects", "Inactive": "inactive clients"}
"""Status -> words for clients that have it."""
THINGS: Mapping[str, tuple[str, ...]] = {
    "Client": ("clients",),
    "Contact": ("contacts", "people"),
    "Opportunity": ("deals", "opportunities"),
    "Quote": ("quotes",),
    "Contract": ("contracts",),
    "Document": ("documents",),
    "Note": ("notes",),
}
"""Entity -> words for its records, in questions about their number."""
LONG = 5
"""Letters of a word that is long enough to search for."""


def _ask(story: Story, column: str) -> Intent | None:
    """Ask for one column of a client."""
    row = story.pick_unseen("Client", lambda client: bool(client[column]))
    return answered(story, row, column, story.refer_to(row), {"name": row.full_name})


def _clients_by(story: Story, column: str) -> Intent | None:
    """Ask which clients have a value in a column."""
    row = story.pick_unseen("Client", lambda client: bool(client[column]))
    args = {column: row[column]}
    return listed(story, "client_search", args, found(story, "Client", args), args)


def clients_with_status(story: Story) -> Intent | None:
    """Ask which clients are active, inactive or prospects."""
    row = story.pick_unseen("Client")
    rows = story.world.of("Client", status=row["status"])
    return listed(story, "client_search", {"status": row["status"]}, rows, {"kind": GROUPS[row["status"]]})


def _parts(row: Row) -> list[str]:
    """Return parts of a name that a user may search for."""
    words = [word for word in row.full_name.split() if len(word) >= LONG]
    return [*([row.known_as] * 3 if row.known_as else []), *words]


def find_clients_named(story: Story) -> Intent | None:
    """Ask for clients by a part of the name, which often several have."""
    row = story.pick_unseen("Client", lambda client: bool(_parts(client)))
    args = {"name": story.chance.one_of(_parts(row))}
    return listed(story, "client_search", args, found(story, "Client", args), {"part": args["name"]})


def list_all_clients(story: Story) -> Intent | None:
    """Ask for all clients."""
    return listed(story, "list_clients", {}, story.world.of("Client"), {})


def count_everything(story: Story) -> Intent | None:
    """Ask how many there are of something."""
    tables = [story.world.of(entity) for entity in THINGS]
    kinds = [rows[0].entity for rows in tables if len(rows) > 1 and any(row.ref not in story.seen for row in rows)]
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


_read = partial(Scenario, entity="Client", tools=["client_search"])

SCENARIOS = (
    _read(make=partial(_ask, column="email"), wordings="ask_client_email"),
    _read(make=partial(_ask, column="phone"), wordings="ask_client_phone"),
    _read(make=partial(_ask, column="owner"), wordings="ask_client_owner"),
    _read(make=partial(_ask, column="status"), wordings="ask_client_status", weight=1.2),
    _read(make=partial(_ask, column="address"), wordings="ask_client_address", weight=0.7),
    _read(make=partial(_clients_by, column="industry"), wordings="clients_in_industry", weight=0.8),
    _read(make=clients_with_status, weight=0.8),
    _read(make=partial(_clients_by, column="owner"), wordings="clients_of_owner", weight=0.8),
    _read(make=find_clients_named, weight=1.5),
    Scenario(make=list_all_clients, entity="Client", tools=["list_clients"], weight=0.5),
    Scenario(make=count_everything, entity="Client", tools=["summarize_counts"], weight=0.6),
)
