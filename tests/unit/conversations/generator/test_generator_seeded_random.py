"""Chance that falls the same everywhere."""

from collections import Counter
from uuid import UUID

from pytest_crmeval.conversations.generator.seeded_random import SeededRandom


def test_the_same_seed_gives_the_same_throws() -> None:
    chance = SeededRandom(42, "shapes", 3)

    assert [3, 40, 64, 52, 40] == [chance.below(100) for _ in range(5)]
    assert "cabfde" == "".join(SeededRandom(1).shuffled("abcdef"))
    assert "fd522e0a-a4d6-42f9-bfbd-f07d22d51d7e" == SeededRandom("an id").uuid()


def test_different_seeds_give_different_numbers() -> None:
    assert [SeededRandom(1, 2).below(10**9)] != [SeededRandom(1, 3).below(10**9)]


def test_numbers_stay_within_their_bounds() -> None:
    chance = SeededRandom("bounds")

    assert {3, 4, 5} == {chance.between(3, 5) for _ in range(200)}
    assert {0, 1} == {chance.below(2) for _ in range(100)}


def test_weights_are_kept() -> None:
    """What weighs three times as much comes three times as often; what weighs nothing, never."""
    chance = SeededRandom("weights")
    met = Counter(chance.weighted([("often", 3.0), ("seldom", 1.0), ("never", 0.0)]) for _ in range(4000))

    assert 0 == met["never"]
    assert 2.5 < met["often"] / met["seldom"] < 3.5


def test_sample_has_distinct_items() -> None:
    """Some of several are different ones; of fewer there are all."""
    chance = SeededRandom("some")

    assert 4 == len(set(chance.some(range(9), 4)))
    assert {1, 2} == set(chance.some([1, 2], 5))


def test_ids_are_of_the_kind_that_the_crm_takes() -> None:
    """Random ones, version 4."""
    assert 4 == UUID(SeededRandom("id").uuid()).version


def test_a_pattern_keeps_all_but_its_free_digits() -> None:
    number = SeededRandom("phone").digits("+353 91 xxx xxx")

    assert number.startswith("+353 91 ")
    assert "x" not in number
