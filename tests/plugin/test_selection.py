"""Cases are selected like any tests of pytest."""

import json
from collections.abc import Callable

import pytest

from tests.projects import case, failing, report_of

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
ODD_IDS = ["v1.2", "a/b", "x::y", "größe", "日本", "with space", "with_space", "$(rm -rf)", "[b]", "a@b"]


def played(pytester: pytest.Pytester, *arguments: str) -> set[str]:
    """Return the cases that a run with ``arguments`` played."""
    assert pytest.ExitCode.OK == pytester.runpytest(*arguments).ret
    return {trial["case"] for trial in report_of(pytester.path)["trials"]}


@WAYS
def test_k_selects_by_case_and_by_agent(project: Project, xdist: list[str]) -> None:
    """An id is ``<agent>-<case id>``."""
    pytester = project([case("quote-1"), case("quote-2"), case("deal-1")])

    assert {"quote-1", "quote-2"} == played(pytester, "-k", "oracle and quote", *xdist)


def test_k_that_matches_no_case_and_no_agent_selects_nothing(project: Project) -> None:
    assert pytest.ExitCode.NO_TESTS_COLLECTED == project().runpytest("-k", "mute").ret


def test_m_selects_our_tests(project: Project) -> None:
    """The marker is an ordinary marker."""
    pytester = project()
    pytester.makepyfile(test_other="def test_other(): pass")

    pytester.runpytest("-m", "conversations").assert_outcomes(passed=3, deselected=1)
    pytester.runpytest("-m", "not conversations").assert_outcomes(passed=1, deselected=3)


def test_lf_repeats_what_failed(project: Project) -> None:
    pytester = project([case("one"), failing("two"), case("three")])
    pytester.runpytest("--crmeval-agent", "bots:Half", "-n", "1").assert_outcomes(passed=2, failed=1)

    pytester.runpytest("--crmeval-agent", "bots:Half", "--lf", "-n", "1").assert_outcomes(failed=1)

    assert ["two"] == [trial["case"] for trial in report_of(pytester.path)["trials"]]


def test_x_stops_at_the_first_failure(project: Project) -> None:
    """Cases that were not played are counted as not run."""
    pytester = project([failing("one"), case("two"), case("three")])

    pytester.runpytest("-x", "-p", "no:xdist", "--crmeval-agent", "bots:Half").assert_outcomes(failed=1)

    (summary,) = report_of(pytester.path)["results"]
    assert (1, 2) == (summary["failed"], summary["not_run"])


def test_several_agents_play_the_same_cases(project: Project) -> None:
    """Each agent and case is an item of its own."""
    pytester = project()

    agents = ("--crmeval-agent", "oracle", "--crmeval-agent", "mute")
    pytester.runpytest(*agents, "-p", "no:xdist").assert_outcomes(passed=3, failed=3)

    rates = {summary["subject"]: summary["pass_rate"] for summary in report_of(pytester.path)["results"]}
    assert {"oracle": 1.0, "mute": 0.0} == rates


def test_agents_with_similar_specs_have_different_ids(project: Project) -> None:
    """Even if the differing characters are not safe for the shell."""
    pytester = project([case("one")])
    pytester.makepyfile(flex="from bots import Half\nclass Flex(Half):\n    def __init__(self, mood): self.mood = mood")

    pytester.runpytest("--crmeval-agent=flex:Flex?mood=*", "--crmeval-agent=flex:Flex?mood=!").assert_outcomes(passed=2)


def test_sample_is_the_same_for_the_same_seed(project: Project) -> None:
    """For every agent, with and without workers, in dataset order."""
    pytester = project([case(f"case-{number}") for number in range(20)])
    five, alone = ("--crmeval-sample", "5"), ("-p", "no:xdist")

    first = played(pytester, *five, "--crmeval-seed", "7", *alone)

    assert 5 == len(first)
    assert first == played(pytester, *five, "--crmeval-seed", "7", "-n", "2")
    assert first == played(pytester, *five, "--crmeval-seed", "7", *alone)
    assert first != played(pytester, *five, "--crmeval-seed", "8", *alone)
    assert 20 == len(played(pytester, "--crmeval-sample", "99", *alone))


def test_sample_is_drawn_from_the_cases_that_k_selects(project: Project) -> None:
    """The same cases for every agent; a resumed run has the same sample, and plays nothing new."""
    pytester = project([case(f"{kind}-{n}") for n in range(8) for kind in ("deal", "quote")])
    asked = ("-k", "quote", "--crmeval-sample", "3", "--crmeval-agent", "oracle", "--crmeval-agent", "mute")

    result = pytester.runpytest(*asked, "--crmeval-run", "mine")

    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(["crmeval cases:  a sample of 3 (seed 0) of those that -k and -m select"])
    trials = report_of(pytester.path)["trials"]
    by_agent = [{each["case"] for each in trials if each["subject"] == name} for name in ("oracle", "mute")]
    assert by_agent[0] == by_agent[1]
    assert all(name.startswith("quote") for name in by_agent[0])
    pytester.runpytest(*asked, "--crmeval-run", "mine")
    assert trials == report_of(pytester.path)["trials"]


def test_sample_is_the_same_if_k_selects_everything(project: Project) -> None:
    """This holds even if another plugin has reordered the tests."""
    pytester = project([case(f"quote-{n}") for n in range(12)])
    sample = ("--crmeval-sample", "4", "-p", "no:xdist")
    plain = played(pytester, *sample)
    pytester.makeconftest("def pytest_collection_modifyitems(items): items.reverse()")

    assert plain == played(pytester, *sample, "-k", "quote")
    assert plain == played(pytester, *sample, "-m", "conversations")


def test_sample_of_shards_is_drawn_before_k(project: Project) -> None:
    """All shards must divide the same sample; the header says so."""
    pytester = project([case(f"{kind}-{n}") for n in range(8) for kind in ("deal", "quote")])

    result = pytester.runpytest("-k", "quote", "--crmeval-sample", "3", "--crmeval-shard", "1/2", "-p", "no:xdist")

    result.stdout.fnmatch_lines(["crmeval cases:  a sample of 3 (seed 0) drawn before -k and -m, shard 1/2"])


def test_unusual_ids_work(project: Project) -> None:
    """They are readable, unique and safe for the shell, and every case is played under its own id."""
    pytester = project([case(name) for name in ODD_IDS])

    assert set(ODD_IDS) == played(pytester, "-n", "1")
    assert {"größe"} == played(pytester, "-k", "größe", "-n", "1")
    assert {"x::y"} == played(pytester, "test_crm.py::test_conversation[oracle-x::y]", "-n", "1")
    assert {"a/b"} == played(pytester, "test_crm.py::test_conversation[oracle-a/b]", "-n", "1")


def test_ids_are_safe_for_the_shell(project: Project) -> None:
    """No quote, no blank, nothing that a shell expands inside the brackets."""
    pytester = project([case(name) for name in ODD_IDS])

    items, _ = pytester.inline_genitems()

    names = [item.name.partition("[")[2].removesuffix("]") for item in items]
    assert len(ODD_IDS) == len(set(names))
    assert not set("".join(names)) & set(" \t'\"`$&|;<>()[]{}*?!\\#")


def test_collect_only_is_a_dry_run(project: Project) -> None:
    """It lists the cases, counts them per suite and subject, and starts nothing."""
    pytester = project()

    result = pytester.runpytest(
        *("--collect-only", "-q", "-n", "2", "--crmeval-agent", "oracle", "--crmeval-agent", "mute")
    )

    result.stdout.fnmatch_lines(["*test_conversation?oracle-one?", "crm × mute: 3 cases", "crm × oracle: 3 cases"])
    assert not (pytester.path / "reports").exists()


def test_other_file_replaces_that_of_the_marker(project: Project) -> None:
    """The test, the suite and its gates stay the same."""
    pytester = project()
    (pytester.path / "other.jsonl").write_text(json.dumps(case("elsewhere")))

    assert {"elsewhere"} == played(pytester, "--crmeval-conversations", "other.jsonl")
    assert "crm" == report_of(pytester.path)["results"][0]["suite"]
