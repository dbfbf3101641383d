"""The end of a run on one screen."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.render.fitting import fitted, wrapped, wrapped_dialogue
from pytest_crmeval.render.progress_table import cells
from pytest_crmeval.render.terminal import RunEnd, example_of, failures
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.gate import Gate
from pytest_crmeval.report.gating import judge
from pytest_crmeval.report.report import Report
from tests.fakes import planned, trial

LONG = "a-company-wide-sales-assistant-of-the-second-generation"
REASONS = ("clients", "contacts", "deals", "quotes", "notes", "files", "contracts", "people", "tasks", "calls", "mails")


def failed(case: str, reason: str, subject: str = LONG) -> Trial:
    """Return a trial that failed for a reason."""
    wrong = Score(name="state", value=0.0, reason=reason)
    return replace(trial(planned(case, subject=subject), Verdict.FAILED), scores=(wrong,))


def report(*trials: Trial) -> Report:
    """Return the report of trials, with a gate."""
    found = reports.build({"id": "mine"}, {each.planned.key: each for each in trials}, [])
    return replace(found, rulings=judge([Gate.parse("crm.pass_rate >= 0.60")], found))


def many() -> Report:
    """Return a report with eleven reasons, the first of them most frequent."""
    wrong = [
        failed(f"case-{place}-{n}", f"{name}: missing: name='Ada'", subject=subject)
        for subject in (LONG, "gpt-4.1")
        for place, name in enumerate(REASONS)
        for n in range(30 - place)
    ]
    return report(*wrong, trial(planned("case-0-0", subject="oracle")))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = RunEnd(report=many(), notes=["a note " * 30], places=["report: here"]).lines(width, None)

    assert width >= max(map(len, lines))


def test_a_small_screen_has_fewer_reasons_and_a_large_one_at_most_ten() -> None:
    """The rest is counted."""
    small, large = (list(RunEnd(report=many()).lines(80, height)) for height in (18, 200))

    assert 18 - 3 == len(small)  # the title, the line of pytest and the prompt
    assert [10, 4] == [sum("missing: …" in line for line in lines) for lines in (large, small)]
    assert "   270  for 12 other reasons" in large


def test_a_reason_has_a_count_a_subject_and_an_example() -> None:
    """The most frequent first."""
    first = list(failures(many(), 80))[:2]

    assert "550 trials failed; the most frequent reasons:" == first[0]
    assert first[1].startswith("    30  a-compan…eration  state: clients: missing: …")
    assert first[1].endswith("case-0-0")
    assert "case-0-0" == example_of(many())


def test_a_reason_of_one_trial_is_shown_in_its_own_words() -> None:
    """Placeholders are only for what differs between trials."""
    wrong = [failed(case, f"quotes: expected {case} rows", subject="x") for case in ("3", "4")]

    assert "quotes: expected 3 rows" in list(failures(report(*wrong[:1]), 80))[1]
    assert "quotes: expected # rows" in list(failures(report(*wrong), 80))[1]


def test_failures_of_mute_are_left_out_unless_there_are_no_others() -> None:
    """It can't pass, so they say nothing."""
    mute = failed("one", "it said nothing", subject="mute")

    assert any("it said nothing" in line for line in failures(report(mute), 80))
    assert not any("it said nothing" in line for line in failures(report(mute, failed("one", "wrong")), 80))


def test_errored_trials_are_counted_and_marked() -> None:
    """They are not failures of the subject."""
    lines = list(failures(report(trial("one", Verdict.ERRORED), failed("two", "wrong", "oracle")), 80))

    assert "1 trial failed and 1 trial errored; the most frequent reasons:" == lines[0]
    assert any("errored: ConnectionError" in line for line in lines)


def test_a_run_without_failures_has_no_reasons() -> None:
    sound = report(trial("one"))

    assert [] == list(failures(sound, 80))
    assert "" == example_of(sound)


def test_a_narrow_table_loses_spare_columns_and_then_cuts_names() -> None:
    """Numbers are never cut."""
    rows = [("name", "spare", "rate"), ("x" * 30, "1", "0.500")]

    assert ["name                            spare   rate", f"{'x' * 30}      1  0.500"] == list(
        fitted(rows, names=1, width=50, spare=("spare",))
    )
    assert ["name         rate", "xxxxx…xxxx  0.500"] == list(fitted(rows, names=1, width=17, spare=("spare",)))


def test_a_long_sentence_is_wrapped_between_words() -> None:
    """Lines after the first are indented."""
    assert ["one two", "  three"] == list(wrapped("one two three", 8))
    assert ["one two three"] == list(wrapped("one two three", None))


def test_wrapped_dialogue_continues_below_the_words_of_the_speaker() -> None:
    """Speakers, calls and faults stand out at the left edge."""
    text = (
        "mine failed\n    user   one two three four five\n    agent  → search(a_name_of_some_length)\n"
        "    ✗ calls: not made: search() or list()"
    )

    assert [
        "mine failed",
        "    user   one two three four",
        "           five",
        "    agent  → search(a_name_of_",
        "             some_length)",
        "    ✗ calls: not made:",
        "      search() or list()",
    ] == wrapped_dialogue(text, 30).split("\n")


@given(
    words=st.lists(st.text("abc\u4e2d", min_size=1, max_size=30), min_size=1, max_size=12),
    width=st.integers(min_value=20, max_value=40),
)
def test_wrapped_dialogue_fits_loses_nothing_and_ignores_colours(words: list[str], width: int) -> None:
    """Colour codes take no room; wide letters take two columns."""
    coloured = f"    user   \x1b[36m{' '.join(words)}\x1b[0m"
    lines = wrapped_dialogue(coloured, width).split("\n")
    bare = [line.replace("\x1b[36m", "").replace("\x1b[0m", "") for line in lines]

    assert all(cells(line) <= width for line in bare)
    assert "".join(words) == "".join("".join(bare).removeprefix("    user").split())
    assert ("".join(lines).count("\x1b[36m"), "".join(lines).count("\x1b[0m")) == (1, 1)
