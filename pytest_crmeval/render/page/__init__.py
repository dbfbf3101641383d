"""The HTML page of a run: one file that a browser opens from disk, without a network."""

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.domain.json import TURNING, JsonObject
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.domain.wire import encoded_quickly
from pytest_crmeval.journal.gc_pause import gc_paused
from pytest_crmeval.journal.ids import LATEST
from pytest_crmeval.journal.index import point
from pytest_crmeval.render.page.baseline import Earlier, changes_of, earlier_dialogues
from pytest_crmeval.render.page.beside import baseline_beside, folder_beside
from pytest_crmeval.render.page.dialogues import dialogue, kept
from pytest_crmeval.render.page.packs import Packs, packed
from pytest_crmeval.render.page.rows import rows_of
from pytest_crmeval.render.page.view import view_of
from pytest_crmeval.report.report import Report

__all__ = ["baseline_beside", "folder_beside", "rendered", "save", "write"]

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
    earlier = earlier_dialogues(report.comparison, baseline)
    packs = packed(_dialogues(report, run, earlier), path)
    draft = path.with_name(f"{path.name}.part")
    try:
        draft.write_text(rendered(report, packs, path.stem), encoding="utf-8", errors="backslashreplace")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def rendered(report: Report, packs: Packs, folder: str) -> str:
    """Return the page; ``folder`` is the name of the folder beside it."""
    from markupsafe import Markup

    script = _text("page.js")
    changes = changes_of(report.comparison)
    changed = {str(n): name for n, trial in enumerate(report.trials) if (name := changes.get(_place(trial)))}
    data = {**rows_of(report.trials), "changes": changed, "packs": list(packs.starts), "folder": folder}
    # The browser may run our script and the packs beside the page, and send nothing to the network.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template("page.html")
        .render(
            view=view_of(report),
            data=Markup(in_script(data)),  # noqa: S704 (nothing in it ends a script)
            packs=packs.contents,
            css=Markup(_text("page.css")),  # noqa: S704 (ours)
            script=Markup(script),  # noqa: S704 (ours)
            policy=f"default-src 'none'; script-src 'sha256-{digest}' 'self' file:; style-src 'unsafe-inline'; "
            "base-uri 'none'; form-action 'none'",
        )
    )


def in_script(value: JsonObject) -> str:
    """Return JSON that is safe inside a script element, whatever it contains."""
    return encoded_quickly(value).decode().translate(_UNSAFE)


def _dialogues(report: Report, run: Path, earlier: Earlier) -> Iterator[JsonObject]:
    for trial in report.trials:
        shown = dialogue(trial, kept(run, trial))
        before = earlier.get(_place(trial))
        yield {**shown, "before": before} if before else shown


def _place(trial: Trial) -> tuple[str, str, str]:
    return trial.planned.suite, trial.planned.subject, trial.planned.case


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, finalize=_readable
    )


def _readable(value: object) -> object:
    """Return a value for the page; characters that would reverse the rest of a line are spelled out."""
    from markupsafe import Markup

    return value.translate(TURNING) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
