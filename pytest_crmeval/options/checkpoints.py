"""The options of solution files: where they are, what they are judged by, where their programs run, how long."""

from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.options.values import (
    AUTO,
    EXAMPLES,
    EXTRACTIONS,
    FILE_SECONDS,
    ORDERS,
    SKIP_OVER,
    CheckpointOptions,
    GeneratedTests,
)


def checkpoint_options_of(config: pytest.Config) -> CheckpointOptions:
    """Decide: command line before environment before default."""
    here, given = config.invocation_params.dir, config.getoption
    skip_over = _counted(config, "--crmeval-tests-skip-over")
    return CheckpointOptions(
        solutions=tuple(here / Path(name).expanduser() for name in given("crmeval_solutions") or ()),
        problems=tuple(here / Path(name).expanduser() for name in given("crmeval_problems") or ()),
        pattern=given("crmeval_checkpoints") or "",
        sandbox=given("crmeval_sandbox") or AUTO,
        unsafe=bool(given("crmeval_unsafe_sandbox")),
        extraction=given("crmeval_extract") or "last",
        generated=_generated(config),
        examples=given("crmeval_tests_examples") or "instead",
        skip_over=SKIP_OVER if skip_over is None else skip_over,
        all_tests=bool(given("crmeval_all_tests")),
        file_seconds=_seconds(config, "--crmeval-file-timeout") or FILE_SECONDS,
        solution_seconds=_seconds(config, "--crmeval-solution-timeout"),
        fresh=bool(given("crmeval_fresh")),
        testlib=_testlib(config),
    )


def add_checkpoint_options(group: pytest.OptionGroup) -> None:
    """Declare options."""
    _add_files(group)
    _add_sandbox(group)
    _add_tests(group)
    _add_times(group)


def _add_files(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-solutions",
        action="append",
        metavar="PATH",
        help="judge the solution files there instead of the marker's: a folder with checkpoint-49/*.jsonl and the "
        "like, a quoted pattern, or a text file with one of these per line; repeatable",
    )
    group.addoption(
        "--crmeval-problems",
        action="append",
        metavar="FILE",
        help="judge by these problems instead of the marker's: JSON Lines or parquet, of our own form or "
        "open-r1/codeforces; repeatable, the first one that has a problem counts",
    )
    group.addoption(
        "--crmeval-checkpoints",
        metavar="PATTERN",
        help="judge only checkpoints with such names: 'checkpoint-{49,98}', 'checkpoint-1*'",
    )
    group.addoption(
        "--crmeval-extract",
        choices=EXTRACTIONS,
        help="which complete block of code of a response is its program (default: last)",
    )
    group.addoption(
        "--crmeval-fresh",
        action="store_const",
        const=True,
        help="judge everything anew, though the same file was judged by the same problems, limits and sandbox before",
    )


def _add_sandbox(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-sandbox",
        metavar="WHERE",
        help="where programs run: local (isolated on this machine), http://host:2000[,http://host2:2000] (Piston), or "
        "what a plugin knows (default: auto, which is CRMEVAL_PISTON_URL if it is set, else local)",
    )
    group.addoption(
        "--crmeval-unsafe-sandbox",
        action="store_const",
        const=True,
        help="run programs also where this machine can't isolate them: they could read and write your files",
    )
    group.addoption(
        "--crmeval-testlib", metavar="PATH", help="the testlib.h (or its folder) that checkers in C++ include"
    )


def _add_tests(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-tests",
        metavar="DIR",
        help="judge also by the generated tests there, a parquet file per contest: test_cases_0852.parquet",
    )
    group.addoption(
        "--crmeval-tests-max", type=int, metavar="N", help="generated tests of each problem, at most (default: all)"
    )
    group.addoption(
        "--crmeval-tests-sort", choices=ORDERS, help="which generated tests come first, and are taken (default: none)"
    )
    group.addoption(
        "--crmeval-tests-bytes", type=int, metavar="N", help="bytes of generated tests of each problem, at most"
    )
    group.addoption(
        "--crmeval-tests-sample",
        type=float,
        metavar="SHARE",
        help="take this share of each problem's generated tests, drawn by --crmeval-seed: 0.1",
    )
    group.addoption(
        "--crmeval-tests-examples",
        choices=EXAMPLES,
        help="whether the examples of a problem's statement are tests: instead (default: where it has no others), "
        "always, or never",
    )
    group.addoption(
        "--crmeval-tests-skip-over",
        type=int,
        metavar="N",
        help=f"skip tests whose input has more bytes, and say so (default: {SKIP_OVER:,})",
    )
    group.addoption(
        "--crmeval-all-tests",
        action="store_const",
        const=True,
        help="run all tests of a solution, also after one that it has failed",
    )


def _add_times(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--crmeval-file-timeout",
        type=float,
        metavar="S",
        help="seconds that one solution file may take; what is judged by then is kept, and the same run resumed does "
        f"the rest (default: {FILE_SECONDS:.0f})",
    )
    group.addoption(
        "--crmeval-solution-timeout",
        type=float,
        metavar="S",
        help="seconds that all tests of one solution may take together (default: any; each test has its own limit)",
    )


def _generated(config: pytest.Config) -> GeneratedTests:
    share = config.getoption("crmeval_tests_sample")
    if share is not None and not 0.0 < share <= 1.0:
        raise pytest.UsageError(f"--crmeval-tests-sample {share:g}: give a share, more than 0 and at most 1")
    folder = _there(config, "--crmeval-tests", "folder")
    if folder and not folder.is_dir():
        raise pytest.UsageError(f"--crmeval-tests {folder}: is no folder")
    return GeneratedTests(
        folder=folder,
        most=_counted(config, "--crmeval-tests-max"),
        order=config.getoption("crmeval_tests_sort") or "none",
        bytes=_counted(config, "--crmeval-tests-bytes"),
        share=1.0 if share is None else share,
    )


def _testlib(config: pytest.Config) -> Path | None:
    found = _there(config, "--crmeval-testlib", "file")
    header = found / "testlib.h" if found and found.is_dir() else found
    if header and not header.is_file():
        raise pytest.UsageError(f"--crmeval-testlib {found}: there is no testlib.h")
    return header


def _there(config: pytest.Config, option: str, what: str) -> Path | None:
    given = _given(config, option)
    if given is None:
        return None
    path: Path = config.invocation_params.dir / Path(given).expanduser()
    if not path.exists():
        raise pytest.UsageError(f"{option} {given}: there is no such {what}")
    return path


def _counted(config: pytest.Config, option: str) -> int | None:
    number: int | None = _given(config, option)
    if number is not None and number < 0:
        raise pytest.UsageError(f"{option} {number}: give a number, none is 0")
    return number


def _seconds(config: pytest.Config, option: str) -> float | None:
    seconds: float | None = _given(config, option)
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise pytest.UsageError(f"{option} {seconds:g}: give seconds, more than none")
    return seconds


def _given(config: pytest.Config, option: str) -> Any:  # noqa: ANN401 (as it was declared)
    return config.getoption(option.removeprefix("--").replace("-", "_"))
