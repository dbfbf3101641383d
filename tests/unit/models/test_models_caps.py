"""Caps as people write them."""

import pytest

from pytest_crmeval.models.caps import Cap, CapError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("openai:gpt-4.1 500rpm 200000tpm", Cap(pattern="openai:gpt-4.1", requests=500, tokens=200_000)),
        ("openai:gpt-4.1 200000tpm 500rpm", Cap(pattern="openai:gpt-4.1", requests=500, tokens=200_000)),
        ("openai:* 500rpm", Cap(pattern="openai:*", requests=500)),
        ("  *   2_000_000tpm ", Cap(pattern="*", tokens=2_000_000)),
        ("openai:llama3:8b 3rpm", Cap(pattern="openai:llama3:8b", requests=3)),
    ],
)
def test_a_cap_is_a_pattern_and_one_rate_or_two(text: str, expected: Cap) -> None:
    """In any order."""
    assert expected == Cap.parse(text)


@pytest.mark.parametrize(
    ("text", "pointing", "wanted"),
    [
        ("", "^", "provider:model"),
        ("gpt-4.1 500rpm", "^", "provider:model"),
        ("500rpm openai:gpt-4.1", "^", "provider:model"),
        ("openai:gpt-4.1", "               ^", "a rate"),
        ("openai:gpt-4.1 500", "               ^", "a rate"),
        ("openai:gpt-4.1 500 rpm", "               ^", "a rate"),
        ("openai:gpt-4.1 500rpm 2e5tpm", "                      ^", "a rate"),
        ("openai:gpt-4.1 0rpm", "               ^", "a rate above 0"),
        ("openai:gpt-4.1 -1rpm", "               ^", "a rate"),
        ("openai:gpt-4.1 5rpm 6rpm", "                    ^", "no second rpm"),
        ("openai:gpt-4.1 5__0rpm", "               ^", "a rate"),
        (f"openai:gpt-4.1 {'9' * 5000}rpm", "               ^", "a rate"),
    ],
)
def test_an_error_points_at_the_place(text: str, pointing: str, wanted: str) -> None:
    """And says what was expected there."""
    with pytest.raises(CapError) as caught:
        Cap.parse(text)

    said, shown, caret = str(caught.value).split("\n")
    assert said.startswith(f"expected {wanted}")
    assert (f"  {text}", f"  {pointing}") == (shown, caret)


@pytest.mark.parametrize(
    ("pattern", "model", "expected"),
    [
        ("openai:gpt-4.1", "openai:gpt-4.1", True),
        ("openai:gpt-4.1", "openai:gpt-4.1-mini", False),
        ("openai:gpt-4.1*", "openai:gpt-4.1-mini", True),
        ("openai:*", "openai:org/llama:8b", True),
        ("openai:*", "anthropic:claude", False),
        ("*", "anthropic:claude", True),
        ("openai:m", "openai:m http://127.0.0.1:8000/v1", True),
        ("openai:*1", "openai:m http://127.0.0.1:8000/v1", False),
    ],
)
def test_a_pattern_speaks_of_models(pattern: str, model: str, expected: bool) -> None:  # noqa: FBT001 (a column)
    """As in file names."""
    assert expected == Cap(pattern=pattern, requests=1).holds_for(model)
