"""The benchmarks, with tiny numbers: each script works, and reports rows for the table."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import rows
from benchmarks.__main__ import SCRIPTS
from benchmarks.rows import Row

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks read /proc")
@pytest.mark.parametrize("script", SCRIPTS)
def test_benchmark_reports_rows(script: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{script}"],
        cwd=ROOT,
        env={**os.environ, "BENCH_SMALL": "1", rows.ROWS: str(tmp_path / "rows.jsonl")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert all(row.ours or row.of == "difference" for row in rows.read(tmp_path / "rows.jsonl"))
    assert (tmp_path / "rows.jsonl").exists(), ended.stdout


def test_every_script_is_part_of_make_bench() -> None:
    scripts = {
        path.stem for path in (ROOT / "benchmarks").glob("*.py") if 'if __name__ == "__main__"' in path.read_text()
    }
    helpers = {"__main__", "slow_model", "peer_humaneval", "peer_inspect"}

    assert scripts - helpers == set(SCRIPTS)


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row(name="", unit="/s", ours=90.0, theirs=10.0, least=9, of="ratio"), "yes"),
        (Row(name="", unit="/s", ours=89.0, theirs=10.0, least=9, of="ratio"), "**no**"),
        (Row(name="", unit="/s", ours=89.0, least=9, of="ratio"), "not measured"),
        (Row(name="", unit="ms", ours=3.0, theirs=2.0, most=1, of="difference"), "yes"),
        (Row(name="", unit="ms", ours=3.1, theirs=2.0, most=1, of="difference"), "**no**"),
        (Row(name="", unit="ms", ours=3.1, most=4), "yes"),
        (Row(name="", unit="ms", ours=3.1), ""),
    ],
)
def test_row_compares_the_figure_ratio_or_difference_with_its_aim(row: Row, met: str) -> None:
    assert row.met == met


def test_rows_become_a_markdown_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rows.ROWS, str(tmp_path / "rows.jsonl"))
    rows.report(Row(name="calls", unit="/s", ours=412.4, peer="peer 1.0", theirs=44.25, least=9, of="ratio"))

    assert json.loads((tmp_path / "rows.jsonl").read_text())["name"] == "calls"
    assert list(rows.table(rows.read(tmp_path / "rows.jsonl")))[2:] == [
        "| calls | 412 /s | peer 1.0: 44.2 /s | 9.32 | ≥ 9 times | yes |"
    ]
