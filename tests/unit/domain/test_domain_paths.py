"""Names of suites, subjects and cases as file names."""

from pathlib import PurePath

import pytest

from pytest_crmeval.domain.paths import place, slug


@pytest.mark.parametrize("name", ["crm", "gpt-4.1", "contact-complex-0001", "quote_2", "a", "x.y", "claude+tools"])
def test_safe_name_does_not_change(name: str) -> None:
    assert name == slug(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("openai:gpt-4.1?api=chat", "openai-gpt-4.1-api=chat~", id="a spec"),
        pytest.param("../../etc/passwd", "etc-passwd~", id="a way out"),
        pytest.param("..", "unnamed~5ec1f7e700", id="the folder above"),
        pytest.param("", "unnamed~e3b0c44298", id="nothing"),
        pytest.param(".hidden", "hidden~", id="hidden"),
        pytest.param("-rf", "rf~", id="an option"),
        pytest.param("ends.", "ends~", id="a dot at the end"),
        pytest.param("con", "con~", id="a device of Windows"),
        pytest.param("nul.txt", "nul.txt~", id="a device with an ending"),
        pytest.param("Ada", "Ada~", id="upper case"),
        pytest.param("größe 中文", "gr-e~", id="letters of others"),
        pytest.param("half \ud83d", "half~", id="half a surrogate pair"),
        pytest.param("a\x00b\nc", "a-b-c~", id="what no name can have"),
        pytest.param("a~b", "a-b~", id="the sign before a digest"),
    ],
)
def test_unsafe_name_is_made_safe(name: str, expected: str) -> None:
    made = slug(name)

    assert made.startswith(expected)
    assert len(made.rpartition("~")[2]) == 10


def test_long_name_is_shortened() -> None:
    """A file name has at most 255 bytes, including the suffix."""
    assert 100 > len(slug("x" * 5000))


def test_different_names_have_different_files() -> None:
    """Even if the file system ignores case, or the difference is cut off."""
    names = ["a/b", "a:b", "a-b", "A-b", "a-B", "..", ".", "", "é", "è", "x" * 200, "x" * 201, "con", "CON"]

    made = {slug(name).casefold() for name in names}

    assert len(names) == len(made)


def test_case_has_its_path() -> None:
    assert PurePath("crm/gpt-4.1/quote-0001") == place("crm", "gpt-4.1", "quote-0001")


@pytest.mark.parametrize("case", ["quote.judge", "quote.2"])
def test_path_of_a_case_is_not_that_of_its_judge_or_second_trial(case: str) -> None:
    assert place("crm", "oracle", case).name.startswith(f"{case}~")
