"""What a run is to do, as values: frozen, and independent of pytest."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from pytest_crmeval.domain.shard import Shard
    from pytest_crmeval.models.limits import Cap
    from pytest_crmeval.report.gate import Gate

EXTRACTIONS = ("first", "last", "longest")
ORDERS = ("none", "small_first", "large_first")
EXAMPLES = ("instead", "always", "never")
AUTO, LOCAL = "auto", "local"
FILE_SECONDS = 300.0
SKIP_OVER = 50_000_000
PISTON_URL = "CRMEVAL_PISTON_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedTests:
    """Which generated tests a problem is judged by, beside its own."""

    folder: Path | None = None
    """Where they are, a parquet file per contest; None: there are none."""
    most: int | None = None
    """Of each problem; None: all."""
    order: str = "none"
    bytes: int | None = None
    """Input and output of all of them together, of each problem; None: any."""
    share: float = 1.0
    """A sample, drawn by the run's seed, of each problem by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOptions:
    """What this run is to do with solution files."""

    solutions: Sequence[Path] = ()
    """Folders, patterns or lists, which replace the marker's."""
    problems: Sequence[Path] = ()
    pattern: str = ""
    """Only checkpoints with such names; empty: all."""
    sandbox: str = AUTO
    unsafe: bool = False
    """Whether programs may run where nothing but limits holds them."""
    extraction: str = "last"
    generated: GeneratedTests
    examples: str = "instead"
    """Whether the examples of a statement are tests, too."""
    skip_over: int = SKIP_OVER
    """Bytes: a test with a larger input is skipped, and told."""
    all_tests: bool = False
    """Whether the tests after the first failed one are run, too."""
    file_seconds: float = FILE_SECONDS
    solution_seconds: float | None = None
    fresh: bool = False
    """Whether nothing is taken from earlier evaluations of the same file."""
    testlib: Path | None = None

    @property
    def sandbox_spec(self) -> str:
        """Which sandbox is wanted: ``auto`` is a Piston server where the environment has one, else this machine."""
        return (os.environ.get(PISTON_URL) or LOCAL) if self.sandbox == AUTO else self.sandbox


SCORERS = ("state", "calls", "reply", "clbench")
DEFAULT_SCORERS = SCORERS[:3]

INFLIGHT, MOST_INFLIGHT = 8, 256
"""Cases that a worker plays at the same time with models, unless somebody says otherwise; and at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What this run is to do, decided once."""

    agents: Sequence[str]
    named_agents: Mapping[str, str]
    conversations: Sequence[Path]
    questions: Sequence[Path]
    checkpoints: CheckpointOptions
    scorers: Sequence[str]
    play_invalid: bool
    suites: Sequence[str]
    """Only these are played; all suites if there is none."""
    tags: Sequence[str]
    """Cases with any of them are played; all cases if there is none."""
    split: str
    sample: int | None
    seed: int
    narrowed: bool
    """Whether -k, -m or --deselect is given."""
    trials: int
    """How often each case is tried."""
    shard: "Shard | None"
    """The part of what is selected that this invocation plays; None: all of it."""
    durations: Path | None
    """The report or journal that tells how long cases take, to balance shards by."""
    run: str
    resumable: bool
    """Whether the user named the run: only then can there be an earlier part of it."""
    gates: Sequence["Gate"]
    baseline: str
    """What somebody wants the run to be compared with; empty if nobody does."""
    baseline_file: str
    """Where the project keeps its baseline; empty if it does not say."""
    reports: Path
    max_steps: int
    server_wait: int
    """Seconds to wait for an unreachable PostgreSQL."""
    inflight: int | None
    """Cases that a worker plays at the same time; None if nobody has said."""
    judge: str
    """Spec of the judge; empty if there is none."""
    budget: float | None
    """US dollars."""
    learning_from: str
    """The run whose playbooks learners begin with; empty: with none."""
    estimate: bool
    record: Path | None
    replay: Path | None
    rates: Sequence["Cap"]
    max_failures: int

    @property
    def files(self) -> Mapping[str, Sequence[Path]]:
        """What is played instead of what markers name, by option."""
        return {
            "--crmeval-conversations": self.conversations,
            "--crmeval-questions": self.questions,
            "--crmeval-solutions": self.checkpoints.solutions,
            "--crmeval-problems": self.checkpoints.problems,
        }

    @property
    def folder(self) -> Path:
        """Where the run keeps its journal."""
        return self.reports / self.run

    @property
    def selection(self) -> str:
        """Which cases were asked for, in words; nothing if all of them."""
        first = " of those that -k and -m select" if self.samples_later else " drawn before -k and -m" * self.narrowed
        told = {
            f"suite {' or '.join(self.suites)}": self.suites,
            f"tag {' or '.join(self.tags)}": self.tags,
            f"split {self.split}": self.split,
            f"a sample of {self.sample} (seed {self.seed}){first}": self.sample,
            f"shard {self.shard}": self.shard,
            f"{self.trials} trials of each": self.trials > 1,
        }
        return ", ".join(words for words, asked in told.items() if asked)

    @property
    def samples_later(self) -> bool:
        """Whether the sample is drawn after -k, -m and --deselect; shards are dealt before them."""
        return self.sample is not None and self.narrowed and self.shard is None

    def spec(self, agent: str) -> str:
        """Return the spec behind a name; parameters may follow it: ``claude?temperature=1``."""
        if agent in self.named_agents:
            return self.named_agents[agent]
        name, _, parameters = agent.partition("?")
        spec = self.named_agents.get(name)
        return f"{spec}{'&' if '?' in spec else '?'}{parameters}" if spec else agent


def share_of_worker() -> float:
    """Return the share of xdist's workers before this one: 0.5 for the second of two."""
    name, count = os.environ.get("PYTEST_XDIST_WORKER", ""), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    number = name.removeprefix("gw")
    return min(int(number), int(count) - 1) / int(count) if number.isdecimal() and count.isdecimal() else 0.0
