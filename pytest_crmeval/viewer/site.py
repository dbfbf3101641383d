"""The pages of `crmeval view`: what is answered to each address."""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from getpass import getuser
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from pytest_crmeval.agents import CONTROLS
from pytest_crmeval.domain.redaction import Redactor, secrets_in
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import encoded, encoded_quickly
from pytest_crmeval.journal import live
from pytest_crmeval.journal.annotations import Opinion, add, annotation_of, annotations_in
from pytest_crmeval.journal.ids import JOURNAL
from pytest_crmeval.journal.index import is_only_report
from pytest_crmeval.journal.jobs import JobError, State
from pytest_crmeval.journal.reader import JournalError, latest_trials
from pytest_crmeval.render.page import data_of, dialogues_of, environment, text_of, words
from pytest_crmeval.render.page.view import view_of
from pytest_crmeval.report.metrics import SCORED
from pytest_crmeval.report.outliers import reason_of
from pytest_crmeval.report.report import Report
from pytest_crmeval.viewer.catalogue import Catalogue
from pytest_crmeval.viewer.index_file import IndexFile
from pytest_crmeval.viewer.indexing import Indexer
from pytest_crmeval.viewer.library import Library, UnreadableRunError
from pytest_crmeval.viewer.search import SHOWN, Hit, Search, Wanted
from pytest_crmeval.viewer.trends import trends_of

if TYPE_CHECKING:  # importing it takes as long as answering
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
FAILURES = 10
"""Failures shown on the page of a running run."""
FIRST = 200
"""Runs that are listed unless all are asked for."""
_MOODS = {"passed": "good", "failed": "bad", "errored": "warn", "invalid": "plain"}
Query = Mapping[str, str]


class NotFoundError(Exception):
    """There is nothing at this address; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """The content of an address."""

    content: bytes
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    location: str = ""
    """Where to go instead, relative to the address; empty if the content is the answer."""


class Site:
    """Answers requests from the files of the runs; thread-safe."""

    def __init__(self, folders: Sequence[Path], root: str) -> None:
        self._folders = folders
        self._root = root
        self._index = IndexFile(folders[0])
        self._catalogue = Catalogue(folders, self._index)
        self._search = Search(self._index)
        self._indexer = Indexer(self._catalogue, self._index, self._search)
        self._library = Library()
        self._redactor = Redactor(secrets_in(os.environ))
        self._routes: Sequence[tuple[re.Pattern[str], Callable[..., SiteAnswer]]] = [
            (re.compile(pattern), answer)
            for pattern, answer in (
                ("", self._runs),
                ("trend", self._trend),
                ("compare", self._compare),
                ("search", self._find),
                (r"static/(?P<name>[a-z]+\.(?:css|js))", self._static),
                (r"runs/(?P<run>[^/]+)/", self._run),
                (r"runs/(?P<run>[^/]+)/live", self._live),
                (r"runs/(?P<run>[^/]+)/trial", self._trial),
                (r"runs/(?P<run>[^/]+)/files/(?P<path>.+)", self._file),
            )
        ]

    def start(self) -> None:
        """Begin to fill the index."""
        self._indexer.start()

    @property
    def is_indexed(self) -> bool:
        """Whether the index has everything that can be searched and compared."""
        return self._indexer.is_idle

    def close(self) -> None:
        """Stop filling the index, and close it."""
        self._indexer.stop()
        self._index.close()

    def answer(self, path: str, query: Query) -> SiteAnswer:
        """Return the answer to an address below the root; problems are pages, too."""
        matches = ((found, answer) for pattern, answer in self._routes if (found := pattern.fullmatch(path)))
        found, answer = next(matches, (None, None))
        if found is None or answer is None:
            return self._problem("Not found", "There is no such page.", 404)
        try:
            return answer(query, **found.groupdict())
        except NotFoundError as error:
            return self._problem("Not found", str(error), 404)
        except (UnreadableRunError, JobError, JournalError) as error:
            return self._problem("This run can't be read", str(error), 422)

    def accept(self, path: str, body: object) -> SiteAnswer:
        """Store what a person says about a trial, and answer all that is said about it."""
        found = re.fullmatch(r"runs/(?P<run>[^/]+)/annotations", path)
        if found is None or not isinstance(body, dict):
            return _refused(400, "an annotation is a JSON object, sent to runs/RUN/annotations")
        try:
            return self._annotate(found["run"], {name: str(value) for name, value in body.items()})
        except (NotFoundError, UnreadableRunError) as error:
            return _refused(404, str(error))
        except ValueError as error:
            return _refused(400, str(error))
        except OSError as error:
            return _refused(500, f"{error.filename}: {error.strerror}")

    def version(self, query: Query) -> str:
        """Return a text that changes when the parts of a page that are live change."""
        if run := query.get("run"):
            try:
                status = self._catalogue.watcher(self._folder(run)).look(time.time(), time.monotonic())
            except (JobError, JournalError) as error:  # the page shows it
                return str(error)
            second = "" if status.is_over else int(time.time())
            return repr((status.news, second))
        runs = self._catalogue.runs()
        return repr((hash(tuple((run.id, self._catalogue.stamp(run.id)) for run in runs)), self._indexer.status))

    # The pages.

    def _runs(self, query: Query) -> SiteAnswer:
        runs = self._catalogue.runs()
        shown = runs if query.get("all") else runs[:FIRST]
        folder = ", ".join(map(str, self._folders))
        return self._page("runs.html", "Runs", runs=shown, more=len(runs) - len(shown), folder=folder)

    def _trend(self, query: Query) -> SiteAnswer:  # noqa: ARG002 (as the other pages)
        runs = self._catalogue.runs()
        return self._page("trend.html", "Trend", trends=trends_of(runs, self._indexer.changes(runs)))

    def _compare(self, query: Query) -> SiteAnswer:
        runs = [run for run in self._catalogue.runs() if run.figures]
        before, after = query.get("before", ""), query.get("after", "")
        if before and after and before != after:
            there = urlencode({"baseline": before})
            return SiteAnswer(b"", status=303, location=f"{self._root}runs/{quote(after, safe='')}/?{there}#baseline")
        problem = "These are the same run: choose two runs." if before else ""
        after = after or (runs[0].id if runs else "")
        before = before or (runs[1].id if len(runs) > 1 else "")
        return self._page("compare.html", "Compare", runs=runs, before=before, after=after, problem=problem, events="")

    def _find(self, query: Query) -> SiteAnswer:
        page = query.get("page", "0")
        wanted = Wanted(
            text=query.get("text", ""),
            suite=query.get("suite", ""),
            subject=query.get("subject", ""),
            verdict=query.get("verdict", ""),
            page=int(page) if page.isdecimal() and len(page) < 7 else 0,  # noqa: PLR2004 (more pages than there are)
        )
        return self._page("search.html", "Search", found=self._search.find(wanted), wanted=wanted, shown=SHOWN)

    def _run(self, query: Query, run: str) -> SiteAnswer:
        folder, baseline = self._folder(run), query.get("baseline", "")
        report, note = self._compared(run, baseline)
        entry = next(entry for entry in self._catalogue.runs() if entry.id == run)
        return self._page(
            "run.html",
            "",
            view=view_of(report, annotations_in(folder)),
            data=data_of(report, packs=[], folder="files", served=True, baseline=baseline),
            notices=[note] if note else [],
            running=entry.is_running,
            packs=(),
        )

    def _live(self, query: Query, run: str) -> SiteAnswer:  # noqa: ARG002 (as the other pages)
        folder = self._folder(run)
        if is_only_report(folder):
            return SiteAnswer(b"", status=303, location="./")
        status = self._catalogue.watcher(folder).look(time.time(), time.monotonic())
        trials = latest_trials(folder / JOURNAL)
        failed = [trial for trial in trials if not trial.passed and trial.solutions is None][:FAILURES]
        return self._page(
            "live.html",
            "",
            status=status,
            has_trials=bool(status.whole.done),
            controls=CONTROLS,
            failures=[(trial, reason_of(trial)) for trial in failed],
            now=live.read(folder) if status.state is State.RUNNING else live.LiveRun(),
            events=urlencode({"run": run}),
        )

    def _trial(self, query: Query, run: str) -> SiteAnswer:
        """Answer the dialogue of one trial, which is found by its place in the list, and by what it is."""
        baseline = query.get("baseline", "")
        report, _ = self._compared(run, baseline)
        trial = _named(report.trials, query)
        if trial is None:
            raise NotFoundError("This run no longer has this trial; reload the page.")
        (shown,) = dialogues_of(report, [trial], self._folder(run), self._baseline(report, baseline))
        return SiteAnswer(encoded_quickly(shown), "application/json")

    def _compared(self, run: str, baseline: str) -> tuple[Report, str]:
        """Return the report of a run, compared with a given run instead of its own baseline, and a note on it."""
        folder, stamp = self._folder(run), self._catalogue.stamp(run)
        report, note = self._library.report(folder, stamp)
        if baseline:
            other, _ = self._library.report(self._folder(baseline), self._catalogue.stamp(baseline))
            report = self._library.compared(folder, stamp, other)
        return report, note

    def _baseline(self, report: Report, given: str) -> tuple[Report, Path] | None:
        """Return the baseline of a report and its folder; None if it has none, or none that can be read."""
        own = str(report.comparison.baseline.get("id", "")) if report.comparison else ""
        folder = self._catalogue.folder(given or own)
        if folder is None:
            return None
        try:
            return self._library.report(folder, self._catalogue.stamp(folder.name))[0], folder
        except UnreadableRunError:
            return None

    def _annotate(self, run: str, given: Query) -> SiteAnswer:
        folder = self._folder(run)
        report, _ = self._library.report(folder, self._catalogue.stamp(run))
        trial = _named(report.trials, given)
        if trial is None:
            raise NotFoundError("this run no longer has this trial; reload the page")
        if given.get("verdict") != str(trial.verdict):
            raise ValueError(f"the trial was played again, and is {trial.verdict} now; reload the page")
        if trial.verdict not in SCORED and given.get("opinion") != Opinion.NONE:
            raise ValueError(f"a trial that is {trial.verdict} has no verdict to agree with; write a note")
        note = self._redactor.text(given.get("note", ""))
        add(folder, annotation_of(trial, Opinion(given.get("opinion", "")), note, getuser()))
        (shown,) = dialogues_of(report, [trial], folder, None)
        return SiteAnswer(encoded_quickly(shown.get("annotations", [])), "application/json")

    def _file(self, query: Query, run: str, path: str) -> SiteAnswer:  # noqa: ARG002 (as the other pages)
        """Answer a file in the folder of a run, as it is stored."""
        folder = self._folder(run).resolve()
        found = (folder / path.replace("\0", "")).resolve()
        if not found.is_relative_to(folder) or not found.is_file() or found.suffix not in {".json", ".jsonl"}:
            raise NotFoundError("This run has no such file.")
        return SiteAnswer(found.read_bytes(), "text/plain; charset=utf-8")

    def _static(self, query: Query, name: str) -> SiteAnswer:  # noqa: ARG002 (as the other pages)
        kind = {"css": "text/css", "js": "text/javascript"}[name.rpartition(".")[2]]
        if name.startswith("page."):
            return SiteAnswer(text_of(name).encode(), f"{kind}; charset=utf-8")
        path = _TEMPLATES / name
        if not path.is_file():
            raise NotFoundError("There is no such file.")
        return SiteAnswer(path.read_bytes(), f"{kind}; charset=utf-8")

    def _problem(self, heading: str, problem: str, status: int) -> SiteAnswer:
        return self._page("problem.html", "", heading=heading, problem=problem, status_code=status, events="")

    def _page(self, template: str, here: str, *, status_code: int = 200, **values: object) -> SiteAnswer:
        """Render a template; what all of them show is added."""
        known = {"root": self._root, "here": here, "version": self._version, "indexing": self._indexer.status}
        every = {**known, "events": "page=1", "trouble": self._index.trouble, **values}
        text = self._environment.get_template(template).render(every)
        return SiteAnswer(text.encode("utf-8", "backslashreplace"), status=status_code)

    def _folder(self, run: str) -> Path:
        folder = self._catalogue.folder(run)
        if folder is None:
            raise NotFoundError(f"There is no run {run!r} in {', '.join(map(str, self._folders))}.")
        return folder

    @cached_property
    def _version(self) -> str:
        return f"pytest-crmeval {version('pytest-crmeval')}"

    @cached_property
    def _environment(self) -> "Environment":
        found = environment(_TEMPLATES)
        found.filters |= {
            **{name: getattr(words, name) for name in ("rate", "dollars", "seconds", "moment", "amount")},
            "ends": lambda figure: words.interval(figure.low, figure.high),
            "mood": lambda verdict: _MOODS[str(verdict)],
            "identity": identity,
            "json": lambda value: encoded(value).decode(),
            "address": lambda wanted, page: urlencode({**_asked(wanted), "page": page}),
        }
        return found


def _refused(status: int, why: str) -> SiteAnswer:
    return SiteAnswer(encoded_quickly({"error": why}), "application/json", status)


def identity(found: Trial | Hit) -> str:
    """Return what finds a trial on the page of its run."""
    place = found.planned if isinstance(found, Trial) else found
    return urlencode(
        {"suite": place.suite, "subject": place.subject, "case": place.case, "trial": place.trial}, errors="replace"
    )


def _asked(wanted: Wanted) -> dict[str, str]:
    return {name: getattr(wanted, name) for name in ("text", "suite", "subject", "verdict")}


def _named(trials: Sequence[Trial], query: Query) -> Trial | None:
    """Return the trial at a place of the list if it is the one that is asked for, else another one that is."""
    number = query.get("number", "")
    first = trials[int(number) : int(number) + 1] if number.isdecimal() and len(number) < 10 else []  # noqa: PLR2004
    return next((trial for trial in (*first, *trials) if identity(trial) == _identity_in(query)), None)


def _identity_in(query: Query) -> str:
    return urlencode({name: query.get(name, "") for name in ("suite", "subject", "case", "trial")}, errors="replace")
