"""Where the programs of solution files run: on this machine, on Piston servers, or wherever a plugin says."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.local import LocalSandbox
from tests.boxes import TEST, Made, problem, solution, standings, write_lines
from tests.sandboxes.piston_server import PistonServer

NO_XDIST = ("-p", "no:xdist")
HUMAN_EVAL = Path(__file__).parents[3] / "shared/data/humaneval"
"""Public programs; they are not ours to ship, and not on every machine."""
HOOK = """
from tests.boxes import Box

def pytest_crmeval_sandbox(config, spec):
    return Box() if spec == "paper" else None
"""
REAL = {"a": "print(5)", "b": "print(4)", "c": "while True: pass", "d": "1 / 0"}


@pytest.fixture
def local() -> None:
    """Skip where this machine has no way to wall programs in."""
    try:
        with closing(LocalSandbox()) as sandbox:
            sandbox.name  # noqa: B018 (looks)
    except SandboxError as error:
        pytest.skip(str(error))


def human_eval(name: str) -> list[dict[str, Any]]:
    """Return the solutions of a public file; skip where there is none."""
    path = HUMAN_EVAL / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def solved(pytester: pytest.Pytester) -> dict[str, tuple[int, int]]:
    """Return solved and judged solutions of each checkpoint."""
    found = {name: each["checkpoint"] for name, each in standings(pytester).items()}
    return {name: (each["solved"], each["judged"]) for name, each in found.items()}


@pytest.mark.usefixtures("local")
def test_on_this_machine_every_canonical_solution_passes_and_of_the_half_wrong_ones_every_right_one(
    judging: Made,
) -> None:
    """164 of 164, and exactly 82 of 164, by two workers at the same time."""
    files = {
        "checkpoint-1/h": human_eval("solutions_stdio_half_wrong"),
        "checkpoint-2/h": human_eval("solutions_stdio_canonical"),
    }
    pytester = judging(files, conftest="")

    result = pytester.runpytest("-n", "2", f"--crmeval-problems={HUMAN_EVAL / 'problems_stdio.jsonl'}")

    result.stdout.fnmatch_lines(["crmeval sandbox: local (*"])
    assert {"checkpoint-1": (82, 164), "checkpoint-2": (164, 164)} == solved(pytester)


def test_on_a_piston_server_the_right_ones_pass_and_the_others_do_not(judging: Made) -> None:
    """Every seventh of them, for every run is a request; who is canonical is right."""
    mixed, canonical = human_eval("solutions_stdio_half_wrong")[::7], human_eval("solutions_stdio_canonical")[::7]
    right = sum(one["code"] == other["code"] for one, other in zip(mixed, canonical, strict=True))
    pytester = judging({"checkpoint-1/h": mixed}, conftest="")

    with PistonServer() as server:
        result = pytester.runpytest(
            *NO_XDIST, f"--crmeval-sandbox={server.url}", f"--crmeval-problems={HUMAN_EVAL / 'problems_stdio.jsonl'}"
        )

    result.stdout.fnmatch_lines(["crmeval sandbox: Piston at http://127.0.0.1:* (python *"])
    assert 0 < right < len(mixed)
    assert {"checkpoint-1": (right, len(mixed))} == solved(pytester)


@pytest.mark.usefixtures("local")
def test_verdicts_of_real_programs(judging: Made) -> None:
    """As they really end."""
    pytester = judging({"checkpoint-1/s": [solution(name, code) for name, code in REAL.items()]}, conftest="")
    problems = [problem(name, tests=1, time_limit=0.5) for name in REAL]
    write_lines(Path(pytester.path, "problems.jsonl"), *problems)

    pytester.runpytest(*NO_XDIST).assert_outcomes(passed=1)

    assert {"AC": 1, "WA": 1, "TLE": 1, "RE": 1} == standings(pytester)["checkpoint-1"]["checkpoint"]["verdicts"]


def test_a_piston_server_that_is_not_there_is_told_before_anything_is_run(
    judging: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment names it, and nobody has said otherwise."""
    monkeypatch.setenv("CRMEVAL_PISTON_URL", "http://127.0.0.1:9")

    result = judging(conftest="").runpytest(*NO_XDIST)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: crmeval: *http://127.0.0.1:9*"])
    assert not (result.parseoutcomes().keys() & {"passed", "failed"})


@pytest.mark.parametrize("xdist", [["-n", "1"], NO_XDIST], ids=" ".join)
def test_a_plugin_may_bring_a_sandbox(judging: Made, xdist: list[str]) -> None:
    """The controller looks at it first, and names it; what verdicts depend on is its own affair."""
    pytester = judging(conftest=HOOK)

    result = pytester.runpytest(*xdist, "--crmeval-sandbox", "paper")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["crmeval sandbox: paper (nothing can happen)"])


def test_a_sandbox_that_nobody_knows_is_refused(judging: Made) -> None:
    """With what is known."""
    result = judging(conftest=HOOK).runpytest(*NO_XDIST, "--crmeval-sandbox", "cloud")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*no plugin knows the sandbox 'cloud'; try --crmeval-sandbox local*"])


def test_a_run_that_would_write_beside_the_data_is_refused(
    judging: Made, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The value of an option that pytest does not know yet is taken for the project: nothing is written there."""
    problems = write_lines(tmp_path_factory.mktemp("data") / "problems.jsonl", problem("a"))

    result = judging().runpytest(*NO_XDIST, "--crmeval-problems", str(problems))

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["ERROR: pytest takes * for your project, because of --crmeval-problems *: write it with '='*"]
    )
    assert ["problems.jsonl"] == [path.name for path in problems.parent.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--crmeval-file-timeout", "0"], "--crmeval-file-timeout 0: give seconds, more than none"),
        (["--crmeval-tests-sample", "1.5"], "--crmeval-tests-sample 1.5: give a share, more than 0 and at most 1"),
        (["--crmeval-tests", "nowhere"], "--crmeval-tests nowhere: there is no such folder"),
        (["--crmeval-tests-max", "-1"], "--crmeval-tests-max -1: give a number, none is 0"),
        (["--crmeval-testlib", "."], "--crmeval-testlib *: there is no testlib.h"),
    ],
)
def test_options_that_make_no_sense_are_refused(judging: Made, arguments: list[str], told: str) -> None:
    """Before anything is collected."""
    result = judging(test=TEST).runpytest(*NO_XDIST, *arguments)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: {told}"])
