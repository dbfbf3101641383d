"""The bundled problems tell right from wrong; the lines of the bundled checkpoints get the verdicts they are for."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.file_outcome import TestVerdict, mean_pass
from pytest_crmeval.journal.solutions.outcomes import Defect, Ungradable
from pytest_crmeval.ports.sandbox import Language, Prepared, Program, Sandbox, SandboxError
from pytest_crmeval.solutions.files import SolutionRef, find, read
from pytest_crmeval.solutions.play.solution import ProgramJudge, Rules, ungradable
from pytest_crmeval.solutions.problems import Problems, opened
from pytest_crmeval.solutions.solution import Solution

DATA = Path(__file__).parents[1] / "evals" / "data"
BUNDLE = DATA / "problems.jsonl"
CHECKPOINTS = DATA / "checkpoints"
PAGE = Path(__file__).parents[1] / "docs" / "bundled-checkpoints.md"
PROGRAMS = Path(__file__).parent / "data" / "programs"
"""``1-A/wa-forgets-200.py``: a program for problem 1/A, and the verdict that it must get."""
LANGUAGES = {".py": Language.PYTHON, ".cpp": Language.CPP}
LETTERS = [f"{contest}/{index}" for contest in range(1, 6) for index in "ABCDE"]
INTERACTIVE = "5/F"
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in BUNDLE.read_text(encoding="utf-8").splitlines()]
DEFECTS = {
    "truncated": Defect.TRUNCATED,
    "no-code": Defect.NO_CODE,
    "no-id": Defect.NO_ID,
    "unknown": Defect.UNKNOWN_PROBLEM,
    "unsupported": Defect.UNSUPPORTED,
    "bad-line": Defect.BAD_LINE,
}
VERDICTS = {
    "checkpoint-50": """
        1/A:AC 1/B:WA 1/C:AC 1/D:WA 1/E:RE 2/A:RE 2/B:AC 2/C:WA 2/D:RE 2/E:WA 3/A:WA 3/B:WA 3/C:WA 3/D:WA
        3/E:truncated 4/A:WA 4/B:no-code 4/C:WA 4/D:MLE 4/E:WA 5/A:truncated 5/B:no-code 5/C:CE 5/D:AC 5/E:WA
        5/F:unsupported :bad-line
    """,
    "checkpoint-100": """
        1/A:AC 1/B:AC 1/C:AC 1/D:WA 1/E:AC 2/A:WA 2/B:AC 6/A:unknown 2/C:WA 2/D:WA 2/E:WA 3/A:AC 3/B:TLE 3/C:RE
        3/D:AC :no-id 3/E:WA 4/A:AC 4/B:WA 4/C:WA 4/D:WA 4/E:AC 5/A:WA 5/B:WA 5/C:WA 5/D:AC 5/E:WA 5/F:unsupported
    """,
    "checkpoint-150": """
        1/A:AC 1/A:AC 1/B:WA 1/B:AC 1/C:AC 1/C:AC 1/D:AC 1/D:WA 1/E:AC 1/E:AC 2/A:AC 2/A:AC 2/B:AC 2/B:WA
        2/C:TLE 2/C:AC 2/D:WA 2/D:WA 2/E:AC 2/E:WA 3/A:AC 3/A:RE 3/B:AC 3/B:AC 3/C:WA 3/C:AC 3/D:AC 3/D:AC
        3/E:WA 3/E:AC 4/A:AC 4/A:WA 4/B:WA 4/B:WA 4/C:AC 4/C:AC 4/D:MLE 4/D:WA 4/E:WA 4/E:AC 5/A:WA 5/A:AC
        5/B:WA 5/B:WA 5/C:TLE 5/C:WA 5/D:OLE 5/D:AC 5/E:WA 5/E:AC 5/F:unsupported 5/F:unsupported
    """,
    "checkpoint-200": """
        1/A:AC 1/B:AC 1/C:AC 1/D:WA 1/E:AC 2/A:AC 2/B:AC 2/C:TLE 2/D:AC 2/E:AC 3/A:AC 3/B:AC 3/C:RE 3/D:AC 3/E:WA
        4/A:AC 4/B:AC 4/C:WA 4/D:WA 4/E:AC 4/Z:unknown 5/A:AC 5/B:WA 5/C:AC 5/D:AC 5/E:truncated 5/F:unsupported
    """,
    "checkpoint-250": """
        1/A:AC 1/B:AC 1/C:AC 1/D:AC 1/E:AC 2/A:AC 2/B:AC 2/C:AC 2/D:AC 2/E:AC 3/A:AC 3/B:AC 3/C:AC 3/D:AC 3/E:AC
        4/A:AC 4/B:AC 4/C:AC 4/D:TLE 4/E:AC 5/A:no-code 5/B:WA 5/C:WA 5/D:AC 5/E:AC 5/F:unsupported
    """,
}
"""Line by line. What needs a C++ compiler, itself or its checker, is unsupported where there is none."""
SOLVED = {"checkpoint-50": 0.190, "checkpoint-100": 0.400, "checkpoint-150": 0.540}
SOLVED |= {"checkpoint-200": 0.708, "checkpoint-250": 0.875}
"""pass@1, by the table above."""


class WithoutCompiler:
    """A machine with no C++; it runs nothing at all, and is only asked what it could run."""

    name = identity = "no compiler"
    slots = 1

    def missing(self, language: Language, version: str = "") -> str:  # noqa: ARG002 (any will do)
        """Have Python only."""
        return "there is no g++" if language is Language.CPP else ""

    def prepared(self, program: Program) -> AbstractContextManager[Prepared]:
        """Run nothing."""
        raise SandboxError(f"not here: {program.language}")

    def close(self) -> None:
        """Have nothing to let go of."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a checkpoint, and what is expected of it."""

    found: Solution | Ungradable
    problem: str
    expected: str

    @property
    def is_judged(self) -> bool:
        """Whether it is to have a verdict, where everything can be run."""
        return self.expected not in DEFECTS


def solution_of(path: Path) -> Solution:
    """Return a program of the tests as if a checkpoint had written it."""
    program = Program(language=LANGUAGES[path.suffix], source=path.read_text(encoding="utf-8"))
    return Solution(problem=path.parent.name.replace("-", "/"), line=1, program=program)


def promised(path: Path) -> str:
    """Return the verdict that a program's name promises."""
    return path.name.partition("-")[0].upper()


def programs_for(problem: str) -> list[Path]:
    """Return the programs of the tests for a problem."""
    return sorted((PROGRAMS / problem.replace("/", "-")).iterdir())


def lines_of(checkpoint: str) -> list[Line]:
    """Return the lines of a bundled checkpoint beside what is expected of them."""
    (ref,) = (ref for ref in refs() if ref.checkpoint.name == checkpoint)
    expected = [word.partition(":") for word in VERDICTS[checkpoint].split()]
    lines = zip(read(ref.path), expected, strict=True)
    return [Line(found=found, problem=problem, expected=word) for found, (problem, _, word) in lines]


def refs() -> Sequence[SolutionRef]:
    """Return the bundled solution files."""
    return find([CHECKPOINTS])


@pytest.fixture(scope="module")
def problems() -> Problems:
    """Return the bundled problems."""
    return opened([BUNDLE])


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Return the local sandbox; without it nothing can be said about programs."""
    from pytest_crmeval.sandboxes.local import LocalSandbox

    try:
        local = LocalSandbox()
        local.name  # noqa: B018 (it is found out when it is first asked)
    except SandboxError as error:
        pytest.skip(str(error))
    yield local
    local.close()


@pytest.fixture(scope="module")
def judge(sandbox: Sandbox) -> Iterator[ProgramJudge]:
    """Return who judges; checkers are compiled once."""
    with ProgramJudge(sandbox, Rules()) as one:
        yield one


def shown(found: Solution | Ungradable, problems: Problems, sandbox: Sandbox, judge: ProgramJudge | None = None) -> str:
    """Return what becomes of a line: a defect, or a verdict; ``to be judged`` if there is no sandbox."""
    if isinstance(found, Ungradable):
        return found.defect
    problem = problems.get(found.problem)
    left_out = ungradable(found, problem, sandbox)
    if left_out or problem is None:
        return left_out.defect if left_out else ""
    return judge.judge(found, problem).verdict if judge else "to be judged"


def needs_compiler(line: Line, problems: Problems) -> bool:
    """Whether a line can't be judged without C++: it is a program in C++, or its checker is."""
    problem = problems.get(line.problem)
    checker = problem.checker.program.language if problem and problem.checker else None
    return isinstance(line.found, Solution) and Language.CPP in {line.found.program.language, checker}


def pass_at(k: int, lines: Sequence[Line]) -> float:
    """Return pass@k by what is expected."""
    samples = Counter(line.problem for line in lines if line.is_judged)
    solved = Counter(line.problem for line in lines if line.expected == "AC")
    found = mean_pass(tuple((count, solved[name], 1) for name, count in samples.items()), k)
    assert found is not None
    return found


def test_bundle_has_25_problems_and_an_interactive_one(problems: Problems) -> None:
    """In the order of their contests, each with tests enough; the file is small enough for git."""
    assert [*LETTERS, INTERACTIVE] == list(problems)
    assert [] == [record["id"] for record in RECORDS if len(record["tests"]) < 7 and record["id"] != INTERACTIVE]
    assert BUNDLE.stat().st_size < 400_000


def test_the_problems_are_of_every_kind() -> None:
    """A checker of each style, files, fractions, exact lines, yes and no."""
    checkers = {record["id"]: (record["checker"]["style"], record["checker"]["language"]) for record in checked()}

    assert {"2/E": ("stdout", "python"), "3/E": ("testlib", "cpp"), "4/E": ("kattis", "python")} == checkers
    assert {"2/D": ("tide.in", "tide.out")} == having("input_file", "output_file")
    assert {"1/E": (1e-6,), "3/D": (1e-6,)} == having("tolerance")
    assert {"1/D": ("exact",)} == having("comparison")
    assert {INTERACTIVE: (True,)} == having("interactive")
    assert {"YES", "NO"} == {test["output"].strip() for test in RECORDS[1]["tests"]}


def checked() -> list[dict[str, Any]]:
    """Return the problems that have a checker."""
    return [record for record in RECORDS if "checker" in record]


def having(*names: str) -> dict[str, tuple[Any, ...]]:
    """Return the problems that have these fields."""
    return {record["id"]: tuple(record[name] for name in names) for record in RECORDS if names[0] in record}


def test_every_problem_is_described() -> None:
    """For people, and to be reported by: no two of the same title."""
    assert len(RECORDS) == len({record["title"] for record in RECORDS})
    assert [] == [record["id"] for record in RECORDS if not record["tags"] or not 800 <= record["rating"] <= 2000]
    assert [] == [record["id"] for record in RECORDS if not {"Input.", "Output."} <= {*record["statement"].split()}]


@pytest.mark.parametrize("letter", LETTERS)
def test_no_test_of_a_problem_is_there_twice(letter: str) -> None:
    """It would cost time and tell nothing."""
    (record,) = (record for record in RECORDS if record["id"] == letter)
    inputs = [test["input"] for test in record["tests"]]

    assert len(inputs) == len(set(inputs))


@pytest.mark.parametrize("letter", LETTERS)
def test_problem_accepts_correct_programs_and_rejects_plausible_ones(
    letter: str, problems: Problems, sandbox: Sandbox, judge: ProgramJudge
) -> None:
    """A reference in Python, and at least one plausible program that only good tests find out."""
    paths = [path for path in programs_for(letter) if not sandbox.missing(LANGUAGES[path.suffix])]
    expected = {path.name: promised(path) for path in paths}
    if letter == "3/E" and sandbox.missing(Language.CPP):
        pytest.skip("its checker is in C++")

    found = {path.name: shown(solution_of(path), problems, sandbox, judge) for path in paths}

    assert expected == found
    assert any(path.suffix == ".py" and promised(path) == "AC" for path in paths)
    assert any(path.suffix == ".py" and promised(path) == "WA" for path in paths)


@pytest.mark.parametrize("checkpoint", VERDICTS)
def test_every_line_gets_the_verdict_that_it_was_made_for(
    checkpoint: str, problems: Problems, sandbox: Sandbox, judge: ProgramJudge
) -> None:
    """Through the real sandbox; with a compiler and without."""
    lines = lines_of(checkpoint)
    no_compiler = sandbox.missing(Language.CPP)
    expected = {
        number: Defect.UNSUPPORTED
        if no_compiler and needs_compiler(line, problems)
        else DEFECTS.get(line.expected, line.expected)
        for number, line in enumerate(lines, start=1)
    }

    assert expected == {line.found.line: shown(line.found, problems, sandbox, judge) for line in lines}


@pytest.mark.parametrize("checkpoint", VERDICTS)
def test_every_line_is_about_the_problem_it_is_made_for(checkpoint: str) -> None:
    """The table speaks of the lines that are there."""
    assert [] == [line for line in lines_of(checkpoint) if line.found.problem != line.problem]


@pytest.mark.parametrize("checkpoint", VERDICTS)
def test_without_a_compiler_only_what_needs_it_is_left_out(checkpoint: str, problems: Problems) -> None:
    machine = WithoutCompiler()
    for line in lines_of(checkpoint):
        usual = DEFECTS.get(line.expected, "to be judged")
        expected = Defect.UNSUPPORTED if needs_compiler(line, problems) else usual

        assert expected == shown(line.found, problems, machine), line.found.line


def test_the_checkpoints_are_found_by_step() -> None:
    """One file each."""
    assert [(name, int(name.partition("-")[2])) for name in VERDICTS] == [
        (ref.checkpoint.name, ref.checkpoint.step) for ref in refs()
    ]


def test_pass_at_1_rises_from_checkpoint_to_checkpoint() -> None:
    """What the table says, and so what a report must."""
    assert SOLVED == {name: round(pass_at(1, lines_of(name)), 3) for name in VERDICTS}
    assert all(earlier < later for earlier, later in pairwise(SOLVED.values()))


@pytest.mark.parametrize("checkpoint", VERDICTS)
def test_page_shows_the_same_figures(checkpoint: str) -> None:
    """Lines, how many are judged and solved, pass@1."""
    lines = lines_of(checkpoint)
    judged, solved = sum(line.is_judged for line in lines), sum(line.expected == "AC" for line in lines)
    row = f"| `{checkpoint}` | {len(lines)} | {judged} | {solved} | {SOLVED[checkpoint]:.3f} |"

    assert row in PAGE.read_text(encoding="utf-8")


def test_pass_at_1_rises_also_without_a_compiler(problems: Problems) -> None:
    """Other figures, the same story."""
    left = [[line for line in lines_of(name) if not needs_compiler(line, problems)] for name in VERDICTS]

    assert all(earlier < later for earlier, later in pairwise(pass_at(1, lines) for lines in left))


def test_two_samples_are_better_than_one() -> None:
    """One checkpoint has two of each problem."""
    lines = lines_of("checkpoint-150")

    assert {2} == set(Counter(line.problem for line in lines).values())
    assert (0.54, 0.8) == (round(pass_at(1, lines), 3), round(pass_at(2, lines), 3))


def test_every_verdict_and_defect_is_among_them() -> None:
    """But those that are no model's doing: JE is the judge's trouble, and SKIPPED is what was not run."""
    words = {line.expected for name in VERDICTS for line in lines_of(name)}

    assert {*TestVerdict} - {TestVerdict.JUDGE_ERROR, TestVerdict.SKIPPED} == words - {*DEFECTS}
    assert {*DEFECTS} == words & {*DEFECTS}
    assert {*Defect} == {*DEFECTS.values()}
