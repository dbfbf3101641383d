"""Solution files as cases: what each is called, and what its verdicts depend on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.fingerprints import quick
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.problem import Examples, Sizes, TestChoice
from pytest_crmeval.domain.solution import Checkpoint, SolutionFile
from pytest_crmeval.options.values import Options
from pytest_crmeval.solutions.files import SolutionRef, find
from pytest_crmeval.solutions.problems import Problems, check, opened

NO_PROBLEMS = (
    "name the problems: @pytest.mark.solutions('folder', problems='problems.jsonl'), or --crmeval-problems FILE"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """Where a solution file is; its name has its checkpoint's in front, so that there is one of each."""

    found: SolutionRef
    id: str
    fingerprint: str
    """Changes when the file, the problems or the terms change."""
    path: Path
    turns: int
    tags: Sequence[str]
    line: int = 1
    offset: int = 0
    split: str = ""
    judged: bool = False
    confidential: bool = False

    @property
    def checkpoint(self) -> Checkpoint:
        """Whose file it is."""
        return self.found.checkpoint

    def read(self) -> SolutionFile:
        """Return the case itself; DatasetError if the file is gone, or was changed."""
        return replace(self.found.read(), fingerprint=self.fingerprint)


def index(paths: Sequence[Path], problems: Sequence[Path], options: Options) -> Sequence[FileRef]:
    """Return the solution files that there are; DatasetError if there are none, or nothing to judge them by."""
    if not problems:
        raise DatasetError(NO_PROBLEMS)
    terms = [*(quick(_there(path)) for path in problems), json.dumps(terms_of(options), sort_keys=True)]
    return [_ref(found, terms) for found in find(paths, options.checkpoints.pattern)]


def problems_of(settings: Mapping[str, Any], options: Options) -> Sequence[Path]:
    """Return the files of problems: those of the command line, else the marker's."""
    return options.checkpoints.problems or settings.get("problems", ())


def open_problems(paths: Sequence[Path], options: Options) -> Problems:
    """Return the problems, with the tests that are wanted; DatasetError if a file can't be used."""
    return opened(paths, choice_of(options), testlib=options.checkpoints.testlib)


def choice_of(options: Options) -> TestChoice:
    """Return which tests of a problem are run."""
    asked, generated = options.checkpoints, options.checkpoints.generated
    return TestChoice(
        examples=Examples(asked.examples),
        generated=generated.folder,
        max_generated=generated.most,
        sizes=Sizes(generated.order),
        max_bytes=generated.bytes,
        share=generated.share,
        seed=options.seed,
        skip_larger=asked.skip_over,
    )


def terms_of(options: Options) -> JsonObject:
    """Return all that was said and that verdicts depend on, in JSON primitives."""
    asked, choice = options.checkpoints, choice_of(options)
    return {
        "extract": asked.extraction,
        "all_tests": asked.all_tests,
        "testlib": quick(asked.testlib) if asked.testlib else "",
        **{name: _plain(getattr(choice, name)) for name in TestChoice.__slots__},
    }


def _ref(found: SolutionRef, terms: Sequence[str]) -> FileRef:
    return FileRef(
        found=found,
        id=f"{found.checkpoint.name}-{found.id}",
        fingerprint=sha256("\0".join([found.fingerprint, *terms]).encode()).hexdigest()[:16],
        path=found.path,
        turns=found.turns,
        tags=found.tags,
    )


def _there(path: Path) -> Path:
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such file of problems")
    check(path)
    return path


def _plain(value: object) -> str | int | float | None:
    return value if isinstance(value, int | float) or value is None else str(value)
