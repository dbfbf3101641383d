"""How users refer to a record: by name, by a description, by a pronoun; seldom by its id."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from pytest_crmeval.conversations.generator.days import written
from pytest_crmeval.conversations.generator.rows import Row, World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

NAMED, DESCRIBED, PRONOUN = frozenset[str](), frozenset({"description"}), frozenset({"pronoun"})
ALIKE = frozenset({"disambiguation"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Referent:
    """The words for a record."""

    object: str
    """Open *it*, open *the fleet deal*."""
    own: str
    """*Its* amount, *the fleet deal's* amount."""
    subject: str
    """*They* called, *Harbor Light* called."""
    known: bool = False
    """Whether it is the current subject, so that a wording may leave it out."""
    skills: frozenset[str] = NAMED


class DeadEndError(Exception):
    """The conversation can't be continued and has to be started again."""


class NamingScope(Protocol):
    """The part of a Story that is needed to refer to a record."""

    chance: SeededRandom
    world: World
    subject: Row | None


Way = tuple[Referent, float]
"""A way to refer to a record, with its weight."""


def refer_to(story: NamingScope, row: Row) -> Referent:
    """Return words for a record that can't mean any other record."""
    ways = list(_WAYS[row.entity](story, row))
    if not ways:
        raise DeadEndError(f"{row.entity} {row.ref} can't be distinguished from others")
    return story.chance.weighted(ways)


def by_name(row: Row) -> Referent:
    """Return a record by its full name."""
    return _called(row.full_name)


def _called(name: str, skills: frozenset[str] = NAMED, *, known: bool = False) -> Referent:
    return Referent(object=name, own=possessive(name), subject=name, skills=skills, known=known)


def possessive(name: str) -> str:
    """Return Harbor Light's, Holdings'."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _pronoun(subject: str, object_: str, own: str) -> Way:
    return Referent(object=object_, own=own, subject=subject, known=True, skills=PRONOUN), 12.0


def short_name(story: NamingScope, row: Row) -> str:
    """Return the distinctive part of a name, if no other client or company has it, else the whole name."""
    others = [other for entity in ("Client", "Company") for other in story.world.of(entity) if other is not row]
    alone = row.known_as and not any(row.known_as.casefold() in other.full_name.casefold() for other in others)
    return row.known_as if alone else row.full_name


def _client(story: NamingScope, row: Row) -> Iterator[Way]:
    if story.subject is row:
        yield _pronoun("they", "them", "their")
    short = short_name(story, row)
    skills = ALIKE if row.known_as and short != row.known_as else NAMED
    yield from ((_called(name, skills, known=story.subject is row), 2.5) for name in (row.full_name, short))
    if row["industry"] and len(story.world.of("Client", industry=row["industry"])) == 1:
        yield _called(f"our {row['industry']} client", DESCRIBED), 0.5


def _contact(story: NamingScope, row: Row) -> Iterator[Way]:
    if story.subject is row:
        yield _pronoun("she", "her", "her") if row.feminine else _pronoun("he", "him", "his")
    skills = ALIKE if len(story.world.of("Contact", last_name=row["last_name"])) > 1 else NAMED
    yield _called(row.full_name, skills, known=story.subject is row), 4.0
    client = story.world.client_of(row)
    where = short_name(story, client)
    colleagues = story.world.of("Contact", client_id=client.ref)
    if len([other for other in colleagues if other["first_name"] == row["first_name"]]) == 1:
        name = f"{row['first_name']} at {where}"
        yield Referent(object=name, own=possessive(row.full_name), subject=name), 1.5
    if row["title"] and len([other for other in colleagues if other["title"] == row["title"]]) == 1:
        whose = "their" if story.subject is client else possessive(where)
        yield _called(f"{whose} {row['title']}", DESCRIBED), 1.5


def _deal(story: NamingScope, row: Row) -> Iterator[Way]:
    if story.subject is row:
        yield _pronoun("it", "it", "its")
        yield _called("that deal", PRONOUN, known=True), 4.0
    if row["name"].endswith(" (Clone)"):
        yield _called(f'"{row["name"]}"'), 3.0
        return
    yield from ((_called(name.format(row["name"])), 1.5) for name in ("the {} deal", "{}", "the {} opportunity"))
    client = story.world.client_of(row)
    whose = "their" if story.subject is client else possessive(short_name(story, client))
    yield _called(f"{whose} {row['name']} deal"), 1.0
    deals = story.world.of("Opportunity", client_id=client.ref)
    if len(deals) == 1:
        yield _called(f"{whose} deal", DESCRIBED), 1.5
        yield _called(f"the deal with {short_name(story, client)}", DESCRIBED), 1.0
    else:
        yield from ((_called(f"{whose} {what}", DESCRIBED), 1.0) for what in _standing_out(row, deals, "deal"))
    if not row.is_closed and [other for other in deals if other["stage"] == row["stage"]] == [row]:
        yield _called(f"{whose} deal in {row['stage']}", DESCRIBED), 1.0


def _standing_out(row: Row, rows: Sequence[Row], what: str) -> Iterator[str]:
    """Yield superlatives for a row by its amount."""
    amounts = sorted(other["amount"] for other in rows)
    pair = len(rows) == 2  # noqa: PLR2004 (a pair)
    if row["amount"] == amounts[-1] > amounts[-2]:
        yield f"bigger {what}" if pair else f"biggest {what}"
    if row["amount"] == amounts[0] < amounts[1]:
        yield f"smaller {what}" if pair else f"smallest {what}"


def _paper(story: NamingScope, row: Row, what: str) -> Iterator[Way]:
    """Yield pronouns for a quote or contract; not *it* for a new one, which could also mean its deal."""
    if story.subject is row and row.seeded:
        yield _pronoun("it", "it", "its")
    if story.subject is row:
        yield _called(f"that {what}", PRONOUN, known=row.seeded), 8.0


def _quote(story: NamingScope, row: Row) -> Iterator[Way]:
    yield from _paper(story, row, "quote")
    deal = story.world.deal_of(row)
    on = "it" if story.subject is deal else f"the {deal['name']} deal"
    quotes = story.world.of("Quote", opportunity_id=deal.ref)
    if len(quotes) == 1:
        yield _called(f"the quote for {on}", DESCRIBED), 4.0
        yield _called(f"the only quote on {on}", DESCRIBED), 1.0
    else:
        for what in _standing_out(row, quotes, "of the two quotes" if len(quotes) == 2 else "quote"):  # noqa: PLR2004
            yield _called(f"the {what} on {on}", DESCRIBED), 3.0
    if len([other for other in quotes if other["status"] == row["status"]]) == 1 < len(quotes):
        yield _called(f"the {row['status'].lower()} quote on {on}", DESCRIBED), 2.0
    if row["version"] and len([other for other in quotes if other["version"] == row["version"]]) == 1:
        yield _called(f"version {row['version']} of the quote for {on}", DESCRIBED), 1.5
    if row.seeded:
        yield _called(f"quote {row.ref}"), 0.4 if len(quotes) < 3 else 2.0  # noqa: PLR2004


def _contract(story: NamingScope, row: Row) -> Iterator[Way]:
    yield from _paper(story, row, "contract")
    client = story.world.client_of(row)
    whose = "their" if story.subject is client else possessive(short_name(story, client))
    contracts = story.world.of("Contract", client_id=client.ref)
    if len(contracts) == 1:
        yield _called(f"{whose} contract", DESCRIBED), 3.0
        yield _called(f"the contract with {short_name(story, client)}", DESCRIBED), 2.0
    if len([other for other in contracts if other["status"] == row["status"]]) == 1 < len(contracts):
        yield _called(f"{whose} {row['status'].lower()} contract", DESCRIBED), 3.0
    if row["end_date"] and len([other for other in contracts if other["end_date"] == row["end_date"]]) == 1:
        end = written(story.chance, date.fromisoformat(row["end_date"]))
        yield _called(f"{whose} contract that ends on {end}", DESCRIBED), 1.0
    if row.seeded:
        yield _called(f"contract {row.ref}"), 0.3


def _company(story: NamingScope, row: Row) -> Iterator[Way]:
    yield _called(row.full_name), 2.0
    yield _called(short_name(story, row)), 1.0


_WAYS: Mapping[str, Callable[[NamingScope, Row], Iterator[Way]]] = {
    "Client": _client,
    "Company": _company,
    "Contact": _contact,
    "Opportunity": _deal,
    "Quote": _quote,
    "Contract": _contract,
}
