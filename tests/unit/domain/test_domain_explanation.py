"""A trial as text for people."""

import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.domain.explanation import LINES, ROWS, SPEECH, WIDTH, Colour, Pen, explanation
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import (
    Message,
    Reply,
    ToolCall,
    ToolError,
    ToolResult,
    agent_says,
    crm_says,
    user_says,
)
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.transcript import Exchange, Transcript
from tests.fakes import call, says

ESCAPE = re.compile(r"\x1b\[([\d;]*)m")
TAGS = {colour.value: colour.name.lower() for colour in Colour} | {"0": "/"}


def tagged(text: str) -> str:
    """Return a coloured text in a form that is readable in a snapshot."""
    return ESCAPE.sub(lambda found: f"<{TAGS.get(found[1], found[1])}>", text)


def output(
    *exchanges: Exchange, scores: tuple[Score, ...] = (), transcript: Transcript | None = None, colored: bool = False
) -> list[str]:
    """Return the lines of an explanation."""
    return list(explanation(transcript or Transcript(exchanges=exchanges), scores, Pen(colored)))


def turn(*messages: Message, cut: bool = False) -> Exchange:
    """Return a turn that starts with the user's words."""
    return Exchange(messages=[user_says("Please."), *messages], cut=cut)


def result_of(result: ToolResult) -> list[str]:
    """Return a result as shown."""
    lines = output(turn(agent_says(Reply(calls=[call("look")])), crm_says([result])))
    return lines[3:]


ACME: dict[str, Json] = {"client_id": "c-acme", "name": "Acme", "owner": None, "amount": 84000.5}
WRONG = Transcript(
    exchanges=[
        turn(
            agent_says(
                Reply(text="Let me see.", calls=[call("client_search", name="Acme"), call("look", at=[1, None])])
            ),
            crm_says(
                [ToolResult(value=[ACME]), ToolResult(error=ToolError(kind="unknown_tool", message="No 'look'."))]
            ),
            agent_says(says("There is Acme.\n\nNothing else.")),
        ),
        turn(
            agent_says(Reply(calls=[call("modify_client", client_id="c-acme", owner="Lena")])),
            crm_says([ToolResult(value={**ACME, "owner": "Lena"})]),
            cut=True,
        ),
        turn(agent_says(says("Done."))),
    ]
)
MISSED = (
    Score(
        name="state",
        value=0.0,
        reason="clients Acme (c-acme): owner expected 'Dana, VP', actual 'Lena'\n"
        "opportunities Vans (o-vans): was deleted\n"
        "opportunities Bikes (o-bikes): should have been deleted\n"
        "notes: missing: content='Call back.'\n"
        "notes: 2 unexpected: content='Hello.'",
    ),
    Score(
        name="calls", value=2 / 3, reason="turn 3: not written: add_note(content='Call back.') (asked: \"Note it.\")"
    ),
    Score(name="reply", value=1 / 3, reason="turn 2: it said nothing\nturn 3: the reply does not say 84000.5"),
    Score(name="polite", value=1.0, reason="turn 1: as polite as can be"),
    Score(name="brief", value=0.5, threshold=0.75),
)


def test_explanation_reads_like_a_dialogue(snapshot: SnapshotAssertion) -> None:
    """Words, calls and results, each fault at its turn, and at the end the faults of the whole."""
    assert snapshot == "\n".join(output(transcript=WRONG, scores=MISSED))


def test_explanation_is_coloured(snapshot: SnapshotAssertion) -> None:
    """Faults are red; in a difference, the expected value is green and the actual one red."""
    assert snapshot == tagged("\n".join(output(transcript=WRONG, scores=MISSED, colored=True)))


def test_colours_change_no_text() -> None:
    plain, coloured = (output(transcript=WRONG, scores=MISSED, colored=colored) for colored in (False, True))

    assert plain == [ESCAPE.sub("", line) for line in coloured]
    assert plain != coloured


def test_every_colour_ends_on_its_line() -> None:
    """Pytest puts an ``E`` before each line, which must not be coloured."""
    for line in output(transcript=WRONG, scores=MISSED, colored=True):
        codes = ESCAPE.findall(line)

        assert ["0"] * (len(codes) // 2) == codes[1::2]
        assert "0" not in codes[::2]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b: c expected 1, actual 2", "a b: c expected <green>1</>, actual <red>2</>"),
        ("a b: c expected None, actual 'x, y'", "a b: c expected <green>None</>, actual <red>'x, y'</>"),
        ("notes: missing: content='x'", "<green>notes: missing: content='x'</>"),
        ("notes: 3 missing: content='x'", "<green>notes: 3 missing: content='x'</>"),
        ("clients Acme (c-1): was deleted", "<green>clients Acme (c-1): was deleted</>"),
        ("notes: unexpected: content='x'", "<red>notes: unexpected: content='x'</>"),
        ("clients c-1: should have been deleted", "<red>clients c-1: should have been deleted</>"),
        ("anything else", "<red>anything else</>"),
    ],
)
def test_expected_parts_are_green_and_unexpected_ones_red(line: str, expected: str) -> None:
    (shown,) = output(scores=(Score(name="state", value=0.0, reason=line),), colored=True)

    assert f"  <red>✗</> state: {expected}" == tagged(shown)


def test_passed_score_is_not_explained() -> None:
    """Whatever its reason."""
    assert [] == output(scores=(Score(name="state", value=0.8, threshold=0.8, reason="turn 1: almost\nall"),))


def test_score_without_a_reason_shows_value_and_threshold() -> None:
    assert ["  ✗ state: 0.790, below 0.800"] == output(scores=(Score(name="state", value=0.79, threshold=0.8),))


def test_all_faults_of_a_turn_follow_its_dialogue() -> None:
    """In the order of the scores."""
    scores = (
        Score(name="calls", value=0.0, reason="turn 2: not made: look()"),
        Score(name="reply", value=0.0, reason="turn 1: it said nothing\nturn 2: it said nothing"),
    )

    assert [
        "  turn 1",
        "    user   Please.",
        "    ✗ reply: it said nothing",
        "  turn 2",
        "    user   Please.",
        "    ✗ calls: not made: look()",
        "    ✗ reply: it said nothing",
    ] == output(turn(), turn(), scores=scores)


def test_fault_of_a_turn_that_was_not_played_follows_the_dialogue() -> None:
    scores = (Score(name="calls", value=0.0, reason="turn 7: not made: look()"),)

    assert ["  turn 1", "    user   Please.", "  ✗ turn 7: calls: not made: look()"] == output(turn(), scores=scores)


def test_conversation_that_was_not_played_has_no_lines() -> None:
    assert [] == output()


def test_empty_utterance_is_shown() -> None:
    """It is part of the case; an empty reply is not shown."""
    silence = Exchange(messages=[user_says(""), agent_says(Reply())])

    assert ["  turn 1", "    user   "] == output(silence)


def test_text_of_several_lines_keeps_its_lines() -> None:
    """They are aligned."""
    speech = output(Exchange(messages=[user_says("One\nTwo\n\nFour")]))

    assert ["    user   One", "           Two", "           ", "           Four"] == speech[1:]


def test_turn_that_was_cut_off_is_marked() -> None:
    scores = (Score(name="reply", value=0.0, reason="turn 1: it said nothing"),)

    assert ["    (stopped: the agent reached the maximum number of steps)", "    ✗ reply: it said nothing"] == output(
        turn(cut=True), scores=scores
    )[2:]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("look"), "look()"),
        (call("look", name="Ada", tags=["a", None]), "look(name='Ada', tags=['a', None])"),
        (ToolCall(tool="look", arguments={}), "look()"),
    ],
)
def test_call_reads_like_a_call(made: ToolCall, expected: str) -> None:
    """Arguments as they were sent."""
    assert [f"    agent  → {expected}"] == output(turn(agent_says(Reply(calls=[made]))))[2:]


@pytest.mark.parametrize("arguments", [None, [1], "name", 7])
def test_call_with_invalid_arguments_is_shown(arguments: Any) -> None:  # noqa: ANN401 (JSON)
    """They are the reason why the trial failed."""
    made = ToolCall(tool="look", arguments=arguments)

    assert [f"    agent  → look({arguments!r})"] == output(turn(agent_says(Reply(calls=[made]))))[2:]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None"),
        (True, "True"),
        (7.5, "7.5"),
        ("a word", "'a word'"),
        ({}, ""),
        ({"id": "a", "owner": None, "amount": 0, "name": ""}, "id='a', amount=0, name=''"),
    ],
)
def test_result_that_is_not_a_list_is_shown_on_one_line(value: Json, expected: str) -> None:
    """Empty fields of a row are omitted."""
    assert [f"    crm    ← {expected}"] == result_of(ToolResult(value=value))


def test_rows_are_counted_and_listed() -> None:
    found = ToolResult(value=[{"id": "a", "owner": None}, {"id": "b"}], note="These are the first 2 of 9 rows.")

    assert ["    crm    ← 2 rows (These are the first 2 of 9 rows.)", "             id='a'", "             id='b'"] == (
        result_of(found)
    )


@pytest.mark.parametrize(("value", "count"), [([], "0 rows"), ([1], "1 row"), ([1, 2], "2 rows")])
def test_number_of_rows_has_a_plural(value: Json, count: str) -> None:
    assert f"    crm    ← {count}" == result_of(ToolResult(value=value))[0]


def test_only_some_of_many_rows_are_shown() -> None:
    """The first rows, and how many more there are."""
    _, *rows, more = result_of(ToolResult(value=[{"id": number} for number in range(ROWS + 3)]))

    assert [f"             id={number}" for number in range(ROWS)] == rows
    assert "             … and 3 more" == more


def test_all_rows_are_shown_if_they_fit() -> None:
    assert 1 + ROWS == len(result_of(ToolResult(value=list(range(ROWS)))))


def test_refusal_is_shown_with_its_kind() -> None:
    """A note about a value is not part of it."""
    refusal = ToolResult(error=ToolError(kind="timeout", message="This took too long."))

    assert ["    crm    ← timeout: This took too long."] == result_of(refusal)


def test_results_are_shown_in_the_order_of_the_calls() -> None:
    """All calls of a reply, then all results."""
    both = turn(
        agent_says(Reply(text="Both.", calls=[call("a"), call("b")])),
        crm_says([ToolResult(value=1), ToolResult(value=2)]),
    )

    assert [
        "    agent  Both.",
        "    agent  → a()",
        "    agent  → b()",
        "    crm    ← 1",
        "    crm    ← 2",
    ] == output(both)[2:]


LONG = "x" * WIDTH


@pytest.mark.parametrize(
    ("exchange", "shown"),
    [
        pytest.param(turn(crm_says([ToolResult(value=LONG)])), f"'{LONG[1:]}… ({WIDTH + 2} characters)", id="value"),
        pytest.param(turn(crm_says([ToolResult(value=[LONG])])), f"'{LONG[1:]}… ({WIDTH + 2} characters)", id="row"),
        pytest.param(
            turn(crm_says([ToolResult(error=ToolError(kind="conflict", message=LONG))])),
            f"conflict: {LONG[10:]}… ({WIDTH + 10} characters)",
            id="refusal",
        ),
        pytest.param(turn(agent_says(Reply(calls=[call(LONG)]))), f"{LONG}… ({WIDTH + 2} characters)", id="call"),
    ],
)
def test_long_texts_are_shortened(exchange: Exchange, shown: str) -> None:
    assert output(exchange)[-1].endswith(f" {shown}")


def test_short_texts_are_shown_completely() -> None:
    fits = LONG[2:]

    assert [f"    crm    ← '{fits}'"] == result_of(ToolResult(value=fits))


def test_reply_is_shown_up_to_a_length() -> None:
    """A reply that fits on a screen is complete; a book is not."""
    speech, book = "word " * (SPEECH // 5), "word " * SPEECH

    assert f"    agent  {speech}" == output(turn(agent_says(says(speech))))[-1]
    assert f"    agent  {speech}… ({len(book)} characters)" == output(turn(agent_says(says(book))))[-1]


def test_long_turn_is_shown_by_its_beginning_and_its_end() -> None:
    lines = output(turn(agent_says(says("\n".join(map(str, range(2 * LINES)))))))

    assert LINES + 2 == len(lines)
    assert f"    … {LINES + 1} lines left out" in lines
    assert lines[-1].endswith(str(2 * LINES - 1))


def test_text_of_an_agent_does_not_affect_the_terminal() -> None:
    """An agent may say anything; only our colours are escape sequences."""
    assert r"    agent  \x1b[31mred\x1b[0m\x07" == output(turn(agent_says(says("\x1b[31mred\x1b[0m\x07"))))[-1]


@pytest.mark.parametrize(
    ("text", "colours", "written"),
    [
        ("a", [Colour.RED], "\x1b[31ma\x1b[0m"),
        ("a", [Colour.BOLD, Colour.RED], "\x1b[1;31ma\x1b[0m"),
        ("a", [], "a"),
        ("", [Colour.RED], ""),
    ],
)
def test_pen_adds_colours(text: str, colours: list[Colour], written: str) -> None:
    """One, several or none; an empty text gets none."""
    assert written == Pen(colored=True)(text, *colours)


def test_pen_without_colours_adds_nothing() -> None:
    assert "a" == Pen()("a", Colour.RED)
