"""Solution files: where they are, and what stands in them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.fingerprints import whole
from pytest_crmeval.domain.json_lines import Line, lines
from pytest_crmeval.domain.program import Language
from pytest_crmeval.domain.solution import Defect, Extraction, Solution, Ungradable
from pytest_crmeval.solutions.files.discovery import find
from pytest_crmeval.solutions.files.programs import Flaw
from pytest_crmeval.solutions.files.records import SolutionRecord, decoded, program_of
from pytest_crmeval.solutions.files.refs import SolutionRef

__all__ = ["SolutionRef", "digest", "find", "read"]


def read(
    path: Path, *, extraction: Extraction = Extraction.LAST, language: Language = Language.PYTHON
) -> Iterator[Solution | Ungradable]:
    """Yield the lines of a solution file in their order, one at a time; what can't be judged is told, not dropped.

    ``language`` is that of programs which don't say theirs. Problems are not looked up here: see
    ``play.solution.ungradable``. DatasetError if the file can't be read.
    """
    samples: Counter[str] = Counter()
    try:
        for line in lines(path):
            record = decoded(line)
            if isinstance(record, Flaw):
                yield _ungradable(record, line, "", 0)
                continue
            problem = record.problem
            yield _read(record, line, samples[problem], extraction, language)
            samples[problem] += 1
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error


def _read(
    record: SolutionRecord, line: Line, sample: int, extraction: Extraction, language: Language
) -> Solution | Ungradable:
    problem = record.problem
    if not problem:
        flaw = Flaw(defect=Defect.NO_ID, detail="there is neither id, nor contest_id and index")
        return _ungradable(flaw, line, "", 0)
    program = program_of(record, extraction, language)
    if isinstance(program, Flaw):
        return _ungradable(program, line, problem, sample)
    return Solution(problem=problem, line=line.number, sample=sample, program=program)


def _ungradable(flaw: Flaw, line: Line, problem: str, sample: int) -> Ungradable:
    return Ungradable(defect=flaw.defect, line=line.number, problem=problem, sample=sample, detail=flaw.detail)


def digest(path: Path) -> str:
    """Return what changes when anything in the file changes: all of it is read, in one pass."""
    try:
        return whole(path)
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error
