"""The CRM of a hard conversation: records that its requests are about, among many others that look alike."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from pytest_crmeval.conversations.generator import figures, vocabulary
from pytest_crmeval.conversations.generator.days import written
from pytest_crmeval.conversations.generator.mail import domain, mailbox
from pytest_crmeval.conversations.generator.rows import STAGES, Row, World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom
from pytest_crmeval.domain.state import TABLES

PAGE = 20
"""Rows on a page."""
RESERVED = 30
"""Salespeople who are named in requests; the others own the remaining records."""
_FILLING = (("Contact", 5.0), ("Opportunity", 6.0), ("Quote", 3.5), ("Contract", 1.5), ("Note", 1.2), ("Client", 3.5))
_REMARKS = (*vocabulary.notes("call"), *vocabulary.notes("delivery"), *vocabulary.notes("support"))


@dataclass(slots=True, kw_only=True)
class Scene:
    """Creates the records of one conversation; each request has its own, so that they don't affect each other."""

    chance: SeededRandom
    today: date
    currency: str
    world: World = field(default_factory=World)
    rules: list[str] = field(default_factory=list)
    """The rules of the company that matter in this conversation."""
    _prefix: str = ""
    _taken: set[str] = field(default_factory=set)
    """Names, ids and e-mail addresses in use."""
    _cores: list[tuple[vocabulary.Industry, str]] = field(default_factory=list)
    _deals: list[str] = field(default_factory=list)
    _owners: list[str] = field(default_factory=list)
    _others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Shuffle the names."""
        self._prefix = self.chance.uuid()[:-5]
        industries = vocabulary.industries()
        self._cores = self.chance.shuffled([(each, core) for each in industries for core in each.cores])
        self._deals = self.chance.shuffled([name for each in industries for name in each.deals])
        owners = self.chance.shuffled(vocabulary.owners())
        self._owners, self._others = owners[:RESERVED], owners[RESERVED:]

    def owner(self) -> str:
        """Return a salesperson who owns no other record."""
        return self._owners.pop(0)

    def deal_names(self, number: int) -> list[str]:
        """Return names that no deal has."""
        return [self._deals.pop() for _ in range(number)]

    def client_name(self) -> str:
        """Return a name that no client has."""
        industry, core = self._cores.pop()
        return f"{core} {self.chance.one_of(industry.tails)}"

    def ids(self, number: int) -> list[str]:
        """Return new ids in ascending order; those of one CRM differ only at the end, as in many systems."""
        found: list[str] = []
        while len(found) < number:
            row_id = f"{self._prefix}{self.chance.below(16**5):05x}"
            if row_id not in self._taken:
                self._taken.add(row_id)
                found.append(row_id)
        return sorted(found)

    def add(self, entity: str, row_id: str = "", **columns: Any) -> Row:  # noqa: ANN401 (JSON)
        """Add a record with an id of its own."""
        return self.world.add_seeded(entity, row_id or self.ids(1)[0], columns)

    def set(self, row: Row, **columns: Any) -> None:  # noqa: ANN401 (JSON)
        """Set columns of a record that was added."""
        row.columns |= columns
        self.world.seed[row.entity][row.ref] |= columns

    def client(self, **columns: Any) -> Row:  # noqa: ANN401 (JSON)
        """Add a client with a name of its own."""
        industry, core = self._cores.pop()
        return self._client(industry, f"{core} {self.chance.one_of(industry.tails)}", **columns)

    def twins(self, **columns: Any) -> tuple[Row, Row]:  # noqa: ANN401 (JSON)
        """Add two clients with similar names; a search for what they share finds the first one first."""
        industry, core = self._cores.pop()
        tail = self.chance.one_of(industry.tails)
        cities = [place.city for place in vocabulary.places()]
        branches = self.chance.some(cities if self.chance.chance(0.4) else vocabulary.branches(), 2)
        names = sorted(f"{core} {tail} {branch}" for branch in branches)
        other, client = (self._client(industry, name, **columns) for name in names)
        if self.chance.chance(0.3) and not columns:
            text = f"Merged into {client['name']}; kept for the records."
            self.add("Note", entity_type="Client", entity_id=other.ref, content=text)
        return other, client

    def _client(self, industry: vocabulary.Industry, name: str, **columns: Any) -> Row:  # noqa: ANN401 (JSON)
        usual = {
            "email": f"office@{domain(name)}" if self.chance.chance(0.3) else None,
            "status": self.chance.weighted((("Active", 6.0), ("Prospect", 3.0), ("Inactive", 1.0))),
            "industry": industry.name,
            "owner": self._filler() if self.chance.chance(0.5) else None,
        }
        return self.add("Client", **{"name": name, **usual, **columns})

    def deal(self, client: Row, row_id: str = "", **columns: Any) -> Row:  # noqa: ANN401 (JSON)
        """Add an open deal."""
        usual = {
            "name": self._deals.pop() if "name" not in columns else "",
            "stage": self.chance.one_of(STAGES),
            "amount": self.amount(),
            "probability": 5 * self.chance.between(2, 16),
            "close_date": self.day(20, 240),
            "owner": self._filler(),
        }
        return self.add("Opportunity", row_id, **{"client_id": client.ref, **usual, **columns})

    def same_deals(self, clients: tuple[Row, Row], **columns: Any) -> tuple[Row, Row]:  # noqa: ANN401 (JSON)
        """Add deals of the same name with two clients; a search for the name finds that of the first one first."""
        ids, name = self.ids(2), self._deals.pop()
        first, second = (
            self.deal(client, row_id, **{"name": name, "amount": self.amount(), **columns})
            for client, row_id in zip(clients, ids, strict=True)
        )
        return first, second

    def quote(self, deal: Row, **columns: Any) -> Row:  # noqa: ANN401 (JSON)
        """Add a quote for a deal."""
        usual = {"amount": self.amount(), "status": "Draft", "version": "1.0"}
        return self.add("Quote", **{"opportunity_id": deal.ref, **usual, **columns})

    def person(self, client: Row, *, like: Row | None = None, **columns: Any) -> Row:  # noqa: ANN401 (JSON)
        """Add a person with a name of their own, or one named like another."""
        first, last = (like["first_name"], like["last_name"]) if like else self._name()
        usual = {"title": self.chance.one_of(vocabulary.titles())}
        names = {"first_name": first, "last_name": last, "client_id": client.ref}
        email = mailbox(self.chance, first, last, domain(client["name"])) if self.chance.chance(0.3) else None
        return self.add("Contact", **{**names, **usual, "email": email, **columns})

    def _name(self) -> tuple[str, str]:
        while True:
            region = self.chance.one_of(vocabulary.people())
            first = self.chance.one_of(region.first_f if self.chance.chance(0.5) else region.first_m)
            last = self.chance.one_of(region.last)
            if f"{first} {last}" not in self._taken:
                self._taken.add(f"{first} {last}")
                return first, last

    def note(self, row: Row, content: str) -> Row:
        """Add a note on a record."""
        return self.add("Note", entity_type=row.entity, entity_id=row.ref, content=content)

    def amount(self, low: int = 8_000, high: int = 600_000) -> int:
        """Return an amount that no other record has; percentages of it are never halfway between two round amounts."""
        while True:
            value = int(figures.amount(self.chance, low, high)) + self.chance.between(1, 9) * 7
            if value % 5 and str(value) not in self._taken:
                self._taken.add(str(value))
                return value

    def day(self, near: int, far: int) -> str:
        """Return a date so many days ahead."""
        return (self.today + timedelta(days=self.chance.between(near, far))).isoformat()

    def say_day(self, day: str) -> str:
        """Return a date as it is said."""
        return written(self.chance, date.fromisoformat(day))

    def money(self, value: float) -> str:
        """Return an amount as it is said."""
        return figures.money(self.chance, value, self.currency)

    def fill(self, number: int) -> None:
        """Add other records, until there are so many."""
        clients = [self.client() for _ in range(max(6, (number - len(self.world.rows)) // 9))]
        deals: list[Row] = [self.deal(self.chance.one_of(clients)) for _ in range(4)]
        while len(self.world.rows) < number:
            match self.chance.weighted(_FILLING):
                case "Client":
                    clients.append(self.client())
                case "Contact":
                    self.person(self.chance.one_of(clients))
                case "Opportunity":
                    deals.append(self.deal(self.chance.one_of(clients)))
                case "Quote":
                    self.quote(self.chance.one_of(deals), status=self.chance.one_of(("Draft", "Sent", "Rejected")))
                case "Contract":
                    self._contract(self.chance.one_of(clients))
                case _:
                    self.note(self.chance.one_of((*clients, *deals)), self.chance.one_of(_REMARKS))

    def _contract(self, client: Row) -> None:
        start = self.today - timedelta(days=self.chance.between(20, 300))
        end = (start + timedelta(days=365)).isoformat()
        value = self.amount()
        self.add("Contract", client_id=client.ref, value=value, start_date=start.isoformat(), end_date=end)

    def _filler(self) -> str:
        """Return a salesperson whom no request names."""
        return self.chance.one_of(self._others)


def key_of(row: Row) -> dict[str, str]:
    """Return the id of a record as an argument."""
    return {TABLES[row.entity][1]: row.ref}
