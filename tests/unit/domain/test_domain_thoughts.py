"""Thoughts are separated from the reply."""

import pytest

from pytest_crmeval.domain.messages import Reply, agent_says, separated, shown_to_agent


@pytest.mark.parametrize(
    ("text", "thoughts", "said"),
    [
        ("<think>Is it Lyon?</think>Paris.", "Is it Lyon?", "Paris."),
        ("<thinking>\nIs it Lyon?\n</thinking>\n\nParis.", "Is it Lyon?", "Paris."),
        ("<THINK>a</Think> b", "a", "b"),
        ("<think>\n\n</think>\n\nParis.", "", "Paris."),
        ("<think>a</think>One <think>b</think>two", "a\n\nb", "One two"),
        ("<think>It is Lyon, no,", "It is Lyon, no,", ""),
        ("Done.\n<think>Was it?", "Was it?", "Done."),
        ("Is it Lyon?</think>Paris.", "Is it Lyon?", "Paris."),
        ("<think>a <think> b </think> c </think> d", "a\n\nb\n\nc", "d"),
        ("<think type='long'>a</think>b", "a", "b"),
        ("<think>the tag `</think>` ends it</think>Paris.", "the tag `</think>` ends it", "Paris."),
        ("<think>", "", ""),
        ("<think>a</think>```json\n{}\n```", "a", "```json\n{}\n```"),
        ("<think>run `x`</think>```\nls\n```", "run `x`", "```\nls\n```"),
        ("<think>a\n```\nunfinished\n</think>Paris.", "a\n```\nunfinished", "Paris."),
        ("a\n```\n<think>\n```\nb</think>Paris.", "a\n```\n<think>\n```\nb", "Paris."),
        ("<think>a</think>Write\n```\n<think>b</think>\n```", "a", "Write\n```\n<think>b</think>\n```"),
        ("<think>a</think>```\n<think>\n``` end", "a", "```\n<think>\n``` end"),
        ("<think>a</think>Paris.</think>", "a", "Paris."),
        ("<think>a <think> b </think> c </think>", "a\n\nb\n\nc", ""),
        ("<think>a <think> b </think> Paris.", "a\n\nb", "Paris."),
    ],
)
def test_thoughts_in_a_text_are_separated(text: str, thoughts: str, said: str) -> None:
    """The opening or closing tag may be missing."""
    assert (thoughts, said) == separated(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " Paris. ",
        "I think so.",
        "a < b > c",
        "Write `<think>` first.",
        "Write `x <think> y` first.",
        "Write `<think>a</think>`.",
        "Like this:\n```xml\n<think>a</think>\n```\nDone.",
        "<thinker>x</thinker>",
    ],
)
def test_text_without_thoughts_does_not_change(text: str) -> None:
    """White space is kept."""
    assert ("", text) == separated(text)


def test_agent_is_not_shown_its_thoughts() -> None:
    message = agent_says(Reply(text="<think>b</think>c", thoughts="a"))

    assert ("a\n\nb", "c") == (message.thoughts, message.text)
    assert ("", "c") == (shown_to_agent(message).thoughts, shown_to_agent(message).text)
