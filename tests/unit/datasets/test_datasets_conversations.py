"""Conversations in JSON Lines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.datasets.conversations import SHOWN, DatasetError, index
from pytest_crmeval.domain.conversation import Conversation, Turn
from pytest_crmeval.domain.expectation import Expectation
from pytest_crmeval.domain.messages import ToolCall
from tests.projects import case

Written = Callable[..., Path]
ADA = {"name": "Ada Ltd", "email": "ada@ada.example", "status": "Active"}

ONE_ID, TWO_ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7", "0b7c0a6e-53b2-4c6e-9a55-0c7d3b1e8a10"


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Return a function that writes lines (records, text or bytes) to a file."""

    def write(*lines: dict[str, Any] | str | bytes, name: str = "cases.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(map(_line, lines)))
        return path

    return write


def _line(line: dict[str, Any] | str | bytes) -> bytes:
    if isinstance(line, bytes):
        return line + b"\n"
    text = line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
    return text.encode() + b"\n"


def turned(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a case whose only turn is changed; None takes a field away."""
    record = case("one")
    turn = {**record["turns"][0], **changes}
    return {**record, "turns": [{name: value for name, value in turn.items() if value is not None}]}


def problem(path: Path) -> str:
    """Return what is said about a file that can't be played."""
    with pytest.raises(DatasetError) as caught:
        index([path])
    return str(caught.value)


def test_one_line_is_one_case(written: Written) -> None:
    """With its line, its id, and where to find it."""
    refs = index([written(case("one"), case("two"))])

    assert [("one", 1), ("two", 2)] == [(ref.id, ref.line) for ref in refs]


def test_blank_lines_are_no_cases(written: Written) -> None:
    """But they count as lines: an editor must find the place."""
    refs = index([written("", case("one"), "   ", "", case("two"), "")])

    assert [("one", 2), ("two", 5)] == [(ref.id, ref.line) for ref in refs]
    assert ["one", "two"] == [ref.read().id for ref in refs]


def test_a_last_line_needs_no_end(tmp_path: Path) -> None:
    """Many editors leave it out."""
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(case("one")) + "\n" + json.dumps(case("two")), encoding="utf-8")

    assert ["one", "two"] == [ref.read().id for ref in index([path])]


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


def test_any_case_can_be_read_without_the_others(written: Written) -> None:
    """Places are counted in bytes, so letters of several bytes before them don't matter."""
    refs = index([written(case("größe"), case("ürsprung"), case("three"))])

    assert ["three", "größe", "ürsprung"] == [refs[number].read().id for number in (2, 0, 1)]


def test_several_files_are_one_list(written: Written) -> None:
    """In the order in which they were given."""
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
    pytest.param(
        turned(user_utterance=None), "turns[0]: Object missing required field `user_utterance`", id="no utterance"
    ),
    pytest.param(turned(expected_tool=7), "turns[0].expected_tool: Expected `str`, got `int`", id="tool 7"),
    pytest.param(turned(expected_args=[]), "turns[0].expected_args: Expected `object`, got `array`", id="args a list"),
    pytest.param(turned(expected=1), "turns[0]: Object contains unknown field `expected`", id="unknown turn field"),
    pytest.param(
        case("one", initial_entities={"seed_data": {"client": {}}}),
        "initial_entities.seed_data: Object contains unknown field `client`",
        id="unknown entity",
    ),
    pytest.param(
        case("one", initial_entities={"seed_data": {"Client": {"c-1": {}}}}),
        "initial_entities.seed_data.Client: Invalid UUID",
        id="an id that is none",
    ),
    pytest.param(
        case("one", initial_entities={"seed_data": {"Client": {ONE_ID: "Ada"}}}),
        "initial_entities.seed_data.Client[...]: Expected `object`, got `str`",
        id="a row that is text",
    ),
    pytest.param(turned(turn_id="1"), "turns[0].turn_id: Expected `int`, got `str`", id="turn id is text"),
    pytest.param(turned(turn_id=0), "turns: turn_id must count 1, 2, 3 …, found [0]", id="turn ids from 0"),
    pytest.param(
        case("one", turns=[*turned(turn_id=1)["turns"], *turned(turn_id=3)["turns"]]),
        "turns: turn_id must count 1, 2, 3 …, found [1, 3]",
        id="turn ids with a gap",
    ),
    pytest.param(
        case("one", turns=[*turned(turn_id=2)["turns"], *turned(turn_id=1)["turns"]]),
        "turns: turn_id must count 1, 2, 3 …, found [2, 1]",
        id="turn ids in disorder",
    ),
    pytest.param(b'{"conversation_id": "gr\xf6\xdfe", "turns": []}', "this line", id="another encoding"),
    pytest.param(
        json.dumps(turned(expected_args={"name": 0})).replace("0}", "[" * 100_000 + "]" * 100_000 + "}"),
        "this line",
        id="an abyss",
    ),
]


@pytest.mark.parametrize(("line", "said"), BAD_LINES)
def test_a_bad_line_is_told_with_file_line_and_field(written: Written, line: dict[str, Any] | str, said: str) -> None:
    """The message leads an editor to the place."""
    path = written(case("fine"), line, case("fine too"))

    assert problem(path).startswith(f"{path}:2: {said}")


def test_every_bad_line_is_told_at_once(written: Written) -> None:
    """Nobody wants to start pytest again for each typo."""
    path = written("[]", case("one"), "{}")

    assert [f"{path}:1", f"{path}:3"] == [line.partition(": ")[0] for line in problem(path).splitlines()]


def test_a_file_of_bad_lines_is_told_in_short(written: Written) -> None:
    """The first five, and how many more there are."""
    lines = problem(written(*["[]"] * (SHOWN + 3))).splitlines()

    assert SHOWN + 1 == len(lines)
    assert "... and 3 more" == lines[-1]


def test_an_id_is_used_once(written: Written) -> None:
    """The message names both places."""
    path = written(case("one"), case("two"), case("one"))

    assert f"{path}:3: conversation_id: 'one' is taken by {path}:1; ids must be unique" == problem(path)


def test_an_id_is_used_once_in_all_files(written: Written) -> None:
    """They are one suite."""
    first, second = written(case("one"), name="a.jsonl"), written(case("one"), name="b.jsonl")

    with pytest.raises(DatasetError) as caught:
        index([first, second])

    assert f"{second}:1: conversation_id: 'one' is taken by {first}:1; ids must be unique" == str(caught.value)


@pytest.mark.parametrize("lines", [(), ("",), ("", "  ", "\t")])
def test_a_file_without_cases_is_a_mistake(written: Written, lines: tuple[str, ...]) -> None:
    """A suite of nothing would pass for ever."""
    path = written(*lines)

    assert f"{path}: the file has no conversation; write one JSON object per line" == problem(path)


def test_a_missing_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    """Not a traceback of open()."""
    path = tmp_path / "nowhere.jsonl"

    assert f"{path}: No such file or directory; give the path of a JSON Lines file" == problem(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """Told with what to do."""
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
    """The case is the same with and without it."""
    assert fingerprint(written(case("one"))) == fingerprint(written(case("one", complexity_level="simple")))


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
    ],
)
def test_the_fingerprint_changes_with_the_content(written: Written, changed: dict[str, Any]) -> None:
    """A resumed run plays a case again when it is no longer the same."""
    assert fingerprint(written(case("one"))) != fingerprint(written(changed))


def test_the_fingerprint_is_the_same_everywhere(written: Written) -> None:
    """In every process and version: a journal of last month must still be understood."""
    assert "85e646d4549a1b44" == fingerprint(written(case("one")))


def test_the_order_of_turns_is_content(written: Written) -> None:
    """Only the order of keys is not."""
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
    """Told like every other problem with a file."""
    path = written(case("one"))
    (ref,) = index([path])
    path.unlink()

    with pytest.raises(DatasetError, match="No such file or directory"):
        ref.read()


def _reversed(value: Any) -> Any:  # noqa: ANN401 (JSON)
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value
