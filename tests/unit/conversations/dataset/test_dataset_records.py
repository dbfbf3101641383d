"""One line of a conversation file: the published format, and what we add to it."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.domain.conversation import NOW, Conversation, Segment, Turn
from pytest_crmeval.domain.expectation import Expectation, PublishedReply
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from tests.projects import ADA, DEV_DATA, PUBLISHED, Written, case, chain, turned

ONE_ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def read(path: Path) -> Conversation:
    """Return the only case of a file."""
    (ref,) = index([path])
    return ref.read()


def test_a_case_is_read_as_it_is_written(written: Written) -> None:
    """Turns, answer key, rows, complexity and category."""
    record = case(
        "größe",
        workflow_category="Client Management",
        complexity_level="medium",
        initial_entities={"seed_data": {"Client": {ONE_ID: {"name": "Münzberg", "status": "Active"}}}},
    )
    record["turns"].append(
        {
            "turn_id": 2,
            "user_utterance": "Nochmal.",
            "expected_tool": "create_new_client",
            "expected_args": {"name": "{{turn_1.name}}"},
            "expect_success": False,
        }
    )

    (ref,) = index([written(record)])

    again = ToolCall(tool="create_new_client", arguments={"name": "{{turn_1.name}}"})
    assert (
        Conversation(
            id="größe",
            fingerprint=ref.fingerprint,
            turns=(
                Turn(
                    utterance="Add Ada Ltd, ada@ada.example, active.",
                    expectation=Expectation(call=ToolCall(tool="create_new_client", arguments=ADA)),
                ),
                Turn(utterance="Nochmal.", expectation=Expectation(call=again, succeeds=False)),
            ),
            seed={"Client": {ONE_ID: {"name": "Münzberg", "status": "Active"}}},
            complexity="medium",
            category="Client Management",
        )
        == ref.read()
    )


@pytest.mark.parametrize("given", [ONE_ID.upper(), ONE_ID.replace("-", "")])
def test_ids_of_rows_are_rewritten_in_the_usual_form(written: Written, given: str) -> None:
    """The case is the same as with the usual form."""
    cases = [
        read(written(case("one", initial_entities={"seed_data": {"Client": {identity: {"name": "Ada"}}}})))
        for identity in (ONE_ID, given)
    ]
    assert cases[1] == cases[0]
    assert [*cases[1].seed["Client"]] == [ONE_ID]


def test_missing_fields_have_defaults(written: Written) -> None:
    """As the published loader has it; of a turn only its number and its tool are needed."""
    found = read(written({"conversation_id": "one", "turns": [{"turn_id": 1, "expected_tool": "list_clients"}]}))

    assert (
        Conversation(
            id="one",
            fingerprint=found.fingerprint,
            turns=(Turn(utterance="", expectation=Expectation(call=ToolCall(tool="list_clients", arguments={}))),),
            seed={},
            complexity="simple",
            category="Unknown",
            tags=(),
            now=datetime(2025, 11, 12, 9, tzinfo=UTC),
            segments=(),
            expected_state={},
            defects=(),
        )
        == found
    )


def test_a_published_case_is_read_as_it_is(written: Written) -> None:
    unused: dict[str, Any] = {
        "references_previous_turns": [],
        "expected_error_substring": None,
        "failure_category": None,
    }
    response = {"text": "Done.", "evaluation": "structured", "answers": ["Done."], "requires_judge": False}
    turn = {**PUBLISHED["turns"][0], "expect_success": True, **unused, "expected_response": response}
    record = {**PUBLISHED, "turns": [turn]}

    found = read(written(record))

    assert (15, 9) == (len(record), len(turn))
    assert Expectation(
        call=ToolCall(tool="create_new_client", arguments=ADA), answer=PublishedReply(text="Done.", others=("Done.",))
    ) == (found.turns[0].expectation)
    assert {"Client", "Contact", "Opportunity", "Quote", "Contract"} >= found.seed.keys()


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        pytest.param({}, PublishedReply(), id="nothing"),
        pytest.param({"text": " Done.\n"}, PublishedReply(text="Done."), id="space around"),
        pytest.param({"answers": ["a ", " ", "", " b"]}, PublishedReply(others=("a", "b")), id="blank answers"),
        pytest.param({"evaluation": "Judge"}, PublishedReply(judged=True), id="a judge"),
        pytest.param({"requires_judge": True}, PublishedReply(judged=True), id="a judge, in other words"),
        pytest.param({"evaluation": "STRUCTURED"}, PublishedReply(), id="no judge"),
        pytest.param(None, None, id="no response"),
    ],
)
def test_an_expected_response_is_an_answer(
    written: Written, response: dict[str, Any] | None, answer: PublishedReply | None
) -> None:
    record = case("one")
    record["turns"][0]["expected_response"] = response

    assert answer == read(written(record)).turns[0].expectation.answer


@pytest.mark.parametrize(("text", "refusal"), [("already exists", "already exists"), ("", ""), (None, "")])
def test_a_refusal_may_be_expected_to_say_something(written: Written, text: str | None, refusal: str) -> None:
    """Nothing, if any will do."""
    record = case("one", contains_failure=True, failure_turn=1)
    record["turns"][0] |= {"expect_success": False, "expected_error_substring": text}

    expectation = read(written(record)).turns[0].expectation

    assert (False, refusal) == (expectation.succeeds, expectation.refusal)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-02T09:30:00Z", datetime(2026, 3, 2, 9, 30, tzinfo=UTC)),
        ("2026-03-02T09:30:00+02:00", datetime(2026, 3, 2, 9, 30, tzinfo=timezone(timedelta(hours=2)))),
        (None, NOW),
    ],
)
def test_case_may_set_its_clock(written: Written, text: str | None, moment: datetime) -> None:
    """The clock of its CRM shows that; otherwise a fixed day."""
    assert moment == read(written(case("one", now=text))).now


def test_a_case_may_have_tags(written: Written) -> None:
    """Reports are broken down by them."""
    assert ("create", "de") == read(written(case("one", tags=["create", "de"]))).tags


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (None, None),
        ([], ()),
        (["Ada", 84000, 0.5, True, "{{turn_1.name}}"], ("Ada", 84000, 0.5, True, "{{turn_1.name}}")),
    ],
)
def test_a_turn_may_say_what_the_reply_has_to_say(
    written: Written, facts: list[Json] | None, expected: tuple[Json, ...] | None
) -> None:
    """Nothing at all is something else than not to say it."""
    record = case("one")
    record["turns"][0]["reply_facts"] = facts

    assert expected == read(written(record)).turns[0].expectation.facts


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"Client": [{"name": "Ada Ltd", "owner": None}], "Note": []},
        {
            entity: [{"id": "{{turn_1.client_id}}"}]
            for entity in ("Client", "Company", "Contact", "Opportunity", "Quote", "Contract", "Document", "Note")
        },
    ],
)
def test_case_may_set_the_expected_final_state(written: Written, state: dict[str, Any]) -> None:
    """Entity by entity: one that is left out is not one that is empty."""
    assert state == read(written(case("one", expected_state=state))).expected_state


def test_an_entity_whose_end_is_null_is_left_out(written: Written) -> None:
    """Null says nothing."""
    assert {"Note": []} == read(written(case("one", expected_state={"Note": [], "Client": None}))).expected_state


@pytest.mark.parametrize(("implied", "count"), [([], 1), (["email"], 0)])
def test_a_turn_may_imply_an_argument(written: Written, implied: list[str], count: int) -> None:
    record = turned(user_utterance="Add Ada Ltd, active.", implied_args=implied)

    assert count == len(read(written(record)).defects)


def test_unpassable_case_says_why(written: Written) -> None:
    """It is read all the same: whether it is played is not for the loader to say."""
    (defect,) = read(written(turned(user_utterance="Add {company}: Ada Ltd, ada@ada.example, active."))).defects

    assert "turn 1: the user's words contain a placeholder that is never filled: {company}" == defect


class TestAChain:
    """A conversation that is made of several."""

    def test_segments_end_at_the_boundaries(self, written: Written) -> None:
        """And without a refusal, if it does not say otherwise."""
        assert (Segment(last_turn=1), Segment(last_turn=3)) == read(written(chain(1, 3))).segments

    @pytest.mark.parametrize(
        "summaries",
        [
            pytest.param([{}, {"expected_outcome": "failure"}], id="by place"),
            pytest.param([{"segment_number": 2, "expected_outcome": "failure"}], id="by number"),
            pytest.param([{"segment_id": 2, "expected_outcome": "failure"}, {"segment_id": 1}], id="by id"),
            pytest.param(
                [{"segment_number": 2, "segment_id": 1, "expected_outcome": "failure"}], id="a number before an id"
            ),
        ],
    )
    def test_a_segment_may_be_expected_to_fail(self, written: Written, summaries: list[dict[str, Any]]) -> None:
        """Its summary says so, wherever it stands."""
        segments = read(written(chain(1, 2, 3, summaries=summaries))).segments

        assert [True, False, True] == [segment.succeeds for segment in segments]

    def test_additional_fields_of_a_chain_are_ignored(self, written: Written) -> None:
        """It may be anything."""
        record = chain(3, summaries=[{"segment_number": 1, "actual_outcome": "success", "turn_range": {"start": 1}}])
        record["cumulative_context"] |= {"cumulative_entities": {}, "turn_annotations": [7]}
        record |= {"segment_number": 1, "expected_outcome": "as it should"}

        assert (Segment(last_turn=3),) == read(written(record)).segments

    def test_without_a_chain_there_are_no_segments(self, written: Written) -> None:
        """Boundaries alone make none."""
        assert () == read(written({**chain(1, 3), "chain_id": None})).segments

    def test_a_conversation_knows_its_chain(self, written: Written) -> None:
        """Others may be of the same: they are not independent of each other."""
        assert ("c-1", "") == (read(written(chain(1, 3))).chain, read(written(case("one"))).chain)

    def test_without_boundaries_there_are_no_segments(self, written: Written) -> None:
        """It is scored like any conversation."""
        assert () == read(written({**chain(), "segment_boundaries": None})).segments


@pytest.mark.skipif(not DEV_DATA.is_file(), reason="the published conversations are not here")
def test_every_published_conversation_is_read() -> None:
    """Ids, turns and answers of all of them."""
    records = [json.loads(line) for line in DEV_DATA.read_text(encoding="utf-8").splitlines()]

    found = [ref.read() for ref in index([DEV_DATA])]

    assert 207 == len(found)
    assert [_published(record) for record in records] == [_loaded(conversation) for conversation in found]


def _published(record: dict[str, Any]) -> list[Any]:
    turns = [
        (
            turn["user_utterance"],
            turn["expected_tool"],
            turn["expected_args"],
            turn["expected_response"]["text"].strip(),
        )
        for turn in record["turns"]
    ]
    seed = {entity: rows for entity, rows in record["initial_entities"]["seed_data"].items() if rows}
    return [record["conversation_id"], record["complexity_level"], record["workflow_category"], seed, turns]


def _loaded(found: Conversation) -> list[Any]:
    turns = []
    for turn in found.turns:
        call, answer = turn.expectation.call, turn.expectation.answer
        turns.append((turn.utterance, call.tool, call.arguments, answer.text if answer else None))
    seed = {entity: rows for entity, rows in found.seed.items() if rows}
    return [found.id, found.complexity, found.category, seed, turns]
