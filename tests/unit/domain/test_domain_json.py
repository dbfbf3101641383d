"""Text and values that can be written as JSON."""

import pytest

from pytest_crmeval.domain.cutting import LONGEST, printable


@pytest.mark.parametrize("text", ["", "Done.", "größe 中文 🙂", "two\nlines", "x" * LONGEST])
def test_ordinary_text_does_not_change(text: str) -> None:
    assert text == printable(text)


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert r"ok \ud83d ok" == printable("ok \ud83d ok")


def test_very_long_text_is_cut_off() -> None:
    assert f"{'x' * LONGEST}… ({LONGEST + 1} characters)" == printable("x" * (LONGEST + 1))
