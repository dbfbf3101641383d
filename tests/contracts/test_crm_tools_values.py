"""The rules V1 to V6 and V8 about single values: what every tool refuses, and with which message."""

import math

import pytest

from pytest_crmeval.domain.json import Json
from pytest_crmeval.ports.crm import Crm
from tests.crm_world import CHOICES, EXAMPLES, NOW, TODAY, WORLD, YESTERDAY, Caller, uid

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
    """V1 and V11: text must not be blank."""

    def test_blank_text_is_refused(self, caller: Caller) -> None:
        """Spaces count as blank."""
        for tool, argument, label in TEXTS:
            for blank in ["", " ", "\t\n", "\u00a0"]:
                kind, message = caller.refused(tool, **{argument: blank})

                assert "invalid_argument" == kind, (blank, tool, argument, label)
                assert f"{label} must not be blank or whitespace." in message, (blank, tool, argument, label)

    def test_value_that_is_not_text_is_refused(self, caller: Caller) -> None:
        """Nothing is converted."""
        for tool, argument, label in TEXTS:
            for value in [7, 7.5, True, ["Ada"], {"en": "Ada"}]:
                kind, message = caller.refused(tool, **{argument: value})

                assert "invalid_argument" == kind, (value, tool, argument, label)
                assert f"{label} must be provided as a string." in message, (value, tool, argument, label)


class TestChoice:
    """V2: exactly one of the choices."""

    def test_refusal_of_an_unknown_choice_lists_the_choices(self, caller: Caller) -> None:
        """Sorted, after the name of the argument."""
        for tool, argument, choice in CHOSEN:
            for value in ["Sleeping", "active", "PROPOSAL", "draft", "", " Active", "Proposal ", 7, ["Draft"]]:
                kind, message = caller.refused(tool, **{argument: value})

                assert "invalid_argument" == kind, (value, tool, argument, choice)
                assert f"{argument.capitalize()} must be one of: {', '.join(CHOICES[choice])}." in message, (
                    value,
                    tool,
                    argument,
                    choice,
                )

    def test_document_or_note_on_another_kind_of_record_is_refused(self, caller: Caller) -> None:
        """The message lists the kinds that can have one."""
        for tool, choice, entity in [
            ("upload_document", "document entity", "Contact"),
            ("upload_document", "document entity", "quote"),
            ("upload_document", "document entity", 7),
            ("add_note", "note entity", "Company"),
            ("add_note", "note entity", "Document"),
            ("add_note", "note entity", ""),
        ]:
            kind, message = caller.refused(tool, entity_type=entity)

            assert "invalid_argument" == kind, (tool, choice, entity)
            assert f"Entity type must be one of: {', '.join(CHOICES[choice])}." in message, (tool, choice, entity)


class TestNumbers:
    """V3 and V4: amounts and probabilities."""

    def test_invalid_amount_is_refused(self, caller: Caller) -> None:
        """Above zero, up to ten million, and a number."""
        for tool in AMOUNTS:
            for amount, text in [
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
            ]:
                kind, message = caller.refused(tool, amount=amount)

                assert ("invalid_argument", True) == (kind, text in message), message

    @pytest.mark.parametrize("amount", [0.01, 1, 99.99, 9_999_999.99, 10_000_000, 10_000_000.0])
    @pytest.mark.parametrize("tool", AMOUNTS)
    def test_amount_within_bounds_is_kept(self, caller: Caller, tool: str, amount: float) -> None:
        """Including the bounds."""
        assert amount == caller.example(tool, amount=amount)["amount"]

    def test_contract_value_that_is_not_a_number_is_refused(self, caller: Caller) -> None:
        """Of any size."""
        for value in ["1", True, [1], math.nan, math.inf]:
            kind, message = caller.refused("create_contract", value=value)

            assert ("invalid_argument", True) == (kind, "Value must be numeric." in message), message

    def test_contract_value_too_large_for_its_column_is_refused(self, caller: Caller) -> None:
        """Contract value too large for its column is refused."""
        for value in [10**400, -(10**400), 1e308, 10**12]:
            assert "invalid_argument" == caller.refused("create_contract", value=value)[0], value

    def test_invalid_probability_is_refused(self, caller: Caller) -> None:
        """A whole percentage, neither impossible nor certain."""
        for tool in DEALS:
            for probability, text in [
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
            ]:
                kind, message = caller.refused(tool, probability=probability)

                assert ("invalid_argument", True) == (kind, text in message), message

    @pytest.mark.parametrize(("probability", "held"), [(1, 1), (50, 50), (75.0, 75), (99, 99)])
    @pytest.mark.parametrize("tool", DEALS)
    def test_probability_within_bounds_is_kept_as_an_integer(
        self, caller: Caller, tool: str, probability: float, held: int
    ) -> None:
        """75.0 is whole; the bounds are included."""
        kept = caller.example(tool, probability=probability)["probability"]

        assert (held, int) == (kept, type(kept))


class TestDates:
    """V5: a close date is a day, today or later; other dates are days."""

    def test_invalid_close_date_is_refused(self, caller: Caller) -> None:
        """Year, month and day, in this order."""
        for tool in DEALS:
            for date in [
                *("soon", "2026-13-01", "2026-02-30", "03/05/2027", "20270305", "2027-W11-2", "2027-3-5"),
                *("2027-03-05T12:00:00", "", 20270306, True, ["2027-03-05"]),
            ]:
                kind, message = caller.refused(tool, close_date=date)

                assert "invalid_argument" == kind, (date, tool)
                assert "Close date must be a valid ISO-8601 date (YYYY-MM-DD)." in message, (date, tool)

    @pytest.mark.parametrize("date", [YESTERDAY, "2025-12-31", "1999-01-01"])
    @pytest.mark.parametrize("tool", DEALS)
    def test_a_close_date_in_the_past(self, caller: Caller, tool: str, date: str) -> None:
        """By the clock of the CRM."""
        kind, message = caller.refused(tool, close_date=date)

        assert "invalid_argument" == kind
        assert "Close date must be today or in the future." in message

    @pytest.mark.parametrize("date", [TODAY, "2026-03-03", "2028-02-29", "2099-12-31"])
    @pytest.mark.parametrize("tool", DEALS)
    def test_a_close_date(self, caller: Caller, tool: str, date: str) -> None:
        """Today is allowed."""
        assert date == caller.example(tool, close_date=date)["close_date"]

    @pytest.mark.parametrize(("year", "refused"), [(1990, False), (2001, False), (2030, True), (2031, True)])
    def test_the_clock_is_the_one_of_the_trial(self, crm: Crm, year: int, *, refused: bool) -> None:
        """A case can still be played in ten years (D10)."""
        with crm.seeded(WORLD, NOW.replace(year=year)):
            result = Caller(crm).ask(
                "create_new_opportunity", **EXAMPLES["create_new_opportunity"], close_date="2029-03-02"
            )

        assert refused is result.refused

    def test_a_clone_is_checked_like_a_new_deal(self, caller: Caller) -> None:
        """The close date of the original may be in the past."""
        kind, message = caller.refused("clone_opportunity", opportunity_id=uid("lorries"))

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
    def test_invalid_date_is_refused_with_the_name_of_the_argument(
        self, caller: Caller, tool: str, argument: str, date: Json
    ) -> None:
        """The message names it."""
        kind, message = caller.refused(tool, **{argument: date})

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
    def test_start_and_expiry_dates_may_be_in_the_past(self, caller: Caller, tool: str, argument: str) -> None:
        """Contracts may have started, and quotes may have expired."""
        assert "1999-12-31" == caller.example(tool, **{argument: "1999-12-31"})[argument]

    @pytest.mark.parametrize("moment", ["lately", "2026-02-30T00:00:00Z", 7, "", ["2026-01-01T00:00:00Z"]])
    @pytest.mark.parametrize(
        ("tool", "argument"),
        [("create_new_client", "created_date"), ("upload_document", "uploaded_at"), ("add_note", "created_at")],
    )
    def test_invalid_time_is_refused_with_the_name_of_the_argument(
        self, caller: Caller, tool: str, argument: str, moment: Json
    ) -> None:
        """The message names it."""
        kind, message = caller.refused(tool, **{argument: moment})

        assert "invalid_argument" == kind
        assert argument in message.lower().replace(" ", "_")


class TestFileNames:
    """V6: plain letters and a known extension."""

    @pytest.mark.parametrize("extension", ["csv", "doc", "docx", "key", "pdf", "ppt", "pptx", "txt", "xlsx"])
    def test_a_known_extension(self, caller: Caller, extension: str) -> None:
        """Ignoring case."""
        for name in (f"a.{extension}", f"A-b_c.1.{extension.upper()}"):
            assert name == caller.example("upload_document", file_name=name)["file_name"]

    @pytest.mark.parametrize(
        "name",
        [
            *("contract", "contract.", "pdf", "my file.pdf", "../etc.pdf", "a/b.pdf", "a\\b.pdf", "übersicht.pdf"),
            *("a%.pdf", "a.exe", "a.pdf.exe", "a.xls", "a.pdfx", "a.pdf\n.txt", "a,b.pdf", "a(1).pdf"),
        ],
    )
    def test_invalid_file_name_is_refused_with_the_reason(self, caller: Caller, name: str) -> None:
        """The message says what is wrong with it."""
        kind, message = caller.refused("upload_document", file_name=name)

        assert ("invalid_argument", True) == (kind, "File name" in message)


class TestEmail:
    """V8: e-mail addresses are valid, and no two clients share one."""

    def test_invalid_email_address_is_refused(self, caller: Caller) -> None:
        """The message repeats it."""
        for tool in EMAILS:
            for email in [
                "ada",
                "ada@",
                "@ada.example",
                "a b@ada.example",
                "a@@ada.example",
                "a@b@c.example",
                "a@b.example, c@d.example",
            ]:
                kind, message = caller.refused(tool, email=email)

                assert "invalid_argument" == kind, (email, tool)
                assert f"Invalid email format: {email}" in message, (email, tool)

    @pytest.mark.parametrize("email", ["", "  ", 7, ["ada@ada.example"]])
    @pytest.mark.parametrize("tool", EMAILS)
    def test_email_that_is_not_text_is_refused(self, caller: Caller, tool: str, email: Json) -> None:
        """Nor null."""
        kind, message = caller.refused(tool, email=email)

        assert ("invalid_argument", True) == (kind, "email" in message.lower())

    @pytest.mark.parametrize("email", ["m@bolt.example", "M@Bolt.Example"])
    @pytest.mark.parametrize("tool", ["create_new_client", "modify_client"])
    def test_an_address_that_is_taken(self, caller: Caller, tool: str, email: str) -> None:
        """Ignoring case."""
        assert ("conflict", f"Client already exists with email '{email}'.") == caller.refused(tool, email=email)

    def test_an_address_with_space_around(self, caller: Caller) -> None:
        """It is trimmed before the comparison."""
        assert "conflict" == caller.refused("create_new_client", email=" m@bolt.example ")[0]

    def test_an_address_that_was_taken_a_moment_ago(self, caller: Caller) -> None:
        """By a client of this trial."""
        caller.example("create_new_client")

        assert "conflict" == caller.refused("create_new_client", email="ADA@ada.example")[0]

    def test_an_address_that_was_given_up(self, caller: Caller) -> None:
        """It can be used again."""
        caller.get("modify_client", client_id=uid("acme"), email="new@acme.example")

        assert "info@acme.example" == caller.example("create_new_client", email="info@acme.example")["email"]

    def test_contacts_may_share_one(self, caller: Caller) -> None:
        """Also with a client."""
        for email in ("mira@acme.example", "m@bolt.example"):
            assert email == caller.example("create_new_contact", email=email)["email"]
