"""The results of benchmarks: rows of one shape, which ``python -m benchmarks`` collects in one table."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

ROWS = "BENCH_ROWS"
"""The environment variable with the file to which rows are added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One result, what it is compared with, and the aim."""

    name: str
    unit: str
    ours: float
    peer: str = ""
    """Another tool, a limit, or an earlier version; empty if there is none."""
    theirs: float | None = None
    """None if there is no peer, or it could not be measured."""
    least: float | None = None
    most: float | None = None
    of: Literal["ours", "ratio", "difference"] = "ours"
    """What the aim refers to: our figure, how many times theirs it is, or how much it exceeds theirs."""

    @property
    def ratio(self) -> float | None:
        """How many times their figure ours is; None if it is not known."""
        return self.ours / self.theirs if self.theirs else None

    @property
    def aim(self) -> str:
        """The aim as text; empty if there is none."""
        suffix = {"ours": f" {self.unit}", "ratio": " times", "difference": f" {self.unit} more"}[self.of]
        if self.least is not None:
            return f"≥ {self.least:g}{suffix}"
        return f"≤ {self.most:g}{suffix}" if self.most is not None else ""

    @property
    def met(self) -> str:
        """Whether the aim is met, or why that is not known; empty if there is none."""
        if not self.aim:
            return ""
        value = {
            "ours": self.ours,
            "ratio": self.ratio,
            "difference": None if self.theirs is None else self.ours - self.theirs,
        }[self.of]
        if value is None:
            return "not measured"
        is_met = (self.least is None or value >= self.least) and (self.most is None or value <= self.most)
        return "yes" if is_met else "**no**"

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the table."""
        theirs = "" if self.theirs is None else f"{_number(self.theirs)} {self.unit}"
        peer = ": ".join(filter(None, (self.peer, theirs)))
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return (self.name, f"{_number(self.ours)} {self.unit}", peer, ratio, self.aim, self.met)


def report(row: Row) -> None:
    """Print a row, and add it to the file of rows if there is one."""
    print("=> " + ", ".join(filter(None, row.cells)).replace("**", ""), flush=True)
    if ROWS in os.environ:
        with Path(os.environ[ROWS]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")


def read(path: Path) -> list[Row]:
    """Return the rows of a file."""
    return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| | ours | compared with | ratio | aim | met |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        yield f"| {' | '.join(row.cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 (three digits)
