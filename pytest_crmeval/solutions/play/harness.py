# ruff: noqa: B905, UP035 (it runs in a sandbox with any Python 3, and older ones lack what these rules ask for)
"""Runs in the sandbox: calls the function of a solution as a job says, and writes what came of it.

The job is JSON on standard input. The result is JSON on standard output, where the solution can't print: a value that
the judge compares, or whether the tests passed. It repeats a token of the job, which a solution can't guess, so that a
solution that exits early, or writes a result of its own, passes nothing. Only the standard library is used, since a
sandbox may have any Python 3.
"""

from __future__ import annotations

import builtins
import copy
import json
import math
import os
import signal
import sys
import time
import traceback
import types
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Iterator

SOLUTION, TESTS, REFERENCE = "solution.py", "tests.py", "reference.py"
USUAL_IMPORTS = """
import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from typing import *
sys.setrecursionlimit(50000)
"""
"""What LeetCode, and the benchmarks made of its problems, import before a solution."""
SET_OUTPUTS = "similar_elements find_char_long common_in_nested_lists extract_singly larg_nnum intersection_array"
SAME_SET = {*SET_OUTPUTS.split(), "find_dissimilar", "Diff"}
"""Functions of MBPP+ that may return their elements in any order."""
IS_FOUND = {"check_str", "text_match_three", "text_starta_endb"}
"""Functions of MBPP+ that may return a match in place of True."""
_RELATIVE = 1e-7
_LONGEST = 80
_open, _dump = builtins.open, json.dumps


class _BrokenTestsError(Exception):
    """The tests can't be run, whatever the solution is."""


class _TooSlowError(BaseException):
    """A call has taken too long; solutions that catch exceptions must not catch it."""


def main() -> None:
    """Do the job; an exception of the solution ends the program as it would end any other."""
    job = json.loads(sys.stdin.buffer.read())
    reading, writing = os.pipe()
    os.close(writing)
    os.dup2(reading, 0)  # the solution must not read the job again
    output = os.dup(1)
    os.dup2(2, 1)  # what the solution prints is not a result
    token = job.pop("token")
    try:
        result = _result(job)
    except _BrokenTestsError as error:
        result = {"broken": str(error)}
    except _TooSlowError as error:
        result = {"late": str(error)}
    sys.stdout.flush()
    with _open(output, "w", encoding="utf-8") as file:
        file.write(_dump({"token": token, **result}))


def _result(job: dict[str, Any]) -> dict[str, Any]:
    expected = _expected(job) if "reference" in job else []
    solution = _module(SOLUTION, job["solution"], USUAL_IMPORTS if job.get("usual_imports") else "")
    if "code" in job:
        return _tested(job, solution)
    function = _function(solution, job["entry_point"])
    if function is None:
        return {"failed": "there is no function " + job["entry_point"]}
    if "reference" in job:
        return _compared(job, function, expected)
    return {"value": _plain(function(*job["arguments"]))}


def _module(name: str, source: str, before: str = "") -> types.ModuleType:
    """Return a source text as a module."""
    module = types.ModuleType(name[:-3])
    sys.modules[module.__name__] = module
    if before:
        exec(before, module.__dict__)  # noqa: S102 (in the sandbox)
    exec(compile(source, name, "exec"), module.__dict__)  # noqa: S102 (in the sandbox)
    return module


def _function(module: types.ModuleType, name: str) -> Any:  # noqa: ANN401 (whatever the solution has)
    """Return a function of a module, or a method of its class Solution; None if there is neither."""
    solution = getattr(module, "Solution", None)
    if isinstance(solution, type) and hasattr(solution, name):
        return getattr(solution(), name)
    return getattr(module, name, None)


def _tested(job: dict[str, Any], solution: types.ModuleType) -> dict[str, Any]:
    """Run tests that are code; they see the names of the solution, and those of the prompt that it lacks."""
    entry_point = job["entry_point"]
    if entry_point and not hasattr(solution, entry_point):
        return {"failed": "there is no function " + entry_point}
    tests = types.ModuleType("tests")
    sys.modules["tests"] = tests
    try:
        exec(compile(job["prompt"], "prompt.py", "exec"), tests.__dict__)  # noqa: S102 (in the sandbox)
    except SyntaxError:
        tests.__dict__.clear()  # a prompt may end within a function
    tests.__dict__.update({name: value for name, value in vars(solution).items() if name[:2] != "__"})
    try:
        with _numpy():
            exec(compile(job["code"], TESTS, "exec"), tests.__dict__)  # noqa: S102 (in the sandbox)
        if entry_point and "check" in tests.__dict__:
            tests.__dict__["check"](getattr(solution, entry_point))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        if any(frame.filename == SOLUTION for frame in frames):
            if isinstance(error, AssertionError) and frames[-1].filename == TESTS:
                return {"failed": _assertion(error, job["code"], frames)}
            raise
        if isinstance(error, (SyntaxError, ImportError)):
            raise _BrokenTestsError(type(error).__name__ + " in the tests: " + str(error)) from error
        return {"failed": _assertion(error, job["code"], frames)}
    return {"passed": True}


@contextmanager
def _numpy() -> Iterator[None]:
    """Let tests import what those of evalplus use of numpy, where there is no numpy; solutions don't get it."""
    try:
        import_module("numpy")
    except ImportError:
        numbers = types.ModuleType("numpy")
        vars(numbers).update(allclose=_all_close, ndarray=type("ndarray", (), {}), float64=float, float32=float)
        sys.modules["numpy"] = numbers
        try:
            yield
        finally:
            del sys.modules["numpy"]
    else:
        yield


def _all_close(found: Any, right: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:  # noqa: ANN401 (as numpy)
    return _near(found, right, atol, rtol)


def _assertion(error: Exception, code: str, frames: traceback.StackSummary) -> str:
    """Return which test has failed."""
    lines = code.splitlines()
    number = next((frame.lineno for frame in reversed(frames) if frame.filename == TESTS), None) or 0
    shown = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    said = "" if isinstance(error, AssertionError) and not str(error) else type(error).__name__ + ": " + str(error)
    return ": ".join(part for part in (shown, said) if part) or "a test failed"


def _expected(job: dict[str, Any]) -> list[tuple[Any, float]]:
    """Return what the reference returns, and its seconds; it runs before the solution, which can't change it then."""
    found = []
    try:
        function = getattr(_module(REFERENCE, job["reference"]), job["entry_point"])
        for arguments in _inputs(job):
            start = time.process_time()
            right = function(*arguments)
            found.append((right, time.process_time() - start))
    except Exception as error:
        raise _BrokenTestsError("the reference solution fails: " + type(error).__name__ + ": " + str(error)) from error
    return found


def _inputs(job: dict[str, Any]) -> list[Any]:
    """Return the arguments of all calls; they are Python literals, since JSON has no tuples, sets or infinities."""
    found = eval(job["inputs"], {"__builtins__": {"set": set}, "inf": math.inf, "nan": math.nan})  # noqa: S307
    return list(found)


def _compared(
    job: dict[str, Any],
    function: Any,  # noqa: ANN401 (a callable of the solution)
    expected: list[tuple[Any, float]],
) -> dict[str, Any]:
    """Compare with the reference; as with evalplus, a call may take four times as long, and at least a second."""
    for number, (arguments, (right, seconds)) in enumerate(zip(_inputs(job), expected), start=1):
        given = copy.deepcopy(arguments)
        with _limited(max(1.0, 4 * seconds), number):
            found = function(*arguments)
        if not _same(job, given, found, right):
            call = job["entry_point"] + "(" + ", ".join(map(_shown, given)) + ")"
            return {"failed": f"input {number}: {call} is {_shown(right)}, found {_shown(found)}"}
    return {"passed": True}


@contextmanager
def _limited(seconds: float, number: int) -> Iterator[None]:
    """End a call after some seconds of CPU time."""

    def stop(*_: object) -> None:
        raise _TooSlowError(f"input {number}: more than {seconds:.3g} s of CPU time")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _same(job: dict[str, Any], given: list[Any], found: Any, right: Any) -> bool:  # noqa: ANN401 (results)
    """Whether a result is right by the rules of evalplus, which accepts further readings of some tasks."""
    name, tolerance = job["entry_point"], job["tolerance"]
    if not job["is_mbpp"] and name == "find_zero":
        return bool(abs(sum(factor * found**power for power, factor in enumerate(given[0]))) <= tolerance)
    if job["is_mbpp"] and name in SAME_SET:
        exact = set(found) == set(right)
    elif job["is_mbpp"] and name in IS_FOUND:
        exact = (found if isinstance(found, bool) else found is not None) == (right is not None)
    else:
        exact = bool(found == right) or (job["is_mbpp"] and _also_right(name, given, found, tolerance))
    if exact:
        return True
    if tolerance == 0 and _are_floats(right):
        tolerance = 1e-6
    return tolerance != 0 and type(found) is type(right) and _near(found, right, tolerance)


def _also_right(name: str, given: list[Any], found: Any, tolerance: float) -> bool:  # noqa: ANN401 (a result)
    """Whether a result is right by another reading of a task of MBPP+ that is ambiguous."""
    if name == "are_equivalent":
        return True
    if name == "sum_div":
        return bool(found == 0)
    if name == "surface_Area":  # the height may be that of the pyramid, not of its sides
        edge, height = given
        return bool(abs(found - round(edge**2 + 2 * edge * math.sqrt((edge / 2) ** 2 + height**2))) <= tolerance)
    if name == "digit_distance_nums":
        one, other = map(str, given)
        width = max(len(one), len(other))
        pairs = zip(one.zfill(width), other.zfill(width))
        return bool(found == sum(abs(int(digit) - int(partner)) for digit, partner in pairs))
    return False


def _are_floats(value: Any) -> bool:  # noqa: ANN401 (a result)
    if isinstance(value, (list, tuple)) and value:
        return all(isinstance(each, float) for each in value)
    return isinstance(value, float)


def _near(found: Any, right: Any, tolerance: float, relative: float = _RELATIVE) -> bool:  # noqa: ANN401 (results)
    if isinstance(right, (list, tuple)):
        same_length = isinstance(found, (list, tuple)) and len(found) == len(right)
        return same_length and all(_near(one, other, tolerance, relative) for one, other in zip(found, right))
    if not isinstance(right, (int, float, complex)) or not isinstance(found, (int, float, complex)):
        return False
    return found == right or abs(found - right) <= tolerance + relative * abs(right)


def _plain(value: Any) -> Any:  # noqa: ANN401 (a result)
    """Return a result as JSON has it: tuples are lists, values of numpy are plain."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return _plain(value.tolist()) if hasattr(value, "tolist") else {"not JSON": _shown(value)}


def _shown(value: Any) -> str:  # noqa: ANN401 (anything)
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


if __name__ == "__main__":
    main()
