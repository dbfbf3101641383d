"""A small CRM world with readable names, and a caller of its tools."""

import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from jsonschema import Draft202012Validator, FormatChecker

from pytest_crmeval.domain.conversation import Seed
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm import Crm

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
"""What the clock of the CRM shows; far from the day of any run."""
TODAY, YESTERDAY = "2026-03-02", "2026-03-01"

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "Client": ("client_id", "name", "industry", "email", "phone", "address", "status", "created_date", "owner"),
    "Contact": ("contact_id", "first_name", "last_name", "title", "email", "phone", "client_id", "notes"),
    "Opportunity": (
        *("opportunity_id", "client_id", "name", "stage", "amount", "close_date", "owner", "probability"),
        *("notes", "created_at"),
    ),
    "Quote": (
        *("quote_id", "opportunity_id", "version", "amount", "status", "valid_until", "created_date", "quote_prefix"),
    ),
    "Contract": (
        *("contract_id", "client_id", "opportunity_id", "start_date", "end_date", "value", "status", "document_url"),
    ),
    "Company": ("company_id", "name", "type", "industry", "address", "contacts"),
    "Document": ("document_id", "entity_type", "entity_id", "file_name", "uploaded_by", "uploaded_at", "file_url"),
    "Note": ("note_id", "entity_type", "entity_id", "content", "created_by", "created_at"),
}
CHOICES: Mapping[str, tuple[str, ...]] = {
    "client status": ("Active", "Inactive", "Prospect"),
    "stage": ("Closed-Lost", "Closed-Won", "Negotiation", "Proposal", "Prospecting", "Qualification"),
    "quote status": ("Approved", "Canceled", "Draft", "Rejected", "Sent"),
    "contract status": ("Active", "Expired", "Pending"),
    "document entity": ("Client", "Contract", "Opportunity", "Quote"),
    "note entity": ("Client", "Contact", "Contract", "Opportunity", "Quote"),
    "company type": ("Competitor", "Partner", "Vendor"),
}
"""What can be chosen, sorted."""


def uid(name: str) -> str:
    """Return the id that goes by ``name``."""
    return str(uuid5(NAMESPACE_OID, name))


NOBODY = uid("nobody")
WORLD: Seed = {
    "Client": {
        uid("acme"): {
            "name": "100% Acme",
            "industry": "Toys",
            "email": "Info@Acme.example",
            "phone": "+1 555 0101",
            "address": "1 Main Street",
            "status": "Active",
            "created_date": "2025-01-02T03:04:05+00:00",
            "owner": "Dana",
        },
        uid("münz"): {
            "name": "Münz_berg",
            "industry": "Stahl",
            "email": "m@bolt.example",
            "phone": "+49 30 77",
            "address": "Ölgasse 2",
            "status": "Prospect",
            "owner": "Émile",
        },
        uid("zeta"): {"name": "Zeta", "status": "Inactive"},
    },
    "Contact": {
        uid("mira"): {
            "first_name": "Mira",
            "last_name": "Okafor",
            "title": "Chief of Finance",
            "email": "mira@acme.example",
            "phone": "+1 555 0202",
            "client_id": uid("acme"),
            "notes": "Prefers_mail.",
        },
        uid("adam"): {"first_name": "Adam", "last_name": "Okafor", "client_id": uid("acme")},
        uid("zoë"): {"first_name": "Zoë", "last_name": "Abel", "client_id": uid("münz")},
    },
    "Opportunity": {
        uid("vans"): {
            "client_id": uid("acme"),
            "name": "Vans",
            "stage": "Proposal",
            "amount": 84000.5,
            "close_date": "2026-06-30",
            "owner": "Dana",
            "probability": 55,
            "notes": "Wants 100% financing.",
            "created_at": "2025-05-06T07:08:09+00:00",
        },
        uid("bikes"): {"client_id": uid("acme"), "name": "Bikes", "stage": "Negotiation", "amount": 1200},
        uid("lorries"): {
            "client_id": uid("münz"),
            "name": "Lorries",
            "stage": "Closed-Won",
            "amount": 61000,
            "close_date": "2025-12-31",
            "owner": "Émile",
            "probability": 99,
        },
        uid("trams"): {
            "client_id": uid("münz"),
            "name": "Trams",
            "stage": "Closed-Lost",
            "amount": 500,
            "owner": "Dana",
            "probability": 1,
        },
    },
    "Quote": {
        uid("dear"): {
            "opportunity_id": uid("vans"),
            "version": "1.0",
            "amount": 57000,
            "status": "Draft",
            "valid_until": "2027-03-31",
            "quote_prefix": "VAN",
        },
        uid("cheap"): {
            "opportunity_id": uid("vans"),
            "version": "2.0-Beta",
            "amount": 55000.25,
            "status": "Sent",
            "quote_prefix": "VAN",
        },
        uid("old"): {
            "opportunity_id": uid("bikes"),
            "amount": 1100,
            "status": "Canceled",
            "quote_prefix": "BIK",
            "created_date": "2024-02-03T04:05:06+00:00",
        },
        uid("plain"): {"opportunity_id": uid("lorries"), "amount": 61000, "status": "Approved"},
    },
    "Contract": {
        uid("leasing"): {
            "client_id": uid("acme"),
            "opportunity_id": uid("vans"),
            "start_date": "2026-01-01",
            "end_date": "2026-12-31",
            "value": 61000,
            "status": "Active",
            "document_url": "https://files.example/Leasing.pdf",
        },
        uid("service"): {"client_id": uid("münz"), "opportunity_id": uid("lorries"), "status": "Expired", "value": 10},
        uid("frame"): {"client_id": uid("münz"), "status": "Pending"},
    },
    "Company": {
        uid("rival"): {
            "name": "Rival",
            "type": "Competitor",
            "industry": "Toys",
            "address": "2 Side Street",
            "contacts": ["Ada", "Bob"],
        },
        uid("maker"): {"name": "Maker", "type": "Vendor", "industry": "Stahl"},
    },
    "Document": {
        uid("offer"): {
            "entity_type": "Opportunity",
            "entity_id": uid("vans"),
            "file_name": "offer.pdf",
            "uploaded_by": "Dana",
            "uploaded_at": "2025-07-08T09:10:11+00:00",
            "file_url": "https://files.example/offer.pdf",
        },
    },
    "Note": {
        uid("remark"): {
            "entity_type": "Client",
            "entity_id": uid("acme"),
            "content": "Call back.",
            "created_by": "Dana",
            "created_at": "2025-08-09T10:11:12+00:00",
        },
    },
}
_FOUND = (
    *("acme", "münz", "zeta", "mira", "adam", "zoë", "vans", "bikes", "lorries", "trams"),
    *("dear", "cheap", "old", "plain", "leasing", "service", "frame", "rival", "maker"),
)
NAMES = {uid(name): name for name in _FOUND}
"""Id -> the name that it goes by, of whatever a search can find."""

EXAMPLES: Mapping[str, Mapping[str, Json]] = {
    "create_new_client": {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"},
    "create_new_contact": {"first_name": "Kim", "last_name": "Lee", "client_id": uid("acme")},
    "create_new_opportunity": {"name": "Boats", "client_id": uid("acme"), "amount": 70000, "stage": "Proposal"},
    "create_quote": {"opportunity_id": uid("vans"), "amount": 4000, "status": "Draft"},
    "create_contract": {"client_id": uid("acme")},
    "upload_document": {"entity_type": "Quote", "entity_id": uid("dear"), "file_name": "quote.pdf"},
    "add_note": {"entity_type": "Contact", "entity_id": uid("mira"), "content": "Likes tea."},
    "modify_client": {"client_id": uid("acme"), "owner": "Kim"},
    "modify_contact": {"contact_id": uid("mira"), "title": "CEO"},
    "modify_opportunity": {"opportunity_id": uid("vans"), "stage": "Negotiation"},
    "modify_quote": {"quote_id": uid("dear"), "status": "Sent"},
    "cancel_quote": {"quote_id": uid("dear")},
    "delete_opportunity": {"opportunity_id": uid("vans")},
    "delete_quote": {"quote_id": uid("dear")},
    "clone_opportunity": {"opportunity_id": uid("vans")},
    "view_opportunity_details": {"opportunity_id": uid("vans")},
    "opportunity_details": {"opportunity_id": uid("vans")},
    "quote_details": {"quote_id": uid("dear")},
    "compare_quotes": {"quote_ids": [uid("dear"), uid("cheap")]},
    "compare_quote_details": {"quote_ids": [uid("dear"), uid("cheap")]},
    "client_search": {},
    "contact_search": {},
    "opportunity_search": {},
    "quote_search": {},
    "contract_search": {},
    "company_search": {},
    "summarize_opportunities": {},
    "quote_prefixes": {},
    "ensure_client": {"email": "ada@ada.example", "name": "Ada Ltd", "status": "Active"},
    "list_clients": {},
    "list_contacts": {},
    "list_opportunities": {},
    "list_quotes": {},
    "list_contracts": {},
    "list_documents": {},
    "list_notes": {},
    "list_companies": {},
    "summarize_counts": {},
}
"""Tool -> arguments that it takes in the world above: those that it requires, and for a change one more."""


@dataclass(frozen=True)
class Caller:
    """Calls the tools of a seeded CRM and checks the answers."""

    crm: Crm

    def ask(self, tool: str, **arguments: Any) -> ToolResult:  # noqa: ANN401 (an agent may send anything)
        """Call a tool."""
        return self.crm.call(ToolCall(tool=tool, arguments=arguments))

    def get(self, tool: str, **arguments: Any) -> Any:  # noqa: ANN401 (an agent may send anything, and get any JSON)
        """Return the value of a call that must not be refused."""
        result = self.ask(tool, **arguments)
        assert result.error is None, result.error
        return result.value

    def example(self, tool: str, **changes: Any) -> Any:  # noqa: ANN401 (an agent may send anything, and get any JSON)
        """Return the value of the example of a tool, with some arguments changed."""
        return self.get(tool, **{**EXAMPLES[tool], **changes})

    def found(self, tool: str, **filters: Any) -> list[str]:  # noqa: ANN401 (an agent may send anything)
        """Return what a search finds, by the names that this module gives it."""
        key = tool.replace("_search", "_id")
        return [NAMES[row[key]] for row in self.get(tool, **filters)]

    def advertised(self, tool: str, arguments: Mapping[str, Json]) -> bool:
        """Whether the schema of a tool says that it takes these arguments."""
        (schema,) = (found.parameters for found in self.crm.tools if found.name == tool)
        return Draft202012Validator(schema, format_checker=FormatChecker()).is_valid(arguments)

    def state(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return what the CRM holds, table by table and id by id; it is the caller's to change."""
        snapshot = self.crm.snapshot()
        return {
            table: {str(row[key]): copy.deepcopy(dict(row)) for row in snapshot[table]}
            for table, key in TABLES.values()
        }

    def refusal(self, tool: str, **arguments: Any) -> ToolError:  # noqa: ANN401 (an agent may send anything)
        """Return why a call is refused; it must not have changed anything."""
        before = self.state()
        result = self.ask(tool, **arguments)
        assert result.error is not None, result.value
        assert result.value is None
        assert before == self.state()
        return result.error

    def refused(self, tool: str, **arguments: Any) -> tuple[str, str]:  # noqa: ANN401 (an agent may send anything)
        """Return kind and message of the refusal of a tool's example with some arguments changed."""
        error = self.refusal(tool, **{**EXAMPLES[tool], **arguments})
        return error.kind, error.message


def row_of(entity: str, name: str, /, **changes: Json) -> dict[str, Json]:
    """Return a row of the world as the CRM must hold it: every column, null where nothing was given."""
    times = dict.fromkeys({"created_date", "created_at", "uploaded_at"} & set(COLUMNS[entity]), NOW.isoformat())
    empty: dict[str, Json] = dict.fromkeys(COLUMNS[entity])
    return {**empty, **times, **WORLD[entity][uid(name)], COLUMNS[entity][0]: uid(name), **changes}


def shown(value: object) -> str | None:
    """Return how a parameter appears in the id of a test, if not as usual."""
    if not isinstance(value, int) or abs(value) <= sys.maxsize:
        return None
    return "huge" if value > 0 else "minus-huge"
