"""Where the results of solution files are, in a run and in earlier ones."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from pytest_crmeval.domain.paths import slug
from pytest_crmeval.domain.solution import Checkpoint
from pytest_crmeval.journal.ids import LATEST
from pytest_crmeval.journal.solutions.results import Earlier, earlier

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@-]{0,100}")
ENDING = ".jsonl"
PREFIX = "eval_"


def place_of(checkpoint: Checkpoint, file: str) -> PurePath:
    """Return where the results of a file of a checkpoint are, below the folder of the run."""
    where = f"checkpoint_{checkpoint.step}" if checkpoint.step is not None else _named(checkpoint.name)
    return PurePath(f"{PREFIX}{where}", f"{PREFIX}{_named(file)}{ENDING}")


def found_before(reports: Path, run: str, place: PurePath, fingerprint: str) -> Earlier | None:
    """Return the results of this very file by the same judge; None if there are none.

    Whole ones before others, those of this run before those of others, newer ones before older ones.
    """
    alike = [each for each in _candidates(reports, place) if each.fingerprint == fingerprint]
    alike.sort(key=lambda each: (_is_whole(each), run_of(reports, each) == run, each.written))
    return alike[-1] if alike else None


def run_of(reports: Path, found: Earlier) -> str:
    """Return the run that has written results."""
    return found.path.relative_to(reports).parts[0]


def results_in(folder: Path) -> Iterator[Earlier]:
    """Yield all results of a run."""
    for path in sorted(folder.glob(f"{PREFIX}*/{PREFIX}*{ENDING}")):
        if found := earlier(path):
            yield found


def _candidates(reports: Path, place: PurePath) -> Iterator[Earlier]:
    """Yield results that are called so, in any run; ``latest`` is none of its own."""
    stem = _escaped(place.name.removesuffix(ENDING))
    for path in reports.glob(f"*/{_escaped(place.parts[0])}/{stem}*{ENDING}"):
        if path.relative_to(reports).parts[0] != LATEST and (found := earlier(path)):
            yield found


def _is_whole(found: Earlier) -> bool:
    end = found.end()
    return bool(end and end.get("complete"))


def _named(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else slug(name)


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
