"""``benchmarks/sandbox.py`` in a tiny form, so that it does not break unnoticed."""

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from benchmarks import sandbox as benchmark
from pytest_crmeval.sandboxes.local import LocalSandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


@pytest.fixture
def auto() -> Iterator[LocalSandbox]:
    """Return a sandbox as strong as this machine allows."""
    with closing(LocalSandbox(workers=1)) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure as little as possible."""
    numbers = {"SECONDS": 0.0, "TRIVIAL_RUNS": 2, "CPU_ROUNDS": 2, "CPU_RUNS": 2, "CPP_PROGRAMS": 1, "CPP_TESTS": 2}
    for name, value in numbers.items():
        monkeypatch.setattr(benchmark, name, value)


def test_rates_and_cpu_times_of_trivial_programs_are_compared(
    auto: LocalSandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark.compare_trivial(auto)

    lines = capsys.readouterr().out.splitlines()
    assert ["per second", "ms of CPU time"] == [
        unit for unit in ("per second", "ms of CPU time") if 2 == sum(unit in line for line in lines)
    ]


def test_compiled_programs_are_compared(auto: LocalSandbox, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.compare_cpp(auto)

    assert "C++" in capsys.readouterr().out
