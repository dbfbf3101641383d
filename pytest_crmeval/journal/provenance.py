"""The origin of a run: its commit, its cases and the code of its agents."""

import subprocess
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.trial import PlannedCase

PATIENCE = 10.0
"""Seconds that a run waits for git."""


def commit_at(folder: Path) -> JsonObject:
    """Return the commit that is checked out, and whether tracked files were changed; empty without a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, **({} if changes is None else {"dirty": bool(changes)})}


def datasets_of(planned: Iterable[PlannedCase]) -> JsonObject:
    """Return the number of planned cases of each suite, and a fingerprint of their content."""
    suites: dict[str, set[tuple[str, str]]] = {}
    for case in planned:
        suites.setdefault(case.suite, set()).add((case.case, case.fingerprint))
    return {
        suite: {"cases": len({case for case, _ in cases}), "fingerprint": fingerprint_of(sorted(cases))}
        for suite, cases in sorted(suites.items())
    }


def fingerprint_of(content: object) -> str:
    """Return a digest of the content."""
    return sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def code_of(spec: str) -> str:
    """Return a fingerprint of the code of an agent ``module:attr``; empty if its source is not found.

    In a package all modules count, because an agent is rarely one file. Nothing is imported.
    """
    name = spec.partition(":")[0].partition(".")[0]
    try:
        found = find_spec(name)
    except (ImportError, ValueError):
        return ""
    folders = list(found.submodule_search_locations or ()) if found else []
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    if found and found.has_location and not files:
        files = [Path(str(found.origin))]
    try:
        return fingerprint_of([(path.name, path.read_bytes()) for path in files]) if files else ""
    except OSError:  # missing or unreadable
        return ""


def _git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git; None if it fails, is missing or takes too long."""
    command: Sequence[str] = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
