"""The scope of a run: which suites and agents it was asked for, and which cases it skipped."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.journal.shard import agents_of, objects, shard_of

LeftOut = Mapping[str, Mapping[str, int]]
"""By suite: why cases are skipped, and how many."""


def is_unasked(run: JsonObject, suite: str) -> bool:
    """Whether every part of the run was asked for other suites by name."""
    return all(_is_of_others(part, suite) for part in _played(run))


def may_be_unasked(run: JsonObject, suite: str) -> bool:
    """Whether every part of the run was asked for other suites, or only for some tests: files, names, marks, tags."""
    return all(part.get("partial") or _is_of_others(part, suite) for part in _played(run))


def left_out_of(run: JsonObject) -> LeftOut:
    """Return the skipped cases of all parts of a run.

    A part of the same shard with the same agents skips the same cases again; other parts skip other cases.
    """
    found: dict[tuple[str, ...], Counter[tuple[str, str]]] = {}
    for part in _played(run):
        whose = (str(shard_of(part)), *sorted(agents_of(part)))
        stored = part.get("left_out")
        skipped = {
            (suite, why): count
            for suite, reasons in (stored.items() if isinstance(stored, Mapping) else ())
            for why, count in (reasons.items() if isinstance(reasons, Mapping) else ())
            if isinstance(count, int)
        }
        found[whose] = found.get(whose, Counter()) | Counter(skipped)
    whole: dict[str, dict[str, int]] = {}
    for (suite, why), count in sum(found.values(), Counter[tuple[str, str]]()).items():
        whole.setdefault(suite, {})[why] = count
    return whole


def awaits_plugins(run: JsonObject) -> bool:
    """Whether gates of plugins were not evaluated on the whole run: it was merged, and not resumed since."""
    parts = objects(run.get("parts"))
    return bool(parts) and "merged" in parts[-1] and any(part.get("plugin_gates") for part in parts)


def by_reason(left_out: LeftOut) -> Mapping[str, int]:
    """Return why cases are skipped, and how many, over all suites."""
    return sum(map(Counter, left_out.values()), Counter[str]())


def _played(run: JsonObject) -> Sequence[JsonObject]:
    """Return the parts that were played; a run without any was asked for everything."""
    return [part for part in objects(run.get("parts")) if "merged" not in part] or [{}]


def _is_of_others(part: JsonObject, suite: str) -> bool:
    suites = part.get("suites")
    return isinstance(suites, list | tuple) and bool(suites) and suite not in suites


def is_unchosen(run: JsonObject, subject: str, others: AbstractSet[str]) -> bool:
    """Whether every part of the run was asked for other agents by name; ``others`` are agents that have played."""
    parts = _played(run)
    agents = {agent for part in parts for agent in agents_of(part)}
    return others <= agents and all(part.get("chosen") is True and subject not in agents_of(part) for part in parts)
