"""The summary at the end of a run: one screen, with the gates first and further commands last."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.render import comparison as contrasts
from pytest_crmeval.render import learning as curves
from pytest_crmeval.render import summary
from pytest_crmeval.render.fitting import wrapped
from pytest_crmeval.render.progress_table import cells
from pytest_crmeval.render.progress_table import cut as cut_name
from pytest_crmeval.report.costs import lines as bill_lines
from pytest_crmeval.report.gate import Gate
from pytest_crmeval.report.outliers import Reason
from pytest_crmeval.report.report import Report, SubjectSummary

GROUPS, FEWEST = 10, 3
"""Maximum number of failure groups, and the minimum on a small screen."""
CHANGES = 5
"""Cases shown per list of changes in the whole summary."""
_COUNT, _EXAMPLE, _SUBJECT = 6, 28, 16
"""Widths of a count, an example and a subject."""
_GAP = 2
_FRAME = 5
"""Other lines: the title, those around the reasons, the result of pytest, and the prompt of the shell."""
Group = tuple[SubjectSummary, Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """Everything that the terminal shows of a finished run."""

    report: Report
    idle: Sequence[Gate] = ()
    """Gates that were not evaluated."""
    decision: Sequence[str] = ()
    """The consequences of the gates."""
    notes: Sequence[str] = ()
    """Other remarks about the run."""
    places: Sequence[str] = ()
    """Paths of the report and the page; these lines are never wrapped."""

    def lines(self, width: int, height: int | None) -> Iterator[str]:
        """Yield the summary in lines of at most ``width``, with fewer failures if ``height`` is small."""
        about_gates = [*summary.idle(self.idle), *self.decision]
        head = [
            *summary.gates(self.report.rulings, width),
            *(each for line in about_gates for each in wrapped(line, width)),
        ]
        head += summary.table(self.report, width)
        compared = contrasts.brief(self.report.comparison, width) if self.report.comparison else ()
        tail = [*compared, *(each for line in self._notes() for each in wrapped(line, width)), *self.places]
        if example := example_of(self.report):
            tail.append(f"show:   crmeval show {example}")
        room = GROUPS if height is None else height - _FRAME - len(head) - len(tail)
        yield from head
        yield from failures(self.report, width, max(FEWEST, min(GROUPS, room)))
        yield from tail

    def whole(self) -> Iterator[str]:
        """Yield everything, without a limit on the width."""
        yield from summary.gates(self.report.rulings)
        yield from summary.idle(self.idle)
        yield from self.decision
        yield from summary.table(self.report)
        if self.report.comparison:
            yield from contrasts.lines(self.report.comparison, most=CHANGES)
        yield from self._notes()
        yield from self.places

    def _notes(self) -> Iterator[str]:
        yield from summary.answers(self.report)
        yield from bill_lines(self.report)
        yield from curves.lines(self.report)
        yield from summary.invalid(self.report)
        yield from self.notes


def failures(report: Report, width: int, most: int = GROUPS) -> Iterator[str]:
    """Yield how many trials failed, and the most frequent reasons, each with a count and an example.

    Failures of mute, which can't pass, are omitted if there are others.
    """
    groups = _groups(report)
    if not groups:
        return
    verdicts = {name: sum(each.count for _, each in groups if each.verdict == name) for name in ("failed", "errored")}
    counted = [f"{count} trial{'s' * (count != 1)} {name}" for name, count in verdicts.items() if count]
    yield from wrapped(f"{' and '.join(counted)}; the most frequent reasons:", width)
    several = len({summary.subject for summary, _ in groups}) > 1
    yield from _rows(groups[:most], width, named=several)
    if rest := groups[most:]:
        yield f"{sum(each.count for _, each in rest):>{_COUNT}}  for {len(rest)} other reason{'s' * (len(rest) != 1)}"


def example_of(report: Report) -> str:
    """Return the case of the most frequent failure, quoted for a shell; empty if nothing failed."""
    return next((shlex.quote(each.cases[0]) for _, each in _groups(report) if each.cases), "")


def _groups(report: Report) -> list[Group]:
    found = [(summary, each) for summary in report.standings for each in summary.reasons]
    worth = [group for group in found if group[0].subject != "mute"] or found
    return sorted(worth, key=lambda group: -group[1].count)


def _rows(groups: Sequence[Group], width: int, *, named: bool) -> Iterator[str]:
    examples = [cut_name(_line(each.cases[0]) if each.cases else "", _EXAMPLE) for _, each in groups]
    subjects = [cut_name(_line(summary.subject), _SUBJECT) if named else "" for summary, _ in groups]
    wide = max(map(cells, subjects)) + _GAP if named else 0
    room = width - _COUNT - _GAP - wide - _GAP - max(map(cells, examples))
    for (_, each), subject, example in zip(groups, subjects, examples, strict=True):
        reason = _line(f"errored: {each.shown}" if each.verdict == "errored" else each.shown)
        shown = reason if len(reason) <= room else cut(reason, room - 1)
        yield f"{each.count:>{_COUNT}}  {subject:<{wide}}{shown:<{room}}  {example}".rstrip()


def _line(text: str) -> str:
    return text if text.isprintable() else ascii(text)[1:-1]
