"""The HTML page of a run: one file that a browser opens from disk, without a network."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.domain.json import TURNING, Json, JsonObject
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import encoded_quickly
from pytest_crmeval.journal.annotations import NO_ANNOTATIONS, Annotations, annotations_in
from pytest_crmeval.journal.gc_pause import gc_paused
from pytest_crmeval.journal.ids import LATEST
from pytest_crmeval.journal.index import point
from pytest_crmeval.render.page.baseline import changes_of, earlier_dialogues
from pytest_crmeval.render.page.beside import baseline_beside, folder_beside
from pytest_crmeval.render.page.dialogues import dialogue, kept
from pytest_crmeval.render.page.packs import Packs, packed
from pytest_crmeval.render.page.rows import causes, is_measured, rows_of
from pytest_crmeval.render.page.view import view_of
from pytest_crmeval.render.page.words import short
from pytest_crmeval.report.report import Report

__all__ = [
    "baseline_beside",
    "data_of",
    "dialogues_of",
    "environment",
    "folder_beside",
    "rendered",
    "save",
    "text_of",
    "write",
]

if TYPE_CHECKING:  # importing it takes as long as summarising a small run
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""Characters that JSON must not contain inside a script: an HTML or an old JavaScript parser would interpret them."""


def write(report: Report, reports: Path) -> Path:
    """Write ``<run>.html`` beside the report, and its packs into the run's folder; OSError if that fails."""
    run = str(report.run["id"])
    path = reports / f"{run}.html"
    save(report, reports / run, path, baseline_beside(path, report))
    point(reports / f"{LATEST}.html", path.name)
    return path


@gc_paused()
def save(report: Report, run: Path, path: Path, baseline: tuple[Report, Path] | None = None) -> None:
    """Write the page of a run, completely or not at all; ``run`` is its folder."""
    packs = packed(dialogues_of(report, report.trials, run, baseline), path)
    draft = path.with_name(f"{path.name}.part")
    try:
        draft.write_text(
            rendered(report, packs, path.stem, annotations_in(run)), encoding="utf-8", errors="backslashreplace"
        )
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def rendered(report: Report, packs: Packs, folder: str, annotations: Annotations = NO_ANNOTATIONS) -> str:
    """Return the page; ``folder`` is the name of the folder beside it."""
    from markupsafe import Markup

    script, css = text_of("page.js"), text_of("page.css")
    # The browser may run our script and the packs beside the page, and send nothing to the network.
    policy = (
        f"default-src 'none'; script-src {_digest(script)} 'self' file:; style-src {_digest(css)}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = environment().get_template("page.html")
    return page.render(
        view=view_of(report, annotations),
        data=data_of(report, packs=list(packs.starts), folder=folder),
        packs=packs.contents,
        css=Markup(css),  # noqa: S704 (ours)
        script=Markup(script),  # noqa: S704 (ours)
        policy=policy,
    )


def data_of(report: Report, **more: Json) -> str:
    """Return the list of trials for the script of the page, as the content of a script element."""
    from markupsafe import Markup

    changes = changes_of(report.comparison)
    changed = {str(n): name for n, trial in enumerate(report.trials) if (name := changes.get(_place(trial)))}
    repeats = {str(n): trial.planned.trial for n, trial in enumerate(report.trials) if trial.planned.trial > 1}
    measured = [n for n, trial in enumerate(report.trials) if is_measured(trial)]
    controls: Json = sorted({each.subject for each in report.standings if each.is_control})
    known: JsonObject = {"controls": controls, "changes": changed, "repeats": repeats, "measured": measured}
    data: JsonObject = {**rows_of(report.trials), **known, **causes(report.trials), **more}
    return Markup(in_script(data))  # noqa: S704 (nothing in it ends a script)


def _digest(content: str) -> str:
    """Return the source expression of an inline script or style; the content has no space around it."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def in_script(value: JsonObject) -> str:
    """Return JSON that is safe inside a script element, whatever it contains."""
    return encoded_quickly(value).decode().translate(_UNSAFE)


def dialogues_of(
    report: Report, trials: Iterable[Trial], run: Path, baseline: tuple[Report, Path] | None
) -> Iterator[JsonObject]:
    """Yield trials of a report as the page shows them; those that have changed with the dialogue of the baseline."""
    earlier, annotations = earlier_dialogues(report.comparison, baseline), annotations_in(run)
    for trial in trials:
        shown = dialogue(trial, kept(run, trial), annotations.get(trial.planned.key, ()))
        before = earlier(trial)
        yield {**shown, "before": before} if before else shown


def _place(trial: Trial) -> tuple[str, str, str]:
    return trial.planned.suite, trial.planned.subject, trial.planned.case


@cache
def environment(*folders: Path) -> "Environment":
    """Return the templates of the page, and those in other folders, which may use them."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader([*folders, _TEMPLATES]), autoescape=True, undefined=StrictUndefined, finalize=_readable
    )
    found.filters["short"] = short
    return found


def _readable(value: object) -> object:
    """Return a value for the page; characters that would reverse the rest of a line are spelled out."""
    from markupsafe import Markup

    return value.translate(TURNING) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def text_of(name: str) -> str:
    """Return the script or the styles of the page."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")
