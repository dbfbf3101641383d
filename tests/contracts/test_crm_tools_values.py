"""The rules V1 to V6 and V8, on single values: what every tool refuses, and in which words."""

import math

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.ports.crm import Crm
from tests.desks import CHOICES, EXAMPLES, NOW, TODAY, WORLD, YESTERDAY, Desk, shown, uid

TEXTS = [
    ("create_new_client", "name", "Name"),
    ("create_new_contact", "first_name", "First name"),
    ("create_new_contact", "last_name", "Last name"),
    ("create_new_opportunity", "name", "Name"),
    ("upload_document", "file_name", "File name"),
    ("add_note", "content", "Content"),
    ("ensure_client", "name", "Name"),
    ("modify_client", "name", "Name"),
    ("modify_client", "industry", "Industry"),
    ("modify_client", "phone", "Phone"),
    ("modify_client", "address", "Address"),
    ("modify_client", "owner", "Owner"),
    ("modify_contact", "first_name", "First name"),
    ("modify_contact", "last_name", "Last name"),
    ("modify_contact", "title", "Title"),
    ("modify_contact", "phone", "Phone"),
    ("modify_contact", "notes", "Notes"),
    ("modify_opportunity", "name", "Name"),
    ("modify_opportunity", "owner", "Owner"),
    ("modify_opportunity", "notes", "Notes"),
    ("modify_quote", "version", "Version"),
    ("modify_quote", "quote_prefix", "Quote prefix"),
]
CHOSEN = [
    ("create_new_client", "status", "client status"),
    ("ensure_client", "status", "client status"),
    ("modify_client", "status", "client status"),
    ("create_new_opportunity", "stage", "stage"),
    ("modify_opportunity", "stage", "stage"),
    ("create_quote", "status", "quote status"),
    ("modify_quote", "status", "quote status"),
    ("create_contract", "status", "contract status"),
]
AMOUNTS = ["create_new_opportunity", "modify_opportunity", "create_quote", "modify_quote"]
DEALS = ["create_new_opportunity", "modify_opportunity"]
EMAILS = ["create_new_client", "create_new_contact", "modify_client", "modify_contact", "ensure_client"]


class TestText:
    """V1 and V11: it is text, and there is something in it."""

    @pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u00a0"])
    @pytest.mark.parametrize(("tool", "argument", "label"), TEXTS)
    def test_blank(self, desk: Desk, tool: str, argument: str, label: str, blank: str) -> None:
        """Spaces are nothing."""
        kind, message = desk.told(tool, **{argument: blank})

        assert "invalid_argument" == kind
        assert f"{label} must not be blank or whitespace." in message

    @pytest.mark.parametrize("value", [7, 7.5, True, ["Ada"], {"en": "Ada"}])
    @pytest.mark.parametrize(("tool", "argument", "label"), TEXTS)
    def test_something_else(self, desk: Desk, tool: str, argument: str, label: str, value: Json) -> None:
        """Nothing is made to fit."""
        kind, message = desk.told(tool, **{argument: value})

        assert "invalid_argument" == kind
        assert f"{label} must be provided as a string." in message


class TestChoice:
    """V2: one of those that there are, letter by letter."""

    @pytest.mark.parametrize(
        "value", ["Sleeping", "active", "PROPOSAL", "draft", "", " Active", "Proposal ", 7, ["Draft"]]
    )
    @pytest.mark.parametrize(("tool", "argument", "choice"), CHOSEN)
    def test_what_there_is_is_listed(self, desk: Desk, tool: str, argument: str, choice: str, value: Json) -> None:
        """Sorted, after the name of the argument."""
        kind, message = desk.told(tool, **{argument: value})

        assert "invalid_argument" == kind
        assert f"{argument.capitalize()} must be one of: {', '.join(CHOICES[choice])}." in message

    @pytest.mark.parametrize(
        ("tool", "choice", "entity"),
        [
            ("upload_document", "document entity", "Contact"),
            ("upload_document", "document entity", "quote"),
            ("upload_document", "document entity", 7),
            ("add_note", "note entity", "Company"),
            ("add_note", "note entity", "Document"),
            ("add_note", "note entity", ""),
        ],
    )
    def test_what_has_no_documents_or_notes(self, desk: Desk, tool: str, choice: str, entity: Json) -> None:
        """The message lists what has."""
        kind, message = desk.told(tool, entity_type=entity)

        assert "invalid_argument" == kind
        assert f"Entity type must be one of: {', '.join(CHOICES[choice])}." in message


class TestNumbers:
    """V3 and V4: amounts and probabilities."""

    @pytest.mark.parametrize(
        ("amount", "text"),
        [
            ("1", "Amount must be numeric."),
            ("a lot", "Amount must be numeric."),
            (True, "Amount must be numeric."),
            (False, "Amount must be numeric."),
            ([1], "Amount must be numeric."),
            ({"usd": 1}, "Amount must be numeric."),
            (0, "Amount must be greater than zero."),
            (0.0, "Amount must be greater than zero."),
            (-1, "Amount must be greater than zero."),
            (-0.01, "Amount must be greater than zero."),
            (-(10**13), "Amount must be greater than zero."),
            (-(10**400), "Amount must be greater than zero."),
            (10_000_000.01, "Amount must not exceed 10,000,000."),
            (10_000_001, "Amount must not exceed 10,000,000."),
            (1e308, "Amount must not exceed 10,000,000."),
            (10**400, "Amount must not exceed 10,000,000."),
            (math.nan, "Amount must be"),
            (math.inf, "Amount must"),
            (-math.inf, "Amount must be"),
            (0.001, "Amount must be greater than zero."),
        ],
        ids=shown,
    )
    @pytest.mark.parametrize("tool", AMOUNTS)
    def test_an_amount_that_is_none(self, desk: Desk, tool: str, amount: Json, text: str) -> None:
        """More than nothing, up to ten million, and a number."""
        kind, message = desk.told(tool, amount=amount)

        assert ("invalid_argument", True) == (kind, text in message), message

    @pytest.mark.parametrize("amount", [0.01, 1, 99.99, 9_999_999.99, 10_000_000, 10_000_000.0])
    @pytest.mark.parametrize("tool", AMOUNTS)
    def test_an_amount(self, desk: Desk, tool: str, amount: float) -> None:
        """The bounds are included."""
        assert amount == desk.example(tool, amount=amount)["amount"]

    @pytest.mark.parametrize("value", ["1", True, [1], math.nan, math.inf])
    def test_the_value_of_a_contract_is_a_number(self, desk: Desk, value: Json) -> None:
        """Of any size."""
        kind, message = desk.told("create_contract", value=value)

        assert ("invalid_argument", True) == (kind, "Value must be numeric." in message), message

    @pytest.mark.parametrize("value", [10**400, -(10**400), 1e308, 10**12], ids=shown)
    def test_the_value_of_a_contract_that_nothing_can_hold(self, desk: Desk, value: Json) -> None:
        """It is refused."""
        assert "invalid_argument" == desk.told("create_contract", value=value)[0]

    @pytest.mark.parametrize(
        ("probability", "text"),
        [
            ("50", "Probability must be numeric."),
            ("50%", "Probability must be numeric."),
            (True, "Probability must be numeric."),
            ([50], "Probability must be numeric."),
            (75.5, "whole-number percentage."),
            (0.5, "whole-number percentage."),
            (0, "Probability must be between 1 and 99."),
            (100, "Probability must be between 1 and 99."),
            (-1, "Probability must be between 1 and 99."),
            (100.0, "Probability must be between 1 and 99."),
            (10**400, "Probability must be"),
            (-(10**400), "Probability must be"),
            (1e308, "Probability must be"),
            (math.nan, "Probability must be"),
            (math.inf, "Probability must be"),
        ],
        ids=shown,
    )
    @pytest.mark.parametrize("tool", DEALS)
    def test_a_probability_that_is_none(self, desk: Desk, tool: str, probability: Json, text: str) -> None:
        """A whole number of percent, neither impossible nor certain."""
        kind, message = desk.told(tool, probability=probability)

        assert ("invalid_argument", True) == (kind, text in message), message

    @pytest.mark.parametrize(("probability", "held"), [(1, 1), (50, 50), (75.0, 75), (99, 99)])
    @pytest.mark.parametrize("tool", DEALS)
    def test_a_probability(self, desk: Desk, tool: str, probability: float, held: int) -> None:
        """75.0 is whole; the bounds are included."""
        kept = desk.example(tool, probability=probability)["probability"]

        assert (held, int) == (kept, type(kept))


class TestDates:
    """V5: a close date is a day, today or later; other dates are days."""

    @pytest.mark.parametrize(
        "date",
        [
            *("soon", "2026-13-01", "2026-02-30", "03/05/2027", "20270305", "2027-W11-2", "2027-3-5"),
            *("2027-03-05T12:00:00", "", 20270306, True, ["2027-03-05"]),
        ],
    )
    @pytest.mark.parametrize("tool", DEALS)
    def test_a_close_date_that_is_none(self, desk: Desk, tool: str, date: Json) -> None:
        """Year, month and day, in this order."""
        kind, message = desk.told(tool, close_date=date)

        assert "invalid_argument" == kind
        assert "Close date must be a valid ISO-8601 date (YYYY-MM-DD)." in message

    @pytest.mark.parametrize("date", [YESTERDAY, "2025-12-31", "1999-01-01"])
    @pytest.mark.parametrize("tool", DEALS)
    def test_a_close_date_in_the_past(self, desk: Desk, tool: str, date: str) -> None:
        """By the clock of the CRM."""
        kind, message = desk.told(tool, close_date=date)

        assert "invalid_argument" == kind
        assert "Close date must be today or in the future." in message

    @pytest.mark.parametrize("date", [TODAY, "2026-03-03", "2028-02-29", "2099-12-31"])
    @pytest.mark.parametrize("tool", DEALS)
    def test_a_close_date(self, desk: Desk, tool: str, date: str) -> None:
        """Today is not too late."""
        assert date == desk.example(tool, close_date=date)["close_date"]

    @pytest.mark.parametrize(("year", "refused"), [(1990, False), (2001, False), (2030, True), (2031, True)])
    def test_the_clock_is_the_one_of_the_trial(self, crm: Crm, year: int, *, refused: bool) -> None:
        """A case of today can be played in ten years (D10)."""
        with crm.seeded(WORLD, NOW.replace(year=year)):
            result = Desk(crm).ask(
                "create_new_opportunity", **EXAMPLES["create_new_opportunity"], close_date="2029-03-02"
            )

        assert refused is result.refused

    def test_a_clone_is_checked_like_a_new_deal(self, desk: Desk) -> None:
        """The close date of an old one lies in the past."""
        kind, message = desk.told("clone_opportunity", opportunity_id=uid("lorries"))

        assert "invalid_argument" == kind
        assert "Close date must be today or in the future." in message

    @pytest.mark.parametrize("date", ["soon", "2026-02-30", "20270305", 7])
    @pytest.mark.parametrize(
        ("tool", "argument"),
        [
            ("create_quote", "valid_until"),
            ("modify_quote", "valid_until"),
            ("create_contract", "start_date"),
            ("create_contract", "end_date"),
        ],
    )
    def test_another_date_that_is_none(self, desk: Desk, tool: str, argument: str, date: Json) -> None:
        """The message names it."""
        kind, message = desk.told(tool, **{argument: date})

        assert "invalid_argument" == kind
        assert argument in message.lower().replace(" ", "_")

    @pytest.mark.parametrize(
        ("tool", "argument"),
        [
            ("create_quote", "valid_until"),
            ("modify_quote", "valid_until"),
            ("create_contract", "start_date"),
            ("create_contract", "end_date"),
        ],
    )
    def test_another_date_may_lie_in_the_past(self, desk: Desk, tool: str, argument: str) -> None:
        """Contracts have begun, quotes have run out."""
        assert "1999-12-31" == desk.example(tool, **{argument: "1999-12-31"})[argument]

    @pytest.mark.parametrize("moment", ["lately", "2026-02-30T00:00:00Z", 7, "", ["2026-01-01T00:00:00Z"]])
    @pytest.mark.parametrize(
        ("tool", "argument"),
        [("create_new_client", "created_date"), ("upload_document", "uploaded_at"), ("add_note", "created_at")],
    )
    def test_a_moment_that_is_none(self, desk: Desk, tool: str, argument: str, moment: Json) -> None:
        """The message names it."""
        kind, message = desk.told(tool, **{argument: moment})

        assert "invalid_argument" == kind
        assert argument in message.lower().replace(" ", "_")


class TestFileNames:
    """V6: plain letters and a known extension."""

    @pytest.mark.parametrize("extension", ["csv", "doc", "docx", "key", "pdf", "ppt", "pptx", "txt", "xlsx"])
    def test_a_known_extension(self, desk: Desk, extension: str) -> None:
        """In any case."""
        for name in (f"a.{extension}", f"A-b_c.1.{extension.upper()}"):
            assert name == desk.example("upload_document", file_name=name)["file_name"]

    @pytest.mark.parametrize(
        "name",
        [
            *("contract", "contract.", "pdf", "my file.pdf", "../etc.pdf", "a/b.pdf", "a\\b.pdf", "übersicht.pdf"),
            *("a%.pdf", "a.exe", "a.pdf.exe", "a.xls", "a.pdfx", "a.pdf\n.txt", "a,b.pdf", "a(1).pdf"),
        ],
    )
    def test_another_name(self, desk: Desk, name: str) -> None:
        """The message says what is wrong with."""
        kind, message = desk.told("upload_document", file_name=name)

        assert ("invalid_argument", True) == (kind, "File name" in message)


class TestEmail:
    """V8, and that two clients don't share one."""

    @pytest.mark.parametrize(
        "email",
        [
            "ada",
            "ada@",
            "@ada.example",
            "a b@ada.example",
            "a@@ada.example",
            "a@b@c.example",
            "a@b.example, c@d.example",
        ],
    )
    @pytest.mark.parametrize("tool", EMAILS)
    def test_no_address(self, desk: Desk, tool: str, email: str) -> None:
        """It is repeated."""
        kind, message = desk.told(tool, email=email)

        assert "invalid_argument" == kind
        assert f"Invalid email format: {email}" in message

    @pytest.mark.parametrize("email", ["", "  ", 7, ["ada@ada.example"]])
    @pytest.mark.parametrize("tool", EMAILS)
    def test_no_text(self, desk: Desk, tool: str, email: Json) -> None:
        """Nor nothing."""
        kind, message = desk.told(tool, email=email)

        assert ("invalid_argument", True) == (kind, "email" in message.lower())

    @pytest.mark.parametrize("email", ["m@bolt.example", "M@Bolt.Example"])
    @pytest.mark.parametrize("tool", ["create_new_client", "modify_client"])
    def test_an_address_that_is_taken(self, desk: Desk, tool: str, email: str) -> None:
        """In any case."""
        assert ("conflict", f"Client already exists with email '{email}'.") == desk.told(tool, email=email)

    def test_an_address_with_space_around(self, desk: Desk) -> None:
        """It is trimmed before anybody compares."""
        assert "conflict" == desk.told("create_new_client", email=" m@bolt.example ")[0]

    def test_an_address_that_was_taken_a_moment_ago(self, desk: Desk) -> None:
        """By a client of this very trial."""
        desk.example("create_new_client")

        assert "conflict" == desk.told("create_new_client", email="ADA@ada.example")[0]

    def test_an_address_that_was_given_up(self, desk: Desk) -> None:
        """It is free."""
        desk.get("modify_client", client_id=uid("acme"), email="new@acme.example")

        assert "info@acme.example" == desk.example("create_new_client", email="info@acme.example")["email"]

    def test_contacts_may_share_one(self, desk: Desk) -> None:
        """Also with a client."""
        for email in ("mira@acme.example", "m@bolt.example"):
            assert email == desk.example("create_new_contact", email=email)["email"]
