"""Who plays which role, and on what terms."""

import pytest

from pytest_crmeval.agents.atlas.specs import AtlasSpec, AtlasSpecError, is_atlas, models_in, settled


def test_all_of_it_can_be_left_out() -> None:
    """The models of the seed system, in pairs, learning."""
    spec = AtlasSpec.parse("atlas")

    assert ("openai:gpt-4.1-mini", "openai:gpt-4.1") == (spec.model("student"), spec.model("teacher"))
    assert ("paired", "on", 3) == (spec.mode, spec.learning, spec.samples)


def test_role_without_a_model_uses_that_of_student_or_teacher() -> None:
    """At the same address, with the same key and price; but not with the same settings."""
    spec = AtlasSpec.parse("atlas?student=openai:s;base_url=http://h/v1;temperature=1;price=1/2&teacher=anthropic:t")

    assert "openai:s?base_url=http://h/v1&price=1/2" == spec.model("reward")
    assert ("anthropic:t", "anthropic:t") == (spec.model("arbiter"), spec.model("learner"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("openai:m", "openai:m"),
        ("openai:m;temperature=0", "openai:m?temperature=0"),
        ("openai:m;temperature=0;max_output_tokens=9", "openai:m?temperature=0&max_output_tokens=9"),
        ("openai:m%3Ftemperature=0%26api=chat", "openai:m?temperature=0&api=chat"),
    ],
)
def test_a_spec_within_a_spec(written: str, meant: str) -> None:
    """With semicolons, or escaped as in an address."""
    assert meant == AtlasSpec.parse(f"atlas?student={written}").model("student")


def test_a_role_is_asked_in_its_own_way_unless_its_spec_says_otherwise() -> None:
    """Samples of one opinion differ only with a temperature."""
    assert "openai:m?max_output_tokens=600&temperature=0.7" == settled("reward", "openai:m")
    assert "openai:m?temperature=0&max_output_tokens=600" == settled("reward", "openai:m?temperature=0")
    assert "openai:m" == settled("student", "openai:m")


@pytest.mark.parametrize(
    ("terms", "roles"),
    [
        ("", "student teacher reward arbiter learner"),
        ("mode=solo", "student reward arbiter learner"),
        ("learning=off", "student teacher"),
        ("learning=frozen&mode=solo", "student"),
    ],
)
def test_only_roles_that_are_used_need_a_key(terms: str, roles: str) -> None:
    """A key for a teacher who never speaks is not needed."""
    assert tuple(roles.split()) == AtlasSpec.parse(f"atlas?{terms}").roles


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ("mode=alone", "mode=alone: must be one of paired, coach, solo"),
        ("learning=maybe", "must be one of on, off, frozen"),
        ("order=random", "must be dataset or a seed, for example seed:7"),
        ("order=seed:x", "must be dataset or a seed, for example seed:7"),
        ("samples=0", "must be a whole number from 1 to 9"),
        ("samples=²", "must be a whole number from 1 to 9"),
        ("retries=6", "must be a whole number from 0 to 5"),
        ("threshold=nan", "must be a number from 0 to 1"),
        ("threshold=high", "must be a number from 0 to 1"),
        ("pupil=openai:m", "unknown parameter 'pupil'; parameters: student, teacher"),
        ("mode=solo&mode=coach", "a parameter is given twice"),
    ],
)
def test_invalid_terms_are_refused_with_the_valid_ones(terms: str, told: str) -> None:
    """With what could be."""
    with pytest.raises(AtlasSpecError, match=told):
        AtlasSpec.parse(f"atlas?{terms}")


def test_an_order_is_the_same_whatever_else_is_played() -> None:
    """So a resumed run goes on in it; another seed gives another one."""
    seven, eight = (AtlasSpec.parse(f"atlas?order=seed:{seed}") for seed in (7, 8))
    cases = [f"c{number}" for number in range(20)]
    ordered = sorted(cases, key=seven.rank)

    assert ordered[5:] == sorted(ordered[5:], key=seven.rank)
    assert cases != ordered != sorted(cases, key=eight.rank)
    assert cases == sorted(cases, key=AtlasSpec.parse("atlas").rank)


def test_all_models_of_a_spec_are_known() -> None:
    assert ["openai:a?key=MY_KEY", "b"] == models_in("atlas?student=openai:a;key=MY_KEY&teacher=b&mode=coach")
    assert ["openai:a"] == models_in("openai:a")
    assert [True, True, False] == [is_atlas(spec) for spec in ("atlas", "atlas?mode=solo", "atlas:x")]
