"""What a checker says, read from how its run ended."""

from pytest_crmeval.domain.cutting import cut, cut_bytes
from pytest_crmeval.domain.problem import JUDGE_MESSAGE, CheckerStyle, Finding, Opinion
from pytest_crmeval.domain.program import Ending, Execution

LONGEST = 200
_ALL = (1.0, 100.0)
"""What full marks are called."""
_CRASHED = b"Traceback (most recent call last):"
_TESTLIB = {0: "accepted", 1: "wrong answer", 2: "wrong format", 4: "more output than is expected"}
_KATTIS = {42: "accepted", 43: "wrong answer"}


def finding_of(style: CheckerStyle, execution: Execution) -> Finding:
    """Return what a checker has found."""
    if execution.ending is not Ending.EXITED:
        return _trouble(_broken_off(execution))
    if style is CheckerStyle.STDOUT:
        return _printed(execution)
    if style is CheckerStyle.TESTLIB:
        return _coded(_TESTLIB, execution, execution.stderr or execution.stdout)
    return _coded(_KATTIS, execution, execution.files.get(JUDGE_MESSAGE, b"") or execution.stderr)


def _printed(execution: Execution) -> Finding:
    """Read marks from the first line or the last one; beside them a checker may explain itself."""
    lines = execution.stdout.decode("utf-8", "replace").split("\n")
    told = [line.strip() for line in lines if line.strip()]
    marks = {mark for line in (told[0], told[-1]) if (mark := _mark(line)) is not None} if told else set()
    if len(marks) != 1:
        return _trouble(f"it prints {_told(execution.stdout)}, where 1 or 0 is expected{_exit(execution)}")
    (mark,) = marks
    if execution.exit_code != 0 and (mark in _ALL or _CRASHED in execution.stderr):
        return _trouble(f"it prints {mark:g}, and breaks{_exit(execution)}")
    if mark in _ALL:
        return Finding(opinion=Opinion.ACCEPTED)
    explained = " ".join(line for line in told if _mark(line) is None)
    partly = f"it gives {mark:g}" if mark else "it prints 0"
    return Finding(opinion=Opinion.REJECTED, reason=_cut(f"{partly}: {explained}" if explained else partly))


def _mark(line: str) -> float | None:
    """Return a number from 0 to 100; None if the line is none."""
    plain = line.isascii() and line.replace(".", "", 1).isdigit()
    mark = float(line) if plain else -1.0
    return mark if 0.0 <= mark <= max(_ALL) else None


def _coded(codes: dict[int, str], execution: Execution, said: bytes) -> Finding:
    """Read an exit code; the first one of the table accepts."""
    code = execution.exit_code
    if code not in codes:
        return _trouble(f"its exit code says neither right nor wrong{_exit(execution)}")
    if code == next(iter(codes)):
        return Finding(opinion=Opinion.ACCEPTED)
    reason = _cut(" ".join(said.decode("utf-8", "replace").split()))
    return Finding(opinion=Opinion.REJECTED, reason=reason or codes[code])


def _broken_off(execution: Execution) -> str:
    if execution.ending is Ending.SIGNALLED:
        return f"it crashed{_exit(execution)}"
    return f"it was ended by its limit of {execution.ending}"


def _exit(execution: Execution) -> str:
    how = f"exit code {execution.exit_code}" if execution.signal == "" else execution.signal
    said = execution.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f" ({how}{f'; {_cut(said)}' if said else ''})"


def _trouble(reason: str) -> Finding:
    return Finding(opinion=Opinion.TROUBLE, reason=reason)


def _told(stdout: bytes) -> str:
    text = cut_bytes(stdout.strip(), LONGEST - 1)
    return repr(text) if text else "nothing"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else cut(text, LONGEST - 1)
