"""Run the benchmarks, print one table, and write it to ``benchmarks/results.md``; about eleven minutes.

    make bench                                      all
    .venv/bin/python -m benchmarks overhead sandbox some; results.md is not written
    .venv/bin/python -m benchmarks.overhead         one, with its details

``--small`` takes tiny numbers: only to see that the scripts work.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import rows

HERE = Path(__file__).parent
RESULTS = HERE / "results.md"
SCRIPTS = (
    *("inflight", "http_client", "limits", "overhead", "startup", "conversations", "models", "scale"),
    *("sandbox", "cli", "view", "cluster"),
)
"""The most important ones first."""


def run(script: str, found: Path, *, small: bool) -> int:
    """Run a benchmark, which adds its rows to a file; return its exit status."""
    environment = {**os.environ, rows.ROWS: str(found), **({"BENCH_SMALL": "1"} if small else {})}
    return subprocess.run([sys.executable, "-m", f"benchmarks.{script}"], env=environment, check=False).returncode


def document(found: Sequence[rows.Row], seconds: float) -> Iterator[str]:
    """Yield the lines of ``results.md``."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
    yield "# Results of `make bench`"
    yield ""
    yield (
        f"{datetime.now(UTC):%Y-%m-%d}, {f'commit {commit}, ' if commit else ''}{os.cpu_count()} cores, "
        f"{platform.machine()}, Python {platform.python_version()}; {seconds / 60:.0f} minutes in total. "
        "Ours and theirs were measured in the same run."
    )
    yield ""
    yield from rows.table(found)


def main() -> int:
    """Run the benchmarks; return how many failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=f"which ones: {', '.join(SCRIPTS)} (default: all)")
    parser.add_argument("--small", action="store_true", help="tiny numbers: only to see that the scripts work")
    arguments = parser.parse_args()
    if unknown := set(arguments.scripts) - set(SCRIPTS):
        parser.error(f"unknown benchmark: {', '.join(sorted(unknown))}; benchmarks: {', '.join(SCRIPTS)}")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="crmeval-bench-") as folder:
        file = Path(folder) / "rows.jsonl"
        failed = [script for script in arguments.scripts or SCRIPTS if run(script, file, small=arguments.small)]
        found = rows.read(file)
    print("\n", *rows.table(found), sep="\n")
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    elif not (arguments.scripts or arguments.small):
        RESULTS.write_text("\n".join(document(found, time.perf_counter() - start)) + "\n", encoding="utf-8")
        print(f"\nwritten to {RESULTS}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
