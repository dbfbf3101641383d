"""Tags and splits select cases and break down reports."""

import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.projects import TEST_FILE, case, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
STRICT = "strict = true"
TAGGED = [
    case("one", tags=["refusal"], split="train"),
    case("two", tags=["refusal", "chain"], split="test"),
    case("three", tags=["multi-write", "two requests"], split="test"),
    case("four", tags=["area:billing", "größe", "_inner", "and", "?", ""]),
    case("five"),
]
ACTING = ["skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "conversations", "tryfirst"]


def played(pytester: pytest.Pytester, *arguments: str) -> set[str]:
    """Return the cases that a run with ``arguments`` played."""
    assert pytest.ExitCode.OK == pytester.runpytest(*arguments).ret
    return {trial["case"] for trial in report_of(pytester.path)["trials"]}


def refused(pytester: pytest.Pytester, *arguments: str) -> str:
    """Return the output of a run that ends before anything is played, without a traceback."""
    result = pytester.runpytest(*arguments)
    said = f"{result.stdout.str()}\n{result.stderr.str()}"
    assert result.ret in {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR}
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert not (pytester.path / "reports").exists()
    return said


def test_m_selects_by_tag(project: Project) -> None:
    """A tag is a registered mark, so strict pytest accepts it."""
    pytester = project(TAGGED, ini=STRICT)

    assert {"one"} == played(pytester, "-m", "refusal and not chain")
    assert {"two", "three"} == played(pytester, "-m", "chain or multi-write", "-n", "1")
    assert {"four", "five"} == played(pytester, "-m", "not (refusal or multi-write)")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [("two_requests", "three"), ("area_billing", "four"), ("größe", "four"), ("inner", "four")],
)
def test_m_replaces_odd_characters_of_a_tag_by_underscores(project: Project, expression: str, expected: str) -> None:
    """Its grammar has no quotes. An underscore never comes first."""
    assert {expected} == played(project(TAGGED, ini=STRICT), "-m", expression)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("REFUS", {"one", "two"}),
        ("multi-write", {"three"}),
        ("two_requests", {"three"}),
        ("requests and not refusal", {"three"}),
        ("area:billing", {"four"}),
        ("_inner", {"four"}),
    ],
)
def test_k_selects_by_part_of_a_tag(project: Project, expression: str, expected: set[str]) -> None:
    """Ignoring case, as written in the file or in the form for ``-m``."""
    assert expected == played(project(TAGGED, ini=STRICT), "-k", expression)


def test_k_selects_by_tag_on_workers(project: Project) -> None:
    """The workers select the same cases."""
    assert {"one", "two"} == played(project(TAGGED), "-k", "refusal", "-n", "2")


def test_tag_option_selects_cases_with_any_of_the_tags(project: Project) -> None:
    """Exactly as written in the file, with any characters."""
    pytester = project(TAGGED, ini=STRICT)

    assert {"one", "two"} == played(pytester, "--crmeval-tag", "refusal")
    assert {"two", "three", "four"} == played(
        pytester, "--crmeval-tag=chain", "--crmeval-tag=two requests", "--crmeval-tag=and"
    )
    assert {"four"} == played(pytester, "--crmeval-tag", "?")


def test_split_option_selects_its_cases(project: Project) -> None:
    """A case without a split is in none; the options are combined."""
    pytester = project(TAGGED)

    assert {"one"} == played(pytester, "--crmeval-split", "train")
    assert {"two", "three"} == played(pytester, "--crmeval-split", "test")
    assert {"two"} == played(pytester, "--crmeval-split", "test", "--crmeval-tag", "refusal")


def test_sample_is_drawn_from_the_selected_cases(project: Project) -> None:
    cases = [case(f"case-{number}", tags=["rare"] if number % 5 == 0 else ["common"]) for number in range(20)]

    chosen = played(project(cases), "--crmeval-tag=rare", "--crmeval-sample=3")

    assert 3 == len(chosen)
    assert chosen <= {"case-0", "case-5", "case-10", "case-15"}


def test_unknown_tag_is_refused_with_the_known_ones(project: Project) -> None:
    said = refused(project(TAGGED[:3]), "--crmeval-tag=refusal", "--crmeval-tag=refused", "-p", "no:xdist")

    assert (
        "crmeval: --crmeval-tag 'refused': no case has this tag; tags: chain, multi-write, refusal, two requests"
        in said
    )


def test_error_for_an_unknown_tag_is_short_with_many_tags(project: Project) -> None:
    pytester = project([case("one", tags=[f"skill-{number:03d}" for number in range(99)] + ["the-refusal"])])

    said = refused(pytester, "--crmeval-tag=refusal")

    assert "tags: the-refusal, skill-000, skill-001" in said
    assert "skill-028 ... and 70 more" in said


def test_error_for_an_unknown_tag_without_any_tags(project: Project) -> None:
    assert "--crmeval-tag 'refusal': no case has a tag\n" in refused(project(), "--crmeval-tag=refusal")


def test_unknown_tag_is_reported_in_a_dry_run(project: Project) -> None:
    assert "no case has this tag" in refused(project(TAGGED), "--crmeval-tag=refused", "--collect-only", "-q")


def test_split_without_any_case_is_refused(project: Project) -> None:
    """If no case has a split, the error says how to set one."""
    said = refused(project(), "--crmeval-split=test")

    assert '--crmeval-split test: no case has a split; add "split": "train" or "split": "test" to the cases' in said


def test_split_without_selected_cases_names_the_others(project: Project) -> None:
    said = refused(project(TAGGED[1:]), "--crmeval-split=train")

    assert "--crmeval-split train: no case is in this split; splits: test" in said


def test_unknown_split_is_refused(project: Project) -> None:
    assert "invalid choice: 'dev'" in refused(project(TAGGED), "--crmeval-split=dev")


TWO_SUITES = f"""{TEST_FILE}

@pytest.mark.conversations("other.jsonl", suite="other")
def test_other(conversation, evaluate):
    assert evaluate(conversation).passed
"""


def test_tag_of_another_suite_is_accepted(project: Project) -> None:
    """A suite without the tag is not played, and leaves no skipped test."""
    pytester = project(TAGGED[:3], test=TWO_SUITES)
    (pytester.path / "cases.jsonl").rename(pytester.path / "other.jsonl")
    pytester = project([case("elsewhere", tags=["dates"])], test=TWO_SUITES)

    result = pytester.runpytest("--crmeval-tag=refusal")

    result.assert_outcomes(passed=2, deselected=1)
    assert ["other"] == [summary["suite"] for summary in report_of(pytester.path)["results"]]


def test_tags_that_no_case_has_together_select_nothing(project: Project) -> None:
    """As with ``-k``: each of the tags exists, but no case has both."""
    result = project(TAGGED).runpytest("--crmeval-tag=chain", "--crmeval-split=train", "-p", "no:xdist")

    assert pytest.ExitCode.NO_TESTS_COLLECTED == result.ret
    result.assert_outcomes(deselected=1)


def test_broken_file_is_reported_before_an_unknown_tag(project: Project) -> None:
    """The unreadable file may contain the tag."""
    pytester = project(TAGGED, test=TWO_SUITES)
    (pytester.path / "other.jsonl").write_text("{", encoding="utf-8")

    said = refused(pytester, "--crmeval-tag=elsewhere", "-p", "no:xdist")

    assert "other.jsonl:1: this line is not JSON" in said
    assert "no case has" not in said


def test_tag_that_is_also_a_marker_is_refused(project: Project) -> None:
    """It would skip, xfail or break its case, and so would the mark of a plugin. Nothing is played."""
    pytester = project([case("one", tags=["fine"]), case("two", tags=["skip"]), case("three", tags=["my own"])])
    pytester.makepyfile(test_plain="def test_plain(): pass")
    pytester.makeconftest("def pytest_configure(config): config.addinivalue_line('markers', 'my_own(x): acts')")

    said = refused(pytester)

    assert "cases.jsonl:2: tag 'skip' is also the marker 'skip' of pytest, a plugin or your project" in said
    assert "cases.jsonl:3: tag 'my own' is also the marker 'my_own' of pytest, a plugin or your project" in said
    assert "'fine'" not in said
    assert "passed" not in said


@pytest.mark.parametrize("tag", [*ACTING, "xdist_group", "xdist group", "_skip", "anyio", "declared"])
def test_every_registered_mark_is_refused(project: Project, tag: str) -> None:
    cases = [case("one", tags=[tag]), case("two", tags=["fine"])]
    pytester = project(cases, ini="markers = declared: in the ini file", plugin="anyio")

    assert f"tag {tag!r} is also the marker" in refused(pytester, "--crmeval-tag=fine", "--collect-only")


def test_many_tags_that_are_markers_are_reported_briefly(project: Project) -> None:
    said = refused(project([case("one", tags=ACTING), case("two", tags=ACTING)]))

    assert 5 == said.count("cases.jsonl:1: tag ")
    assert 0 == said.count("cases.jsonl:2: tag ")
    assert "... and 3 more" in said


def test_two_tests_can_have_the_same_tags(project: Project) -> None:
    pytester = project(TAGGED, ini=STRICT, test=TWO_SUITES.replace("other.jsonl", "cases.jsonl"))

    pytester.runpytest("-m", "chain", "-p", "no:xdist").assert_outcomes(passed=2, deselected=8)


def test_selection_is_shown_and_recorded(project: Project) -> None:
    """A reader of the report must know which cases it covers."""
    pytester = project(TAGGED)
    asked = ["--crmeval-tag=refusal", "--crmeval-tag=chain", "--crmeval-split=test", "--crmeval-sample=9"]

    result = pytester.runpytest(*asked, "-n", "1")

    result.stdout.fnmatch_lines(["crmeval cases:  tag refusal or chain, split test, a sample of 9 (seed 0)"])
    (part,) = report_of(pytester.path)["run"]["parts"]
    assert (["refusal", "chain"], "test", 9) == (part["tags"], part["split"], part["sample"])


def test_header_without_a_selection_does_not_mention_it(project: Project) -> None:
    pytester = project(TAGGED)

    pytester.runpytest().stdout.no_fnmatch_line("crmeval cases:*")

    (part,) = report_of(pytester.path)["run"]["parts"]
    assert ([], None) == (part["tags"], part["split"])


def shown(pytester: pytest.Pytester, cases: list[dict[str, Any]], project: Project) -> list[str]:
    """Return the lines of ``crmeval report`` about tags."""
    project(cases).runpytest("-p", "no:xdist").assert_outcomes(passed=len(cases))
    said = pytester.run(Path(sysconfig.get_path("scripts"), "crmeval"), "report").stdout.str()
    return said.partition("crm by tag")[2].partition("\n\n")[0].splitlines()[1:]


def test_report_distinguishes_similar_tags(pytester: pytest.Pytester, project: Project) -> None:
    """A line each: cases, pass rate, turns, calls, replies."""
    lines = shown(pytester, TAGGED[:3], project)

    assert ["chain", "multi-write", "refusal", "two requests"] == [line.partition("  ")[0] for line in lines]
    assert ["refusal", "oracle", "2", "1.000", "1.000", "1.000", "1.000"] == lines[2].split()


def test_many_tags_stay_readable(pytester: pytest.Pytester, project: Project) -> None:
    """The most frequent ones are shown, in order, and long names are cut; the JSON report has all of them."""
    rare = [f"rare-{number:02d}" for number in range(60)]
    cases = [case("one", tags=["frequent", *rare]), case("two", tags=["zoo", "frequent"]), case("three", tags=["zoo"])]
    cases[0]["tags"] += ["long " * 50, "two\nlines"]

    lines = shown(pytester, cases, project)

    assert 40 + 1 == len(lines)
    assert lines[0].startswith("frequent ")
    assert lines[1].startswith(f"{('long ' * 8)[:39]}…  oracle")
    assert lines[39].startswith("zoo ")
    assert "... and 24 smaller ones: see the JSON report" == lines[40]
    assert 64 == len(report_of(pytester.path)["results"][0]["by"]["tag"])
