"""Trouble of a server that looks like a result is never a wrong answer."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome
from pytest_crmeval.ports.sandbox import Language, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.piston import PistonSandbox
from pytest_crmeval.solutions.play.solution import Rules, judge
from tests.programs import problem, solution
from tests.sandboxes.piston_jobs import Settings
from tests.sandboxes.piston_server import PistonServer
from tests.sandboxes.pistons import LIMITS, QUICK, ended

RIGHT, WRONG, CRASH = "print(123456)", "print(123)", "1 / 0"
Use = Callable[..., tuple[PistonSandbox, list[PistonServer]]]


@pytest.fixture
def use() -> Iterator[Use]:
    """Return a function that starts servers, and a sandbox that has seen them run a program."""
    with ExitStack() as stack:

        def make(count: int, settings: Settings | None = None) -> tuple[PistonSandbox, list[PistonServer]]:
            servers = [stack.enter_context(PistonServer(settings)) for _ in range(count)]
            sandbox = PistonSandbox(",".join(server.url for server in servers), patience=QUICK)
            stack.callback(sandbox.close)
            assert "" == sandbox.missing(Language.PYTHON)
            return sandbox, servers

        yield make


def judged(sandbox: PistonSandbox, source: str, language: Language = Language.PYTHON) -> SolutionOutcome:
    """Judge a program that is to print 123456."""
    return judge(solution(source, language), problem("123456", time_limit=20.0), sandbox, Rules())


@pytest.mark.parametrize("fault", ["lost", "halved", "killed", "asleep"])
def test_one_wrong_answer_of_a_server_is_a_judge_error(use: Use, fault: str) -> None:
    """Another server, or the same one later, says something else."""
    for count in (1, 2):
        sandbox, servers = use(count)
        for server in servers[:1]:
            server.faults.append(fault)

        outcomes = [judged(sandbox, RIGHT) for _ in range(count)]

        verdicts = [outcome.verdict for outcome in outcomes]
        assert TestVerdict.JUDGE_ERROR in verdicts, (count, outcomes)
        assert set(verdicts) <= {TestVerdict.JUDGE_ERROR, TestVerdict.ACCEPTED}
        assert any("two runs of the program disagree" in outcome.reason for outcome in outcomes)
        assert servers[0].url in sandbox.distrusted


@pytest.mark.parametrize("fault", ["cut", "full", "no command", "other version"])
def test_an_answer_that_shows_trouble_is_asked_for_again(use: Use, fault: str) -> None:
    """The program is accepted, by another server or by another answer."""
    sandbox, servers = use(2)
    for server in servers:
        server.faults.append(fault)

    outcome = judged(sandbox, RIGHT)

    assert TestVerdict.ACCEPTED is outcome.verdict, outcome


@pytest.mark.parametrize("fault", ["cut", "full", "no command", "other version"])
def test_trouble_that_does_not_end_is_a_judge_error(use: Use, fault: str) -> None:
    """No other server is there; the reason names the trouble."""
    sandbox, (server,) = use(1)
    server.always = fault

    outcome = judged(sandbox, RIGHT)

    assert TestVerdict.JUDGE_ERROR is outcome.verdict
    named = {"cut": "not the whole output", "full": "the runner failed", "no command": "command not found"}
    assert named.get(fault, "ran version 3.12.0") in outcome.reason


@pytest.mark.parametrize(("source", "verdict"), [(WRONG, TestVerdict.WRONG_ANSWER), (CRASH, TestVerdict.RUNTIME_ERROR)])
def test_a_program_that_fails_twice_has_failed(use: Use, source: str, verdict: TestVerdict) -> None:
    """The second run is on the other server."""
    sandbox, servers = use(2)
    before = [server.counts["/api/v2/execute"] for server in servers]

    assert verdict is judged(sandbox, source).verdict

    assert [count + 1 for count in before] == [server.counts["/api/v2/execute"] for server in servers]
    assert {} == sandbox.distrusted


def test_an_accepted_program_is_run_once(use: Use) -> None:
    """Nothing has to be confirmed."""
    sandbox, (server,) = use(1)
    before = server.counts["/api/v2/execute"]

    assert TestVerdict.ACCEPTED is judged(sandbox, RIGHT).verdict
    assert before + 1 == server.counts["/api/v2/execute"]


def test_a_program_that_sleeps_is_late_on_a_server_that_is_well(use: Use) -> None:
    """A small program runs there at the same time."""
    sandbox, _ = use(1)
    late = judge(solution("import time; time.sleep(600)"), problem("1", time_limit=1.0), sandbox, Rules())

    assert TestVerdict.TIME_LIMIT is late.verdict, late


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("fault", ["compiler killed", "compiler broken", "compiler wrong"])
def test_a_compiler_that_breaks_is_not_the_programs_error(use: Use, fault: str) -> None:
    """It compiles elsewhere, or the result is a judge error."""
    source = '#include <cstdio>\nint main() { std::puts("123456"); }'
    sandbox, (server,) = use(1)
    assert "" == sandbox.missing(Language.CPP)
    server.faults.append(fault)

    outcome = judged(sandbox, source, Language.CPP)

    assert outcome.verdict in {TestVerdict.ACCEPTED, TestVerdict.JUDGE_ERROR}, outcome
    assert (fault == "compiler wrong") == (outcome.verdict is TestVerdict.JUDGE_ERROR)


@pytest.mark.usefixtures("compiler")
def test_a_program_that_does_not_compile_is_refused_by_two_compilations(use: Use) -> None:
    """A word in the source is not taken for a broken compiler."""
    sandbox, _ = use(1)
    source = "int main() { return undefined; } // No space left on device\n"

    with sandbox.prepared(Program(language=Language.CPP, source=source)) as prepared:
        assert prepared.refused is not None
        assert b"error" in prepared.refused.stderr


ALL = ("c", "c++", "python", "python2", "pypy", "javascript", "java", "go", "rust", "kotlin", "csharp", "csharp.net",
       "ruby", "php", "haskell")  # fmt: skip
PLAIN = {
    Language.JAVA: ("java", "Main.java"),
    Language.JAVASCRIPT: ("javascript", "main.js"),
    Language.GO: ("go", "main.go"),
    Language.RUST: ("rust", "main.rs"),
    Language.KOTLIN: ("kotlin", "main.kt"),
    Language.CSHARP: ("csharp", "main.cs"),
    Language.RUBY: ("ruby", "main.rb"),
    Language.PHP: ("php", "main.php"),
    Language.HASKELL: ("haskell", "main.hs"),
}


@pytest.mark.parametrize("language", PLAIN)
def test_a_program_in_each_language_is_sent_by_the_servers_own_name(use: Use, language: Language) -> None:
    """Untouched, as one file with its input."""
    sandbox, (server,) = use(1, Settings(languages=ALL))
    assert "" == sandbox.missing(language)

    run = ended(sandbox, "the program", ProgramInput(stdin=b"20 22\n"), language=language)

    assert b"42\n" == run.stdout
    name, file = PLAIN[language]
    sent = server.bodies[-1]
    assert (name, "20 22\n", [{"name": file, "content": "the program"}]) == (
        sent["language"],
        sent["stdin"],
        sent["files"],
    )


@pytest.mark.parametrize(
    ("language", "version", "missing"),
    [
        (Language.JAVA, "8", ""),
        (Language.JAVA, "21", "Java 21 is not installed on every Piston server"),
        (Language.PYTHON, "3.8", ""),
        (Language.PYTHON, "3.13", "Python 3.13 is not installed"),
        (Language.PYTHON, "2", "Python 2 is not installed"),
        (Language.PYPY, "3.9", ""),
        (Language.PYPY, "3.10", "PyPy 3.10 is not installed"),
        (Language.CSHARP, "7", ""),
        (Language.CSHARP, "9", ""),
        (Language.CSHARP, "13", "C# 13 is not installed"),
        (Language.KOTLIN, "1.9", "Kotlin 1.9 is not installed"),
        (Language.RUST, "2021", ""),
    ],
)
def test_a_version_is_honoured_or_refused_by_name(use: Use, language: Language, version: str, missing: str) -> None:
    """It is noted once that programs can't be run."""
    sandbox, _ = use(1, Settings(languages=ALL))

    reasons = [sandbox.missing(language, version) for _ in range(2)]

    assert reasons[0] == reasons[1]
    assert reasons[0].startswith(missing) if missing else reasons[0] == ""
    assert bool(missing) == (f"unsupported: {reasons[0]}" in sandbox.notes)


@pytest.mark.usefixtures("compiler")
def test_a_standard_of_cpp_that_servers_do_not_compile_is_refused(use: Use) -> None:
    """They have one, whatever solutions name."""
    sandbox, _ = use(1)

    assert "" == sandbox.missing(Language.CPP, "17")
    assert "C++20" in sandbox.missing(Language.CPP, "20")


@pytest.mark.parametrize(
    ("feed", "message"),
    [
        (
            ProgramInput(stdin=b"1" * 300_000),
            "the input has 300,000 bytes, but Piston truncates inputs of programs in Ruby",
        ),
        (ProgramInput(stdin=b"\xff"), "accepts only text"),
        (ProgramInput(wanted=("out.txt",)), "can't return files"),
    ],
)
def test_input_that_piston_would_change_is_a_judge_error(use: Use, feed: ProgramInput, message: str) -> None:
    sandbox, _ = use(1, Settings(languages=ALL))

    with (
        sandbox.prepared(Program(language=Language.RUBY, source="x")) as prepared,
        pytest.raises(SandboxError, match=message),
    ):
        prepared.run(feed, LIMITS)


def test_a_java_program_that_does_not_begin_with_its_main_class_is_a_judge_error(use: Use) -> None:
    """Piston would start another class."""
    sandbox, _ = use(1, Settings(languages=ALL))
    source = "class Helper {} class Main { public static void main(String[] a) {} }"

    with (
        pytest.raises(SandboxError, match="Helper has no main method"),
        sandbox.prepared(Program(language=Language.JAVA, source=source)),
    ):
        pass
