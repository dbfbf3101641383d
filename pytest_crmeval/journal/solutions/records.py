"""What is kept of each line of a solution file: its verdict, test by test, or why it can't have one."""

from collections import Counter
from typing import Any

from pytest_crmeval.domain.checkpoints import UNJUDGED, FileOutcome, label_order, rating_group
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.solution import SolutionOutcome, TestOutcome, TestVerdict, Ungradable

Record = dict[str, Any]
REASON, OUTPUT = 1_000, 500
"""Characters that are kept of each."""
MIB = 2**20


def record_of(judged: SolutionOutcome | Ungradable) -> Record:
    """Return JSON primitives."""
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
        "tests": [_test(test) for test in judged.tests],
    }


def harmless(text: str) -> str:
    """Return a text that does nothing to the terminal that shows it, whatever a program has put in it."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


def is_final(record: Record) -> bool:
    """Whether there is no use in judging the line again: what the judge's trouble has kept from a verdict is."""
    return "ungradable" in record or record["verdict"] not in UNJUDGED


class Count:
    """Counts records as they come."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.ungradable: Counter[str] = Counter()
        self._problems: dict[str, tuple[int, int]] = {}
        self._groups: dict[tuple[str, str], tuple[int, int]] = {}
        self.trouble = ""
        """What the judge said first when it could not judge."""

    @property
    def lines(self) -> int:
        """How many have come."""
        return self.verdicts.total() + self.ungradable.total()

    @property
    def solved(self) -> int:
        """How many of them are accepted."""
        return self.verdicts[TestVerdict.ACCEPTED]

    def take(self, record: Record) -> None:
        """Count a line."""
        if "ungradable" in record:
            self.ungradable[record["ungradable"]] += 1
            return
        verdict = record["verdict"]
        self.verdicts[verdict] += 1
        if verdict in UNJUDGED:
            self.trouble = self.trouble or f"line {record['line']}: {harmless(record['reason'])}"
            return
        solved = verdict == TestVerdict.ACCEPTED
        self._problems[record["problem"]] = _added(self._problems.get(record["problem"]), solved=solved)
        groups = [("rating", rating_group(record.get("rating"))), *(("tag", tag) for tag in record.get("tags", ()))]
        for group in dict.fromkeys(groups):
            self._groups[group] = _added(self._groups.get(group), solved=solved)

    def outcome(self, **facts: Any) -> FileOutcome:  # noqa: ANN401 (whatever else is known of the file)
        """Return all of it."""
        return FileOutcome(
            verdicts=dict(sorted(self.verdicts.items())),
            ungradable=dict(sorted(self.ungradable.items())),
            samples=Counter((judged, solved) for solved, judged in self._problems.values()),
            by={kind: found for kind in ("rating", "tag") if (found := self._of_kind(kind))},
            **facts,
        )

    def _of_kind(self, kind: str) -> dict[str, tuple[int, int]]:
        labels = sorted((label for each, label in self._groups if each == kind), key=label_order)
        return {label: self._groups[kind, label] for label in labels}


def _added(share: tuple[int, int] | None, *, solved: bool) -> tuple[int, int]:
    """Return solved and judged with one more."""
    before = share or (0, 0)
    return before[0] + solved, before[1] + 1


def _test(test: TestOutcome) -> JsonObject:
    told: JsonObject = {
        "verdict": str(test.verdict),
        "kind": str(test.kind),
        "cpu": _rounded(test.cpu_seconds),
        "wall": _rounded(test.wall_seconds),
        "memory": test.memory_bytes,
        "reason": _cut(test.reason, REASON),
        "output": _cut(test.output, OUTPUT),
    }
    return {name: value for name, value in told.items() if value not in {None, ""}}


def _most(numbers: Any) -> float | None:  # noqa: ANN401 (seconds or bytes)
    """Return the highest; None if nobody could tell."""
    found = max((number for number in numbers if number is not None), default=None)
    return _rounded(found) if isinstance(found, float) else found


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)


def _cut(text: str, most: int) -> str:
    safe = text.encode("utf-8", "backslashreplace").decode()
    return cut(safe, most, f"… ({len(safe)} characters)")
