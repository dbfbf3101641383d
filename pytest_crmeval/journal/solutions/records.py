"""The record of each line of a solution file: its verdict, test by test, or why it can't be graded."""

from collections import Counter
from typing import Any

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.file_outcome import UNJUDGED, FileOutcome, TestVerdict
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.journal.checkpoints import added_samples, label_order, rating_group
from pytest_crmeval.journal.solutions.outcomes import Defect, SolutionOutcome, TestOutcome, Ungradable

Record = dict[str, Any]
REASON, OUTPUT, PROGRAM = 1_000, 500, 8_000
"""Maximum number of characters of each."""
MIB = 2**20


def record_of(judged: SolutionOutcome | Ungradable) -> Record:
    """Return the outcome of a line as JSON primitives."""
    if isinstance(judged, Ungradable):
        return {
            "line": judged.line,
            "problem": judged.problem,
            "sample": judged.sample,
            "ungradable": str(judged.defect),
            "detail": _cut(judged.detail, REASON),
        }
    return {
        "line": judged.line,
        "problem": judged.problem,
        "sample": judged.sample,
        "verdict": str(judged.verdict),
        "reason": _cut(judged.reason, REASON),
        "seconds": _most(test.cpu_seconds for test in judged.tests),
        "memory": _most(test.memory_bytes for test in judged.tests),
        **({} if judged.rating is None else {"rating": judged.rating}),
        **({"tags": list(judged.tags)} if judged.tags else {}),
        **({"note": judged.note} if judged.note else {}),
        **({"program": _cut(judged.program, PROGRAM)} if judged.program else {}),
        "tests": [_test(test) for test in judged.tests],
    }


def terminal_safe(text: str) -> str:
    """Return the text with control characters escaped, so that it is safe to show in a terminal."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


def is_final(record: Record) -> bool:
    """Whether the line need not be graded again; it must be if infrastructure failed."""
    return "ungradable" in record or record["verdict"] not in UNJUDGED


class Count:
    """Counts records as they are added."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.ungradable: Counter[str] = Counter()
        self._problems: dict[str, tuple[int, int]] = {}
        self._groups: dict[tuple[str, str], tuple[int, int]] = {}
        self.notes: Counter[str] = Counter()
        """Note -> number of solutions: graded by fewer tests, or in a language that is not supported."""
        self.trouble = ""
        """The first reason why a solution could not be graded."""

    @property
    def lines(self) -> int:
        """Number of records."""
        return self.verdicts.total() + self.ungradable.total()

    @property
    def solved(self) -> int:
        """Number of accepted solutions."""
        return self.verdicts[TestVerdict.ACCEPTED]

    def take(self, record: Record) -> None:
        """Count a line."""
        if "ungradable" in record:
            self.ungradable[record["ungradable"]] += 1
            if record["ungradable"] == Defect.UNSUPPORTED:
                self.notes[f"unsupported: {record['detail']}"] += 1
            return
        verdict = record["verdict"]
        self.verdicts[verdict] += 1
        if note := record.get("note"):
            self.notes[note] += 1
        if verdict in UNJUDGED:
            self.trouble = self.trouble or f"line {record['line']}: {terminal_safe(record['reason'])}"
            return
        solved = verdict == TestVerdict.ACCEPTED
        self._problems[record["problem"]] = _added(self._problems.get(record["problem"]), solved=solved)
        groups = [("rating", rating_group(record.get("rating"))), *(("tag", tag) for tag in record.get("tags", ()))]
        for group in dict.fromkeys(groups):
            self._groups[group] = _added(self._groups.get(group), solved=solved)

    def outcome(self, **facts: Any) -> FileOutcome:  # noqa: ANN401 (other fields of FileOutcome)
        """Return the counts as the outcome of a file."""
        by: dict[str, dict[str, tuple[int, int]]] = {}
        for kind, label in sorted(self._groups, key=lambda each: (each[0], label_order(each[1]))):
            by.setdefault(kind, {})[label] = self._groups[kind, label]
        return FileOutcome(
            verdicts=dict(sorted(self.verdicts.items())),
            ungradable=dict(sorted(self.ungradable.items())),
            samples=added_samples([tuple((judged, solved, 1) for solved, judged in self._problems.values())]),
            by=by,
            **facts,
        )


def _added(share: tuple[int, int] | None, *, solved: bool) -> tuple[int, int]:
    """Return the numbers of solved and graded solutions, with one more solution."""
    before = share or (0, 0)
    return before[0] + solved, before[1] + 1


def _test(test: TestOutcome) -> JsonObject:
    fields: JsonObject = {
        "verdict": str(test.verdict),
        "kind": str(test.kind),
        "cpu": _rounded(test.cpu_seconds),
        "wall": _rounded(test.wall_seconds),
        "memory": test.memory_bytes,
        "reason": _cut(test.reason, REASON),
        "input": _cut(test.input, OUTPUT),
        "expected": _cut(test.expected, OUTPUT),
        "output": _cut(test.output, OUTPUT),
    }
    return {name: value for name, value in fields.items() if value not in {None, ""}}


def _most(numbers: Any) -> float | None:  # noqa: ANN401 (seconds or bytes)
    """Return the highest number; None if there is none."""
    found = max((number for number in numbers if number is not None), default=None)
    return _rounded(found) if isinstance(found, float) else found


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)


def _cut(text: str, most: int) -> str:
    safe = text.encode("utf-8", "backslashreplace").decode()
    return cut(safe, most, f"… ({len(safe)} characters)")
