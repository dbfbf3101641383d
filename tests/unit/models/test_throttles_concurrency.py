"""How many may ask at the same time."""

from pytest_crmeval.models.limits.throttles import ConcurrencyLimit


def crowd(*, rounds: int = 0) -> ConcurrencyLimit:
    """Return a crowd that has grown for so many rounds, every call answered."""
    made = ConcurrencyLimit()
    for _ in range(rounds):
        answered(made)
    return made


def answered(made: ConcurrencyLimit) -> None:
    """Have a whole round answered."""
    asking = made.limit
    for _ in range(asking):
        made.grow(asking)


def test_limit_starts_at_8_and_doubles_every_round() -> None:
    """Slow start."""
    assert [8, 16, 32, 64] == [crowd(rounds=rounds).limit for rounds in range(4)]


def test_limit_is_at_most_512() -> None:
    """However well it goes."""
    assert 512 == crowd(rounds=12).limit


def test_limit_does_not_grow_while_it_is_not_used() -> None:
    """Three who ask say nothing about twenty."""
    made = crowd()
    for _ in range(100):
        made.grow(asking=3)

    assert 8 == made.limit


def test_a_throttled_answer_halves_it() -> None:
    """At once."""
    made = crowd(rounds=2)
    made.shrink(order=50, latest=80)

    assert 16 == made.limit


def test_calls_that_were_let_in_before_do_not_halve_it_again() -> None:
    """They tell of the crowd as it was."""
    made = crowd(rounds=2)
    for order in (50, 51, 20, 80):
        made.shrink(order, latest=80)

    assert 16 == made.limit


def test_a_call_that_was_let_in_after_that_halves_it_again() -> None:
    """Still too many."""
    made = crowd(rounds=2)
    made.shrink(order=50, latest=80)
    made.shrink(order=81, latest=90)

    assert 8 == made.limit


def test_limit_is_at_least_1() -> None:
    made = crowd()
    for order in range(1, 100):
        made.shrink(order, latest=order)

    assert 1 == made.limit


def test_after_the_first_throttled_answer_it_grows_by_about_one_a_round() -> None:
    """Additive increase."""
    made = crowd(rounds=2)
    made.shrink(order=1, latest=1)
    sizes = []
    for _ in range(8):
        answered(made)
        sizes.append(made.limit)

    assert 16 + 7 <= sizes[-1] <= 16 + 8
