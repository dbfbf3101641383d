"""What the parts of a run were asked for: which suites it need not have."""

from collections.abc import Sequence

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.shard import objects


def is_unasked(run: JsonObject, suite: str) -> bool:
    """Whether nobody has asked for a suite: every part of the run was asked for others, by name."""
    return all(_is_of_others(part, suite) for part in _played(run))


def may_be_unasked(run: JsonObject, suite: str) -> bool:
    """Whether every part of the run was asked for others, or only for some of the tests: files, names, marks, tags."""
    return all(part.get("partial") or _is_of_others(part, suite) for part in _played(run))


def _played(run: JsonObject) -> Sequence[JsonObject]:
    """Return the parts of which something is known to be asked; a run of which nothing is known was asked for all."""
    return [part for part in objects(run.get("parts")) if "merged" not in part] or [{}]


def _is_of_others(part: JsonObject, suite: str) -> bool:
    suites = part.get("suites")
    return isinstance(suites, list | tuple) and bool(suites) and suite not in suites
