"""Where runs are: the reports folder of the current project, found without pytest."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_crmeval.cli.terminal import UsageError
from pytest_crmeval.journal.index import NoSuchRunError, folder_of
from pytest_crmeval.journal.jobs import is_job

DEFAULT = "reports"
NAMED = "id of a run, a path (run folder, job.json, journal or report), or latest"
_INI = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Declare the option that all commands about runs have."""
    parser.add_argument(
        "--reports",
        type=Path,
        metavar="DIR",
        help="reports folder (default: the project's crmeval_reports, or reports)",
    )


def reports_of(options: argparse.Namespace) -> Path:
    """Return the folder of ``--reports``, or of the project's settings, relative to the current folder."""
    if options.reports is not None:
        return Path(options.reports).expanduser()
    return project_reports()


def project_reports() -> Path:
    """Return the reports folder of the project's settings, relative to the current folder."""
    root, settings = project()
    folder = root / Path(str(settings.get("crmeval_reports", DEFAULT))).expanduser()
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def all_reports(options: argparse.Namespace) -> list[Path]:
    """Return the folder of ``--reports``; without it the project's, and all others that its runs were submitted to."""
    return [reports_of(options), *([] if options.reports else _remembered(_index()))]


def remember(reports: Path) -> None:
    """Remember a folder with runs, so that commands in this project also look there."""
    index = _index()
    folders = [str(folder) for folder in _remembered(index)]
    if reports.absolute() == project_reports().absolute() or str(reports.absolute()) in folders:
        return
    draft = index.with_name(f"{index.name}.{os.getpid()}")
    try:
        index.parent.mkdir(parents=True, exist_ok=True)
        (index.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        draft.write_text(json.dumps([*folders, str(reports.absolute())], indent=1), encoding="utf-8")
        draft.replace(index)
    except OSError as error:
        sys.stderr.write(f"crmeval: {index}: {error.strerror}; to find this run later, add --reports {reports}\n")


def _index() -> Path:
    """Return the file in pytest's cache that lists the other folders with runs of this project."""
    root, settings = project()
    return root / os.path.expandvars(str(settings.get("cache_dir", ".pytest_cache"))) / "d/crmeval/reports.json"


def _remembered(index: Path) -> list[Path]:
    """Return the folders that still exist; none if the cache was cleared or can't be read."""
    try:
        folders = [Path(str(folder)) for folder in json.loads(index.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []
    return [folder for folder in folders if folder.is_dir()]


def named_run(options: argparse.Namespace) -> Path:
    """Return the folder of the run that a command names; UsageError if there is none."""
    try:
        first, *others = all_reports(options)
        return folder_of(first, options.run, others)
    except NoSuchRunError as error:
        raise UsageError(error) from error


def next_command(command: str, run: str, options: argparse.Namespace) -> str:
    """Return what to type next, for the same reports."""
    where = f" --reports {shlex.quote(str(options.reports))}" if options.reports else ""
    return f"crmeval {command} {run}{where}"


def resumed_by(folder: Path, options: argparse.Namespace) -> str:
    """Return the command that resumes a run; a run that was not submitted is resumed with pytest."""
    return next_command("run", folder.name, options) if is_job(folder) else f"pytest ... --crmeval-run={folder.name}"


def lines_of(setting: str) -> list[str]:
    """Return the lines of a project's setting, which is a list or a text with line breaks."""
    found = project()[1].get(setting, ())
    lines = found.splitlines() if isinstance(found, str) else map(str, found)
    return [line.strip() for line in lines if line.strip()]


def project() -> tuple[Path, Mapping[str, Any]]:
    """Return the folder and the pytest settings of the project around the current folder, or the current folder."""
    for file, settings in _all_settings():
        return file.parent, settings
    return Path.cwd(), {}


def settings_file() -> Path | None:
    """Return the file with the pytest settings of the project around the current folder; None if there is none."""
    return next((file for file, _ in _all_settings()), None)


def _all_settings() -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the files with settings of pytest in this folder and those above it, in pytest's own order."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in ("pytest.toml", ".pytest.toml"):
            if (path := folder / name).is_file():
                yield path, _toml(path).get("pytest", {})
        for name in ("pytest.ini", ".pytest.ini"):
            if (path := folder / name).is_file():
                yield path, _ini(path).get("pytest", {})
        if (path := folder / "pyproject.toml").is_file():
            tool = _toml(path).get("tool", {}).get("pytest")
            if tool is not None:
                yield path, tool.get("ini_options", tool)
        for name in ("tox.ini", "setup.cfg"):
            if (path := folder / name).is_file() and _INI[name] in (found := _ini(path)):
                yield path, found[_INI[name]]


def _toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def _ini(path: Path) -> dict[str, dict[str, str]]:
    from configparser import Error, RawConfigParser

    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, Error) as error:
        raise UsageError(f"{path}: {error}") from error
    return {name: dict(parser[name]) for name in parser.sections()}
