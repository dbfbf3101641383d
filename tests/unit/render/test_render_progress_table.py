"""Progress on as many columns as there are."""

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from pytest_crmeval.journal.progress import Progress
from pytest_crmeval.render.progress_table import cells, cut, dollars, duration, folded, in_words, large, sheet
from tests.fakes import share

LONG = "openai:gpt-4.1-mini?temperature=0.7&max_output_tokens=800"
ROWS = [
    Progress(
        suite="crm",
        subject="gpt-4.1",
        total=1200,
        passed=98,
        failed=34,
        pass_rate=share(98, 34),
        in_flight=8,
        calls=900,
        tokens_in=1_234_567,
        tokens_out=43_210,
        cost=1.324,
        rate=24.3,
        eta=2700.0,
    ),
    Progress(
        suite="crm",
        subject=LONG,
        total=1200,
        passed=8,
        failed=34,
        pass_rate=share(8, 34),
        errored=2,
        in_flight=8,
        calls=900,
        retries=12,
        tokens_in=9_000,
        cost=None,
        rate=4.3,
        eta=12_700.0,
    ),
    Progress(suite="crm", subject="claude", total=1200, in_flight=0),
]
WHOLE = Progress(
    total=3600,
    passed=106,
    failed=68,
    errored=2,
    in_flight=16,
    rate=28.6,
    eta=7000.0,
    calls=1800,
    retries=12,
    tokens_in=1_243_567,
    tokens_out=43_210,
    cost=None,
)
NUMBERS = re.compile(r"\d[\d./]*\d|\d")


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200, None])
def test_table_of_three_subjects_fits_every_width(snapshot: SnapshotAssertion, width: int | None) -> None:
    """What matters most stays longest; below that, lines instead of columns."""
    assert snapshot == "\n".join(sheet(ROWS, WHOLE, width).lines())


@pytest.mark.parametrize("width", [40, 80, 200])
def test_subject_without_model_calls_has_no_token_columns(snapshot: SnapshotAssertion, width: int) -> None:
    row = Progress(
        suite="crm", subject="oracle", total=1200, passed=300, pass_rate=share(300, 0), rate=1440.0, eta=37.5
    )

    assert snapshot == "\n".join(sheet([row], row, width).lines())


@pytest.mark.parametrize("width", range(26, 200, 7))
def test_table_is_never_wider_than_the_terminal(width: int) -> None:
    assert [] == [line for line in sheet(ROWS, WHOLE, width).lines() if cells(line) > width]


@pytest.mark.parametrize("width", range(26, 200, 7))
def test_no_number_is_cut(width: int) -> None:
    """Names are, numbers are there or not."""
    everything = set(NUMBERS.findall(" ".join(sheet(ROWS, WHOLE).lines())))
    nameless = [re.sub(r"× \S+", "", line) for line in sheet(ROWS, WHOLE, width).lines()]

    shown = {number for line in nameless for number in NUMBERS.findall(line)}

    assert shown
    assert set() == shown - everything


def test_table_of_an_empty_run_is_empty() -> None:
    """A run that has not begun."""
    assert [] == list(sheet([], Progress(), 80).lines())


@pytest.mark.parametrize(
    ("seconds", "output"),
    [
        (None, "-"),
        (0.2, "0 s"),
        (59.4, "59 s"),
        (61, "1 min 1 s"),
        (120, "2 min"),
        (659, "10 min"),
        (3_600, "1 h"),
        (12_700, "3 h 31 min"),
        (90_000, "1 d 1 h"),
        (-5, "0 s"),
    ],
)
def test_durations_are_short(seconds: float | None, output: str) -> None:
    assert output == duration(seconds)


@pytest.mark.parametrize(
    ("number", "output"),
    [(0, "0"), (999, "999"), (1_000, "1.00k"), (12_345, "12.3k"), (1_234_567, "1.23M"), (4 * 10**11, "400G")],
)
def test_large_counts_have_three_digits(number: int, output: str) -> None:
    """Three digits."""
    assert output == large(number)


@pytest.mark.parametrize(
    ("cost", "calls", "output"), [(None, 3, "unknown"), (1.5, 3, "$1.50"), (0.0, 3, "$0.00"), (0.0, 0, "-")]
)
def test_cost_is_shown_in_dollars(cost: float | None, calls: int, output: str) -> None:
    assert output == dollars(Progress(cost=cost, calls=calls))


def test_a_name_keeps_its_end() -> None:
    """Subjects often differ in nothing else."""
    assert "openai:gpt…tokens=800" == cut(LONG, 21)
    assert "crm" == cut("crm", 3)


def test_wide_letters_take_two_columns() -> None:
    assert 4 == cells("評価")
    assert cells(cut("評価" * 10, 9)) <= 9


def test_a_name_with_control_characters_moves_no_cursor() -> None:
    """It is shown escaped."""
    row = Progress(suite="crm", subject="evil\x1b[2J", total=1)

    assert "\x1b" not in "\n".join(sheet([row], row, 80).lines())


def test_phrases_are_folded_between_them() -> None:
    """The lines that follow are indented."""
    assert ["run x: running,", "  for 3 s,", "  process 4711"] == list(
        folded(["run x: running", "for 3 s", "process 4711"], 15)
    )


def test_a_row_in_words(snapshot: SnapshotAssertion) -> None:
    assert snapshot == [in_words(row) for row in [*ROWS, WHOLE]]
