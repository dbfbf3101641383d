"""The results of a solution file as text."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.journal.checkpoints import CheckpointFigures
from pytest_crmeval.journal.solutions.records import MIB, Record, terminal_safe
from pytest_crmeval.journal.solutions.results import EarlierResults


def write_text(found: EarlierResults, outcome: FileOutcome) -> Path:
    """Write ``eval_<file>.txt`` beside the JSON lines, and return its path."""
    path = found.path.with_suffix(".txt")
    head = [
        f"{found.head['checkpoint']}: {found.head['file']}",
        f"problems: {', '.join(found.head['problems'])}",
        f"sandbox: {found.head['sandbox']}",
        *shares(outcome),
        "",
    ]
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(f"{line}\n" for line in head)
        file.writelines(f"{terminal_safe(_result(record))}\n" for record in found.lines() if "line" in record)
    return path


def shares(outcome: FileOutcome) -> Iterator[str]:
    """Yield the figures of a file in sentences."""
    figures = CheckpointFigures.of(outcome, 1)
    yield f"{outcome.lines} lines: {outcome.judged} graded, {outcome.solved} solved"
    for k, found in figures.pass_at.items():
        yield f"pass@{k}: {found.value:.3f} ({found.problems} problem{'s' * (found.problems != 1)})"
    if (interval := figures.interval) is not None:
        yield f"95 % interval of pass@1: {interval[0]:.3f} to {interval[1]:.3f}"
    if figures.solved_of_all is not None and outcome.judged != outcome.lines:
        yield f"solved of all lines: {figures.solved_of_all:.3f}"
    if outcome.verdicts:
        yield f"verdicts: {listed(outcome.verdicts)}"
    if outcome.ungradable:
        yield f"ungradable: {listed(outcome.ungradable)}"
    if outcome.missing:
        yield f"not graded because of the time limit: {outcome.missing}"
    if outcome.reused_from:
        yield f"{outcome.reused} verdicts reused from run {outcome.reused_from}"


def listed(counts: Mapping[str, int]) -> str:
    """Return counts in words, the most frequent first."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _result(record: Record) -> str:
    """Return the result of a line of the file: verdict, usage, and the failed test if there is one."""
    place = f"line {record['line']:>5}  {record['problem'] or '-':<16}"
    if "ungradable" in record:
        return f"{place}  ungradable: {record['ungradable']}{_after(record['detail'])}"
    tests, seconds, memory = record["tests"], record["seconds"], record["memory"]
    usage = f"{len(tests)} tests"
    usage += "" if seconds is None else f", {seconds:.2f} s"
    usage += "" if memory is None else f", {memory / MIB:.0f} MiB"
    wrong = next((number for number, test in enumerate(tests, start=1) if test["verdict"] == record["verdict"]), 0)
    reason = str(record["reason"])
    if record["verdict"] != "AC" and wrong:
        reason = f"test {wrong} of {len(tests)} ({tests[wrong - 1]['kind']}): {tests[wrong - 1].get('reason', '')}"
    return f"{place}  {record['verdict']:<7}  {usage}{_after(reason)}"


def _after(text: str) -> str:
    line = " ".join(text.split())
    return f"  {line}" if line else ""
