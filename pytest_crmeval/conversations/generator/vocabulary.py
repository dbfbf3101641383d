"""Names and texts for conversations, from the files in ``words``."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The names of people who share a language."""

    name: str
    first_f: Sequence[str]
    first_m: Sequence[str]
    last: Sequence[str]
    """Only last names that are the same for women and men."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Industry:
    """Names of clients in an industry, and of their deals."""

    name: str
    cores: Sequence[str]
    """First parts of company names, each of them unique."""
    tails: Sequence[str]
    deals: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Companies:
    """The names of companies that are not clients: partners, vendors, competitors."""

    cores: Sequence[str]
    tails: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class City:
    """A city, its streets, and a pattern of fictitious phone numbers."""

    city: str
    country: str
    streets: Sequence[str]
    """With # for the number of the house."""
    phone: str
    """With x for each random digit."""

    def address(self, street: str, number: int) -> str:
        """Return the address of a house."""
        return f"{street.replace('#', str(number))}, {self.city}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNames:
    """Names of documents: any stem with any extension."""

    stems: Sequence[str]
    extensions: Sequence[str]


@cache
def people() -> Sequence[Region]:
    """Return the names of people, by language."""
    return tuple(Region(**_frozen(region)) for region in _words("people")["region"])


@cache
def industries() -> Sequence[Industry]:
    """Return the industries of clients."""
    deals = _words("deals")["deals"]
    return tuple(
        Industry(**_frozen(industry), deals=tuple(deals[industry["name"]]))
        for industry in _words("companies")["industry"]
    )


@cache
def branches() -> Sequence[str]:
    """Return suffixes that distinguish companies of the same name."""
    return tuple(_words("companies")["branches"])


@cache
def outside_companies() -> Companies:
    """Return the names of partners, vendors and competitors."""
    return Companies(**_frozen(_words("companies")["outside"]))


@cache
def titles() -> Sequence[str]:
    """Return job titles."""
    return tuple(_words("titles")["titles"])


@cache
def owners() -> Sequence[str]:
    """Return the full names of our own salespeople."""
    return tuple(_words("titles")["owners"])


@cache
def notes(theme: str) -> Sequence[str]:
    """Return texts of notes about a theme."""
    return tuple(_words("notes")["themes"][theme])


@cache
def contact_notes() -> Sequence[str]:
    """Return remarks on a person."""
    return tuple(_words("notes")["contact_notes"])


@cache
def deal_notes() -> Sequence[str]:
    """Return remarks on a deal."""
    return tuple(_words("notes")["deal_notes"])


@cache
def places() -> Sequence[City]:
    """Return cities; one without a phone pattern has that of its country."""
    phones = _words("places")["phones"]
    return tuple(City(**{"phone": phones[place["country"]], **_frozen(place)}) for place in _words("places")["place"])


@cache
def files(kind: str) -> FileNames:
    """Return the names of documents that belong to an entity, such as Opportunity."""
    return FileNames(**_frozen(_words("files")[kind]))


@cache
def outside_requests() -> Sequence[str]:
    """Return requests that a CRM can't fulfil."""
    return tuple(_words("outside")["requests"])


@cache
def company_rules() -> Sequence[str]:
    """Return rules of companies that matter to no request."""
    return tuple(_words("rules")["rules"])


@cache
def _words(name: str) -> Mapping[str, Any]:
    """Return a file of words."""
    file = resources.files("pytest_crmeval.conversations.generator") / "words" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with tuples for lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
