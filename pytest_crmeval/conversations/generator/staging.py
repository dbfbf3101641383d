"""The rows that a conversation starts with: a small firm's CRM, in which some things look alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from pytest_crmeval.conversations.generator import figures, vocabulary
from pytest_crmeval.conversations.generator.mail import domain, mailbox, plain
from pytest_crmeval.conversations.generator.rows import CLOSED, STAGES, Row, World
from pytest_crmeval.conversations.generator.seeded_random import Dice

ROOMS = ("info", "hello", "office", "contact", "sales", "ops", "team", "accounts", "front-desk", "mail")
"""What the address of a firm begins with."""
_LIKELY: Mapping[str, tuple[int, int]] = {
    "Prospecting": (5, 25),
    "Qualification": (20, 45),
    "Proposal": (40, 65),
    "Negotiation": (60, 90),
}
"""Stage -> how likely such a deal is, in percent."""
THEMES = ("call", "pricing", "legal", "delivery", "people", "competition", "support", "internal")
"""What notes are about."""
_QUOTED = (("Draft", 4.0), ("Sent", 4.0), ("Approved", 1.5), ("Rejected", 1.5), ("Canceled", 0.7))
_AGREED = (("Active", 5.0), ("Pending", 3.0), ("Expired", 2.0))


@dataclass(slots=True, kw_only=True)
class Staging:
    """Puts up the rows for one conversation."""

    dice: Dice
    today: date
    size: int
    """From 1, for a short conversation, to 3, for a long one."""
    theme: str
    """The entity that it will be about most: there is enough of that."""
    world: World = field(default_factory=World)
    owners: list[str] = field(default_factory=list)

    def staged(self) -> World:
        """Return the world."""
        self.owners = self.dice.some(vocabulary.owners(), 2 + self.size // 2)
        for client in self._clients():
            self._deals(client)
        self._people()
        self._quotes()
        self._contracts()
        self._papers()
        if self.theme == "Company" or self.dice.chance(0.25):
            self._companies()
        return self.world

    def _clients(self) -> list[Row]:
        """Add clients; often two of them can easily be taken for each other."""
        industries = self.dice.some(vocabulary.industries(), 2 + self.size)
        industry = industries[0]
        core = self.dice.one_of(industry.cores)
        names = [(core, f"{core} {self.dice.one_of(industry.tails)}", industry.name)]
        if self.dice.chance(0.55):
            names = [(core, name, industry.name) for name in self._alike(core, industry)]
        for other in industries[1 : 1 + self.dice.between(1, self.size)]:
            own = self.dice.one_of(other.cores)
            names.append((own, f"{own} {self.dice.one_of(other.tails)}", other.name))
        return [self._client(*name) for name in names]

    def _alike(self, core: str, industry: vocabulary.Industry) -> list[str]:
        """Return two or three names that begin alike, none of them part of another."""
        number = 2 if self.dice.chance(0.8) else 3
        if self.dice.chance(0.5):
            return [f"{core} {tail}" for tail in self.dice.some(industry.tails, number)]
        tail = self.dice.one_of(industry.tails)
        return [f"{core} {tail} {branch}" for branch in self.dice.some(vocabulary.branches(), number)]

    def _client(self, core: str, name: str, industry: str) -> Row:
        place = self.dice.one_of(vocabulary.places())
        columns = {
            "name": name,
            "email": f"{self.dice.one_of(ROOMS)}@{domain(name)}",
            "status": self.dice.weighted((("Active", 6.0), ("Prospect", 3.0), ("Inactive", 1.0))),
            "industry": industry if self.dice.chance(0.85) else None,
            "phone": self.dice.digits(place.phone) if self.dice.chance(0.4) else None,
            "address": address(self.dice, place) if self.dice.chance(0.3) else None,
            "owner": self.dice.one_of(self.owners) if self.dice.chance(0.6) else None,
        }
        client = self.world.plant("Client", self.dice.uuid(), columns, known_as=core)
        client.trade = industry
        return client

    def _deals(self, client: Row) -> None:
        most = 1 + self.size
        there = len(self.world.of("Opportunity"))
        number = min(self.dice.between(0 if there else 1, most), 4 + 2 * self.size - there)
        taken = {deal["name"] for deal in self.world.of("Opportunity")}
        names = next(industry.deals for industry in vocabulary.industries() if industry.name == client.trade)
        for name in self.dice.some([name for name in names if name not in taken], number):
            self._deal(client, name)

    def _deal(self, client: Row, name: str) -> None:
        stage = self.dice.one_of(CLOSED) if self.dice.chance(0.18) else self.dice.one_of(STAGES)
        low, high = _LIKELY.get(stage, (0, 0))
        columns = {
            "client_id": client.ref,
            "name": name,
            "stage": stage,
            "amount": figures.exact(figures.amount(self.dice)),
            "probability": self.dice.between(low, high) if high and self.dice.chance(0.7) else None,
            "close_date": self._close_date(stage),
            "owner": self.dice.one_of(self.owners) if self.dice.chance(0.65) else None,
            "notes": self.dice.one_of(vocabulary.deal_notes()) if self.dice.chance(0.08) else None,
            "created_at": f"{self.today - timedelta(days=self.dice.between(310, 500))}T09:00:00Z"
            if stage in CLOSED
            else None,
        }
        self.world.plant("Opportunity", self.dice.uuid(), columns)

    def _close_date(self, stage: str) -> str | None:
        if stage in CLOSED:
            return (self.today - timedelta(days=self.dice.between(10, 300))).isoformat()
        ahead = self.today + timedelta(days=self.dice.between(10, 260))
        return ahead.isoformat() if self.dice.chance(0.75) else None

    def _people(self) -> None:
        """Add people; often several of them have the same last name."""
        clients = self.world.of("Client")
        number = self.dice.between(1, 2 + self.size) + (2 if self.theme == "Contact" else 0)
        shared = self.dice.one_of(self.dice.one_of(vocabulary.people()).last) if self.dice.chance(0.45) else ""
        namesakes = 3 if self.dice.chance(0.35) else 2
        for place in range(max(number, namesakes if shared else 0)):
            client = clients[0] if self.dice.chance(0.5) else self.dice.one_of(clients)
            self._person(client, shared if place < namesakes else "")

    def _person(self, client: Row, last: str) -> None:
        region = self.dice.one_of(vocabulary.people())
        feminine = self.dice.chance(0.5)
        first = self.dice.one_of(region.first_f if feminine else region.first_m)
        last = last or self.dice.one_of(region.last)
        if any(row["first_name"] == first for row in self.world.of("Contact")):
            return
        columns = {
            "first_name": first,
            "last_name": last,
            "client_id": client.ref,
            "title": self.dice.one_of(vocabulary.titles()) if self.dice.chance(0.8) else None,
            "email": mailbox(self.dice, first, last, domain(client["name"])) if self.dice.chance(0.7) else None,
            "phone": self.dice.digits(self.dice.one_of(vocabulary.places()).phone) if self.dice.chance(0.35) else None,
            "notes": self.dice.one_of(vocabulary.contact_notes()) if self.dice.chance(0.1) else None,
        }
        self.world.plant("Contact", self.dice.uuid(), columns, feminine=feminine)

    def _quotes(self) -> None:
        share = 0.9 if self.theme == "Quote" else 0.35
        for deal in self.dice.some(self.world.of("Opportunity"), 1 + self.size):
            if self.dice.chance(share):
                self._quotes_on(deal)

    def _quotes_on(self, deal: Row) -> None:
        prefix = self.dice.digits(f"{plain(deal['name'])[:2].upper()}-xxx") if self.dice.chance(0.4) else None
        taken: set[float] = set()
        for version in range(1, 1 + self.dice.weighted(((1, 3.0), (2, 4.0), (3, 1.5)))):
            amount = figures.exact(figures.near(self.dice, deal["amount"]))
            if amount in taken:
                continue
            taken.add(amount)
            until = self.today + timedelta(days=self.dice.between(5, 120))
            columns = {
                "opportunity_id": deal.ref,
                "amount": amount,
                "status": self.dice.weighted(_QUOTED),
                "version": f"{version}.0" if self.dice.chance(0.7) else None,
                "valid_until": until.isoformat() if self.dice.chance(0.6) else None,
                "quote_prefix": prefix,
            }
            self.world.plant("Quote", self.dice.uuid(), columns)

    def _contracts(self) -> None:
        for client in self.world.of("Client"):
            if self.dice.chance(0.8 if self.theme == "Contract" else 0.2):
                for _ in range(2 if self.dice.chance(0.4) else 1):
                    self._contract(client)

    def _contract(self, client: Row) -> None:
        status = self.dice.weighted(_AGREED)
        won = self.world.of("Opportunity", client_id=client.ref, stage="Closed-Won")
        length = self.dice.one_of((180, 365, 365, 730))
        start = self.today - timedelta(
            days=length + self.dice.between(10, 200) if status == "Expired" else self.dice.between(5, 150)
        )
        columns = {
            "client_id": client.ref,
            "opportunity_id": self.dice.one_of(won).ref if won and self.dice.chance(0.7) else None,
            "status": status,
            "value": figures.exact(figures.amount(self.dice, 5_000, 600_000)),
            "start_date": start.isoformat() if self.dice.chance(0.8) else None,
            "end_date": (start + timedelta(days=length)).isoformat() if self.dice.chance(0.8) else None,
        }
        self.world.plant("Contract", self.dice.uuid(), columns)

    def _papers(self) -> None:
        deals = self.world.of("Opportunity")
        if deals and self.dice.chance(0.8 if self.theme == "Note" else 0.15):
            for text in self.dice.some(vocabulary.notes(self.dice.one_of(THEMES)), self.dice.between(1, 2)):
                columns = {"entity_type": "Opportunity", "entity_id": self.dice.one_of(deals).ref, "content": text}
                self.world.plant("Note", self.dice.uuid(), columns)
        if deals and self.dice.chance(0.8 if self.theme == "Document" else 0.15):
            names = vocabulary.files("Opportunity")
            for stem in self.dice.some(names.stems, self.dice.between(1, 3)):
                name = f"{stem}.{self.dice.one_of(names.extensions)}"
                columns = {"entity_type": "Opportunity", "entity_id": self.dice.one_of(deals).ref, "file_name": name}
                self.world.plant("Document", self.dice.uuid(), columns)

    def _companies(self) -> None:
        outside = vocabulary.outside_companies()
        for core in self.dice.some(outside.cores, self.dice.between(2, 4)):
            place = self.dice.one_of(vocabulary.places())
            columns = {
                "name": f"{core} {self.dice.one_of(outside.tails)}",
                "type": self.dice.one_of(("Partner", "Vendor", "Competitor")),
                "industry": self.dice.one_of(vocabulary.industries()).name if self.dice.chance(0.7) else None,
                "address": address(self.dice, place) if self.dice.chance(0.5) else None,
            }
            self.world.plant("Company", self.dice.uuid(), columns, known_as=core)


def address(dice: Dice, place: "vocabulary.Place") -> str:
    """Return an address in a city."""
    return place.address(dice.one_of(place.streets), dice.between(1, 180))
