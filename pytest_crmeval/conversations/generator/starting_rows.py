"""The rows that a conversation starts with: the CRM of a small company, with similar names on purpose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from pytest_crmeval.conversations.generator import figures, vocabulary
from pytest_crmeval.conversations.generator.mail import domain, mailbox, plain
from pytest_crmeval.conversations.generator.rows import CLOSED, STAGES, Row, World
from pytest_crmeval.conversations.generator.seeded_random import SeededRandom

ROOMS = ("info", "hello", "office", "contact", "sales", "ops", "team", "accounts", "front-desk", "mail")
"""Mailboxes of companies."""
_LIKELY: Mapping[str, tuple[int, int]] = {
    "Prospecting": (5, 25),
    "Qualification": (20, 45),
    "Proposal": (40, 65),
    "Negotiation": (60, 90),
}
"""Stage -> range of the probability in percent."""
THEMES = ("call", "pricing", "legal", "delivery", "people", "competition", "support", "internal")
"""Topics of notes."""
_QUOTED = (("Draft", 4.0), ("Sent", 4.0), ("Approved", 1.5), ("Rejected", 1.5), ("Canceled", 0.7))
_AGREED = (("Active", 5.0), ("Pending", 3.0), ("Expired", 2.0))


@dataclass(slots=True, kw_only=True)
class StartingRows:
    """Creates the rows for one conversation."""

    chance: SeededRandom
    today: date
    size: int
    """From 1, for a short conversation, to 3, for a long one."""
    theme: str
    """The entity that the conversation is mainly about; there are more rows of it."""
    world: World = field(default_factory=World)
    owners: list[str] = field(default_factory=list)

    def build(self) -> World:
        """Create all rows and return them."""
        self.owners = self.chance.some(vocabulary.owners(), 2 + self.size // 2)
        for client in self._clients():
            self._deals(client)
        self._people()
        self._quotes()
        self._contracts()
        self._papers()
        if self.theme == "Company" or self.chance.chance(0.25):
            self._companies()
        return self.world

    def _clients(self) -> list[Row]:
        """Add clients; often two of them have similar names."""
        industries = self.chance.some(vocabulary.industries(), 2 + self.size)
        industry = industries[0]
        core = self.chance.one_of(industry.cores)
        names = [(core, f"{core} {self.chance.one_of(industry.tails)}", industry.name)]
        if self.chance.chance(0.55):
            names = [(core, name, industry.name) for name in self._alike(core, industry)]
        for other in industries[1 : 1 + self.chance.between(1, self.size)]:
            own = self.chance.one_of(other.cores)
            names.append((own, f"{own} {self.chance.one_of(other.tails)}", other.name))
        return [self._client(*name) for name in names]

    def _alike(self, core: str, industry: vocabulary.Industry) -> list[str]:
        """Return two or three names that begin alike, none of them part of another."""
        number = 2 if self.chance.chance(0.8) else 3
        if self.chance.chance(0.5):
            return [f"{core} {tail}" for tail in self.chance.some(industry.tails, number)]
        tail = self.chance.one_of(industry.tails)
        return [f"{core} {tail} {branch}" for branch in self.chance.some(vocabulary.branches(), number)]

    def _client(self, core: str, name: str, industry: str) -> Row:
        place = self.chance.one_of(vocabulary.places())
        columns = {
            "name": name,
            "email": f"{self.chance.one_of(ROOMS)}@{domain(name)}",
            "status": self.chance.weighted((("Active", 6.0), ("Prospect", 3.0), ("Inactive", 1.0))),
            "industry": industry if self.chance.chance(0.85) else None,
            "phone": self.chance.digits(place.phone) if self.chance.chance(0.4) else None,
            "address": address(self.chance, place) if self.chance.chance(0.3) else None,
            "owner": self.chance.one_of(self.owners) if self.chance.chance(0.6) else None,
        }
        client = self.world.add_seeded("Client", self.chance.uuid(), columns, known_as=core)
        client.trade = industry
        return client

    def _deals(self, client: Row) -> None:
        most = 1 + self.size
        there = len(self.world.of("Opportunity"))
        number = min(self.chance.between(0 if there else 1, most), 4 + 2 * self.size - there)
        taken = {deal["name"] for deal in self.world.of("Opportunity")}
        names = next(industry.deals for industry in vocabulary.industries() if industry.name == client.trade)
        for name in self.chance.some([name for name in names if name not in taken], number):
            stage = self.chance.one_of(CLOSED) if self.chance.chance(0.18) else self.chance.one_of(STAGES)
            low, high = _LIKELY.get(stage, (0, 0))
            columns = {
                "client_id": client.ref,
                "name": name,
                "stage": stage,
                "amount": figures.exact(figures.amount(self.chance)),
                "probability": self.chance.between(low, high) if high and self.chance.chance(0.7) else None,
                "close_date": self._close_date(stage),
                "owner": self.chance.one_of(self.owners) if self.chance.chance(0.65) else None,
                "notes": self.chance.one_of(vocabulary.deal_notes()) if self.chance.chance(0.08) else None,
                "created_at": f"{self.today - timedelta(days=self.chance.between(310, 500))}T09:00:00Z"
                if stage in CLOSED
                else None,
            }
            self.world.add_seeded("Opportunity", self.chance.uuid(), columns)

    def _close_date(self, stage: str) -> str | None:
        if stage in CLOSED:
            return (self.today - timedelta(days=self.chance.between(10, 300))).isoformat()
        ahead = self.today + timedelta(days=self.chance.between(10, 260))
        return ahead.isoformat() if self.chance.chance(0.75) else None

    def _people(self) -> None:
        """Add people; often several of them have the same last name."""
        clients = self.world.of("Client")
        number = self.chance.between(1, 2 + self.size) + (2 if self.theme == "Contact" else 0)
        shared = self.chance.one_of(self.chance.one_of(vocabulary.people()).last) if self.chance.chance(0.45) else ""
        namesakes = 3 if self.chance.chance(0.35) else 2
        for place in range(max(number, namesakes if shared else 0)):
            client = clients[0] if self.chance.chance(0.5) else self.chance.one_of(clients)
            region = self.chance.one_of(vocabulary.people())
            feminine = self.chance.chance(0.5)
            first = self.chance.one_of(region.first_f if feminine else region.first_m)
            last = (shared if place < namesakes else "") or self.chance.one_of(region.last)
            if any(row["first_name"] == first for row in self.world.of("Contact")):
                continue
            columns = {
                "first_name": first,
                "last_name": last,
                "client_id": client.ref,
                "title": self.chance.one_of(vocabulary.titles()) if self.chance.chance(0.8) else None,
                "email": mailbox(self.chance, first, last, domain(client["name"])) if self.chance.chance(0.7) else None,
                "phone": self.chance.digits(self.chance.one_of(vocabulary.places()).phone)
                if self.chance.chance(0.35)
                else None,
                "notes": self.chance.one_of(vocabulary.contact_notes()) if self.chance.chance(0.1) else None,
            }
            self.world.add_seeded("Contact", self.chance.uuid(), columns, feminine=feminine)

    def _quotes(self) -> None:
        share = 0.9 if self.theme == "Quote" else 0.35
        for deal in self.chance.some(self.world.of("Opportunity"), 1 + self.size):
            if not self.chance.chance(share):
                continue
            prefix = self.chance.digits(f"{plain(deal['name'])[:2].upper()}-xxx") if self.chance.chance(0.4) else None
            taken: set[float] = set()
            for version in range(1, 1 + self.chance.weighted(((1, 3.0), (2, 4.0), (3, 1.5)))):
                amount = figures.exact(figures.near(self.chance, deal["amount"]))
                if amount in taken:
                    continue
                taken.add(amount)
                until = self.today + timedelta(days=self.chance.between(5, 120))
                columns = {
                    "opportunity_id": deal.ref,
                    "amount": amount,
                    "status": self.chance.weighted(_QUOTED),
                    "version": f"{version}.0" if self.chance.chance(0.7) else None,
                    "valid_until": until.isoformat() if self.chance.chance(0.6) else None,
                    "quote_prefix": prefix,
                }
                self.world.add_seeded("Quote", self.chance.uuid(), columns)

    def _contracts(self) -> None:
        for client in self.world.of("Client"):
            if not self.chance.chance(0.8 if self.theme == "Contract" else 0.2):
                continue
            won = self.world.of("Opportunity", client_id=client.ref, stage="Closed-Won")
            for _ in range(2 if self.chance.chance(0.4) else 1):
                status = self.chance.weighted(_AGREED)
                length = self.chance.one_of((180, 365, 365, 730))
                start = self.today - timedelta(
                    days=length + self.chance.between(10, 200) if status == "Expired" else self.chance.between(5, 150)
                )
                columns = {
                    "client_id": client.ref,
                    "opportunity_id": self.chance.one_of(won).ref if won and self.chance.chance(0.7) else None,
                    "status": status,
                    "value": figures.exact(figures.amount(self.chance, 5_000, 600_000)),
                    "start_date": start.isoformat() if self.chance.chance(0.8) else None,
                    "end_date": (start + timedelta(days=length)).isoformat() if self.chance.chance(0.8) else None,
                }
                self.world.add_seeded("Contract", self.chance.uuid(), columns)

    def _papers(self) -> None:
        deals = self.world.of("Opportunity")
        if deals and self.chance.chance(0.8 if self.theme == "Note" else 0.15):
            for text in self.chance.some(vocabulary.notes(self.chance.one_of(THEMES)), self.chance.between(1, 2)):
                columns = {"entity_type": "Opportunity", "entity_id": self.chance.one_of(deals).ref, "content": text}
                self.world.add_seeded("Note", self.chance.uuid(), columns)
        if deals and self.chance.chance(0.8 if self.theme == "Document" else 0.15):
            names = vocabulary.files("Opportunity")
            for stem in self.chance.some(names.stems, self.chance.between(1, 3)):
                name = f"{stem}.{self.chance.one_of(names.extensions)}"
                columns = {"entity_type": "Opportunity", "entity_id": self.chance.one_of(deals).ref, "file_name": name}
                self.world.add_seeded("Document", self.chance.uuid(), columns)

    def _companies(self) -> None:
        outside = vocabulary.outside_companies()
        for core in self.chance.some(outside.cores, self.chance.between(2, 4)):
            place = self.chance.one_of(vocabulary.places())
            columns = {
                "name": f"{core} {self.chance.one_of(outside.tails)}",
                "type": self.chance.one_of(("Partner", "Vendor", "Competitor")),
                "industry": self.chance.one_of(vocabulary.industries()).name if self.chance.chance(0.7) else None,
                "address": address(self.chance, place) if self.chance.chance(0.5) else None,
            }
            self.world.add_seeded("Company", self.chance.uuid(), columns, known_as=core)


def address(chance: SeededRandom, place: "vocabulary.City") -> str:
    """Return an address in a city."""
    return place.address(chance.one_of(place.streets), chance.between(1, 180))
