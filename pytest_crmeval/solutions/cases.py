"""Solution files as cases: their ids, and what their verdicts depend on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.journal.solutions.outcomes import Checkpoint
from pytest_crmeval.options.values import Options
from pytest_crmeval.solutions.files import SolutionRef, find
from pytest_crmeval.solutions.fingerprints import quick
from pytest_crmeval.solutions.problem import Examples, Sizes, TestChoice
from pytest_crmeval.solutions.problems import Problems, check, opened
from pytest_crmeval.solutions.solution import SolutionFile

NO_PROBLEMS = (
    "name the problems: @pytest.mark.solutions('folder', problems='problems.jsonl'), or --crmeval-problems FILE"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """Where a solution file is; its id starts with the name of its checkpoint, so that it is unique."""

    found: SolutionRef
    id: str
    fingerprint: str
    """Changes when the file, the problems or the settings change."""
    path: Path
    turns: int
    tags: Sequence[str]
    line: int = 1
    offset: int = 0
    split: str = ""
    judged: bool = False
    simulated: ClassVar[bool] = False
    confidential: bool = False

    @property
    def broken(self) -> str:
        """Why it can't be read; empty if it can."""
        return self.found.broken

    @property
    def folder(self) -> str:
        """The folder of its checkpoint."""
        return str(self.found.folder)

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that wrote it."""
        return self.found.checkpoint

    def read(self) -> SolutionFile:
        """Return the case itself; DatasetError if the file is gone, or was changed."""
        return replace(self.found.read(), fingerprint=self.fingerprint)


def index(paths: Sequence[Path], problems: Sequence[Path], options: Options) -> Sequence[FileRef]:
    """Return the solution files; DatasetError if there are none, or no problems to judge them by."""
    if not problems:
        raise DatasetError(NO_PROBLEMS)
    for path in problems:
        if not path.is_file():
            raise DatasetError(f"{path}: this file of problems does not exist")
        check(path)
    terms = [*map(quick, problems), json.dumps(terms_of(options), sort_keys=True)]
    return [
        FileRef(
            found=found,
            id=f"{found.checkpoint.name}-{found.id}",
            fingerprint=sha256("\0".join([found.fingerprint, *terms]).encode()).hexdigest()[:16],
            path=found.path,
            turns=found.turns,
            tags=found.tags,
        )
        for found in find(paths, options.checkpoints.pattern)
    ]


def problems_of(settings: Mapping[str, Any], options: Options) -> Sequence[Path]:
    """Return the files of problems: those of the command line, else the marker's."""
    return options.checkpoints.problems or settings.get("problems", ())


def open_problems(paths: Sequence[Path], options: Options) -> Problems:
    """Return the problems with their chosen tests; DatasetError if a file can't be used."""
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
    """Return all options that verdicts depend on, as JSON primitives."""
    asked, choice = options.checkpoints, choice_of(options)
    tests = {name: getattr(choice, name) for name in TestChoice.__slots__}
    return {
        "extract": asked.extraction,
        "all_tests": asked.all_tests,
        "testlib": quick(asked.testlib) if asked.testlib else "",
        **{f"factors of {language}": str(asked.factors[language]) for language in sorted(asked.factors)},
        **{
            name: value if value is None or isinstance(value, int | float) else str(value)
            for name, value in tests.items()
        },
    }
