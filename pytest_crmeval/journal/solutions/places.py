"""Paths of the results of solution files, in this run and in earlier ones."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePath

from pytest_crmeval.domain.paths import slug
from pytest_crmeval.journal.ids import LATEST
from pytest_crmeval.journal.solutions.outcomes import Checkpoint
from pytest_crmeval.journal.solutions.results import EarlierResults, earlier_results

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@-]{0,100}")
ENDING = ".jsonl"
PREFIX = "eval_"
DISTRUSTED = "distrusted-servers.jsonl"
"""File with the servers that were found to give wrong results; their earlier verdicts are not reused."""


def place_of(checkpoint: Checkpoint, file: str) -> PurePath:
    """Return the path of the results of a checkpoint's file, relative to the folder of the run."""
    where = f"checkpoint_{checkpoint.step}" if checkpoint.step is not None else _named(checkpoint.name)
    return PurePath(f"{PREFIX}{where}", f"{PREFIX}{_named(file)}{ENDING}")


def found_before(reports: Path, run: str, place: PurePath, fingerprint: str) -> EarlierResults | None:
    """Return earlier results with this fingerprint from trusted servers; None if there are none.

    Complete results are preferred, then those of this run, then newer ones.
    """
    alike = [
        each
        for each in _candidates(reports, place)
        if each.fingerprint == fingerprint
        and not _is_distrusted(reports, each.head.get("servers", ()), str(each.head.get("started", "")))
    ]
    return max(
        alike,
        key=lambda each: (bool((each.end() or {}).get("complete")), run_of(reports, each) == run, each.written),
        default=None,
    )


def run_of(reports: Path, found: EarlierResults) -> str:
    """Return the run that wrote the results."""
    return found.path.relative_to(reports).parts[0]


def results_in(folder: Path) -> Iterator[EarlierResults]:
    """Yield all results of a run."""
    for path in sorted(folder.glob(f"{PREFIX}*/{PREFIX}*{ENDING}")):
        if found := earlier_results(path):
            yield found


def _candidates(reports: Path, place: PurePath) -> Iterator[EarlierResults]:
    """Yield the results at this path in any run; the link ``latest`` is skipped."""
    stem = _escaped(place.name.removesuffix(ENDING))
    for path in reports.glob(f"*/{_escaped(place.parts[0])}/{stem}*{ENDING}"):
        if path.relative_to(reports).parts[0] != LATEST and (found := earlier_results(path)):
            yield found


def _named(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else slug(name)


def distrust(reports: Path, servers: Mapping[str, str]) -> None:
    """Record that these servers give wrong results, with the reasons."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    lines = [json.dumps({"server": each, "found": now, "reason": why}) + "\n" for each, why in servers.items()]
    if lines:
        reports.mkdir(parents=True, exist_ok=True)
        with (reports / DISTRUSTED).open("a", encoding="utf-8") as file:
            file.write("".join(lines))


def _is_distrusted(reports: Path, servers: Iterable[object], started: str) -> bool:
    """Whether one of the servers was found to give wrong results after ``started``."""
    try:
        lines = (reports / DISTRUSTED).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    known = set(servers)
    return any(mark["server"] in known and mark["found"] >= started for mark in map(json.loads, lines))


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
