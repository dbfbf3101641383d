"""Whether the CRM ended as the reference calls leave it."""

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.conversations.scorers.crm_state import KEYS, crm_state
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.state import Row, State
from pytest_crmeval.domain.transcript import Transcript
from pytest_crmeval.ports.scorer import Evidence, Reference
from tests.fakes import conversation, new, seed_of

ACME: Row = {"client_id": "c-acme", "name": "Acme", "owner": None}
BOLT: Row = {"client_id": "c-bolt", "name": "Bolt", "owner": "Dana"}
DEAL: Row = {"opportunity_id": "o-deal", "client_id": "c-acme", "name": "Vans", "amount": 100.0}


def score(before: State, *, reference: State, after: State) -> Score:
    """Score what an agent left behind."""
    evidence = Evidence(transcript=Transcript(), after=after, reference=Reference(before=before, after=reference))
    return crm_state(conversation("Do it.", seed=seed_of(before)), evidence)


def test_the_same_rows_score_1() -> None:
    """With nothing to say about it."""
    state = {"clients": [ACME], "opportunities": [DEAL]}

    assert Score(name="state", value=1.0) == score(state, reference=state, after=state)


def test_an_agent_that_did_nothing_scores_0_when_something_was_to_be_done() -> None:
    """The reason names the row."""
    made = new("client_id", name="Ada Ltd", owner=None)

    found = score({}, reference={"clients": [made]}, after={})

    assert Score(name="state", value=0.0, reason="clients: missing: name='Ada Ltd'") == found


def test_generated_ids_do_not_matter() -> None:
    """Every trial has its own."""
    expected, actual = new("client_id", name="Ada Ltd"), new("client_id", name="Ada Ltd")

    assert score({}, reference={"clients": [expected]}, after={"clients": [actual]}).passed


def test_the_order_of_rows_does_not_matter() -> None:
    """A table has none."""
    before = {"clients": [ACME, BOLT]}
    ada, bob = new("client_id", name="Ada"), new("client_id", name="Bob")

    assert score(
        before, reference={"clients": [ACME, BOLT, ada, bob]}, after={"clients": [bob, BOLT, ada, ACME]}
    ).passed


@pytest.mark.parametrize("clock", ["created_date", "created_at", "uploaded_at"])
def test_when_a_row_was_written_does_not_matter(clock: str) -> None:
    """In seeded rows, and in new ones."""
    expected = {"clients": [{**ACME, clock: "2026-01-01"}, new("client_id", name="Ada", **{clock: "2026-01-01"})]}
    actual = {"clients": [{**ACME, clock: "2027-07-07"}, new("client_id", name="Ada", **{clock: "2027-07-07"})]}

    assert score({"clients": [ACME]}, reference=expected, after=actual).passed


def test_a_column_that_was_never_set_is_null() -> None:
    """Leaving it out and saying nothing are the same."""
    expected, actual = new("client_id", name="Ada", owner=None), new("client_id", name="Ada")

    assert score({}, reference={"clients": [expected]}, after={"clients": [actual]}).passed


@pytest.mark.parametrize("table", KEYS)
def test_a_row_too_many_is_seen_in_every_table(table: str) -> None:
    """Also in tables that this case is not about."""
    row = new(KEYS[table], content="unasked")

    assert f"{table}: unexpected: content='unasked'" == score({}, reference={}, after={table: [row]}).reason


def test_a_row_written_twice_is_one_too_many() -> None:
    """The agent did not trust the first answer."""
    row = {"content": "Call back.", "entity_id": "c-acme"}
    once = {"notes": [new("note_id", **row)]}
    twice = {"notes": [new("note_id", **row), new("note_id", **row)]}

    assert (
        "notes: unexpected: content='Call back.', entity_id='c-acme'"
        == score({"clients": [ACME]}, reference={**once, "clients": [ACME]}, after={**twice, "clients": [ACME]}).reason
    )


def test_several_rows_that_say_the_same_are_counted() -> None:
    """One line for all of them."""
    notes = {"notes": [new("note_id", content="Call back.") for _ in range(3)]}

    assert "notes: 3 missing: content='Call back.'" == score({}, reference=notes, after={}).reason
    assert "notes: 3 unexpected: content='Call back.'" == score({}, reference={}, after=notes).reason


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ({"client_id": "c-1", "name": "Acme", "amount": 7}, "clients Acme (c-1)"),
        ({"contact_id": "p-1", "first_name": "Mira", "last_name": "Okafor"}, "contacts Okafor (p-1)"),
        ({"document_id": "d-1", "file_name": "offer.pdf"}, "documents offer.pdf (d-1)"),
        ({"quote_id": "q-1", "amount": 57000}, "quotes 57000 (q-1)"),
        ({"contract_id": "k-1", "value": None}, "contracts k-1"),
    ],
)
def test_a_row_is_called_by_its_name(row: Row, where: str) -> None:
    table = next(table for table, key in KEYS.items() if key in row)

    assert f"{where}: was deleted" == score({table: [row]}, reference={table: [row]}, after={}).reason


def test_a_changed_row_is_shown_column_by_column() -> None:
    """Expected and actual, in the order of the alphabet."""
    expected = {"clients": [{**ACME, "name": "Acme North", "owner": "Dana"}]}

    assert (
        "clients Acme North (c-acme): name expected 'Acme North', actual 'Acme'\n"
        "clients Acme North (c-acme): owner expected 'Dana', actual None"
        == score({"clients": [ACME]}, reference=expected, after={"clients": [ACME]}).reason
    )


def test_the_wrong_one_of_two_seeded_rows_is_two_differences() -> None:
    """Right value, wrong client."""
    before = {"clients": [ACME, BOLT]}
    expected = {"clients": [{**ACME, "owner": "Lena"}, BOLT]}
    actual = {"clients": [ACME, {**BOLT, "owner": "Lena"}]}

    assert (
        "clients Acme (c-acme): owner expected 'Lena', actual None\n"
        "clients Bolt (c-bolt): owner expected 'Dana', actual 'Lena'"
        == score(before, reference=expected, after=actual).reason
    )


def test_a_deleted_row_is_missed() -> None:
    found = score({"clients": [ACME]}, reference={"clients": [ACME]}, after={})

    assert "clients Acme (c-acme): was deleted" == found.reason


def test_a_row_that_should_be_gone_is_seen() -> None:
    """The reference deleted it."""
    found = score({"clients": [ACME]}, reference={}, after={"clients": [ACME]})

    assert "clients Acme (c-acme): should have been deleted" == found.reason


def test_deleting_a_row_and_writing_it_anew_is_not_the_same() -> None:
    """Its id is gone, and everything that knew it."""
    anew = new("client_id", name="Acme")

    assert not score({"clients": [ACME]}, reference={"clients": [ACME]}, after={"clients": [anew]}).passed


@pytest.mark.parametrize(("expected", "actual"), [(1, "1"), (1, True), (100.0, 100.01), ("Acme", "acme"), ("", None)])
def test_almost_the_same_is_not_the_same(expected: Json, actual: Json) -> None:
    """In new rows; types and letters count."""
    reference, after = new("quote_id", amount=expected), new("quote_id", amount=actual)

    assert not score({}, reference={"quotes": [reference]}, after={"quotes": [after]}).passed


def family(deal_of: str, *, note_on: str = "deal") -> State:
    """Return two new clients, a new deal at one of them, and a note on one of the three."""
    rows = {name: new("client_id", name=name) for name in ("Ada", "Bob")}
    rows["deal"] = new("opportunity_id", client_id=rows[deal_of]["client_id"], name="Vans")
    noted = next(iter(rows[note_on].values()))
    return {
        "clients": [rows["Bob"], rows["Ada"]],
        "opportunities": [rows["deal"]],
        "notes": [new("note_id", entity_id=noted, content="Call back.")],
    }


def test_a_new_row_that_refers_to_a_new_row_is_known_by_its_role() -> None:
    """Ids differ on both sides, what they stand for does not; also over two steps."""
    assert score({}, reference=family("Ada"), after=family("Ada")).passed


def test_a_deal_with_the_wrong_new_client_is_wrong() -> None:
    """Its columns are right, what it refers to is not."""
    assert not score({}, reference=family("Ada"), after=family("Bob")).passed


def test_a_note_on_the_wrong_new_row_is_wrong() -> None:
    """On the client instead of the deal."""
    assert not score({}, reference=family("Ada"), after=family("Ada", note_on="Ada")).passed


def test_a_new_row_at_the_wrong_seeded_row_is_wrong() -> None:
    """Seeded rows are known by their ids."""
    before = {"clients": [ACME, BOLT]}
    right = {**before, "contacts": [new("contact_id", client_id="c-acme", last_name="Okafor")]}
    wrong = {**before, "contacts": [new("contact_id", client_id="c-bolt", last_name="Okafor")]}

    assert score(before, reference=right, after=right).passed
    assert not score(before, reference=right, after=wrong).passed


def test_equal_new_rows_are_distinguished_by_rows_that_refer_to_them() -> None:
    """Two deals that say the same, a quote for each, are not two quotes for one of them."""

    def deals(first: int, second: int) -> State:
        twins = [new("opportunity_id", client_id="c-acme", name="Vans") for _ in range(2)]
        quoted = [twins[number]["opportunity_id"] for number in (first, second)]
        quotes = [
            new("quote_id", opportunity_id=deal, amount=amount) for deal, amount in zip(quoted, (1, 2), strict=True)
        ]
        return {"clients": [ACME], "opportunities": twins, "quotes": quotes}

    before = {"clients": [ACME]}

    assert score(before, reference=deals(0, 1), after=deals(1, 0)).passed
    assert not score(before, reference=deals(0, 1), after=deals(0, 0)).passed


def test_the_reason_is_a_readable_diff(snapshot: SnapshotAssertion) -> None:
    """Everything at once: changed, deleted, missing, unexpected, in the order of the tables."""
    before = {"clients": [ACME, BOLT], "opportunities": [DEAL]}
    ada, bob = new("client_id", name="Ada"), new("client_id", name="Bob")
    reference: State = {
        "clients": [ACME, BOLT, ada],
        "opportunities": [{**DEAL, "amount": 90.0}],
        "notes": [new("note_id", entity_type="Client", entity_id=ada["client_id"], content="Call back.")],
    }
    after: State = {
        "clients": [{**ACME, "owner": "Lena"}, bob],
        "opportunities": [DEAL],
        "notes": [new("note_id", entity_type="Client", entity_id=bob["client_id"], content="Call back.")],
    }

    assert snapshot == score(before, reference=reference, after=after).reason
