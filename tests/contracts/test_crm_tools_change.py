"""The tools that change and delete, with valid calls."""

from typing import Any

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import TABLES
from pytest_crmeval.ports.crm import Crm
from tests.crm_world import COLUMNS, EXAMPLES, NOW, TODAY, WORLD, Caller, row_of, uid

CHANGES: list[tuple[str, str, str, Any]] = [
    *(
        ("modify_client", "acme", column, value)
        for column, value in {
            "name": "Acme Ltd",
            "email": "new@acme.example",
            "phone": "+1 9",
            "address": "4 Dock",
            "industry": "Games",
            "status": "Inactive",
            "owner": "Kim",
        }.items()
    ),
    *(
        ("modify_contact", "mira", column, value)
        for column, value in {
            "first_name": "Mia",
            "last_name": "Osei",
            "title": "CEO",
            "email": "mia@acme.example",
            "phone": "+1 10",
            "notes": "Prefers phone.",
        }.items()
    ),
    *(
        ("modify_opportunity", "vans", column, value)
        for column, value in {
            "name": "Big vans",
            "stage": "Closed-Won",
            "amount": 90000.75,
            "close_date": TODAY,
            "owner": "Kim",
            "probability": 75,
            "notes": "Wants less.",
        }.items()
    ),
    *(
        ("modify_quote", "dear", column, value)
        for column, value in {
            "version": "1.1",
            "amount": 56000.5,
            "status": "Approved",
            "valid_until": "2026-01-31",
            "quote_prefix": "V",
        }.items()
    ),
]
CHANGED = {"modify_client": "Client", "modify_contact": "Contact", "modify_opportunity": "Opportunity"} | {
    "modify_quote": "Quote"
}


class TestModify:
    """A change, and nothing else."""

    @pytest.mark.parametrize("nested", [False, True], ids=["flat", "updates"])
    @pytest.mark.parametrize(("tool", "name", "column", "value"), CHANGES)
    def test_a_column_is_changed(  # noqa: PLR0913 (a table of changes has columns)
        self, caller: Caller, tool: str, name: str, column: str, value: Json, *, nested: bool
    ) -> None:
        """The row is returned; other columns and rows don't change."""
        entity = CHANGED[tool]
        state = caller.state()
        row = state[TABLES[entity][0]][uid(name)]
        row[column] = value
        change = {"updates": {column: value}} if nested else {column: value}

        assert row == caller.get(tool, **{COLUMNS[entity][0]: uid(name)}, **change)
        assert state == caller.state()

    @pytest.mark.parametrize("tool", CHANGED)
    def test_all_columns_at_once(self, caller: Caller, tool: str) -> None:
        """All columns at once."""
        changes = {column: value for changing, _, column, value in CHANGES if changing == tool}

        assert caller.advertised(tool, {**EXAMPLES[tool], **changes})
        assert changes.items() <= caller.example(tool, **changes).items()

    @pytest.mark.parametrize(
        ("tool", "column", "text"),
        [
            ("modify_client", "name", "Acme Ltd"),
            ("modify_client", "email", "new@acme.example"),
            ("modify_contact", "title", "CEO"),
            ("modify_opportunity", "notes", "Wants less."),
            ("modify_quote", "version", "1.1"),
        ],
    )
    def test_text_is_trimmed(self, caller: Caller, tool: str, column: str, text: str) -> None:
        """As when it was created."""
        assert text == caller.example(tool, **{column: f"  {text}\n"})[column]

    def test_a_row_that_was_just_made(self, caller: Caller) -> None:
        """A row that was just made."""
        made = caller.example("create_quote")

        assert "Sent" == caller.get("modify_quote", quote_id=made["quote_id"], status="Sent")["status"]

    def test_a_canceled_quote(self, caller: Caller) -> None:
        """It is not closed."""
        changed = caller.get("modify_quote", quote_id=uid("old"), status="Draft", amount=900)

        assert ("Draft", 900) == (changed["status"], changed["amount"])

    @pytest.mark.parametrize("name", ["lorries", "trams"])
    @pytest.mark.parametrize(("column", "value"), [("name", "Other"), ("owner", "Kim"), ("notes", "Kept.")])
    def test_a_closed_deal_may_change_its_words(self, caller: Caller, name: str, column: str, value: str) -> None:
        """Owner, name and notes are not frozen (V9)."""
        assert value == caller.get("modify_opportunity", opportunity_id=uid(name), **{column: value})[column]

    @pytest.mark.parametrize("email", ["Info@Acme.example", "info@acme.example"])
    def test_a_client_may_keep_its_e_mail_address(self, caller: Caller, email: str) -> None:
        """It is taken only by the client itself."""
        assert email == caller.get("modify_client", client_id=uid("acme"), email=email)["email"]


class TestCancel:
    """A canceled quote."""

    @pytest.mark.parametrize("name", ["dear", "cheap", "plain", "old"])
    def test_only_the_status_is_changed(self, caller: Caller, name: str) -> None:
        """Whatever it was, even if it was canceled before."""
        state = caller.state()
        state["quotes"][uid(name)]["status"] = "Canceled"

        assert row_of("Quote", name, status="Canceled") == caller.get("cancel_quote", quote_id=uid(name))
        assert state == caller.state()


class TestDelete:
    """What is deleted, and what remains."""

    def test_deleting_a_quote_deletes_nothing_else(self, caller: Caller) -> None:
        """Nothing else."""
        state = caller.state()
        del state["quotes"][uid("dear")]

        assert caller.get("delete_quote", quote_id=uid("dear")) is True
        assert state == caller.state()

    def test_a_deal_takes_its_quotes_along_and_leaves_its_contracts(self, caller: Caller) -> None:
        """They lose their link to it."""
        state = caller.state()
        del state["opportunities"][uid("vans")], state["quotes"][uid("dear")], state["quotes"][uid("cheap")]
        state["contracts"][uid("leasing")]["opportunity_id"] = None

        assert caller.get("delete_opportunity", opportunity_id=uid("vans")) is True
        assert state == caller.state()

    @pytest.mark.parametrize("name", ["lorries", "trams"])
    def test_a_closed_deal(self, caller: Caller, name: str) -> None:
        """A closed deal."""
        assert caller.get("delete_opportunity", opportunity_id=uid(name)) is True

    @pytest.mark.parametrize(
        ("tool", "key", "name"),
        [("delete_quote", "quote_id", "dear"), ("delete_opportunity", "opportunity_id", "vans")],
    )
    def test_second_deletion_of_a_row_is_refused(self, caller: Caller, tool: str, key: str, name: str) -> None:
        """The second deletion is refused."""
        caller.get(tool, **{key: uid(name)})

        assert "not_found" == caller.refusal(tool, **{key: uid(name)}).kind

    def test_deleted_rows_are_back_in_the_next_trial(self, crm: Crm) -> None:
        """A trial leaves nothing behind."""
        with crm.seeded(WORLD, NOW):
            before = Caller(crm).state()
            Caller(crm).get("delete_opportunity", opportunity_id=uid("vans"))

        with crm.seeded(WORLD, NOW):
            assert before == Caller(crm).state()
