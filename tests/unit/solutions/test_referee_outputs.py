"""Outputs are compared fairly, and the first difference is reported."""

from decimal import Decimal
from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_crmeval.solutions.problem import Compare, OutputComparison
from pytest_crmeval.solutions.referee import difference, same_word

TOKENS = OutputComparison()
NEAR = OutputComparison(tolerance=1e-6)
FRACTIONS = OutputComparison(tolerance=1e-6, integers=False)
PLAIN = OutputComparison(mode=Compare.WORDS)
EXACT = OutputComparison(mode=Compare.EXACT)
STRICT_CASE = OutputComparison(any_case=False)


def shown(expected: str, found: str, comparison: OutputComparison = TOKENS) -> str:
    """Return the difference of two texts."""
    return difference(expected.encode(), found.encode(), comparison)


@pytest.mark.parametrize(
    ("expected", "found", "comparison"),
    [
        pytest.param("1 2 3\n", "1  2 3", TOKENS, id="blanks between words"),
        pytest.param("1\n2\n", "1 2", TOKENS, id="words on other lines"),
        pytest.param("1\r\n2\r\n", "1\n2", TOKENS, id="line ends of another system"),
        pytest.param("YES\nno", "Yes\nNO", TOKENS, id="yes and no in any case"),
        pytest.param("1 2", "1 2.0", TOKENS, id="an integer with a fraction of zeros"),
        pytest.param("2.50", "2.5", TOKENS, id="zeros at the end of a fraction"),
        pytest.param("-3.", "-3", TOKENS, id="a point with nothing behind"),
        pytest.param("0.333333", "0.3333330001", NEAR, id="near, absolutely"),
        pytest.param("1e9", "1000000100.5", OutputComparison(tolerance=1e-6), id="near, relatively"),
        pytest.param("0.0", "-0.0000001", NEAR, id="near nothing"),
        pytest.param("1.5e3", "1500", NEAR, id="without its exponent"),
        pytest.param(".5", "0.5", NEAR, id="a fraction without a zero"),
        pytest.param("0", "0E-93", NEAR, id="an integer in exponential notation"),
        pytest.param("5", "5.0000001", NEAR, id="near an integer"),
        pytest.param("YES 1", "yes\n\n1", PLAIN, id="words: spacing, yes and no"),
        pytest.param("", "\n\n", TOKENS, id="nothing but blanks"),
        pytest.param("a  b\nc\n\n\n", "a  b  \r\nc", EXACT, id="exactly but for what nobody sees"),
        pytest.param("é", "é", TOKENS, id="letters beyond ASCII"),
    ],
)
def test_equal_outputs_are_accepted(expected: str, found: str, comparison: OutputComparison) -> None:
    assert "" == shown(expected, found, comparison)


@pytest.mark.parametrize(
    ("expected", "found", "comparison", "difference"),
    [
        ("1\n2 3\n", "1\n2 4\n", TOKENS, "line 2, word 2: expected '3', found '4'"),
        ("1000000000", "1000000001", FRACTIONS, "line 1, word 1: expected '1000000000', found '1000000001'"),
        ("2", "2.0", PLAIN, "line 1, word 1: expected '2', found '2.0'"),
        (
            "123456789012345678",
            "123456789012345679",
            FRACTIONS,
            "line 1, word 1: expected '123456789012345678', found '123456789012345679'",
        ),
        ("5", "5.0000001", FRACTIONS, "line 1, word 1: expected '5', found '5.0000001'"),
        ("5", "5.1", NEAR, "line 1, word 1: expected '5', found '5.1'"),
        ("0101", "101", FRACTIONS, "line 1, word 1: expected '0101', found '101'"),
        ("0.5", "0.5000001", TOKENS, "line 1, word 1: expected '0.5', found '0.5000001'"),
        ("0.5", "0.51", NEAR, "line 1, word 1: expected '0.5', found '0.51'"),
        ("0.5", "nan", NEAR, "line 1, word 1: expected '0.5', found 'nan'"),
        ("1e5", "inf", NEAR, "line 1, word 1: expected '1e5', found 'inf'"),
        ("1_0.5", "10.5", NEAR, "line 1, word 1: expected '1_0.5', found '10.5'"),
        ("true", "1", NEAR, "line 1, word 1: expected 'true', found '1'"),
        ("Alice", "alice", TOKENS, "line 1, word 1: expected 'Alice', found 'alice'"),
        ("YES", "Yes", STRICT_CASE, "line 1, word 1: expected 'YES', found 'Yes'"),
        ("yes", "y", TOKENS, "line 1, word 1: expected 'yes', found 'y'"),
        ("1 2 3", "1 2", TOKENS, "the output ends after 2 of 3 words: expected '3'"),
        ("1", "", TOKENS, "the output ends after 0 of 1 words: expected '1'"),
        ("1", "1\n\n2", TOKENS, "line 3, word 1: expected the end, found '2'"),
        ("a\n\nb", "a\nb", EXACT, "line 2: expected '', found 'b'"),
        ("a  b", "a b", EXACT, "line 1: expected 'a  b', found 'a b'"),
        ("YES", "yes", EXACT, "line 1: expected 'YES', found 'yes'"),
        ("a\nb", "a", EXACT, "the output ends after 1 of 2 lines: expected 'b'"),
        ("a", "a\nb", EXACT, "line 2: expected the end, found 'b'"),
    ],
)
def test_different_outputs_are_refused_with_the_difference(
    expected: str, found: str, comparison: OutputComparison, difference: str
) -> None:
    assert difference == shown(expected, found, comparison)


def test_long_word_is_shortened() -> None:
    """A reason is to be read."""
    reason = shown("x" * 1_000_000, "y" * 1_000_000)

    assert len(reason) < 200
    assert "…" in reason


def test_binary_output_is_compared() -> None:
    """Programs print what they want."""
    assert "line 1, word 1: expected '1', found '\ufffd\ufffd'" == difference(b"1", b"\xff\xfe", TOKENS)


def test_megabytes_that_differ_in_the_last_word() -> None:
    """Nothing is compared twice, and the line is right."""
    lines = [f"{number} {number}.25" for number in range(200_000)]
    expected = "\n".join([*lines, "1"])
    found = "\n".join([line + "0" for line in lines] + ["2"])

    assert "line 200001, word 1: expected '1', found '2'" == shown(expected, found)


WORDS = st.lists(st.sampled_from(["1", "2.5", "yes", "No", "abc", "-7", "1e3", "x.y"]), max_size=8)
BLANKS = st.sampled_from([" ", "  ", "\n", "\r\n", "\t", "\n\n"])


@given(words=WORDS, data=st.data())
def test_blanks_never_matter(words: list[str], data: st.DataObject) -> None:
    spaced = "".join(word + data.draw(BLANKS) for word in words)

    assert "" == shown(" ".join(words), spaced)


@given(expected=WORDS, found=WORDS)
def test_outputs_are_equal_only_if_all_words_are(expected: list[str], found: list[str]) -> None:
    """And the same number is the same output only if each pair is."""
    pairs = zip_longest(expected, found, fillvalue="")
    same = all(one and other and same_word(one.encode(), other.encode(), TOKENS) for one, other in pairs)

    assert same == (not shown(" ".join(expected), " ".join(found)))


@given(one=st.integers(), other=st.integers())
def test_integers_are_exact_where_only_fractions_have_a_tolerance(one: int, other: int) -> None:
    lax = OutputComparison(tolerance=0.1, integers=False)

    assert (one == other) == (not shown(str(one), str(other), lax))
    assert (one == other) == (not shown(str(one), f"{other}.0", lax))


@settings(max_examples=200)
@given(
    expected=st.decimals(min_value=-(10**9), max_value=10**9, places=5),
    off=st.decimals(min_value=-1, max_value=1, places=9),
)
def test_a_fraction_may_be_off_by_the_tolerance_and_no_more(expected: Decimal, off: Decimal) -> None:
    """Absolutely, or relatively where it is greater than 1."""
    bound = Decimal("0.000001") * max(Decimal(1), abs(expected))
    found = expected + off

    if abs(off) < bound * Decimal("0.999"):
        assert "" == shown(f"{expected:f}", f"{found:f}", NEAR)
    elif abs(off) > bound * Decimal("1.001"):
        assert shown(f"{expected:f}", f"{found:f}", NEAR)


@pytest.mark.parametrize(
    "word",
    [
        pytest.param("0." + "0" * 10**6 + "1", id="zeros before the last digit"),
        pytest.param("1" * 10**6 + "x", id="digits that are no number"),
        pytest.param("." + "0" * 10**6 + "e", id="an exponent that never comes"),
    ],
)
def test_no_word_is_read_for_ever(word: str) -> None:
    """A hostile program may print what takes a careless pattern hours; here the test would not end."""
    assert shown("1.5", word, NEAR).startswith("line 1, word 1: expected '1.5', found ")
    assert shown(f"{word}2", word, TOKENS).startswith("line 1, word 1: expected ")
