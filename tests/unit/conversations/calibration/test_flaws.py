"""What is tried as a mistake, and what is left out because it is none."""

from collections.abc import Iterator

import pytest

from pytest_crmeval.conversations.calibration import CORRUPTED, EQUIVALENT
from pytest_crmeval.conversations.calibration.rehearsal import Rehearsal
from pytest_crmeval.conversations.crm.tools import TOOLS
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.domain.conversation import Turn
from pytest_crmeval.domain.expectation import NO_CALL
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ErrorKind, ToolCall, ToolResult
from pytest_crmeval.domain.state import TABLES, Row
from tests.fakes import call, conversation, turn
from tests.plays import Answers, ListedCrm, asks, found, refused, uid

ACME: Row = {"client_id": uid("acme"), "name": "Acme", "status": "Active", "phone": None}
BOLT: Row = {"client_id": uid("bolt"), "name": "Bolt", "status": "Prospect", "phone": None}
VANS: Row = {
    "opportunity_id": uid("vans"),
    "client_id": uid("acme"),
    "name": "Vans",
    "stage": "Proposal",
    "amount": 100.0,
}
QUOTE: Row = {"quote_id": uid("quote"), "opportunity_id": uid("vans"), "amount": 90.0, "status": "Draft"}
BY_ACME = call("create_contract", client_id=uid("acme"), status="Pending", value=100)
RENAME = call("modify_client", client_id=uid("acme"), name="Acme North")
NOTE = call("add_note", entity_type="Client", entity_id=uid("acme"), content="Call back.")
TOOL_LIST = [entry.tool for entry in TOOLS.values()]


def rehearsed(*steps: tuple[ToolCall, ToolResult], rows: tuple[Row, ...] = (ACME,)) -> Rehearsal:
    """Return a case of such steps that the oracle has played, with seeded rows that stay."""
    turns = [turn("Please.", asked, succeeds=not answer.refused) for asked, answer in steps]
    return rehearsal_of(*turns, answers=steps, rows=rows)


def rehearsal_of(*turns: Turn, answers: Answers, rows: tuple[Row, ...] = (ACME,)) -> Rehearsal:
    """Return a case of such turns that the oracle has played."""
    state = {table: [row for row in rows if next(iter(row)) == key] for table, key in TABLES.values()}
    seed = {entity: {str(row[key]): row for row in state[table]} for entity, (table, key) in TABLES.items()}
    case, crm = conversation(*turns, seed=seed), ListedCrm(answers, after=state)
    evidence = observe(case, Oracle(case), crm, play_reference(case, Oracle(case), crm))
    return Rehearsal(case, evidence, TOOL_LIST)


def whats(kind: str, rehearsal: Rehearsal) -> list[str]:
    """Return what the variants of a kind do."""
    return [variant.what for variant in {**CORRUPTED, **EQUIVALENT}[kind](rehearsal)]


def test_every_text_is_changed() -> None:
    """Free texts in two ways; enumerations and ids are other kinds."""
    expected = [f"modify_client with name={wrong!r}, not 'Acme North'" for wrong in ("xAcme North", "Acme North II")]

    assert expected == whats("text changed", rehearsed((RENAME, found({**ACME, "name": "Acme North"}))))


def test_every_other_choice_is_tried() -> None:
    """All that the schema allows."""
    promote = call("modify_client", client_id=uid("bolt"), status="Active")
    expected = [f"modify_client with status={wrong!r}, not 'Active'" for wrong in ("Prospect", "Inactive")]

    assert expected == whats("choice changed", rehearsed((promote, found({**BOLT, "status": "Active"})), rows=(BOLT,)))


@pytest.mark.parametrize(
    ("argument", "value", "wrong"),
    [("probability", 40, [39, 42]), ("amount", 500, [501, 499.99, 50.0]), ("amount", 0.01, [1.01, 0.001])],
)
def test_numbers_are_changed_to_what_the_crm_would_take(argument: str, value: float, wrong: list[float]) -> None:
    """By one, by a cent, by a digit; nothing below zero."""
    change = call("modify_opportunity", opportunity_id=uid("vans"), **{argument: value})
    expected = [f"modify_opportunity with {argument}={number!r}, not {value!r}" for number in wrong]

    assert expected == whats("number changed", rehearsed((change, found({**VANS, argument: value}))))


def test_a_date_is_changed_by_a_day_and_by_a_year() -> None:
    """Both are in the future, where the CRM takes them."""
    change = call("modify_opportunity", opportunity_id=uid("vans"), close_date="2027-02-28")

    told = whats("date changed", rehearsed((change, found({**VANS, "close_date": "2027-02-28"}))))

    assert ["close_date='2027-03-01'", "close_date='2028-02-28'"] == [what.split()[2].strip(",") for what in told]


def test_the_wrong_record_is_another_of_the_same_entity() -> None:
    """Where there is one."""
    step = (RENAME, found({**ACME, "name": "Acme North"}))

    assert [] == whats("wrong record", rehearsed(step, rows=(ACME, VANS)))
    assert [f"modify_client with client_id={uid('bolt')!r}, not {uid('acme')!r}"] == whats(
        "wrong record", rehearsed(step, rows=(ACME, BOLT))
    )


def test_a_row_made_in_an_earlier_turn_can_be_the_wrong_record() -> None:
    """By reference: its id is not known beforehand."""
    make = call("create_new_client", name="Cane", email="c@cane.example", status="Active")
    made: Row = {**ACME, "client_id": uid("cane"), "name": "Cane"}

    told = whats("wrong record", rehearsed((make, found(made)), (RENAME, found({**ACME, "name": "Acme North"}))))

    assert ["modify_client with client_id='{{turn_1.client_id}}', not " + repr(uid("acme"))] == told


@pytest.mark.parametrize("kind", ["wrong record", "looked only"])
def test_a_change_that_changes_nothing_can_be_left_undone(kind: str) -> None:
    idle = (call("modify_client", client_id=uid("acme"), name="Acme"), found(ACME))
    busy = (RENAME, found({**ACME, "name": "Acme North"}))

    assert [] == whats(kind, rehearsed(idle, rows=(ACME, BOLT)))
    assert [] != whats(kind, rehearsed(busy, rows=(ACME, BOLT)))


def test_a_change_back_is_a_change() -> None:
    """What a row is before a turn follows from the turns before it."""
    there = (call("modify_client", client_id=uid("acme"), name="Apex"), found({**ACME, "name": "Apex"}))
    back = (call("modify_client", client_id=uid("acme"), name="Acme"), found(ACME))

    assert 2 == len(whats("looked only", rehearsed(there, back)))


def test_a_client_that_was_there_can_not_be_ensured_wrongly() -> None:
    """Its e-mail address is all that is looked at."""
    ensure = call("ensure_client", name="Acme", email="a@acme.example", status="Active")

    assert [] == whats("text changed", rehearsed((ensure, found(ACME))))
    assert [] != whats("text changed", rehearsed((ensure, found({**ACME, "client_id": uid("new")}))))


def test_an_argument_is_dropped_unless_nothing_is_lost() -> None:
    """Not one that is required, not one that is the default, not the only change."""
    contract: Row = {"contract_id": uid("new"), "client_id": uid("acme"), "value": 100.0, "status": "Pending"}

    assert ["create_contract without value"] == whats("argument dropped", rehearsed((BY_ACME, found(contract))))
    assert [] == whats("argument dropped", rehearsed((RENAME, found({**ACME, "name": "Acme North"}))))


def test_dropped_argument_is_one_that_changes_the_row() -> None:
    """The other one was so before."""
    change = call("modify_client", client_id=uid("acme"), name="Acme North", status="Active")

    assert ["modify_client without name"] == whats(
        "argument dropped", rehearsed((change, found({**ACME, "name": "Acme North"})))
    )


def test_optional_argument_that_was_not_given_is_added() -> None:
    """No ids, no choices, and no clocks, which are not compared."""
    note: Row = {"note_id": uid("new"), "content": "Call back."}

    assert ["add_note with created_by='Hijacked', not None"] == whats("argument added", rehearsed((NOTE, found(note))))


def test_a_note_goes_to_a_row_of_another_kind() -> None:
    """To each one that a note can be on."""
    note: Row = {"note_id": uid("new"), "content": "Call back."}

    assert ["add_note on a Opportunity", "add_note on a Quote"] == whats(
        "wrong entity", rehearsed((NOTE, found(note)), rows=(ACME, VANS, QUOTE))
    )


@pytest.mark.parametrize(
    ("asked", "answer", "expected"),
    [
        pytest.param(NOTE, {"note_id": uid("new"), "content": "Call back."}, 2, id="a second note"),
        pytest.param(RENAME, {**ACME, "name": "Acme North"}, 0, id="the same change"),
        pytest.param(
            call("create_new_client", name="Cane", email="c@cane.example", status="Active"),
            {**ACME, "client_id": uid("new"), "name": "Cane"},
            0,
            id="refused: the address is taken",
        ),
        pytest.param(call("delete_quote", quote_id=uid("gone")), True, 0, id="refused: it is gone"),
    ],
)
def test_only_calls_that_change_the_state_again_are_doubled(asked: ToolCall, answer: Json, expected: int) -> None:
    """One after the other, and at once."""
    assert expected == len(whats("call doubled", rehearsed((asked, found(answer)))))


def test_rows_that_are_to_stay_are_deleted() -> None:
    """In each turn."""
    assert ["delete_opportunity unasked", "delete_quote unasked"] == whats(
        "extra delete", rehearsed((RENAME, found({**ACME, "name": "Acme North"})), rows=(ACME, VANS, QUOTE))
    )


def test_rows_that_no_turn_changes_are_changed_and_restored() -> None:
    """Only where the turn writes something: elsewhere any write is a mistake."""
    rows = (ACME, BOLT, VANS, QUOTE)
    look = call("client_search", name="Acme")

    assert ["modify_opportunity unasked, and undone"] == whats(
        "write undone", rehearsed((NOTE, found({"note_id": uid("note")})), rows=rows)
    )[2:]
    assert [] == whats("write undone", rehearsed((look, found([ACME])), rows=rows))


def test_nothing_is_written_unasked_that_a_turn_writes_anyway() -> None:
    """It would leave no trace."""
    dial = call("modify_client", client_id=uid("acme"), phone="555")

    assert "modify_client unasked" not in whats("extra write", rehearsed((dial, found({**ACME, "phone": "555"}))))
    assert "modify_client unasked" in whats("extra write", rehearsed((RENAME, found({**ACME, "name": "Acme North"}))))


def steps_on_vans(*changes: ToolCall) -> Iterator[tuple[ToolCall, ToolResult]]:
    """Yield calls with their answers: those that come after the deal is closed are refused."""
    closed = False
    for change in changes:
        yield change, refused("Cannot modify closed opportunity.") if closed else found({**VANS, **change.arguments})
        closed = closed or change.arguments.get("stage") == "Closed-Won"


def on_vans(tool: str = "modify_opportunity", **changes: Json) -> ToolCall:
    """Return a call about the deal."""
    return call(tool, opportunity_id=uid("vans"), **changes)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(on_vans(amount=1), on_vans(amount=2), 1, id="the last one stays"),
        pytest.param(on_vans(amount=1), on_vans(notes="Two."), 0, id="both stay"),
        pytest.param(on_vans(amount=1), on_vans("clone_opportunity"), 1, id="a copy is of its time"),
        pytest.param(on_vans(stage="Closed-Won"), on_vans(amount=2), 1, id="too late"),
    ],
)
def test_two_writes_are_swapped_where_the_order_matters(one: ToolCall, other: ToolCall, expected: int) -> None:
    """Otherwise it would end the same."""
    assert expected == len(whats("writes swapped", rehearsed(*steps_on_vans(one, other))))


def test_filters_are_dropped_where_there_is_more_to_be_found() -> None:
    """Otherwise the answer is the same."""
    search = (call("client_search", criteria={"name": "Acme"}), found([ACME]))

    assert [] == whats("filters dropped", rehearsed(search))
    assert ["client_search without name"] == whats("filters dropped", rehearsed(search, rows=(ACME, BOLT)))


def test_a_refusal_is_guessed_only_where_there_is_one() -> None:
    """And nothing is changed in a call that is refused anyway."""
    rehearsal = rehearsed((RENAME, refused("Client already exists.")))

    assert ["modify_client not attempted, record not read"] == whats("refusal guessed", rehearsal)
    assert [] == whats("text changed", rehearsal)
    assert [] == whats("write dropped", rehearsal)


def test_a_false_name_is_that_of_another_row() -> None:
    """An invented one if there is none."""
    search = (call("client_search", name="Acme"), found([ACME]))

    assert ["said 'Found: Bolt.'"] == whats("false name", rehearsed(search, rows=(ACME, BOLT)))
    assert ["said 'Found: Umbrella Holdings.'"] == whats("false name", rehearsed(search))


def test_a_false_record_is_one_that_was_shown_before() -> None:
    search, rename = (call("client_search"), found([ACME, BOLT])), (RENAME, found({**ACME, "name": "Acme North"}))

    assert ["said 'Done for Bolt.'"] == whats("false record", rehearsed(search, rename, rows=(ACME, BOLT)))
    assert [] == whats("false record", rehearsed(rename, rows=(ACME, BOLT)))


FIND = call("client_search", name="Acme")
SEVERAL = rehearsal_of(
    asks("Find Acme, rename it, and note it.", FIND, further=[RENAME, NOTE]),
    answers=[
        (FIND, found([ACME])),
        (RENAME, found({**ACME, "name": "Acme North"})),
        (NOTE, found({"note_id": uid("n")})),
    ],
)
OUTSIDE = rehearsal_of(asks("Book a flight.", NO_CALL, refusal=""), answers=[])
WHICH = rehearsal_of(
    asks("Rename the client.", FIND, back=True), answers=[(FIND, found([ACME, BOLT]))], rows=(ACME, BOLT)
)


def calls_in(kind: str, rehearsal: Rehearsal) -> list[list[ToolCall]]:
    """Return the calls that the variants of a kind make in the first turn."""
    return [
        [call for step in variant.steps[1] for call in step] for variant in {**CORRUPTED, **EQUIVALENT}[kind](rehearsal)
    ]


def test_each_of_several_requests_is_forgotten_once() -> None:
    """The others are met, and all is said to be done."""
    assert [[RENAME, NOTE], [FIND, NOTE], [FIND, RENAME]] == calls_in("request forgotten", SEVERAL)
    assert {"I found: Acme. Done."} == {variant.text for variant in CORRUPTED["request forgotten"](SEVERAL)}


def test_a_request_that_the_others_answer_is_not_forgotten() -> None:
    """Who lists all clients has seen the one that is looked for."""
    listing = call("list_clients")
    answers = [(FIND, found([ACME])), (listing, found({uid("acme"): ACME}))]
    rehearsal = rehearsal_of(asks("Find Acme, and list all.", FIND, further=[listing]), answers=answers)

    assert [] == calls_in("request forgotten", rehearsal)
    assert [] == calls_in("read dropped", rehearsal)


def test_further_requests_are_botched() -> None:
    """One argument after the other; all else stays."""
    wrong = call("modify_client", client_id=uid("acme"), name="xAcme North")

    found_out = calls_in("request botched", SEVERAL)

    assert [FIND, wrong, NOTE] in found_out
    assert all(made[0] == FIND and len(made) == 3 and made != [FIND, RENAME, NOTE] for made in found_out)


def test_further_calls_are_dropped_and_doubled_as_well() -> None:
    """Left out, doubled, changed."""
    assert [[FIND, NOTE], [FIND, RENAME]] == calls_in("write dropped", SEVERAL)
    assert [[FIND, RENAME, NOTE, NOTE]] * 2 == calls_in("call doubled", SEVERAL)


def test_unrequested_write_is_made_instead_of_a_question_or_refusal() -> None:
    """Instead of a call, or after the look that was to come before the question."""
    assert ["create_new_client"] == [made[0].tool for made in calls_in("acted anyway", OUTSIDE)][:1]
    assert [["client_search", "create_new_client"]] == [
        [call.tool for call in made] for made in calls_in("acted anyway", WHICH)
    ][:1]
    assert [] == calls_in("acted anyway", SEVERAL)


def test_no_variant_calls_what_has_no_name() -> None:
    """Where there is nothing to call there is nothing to get wrong; and nothing breaks."""
    for rehearsal in [OUTSIDE, WHICH, SEVERAL]:
        for kind in [*CORRUPTED, *EQUIVALENT]:
            variants = list({**CORRUPTED, **EQUIVALENT}[kind](rehearsal))

            assert all(
                call.tool for variant in variants for steps in variant.steps.values() for step in steps for call in step
            ), (kind, rehearsal)


def test_claims_and_silence_where_a_no_or_a_question_is_due() -> None:
    """Both are lies of their own."""
    assert "Done." in [variant.text for variant in CORRUPTED["claimed impossible"](OUTSIDE)]
    assert "Acme, Bolt is what I found. Anything else?" in [
        variant.text for variant in CORRUPTED["asked nothing"](WHICH)
    ]
    assert [] == list(CORRUPTED["claimed impossible"](WHICH))
    assert [] == list(CORRUPTED["asked nothing"](OUTSIDE))


def test_facts_of_one_of_two_answers_are_left_out() -> None:
    """The facts of the other are."""
    quotes = call("quote_search", opportunity_id=uid("vans"))
    answers = [(FIND, found([ACME])), (quotes, found([QUOTE]))]
    rehearsal = rehearsal_of(asks("Find Acme, and its quotes.", FIND, further=[quotes]), answers=answers)

    assert ["Done: 90.0.", "Done: Acme."] == [variant.text for variant in CORRUPTED["half reported"](rehearsal)]


def test_reply_claims_a_value_that_was_refused() -> None:
    """Numbers and choices; not where it was done."""
    raised = call("modify_opportunity", opportunity_id=uid("vans"), amount=70000)

    assert [
        "The amount is 70,000 now and nothing else was changed.",
        "The amount is 70,000 now, no problem.",
    ] == [variant.text for variant in CORRUPTED["claimed value"](rehearsed((raised, refused("No."))))]
    assert [] == list(CORRUPTED["claimed value"](rehearsed((raised, found(VANS)))))


def test_reply_denies_one_of_two_changes() -> None:
    """Or both, where one of them was refused."""
    note = call("add_note", entity_type="Client", entity_id=uid("acme"), content="Hello.")
    noted = (note, found({"note_id": uid("note")}))
    both = rehearsal_of(asks("Rename, and note it.", RENAME, further=[note]), answers=[(RENAME, found(ACME)), noted])
    turn = asks("Rename, and note it.", RENAME, refusal="", further=[note])
    one = rehearsal_of(turn, answers=[(RENAME, refused("No.")), noted])

    assert "Done with the one. The other failed." in [variant.text for variant in CORRUPTED["half denied"](both)]
    assert [
        "I couldn't do either of these.",
        "All of it is done. Nothing else was changed.",
    ] == [variant.text for variant in CORRUPTED["half denied"](one)]
    assert [] == list(CORRUPTED["half denied"](rehearsed((RENAME, found(ACME)))))


@pytest.mark.parametrize(("kind", "guessed"), [("not_found", 1), ("invalid_argument", 0)])
def test_only_what_the_data_can_tell_is_guessed(kind: ErrorKind, guessed: int) -> None:
    """What the tool itself rules out may be declined at once; that is as good."""
    rehearsal = rehearsed((RENAME, refused("No.", kind)))

    assert guessed == len(calls_in("refusal guessed", rehearsal))
    assert 1 - guessed == len(calls_in("declined at once", rehearsal))
