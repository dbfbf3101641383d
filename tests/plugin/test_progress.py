"""The progress of a run during pytest: on a terminal, in a log, or not at all."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_crmeval.controller.progress.live import Live, Mode, mode_of
from pytest_crmeval.journal import live
from tests.postgres.processes import eventually
from tests.projects import case, failing
from tests.screens import SECONDS, Terminal, terminal

Project = Callable[..., pytest.Pytester]
HEAD = "suite × subject"
GATED = """
import time
from pathlib import Path

from bots import Half


class Gated(Half):
    '''Keeps who says please waiting until there is a file.'''

    name = "gated"

    def reply(self, messages, tools):
        while messages[-1].text.startswith("Please") and not Path("open").exists():
            time.sleep(0.01)
        return super().reply(messages, tools)
"""
CASES = [case("one"), failing("two"), case("three")]


@pytest.fixture
def gated(project: Project) -> Path:
    """Make a project whose second case waits for a file, and return its folder."""
    pytester = project(CASES)
    pytester.makepyfile(gates=GATED)
    return pytester.path


def pytest_in(folder: Path, *arguments: str, columns: int = 80) -> AbstractContextManager[Terminal]:
    """Run pytest in a terminal."""
    command = ["pytest", "-p", "no:cacheprovider", "--crmeval-agent=gates:Gated", *arguments]
    return terminal(folder, *command, columns=columns, lines=12)


def figures(shown: Terminal) -> dict[str, str]:
    """Return the figures of the only row of the progress block, by column; empty while it is being drawn."""
    lines = [re.split("  +", line) for line in shown.screen if line]
    return next((dict(zip(*pair, strict=False)) for pair in pairwise(lines) if pair[0][0] == HEAD), {})


def steady(lines: Sequence[str]) -> list[str]:
    """Return the output without varying parts."""
    return [re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}|\d+\.\d+ ?s\b", "<changing>", line) for line in lines]


@pytest.mark.usefixtures("given_server")
def test_progress_of_workers_is_shown_at_the_bottom_of_a_terminal(gated: Path) -> None:
    """While cases are played; afterwards nothing of it is left."""
    with pytest_in(gated, "-n", "2", "--tb=no") as shown:
        found: dict[str, str] = {}

        def is_waiting() -> bool:
            found.update(figures(shown))
            return ("2/3", "1") == (found.get("done"), found.get("in flight")) and "per min" in found

        eventually(is_waiting, "two are done, one is in flight, and a pace is known", SECONDS)
        (run,) = (path.parent for path in (gated / "reports").glob("*/trials.jsonl"))
        eventually(lambda: bool(live.read(run).playing), "those who watch from outside see what is played")
        (playing,) = live.read(run).playing
        (gated / "open").touch()

        assert 1 == shown.end()
    assert ("two", "gated", False) == (playing.case, playing.subject, playing.confidential)
    assert ["user"] == [message["speaker"] for message in playing.messages]
    assert not (run / live.FOLDER).exists()
    assert ("crm × gated", "1.000") == (found[HEAD], found["pass rate"])
    assert "ETA" in found
    assert not [line for line in shown.everything if line.startswith(HEAD) or "2/3" in line]
    assert sorted("..F") == sorted("".join(line[:3] for line in shown.everything if line.endswith("[100%]")))
    assert "1 failed, 2 passed" in shown.everything[-1]


@pytest.mark.usefixtures("given_server")
def test_output_of_pytest_is_not_changed(gated: Path) -> None:
    """Even on a narrow terminal, where its lines are full or broken."""
    arguments = ["-v", "-p", "no:xdist", "--tb=no", "-rN"]
    with pytest_in(gated, *arguments, columns=60) as shown:
        shown.until(" 1/3 ")
        (gated / "open").touch()
        shown.end()
    with pytest_in(gated, *arguments, "--crmeval-progress=off", columns=60) as plain:
        plain.end()

    assert b"\x1b7" in shown.said
    assert b"\x1b7" not in plain.said
    assert steady(plain.everything[:-1]) == steady(shown.everything[:-1])
    assert "1 failed, 2 passed" in shown.everything[-1]


@pytest.mark.usefixtures("given_server")
def test_ctrl_c_removes_the_progress(gated: Path) -> None:
    with pytest_in(gated, "-p", "no:xdist", columns=40) as shown:
        shown.until(" 1/3 ")
        shown.press_ctrl_c()
        shown.until("waiting for 1 case in progress")
        shown.press_ctrl_c()

        assert 2 == shown.end()
    assert not shown.shows(" 1/3 ")
    assert any("KeyboardInterrupt" in line for line in shown.everything)


@pytest.mark.usefixtures("given_server")
@pytest.mark.parametrize("xdist", [["-n", "2"], ["-p", "no:xdist"]], ids=" ".join)
def test_log_gets_a_line_at_each_interval(project: Project, xdist: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval is set to zero here, so there is a line after every test."""
    monkeypatch.setattr("pytest_crmeval.controller.progress.views.MINUTE", 0.0)

    result = project(CASES).runpytest("--crmeval-agent=bots:Half", "--tb=no", *xdist)

    lines = [line for line in result.outlines if "/3 done" in line]
    assert 3 == len(lines)
    assert all(line.startswith("crmeval: ") for line in lines)
    assert lines[-1].startswith("crmeval: 3/3 done, 2 passed, 1 failed")


@pytest.mark.usefixtures("given_server")
def test_log_of_a_short_run_has_no_progress(project: Project) -> None:
    result = project().runpytest()

    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*done*")


TTY = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("arguments", "environment", "mode"),
    [
        ([], TTY, Mode.BOTTOM),
        (["-v"], TTY, Mode.BOTTOM),
        ([], None, Mode.LOG),
        ([], {**TTY, "CI": "true"}, Mode.LOG),
        ([], {**TTY, "BUILD_NUMBER": "7"}, Mode.LOG),
        ([], {**TTY, "CI": ""}, Mode.BOTTOM),
        (["-s"], TTY, Mode.LOG),
        (["--capture=tee-sys"], TTY, Mode.LOG),
        (["--pdb"], TTY, Mode.LOG),
        ([], {"TERM": "dumb"}, Mode.OFF),
        ([], {}, Mode.OFF),
        (["-q"], TTY, Mode.OFF),
        (["-q"], None, Mode.OFF),
        (["--collect-only"], TTY, Mode.OFF),
        (["--crmeval-estimate"], TTY, Mode.OFF),
        (["--crmeval-progress=off"], TTY, Mode.OFF),
        (["--crmeval-progress=off"], None, Mode.OFF),
        (["--crmeval-progress=on", "-q"], {**TTY, "CI": "true"}, Mode.BOTTOM),
        (["--crmeval-progress=on", "-q"], None, Mode.LOG),
        (["--crmeval-progress=on"], {"TERM": "dumb"}, Mode.LOG),
        (["--crmeval-progress=auto"], TTY, Mode.BOTTOM),
    ],
)
def test_progress_is_shown_according_to_option_and_terminal(  # noqa: PLR0913 (three fixtures, three parameters)
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    *,
    without_strangers: Callable[..., None],
    arguments: list[str],
    environment: Mapping[str, str] | None,
    mode: Mode,
) -> None:
    without_strangers()
    config = pytester.parseconfigure("-p", "no:xdist", *arguments)
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    monkeypatch.setattr(reporter, "isatty", lambda: environment is not None)

    assert mode is mode_of(config, environment or {})


def test_progress_needs_a_terminal_reporter(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfigure()
    config.pluginmanager.unregister(name="terminalreporter")

    assert Mode.OFF is mode_of(config, TTY)


@pytest.mark.usefixtures("given_server")
def test_error_in_the_progress_display_ends_only_the_display(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is not affected."""

    def broken(_: Live) -> None:
        raise RuntimeError("no ink")

    monkeypatch.setattr("pytest_crmeval.controller.progress.views.Log.calm", broken)

    result = project().runpytest("-p", "no:xdist")

    result.assert_outcomes(passed=3)
    assert 0 == result.ret
    result.stdout.fnmatch_lines(["crmeval: progress is no longer shown: RuntimeError('no ink')"])
    assert 1 == result.stdout.str().count("no longer shown")
