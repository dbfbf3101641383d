"""The tools that create rows, with valid calls."""

from collections.abc import Mapping
from datetime import datetime

import pytest

from pytest_crmeval.domain.json import Json
from tests.crm_world import CHOICES, COLUMNS, EXAMPLES, NOW, Caller, row_of, uid

CREATES = {
    "create_new_client": "clients",
    "create_new_contact": "contacts",
    "create_new_opportunity": "opportunities",
    "create_quote": "quotes",
    "create_contract": "contracts",
    "upload_document": "documents",
    "add_note": "notes",
    "clone_opportunity": "opportunities",
    "ensure_client": "clients",
}
ENTITIES = {
    "clients": "Client",
    "contacts": "Contact",
    "opportunities": "Opportunity",
    "quotes": "Quote",
    "contracts": "Contract",
    "documents": "Document",
    "notes": "Note",
}
CLOCKED = {
    "create_new_client": "created_date",
    "create_new_opportunity": "created_at",
    "create_quote": "created_date",
    "upload_document": "uploaded_at",
    "add_note": "created_at",
    "clone_opportunity": "created_at",
    "ensure_client": "created_date",
}
FULL: Mapping[str, Mapping[str, Json]] = {
    "create_new_client": {"industry": "Sea", "phone": "+1 7", "address": "3 Pier", "owner": "Kim"},
    "create_new_contact": {"email": "kim@acme.example", "phone": "+1 8", "title": "CTO", "notes": "Tall."},
    "create_new_opportunity": {"probability": 42, "close_date": "2026-09-30", "owner": "Kim", "notes": "Red."},
    "create_quote": {"version": "3", "valid_until": "2026-10-31", "quote_prefix": "Q"},
    "create_contract": {
        "opportunity_id": uid("vans"),
        "status": "Active",
        "value": 12345.67,
        "start_date": "2026-04-01",
        "end_date": "2027-03-31",
        "document_url": "https://files.example/c.pdf",
    },
    "upload_document": {"uploaded_by": "Kim", "file_url": "https://files.example/q.pdf"},
    "add_note": {"created_by": "Kim"},
}


class TestCreate:
    """A new row, and nothing else."""

    @pytest.mark.parametrize(("tool", "table"), CREATES.items())
    def test_a_row_is_added_and_returned(self, caller: Caller, tool: str, table: str) -> None:
        """Complete, with a new id; no other row changes."""
        state = caller.state()
        made = caller.example(tool)
        key, *_ = columns = COLUMNS[ENTITIES[table]]

        assert set(columns) == made.keys()
        assert made[key] not in state[table]
        state[table][made[key]] = made
        assert state == caller.state()

    @pytest.mark.parametrize("tool", FULL)
    def test_created_row_has_every_given_argument(self, caller: Caller, tool: str) -> None:
        """Every argument has its column."""
        given = {**EXAMPLES[tool], **FULL[tool]}

        assert caller.advertised(tool, given)
        assert given.items() <= caller.get(tool, **given).items()

    @pytest.mark.parametrize("tool", FULL)
    def test_arguments_that_are_not_given_are_null(self, caller: Caller, tool: str) -> None:
        """Nothing is filled in, except the status of a contract."""
        made = caller.example(tool)
        defaults = {"status": "Pending"} if tool == "create_contract" else {}

        assert {**dict.fromkeys(FULL[tool]), **defaults} == {name: made[name] for name in FULL[tool]}

    @pytest.mark.parametrize(("tool", "column"), CLOCKED.items())
    def test_the_clock_is_the_one_of_the_crm(self, caller: Caller, tool: str, column: str) -> None:
        """Not the system clock."""
        assert NOW == datetime.fromisoformat(caller.example(tool)[column])

    @pytest.mark.parametrize(
        ("tool", "column"),
        [("create_new_client", "created_date"), ("upload_document", "uploaded_at"), ("add_note", "created_at")],
    )
    @pytest.mark.parametrize(
        "moment", ["2024-05-06T07:08:09+00:00", "2024-05-06T07:08:09Z", "2024-05-06T09:08:09+02:00"]
    )
    def test_times_are_accepted_in_any_time_zone(self, caller: Caller, tool: str, column: str, moment: str) -> None:
        """In any time zone."""
        made = caller.example(tool, **{column: moment})

        assert datetime.fromisoformat("2024-05-06T07:08:09+00:00") == datetime.fromisoformat(made[column])

    @pytest.mark.parametrize(
        ("tool", "column", "choice"),
        [
            ("create_new_client", "status", "client status"),
            ("ensure_client", "status", "client status"),
            ("create_new_opportunity", "stage", "stage"),
            ("create_quote", "status", "quote status"),
            ("create_contract", "status", "contract status"),
        ],
    )
    def test_every_choice_can_be_made(self, caller: Caller, tool: str, column: str, choice: str) -> None:
        """Including a deal that is closed from the start."""
        made = [
            caller.example(tool, **({"email": f"c{number}@c.example"} if "client" in tool else {}), **{column: value})
            for number, value in enumerate(CHOICES[choice])
        ]

        assert list(CHOICES[choice]) == [row[column] for row in made]

    @pytest.mark.parametrize(
        ("tool", "column"),
        [
            ("create_new_client", "name"),
            ("create_new_client", "email"),
            ("create_new_client", "phone"),
            ("create_new_contact", "first_name"),
            ("create_new_contact", "last_name"),
            ("create_new_contact", "client_id"),
            ("create_new_contact", "email"),
            ("create_new_opportunity", "name"),
            ("create_new_opportunity", "notes"),
            ("create_quote", "version"),
            ("upload_document", "file_name"),
            ("add_note", "content"),
            ("ensure_client", "name"),
        ],
    )
    def test_text_is_trimmed(self, caller: Caller, tool: str, column: str) -> None:
        """Space within the text is kept."""
        text = {**FULL.get(tool, {}), **EXAMPLES[tool]}[column]

        assert text == caller.example(tool, **{column: f" \t{text}\n "})[column]

    def test_a_contract_without_a_deal(self, caller: Caller) -> None:
        """It is pending."""
        made = caller.example("create_contract")

        assert (None, "Pending") == (made["opportunity_id"], made["status"])

    @pytest.mark.parametrize(
        "terms", [{"value": 0}, {"value": -5.5}, {"start_date": "2026-05-01", "end_date": "2020-01-01"}]
    )
    def test_the_terms_of_a_contract_are_free(self, caller: Caller, terms: dict[str, Json]) -> None:
        """There is no rule about their order or size."""
        assert terms.items() <= caller.example("create_contract", **terms).items()

    @pytest.mark.parametrize(
        ("entity", "name"), [("Client", "acme"), ("Opportunity", "vans"), ("Quote", "dear"), ("Contract", "frame")]
    )
    def test_a_document_of_anything(self, caller: Caller, entity: str, name: str) -> None:
        """Every entity that can have documents."""
        made = caller.example("upload_document", entity_type=entity, entity_id=uid(name))

        assert (entity, uid(name)) == (made["entity_type"], made["entity_id"])

    @pytest.mark.parametrize(
        ("entity", "name"),
        [("Client", "acme"), ("Contact", "zoë"), ("Opportunity", "vans"), ("Quote", "dear"), ("Contract", "frame")],
    )
    def test_a_note_on_anything(self, caller: Caller, entity: str, name: str) -> None:
        """Every entity that can have notes."""
        made = caller.example("add_note", entity_type=entity, entity_id=uid(name))

        assert (entity, uid(name)) == (made["entity_type"], made["entity_id"])


class TestEnsureClient:
    """An existing client is returned, a missing one is created."""

    @pytest.mark.parametrize(
        "email", ["Info@Acme.example", "info@acme.example", "INFO@ACME.EXAMPLE", " info@acme.example "]
    )
    def test_ensuring_an_existing_client_returns_it_unchanged(self, caller: Caller, email: str) -> None:
        """It is found by its e-mail address alone; nothing changes."""
        before = caller.state()

        assert row_of("Client", "acme") == caller.example("ensure_client", email=email, status="Prospect")
        assert before == caller.state()

    def test_ensuring_a_client_twice_creates_it_once(self, caller: Caller) -> None:
        """The second time nothing is created."""
        assert caller.example("ensure_client") == caller.example("ensure_client")
        assert 4 == len(caller.state()["clients"])

    def test_ensuring_a_missing_client_creates_it(self, caller: Caller) -> None:
        """With the given values."""
        assert EXAMPLES["ensure_client"].items() <= caller.example("ensure_client").items()


class TestClone:
    """A copy of a deal."""

    def test_clone_copies_every_column_but_id_time_and_name(self, caller: Caller) -> None:
        """Except the id, the creation time and the name."""
        made = caller.get("clone_opportunity", opportunity_id=uid("vans"))
        born = {"opportunity_id": made["opportunity_id"], "created_at": NOW.isoformat()}

        assert row_of("Opportunity", "vans", name="Vans (Clone)", **born) == made
        assert uid("vans") != made["opportunity_id"]

    @pytest.mark.parametrize("name", ["bikes", "trams"])
    def test_clone_keeps_null_values_and_closed_stages(self, caller: Caller, name: str) -> None:
        """What is null stays null and what is closed stays closed."""
        made = caller.get("clone_opportunity", opportunity_id=uid(name))

        for column in ("stage", "owner", "probability", "close_date", "notes", "client_id", "amount"):
            assert row_of("Opportunity", name)[column] == made[column]

    def test_quotes_are_not_copied(self, caller: Caller) -> None:
        """They belong to the first deal."""
        made = caller.get("clone_opportunity", opportunity_id=uid("vans"))

        assert [] == caller.found("quote_search", opportunity_id=made["opportunity_id"])

    def test_a_clone_of_a_clone(self, caller: Caller) -> None:
        """A clone of a clone."""
        made = caller.get("clone_opportunity", opportunity_id=uid("vans"))

        assert "Vans (Clone) (Clone)" == caller.get("clone_opportunity", opportunity_id=made["opportunity_id"])["name"]
