"""Whether the CRM was asked what the user wanted to know."""

from dataclasses import replace

import pytest

from pytest_crmeval.conversations.scorers.tool_calls import tool_calls
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.expectation import NO_CALL
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ErrorKind, ToolCall
from pytest_crmeval.domain.score import Score
from tests.fakes import call
from tests.plays import (
    FIND_FLEET,
    FLEET,
    HARBOR,
    LARGE_QUOTE,
    MIRA,
    SMALL_QUOTE,
    Answers,
    asks,
    case_of,
    found,
    refused,
    row,
    trial,
    uid,
)

DOCK = {**FLEET, "opportunity_id": uid("dock"), "name": "Dock automation", "amount": 16000.0, "stage": "Negotiation"}
SEED = [uid("fleet"), uid("dock"), uid("harbor")]
WORLD: Answers = [
    (FIND_FLEET, found([FLEET])),
    (call("opportunity_search", name="FLEET Tracking"), found([FLEET])),
    (call("opportunity_search", stage="Proposal"), found([FLEET])),
    (call("opportunity_search", stage="Negotiation"), found([DOCK])),
    (call("opportunity_search", stage="Proposal", owner="Nobody"), found([])),
    (call("opportunity_search"), found([DOCK, FLEET])),
    (call("list_opportunities"), found({uid("dock"): DOCK, uid("fleet"): FLEET})),
    (call("view_opportunity_details", opportunity_id=uid("fleet")), found(FLEET)),
    (call("view_opportunity_details", opportunity_id=uid("dock")), found(DOCK)),
    (call("summarize_opportunities"), found({"total_count": 2, "total_amount": 100000.0, "by_stage": {}})),
    (
        call("summarize_opportunities", stage="Proposal"),
        found({"total_count": 1, "total_amount": 84000.0, "by_stage": {"Proposal": 1}}),
    ),
    (call("summarize_opportunities", stage="Closed-Won"), found({"total_count": 0, "total_amount": 0})),
    (call("opportunity_search", stage="Closed-Won"), found([])),
    (call("quote_prefixes"), found(["BIK", "VAN"])),
    (call("quote_search"), found([{**SMALL_QUOTE, "quote_prefix": "BIK"}, {**LARGE_QUOTE, "quote_prefix": "VAN"}])),
    (call("quote_search", status="Draft"), found([{**SMALL_QUOTE, "quote_prefix": "BIK"}])),
    (call("quote_details", quote_id=uid("small")), found(SMALL_QUOTE)),
    (call("quote_details", quote_id=uid("large")), found(LARGE_QUOTE)),
    (call("compare_quotes", quote_ids=[uid("small"), uid("large")]), found([SMALL_QUOTE, LARGE_QUOTE])),
    (
        call("compare_quote_details", quote_ids=[uid("small"), uid("large")]),
        found({"quotes": [SMALL_QUOTE, LARGE_QUOTE], "amounts": [75000.0, 1200000.0]}),
    ),
    (call("summarize_counts"), found({"clients": 1, "opportunities": 2, "contacts": 0})),
    (call("list_clients"), found({uid("harbor"): HARBOR})),
    (call("list_contacts"), found({})),
]


def passes(expected: ToolCall, *made: ToolCall) -> bool:
    """Whether these calls do where one is expected."""
    case = case_of(asks("?", expected), seed=SEED)
    return tool_calls(case, trial(case, WORLD, [*made], "Here.")).passed


@pytest.mark.parametrize(
    "made",
    [
        [FIND_FLEET],
        [call("opportunity_search", criteria={"name": "fleet tracking"})],
        [call("opportunity_search", name="fleet tracking", stage=None)],
        [call("opportunity_search", name="FLEET Tracking")],
        [call("opportunity_search", stage="Proposal")],
        [call("opportunity_search")],
        [call("list_opportunities")],
        [call("view_opportunity_details", opportunity_id=uid("fleet"))],
        [call("opportunity_details", opportunity_id=uid("fleet"))],
        [call("opportunity_search", nme="fleet"), FIND_FLEET],
        [call("list_clients"), call("summarize_counts"), FIND_FLEET, call("quote_search")],
    ],
    ids=str,
)
def test_a_read_that_shows_the_same_row_does(made: list[ToolCall]) -> None:
    assert passes(FIND_FLEET, *made)


@pytest.mark.parametrize(
    "made",
    [
        [],
        [call("opportunity_search", stage="Negotiation")],
        [call("opportunity_search", stage="Proposal", owner="Nobody")],
        [call("view_opportunity_details", opportunity_id=uid("dock"))],
        [call("opportunity_search", nme="fleet")],
        [call("summarize_opportunities")],
        [call("list_clients")],
        [call("summarize_counts")],
    ],
    ids=str,
)
def test_a_read_that_does_not_show_the_row_does_not(made: list[ToolCall]) -> None:
    """Nothing, another row, a refusal, an overview, another table."""
    assert not passes(FIND_FLEET, *made)


def test_several_reads_show_together_what_one_shows() -> None:
    """Each a part of it; but all parts."""
    compared = call("compare_quotes", quote_ids=[uid("small"), uid("large")])
    one, other = (call("quote_details", quote_id=uid(name)) for name in ("small", "large"))

    assert passes(compared, one, other)
    assert passes(compared, call("compare_quote_details", quote_ids=[uid("small"), uid("large")]))
    assert passes(call("compare_quote_details", quote_ids=[uid("small"), uid("large")]), other, one)
    assert not passes(compared, one)


@pytest.mark.parametrize(
    ("expected", "made", "does"),
    [
        (call("summarize_opportunities"), call("opportunity_search"), True),
        (call("summarize_opportunities"), call("list_opportunities"), True),
        (call("summarize_opportunities", stage="Proposal"), call("opportunity_search", stage="Proposal"), True),
        (call("summarize_opportunities", stage="Proposal"), call("list_opportunities"), True),
        (call("summarize_opportunities"), call("opportunity_search", stage="Proposal"), False),
        (call("summarize_opportunities", stage="Proposal"), call("summarize_opportunities"), False),
        (call("summarize_opportunities"), call("list_clients"), False),
        (call("quote_prefixes"), call("quote_search"), True),
        (call("quote_prefixes"), call("quote_search", status="Draft"), False),
        (call("summarize_counts"), call("list_clients"), False),
    ],
    ids=str,
)
def test_overview_may_be_replaced_by_counting_and_adding_up_rows(
    expected: ToolCall,
    made: ToolCall,
    does: bool,  # noqa: FBT001
) -> None:
    assert does is passes(expected, made)


def test_how_many_there_are_can_be_counted() -> None:
    """If the case says what the user wants to know."""
    counts = call("summarize_counts")
    case = case_of(asks("How many deals?", counts, facts=[2]), seed=SEED)

    assert tool_calls(case, trial(case, WORLD, [call("list_opportunities")], "Two.")).passed
    assert not tool_calls(case, trial(case, WORLD, [call("list_clients")], "Two.")).passed


NORDWIND = call("client_search", name="Nordwind GmbH", status="Inactive")


@pytest.mark.parametrize(
    ("made", "value", "does"),
    [
        (NORDWIND, [], True),
        (call("client_search", name="nordwind gmbh"), [], True),
        (call("client_search", name="Nordwind"), [], True),
        (call("client_search", name="nord "), [HARBOR], True),
        (call("client_search", status="Inactive"), [], True),
        (call("client_search", name=""), [HARBOR], True),
        (call("client_search"), [HARBOR], True),
        (call("list_clients"), {uid("harbor"): HARBOR}, True),
        (call("list_clients"), {}, True),
        (call("client_search", name="Nordwind AG"), [], False),
        (call("client_search", name="Nordwind", owner="Dana"), [], False),
        (call("client_search", email="nordwind"), [], False),
        (call("client_search", status="Active"), [], False),
        (call("contact_search", client_id=uid("nordwind")), [], False),
        (call("list_contacts"), {}, False),
    ],
    ids=str,
)
def test_that_there_is_nothing_is_proved_by_a_wider_search(made: ToolCall, value: Json, does: bool) -> None:  # noqa: FBT001 (a table)
    """If it were there, it would be seen; in a narrower or another search it would not."""
    case = case_of(asks("Do we know them?", NORDWIND))
    answers = [(NORDWIND, found([])), (made, found(value))]

    assert does is tool_calls(case, trial(case, answers, [made], "No.")).passed


def test_what_was_cut_off_proves_nothing() -> None:
    """It may be among the rows that are not shown."""
    case = case_of(asks("Do we know them?", NORDWIND))
    answers = [(NORDWIND, found([])), (call("list_clients"), found({uid("harbor"): HARBOR}, note="the first 1 of 2"))]

    assert not tool_calls(case, trial(case, answers, [call("list_clients")], "No.")).passed


def test_an_overview_of_nothing() -> None:
    """An empty search proves it, an overview of more does not."""
    empty = call("summarize_opportunities", stage="Closed-Won")

    assert passes(empty, call("opportunity_search", stage="Closed-Won"))
    assert passes(empty, call("opportunity_search"))
    assert passes(call("opportunity_search", stage="Closed-Won"), empty)
    assert not passes(empty, call("summarize_opportunities"))
    assert not passes(empty, call("opportunity_search", stage="Proposal"))


def test_what_was_shown_before_need_not_be_read_again() -> None:
    """An agent may answer from memory, as long as it is so."""
    case = case_of(asks("Find it.", FIND_FLEET), asks("And again.", FIND_FLEET), seed=SEED)

    assert tool_calls(case, trial(case, WORLD, [FIND_FLEET, FIND_FLEET], "Here.", "As I said.")).passed


def test_what_is_no_longer_so_has_to_be_read_again() -> None:
    """What a later turn asks for is compared with the row as it is then."""
    other = {**FLEET, "stage": "Negotiation"}
    case = case_of(
        asks("Find it.", FIND_FLEET), asks("And the other?", call("opportunity_search", name="x")), seed=SEED
    )
    world = [*WORLD, (call("opportunity_search", name="x"), found([other]))]

    score = tool_calls(case, trial(case, world, [FIND_FLEET, FIND_FLEET], "Here.", "As I said."))

    reason = "turn 2: not made: opportunity_search(name='x') (asked: \"And the other?\")"
    assert Score(name="calls", value=0.5, reason=reason) == score


def test_new_rows_are_known_by_their_role() -> None:
    """Their ids differ in each world; what they refer to may be new as well."""
    contacts = call("contact_search", client_id=uid("harbor"))
    case = case_of(asks("Who is there?", contacts), seed=[uid("harbor")])
    other = {**MIRA, "contact_id": uid("mira in another world")}

    def shown(row: Json) -> bool:
        made = call("list_contacts")
        return tool_calls(case, trial(case, [(contacts, found([MIRA])), (made, found([row]))], [made], "Mira.")).passed

    assert shown(other)
    assert not shown({**other, "last_name": "Okafor"})
    assert not shown({**other, "client_id": uid("fleet")})


def test_clocks_do_not_matter() -> None:
    """They tell when, not what."""
    case, made = case_of(asks("Find it.", FIND_FLEET), seed=SEED), call("list_opportunities")
    answers = [(FIND_FLEET, found([FLEET])), (made, found([{**FLEET, "created_at": "2026-01-01T00:00:00+00:00"}]))]

    assert tool_calls(case, trial(case, answers, [made], "Here.")).passed


RAISE = call("modify_opportunity", opportunity_id=uid("fleet"), amount=70000)


RAISED = {**FLEET, "amount": 70000.0}


def test_a_change_must_be_there_at_the_end_of_its_turn() -> None:
    rename = call("modify_opportunity", opportunity_id=uid("fleet"), amount=70000, name="Fleet")
    parts = call("modify_opportunity", opportunity_id=uid("fleet"), updates={"amount": 70000.0})
    answers = [
        (RAISE, found(RAISED)),
        (rename, found({**RAISED, "name": "Fleet"})),
        (parts, found(RAISED)),
        (FIND_FLEET, found([FLEET])),
    ]
    case = case_of(asks("Raise it.", RAISE), seed=SEED)
    expected = f"modify_opportunity(opportunity_id='{uid('fleet')}', amount=70000)"
    missing = f'turn 1: not written: {expected} (asked: "Raise it.")'

    assert tool_calls(case, trial(case, answers, [RAISE], "Done.")).passed
    assert tool_calls(case, trial(case, answers, [rename, parts], "Done.")).passed
    assert missing == tool_calls(case, trial(case, answers, [rename], "Done.")).reason
    assert missing == tool_calls(case, trial(case, answers, [FIND_FLEET], "Done.")).reason
    assert missing == tool_calls(case, trial(case, answers, "Done.")).reason
    assert missing == tool_calls(case, trial(case, answers, [call("modify_opportunity")], "Done.")).reason


def test_what_is_there_already_need_not_be_written() -> None:
    """It has to be looked at."""
    case, answers = case_of(asks("Raise it.", RAISE), seed=SEED), [(RAISE, found(FLEET)), (FIND_FLEET, found([FLEET]))]

    assert tool_calls(case, trial(case, answers, [FIND_FLEET], "It is so already.")).passed
    assert not tool_calls(case, trial(case, answers, "It is so already.")).passed


REFUSED: Conversation = case_of(asks("Raise it.", RAISE, refusal="closed"))


@pytest.mark.parametrize(
    ("made", "does"),
    [
        (RAISE, True),
        (call("modify_opportunity", opportunity_id=uid("fleet"), updates={"amount": 70000.0}), True),
        (call("modify_opportunity", opportunity_id=uid("fleet").upper(), amount=70000, owner="Dana"), True),
        (call("view_opportunity_details", opportunity_id=uid("fleet")), True),
        (call("modify_opportunity", opportunity_id=uid("dock"), amount=70000), False),
        (call("modify_opportunity", opportunity_id=uid("fleet"), amount=71000), False),
        (call("modify_opportunity", opportunity_id=uid("fleet")), False),
        (call("delete_opportunity", opportunity_id=uid("fleet")), False),
        (call("quote_details", quote_id="unknown"), False),
    ],
    ids=str,
)
def test_what_is_refused_must_be_tried_or_looked_up(made: ToolCall, does: bool) -> None:  # noqa: FBT001 (a table)
    """As expected, perhaps with more; a refusal of something else proves nothing."""
    answers = [(call("view_opportunity_details", opportunity_id=uid("fleet")), found(FLEET))]

    assert does is tool_calls(REFUSED, trial(REFUSED, answers, [made], "No.")).passed


def test_who_declines_without_asking_has_guessed() -> None:
    reason = (
        f"turn 1: not attempted, record not read: modify_opportunity(opportunity_id='{uid('fleet')}', amount=70000), "
        'which the CRM refuses (asked: "Raise it.")'
    )

    assert Score(name="calls", value=0.0, reason=reason) == tool_calls(REFUSED, trial(REFUSED, [], "No."))


@pytest.mark.parametrize("arguments", [None, [], "amount=1", 7, {"amount": 10**400}, {"amount": {}}, {"a": [[[[]]]]}])
def test_malformed_calls_are_refused_calls(arguments: Json) -> None:
    """An agent may send anything."""
    broken = ToolCall(tool="modify_opportunity", arguments=arguments)  # type: ignore[arg-type] # the point of it

    assert 0.0 == tool_calls(REFUSED, trial(REFUSED, [], [broken], "No.")).value


def test_a_row_with_a_quote_in_it_is_compared_whole() -> None:
    """All of its columns, whatever they hold."""
    sought = call("client_search", name="O'Brien")
    case = case_of(asks("Find it.", sought), seed=[uid("ob")])
    shown = row("client", "ob", name='O\'Brien & "Sons"', notes=None)
    answers = [(sought, found([shown])), (call("list_clients"), found({uid("ob"): {**shown, "notes": "None"}}))]

    assert not tool_calls(case, trial(case, answers, [call("list_clients")], "Here.")).passed


def test_what_is_to_be_refused_must_be_looked_at() -> None:
    """Any read at all will not do: it must show that row, or rows of its kind."""
    elsewhere, near = call("quote_prefixes"), call("list_opportunities")
    answers = [
        (RAISE, refused("Cannot modify closed opportunity")),
        (elsewhere, found(["EU"])),
        (near, found({uid("fleet"): FLEET})),
    ]

    assert not tool_calls(REFUSED, trial(REFUSED, answers, [elsewhere], "That is not possible.")).passed
    assert tool_calls(REFUSED, trial(REFUSED, answers, [near], "That is not possible.")).passed


def test_a_turn_that_asks_is_no_time_to_write() -> None:
    case = case_of(asks("Find it.", FIND_FLEET), seed=SEED)
    answers = [(FIND_FLEET, found([FLEET])), (RAISE, found(RAISED))]

    reason = tool_calls(case, trial(case, answers, [FIND_FLEET, RAISE], "Here.")).reason

    assert reason.startswith("turn 1: written but not requested: modify_opportunity(")


MOVE = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Negotiation")
MOVED = found({**FLEET, "stage": "Negotiation"})
UNASKED = call("add_note", entity_type="Client", entity_id=uid("harbor"), content="Hm.")
WRITING: Answers = [*WORLD, (MOVE, MOVED), (UNASKED, found({"note_id": uid("note")}))]
SEVERAL = case_of(
    asks("Find the fleet deal, move it, and who is there?", FIND_FLEET, further=[MOVE, call("list_clients")])
)


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        ([FIND_FLEET, MOVE, call("list_clients")], ""),
        ([call("list_clients"), call("opportunity_search"), MOVE], ""),
        ([MOVE, call("list_clients")], "not made: opportunity_search(name='fleet tracking')"),
        (
            [FIND_FLEET, call("list_clients")],
            f"not written: modify_opportunity(opportunity_id='{uid('fleet')}', stage='Negotiation')",
        ),
        ([FIND_FLEET, MOVE], "not made: list_clients()"),
        ([], "not made: opportunity_search(name='fleet tracking')"),
    ],
    ids=str,
)
def test_of_several_requests_each_must_be_met(made: list[ToolCall], fault: str) -> None:
    """In any order; a turn that asks and writes is one in which something may be written."""
    score = tool_calls(SEVERAL, trial(SEVERAL, WRITING, made, "Here."))

    asked = '(asked: "Find the fleet deal, move it, and who is there?")'
    assert (f"turn 1: {fault} {asked}" if fault else "") == score.reason
    assert (not fault) is score.passed


def test_a_row_that_is_changed_twice_may_be_changed_at_once() -> None:
    """What the later request leaves behind counts for the earlier one, too; half of it does not."""
    raised = call("modify_opportunity", opportunity_id=uid("fleet"), amount=90000)
    both = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Negotiation", amount=90000)
    end = found({**FLEET, "stage": "Negotiation", "amount": 90000.0})
    case = case_of(asks("Move it, and raise it.", MOVE, further=[raised]), seed=SEED)
    reference = [(MOVE, MOVED), (raised, end), (both, end)]

    assert tool_calls(case, trial(case, reference, [both], "Done.")).passed
    assert not tool_calls(case, trial(case, reference, [MOVE], "Done.")).passed


def test_a_refusal_may_be_known_from_an_earlier_turn() -> None:
    closed = {**FLEET, "stage": "Closed-Won"}
    find, other = call("opportunity_search", name="fleet"), call("opportunity_search", name="dock")
    answers = [
        (find, found([closed])),
        (other, found([DOCK])),
        (MOVE, refused("Cannot modify closed", "refused_by_rule")),
    ]

    def passes_after(look: ToolCall) -> bool:
        case = case_of(asks("Show it.", look), asks("Move the fleet deal.", MOVE, refusal="closed"), seed=SEED)
        return tool_calls(case, trial(case, answers, [look], "Here.", "It is closed, so that can't be done.")).passed

    assert passes_after(find)
    assert not passes_after(other)


def test_a_turn_that_is_refused_is_no_time_to_write_something_else() -> None:
    much = call("modify_opportunity", opportunity_id=uid("fleet"), amount=30_000_000)
    most = call("modify_opportunity", opportunity_id=uid("fleet"), amount=10_000_000)
    answers = [(much, refused("must not exceed", "invalid_argument")), (most, found({**FLEET, "amount": 10_000_000.0}))]
    case = case_of(asks("Make it 30 million.", much, refusal="exceed"), seed=SEED)

    assert tool_calls(case, trial(case, answers, [much], "That is not possible.")).passed
    assert not tool_calls(case, trial(case, answers, [much], [most], "Not possible, so I took 10 million.")).passed


def test_what_only_the_row_can_tell_is_not_evident() -> None:
    """A call that has nothing but an id is refused because of the row: a copy would close in the past."""
    clone = call("clone_opportunity", opportunity_id=uid("fleet"))
    answers = [(clone, refused("Close date must be today or in the future", "invalid_argument"))]
    case = case_of(asks("Copy it.", clone, refusal="Close date"), seed=SEED)

    assert not tool_calls(case, trial(case, answers, "Sorry, that is not possible.")).passed
    assert tool_calls(case, trial(case, answers, [clone], "Sorry, that is not possible.")).passed


def test_an_address_that_is_taken_is_known_only_to_who_has_seen_whose_it_is() -> None:
    """The client that is to get it says nothing about that."""
    taken = call("modify_client", client_id=uid("harbor"), email="ada@ada.example")
    mine, other = call("client_search", name="Harbor"), call("client_search", name="Ada")
    owner = row("client", "ada", name="Ada", email="Ada@ada.example")
    answers = [(mine, found([HARBOR])), (other, found([owner])), (taken, refused("already exists", "conflict"))]

    def passes_after(look: ToolCall) -> bool:
        case = case_of(asks("Show it.", look), asks("Give them ada@ada.example.", taken, refusal="exists"), seed=SEED)
        return tool_calls(case, trial(case, answers, [look], "Here.", "That is not possible.")).passed

    assert passes_after(other)
    assert not passes_after(mine)


def test_search_for_a_missing_record_counts_as_a_lookup() -> None:
    """The CRM says so itself: that is a look, though a refused one. Looking for something else is none."""
    gone = call("delete_quote", quote_id=uid("gone"))
    look, other = (call("quote_details", quote_id=uid(name)) for name in ("gone", "else"))
    answers = [(one, refused("Quote not found")) for one in (gone, look, other)]
    case = case_of(asks("Delete it.", gone, refusal="not found"))

    assert tool_calls(case, trial(case, answers, [look], "There is no such quote.")).passed
    assert not tool_calls(case, trial(case, answers, [other], "There is no such quote.")).passed


@pytest.mark.parametrize("back", [False, True])
def test_where_there_is_nothing_to_call_nothing_may_be_written(*, back: bool) -> None:
    """To look around does no harm, and what was refused was not written."""
    case = case_of(asks("Book a flight.", NO_CALL, refusal=None if back else "", back=back))

    def reason(*made: ToolCall) -> str:
        return tool_calls(case, trial(case, WRITING, [*made], "No.")).reason

    assert "" == reason()
    assert "" == reason(FIND_FLEET, call("delete_quote", quote_id="?"))
    assert reason(FIND_FLEET, UNASKED).startswith("turn 1: written but not requested: add_note(")


@pytest.mark.parametrize(
    ("kind", "does"),
    [("invalid_argument", True), ("not_found", False), ("conflict", False), ("refused_by_rule", False)],
)
def test_what_the_tool_itself_rules_out_need_not_be_tried(kind: ErrorKind, *, does: bool) -> None:
    """A bad choice, too much, a day that is past; what only the data can tell is looked up or tried."""
    much = call("modify_opportunity", opportunity_id=uid("fleet"), probability=120)
    case = case_of(asks("Put it at 120.", much, refusal=""))
    answers = [*WORLD, (much, refused("No.", kind))]

    assert does is tool_calls(case, trial(case, answers, "That can't be.")).passed
    assert tool_calls(case, trial(case, answers, [much], "That can't be.")).passed
    assert tool_calls(case, trial(case, answers, [FIND_FLEET], "That can't be.")).passed


def test_a_refusal_does_not_excuse_from_the_rest() -> None:
    """What else was wanted must be done."""
    win = call("modify_opportunity", opportunity_id=uid("fleet"), amount=1)
    case = case_of(asks("Lower it, and note it.", win, refusal="", further=[UNASKED]))
    answers = [*WRITING, (win, refused("Closed.", "refused_by_rule"))]

    assert tool_calls(case, trial(case, answers, [win, UNASKED], "No.")).passed
    assert tool_calls(case, trial(case, answers, [win], "No.")).reason.startswith("turn 1: not written: add_note(")
    assert tool_calls(case, trial(case, answers, [UNASKED], "No.")).reason.startswith("turn 1: not attempted,")


def test_reason_quotes_the_sentence_that_the_call_is_expected_for() -> None:
    """Of several requests in one turn, the one whose values it says; a long one is cut."""
    note = call("add_note", entity_type="Client", entity_id=uid("harbor"), content="Call back.")
    case = case_of(asks('Move it to Negotiation. Then note "Call back." there.', MOVE, further=[note]), seed=SEED)
    answers = [(MOVE, MOVED), (note, found({"note_id": uid("note")}))]

    assert tool_calls(case, trial(case, answers, [note], "Done.")).reason.endswith('(asked: "Move it to Negotiation.")')
    long = case_of(asks(f"Find {'it ' * 100}.", FIND_FLEET), seed=SEED)
    assert len(tool_calls(long, trial(long, WORLD, "Here.")).reason) < 220


NAMED = [call("modify_opportunity", opportunity_id=uid("dock"), name=name) for name in ("Unasked", DOCK["name"])]
LOWER = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Prospecting")
STAY = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Proposal")
CREATE = call("create_quote", opportunity_id=uid("fleet"), amount=75000)
DELETE = call("delete_quote", quote_id=uid("small"))
FLIPS: Answers = [
    *WRITING,
    (LOWER, found({**FLEET, "stage": "Prospecting"})),
    (STAY, found(FLEET)),
    (NAMED[0], found({**DOCK, "name": "Unasked"})),
    (NAMED[1], found(DOCK)),
    (CREATE, found(SMALL_QUOTE)),
    (call("add_note", entity_id=uid("dock"), name="x"), found({"note_id": uid("note")})),
    (DELETE, found(True)),  # noqa: FBT003 (what the tool returns)
]


def flips(case: Conversation, *made: ToolCall) -> str:
    """Return what is wrong with calls, in a CRM that starts with two deals."""
    evidence = trial(case, FLIPS, [*made], "Done.")
    before = {"opportunities": [FLEET, DOCK]}
    return tool_calls(case, replace(evidence, reference=replace(evidence.reference, before=before))).reason


def test_a_write_that_is_undone_in_its_turn_must_be_requested() -> None:
    """The state at the end does not show it: a name and back, a row created and deleted."""
    case = case_of(asks("Move it.", MOVE), seed=SEED)
    fault = "turn 1: written but not requested, and undone in the same turn: "

    assert "" == flips(case, MOVE)
    assert flips(case, *NAMED, MOVE).startswith(f"{fault}modify_opportunity(opportunity_id='{uid('dock')}', name='Una")
    assert flips(case, MOVE, *NAMED).startswith(fault)
    assert flips(case, CREATE, DELETE, MOVE).startswith(f"{fault}create_quote(")
    noted = case_of(asks("Note it.", note := call("add_note", entity_id=uid("dock"), name="x")), seed=SEED)
    assert flips(noted, *NAMED, note).startswith(fault)


def test_a_requested_value_may_be_wrong_at_first() -> None:
    """It is put right in the same turn; so may be a row that was to be created, or a value that was there already."""
    moved, quoted = (case_of(asks("Please.", expected), seed=SEED) for expected in (MOVE, CREATE))
    stays = case_of(asks("Keep it in Proposal.", STAY), seed=SEED)

    assert "" == flips(moved, LOWER, MOVE)
    assert "" == flips(stays, LOWER, STAY)
    assert "" == flips(quoted, CREATE, DELETE, CREATE)


def test_a_look_at_what_is_gone_must_be_made() -> None:
    """The row was shown before it was deleted; that does not show that it is gone."""
    search, look = call("quote_search"), call("quote_details", quote_id=uid("gone"))
    answers = [(search, found([{**SMALL_QUOTE, "quote_id": uid("gone")}]))]
    case = case_of(asks("Which quotes?", search), asks("Open it again, gone?", look, refusal="Not found"), seed=SEED)

    def reason(*second: list[ToolCall] | str) -> str:
        return tool_calls(case, trial(case, answers, [search], "One.", *second, "It is gone.")).reason

    assert "" == reason([look])
    assert "" == reason([call("quote_search")])
    assert reason().startswith("turn 2: not attempted, record not read: quote_details(")
