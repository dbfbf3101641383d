"""Where programs of solution files run: on this machine, on Piston servers, or in a plugin's sandbox."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pytest_crmeval.sandboxes.local import LocalSandbox
from tests.fake_sandbox import Made, problem, solution, summaries, write_lines
from tests.sandboxes.piston_server import PistonServer

NO_XDIST = ("-p", "no:xdist")
HUMAN_EVAL = Path(__file__).parents[3] / "shared/data/humaneval"
"""Public programs, which are not in the repository and not on every machine."""
HOOK = """
from tests.fake_sandbox import FakeSandbox

def pytest_crmeval_sandbox(config, spec):
    return FakeSandbox() if spec == "paper" else None
"""
REAL = {"a": "print(5)", "b": "print(4)", "c": "while True: pass", "d": "1 / 0"}


@pytest.fixture
def public() -> Iterator[Path]:
    """Make a folder that everybody can read; those of pytest are private to their owner."""
    with TemporaryDirectory(prefix="crmeval-public-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def human_eval(name: str) -> list[dict[str, Any]]:
    """Return the solutions of a public file; skip if it is missing."""
    path = HUMAN_EVAL / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def solved(pytester: pytest.Pytester) -> dict[str, tuple[int, int]]:
    """Return the numbers of solved and graded solutions of each checkpoint."""
    found = {name: each["checkpoint"] for name, each in summaries(pytester).items()}
    return {name: (each["solved"], each["judged"]) for name, each in found.items()}


@pytest.mark.usefixtures("local")
def test_local_sandbox_passes_every_canonical_solution_and_the_correct_half_of_a_mixed_set(
    judging: Made,
) -> None:
    """164 of 164, and exactly 82 of 164, with two workers."""
    files = {
        "checkpoint-1/h": human_eval("solutions_stdio_half_wrong"),
        "checkpoint-2/h": human_eval("solutions_stdio_canonical"),
    }
    pytester = judging(files, conftest="")

    result = pytester.runpytest("-n", "2", f"--crmeval-problems={HUMAN_EVAL / 'problems_stdio.jsonl'}")

    result.stdout.fnmatch_lines(["crmeval sandbox: local (*"])
    assert {"checkpoint-1": (82, 164), "checkpoint-2": (164, 164)} == solved(pytester)


def test_piston_server_passes_correct_solutions_only(judging: Made) -> None:
    """Only every seventh, because every run is a request; canonical solutions are correct."""
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
    pytester = judging({"checkpoint-1/s": [solution(name, code) for name, code in REAL.items()]}, conftest="")
    problems = [problem(name, tests=1, time_limit=0.5) for name in REAL]
    write_lines(Path(pytester.path, "problems.jsonl"), *problems)

    pytester.runpytest(*NO_XDIST).assert_outcomes(passed=1)

    assert {"AC": 1, "WA": 1, "TLE": 1, "RE": 1} == summaries(pytester)["checkpoint-1"]["checkpoint"]["verdicts"]


WEAK_WORKER = """
from pytest_crmeval.sandboxes.local import fork_servers, probing

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        real = probing._try

        def fail(server, level):
            if level == {level!r}:
                raise fork_servers.Unavailable("a process has vanished")
            real(server, level)

        probing._try = fail
"""


@pytest.mark.usefixtures("local")
def test_worker_that_cannot_isolate_programs_as_strongly_as_the_controller_ends_the_run(judging: Made) -> None:
    """It does not use a weaker level, because the header would be wrong."""
    with closing(LocalSandbox()) as sandbox:
        level = sandbox.level
    pytester = judging({"checkpoint-1/s": [solution("a", "print(5)")]}, conftest=WEAK_WORKER.format(level=level))

    result = pytester.runpytest("-n", "1")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: crmeval: the run uses the sandbox level '{level}', which gw0 can't reach: *"])
    assert {} == {name: each for name, each in solved(pytester).items() if each[1]}


READING = """
found = []
for path in {paths!r}:
    try:
        open(path).close()
        found.append(path)
    except OSError:
        pass
import beside
print(found or 5)
"""


@pytest.mark.usefixtures("local")
def test_tests_problems_and_solutions_are_hidden_even_in_readable_folders(judging: Made, public: Path) -> None:
    """Generated tests, solutions of a glob, problems of the marker. Files next to them are visible."""
    problems = write_lines(public / "problems.jsonl", problem("a", tests=1))
    tests = public / "generated" / "test_cases_0001.parquet"
    tests.parent.mkdir()
    tests.write_bytes(b"tests")
    (public / "beside.py").write_text("", encoding="utf-8")
    paths = [problems, tests, public / "one" / "s.jsonl", public / "two" / "s.jsonl"]
    code = READING.format(paths=[str(path) for path in paths])
    for path in paths[2:]:
        write_lines(path, solution("a", code))
    pytester = judging(conftest="", ini=f"crmeval_packages = {public}")
    test = "import pytest\n\n@pytest.mark.solutions('runs', problems={!r})\n"
    pytester.makepyfile(
        test_it=test.format(str(problems)) + "def test_it(solutions, evaluate):\n    evaluate(solutions)\n"
    )

    pytester.runpytest(*NO_XDIST, f"--crmeval-solutions={public}/*/s.jsonl", f"--crmeval-tests={tests.parent}")

    assert {"one": (1, 1), "two": (1, 1)} == solved(pytester)


def test_verdicts_of_a_faulty_server_are_not_reused(judging: Made) -> None:
    """Those of any run; the fault is detected when a second run has a different result."""
    pytester = judging({"checkpoint-1/s": [solution("a", "print(5)")]}, conftest="")
    executed = []
    with PistonServer() as server:
        arguments = (*NO_XDIST, f"--crmeval-sandbox={server.url}")
        for _ in range(2):
            pytester.runpytest(*arguments).assert_outcomes(passed=1)
            executed.append(server.counts["/api/v2/execute"])
        write_lines(Path(pytester.path, "runs", "checkpoint-2", "s.jsonl"), solution("a", "print(5)"))
        server.faults.extend(["", "", "lost"])  # the small program, the first file, the second one
        pytester.runpytest(*arguments, "--crmeval-fresh")
        marked = Path(pytester.path, "reports", "distrusted-servers.jsonl").read_text(encoding="utf-8")
        server.faults.clear()
        executed.append(server.counts["/api/v2/execute"])
        pytester.runpytest(*arguments).assert_outcomes(passed=2)
        executed.append(server.counts["/api/v2/execute"])

    assert executed[0] == executed[1]  # reused
    assert server.url in marked
    assert executed[3] > executed[2] + 1  # judged anew


def test_missing_piston_server_is_reported_before_anything_is_run(
    judging: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRMEVAL_PISTON_URL", "http://127.0.0.1:9")

    result = judging(conftest="").runpytest(*NO_XDIST)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: crmeval: *http://127.0.0.1:9*"])
    assert not (result.parseoutcomes().keys() & {"passed", "failed"})


@pytest.mark.parametrize("xdist", [["-n", "1"], NO_XDIST], ids=" ".join)
def test_plugin_can_provide_a_sandbox(judging: Made, xdist: list[str]) -> None:
    """The controller inspects and names it first; it defines itself what its verdicts depend on."""
    pytester = judging(conftest=HOOK)

    result = pytester.runpytest(*xdist, "--crmeval-sandbox", "paper")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["crmeval sandbox: paper (nothing can happen)"])


def test_unknown_sandbox_is_refused(judging: Made) -> None:
    result = judging(conftest=HOOK).runpytest(*NO_XDIST, "--crmeval-sandbox", "cloud")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*unknown sandbox 'cloud'; try --crmeval-sandbox local*"])


def test_run_that_would_write_next_to_the_data_is_refused(
    judging: Made, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The value of an option that pytest does not know yet is taken for the project: nothing is written there."""
    problems = write_lines(tmp_path_factory.mktemp("data") / "problems.jsonl", problem("a"))

    result = judging().runpytest(*NO_XDIST, "--crmeval-problems", str(problems))

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["ERROR: pytest chose the rootdir * because of --crmeval-problems *; write --crmeval-problems=*"]
    )
    assert ["problems.jsonl"] == [path.name for path in problems.parent.iterdir()]
