"""Solution files are read line by line: nothing is dropped, and memory stays flat."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.journal.solutions.outcomes import Defect, Ungradable
from pytest_crmeval.ports.sandbox import Language
from pytest_crmeval.solutions.files import read
from pytest_crmeval.solutions.json_lines import lines
from pytest_crmeval.solutions.solution import Extraction, Solution

FENCED = "So:\n```python\nprint(1)\n```\n"


def written(path: Path, *records: dict[str, Any] | bytes) -> Path:
    """Write a file."""
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    path.write_bytes(b"\n".join(lines))
    return path


def one(tmp_path: Path, record: dict[str, Any] | bytes, **how: Any) -> Solution | Ungradable:  # noqa: ANN401 (options)
    """Return what one line is read as."""
    (found,) = read(written(tmp_path / "s.jsonl", record), **how)
    return found


@pytest.mark.parametrize(
    ("record", "problem", "source"),
    [
        ({"id": "2063/C", "code": "print(1)"}, "2063/C", "print(1)"),
        ({"id": " ", "contest_id": 2063, "index": "C", "code": "print(1)"}, "2063/C", "print(1)"),
        ({"contest_id": 2063, "index": "C", "code": "print(1)"}, "2063/C", "print(1)"),
        ({"contest_id": "2063", "index": "C1", "solution": "print(1)"}, "2063/C1", "print(1)"),
        ({"id": "a", "raw_response": FENCED, "model": "m", "timestamp": 1.5}, "a", "print(1)\n"),
        ({"id": "a", "code": None, "raw_response": FENCED}, "a", "print(1)\n"),
        ({"id": "a", "code": "  ", "raw_response": FENCED}, "a", "print(1)\n"),
        ({"id": "a", "code": "x = '```'", "raw_response": FENCED}, "a", "x = '```'"),
        ({"id": "a", "code": "print(2)", "raw_response": "print(2)"}, "a", "print(2)"),
        ({"id": "a", "code": "```python\nprint(1)\n```"}, "a", "print(1)\n"),
        ({"id": "a", "code": FENCED, "raw_response": FENCED}, "a", "print(1)\n"),
        ({"id": 7, "code": "print(1)"}, "7", "print(1)"),
        ({"id": "a", "code": "print(1)", "logprob": float("nan")}, "a", "print(1)"),
        ({"id": "a", "code": "print('\ud83d')"}, "a", "print('\ud83d')"),
    ],
)
def test_solution_is_read_in_every_known_format(
    tmp_path: Path, record: dict[str, Any], problem: str, source: str
) -> None:
    """As the generators of several years have written them; code counts before the response it was taken from."""
    found = one(tmp_path, record)

    assert isinstance(found, Solution)
    assert (problem, source, 1, Language.PYTHON) == (
        found.problem,
        found.program.source,
        found.line,
        found.program.language,
    )


@pytest.mark.parametrize(
    ("record", "defect"),
    [
        (b"{not json}", Defect.BAD_LINE),
        (b'"text"', Defect.BAD_LINE),
        (b"\xff\xfe", Defect.BAD_LINE),
        (b"[" * 100_000, Defect.BAD_LINE),
        ({"id": "a", "code": ["print(1)"]}, Defect.BAD_LINE),
        ({"code": "print(1)"}, Defect.NO_ID),
        ({"id": " ", "code": "print(1)"}, Defect.NO_ID),
        ({"contest_id": 1, "code": "print(1)"}, Defect.NO_ID),
        ({"id": "a"}, Defect.NO_CODE),
        ({"id": "a", "code": ""}, Defect.NO_CODE),
        ({"id": "a", "raw_response": "No idea."}, Defect.NO_CODE),
        ({"id": "a", "raw_response": "```python\nprint("}, Defect.TRUNCATED),
        ({"id": "a", "code": "So:\n```python\nprint(", "raw_response": "So:\n```python\nprint("}, Defect.TRUNCATED),
        ({"id": "a", "code": "x", "language": "scala"}, Defect.UNSUPPORTED),
    ],
)
def test_ungradable_line_has_a_defect(tmp_path: Path, record: dict[str, Any] | bytes, defect: Defect) -> None:
    found = one(tmp_path, record)

    assert isinstance(found, Ungradable)
    assert (defect, 1) == (found.defect, found.line)
    assert found.detail


def test_lines_and_samples_are_counted(tmp_path: Path) -> None:
    """Empty lines have numbers, too, and a sample that can't be judged is one."""
    records: list[dict[str, Any] | bytes] = [
        b"\xef\xbb\xbf" + json.dumps({"id": "a", "code": "1"}).encode() + b"\r",
        b"",
        {"id": "b", "code": "1"},
        {"id": "a"},
        b"{",
        {"id": "a", "code": "1"},
    ]
    found = list(read(written(tmp_path / "s.jsonl", *records)))

    assert [(1, 0), (3, 0), (4, 1), (5, 0), (6, 2)] == [(each.line, each.sample) for each in found]


def test_language_and_extraction(tmp_path: Path) -> None:
    """By the block, else the record, else what the user says."""
    both = "```cpp\nint main() {}\n```\n```\nx\n```"

    first = one(tmp_path, {"id": "a", "raw_response": both}, extraction=Extraction.FIRST)
    said = one(tmp_path, {"id": "a", "code": "x", "language": "C++17"})
    default = one(tmp_path, {"id": "a", "code": "x"}, language=Language.CPP)

    found = [each.program.language for each in (first, said, default) if isinstance(each, Solution)]
    assert [Language.CPP] * 3 == found


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * 5000 + b"\n{}\n" + b"y" * 100)

    assert [(1, 0, None), (2, 5001, b"{}"), (3, 5004, None)] == [
        (line.number, line.offset, line.content) for line in lines(path, 99)
    ]


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"gone.jsonl: No such file or directory"):
        list(read(tmp_path / "gone.jsonl"))


STREAMING = """
import resource, sys
from pathlib import Path
from pytest_crmeval.solutions.files import digest, read

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for _ in read(Path(sys.argv[1])))
digest(Path(sys.argv[1]))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_stays_flat(tmp_path: Path) -> None:
    """While 200 MB are streamed, of which one line is far too long."""
    path = tmp_path / "big.jsonl"
    line = json.dumps({"id": "a", "raw_response": "x" * 100_000 + FENCED}).encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(1_300):
            file.write(line)
        file.write(b"y" * 70_000_000 + b"\n" + line)
    done = subprocess.run(
        [sys.executable, "-c", STREAMING, path], capture_output=True, text=True, check=True, timeout=120
    )

    count, kilobytes = map(int, done.stdout.split())
    assert 1_302 == count
    assert kilobytes < 90_000  # the longest line that is read has 64 MiB
