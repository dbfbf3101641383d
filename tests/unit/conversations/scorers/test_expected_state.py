"""Where the case itself says what an entity has at the end: that counts, and not what the reference calls leave."""

import pytest

from pytest_crmeval.conversations.scorers.crm_state import crm_state
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.state import Row, State
from pytest_crmeval.domain.transcript import Exchange, Fields, Transcript
from pytest_crmeval.ports.scorer import Evidence, Reference
from tests.fakes import conversation, new, seed_of

ACME: Row = {"client_id": "c-acme", "name": "Acme", "owner": None}
BOLT: Row = {"client_id": "c-bolt", "name": "Bolt", "owner": "Dana"}
ADA = new("client_id", name="Ada", owner=None, status="Active")


def told(
    held: State,
    after: State,
    *,
    before: State | None = None,
    reference: State | None = None,
    outputs: tuple[Fields, ...] = (),
) -> str:
    """Return what is wrong when the case itself says what the CRM holds at the end; empty if nothing is."""
    transcript = Transcript(exchanges=[Exchange(messages=[], output=output) for output in outputs])
    evidence = Evidence(transcript=transcript, after=after, reference=Reference(after=reference or {}))
    found = crm_state(conversation("Do it.", seed=seed_of(before or {}), expected_state=held), evidence)
    assert found.passed is not bool(found.reason)
    return found.reason


def test_the_rows_must_be_there() -> None:
    """Seeded or new, whatever their ids."""
    held: State = {"Client": [{"name": "Ada", "status": "Active"}, {"name": "Acme"}]}

    assert "" == told(held, {"clients": [ACME, ADA]}, before={"clients": [ACME]})


def test_the_reference_does_not_count() -> None:
    """The case knows better, also when the calls of its answer key do something else."""
    assert "" == told({"Client": [{"name": "Ada"}]}, {"clients": [ADA]}, reference={"clients": [BOLT]})


def test_missing_row_is_reported_with_the_columns_of_the_case() -> None:
    """In the columns that it names."""
    assert "clients: missing: name='Bob', status='Active'" == told(
        {"Client": [{"name": "Ada"}, {"name": "Bob", "status": "Active", "owner": None}]}, {"clients": [ADA]}
    )


def test_surplus_row_is_reported_with_all_columns() -> None:
    """The rows are those that there are, exactly."""
    assert "clients: unexpected: client_id='c-bolt', name='Bolt', owner='Dana'" == told(
        {"Client": [{"name": "Ada"}]}, {"clients": [ADA, BOLT]}
    )


def test_a_row_that_is_there_twice_is_one_too_many() -> None:
    """One row of the case stands for one row of the CRM."""
    twice = [new("note_id", content="Call back."), new("note_id", content="Call back.")]

    assert told({"Note": [{"content": "Call back."}]}, {"notes": twice}).startswith("notes: unexpected: ")
    assert "" == told({"Note": [{"content": "Call back."}, {"content": "Call back."}]}, {"notes": twice})
    assert "notes: missing: content='Call back.'" == told(
        {"Note": [{"content": "Call back."}, {"content": "Call back."}]}, {"notes": twice[:1]}
    )


def test_an_entity_that_ends_empty_must_be_empty() -> None:
    """To have no rows is something to say, too."""
    assert "" == told({"Client": []}, {"clients": []}, before={"clients": [ACME]}, reference={"clients": [ACME]})
    assert told({"Client": []}, {"clients": [ACME]}).startswith("clients: unexpected: ")


def test_a_row_of_no_columns_is_any_row() -> None:
    """It can be counted."""
    assert "" == told({"Client": [{}, {}]}, {"clients": [ADA, BOLT]})
    assert "clients: missing: " == told({"Client": [{}, {}]}, {"clients": [ADA]})


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (100, 100.0, True),
        (100.5, 100.5, True),
        ("Acme", "Acme", True),
        (None, None, True),
        (100, 100.01, False),
        ("Acme", "acme", False),
        (None, "", False),
        ("", None, False),
        (["Ada"], ["Ada"], True),
        (["Ada"], ["Ada", "Bob"], False),
    ],
)
def test_a_column_has_the_value_that_the_case_gives(expected: Json, actual: Json, *, same: bool) -> None:
    """A number is a number, however it is written; letters count, and null is not empty."""
    reason = told({"Quote": [{"amount": expected}]}, {"quotes": [{"quote_id": "q", "amount": actual}]})

    assert same is not bool(reason)


def test_a_column_that_is_null_must_be_null() -> None:
    """A case can say that something is not there."""
    assert "" == told({"Client": [{"owner": None}]}, {"clients": [ACME]})
    assert "" != told({"Client": [{"owner": None}]}, {"clients": [BOLT]})


def test_clocks_count_where_the_case_names_them() -> None:
    """It knows what its clock shows."""
    quote = {"quote_id": "q", "created_date": "2026-03-02"}

    assert "" == told({"Quote": [{"created_date": "2026-03-02"}]}, {"quotes": [quote]})
    assert "" != told({"Quote": [{"created_date": "2026-03-03"}]}, {"quotes": [quote]})


def test_a_row_with_more_columns_chooses_first() -> None:
    """Otherwise a row that says little would take away what another one needs."""
    held: State = {"Client": [{"name": "Ada"}, {"name": "Ada", "owner": "Dana"}]}
    rows = [new("client_id", name="Ada", owner="Dana"), new("client_id", name="Ada", owner=None)]

    assert "" == told(held, {"clients": rows}) == told(held, {"clients": rows[::-1]})


def test_every_row_finds_a_row_of_its_own_if_there_is_one_for_each() -> None:
    """In whichever order the CRM returns them."""
    held: State = {"Client": [{"name": "Ada"}, {"owner": "Dana"}]}
    rows = [new("client_id", name="Ada", owner="Dana"), new("client_id", name="Ada", owner=None)]

    assert "" == told(held, {"clients": rows}) == told(held, {"clients": rows[::-1]})


def test_references_are_those_of_the_trial() -> None:
    """The case can't know the ids of new rows, and need not."""
    held: State = {"Opportunity": [{"client_id": "{{turn_1.client_id}}", "name": "{{turn_1.name}}: vans"}]}
    outputs = ({"client_id": "c-new", "name": "Ada"},)

    def deal(client_id: str) -> State:
        return {"opportunities": [new("opportunity_id", client_id=client_id, name="Ada: vans")]}

    assert "" == told(held, deal("c-new"), outputs=outputs)
    assert (
        "opportunities: missing: client_id='c-new', name='Ada: vans'"
        == (told(held, deal("c-other"), outputs=outputs).splitlines()[0])
    )


def test_a_reference_to_a_number_is_a_number() -> None:
    """Alone it keeps its type; within a text it is one."""
    quote: State = {"quotes": [{"quote_id": "q", "amount": 57000.0, "version": "v2"}]}
    outputs = ({"amount": 57000, "version": 2},)

    assert "" == told({"Quote": [{"amount": "{{turn_1.amount}}"}]}, quote, outputs=outputs)
    assert "" == told({"Quote": [{"version": "v{{turn_1.version}}"}]}, quote, outputs=outputs)
    assert "" != told({"Quote": [{"amount": "{{turn_1.version}}"}]}, quote, outputs=outputs)


@pytest.mark.parametrize("amount", ["57000.0", "57000", "57000.00"])
def test_a_number_may_be_written_as_text(amount: str) -> None:
    """The CRM has numbers; how many noughts there are behind the point does not matter."""
    assert "" == told({"Quote": [{"amount": amount}]}, {"quotes": [{"quote_id": "q", "amount": 57000.0}]})
    assert "" != told({"Quote": [{"amount": amount}]}, {"quotes": [{"quote_id": "q", "amount": 57001.0}]})


def test_a_reference_that_nothing_answers_is_found_nowhere() -> None:
    held: State = {"Note": [{"entity_id": "{{turn_1.client_id}}"}]}

    assert "notes: missing: entity_id='{{turn_1.client_id}}'" == told(held, {"notes": []})


def test_what_the_case_leaves_out_is_as_the_reference_has_it() -> None:
    """Each entity by its own rule, in the same score."""
    held: State = {"Client": [{"name": "Ada"}]}
    after: State = {"clients": [ADA], "notes": [new("note_id", content="Hm.")]}

    assert "" == told(held, after, reference={"notes": [new("note_id", content="Hm.")]})
    assert "notes: unexpected: content='Hm.'" == told(held, after)


def test_all_differences_are_reported() -> None:
    """First those to the reference, then those to the case; missing before unexpected."""
    held: State = {"Client": [{"name": "Bob"}]}
    after: State = {"clients": [{"client_id": "c", "name": "Ada"}], "notes": [new("note_id", content="Hm.")]}

    assert (
        "notes: unexpected: content='Hm.'\nclients: missing: name='Bob'\nclients: unexpected: client_id='c', name='Ada'"
    ) == told(held, after)


def test_new_row_may_refer_to_a_row_of_expected_state() -> None:
    """It is known by its role, as ever."""

    def deal_of(client: Row) -> State:
        return {
            "clients": [client],
            "opportunities": [new("opportunity_id", client_id=client["client_id"], name="Vans")],
        }

    held: State = {"Client": [{"name": "Ada"}]}
    ada, also_ada = new("client_id", name="Ada"), new("client_id", name="Ada")

    assert "" == told(held, deal_of(ada), reference=deal_of(also_ada))
