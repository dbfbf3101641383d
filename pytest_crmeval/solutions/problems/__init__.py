"""Problems in JSON Lines, JSON or parquet: our own format, and the columns of published benchmarks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pytest_crmeval.domain.dataset_error import SHOWN, DatasetError
from pytest_crmeval.solutions.fingerprints import WHOLE, quick
from pytest_crmeval.solutions.problem import Problem, ProblemTest, TestChoice, TestKind
from pytest_crmeval.solutions.problems.choosing import Generated, examples_wanted, skipped_if_large
from pytest_crmeval.solutions.problems.draft import Draft, FieldError, NotJsonError
from pytest_crmeval.solutions.problems.records import draft_of
from pytest_crmeval.solutions.problems.rows import ProblemPlace, ProblemRows, rows_of

NO_TESTS = "it has no tests"
HOW_TO_GIVE = "use --crmeval-tests DIR, or crmeval_tests_max=0 to run without them"
WITHOUT_GENERATED = "some problems were tested by their official tests only, without their generated tests"
_NONE = "{}: the file has no problem; write one JSON object per line"


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a problem is."""

    rows: ProblemRows
    place: ProblemPlace


class Problems:
    """Problems by id; each is read when it is needed, and only the last one is kept. Thread-safe."""

    def __init__(
        self, entries: Mapping[str, _Entry], aliases: Mapping[str, str], choice: TestChoice, testlib: Path | None
    ) -> None:
        self._entries = entries
        self._aliases = aliases
        self._choice = choice
        self._testlib = testlib.read_text(encoding="utf-8") if testlib else ""
        wanted = choice.generated is not None and choice.max_generated != 0
        self._generated = Generated(choice.generated) if choice.generated and wanted else None
        self._last: Problem | None = None

    def __len__(self) -> int:
        """Return the number of problems."""
        return len(self._entries)

    def __contains__(self, id_: object) -> bool:
        """Whether there is a problem with this id or alias."""
        return id_ in self._entries or id_ in self._aliases

    def __iter__(self) -> Iterator[str]:
        """Yield the ids, in order of the files."""
        return iter(self._entries)

    @property
    def fingerprint(self) -> str:
        """A hash of the problems and the choice of tests."""
        files = dict.fromkeys(entry.rows.path for entry in self._entries.values())
        tests = [path for paths in self._generated.files.values() for path in paths] if self._generated else []
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in tests]
        content = ([quick(path) for path in files], replace(self._choice, generated=None), stats, self._testlib)
        return sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def get(self, id_: str) -> Problem | None:
        """Return a problem with its chosen tests; None if there is none. DatasetError if it can't be read."""
        name = id_ if id_ in self._entries else self._aliases.get(id_)
        if name is None:
            return None
        last = self._last
        if last is not None and last.id == name:
            return last
        self._last = problem = self._chosen(self._draft(name))
        return problem

    def _draft(self, name: str) -> Draft:
        entry = self._entries[name]
        changed = DatasetError(f"{entry.rows.path}:{entry.place.line}: the file was changed while it was in use")
        try:
            draft = draft_of(entry.rows.read(entry.place), entry.place.line, self._testlib)
        except OSError as error:
            raise DatasetError(f"{entry.rows.path}: {error.strerror}, while it was in use") from error
        except NotJsonError as error:  # it was JSON when the file was opened
            raise changed from error
        except FieldError as error:
            raise DatasetError(f"{entry.rows.path}:{entry.place.line}: {error}") from error
        if draft.problem.id != name:
            raise changed
        return draft

    def _chosen(self, draft: Draft) -> Problem:
        generated, missing, note = self._generated_for(draft)
        own = draft.problem.tests
        if (most := self._choice.max_generated) is not None:
            beyond = set(map(id, [test for test in own if test.kind is TestKind.GENERATED][most:]))
            own = [test for test in own if id(test) not in beyond]
        own = [*own, *generated]
        examples = examples_wanted(draft.examples, own, self._choice)
        found = [*examples, *own]
        tests = tuple(found if draft.problem.function else (skipped_if_large(test, self._choice) for test in found))
        unsupported = draft.problem.unsupported or missing or ("" if tests else NO_TESTS)
        chosen = replace(draft.problem, tests=tests, unsupported=unsupported, note=note)
        return replace(chosen, fingerprint=_fingerprint(chosen))

    def _generated_for(self, draft: Draft) -> tuple[Sequence[ProblemTest], str, str]:
        """Return the generated tests, why they are missing, and a note if the problem is judged without them."""
        promised = draft.generated
        if self._choice.max_generated == 0:
            return (), "", WITHOUT_GENERATED if promised else ""
        if self._generated is None:
            if not promised or draft.complete:
                return (), "", WITHOUT_GENERATED if promised else ""
            return (), f"its generated tests are missing: {HOW_TO_GIVE}", ""
        there = self._generated.count(draft)
        if there < promised:
            return (), f"{there} of its {promised} generated tests are in {self._generated.folder}", ""
        return self._generated.tests(draft, self._choice), "", ""


def check(path: Path) -> None:
    """Check a file before its problems are used: all of a small one, the beginning of a big one.

    DatasetError if it can't be used.
    """
    try:
        if path.stat().st_size <= WHOLE:
            opened([path])
            return
        place, content = next(iter(rows_of(path).all()))
        draft_of(content, place.line)
    except OSError as error:
        raise DatasetError(_unreadable(path, error)) from error
    except StopIteration:
        raise DatasetError(_NONE.format(path)) from None
    except FieldError as error:
        raise DatasetError(f"{path}:{place.line}: {error}") from error


def opened(paths: Sequence[Path], choice: TestChoice | None = None, *, testlib: Path | None = None) -> Problems:
    """Validate the files and return their problems; of problems with the same id in several files the first counts.

    ``testlib`` is the user's ``testlib.h``, for the checkers that include it. DatasetError if a file can't be used.
    """
    entries: dict[str, _Entry] = {}
    aliases: dict[str, str] = {}
    wrong: list[str] = []
    for path in paths:
        empty = True
        for place, draft, rows in _drafts(path, wrong):
            empty = False
            id_ = draft.problem.id
            first = entries.setdefault(id_, _Entry(rows, place))
            if draft.only_one and first.place is not place and first.rows is rows:
                wrong.append(
                    f"{path}:{place.line}: id: {id_!r} is already in line {first.place.line}; ids must be unique"
                )
            for alias in draft.aliases:
                aliases.setdefault(alias, id_)
        if empty and not wrong:
            raise DatasetError(_NONE.format(path))
    if wrong:
        more = [f"... and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        raise DatasetError("\n".join(wrong[:SHOWN] + more))
    try:
        return Problems(entries, aliases, choice or TestChoice(), testlib)
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{testlib}: give the path of your testlib.h: {error}") from error


def _drafts(path: Path, wrong: list[str]) -> Iterator[tuple[ProblemPlace, Draft, ProblemRows]]:
    """Yield the problems of a file; an invalid one is added to ``wrong`` and skipped."""
    try:
        rows = rows_of(path)
        for place, content in rows.all():
            try:
                yield place, draft_of(content, place.line, brief=True), rows
            except FieldError as error:
                wrong.append(f"{path}:{place.line}: {error}")
    except OSError as error:
        raise DatasetError(_unreadable(path, error)) from error


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path}: {error.strerror}; give the path of a JSON Lines or parquet file"


def _fingerprint(problem: Problem) -> str:
    """Return a hash of everything that a verdict depends on."""
    found = sha256(repr(replace(problem, rating=None, tags=())).encode())
    texts = (text for test in problem.tests for text in (test.input, test.output, test.skipped))
    for text in [problem.checker.program.source if problem.checker else "", *texts]:
        content = text.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(content))
        found.update(content)
    return found.hexdigest()[:16]
