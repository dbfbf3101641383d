"""What the command line may say about a judge."""

import pytest

from pytest_crmeval.models.judge import JudgeSpecError, parse_judge
from pytest_crmeval.models.specs import ModelSpec


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("openai:gpt-4.1", ("openai:gpt-4.1?temperature=0.5", 3)),
        ("openai:gpt-4.1?samples=1", ("openai:gpt-4.1", 1)),
        ("openai:gpt-4.1?samples=25", ("openai:gpt-4.1?temperature=0.5", 25)),
        ("openai:gpt-4.1?temperature=0.2&samples=5", ("openai:gpt-4.1?temperature=0.2", 5)),
        ("openai:gpt-4.1?temperature=default", ("openai:gpt-4.1?temperature=default", 3)),
        (
            "openai:m?samples=1&base_url=http%3A%2F%2Fhost%3A80%2Fv1%3Fa%3Db",
            ("openai:m?base_url=http%3A%2F%2Fhost%3A80%2Fv1%3Fa%3Db", 1),
        ),
    ],
)
def test_a_judge_is_a_model_and_a_number_of_opinions(spec: str, expected: tuple[str, int]) -> None:
    """Several opinions need some temperature; whatever else is in the spec stays as it is."""
    assert expected == parse_judge(spec)


@pytest.mark.parametrize("samples", ["0", "26", "-1", "1.5", "", "three", "٣", "9" * 5000])
def test_a_number_of_opinions_is_from_1_to_25(samples: str) -> None:
    with pytest.raises(JudgeSpecError, match="must be a whole number from 1 to 25"):
        parse_judge(f"openai:gpt-4.1?samples={samples}")


def test_a_number_of_opinions_is_given_once() -> None:
    with pytest.raises(JudgeSpecError, match="twice"):
        parse_judge("openai:gpt-4.1?samples=3&samples=5")


def test_judge_spec_without_its_own_parameters_is_a_model_spec() -> None:
    """Those who make models can read it."""
    spec, _ = parse_judge("anthropic:claude-sonnet-4-5?samples=5&max_output_tokens=2000")

    expected = ModelSpec(provider="anthropic", model="claude-sonnet-4-5", temperature=0.5, max_output_tokens=2000)
    assert expected == ModelSpec.parse(spec)
