"""The options of a run as frozen values, without pytest."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # loaded in every pytest run of the environment
    from pytest_crmeval.journal.shard import Shard
    from pytest_crmeval.models.caps import Cap
    from pytest_crmeval.ports.sandbox import Language
    from pytest_crmeval.report.gate import Gate
    from pytest_crmeval.sandboxes.languages import Factors

EXTRACTIONS = ("first", "last", "longest")
ORDERS = ("none", "small_first", "large_first")
EXAMPLES = ("instead", "always", "never")
AUTO, LOCAL = "auto", "local"
PISTON_URL = "CRMEVAL_PISTON_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedTests:
    """Which generated tests are used for a problem, in addition to its own."""

    folder: Path | None
    """The folder of parquet files, one per contest; None: no generated tests."""
    most: int | None
    """Maximum per problem; None: all."""
    order: str
    bytes: int | None
    """Maximum size of all inputs and outputs per problem; None: no limit."""
    share: float
    """Share of each problem's tests to sample, with the run's seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOptions:
    """Options for solution files."""

    solutions: Sequence[Path]
    """Folders, patterns or lists that replace the marker's."""
    problems: Sequence[Path]
    pattern: str
    """Only checkpoints whose names match; empty: all."""
    sandbox: str
    unsafe: bool
    """Whether programs may run where isolation is unavailable."""
    packages: Sequence[Path]
    """Folders of Python packages that programs may import in the local sandbox."""
    factors: Mapping["Language", "Factors"]
    """Multipliers for the limits of a problem, by language; no entry: 1."""
    extraction: str
    generated: GeneratedTests
    examples: str
    """Whether the examples of a problem statement are used as tests."""
    skip_over: int
    """In bytes: a test with a larger input is skipped, with a note."""
    all_tests: bool
    """Whether the tests after the first failed one are run."""
    file_seconds: float
    solution_seconds: float | None
    fresh: bool
    """Whether no verdict of an earlier run is reused."""
    testlib: Path | None

    @property
    def sandbox_spec(self) -> str:
        """The sandbox to use: ``auto`` is the Piston server of the environment if there is one, else this machine."""
        return (os.environ.get(PISTON_URL) or LOCAL) if self.sandbox == AUTO else self.sandbox


SCORERS = ("state", "calls", "reply", "clbench")
DEFAULT_SCORERS = SCORERS[:3]

INFLIGHT, MOST_INFLIGHT = 8, 256
"""Cases that a worker plays at the same time with models by default, and the maximum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Options for playing on a Ray cluster."""

    address: str
    """``local``, ``auto``, or the address of the cluster."""
    insecure: bool
    """Whether a cluster without token authentication is accepted."""
    players: int
    """Number of players per node."""
    resources: Mapping[str, float]
    """What each player reserves of its node; without ``CPU``, its share of the CPUs."""
    runtime_env: Mapping[str, Any]
    """Ray's runtime environment, such as ``{"working_dir": "."}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All options of a run."""

    agents: Sequence[str]
    named_agents: Mapping[str, str]
    conversations: Sequence[Path]
    questions: Sequence[Path]
    checkpoints: CheckpointOptions
    scorers: Sequence[str]
    play_invalid: bool
    suites: Sequence[str]
    """Only these are played; empty: all suites."""
    tags: Sequence[str]
    """Only cases with one of these tags are played; empty: all cases."""
    split: str
    sample: int | None
    seed: int
    narrowed: bool
    """Whether -k, -m or --deselect is given."""
    trials: int
    """How often each case is tried."""
    shard: "Shard | None"
    """The part of the selected cases that this invocation plays; None: all of them."""
    durations: Path | None
    """The report or journal whose durations balance the shards; None: the number of turns does."""
    run: str
    resumable: bool
    """Whether the user named the run: only then can there be an earlier part of it."""
    gates: Sequence["Gate"]
    baseline: str
    """The baseline of the command line; empty if it names none."""
    baseline_file: str
    """The baseline of the ini file; empty if it names none."""
    reports: Path
    page: bool
    """Whether the run ends with an HTML page."""
    otel: str
    """Whether traces and metrics are sent: ``off``, ``on``, or ``content`` for what was said, too."""
    failures: int
    """How many failed cases are shown with their dialogue at the end of the run."""
    verbose: bool
    """Whether every failure and the whole summary are shown."""
    overrides: Sequence[str]
    """The values of ``--crmeval-set``, as ``key=value``."""
    max_steps: int
    agent_timeout: float
    """Seconds that an agent of the user has for one reply."""
    server_wait: int
    """Seconds to wait for an unreachable PostgreSQL."""
    cluster: ClusterOptions | None
    """Where cases are played; None: on this machine."""
    inflight: int | None
    """Cases that a worker plays at the same time; None: the default."""
    judge: str
    """Spec of the judge; empty if there is none."""
    user: str
    """Spec of the model that plays simulated users; empty if there is none."""
    budget: float | None
    """US dollars."""
    learning_from: str
    """The run whose playbooks learners start with; empty: they start with none."""
    estimate: bool
    record: Path | None
    replay: Path | None
    rates: Sequence["Cap"]
    max_failures: int

    @property
    def files(self) -> Mapping[str, Sequence[Path]]:
        """Files that replace those of markers, by option."""
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
        """Which cases are selected, in words; empty if all are."""
        first = " of those that -k and -m select" if self.samples_later else " drawn before -k and -m" * self.narrowed
        phrases = {
            f"suite {' or '.join(self.suites)}": self.suites,
            f"tag {' or '.join(self.tags)}": self.tags,
            f"split {self.split}": self.split,
            f"a sample of {self.sample} (seed {self.seed}){first}": self.sample,
            f"shard {self.shard}": self.shard,
            f"{self.trials} trials of each": self.trials > 1,
        }
        return ", ".join(words for words, asked in phrases.items() if asked)

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
