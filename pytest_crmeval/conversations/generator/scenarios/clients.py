"""New clients, and changes of clients."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pytest_crmeval.conversations.generator import vocabulary
from pytest_crmeval.conversations.generator.intents import Intent, Scenario
from pytest_crmeval.conversations.generator.mail import domain, domain_of
from pytest_crmeval.conversations.generator.rows import Row
from pytest_crmeval.conversations.generator.scenarios.details import ColumnChange, address, change_of, in_words
from pytest_crmeval.conversations.generator.scenarios.unused_names import phone
from pytest_crmeval.conversations.generator.story import Story

STATUSES = ("Active", "Prospect", "Inactive")
KINDS: Mapping[str, str] = {"Active": "an active client", "Prospect": "a prospect", "Inactive": "an inactive client"}
"""Status -> words for a new client that has it."""
_ROOMS = (
    "info",
    "hello",
    "office",
    "contact",
    "sales",
    "ops",
    "team",
    "accounts",
    "service",
    "mail",
    "desk",
    "welcome",
)
_TURNS: Mapping[tuple[str, str], str] = {
    ("Active", "Inactive"): "deactivate_client",
    ("Inactive", "Active"): "reactivate_client",
    ("Prospect", "Active"): "take_prospect_on",
}
"""Changes of status that have their own wordings."""
_EXTRAS = (("industry",), ("phone",), ("owner",), ("industry", "phone"), ("industry", "owner"), ("address",))


def _taken(story: Story, core: str) -> bool:
    """Whether a name contains an existing name or is part of one."""
    rows = [*story.world.of("Client"), *story.world.of("Company")]
    name = core.casefold()
    return any(name in row.full_name.casefold() or row.full_name.casefold() in name for row in rows)


def _new_name(story: Story) -> tuple[str, str, str]:
    """Return the distinctive part of a new name, the name, and its industry."""
    industry = story.chance.one_of(vocabulary.industries())
    core = story.chance.one_of([core for core in industry.cores if not _taken(story, core)])
    return core, f"{core} {story.chance.one_of(industry.tails)}", industry.name


def _new_email(story: Story, row: Row) -> str:
    """Return an address in the client's domain that no client has."""
    where = domain_of(row["email"] or "") or domain(row["name"])
    used = {str(client["email"]).lower() for client in story.world.of("Client")}
    return story.chance.one_of([room for room in _addresses(where) if room not in used])


def _addresses(where: str) -> list[str]:
    return [f"{room}@{where}" for room in _ROOMS]


def _other_name(story: Story, row: Row) -> str:
    """Return a new name for a client, often with the same beginning."""
    tails = [tail for industry in vocabulary.industries() if row.known_as in industry.cores for tail in industry.tails]
    names = [f"{row.known_as} {tail}" for tail in tails]
    free = [name for name in names if not _taken(story, name)]
    return story.chance.one_of(free) if free and story.chance.chance(0.7) else _new_name(story)[1]


_CHANGES: Mapping[str, ColumnChange] = {
    change.column: change
    for change in (
        ColumnChange(column="name", thing="the name", draw=_other_name),
        ColumnChange(column="email", thing="the e-mail address", draw=_new_email),
        ColumnChange(column="phone", thing="the phone number", draw=phone),
        ColumnChange(column="address", thing="the address", draw=address),
        change_of("industry", "the industry", lambda: [industry.name for industry in vocabulary.industries()]),
        change_of("status", "the status", lambda: STATUSES),
        change_of("owner", "the owner", vocabulary.owners),
    )
}


def add_client(story: Story) -> Intent:
    """Add a client, perhaps with optional columns."""
    core, name, industry = _new_name(story)
    status = story.chance.weighted((("Prospect", 5.0), ("Active", 4.0), ("Inactive", 0.5)))
    args = {"name": name, "email": story.chance.one_of(_addresses(domain(name))), "status": status}
    empty = Row(entity="Client", ref="", columns={})
    extras = story.chance.one_of(_EXTRAS) if story.chance.chance(0.55) else ()
    more = {column: industry if column == "industry" else _CHANGES[column].draw(story, empty) for column in extras}
    slots = {"name": name, "email": args["email"], "kind": KINDS[status]}
    if more:
        slots["details"] = in_words(story.chance, more)
    row = story.world.create("Client", story.number, {**args, **more}, known_as=core)
    fixable = [column for column in ("email", "phone", "owner", "address") if row[column]]
    return Intent(
        tool="create_new_client",
        args=dict(row.columns),
        slots=slots,
        phrase="add_client_in_full" if more else "",
        skills=frozenset({"creation"}),
        about=row,
        fixes=tuple(_CHANGES[column].fix(row) for column in fixable),
    )


def ensure_client_exists(story: Story) -> Intent | None:
    """Make sure that a client exists; the user does not know whether it does."""
    known = story.chance.chance(0.5)
    row = story.pick_or_none("Client", lambda row: row.ref not in story.seen and bool(row["email"])) if known else None
    if row is None:
        core, name, _ = _new_name(story)
        status = story.chance.one_of(("Prospect", "Active"))
        columns = {"email": story.chance.one_of(_addresses(domain(name))), "name": name, "status": status}
        row = story.world.create("Client", story.number, columns, known_as=core)
    return Intent(
        tool="ensure_client",
        args={column: row[column] for column in ("email", "name", "status")},
        slots={"name": row.full_name, "email": row["email"], "kind": KINDS[row["status"]]},
        skills=frozenset({"creation", "lookup"}),
        about=row,
    )


def set_client_status(story: Story) -> Intent | None:
    """Set whether a client is active, inactive or a prospect."""
    row = story.pick("Client")
    before = row["status"]
    intent = _CHANGES["status"].made(story, row)
    phrase = _TURNS.get((before, row["status"]))
    if phrase is None or story.chance.chance(0.4):
        return intent
    return replace(intent, slots={"client": intent.slots["client"]}, phrase=phrase)


def _change(story: Story, column: str) -> Intent | None:
    """Change one column of a client."""
    row = story.pick("Client")
    return _CHANGES[column].made(story, row)


def rename_client(story: Story) -> Intent | None:
    """Rename a client."""
    row = story.pick("Client")
    intent = _CHANGES["name"].made(story, row)
    if row.known_as and row.known_as not in row.full_name:
        row.known_as = ""
    return intent


_write = partial(Scenario, entity="Client", tools=["modify_client"], joins=True)

SCENARIOS = (
    Scenario(make=add_client, entity="Client", tools=["create_new_client"], weight=3.0),
    Scenario(make=ensure_client_exists, entity="Client", tools=["ensure_client"], weight=1.5),
    _write(make=set_client_status, weight=2.5),
    _write(make=partial(_change, column="phone"), wordings="change_client_phone", weight=1.5),
    _write(make=partial(_change, column="address"), wordings="change_client_address"),
    _write(make=partial(_change, column="email"), wordings="change_client_email"),
    _write(make=partial(_change, column="owner"), wordings="change_client_owner", weight=1.5),
    _write(make=partial(_change, column="industry"), wordings="change_client_industry", weight=0.7),
    _write(make=rename_client, weight=0.7),
)
