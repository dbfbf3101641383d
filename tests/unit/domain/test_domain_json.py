"""What may cross a wire or a disk."""

import pytest

from pytest_crmeval.domain.cutting import LONGEST, printable


@pytest.mark.parametrize("text", ["", "Done.", "größe 中文 🙂", "two\nlines", "x" * LONGEST])
def test_text_stays_as_it_is(text: str) -> None:
    assert text == printable(text)


def test_half_a_surrogate_pair_is_spelled_out() -> None:
    assert r"ok \ud83d ok" == printable("ok \ud83d ok")


def test_a_book_is_cut() -> None:
    assert f"{'x' * LONGEST}… ({LONGEST + 1} characters)" == printable("x" * (LONGEST + 1))
