"""A user's mistake gets a clear error on one screen, without a traceback of the plugin."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.projects import case

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
SCREEN = 40


def complaint(pytester: pytest.Pytester, *arguments: str) -> str:
    """Return the output of a failing run, and check that it is short and has no traceback."""
    result = pytester.runpytest(*arguments)
    said = f"{result.stdout.str()}\n{result.stderr.str()}"
    assert result.ret in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR}
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert "pytest_crmeval/" not in said
    assert len(said.splitlines()) < SCREEN
    return said


def lines(pytester: pytest.Pytester, *texts: str) -> None:
    """Write the dataset, line by line."""
    Path(pytester.path, "cases.jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def test_missing_dataset_is_reported(project: Project) -> None:
    """The error names the file and says what to give."""
    pytester = project()
    (pytester.path / "cases.jsonl").unlink()

    said = complaint(pytester)

    assert f"{pytester.path}/cases.jsonl: No such file or directory; give the path of a JSON Lines file" in said


def test_empty_dataset_is_reported(project: Project) -> None:
    """An empty suite would pass every gate."""
    assert "cases.jsonl: the file has no conversation; write one JSON object per line" in complaint(project([]))


@WAYS
def test_line_that_is_not_json_is_reported(project: Project, xdist: list[str]) -> None:
    """The error names file and line."""
    pytester = project()
    lines(pytester, json.dumps(case("one")), '{"conversation_id": "two", ')

    assert "cases.jsonl:2: this line is not JSON: Input data was truncated" in complaint(pytester, *xdist)


def test_field_of_the_wrong_type_is_reported(project: Project) -> None:
    """The error names file, line and field, the expected type and the value."""
    pytester = project([case("one"), case("two", turns=[{"turn_id": "1"}])])

    assert "cases.jsonl:2: turns[0].turn_id: Expected `int`, got `str`" in complaint(pytester)


def test_unknown_field_is_reported_with_the_known_fields(project: Project) -> None:
    """A misspelt field must not be ignored silently."""
    said = complaint(project([case("one", complexity="simple")]))

    assert "cases.jsonl:1: line: Object contains unknown field `complexity`; did you mean complexity_level?" in said
    assert "known fields: conversation_id, turns, workflow_category, " in said


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"complexity_level": "hard"}, "complexity_level: Invalid enum value 'hard'; known values: complex, medium"),
        (
            {"turns": [{"turn_id": 1, "expected_tool": "", "further_calls": [{"tool": "x"}]}]},
            "turns[0].further_calls[0]: Object contains unknown field `tool`; known fields: expected_tool, expected_a",
        ),
        ({"initial_entities": {"seed_data": {"Clients": {}}}}, "unknown field `Clients`; did you mean Client? known"),
        ({"expected_state": {"Deal": []}}, "expected_state: Object contains unknown field `Deal`; known fields: Clie"),
    ],
)
def test_unknown_name_or_value_at_any_depth_is_reported_with_the_known_ones(
    project: Project, changes: dict[str, object], answer: str
) -> None:
    assert answer in complaint(project([{**case("one"), **changes}]))


def test_chain_whose_segments_do_not_cover_its_turns_is_reported(project: Project) -> None:
    pytester = project([case("one", chain_id="c", segment_boundaries=[2])])

    assert "cases.jsonl:1: segment_boundaries: must be ascending and end with the last turn, 1; found [2]" in complaint(
        pytester
    )


def test_time_without_a_zone_is_reported(project: Project) -> None:
    pytester = project([case("one", now="2026-03-02T09:30:00")])

    assert "cases.jsonl:1: now: Expected `datetime` with a timezone component" in complaint(pytester)


def test_missing_field_is_reported(project: Project) -> None:
    assert "cases.jsonl:1: line: Object missing required field `turns`" in complaint(
        project([{"conversation_id": "one"}])
    )


def test_duplicate_case_id_is_reported(project: Project) -> None:
    said = complaint(project([case("one"), case("two"), case("one")]))

    assert (
        f"cases.jsonl:3: conversation_id: 'one' is already used in {Path.cwd()}/cases.jsonl:1; ids must be unique"
        in said
    )


def test_many_mistakes_fit_on_one_screen(project: Project) -> None:
    said = complaint(project([{"conversation_id": str(number)} for number in range(100)]))

    assert "cases.jsonl:5: line: Object missing" in said
    assert "... and 95 more" in said


def test_unknown_agent_is_refused_with_the_known_ones(project: Project) -> None:
    said = complaint(project(), "--crmeval-agent", "nobody", "-p", "no:xdist")

    assert "unknown agent 'nobody'; names: oracle, mute, atlas, claude, " in said


@pytest.mark.parametrize(
    ("agent", "key"), [("claude", "ANTHROPIC_API_KEY"), ("openai:gpt-4.1?temperature=0", "OPENAI_API_KEY")]
)
def test_agent_without_its_key_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, agent: str, key: str
) -> None:
    """The error names the variable."""
    monkeypatch.delenv(key, raising=False)

    assert f"needs the environment variable {key}" in complaint(project(), "--crmeval-agent", agent)


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        ("nowhere.bots:Closer", "there is no module 'nowhere.bots' on the Python path; add its folder to pytest's set"),
        ("bots:Nobody", "AttributeError: module 'bots' has no attribute 'Nobody'"),
        ("bots:ToolCall", "missing 1 required keyword-only argument: 'tool'"),
        (
            "bots:Reply",
            "is not an agent: it must be a function of (messages, tools), or have reply(messages, tools), but",
        ),
        ("json.decoder:JSONDecoder", "is not an agent"),
    ],
)
def test_agent_that_cannot_be_imported_is_explained(project: Project, agent: str, answer: str) -> None:
    """The error says which part of the spec is wrong."""
    assert answer in complaint(project(), "--crmeval-agent", agent)


BAD_AGENTS = """
class Nothing:
    name = "nothing"
    def reply(self, messages, tools):
        pass

class Dicts:
    name = "dicts"
    def reply(self, messages, tools):
        return Reply(calls=[{"tool": "client_search"}])

class Number:
    name = "number"
    def reply(self, messages, tools):
        return Reply(text=5)

class Raising:
    name = "raising"
    def reply(self, messages, tools):
        return self.helper()
    def helper(self):
        return {}["missing"]
"""


@pytest.mark.parametrize("way", [(), ("--crmeval-inflight", "2")], ids=["in its test", "ahead"])
@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        ("Nothing", "agent 'nothing': reply() must return a Reply or a string, but returned None. For example:"),
        (
            "Dicts",
            "agent 'dicts': reply() must return a Reply or a string, but its calls contain a value of type 'dict'",
        ),
        (
            "Number",
            "agent 'number': reply() must return a Reply or a string, but its text is a value of type 'int'.",
        ),
    ],
)
def test_agent_that_returns_the_wrong_type_gets_an_example(
    project: Project, agent: str, answer: str, way: tuple[str, ...]
) -> None:
    pytester = project([case("one")])
    with (pytester.path / "bots.py").open("a", encoding="utf-8") as file:
        file.write(BAD_AGENTS)

    said = complaint(pytester, "--crmeval-agent", f"bots:{agent}", *way)

    assert answer in said
    assert '    return "Acme is an active client."  # or answer the user' in said


@pytest.mark.parametrize("way", [(), ("--crmeval-inflight", "2")], ids=["in its test", "ahead"])
def test_exception_of_an_agent_shows_its_own_frames_only(project: Project, way: tuple[str, ...]) -> None:
    pytester = project([case("one")])
    with (pytester.path / "bots.py").open("a", encoding="utf-8") as file:
        file.write(BAD_AGENTS)

    result = pytester.runpytest("--crmeval-agent", "bots:Raising", *way)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*return self.helper()", "*KeyError: 'missing'*"])
    result.stdout.no_fnmatch_line("*pytest_crmeval/*")


@pytest.mark.parametrize(
    ("mark", "arguments", "answer"),
    [
        ("conversation", "conversation, evaluate", "did you mean 'conversations' instead of 'conversation'?"),
        ("slow", "conversation, evaluate", "needs one of the markers @pytest.mark.conversations, @pytest.mark.questio"),
        ("conversations", "conversaton, evaluate", "did you mean 'conversation' instead of 'conversaton'?"),
        ("conversations", "conversation, evalute", "fixture 'evalute' not found; did you mean 'evaluate'?"),
    ],
)
def test_misspelt_marker_or_fixture_is_named(project: Project, mark: str, arguments: str, answer: str) -> None:
    pytester = project([case("one")], ini="markers = slow(path)\n    conversation(path)")
    test = f"import pytest\n\n@pytest.mark.{mark}('cases.jsonl')\ndef test_it({arguments}):\n    pass\n"
    (pytester.path / "test_crm.py").write_text(test, encoding="utf-8")

    assert answer in complaint(pytester)


def test_dataset_option_that_no_collected_test_uses_names_the_test_file_that_would(project: Project) -> None:
    pytester = project()
    test = "import pytest\n\n@pytest.mark.questions('q.jsonl')\ndef test_it(question, evaluate):\n    pass\n"
    (pytester.path / "test_questions.py").write_text(test, encoding="utf-8")

    said = complaint(pytester, "test_crm.py", "--crmeval-questions", "mine.jsonl")

    assert "--crmeval-questions is given, but no collected test is marked with @pytest.mark.questions; add " in said
    assert f"{pytester.path}/test_questions.py to the command" in said


def test_unwritable_reports_folder_is_reported(project: Project) -> None:
    """Before the first case is played, not after the last."""
    pytester = project(ini="crmeval_reports = /proc/here")

    assert "/trials.jsonl: No such file or directory; choose a writable folder with" in complaint(pytester)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_reports_folder_without_permission_is_reported(project: Project) -> None:
    """The same for an ordinary user."""
    pytester = project()
    folder = pytester.mkdir("reports")
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)

    assert "Permission denied; choose a writable folder" in complaint(pytester)


@pytest.mark.parametrize(
    ("gate", "answer"),
    [
        ("crm.pass_rate => 0.6", "expected a comparison"),
        ("crm.passrate >= 0.6", "expected a metric (did you mean pass_rate?)"),
        ("crm.pass_rate >= most", "expected a number"),
        ("crm.pass_rate >= 0.6 please", "expected the end"),
    ],
)
def test_gate_with_a_syntax_error_is_reported(project: Project, gate: str, answer: str) -> None:
    """A caret marks the position."""
    said = complaint(project(ini=f"crmeval_gates = {gate}"))

    assert answer in said
    assert f"  {gate}\n" in said


@pytest.mark.parametrize("run", ["a/b", "", "-x", "ü", "x" * 41, "latest", "a.json", "a.part"])
def test_invalid_run_id_is_refused(project: Project, run: str) -> None:
    """The id becomes part of a folder name and of a database name."""
    assert "use up to 40 letters, digits" in complaint(project(), f"--crmeval-run={run}")


@pytest.mark.parametrize("name", ["stat", "", "state,calls"])
def test_unknown_scorer_is_reported(project: Project, name: str) -> None:
    assert f"--crmeval-scorer {name}: must be one of state, calls, reply, clbench" in complaint(
        project(), f"--crmeval-scorer={name}"
    )


def test_unknown_value_of_invalid_option_is_reported(project: Project) -> None:
    assert "--crmeval-invalid: invalid choice: 'skip' (choose from" in complaint(project(), "--crmeval-invalid=skip")


@pytest.mark.parametrize("sample", ["0", "-3"])
def test_sample_of_zero_is_refused(project: Project, sample: str) -> None:
    """An empty suite would pass every gate."""
    assert "must be a whole number of at least 1" in complaint(project(), f"--crmeval-sample={sample}")


def test_marker_without_a_path_is_explained(project: Project) -> None:
    """The error shows how to write it."""
    test = """
    import pytest

    @pytest.mark.conversations
    def test_conversation(conversation, evaluate): ...
    """

    assert "write @pytest.mark.conversations('file.jsonl'), one path" in complaint(project(test=test))


@pytest.mark.parametrize(
    ("marker", "answer"),
    [
        ("'cases.jsonl', suit='crm'", "one path, optionally with suite='name'; unknown argument: suit"),
        ("'cases.jsonl', suite=5", "suite=5 is not a valid name"),
        ("'cases.jsonl', suite='crm.v2'", "suite='crm.v2' is not a valid name: use letters, digits, '_' and '-'"),
    ],
)
def test_malformed_marker_is_reported(project: Project, marker: str, answer: str) -> None:
    """A misspelt keyword must not be ignored silently, and a gate must be able to name the suite."""
    test = f"""
    import pytest

    @pytest.mark.conversations({marker})
    def test_conversation(conversation, evaluate): ...
    """

    assert answer in complaint(project(test=test))


def test_marked_test_without_the_argument_is_reported(project: Project) -> None:
    """It would pass without playing anything."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl")
    def test_conversation(): ...
    """

    assert "is marked 'conversations' but has no argument 'conversation'" in complaint(project(test=test))


@pytest.mark.parametrize("named", ["closer", "closer =", "= bots:Half"])
def test_named_agent_without_a_spec_is_reported(project: Project, named: str) -> None:
    """The error shows the line."""
    assert f"crmeval_agents: {named!r} is not 'name = spec'" in complaint(project(ini=f"crmeval_agents =\n  {named}"))


def test_second_trial_in_one_test_is_refused(project: Project) -> None:
    """The first trial counts."""
    test = """
    import pytest

    @pytest.mark.conversations("cases.jsonl")
    def test_conversation(conversation, evaluate):
        evaluate(conversation)
        evaluate(conversation)
    """

    result = project(test=test).runpytest("-p", "no:xdist")

    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["*one test is one trial; call evaluate once"])
