"""Solutions are judged in the real local sandbox, from the file they stand in to the verdict."""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome
from pytest_crmeval.ports.sandbox import Language, Program
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.solutions.files import read
from pytest_crmeval.solutions.play.solution import ProgramJudge, Rules, judge
from pytest_crmeval.solutions.problem import Checker, CheckerStyle, Problem, ProblemTest
from pytest_crmeval.solutions.problems import opened
from pytest_crmeval.solutions.solution import Solution
from tests.programs import problem, solution
from tests.sandboxes.conftest import allowed

HUMANEVAL = Path(__file__).parents[3] / "shared" / "data" / "humaneval"
BIG = 5_000_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


@pytest.fixture(scope="module")
def auto() -> Iterator[LocalSandbox]:
    """Yield the strongest sandbox that this machine allows."""
    sandbox = LocalSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def cpp(auto: LocalSandbox) -> LocalSandbox:
    """Return the sandbox if it can compile."""
    if reason := auto.missing(Language.CPP):
        pytest.skip(reason)
    return auto


def judged(
    sandbox: LocalSandbox, source: str, task: Problem, language: Language = Language.PYTHON, rules: Rules | None = None
) -> SolutionOutcome:
    """Judge one program."""
    return judge(solution(source, language), task, sandbox, rules or Rules())


def checked(style: CheckerStyle, source: str, language: Language = Language.PYTHON) -> Problem:
    """Return a problem that asks for any number greater than that of its input, 1."""
    checker = Checker(style=style, program=Program(language=language, source=source))
    return problem("2", checker=checker)


PROGRAMS = {
    "AC": ("print(input())", ""),
    "WA": ("print(7)", "line 1, word 1: expected '1', found '7'"),
    "RE": ("print(input()); raise ValueError('time limit, memory')", "exit code 1: ValueError: time limit, memory"),
    "TLE": ("while True: pass", "more than 0.2 s of CPU time"),
    "MLE": ("x = bytearray(2**29); print(len(x))", "more than 256 MiB of memory"),
    "OLE": ("while True: print('x' * 10**6)", "more than 16 MiB of output"),
}


@pytest.mark.parametrize("verdict", PROGRAMS)
def test_every_verdict_of_a_python_program(auto: LocalSandbox, verdict: str) -> None:
    source, reason = PROGRAMS[verdict]
    outcome = judged(auto, source, problem("1", time_limit=0.2 if verdict == "TLE" else 5.0))

    assert verdict == outcome.verdict, outcome.reason
    assert reason in outcome.reason
    (test,) = outcome.tests
    assert test.cpu_seconds is not None
    assert test.memory_bytes is not None
    assert test.memory_bytes > 0


@pytest.mark.parametrize(
    ("verdict", "source", "reason"),
    [
        ("AC", "#include <iostream>\nint main() { int a; std::cin >> a; std::cout << a; }", ""),
        ("RE", "#include <cstdlib>\nint main() { std::abort(); }", "SIGABRT"),
        ("CE", "int main() { return nothing; }", "was not declared in this scope"),
        ("CE", '#include "/etc/shadow"\nint main() {}', "error"),
    ],
)
def test_verdicts_of_a_compiled_program(cpp: LocalSandbox, verdict: str, source: str, reason: str) -> None:
    """One that the compiler refuses is run on no test."""
    outcome = judged(cpp, source, problem("1", "2"), Language.CPP)

    assert verdict == outcome.verdict, outcome.reason
    assert reason in outcome.reason
    assert (not outcome.tests) == (verdict == "CE")


ANY_GREATER = {
    CheckerStyle.STDOUT: (
        "import sys\n"
        "asked, right, found = (open(name).read().split() for name in sys.argv[1:])\n"
        "assert right == ['2']\n"
        "print(int(int(found[0]) > int(asked[0])))\n"
    ),
    CheckerStyle.TESTLIB: (
        "#include <fstream>\n#include <cstring>\n"
        "int main(int count, char** names) {\n"
        "  std::ifstream in(names[1]), out(names[2]), answer(names[3]);\n"
        "  int asked, found, right; std::string word;\n"
        "  if (count != 4 || !(in >> asked) || !(answer >> right) || right != 2) return 3;\n"
        "  if (!(out >> word)) return 2;\n"
        "  try { found = std::stoi(word); } catch (const std::invalid_argument&) { std::abort(); }\n"
        "  if (out >> word) return 4;\n"
        "  return found > asked ? 0 : 1;\n"
        "}\n"
    ),
    CheckerStyle.KATTIS: (
        "#include <fstream>\n#include <iostream>\n#include <cstdlib>\n"
        "int main(int count, char** names) {\n"
        "  std::ifstream in(names[1]), answer(names[2]);\n"
        '  std::ofstream message(std::string(names[3]) + "judgemessage.txt");\n'
        "  int asked, right; std::string word;\n"
        "  if (count != 4 || !message || !(in >> asked) || !(answer >> right) || right != 2) return 1;\n"
        '  if (!(std::cin >> word)) { message << "nothing was said"; return 43; }\n'
        '  if (std::stoi(word) <= asked) { message << word << " is not greater"; return 43; }\n'
        "  return 42;\n"
        "}\n"
    ),
}


@pytest.mark.parametrize("style", ANY_GREATER)
def test_checkers_of_every_style(cpp: LocalSandbox, style: CheckerStyle) -> None:
    """Several answers are right; an output that only crashes the checker is wrong."""
    language = Language.PYTHON if style is CheckerStyle.STDOUT else Language.CPP
    task = checked(style, ANY_GREATER[style], language)
    programs = ["print(2)", "print(987)", "print(1)", "print('x')"]
    with ProgramJudge(cpp, Rules()) as one:
        outcomes = [one.judge(solution(source), task) for source in programs]

    assert ["AC", "AC", "WA", "WA"] == [str(each.verdict) for each in outcomes], outcomes
    assert ("1 is not greater" in outcomes[2].reason) == (style is CheckerStyle.KATTIS)
    assert "the checker fails on this output: " in outcomes[3].reason


def test_more_output_than_is_expected_is_wrong_for_testlib(cpp: LocalSandbox) -> None:
    """Its own exit code for that, 4, is no trouble of the checker."""
    task = checked(CheckerStyle.TESTLIB, ANY_GREATER[CheckerStyle.TESTLIB], Language.CPP)
    outcome = judged(cpp, "print(2, 3)", task)

    assert ("WA", "test 1 (official): the checker: more output than is expected") == (outcome.verdict, outcome.reason)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise SystemExit(1)", "it printed nothing instead of 1 or 0 (exit code 1)"),
        ("print(0, flush=True); 1 / 0", "it printed 0, but failed (exit code 1; ZeroDivisionError: division by zero)"),
        ("x = [0] * 10**9; print(0)", "it exceeded its memory limit"),
        ("def", "SyntaxError"),
    ],
)
def test_a_checker_that_breaks_is_the_judges_trouble(auto: LocalSandbox, source: str, reason: str) -> None:
    """It fails on the expected output as well."""
    outcome = judged(auto, "import os; os.write(1, b'\\xff\\xfe')", checked(CheckerStyle.STDOUT, source))

    assert "JE" == outcome.verdict
    assert reason in outcome.reason


def test_a_checker_that_can_not_be_compiled(cpp: LocalSandbox) -> None:
    outcome = judged(cpp, "print(2)", checked(CheckerStyle.TESTLIB, "int main() { return x; }", Language.CPP))

    assert "JE" == outcome.verdict
    assert "the checker can't be compiled: " in outcome.reason


def test_undecodable_output_is_compared_as_bytes(auto: LocalSandbox) -> None:
    """It is compared as it is, and shown as far as that can be."""
    outcome = judged(auto, "import os; os.write(1, b'1 \\xff\\xfe\\x00')", problem("1 2"))

    assert ("WA", "1 \ufffd\ufffd\x00") == (outcome.verdict, outcome.tests[0].output)
    assert "line 1, word 2: expected '2', found '\ufffd\ufffd\\x00'" in outcome.reason


def test_program_sees_only_the_files_of_its_test(auto: LocalSandbox) -> None:
    """A program that looks at all its files finds those of its test, and none of an earlier run."""
    look = "import os\nprint(*sorted(os.listdir('.')), file=open('out', 'w'))\nopen('left', 'w').write('something')\n"
    task = problem("in main.py", "in main.py", input_file="in", output_file="out")
    outcome = judged(auto, look, task)

    assert ("AC", ["AC", "AC"]) == (outcome.verdict, [str(test.verdict) for test in outcome.tests]), outcome.reason


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("print(open('input.txt').read(), file=open('output.txt', 'w')); print('noise')", "AC"),
        ("print(1)", "WA"),
        ("open('output.txt', 'w').write('2')", "WA"),
        ("import os; os.symlink('/etc/passwd', 'output.txt')", "WA"),
        ("open('output.txt', 'w').write('x' * 2**25)", "OLE"),
    ],
)
def test_files_instead_of_stdin_and_stdout(auto: LocalSandbox, source: str, verdict: str) -> None:
    outcome = judged(auto, source, problem("1", input_file="input.txt", output_file="output.txt"))

    assert verdict == outcome.verdict, outcome.reason
    assert "root" not in "".join(test.output for test in outcome.tests)


def test_level_without_writable_files_is_a_judge_error(walled: dict[str, LocalSandbox]) -> None:
    """A level that can't do what a problem asks for is the judge's trouble, not a runtime error."""
    sandbox = allowed(walled["seccomp"])
    outcome = judged(sandbox, "open('output.txt', 'w').write('1')", problem("1", output_file="output.txt"))

    assert "JE" == outcome.verdict
    assert "programs can't write output.txt here" in outcome.reason
    assert "AC" == judged(sandbox, "print(input())", problem("1")).verdict


def test_megabytes_come_and_go_whole(auto: LocalSandbox) -> None:
    """Also with a checker in between; the last digit of 5 MB counts."""
    text = "7" * BIG
    echo = "import os\ndata = os.read(0, os.fstat(0).st_size)\nos.write(1, data[:9]); os.write(1, data[9:])"
    right, wrong = ProblemTest(input=text, output=text), ProblemTest(input=text, output=f"{text[:-1]}8")
    compare = (
        "import sys\na, b, c = (open(name).read() for name in sys.argv[1:])\nprint(int(a == c and len(b) == len(a)))"
    )
    checker = checked(CheckerStyle.STDOUT, compare).checker
    task = problem(time_limit=10.0)

    plain = judged(auto, echo, replace(task, tests=(right, wrong)))
    assert ["AC", "WA"] == [str(test.verdict) for test in plain.tests]
    assert len(plain.tests[1].output) + len(plain.reason) < 1_000
    assert "AC" == judged(auto, echo, replace(task, tests=(right, wrong), checker=checker)).verdict


def test_several_threads_share_a_judge(cpp: LocalSandbox) -> None:
    """Each gets the verdict of its own program; a checker that all of them need first is made ready once."""
    style = CheckerStyle.KATTIS
    tasks = [checked(style, ANY_GREATER[style], Language.CPP), problem("1", "2")]
    programs = {"print(2)": ["AC", "WA"], "print(input())": ["WA", "AC"], "print(1 / 0)": ["RE", "RE"]}
    asked = [
        (source, task, verdicts[place]) for source, verdicts in programs.items() for place, task in enumerate(tasks)
    ]
    with ProgramJudge(cpp, Rules()) as one, ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(lambda each: one.judge(solution(each[0]), each[1]), asked * 5))

    assert [verdict for _, _, verdict in asked] * 5 == [str(outcome.verdict) for outcome in outcomes]


def test_time_for_one_solution_keeps_what_was_done(auto: LocalSandbox) -> None:
    nap = "import time; time.sleep(0.3); print(input())"
    outcome = judged(auto, nap, problem("1", "2", "3", "4"), rules=Rules(solution_seconds=0.5))

    done = [str(test.verdict) for test in outcome.tests]
    assert ("SKIPPED", "AC", "SKIPPED") == (outcome.verdict, done[0], done[-1])
    assert "the time limit for one solution was reached (0.5 s)" in outcome.reason


@pytest.mark.parametrize(("name", "solved"), [("canonical", 164), ("half_wrong", 82)])
def test_verdicts_of_humaneval_programs_are_as_published(auto: LocalSandbox, name: str, solved: int) -> None:
    path = HUMANEVAL / f"solutions_stdio_{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    problems = opened([HUMANEVAL / "problems_stdio.jsonl"])
    solutions = [each for each in read(path) if isinstance(each, Solution)]
    tasks = [task for each in solutions if (task := problems.get(each.problem)) is not None]
    with ProgramJudge(auto, Rules()) as one, ThreadPoolExecutor(auto.slots) as pool:
        outcomes = list(pool.map(one.judge, solutions, tasks))

    assert (164, 164, solved) == (len(tasks), len(outcomes), sum(outcome.solved for outcome in outcomes))
    assert [] == [outcome for outcome in outcomes if not outcome.judged]


def test_a_users_testlib_is_compiled_into_the_checker(cpp: LocalSandbox, tmp_path: Path) -> None:
    """From the lines of both files to the verdicts; without it the checker is the judge's trouble."""
    header = "#include <cstdlib>\n#include <fstream>\ninline void quit(bool right) { std::exit(right ? 0 : 1); }\n"
    source = '#include "testlib.h"\nint main(int, char** names) { int x; std::ifstream(names[2]) >> x; quit(x > 1); }'
    checker = {"style": "testlib", "language": "cpp", "source": source}
    record = {"id": "p", "tests": [{"input": "1"}], "checker": checker}
    (tmp_path / "testlib.h").write_text(header, encoding="utf-8")
    (tmp_path / "p.jsonl").write_text(json.dumps(record), encoding="utf-8")
    responses = ["So:\n```python\nprint(5)\n```", '```cpp\n#include <cstdio>\nint main() { puts("0"); }\n```']
    lines = [json.dumps({"id": "p", "raw_response": response}) for response in responses]
    (tmp_path / "s.jsonl").write_text("\n".join(lines), encoding="utf-8")
    solutions = [each for each in read(tmp_path / "s.jsonl") if isinstance(each, Solution)]

    found = []
    for testlib in (tmp_path / "testlib.h", None):
        task = opened([tmp_path / "p.jsonl"], testlib=testlib).get("p")
        assert task is not None
        with ProgramJudge(cpp, Rules()) as one:
            found.append([str(one.judge(each, task).verdict) for each in solutions])
    assert [["AC", "WA"], ["JE", "JE"]] == found
