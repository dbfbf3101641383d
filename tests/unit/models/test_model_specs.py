"""Specs of models."""

import dataclasses

import pytest

from pytest_crmeval.models.specs import PARAMETERS, ModelSpec, Price, SpecError, is_model


def test_a_model_is_asked_with_temperature_0_and_800_tokens_unless_the_spec_says_otherwise() -> None:
    """A model is asked with temperature 0 and 800 tokens unless the spec says otherwise."""
    spec = ModelSpec.parse("openai:gpt-4.1")

    assert ("openai", "gpt-4.1", 0.0, 800) == (spec.provider, spec.model, spec.temperature, spec.output_limit)


def test_every_parameter_is_read() -> None:
    """Every parameter is read."""
    spec = ModelSpec.parse(
        "openai:org/model:7b?temperature=0.5&max_output_tokens=99&base_url=http://127.0.0.1:8000/v1/&api=chat"
        "&price=2/0.5/8&timeout=30&retries=2&key=GATEWAY_KEY"
    )

    assert spec == ModelSpec(
        provider="openai",
        model="org/model:7b",
        temperature=0.5,
        max_output_tokens=99,
        base_url="http://127.0.0.1:8000/v1",
        api="chat",
        price=Price(input=2.0, cached=0.5, output=8.0),
        timeout=30.0,
        retries=2,
        key="GATEWAY_KEY",
    )


def test_a_price_without_a_cached_one_is_the_same_for_cached_tokens() -> None:
    """A price without a cached one is the same for cached tokens."""
    assert Price(input=3.0, cached=3.0, output=15.0) == ModelSpec.parse("anthropic:m?price=3/15").price


def test_the_temperature_can_be_left_to_the_model() -> None:
    """The temperature can be left to the model."""
    assert ModelSpec.parse("openai:o3?temperature=default").temperature is None


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("openai:", "is not PROVIDER:MODEL"),
        ("google:gemini", "is not PROVIDER:MODEL"),
        ("openai:m?temprature=1", "unknown parameter 'temprature'; known: api, base_url"),
        ("openai:m?temperature=hot", "temperature=hot is not a number"),
        ("openai:m?temperature=nan", "must be a number from 0 to 2"),
        ("openai:m?temperature=3", "must be a number from 0 to 2"),
        ("anthropic:m?temperature=1.5", "temperature=1.5: must be a number from 0 to 1"),
        ("openai:m?max_output_tokens=0", "must be a whole number"),
        ("openai:m?max_output_tokens=1.5", "must be a whole number"),
        ("openai:m?base_url=localhost:8000", "is not an http address"),
        ("openai:m?base_url=http://localhost:99999/v1", "is not an http address"),
        ("OpenAI:m", "is not PROVIDER:MODEL"),
        ("openai:m?base_url=http://user:hunter22@host/v1", "must not contain a password"),
        ("openai:m?base_url=http://host/v1?token=x", "must not contain a query"),
        ("openai:m?base_url=http://host/v1#x", "must not contain a query"),
        ("openai:m?api=batch", "must be chat or responses"),
        ("anthropic:m?api=chat", "only OpenAI's models have"),
        ("openai:m?price=2", "input/output"),
        ("openai:m?price=-1/2", "must be a number from 0"),
        ("openai:m?price=free/free", "not a number"),
        ("openai:m?timeout=0", "must be a number from 0.1"),
        ("openai:m?retries=-1", "must be a whole number"),
        ("openai:m?key=sk-123", "name the environment variable"),
        ("openai:m?temperature=0&temperature=1", "given twice"),
        ("openai:m?temperature=", "is not a number"),
    ],
)
def test_invalid_spec_is_refused_with_the_reason(spec: str, told: str) -> None:
    """What cannot be is refused with the reason."""
    with pytest.raises(SpecError, match=told.replace("?", r"\?")):
        ModelSpec.parse(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "openai:m?api_key=sk-very-secret-1",
        "openai:m?base_url=http://a:sk-very-secret-1@b/",
        "openai:m?base_url=http://b/v1?token=sk-very-secret-1",
        "openai:m?base_url=b/v1?token=sk-very-secret-1",
        "openai:m?base_url=http://b/v1#sk-very-secret-1",
    ],
)
def test_a_refusal_does_not_repeat_a_secret(spec: str) -> None:
    """A refusal does not repeat a secret."""
    with pytest.raises(SpecError) as caught:
        ModelSpec.parse(spec)

    assert "very-secret" not in str(caught.value)


def test_identity_of_a_model_has_its_settings_but_no_key_or_address() -> None:
    """The identity has what decides the answer and neither key nor address."""
    identity = ModelSpec.parse("openai:m?base_url=http://h/v1&key=K&timeout=3&price=1/1&api=responses").identity

    assert "openai:m" == str(identity)
    assert {"temperature": 0.0, "max_output_tokens": 800, "api": "responses"} == identity.settings


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("openai:gpt-4.1", True),
        ("anthropic:c?x=1", True),
        ("bots:Half", False),
        ("oracle", False),
        ("openai:", True),
        ("OpenAI:m", True),
    ],
)
def test_a_model_is_known_by_its_provider(spec: str, *, expected: bool) -> None:
    """A model is known by its provider."""
    assert expected == is_model(spec)


def test_every_parameter_is_described() -> None:
    """The reference page is written from these descriptions."""
    fields = {field.name for field in dataclasses.fields(ModelSpec)} - {"provider", "model"}

    assert fields == PARAMETERS.keys()
