"""One line of a solution file, as the generators of several years have written it."""

import json

import msgspec

from pytest_crmeval.domain.json_lines import Line
from pytest_crmeval.domain.program import Language, Program
from pytest_crmeval.domain.solution import Defect, Extraction
from pytest_crmeval.solutions.files.programs import Flaw, extracted, fenced, language_of


class SolutionRecord(msgspec.Struct):
    """What we look at; a record has more (model, time, limits), which says nothing about the program."""

    id: str | int | None = None
    contest_id: str | int | None = None
    index: str | int | None = None
    code: str | None = None
    solution: str | None = None
    raw_response: str | None = None
    language: str | None = None

    @property
    def problem(self) -> str:
        """Id of the problem; empty if there is none."""
        if self.id is not None and (named := str(self.id).strip()):
            return named
        parts = [str(part).strip() for part in (self.contest_id, self.index) if part is not None]
        return "/".join(parts) if len(parts) == 2 and all(parts) else ""  # noqa: PLR2004 (both of them)


_DECODER = msgspec.json.Decoder(SolutionRecord)


def decoded(line: Line) -> SolutionRecord | Flaw:
    """Return a line as a record."""
    if line.content is None:
        return Flaw(defect=Defect.BAD_LINE, detail="the line is too long to be one program")
    try:
        return _read(line.content)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        return Flaw(defect=Defect.BAD_LINE, detail=f"{place.strip('`$.') or 'line'}: {what}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Flaw(defect=Defect.BAD_LINE, detail=f"this line is not JSON: {error}")


def _read(content: bytes) -> SolutionRecord:
    """Read a line; what only Python takes for JSON (NaN in a field of others, half an emoji), Python has written."""
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
    """Return the program of a record: the one it names, else the one in the response."""
    spoken = _spoken(record, language)
    if isinstance(spoken, Flaw):
        return spoken
    code, response = record.code or record.solution or "", record.raw_response or ""
    if code.strip() and not _is_response(code, response):
        return Program(language=spoken, source=code)
    text = code if code.strip() else response
    if not text.strip():
        return Flaw(defect=Defect.NO_CODE, detail="code, solution and raw_response are empty, or missing")
    return extracted(text, extraction, spoken)


def _spoken(record: SolutionRecord, language: Language) -> Language | Flaw:
    if not record.language:
        return language
    found = language_of(record.language)
    return found or Flaw(defect=Defect.UNSUPPORTED, detail=f"programs in {record.language} can't be run")


def _is_response(code: str, response: str) -> bool:
    """Tell whether what is called code is a response, out of which nobody could take a program."""
    return fenced(code) or (code.strip() == response.strip() and ("```" in code or "~~~" in code))
