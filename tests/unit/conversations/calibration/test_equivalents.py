"""Other ways to do and to say the same."""

import pytest

from pytest_crmeval.conversations.calibration import EQUIVALENT
from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal
from pytest_crmeval.domain.expectation import NO_CALL
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from pytest_crmeval.domain.state import Row
from tests.fakes import call
from tests.plays import asks, found, refused, uid
from tests.unit.conversations.calibration.test_flaws import ACME, BOLT, QUOTE, VANS, rehearsal_of, rehearsed

Calls = list[list[ToolCall]]


def steps(kind: str, rehearsal: Rehearsal) -> list[Calls]:
    """Return the replies with calls that the variants of a kind give in the first turn."""
    return [[list(reply) for reply in variant.steps[1]] for variant in EQUIVALENT[kind](rehearsal)]


def texts(kind: str, rehearsal: Rehearsal) -> list[str | None]:
    """Return what the variants of a kind say."""
    return [variant.text for variant in EQUIVALENT[kind](rehearsal)]


def after_one_look(asked: ToolCall, answer: Json) -> Rehearsal:
    """Return a case of one turn."""
    return rehearsed((asked, found(answer)), rows=(ACME, VANS, QUOTE))


def test_a_search_is_written_flat_and_with_criteria() -> None:
    """Whichever the case has."""
    flat, nested = call("client_search", name="Acme"), call("client_search", criteria={"name": "Acme"})

    assert [[[nested]]] == steps("nested or flat", after_one_look(flat, [ACME]))
    assert [[[flat]], [[nested]]] == steps("nested or flat", after_one_look(nested, [ACME]))


def test_a_change_is_written_with_updates() -> None:
    """The id stays outside."""
    change = call("modify_client", client_id=uid("acme"), name="Apex", status="Active")
    nested = call("modify_client", client_id=uid("acme"), updates={"name": "Apex", "status": "Active"})

    assert [[[nested]]] == steps("nested or flat", after_one_look(change, {**ACME, "name": "Apex"}))


def test_a_change_is_made_in_parts_and_closes_the_deal_last() -> None:
    """After that the CRM would refuse the rest; one after the other, and at once."""
    win = call("modify_opportunity", opportunity_id=uid("vans"), stage="Closed-Won", amount=5)
    parts = [
        call("modify_opportunity", opportunity_id=uid("vans"), amount=5),
        call("modify_opportunity", opportunity_id=uid("vans"), stage="Closed-Won"),
    ]

    assert [[[part] for part in parts], [parts]] == steps(
        "modify in parts", after_one_look(win, {**VANS, "stage": "Closed-Won", "amount": 5.0})
    )


def test_a_row_is_created_and_then_filled_in() -> None:
    """Its id is what the first call has brought; or it is created with a mistake, which is put right."""
    create = call("create_quote", opportunity_id=uid("vans"), amount=80, status="Draft", version="2.0")
    made: Row = {**QUOTE, "quote_id": uid("new"), "amount": 80.0}
    new = {"quote_id": "{{turn_1.quote_id}}"}

    assert [
        [
            [call("create_quote", opportunity_id=uid("vans"), amount=80, status="Draft")],
            [call("modify_quote", **new, version="2.0")],
        ],
        [
            [call("create_quote", opportunity_id=uid("vans"), amount=11, status="Draft", version="2.0")],
            [call("modify_quote", **new, amount=80)],
        ],
    ] == steps("created, then filled", after_one_look(create, made))


def test_rows_that_no_tool_modifies_are_not_filled_in_later() -> None:
    """There is no tool that changes a note."""
    note = call("add_note", entity_type="Client", entity_id=uid("acme"), content="Hi.", created_by="Lena")

    assert [] == steps("created, then filled", after_one_look(note, {"note_id": uid("new"), "content": "Hi."}))


@pytest.mark.parametrize(
    ("asked", "answer", "others"),
    [
        pytest.param(
            call("opportunity_details", opportunity_id=uid("vans")),
            VANS,
            [
                [[call("view_opportunity_details", opportunity_id=uid("vans"))]],
                [[call("opportunity_search", opportunity_id=uid("vans"))]],
            ],
            id="another name",
        ),
        pytest.param(
            call("compare_quotes", quote_ids=[uid("quote"), uid("other")]),
            [QUOTE, {**QUOTE, "quote_id": uid("other")}],
            [
                [[call("compare_quote_details", quote_ids=[uid("quote"), uid("other")])]],
                [[call("quote_details", quote_id=uid("quote"))], [call("quote_details", quote_id=uid("other"))]],
            ],
            id="one by one",
        ),
        pytest.param(
            call("cancel_quote", quote_id=uid("quote")),
            {**QUOTE, "status": "Canceled"},
            [[[call("modify_quote", quote_id=uid("quote"), status="Canceled")]]],
            id="a change",
        ),
        pytest.param(
            call("client_search", status="Active"),
            [ACME],
            [[[call("client_search", name="Acme")]]],
            id="by name",
        ),
        pytest.param(call("client_search", status="Active"), [ACME, BOLT], [], id="two have two names"),
    ],
)
def test_equivalent_calls_of_other_tools_are_variants(asked: ToolCall, answer: Json, others: list[Calls]) -> None:
    """In one call or in several."""
    assert others == steps("other tool", after_one_look(asked, answer))


def test_letters_are_changed_that_have_a_counterpart() -> None:
    """A capital ß is two letters, and so another text."""
    search = call("client_search", name="Weiß")

    assert [[[call("client_search", name="weiß")]]] == steps("other letters", after_one_look(search, []))


def test_a_wider_search_may_name_others_for_contrast() -> None:
    rehearsal = rehearsed((call("client_search", name="Acme"), found([ACME])), rows=(ACME, BOLT))

    assert [None, None, "Done: Acme. The others, such as Bolt, don't match."] == texts("wider search", rehearsal)
    assert [[call("list_clients")]] == steps("wider search", rehearsal)[1]


def test_a_refusal_is_looked_up() -> None:
    """By what the call names."""
    change = call("modify_opportunity", opportunity_id=uid("vans"), amount=5)
    rehearsal = rehearsed((change, refused("Cannot modify closed opportunity.")), rows=(ACME, VANS))

    assert [
        [[call("view_opportunity_details", opportunity_id=uid("vans"))]],
        [[call("opportunity_search", opportunity_id=uid("vans"))]],
    ] == steps("looked, declined", rehearsal)


def test_amounts_are_written_in_several_exact_formats() -> None:
    """All of them exact."""
    details = call("quote_details", quote_id=uid("quote"))

    said = texts("number formats", after_one_look(details, {**QUOTE, "amount": 75000.0}))

    assert "Done: $75k, Draft." in said
    assert "Done: 75 000, Draft." in said
    assert "Done: 75,000.00 USD, Draft." in said
    assert "Done: 75 thousand, Draft." in said


def test_an_amount_with_cents_is_not_rounded() -> None:
    """That would be another amount."""
    details = call("quote_details", quote_id=uid("quote"))

    said = texts("number formats", after_one_look(details, {**QUOTE, "amount": 75000.5}))

    assert ["Done: 75,000.50, Draft.", "Done: $75,000.50, Draft.", "Done: 75,000.50 USD, Draft."] == said


def test_whole_rows_are_reported_with_the_noun_of_their_table() -> None:
    search = call("client_search")
    said = texts("whole rows reported", after_one_look(search, [{"client_id": uid("acme"), "name": "Acme"}]))

    assert f"I found 1 clients:\nclient_id: {uid('acme')}; name: Acme" in said


def test_facts_are_reordered_if_there_are_several() -> None:
    """Where there are several."""
    search = call("client_search")

    assert "Here they are: Bolt, Acme." in texts("facts reordered", after_one_look(search, [ACME, BOLT]))
    assert [] == texts("facts reordered", after_one_look(search, [ACME]))


def test_requests_are_met_in_one_step() -> None:
    """If none waits for what the first one returns."""
    look, note = call("client_search", name="Acme"), call("add_note", entity_type="Client", entity_id=uid("acme"))
    own = call("add_note", entity_type="Client", entity_id="{{turn_1.client_id}}")

    def rehearsal(further: ToolCall) -> Rehearsal:
        answers = [(look, found([ACME])), (note, found({"note_id": uid("note")}))]
        return rehearsal_of(asks("Find Acme, and note it.", look, further=[further]), answers=answers)

    assert [[[look, note]]] == steps("requests at once", rehearsal(note))
    assert [] == steps("requests at once", rehearsal(own))


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        (call("client_search", name="Acme"), call("list_quotes"), True),
        (call("modify_client", client_id=uid("acme")), call("modify_client", client_id=uid("bolt")), True),
        (call("create_quote", opportunity_id=uid("vans")), call("add_note", entity_id=uid("vans")), True),
        (call("modify_client", client_id=uid("acme")), call("modify_client", client_id=uid("acme"), name="x"), False),
        (call("client_search", name="Acme"), call("modify_client", client_id=uid("acme")), False),
        (call("delete_quote", quote_id=uid("a")), call("delete_opportunity", opportunity_id=uid("b")), False),
    ],
    ids=str,
)
def test_requests_are_met_in_the_other_order(one: ToolCall, other: ToolCall, *, may: bool) -> None:
    """If that makes no difference: nothing is written, only new rows are, or each has a row of its own."""
    answers = [(one, found([])), (other, found([]))]
    rehearsal = rehearsal_of(asks("Both, please.", one, further=[other]), answers=answers)

    assert ([[[other], [one]], [[other, one]]] if may else []) == steps("requests reordered", rehearsal)


def test_refusals_and_questions_are_reworded() -> None:
    """With the facts that the question is about."""
    look = call("client_search", name="c")
    which = rehearsal_of(asks("Rename it.", look, back=True), answers=[(look, found([ACME, BOLT]))])
    outside = rehearsal_of(asks("Book a flight.", NO_CALL, refusal=""), answers=[])

    *_, one, other = texts("asked, in other words", which)
    assert ("Did you mean Acme or Bolt?", "Which Bolt do you mean? There is Acme, Bolt.") == (one, other)
    assert "I can only help with clients, contacts, deals, quotes and contracts." in texts(
        "outside, in other words", outside
    )
    assert [] == texts("own words", which)


def test_several_requests_are_reported_in_other_words() -> None:
    """In a list, and in the other order."""
    look, note = call("client_search", name="Acme"), call("add_note", entity_type="Client", entity_id=uid("acme"))
    answers = [(look, found([ACME])), (note, found({"note_id": uid("note")}))]
    rehearsal = rehearsal_of(asks("Find Acme, and note it.", look, further=[note]), answers=answers)

    assert [
        "All of it is taken care of.\n- client: Acme\n- The add is done",
        "The add is done. client: Acme.",
        "client: Acme. The add is done. I did not change anything else.",
    ] == texts("several, in other words", rehearsal)
