"""Conversations in JSON Lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.conversations.dataset.files import index
from pytest_crmeval.domain.dataset_error import SHOWN, DatasetError
from tests.projects import ADA, PUBLISHED, Written, case, chain, turned

ONE_ID, TWO_ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7", "0b7c0a6e-53b2-4c6e-9a55-0c7d3b1e8a10"


def problem(path: Path) -> str:
    """Return what is said about a file that can't be played."""
    with pytest.raises(DatasetError) as caught:
        index([path])
    return str(caught.value)


def test_each_line_is_a_case_with_its_id_and_line_number(written: Written) -> None:
    """With its line, its id, and where to find it."""
    refs = index([written(case("one"), case("two"))])

    assert [("one", 1), ("two", 2)] == [(ref.id, ref.line) for ref in refs]


def test_blank_lines_are_skipped(written: Written) -> None:
    """But they count as lines: an editor must find the place."""
    refs = index([written("", case("one"), "   ", "", case("two"), "")])

    assert [("one", 2), ("two", 5)] == [(ref.id, ref.line) for ref in refs]
    assert ["one", "two"] == [ref.read().id for ref in refs]


def test_a_last_line_needs_no_end(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(case("one")) + "\n" + json.dumps(case("two")), encoding="utf-8")

    assert ["one", "two"] == [ref.read().id for ref in index([path])]


def test_case_is_read_without_the_others(written: Written) -> None:
    """Places are counted in bytes, so letters of several bytes before them don't matter."""
    refs = index([written(case("größe"), case("ürsprung"), case("three"))])

    assert ["three", "größe", "ürsprung"] == [refs[number].read().id for number in (2, 0, 1)]


def test_several_files_are_one_list(written: Written) -> None:
    first, second = written(case("one"), name="a.jsonl"), written(case("two"), name="b.jsonl")

    assert ["two", "one"] == [ref.id for ref in index([second, first])]


BAD_LINES = [
    pytest.param("{not json", "this line is not JSON", id="not JSON"),
    pytest.param('{"conversation_id": "one"', "this line is not JSON", id="cut off"),
    pytest.param(json.dumps(case("one")) * 2, "this line is not JSON", id="two records in a line"),
    pytest.param("[]", "line: Expected `object`, got `array`", id="a list"),
    pytest.param("{}", "line: Object missing required field `conversation_id`", id="no id"),
    pytest.param(case(""), "conversation_id: Expected `str` of length >= 1", id="empty id"),
    pytest.param(case("x" * 201), "conversation_id: Expected `str` of length <= 200", id="endless id"),
    pytest.param({**case("one"), "conversation_id": 7}, "conversation_id: Expected `str`, got `int`", id="id 7"),
    pytest.param(case("one", turns=[]), "turns: Expected `array` of length >= 1", id="no turns"),
    pytest.param(case("one", turns="none"), "turns: Expected `array`, got `str`", id="turns are text"),
    pytest.param(case("one", turn=[]), "line: Object contains unknown field `turn`", id="unknown field"),
    pytest.param(case("one", complexity_level="hard"), "complexity_level: Invalid enum value 'hard'", id="complexity"),
    pytest.param(turned(expected_tool=None), "turns[0]: Object missing required field `expected_tool`", id="no tool"),
    pytest.param(turned(turn_id=None), "turns[0]: Object missing required field `turn_id`", id="no turn id"),
    pytest.param(turned(expected_tool=7), "turns[0].expected_tool: Expected `str`, got `int`", id="tool 7"),
    pytest.param(turned(expected_args=[]), "turns[0].expected_args: Expected `object`, got `array`", id="args a list"),
    pytest.param(turned(expected=1), "turns[0]: Object contains unknown field `expected`", id="unknown turn field"),
    pytest.param(
        case("one", initial_entities={"seed_data": {"client": {}}}),
        "initial_entities.seed_data: Object contains unknown field `client`",
        id="unknown entity",
    ),
    *(
        pytest.param(
            case("one", initial_entities={"seed_data": {"Note": {ONE_ID: {}}, "Client": {ONE_ID: {}, identity: {}}}}),
            f"initial_entities.seed_data: Client: {identity!r} is not a UUID",
            id=f"id {identity}",
        )
        for identity in ("c-1", "", ONE_ID[:-1], f"{ONE_ID[:-1]}x", f"{ONE_ID}0", f"{ONE_ID}\n{ONE_ID}")
    ),
    pytest.param(
        case("one", initial_entities={"seed_data": {"Client": {ONE_ID: "Ada"}}}),
        "initial_entities.seed_data.Client[...]: Expected `object`, got `str`",
        id="a row that is text",
    ),
    pytest.param(turned(turn_id="1"), "turns[0].turn_id: Expected `int`, got `str`", id="turn id is text"),
    pytest.param(turned(turn_id=0), "turns: turn_id must be 1, 2, 3 … in order, found [0]", id="turn ids from 0"),
    pytest.param(
        case("one", turns=[*turned(turn_id=1)["turns"], *turned(turn_id=3)["turns"]]),
        "turns: turn_id must be 1, 2, 3 … in order, found [1, 3]",
        id="turn ids with a gap",
    ),
    pytest.param(
        case("one", turns=[*turned(turn_id=2)["turns"], *turned(turn_id=1)["turns"]]),
        "turns: turn_id must be 1, 2, 3 … in order, found [2, 1]",
        id="turn ids in disorder",
    ),
    pytest.param(turned(expect_success="no"), "turns[0].expect_success: Expected `bool`, got `str`", id="success"),
    pytest.param(
        turned(expected_response="Done."),
        "turns[0].expected_response: Expected `object | null`, got `str`",
        id="a response that is text",
    ),
    pytest.param(
        turned(expected_response={"txt": "Done."}),
        "turns[0].expected_response: Object contains unknown field `txt`",
        id="unknown response field",
    ),
    pytest.param(
        turned(reply_facts="84000"), "turns[0].reply_facts: Expected `array | null`, got `str`", id="facts are text"
    ),
    pytest.param(
        turned(reply_facts=[{"amount": 1}]),
        "turns[0].reply_facts[0]: Expected `bool | int | float | str`, got `object`",
        id="a fact that is an object",
    ),
    pytest.param(turned(implied_args="name"), "turns[0].implied_args: Expected `array`, got `str`", id="implied"),
    pytest.param(case("one", now="tomorrow"), "now: Invalid RFC3339 encoded datetime", id="a day that is none"),
    pytest.param(
        case("one", now="2026-03-02T09:30:00"), "now: Expected `datetime` with a timezone component", id="no time zone"
    ),
    pytest.param(case("one", tags="quote"), "tags: Expected `array`, got `str`", id="tags are text"),
    pytest.param(case("one", tags=[7]), "tags[0]: Expected `str`, got `int`", id="a tag that is a number"),
    pytest.param(
        case("one", expected_state={"clients": []}),
        "expected_state: Object contains unknown field `clients`",
        id="a state of an unknown entity",
    ),
    pytest.param(
        case("one", expected_state={"Client": {}}),
        "expected_state.Client: Expected `array | null`, got `object`",
        id="a state without a list",
    ),
    pytest.param(case("one", success_criteria="some"), "success_criteria: Invalid enum value 'some'", id="criteria"),
    pytest.param(case("one", verification_mode="ask"), "verification_mode: Invalid enum value 'ask'", id="mode"),
    pytest.param(case("one", contains_failure=True), "failure_turn: must be one of the turns [1]", id="no turn"),
    pytest.param(
        case("one", contains_failure=True, failure_turn=2),
        "failure_turn: must be one of the turns [1]",
        id="a failure after the end",
    ),
    pytest.param(
        case("one", contains_failure=True, failure_turn=0),
        "failure_turn: must be one of the turns [1]",
        id="a failure before the start",
    ),
    pytest.param(
        chain(2, 4),
        "segment_boundaries: must be ascending and end with the last turn, 3; found [2, 4]",
        id="beyond the end",
    ),
    pytest.param(
        chain(1, 2),
        "segment_boundaries: must be ascending and end with the last turn, 3; found [1, 2]",
        id="not to the end",
    ),
    pytest.param(
        chain(2, 1, 3),
        "segment_boundaries: must be ascending and end with the last turn, 3; found [2, 1, 3]",
        id="falling",
    ),
    pytest.param(
        chain(2, 2, 3),
        "segment_boundaries: must be ascending and end with the last turn, 3; found [2, 2, 3]",
        id="empty",
    ),
    pytest.param(chain(0, 3), "segment_boundaries[0]: Expected `int` >= 1", id="a segment of nothing"),
    pytest.param(
        chain(3, summaries=[{"expected_outcome": "perhaps"}]),
        "cumulative_context.segment_summaries[0].expected_outcome: Invalid enum value 'perhaps'",
        id="an outcome that is none",
    ),
    pytest.param(b'{"conversation_id": "gr\xf6\xdfe", "turns": []}', "this line", id="another encoding"),
    pytest.param(
        json.dumps(turned(expected_args={"name": 0})).replace("0}", "[" * 100_000 + "]" * 100_000 + "}"),
        "this line",
        id="an abyss",
    ),
]


@pytest.mark.parametrize(("line", "said"), BAD_LINES)
def test_bad_line_is_reported_with_file_line_and_field(written: Written, line: dict[str, Any] | str, said: str) -> None:
    """The message leads an editor to the place."""
    path = written(case("fine"), line, case("fine too"))

    assert problem(path).startswith(f"{path}:2: {said}")


def test_all_bad_lines_are_reported_at_once(written: Written) -> None:
    path = written("[]", case("one"), "{}")

    assert [f"{path}:1", f"{path}:3"] == [line.partition(": ")[0] for line in problem(path).splitlines()]


def test_many_bad_lines_are_reported_briefly(written: Written) -> None:
    """The first five, and how many more there are."""
    lines = problem(written(*["[]"] * (SHOWN + 3))).splitlines()

    assert SHOWN + 1 == len(lines)
    assert "... and 3 more" == lines[-1]


def test_an_id_is_used_once(written: Written) -> None:
    """The message names both places."""
    path = written(case("one"), case("two"), case("one"))

    assert f"{path}:3: conversation_id: 'one' is already used in {path}:1; ids must be unique" == problem(path)


def test_an_id_is_used_once_in_all_files(written: Written) -> None:
    """They are one suite."""
    first, second = written(case("one"), name="a.jsonl"), written(case("one"), name="b.jsonl")

    with pytest.raises(DatasetError) as caught:
        index([first, second])

    assert f"{second}:1: conversation_id: 'one' is already used in {first}:1; ids must be unique" == str(caught.value)


@pytest.mark.parametrize("lines", [(), ("",), ("", "  ", "\t")])
def test_a_file_without_cases_is_a_mistake(written: Written, lines: tuple[str, ...]) -> None:
    """A suite of nothing would pass for ever."""
    path = written(*lines)

    assert f"{path}: the file has no conversation; write one JSON object per line" == problem(path)


def test_missing_file_is_reported_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.jsonl"

    assert f"{path}: No such file or directory; give the path of a JSON Lines file" == problem(path)


def test_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    assert f"{tmp_path}: Is a directory; give the path of a JSON Lines file" == problem(tmp_path)


def fingerprint(path: Path) -> str:
    """Return the fingerprint of the only case of a file."""
    (ref,) = index([path])
    return ref.fingerprint


def test_the_fingerprint_does_not_depend_on_the_order_of_keys(written: Written) -> None:
    """Nor on spaces, nor on how letters are escaped: the content is the same."""
    record = {
        **case("größe"),
        "initial_entities": {"seed_data": {"Client": {ONE_ID: {"name": "A"}, TWO_ID: {"name": "B"}}}},
    }
    expected = fingerprint(written(record))

    backwards = fingerprint(written(json.dumps(_reversed(record), indent=None, separators=(" , ", " :  "))))

    assert expected == backwards


def test_writing_a_default_changes_nothing(written: Written) -> None:
    """The case is the same with and without it; also with everything that the published format writes."""
    published = {
        name: value for name, value in PUBLISHED.items() if name not in {"conversation_id", "workflow_category"}
    }

    assert fingerprint(written(case("one"))) == fingerprint(written(case("one", complexity_level="simple")))
    assert fingerprint(written(case("one"))) == fingerprint(written(case("one", **published)))


@pytest.mark.parametrize(
    "changed",
    [
        case("two"),
        turned(user_utterance="Add Ada Ltd!"),
        turned(expected_tool="client_search"),
        turned(expected_args={**ADA, "status": "Prospect"}),
        turned(expected_args={**ADA, "phone": None}),
        turned(expect_success=False),
        case("one", complexity_level="complex"),
        case("one", initial_entities={"seed_data": {"Client": {ONE_ID: {"name": "A"}}}}),
        case("one", workflow_category="General"),
        case("one", now="2026-03-02T09:30:00Z"),
        case("one", tags=["create"]),
        case("one", expected_state={}),
        case("one", expected_state={"Note": []}),
        case("one", chain_id="c-1"),
        case("one", segment_boundaries=[1]),
        case("one", cumulative_context={"segment_summaries": [{}]}),
        turned(expected_error_substring="already"),
        turned(expected_response={"text": "Done."}),
        turned(expected_response={}),
        turned(reply_facts=[]),
        turned(reply_facts=["Ada Ltd"]),
        turned(implied_args=["status"]),
    ],
)
def test_the_fingerprint_changes_with_the_content(written: Written, changed: dict[str, Any]) -> None:
    """A resumed run plays a case again when it is no longer the same."""
    assert fingerprint(written(case("one"))) != fingerprint(written(changed))


def test_the_fingerprint_is_the_same_everywhere(written: Written) -> None:
    """In every process and version: a journal of last month must still be understood."""
    assert "6c783681d6e16ae8" == fingerprint(written(case("one")))


def test_the_order_of_turns_is_content(written: Written) -> None:
    (a,), (b,) = turned(user_utterance="a")["turns"], turned(user_utterance="b")["turns"]
    forth = case("one", turns=[{**a, "turn_id": 1}, {**b, "turn_id": 2}])
    back = case("one", turns=[{**b, "turn_id": 1}, {**a, "turn_id": 2}])

    assert fingerprint(written(forth)) != fingerprint(written(back))


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([case("one"), turned(user_utterance="Add Ada Inc.")], id="another content"),
        pytest.param([case("zero"), case("one"), case("two")], id="another place"),
        pytest.param([case("a much longer name than before"), case("two")], id="in the middle of a line"),
        pytest.param([case("one")], id="shorter"),
    ],
)
def test_a_file_that_changes_while_it_is_played_is_noticed(written: Written, lines: list[dict[str, Any]]) -> None:
    """A trial must be of the case that it says it is of."""
    ref = index([written(case("one"), case("two"))])[1]
    path = written(*lines)

    with pytest.raises(DatasetError) as caught:
        ref.read()

    assert f"{path}:2: the file was changed while it was being played" == str(caught.value)


def test_a_file_that_is_gone_while_it_is_played_is_noticed(written: Written) -> None:
    path = written(case("one"))
    (ref,) = index([path])
    path.unlink()

    with pytest.raises(DatasetError, match="No such file or directory"):
        ref.read()


def _reversed(value: Any) -> Any:  # noqa: ANN401 (JSON)
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def spoken(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a case of one turn with these fields."""
    return {"conversation_id": "one", "turns": [{"turn_id": 1, "user_utterance": "Hm.", **fields}]}


NOTE = {"expected_tool": "add_note", "expected_args": {"content": "Hm."}}


def test_further_calls_are_read_in_order(written: Written) -> None:
    """In its order; and whether the reply has to ask."""
    search = {"expected_tool": "client_search", "expected_args": {"name": "a"}}
    (ref,) = index(
        [written({**spoken(**search, further_calls=[search, {"expected_tool": "list_clients"}]), "split": "test"})]
    )

    case_read = ref.read()

    assert ["client_search", "client_search", "list_clients"] == [
        each.tool for each in case_read.turns[0].expectation.calls
    ]
    assert ("test", "test") == (ref.split, case_read.split)


@pytest.mark.parametrize(
    "fields",
    [
        {"expected_tool": "", "expect_success": False},
        {"expected_tool": "", "reply_asks": True},
        {"expected_tool": "", "reply_asks": True, "expect_success": False, "reply_facts": ["Ada"]},
        {"expected_tool": "client_search", "reply_asks": True},
        {"expected_tool": "delete_quote", "reply_asks": True, "expect_success": False},
        {"expected_tool": "modify_client", "expect_success": False, "further_calls": [NOTE]},
    ],
    ids=str,
)
def test_combinations_of_expected_behaviour_are_read(written: Written, fields: dict[str, Any]) -> None:
    """To decline, to ask back, to look and ask back, to be refused and ask back, to be refused a part."""
    (turn,) = index([written(spoken(**fields))])[0].read().turns

    assert fields.get("reply_asks", False) is turn.expectation.asks
    assert fields.get("expect_success", True) is turn.expectation.succeeds


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"expected_tool": ""}, "expected_tool: if empty, add"),
        ({"expected_tool": "", "expect_success": False, "expected_args": {"a": 1}}, "expected_args: must be empty"),
        ({"expected_tool": "", "reply_asks": True, "further_calls": [NOTE]}, "further_calls: must be empty"),
        (
            {"expected_tool": "", "expect_success": False, "expected_error_substring": "no"},
            "expected_error_substring: nothing is called",
        ),
        (
            {"expected_tool": "list_notes", "further_calls": [{"expected_tool": ""}]},
            "further_calls: expected_tool must",
        ),
        ({**NOTE, "reply_asks": True}, "reply_asks: add_note must not succeed"),
        (
            {"expected_tool": "list_notes", "reply_asks": True, "further_calls": [NOTE]},
            "reply_asks: add_note must not succeed",
        ),
    ],
    ids=str,
)
def test_contradictory_expectations_are_refused(written: Written, fields: dict[str, Any], complaint: str) -> None:
    path = written(spoken(**fields))

    assert problem(path).startswith(f"{path}:1: turns: turn 1: {complaint}")
