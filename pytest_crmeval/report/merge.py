"""Merge runs into one: journal, report and transcripts, completely or not at all."""

import os
import platform
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.paths import own_name
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.journal import reader as journal
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.provenance import datasets_of
from pytest_crmeval.journal.reader import RunRecord
from pytest_crmeval.journal.transcripts import path_of
from pytest_crmeval.journal.writer import compose
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.batch_results import write_batch
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.sources import TRANSCRIPTS, Source

_REPORT = "report.json"
_RULES = ("tags", "split", "sample", "seed", "trials", "scorers", "invalid", "judge")
Parts = list[tuple[JsonObject, Sequence[PlannedCase]]]


def merge(sources: Sequence[Source], folder: Path, run: str, *, allowed: Sequence[str] = ()) -> Report:
    """Write the merged run and return its report; on an OSError nothing is left on disk.

    If several sources have played a case, the last one counts; ``allowed`` are the conflicts that were accepted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    desk = folder / f".{run}.{os.getpid()}.part"
    draft = desk / run  # a level below the runs, where an incomplete journal is not found
    try:
        draft.mkdir(parents=True)
        parts: Parts = []
        for source in sources:
            first, *others = source.past.parts
            parts += [(first, list(source.past.planned.values())), *((part, ()) for part in others)]
        compose(draft / JOURNAL, [*parts, (_this_part(sources, run, allowed), ())], joined(sources))
        _copy_transcripts(sources, draft / TRANSCRIPTS)
        past = journal.read(draft / JOURNAL)  # the report is made from what is on disk
        report = reports.build(_facts(sources, past, run), past.trials, past.planned.values())
        reports.save(report, draft / _REPORT)
        _copy_results(sources, report, draft)
        write_batch(report, past.planned.values(), draft, folder / run)
        _publish(draft, folder, run)
    finally:
        shutil.rmtree(desk, ignore_errors=True)
    return report


def joined(sources: Sequence[Source]) -> RunRecord:
    """Return the records of all sources, one after the other; the same trial in two of them was paid for once."""
    past = RunRecord()
    for source in sources:
        past.begin({}, list(source.past.planned.values()))
        past.spent += source.past.spent - sum(map(journal.spent_on, source.past.trials.values()))
        for key, trial in source.past.trials.items():
            if past.trials.get(key) != trial:
                past.take(trial)
        past.red |= source.past.red
    return past


def _publish(draft: Path, folder: Path, run: str) -> None:
    """Move everything to its final place; if that fails, nothing is left there."""
    home, report = folder / run, folder / f"{run}.json"
    draft.rename(home)
    try:
        (home / _REPORT).rename(report)
        if (folder / "latest").is_symlink() or not (folder / "latest").exists():
            reports.point_latest(folder, run)  # in a copy of the reports, links may have become folders
    except BaseException:
        report.unlink(missing_ok=True)
        shutil.rmtree(home, ignore_errors=True)
        raise


def _this_part(sources: Sequence[Source], run: str, allowed: Sequence[str]) -> JsonObject:
    """Return the record of the merge, with the rules of the last source, so that the run can be resumed under them."""
    last: Mapping[str, Any] = sources[-1].past.parts[-1]
    names = [source.name for source in sources]
    parts: list[Mapping[str, Any]] = [part for source in sources for part in source.past.parts]
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["crmeval", "merge", *names, "-o", run]),
        "agents": {name: spec for part in parts for name, spec in part.get("agents", {}).items()},
        **{name: last[name] for name in _RULES if name in last},
        "merged": {"runs": names, "allowed": list(allowed)},
        "server": "none",
    }


def _facts(sources: Sequence[Source], past: RunRecord, run: str) -> JsonObject:
    """Return the facts of the merged run."""
    known = [source.facts for source in sources]
    parts: Sequence[Mapping[str, Any]] = past.parts
    # Where the sources were run with different versions, all of them.
    noted = [facts["versions"] for facts in known if "versions" in facts]
    ours = {"python": platform.python_version(), "pytest-crmeval": version("pytest-crmeval")}
    names = dict.fromkeys(name for versions in noted or [ours] for name in versions)
    return {
        "id": run,
        "started": min(part["started"] for part in parts),
        "ended": max((facts["ended"] for facts in known if "ended" in facts), default=parts[-1]["started"]),
        "spent": round(past.spent, 8),
        "parts": past.parts,
        "datasets": datasets_of(past.planned.values()),
        **({"red": sorted(past.red)} if past.red else {}),
        "machine": _joined(str(facts["machine"]) for facts in known if "machine" in facts) or platform.platform(),
        "versions": {
            name: _joined(str(versions[name]) for versions in noted or [ours] if name in versions) for name in names
        },
    }


def _joined(names: Iterator[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _copy_transcripts(sources: Sequence[Source], folder: Path) -> None:
    """Copy the dialogues of the trials that count; later sources win."""
    there: dict[str, Trial] = {}
    for source in sources:
        for key, trial in source.past.trials.items():
            if key in there and there[key] != trial:
                # It was played again in a source that may not have its dialogue.
                for name in ("", own_name(there[key].planned.case, there[key].planned.key)):
                    path_of(folder, there[key], name=name).unlink(missing_ok=True)
        there |= source.past.trials
        found = source.transcripts.rglob("[!.]*") if source.transcripts else ()
        for path in sorted(path for path in found if path.is_file() and not path.is_symlink()):
            target = folder / path.relative_to(source.transcripts or path)
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(path, target)


def _copy_results(sources: Sequence[Source], report: Report, folder: Path) -> None:
    """Copy the results of the solution files whose trials count, each from its source."""
    for trial in report.trials:
        whose = [each for each in sources if each.past.trials.get(trial.planned.key) == trial and each.folder]
        if trial.solutions and whose:
            place = (whose[-1].folder or folder) / trial.solutions.results
            for path in (place, place.with_suffix(".txt")):
                target = folder / trial.solutions.results
                target.parent.mkdir(parents=True, exist_ok=True)
                if path.is_file():
                    _link(path, target.with_suffix(path.suffix))


def _link(source: Path, target: Path) -> None:
    """Link or copy a file: transcripts are never written again, so both runs can share one."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)
