"""What the parts of a run were asked for: which suites it need not have; and which cases they have left out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.journal.shard import agents_of, objects, shard_of

LeftOut = Mapping[str, Mapping[str, int]]
"""By suite: why cases are not played, and how many."""


def is_unasked(run: JsonObject, suite: str) -> bool:
    """Whether nobody has asked for a suite: every part of the run was asked for others, by name."""
    return all(_is_of_others(part, suite) for part in _played(run))


def may_be_unasked(run: JsonObject, suite: str) -> bool:
    """Whether every part of the run was asked for others, or only for some of the tests: files, names, marks, tags."""
    return all(part.get("partial") or _is_of_others(part, suite) for part in _played(run))


def left_out_of(run: JsonObject) -> LeftOut:
    """Return what was left out, all parts of a run together.

    A part of the same shard with the same agents leaves out the same cases again; others leave out others.
    """
    found: dict[tuple[str, ...], Counter[tuple[str, str]]] = {}
    for part in _played(run):
        whose = (str(shard_of(part)), *sorted(agents_of(part)))
        found[whose] = found.get(whose, Counter()) | Counter(dict(_left_out(part.get("left_out"))))
    whole: dict[str, dict[str, int]] = {}
    for (suite, why), count in sum(found.values(), Counter[tuple[str, str]]()).items():
        whole.setdefault(suite, {})[why] = count
    return whole


def awaits_plugins(run: JsonObject) -> bool:
    """Whether plugins have gates that nobody has asked about the whole: runs were merged, and none went on with it."""
    parts = objects(run.get("parts"))
    return bool(parts) and "merged" in parts[-1] and any(part.get("plugin_gates") for part in parts)


def by_reason(left_out: LeftOut) -> Mapping[str, int]:
    """Return why cases are not played, and how many, whatever suite they are of."""
    return sum(map(Counter, left_out.values()), Counter[str]())


def _left_out(told: Json) -> Iterator[tuple[tuple[str, str], int]]:
    for suite, reasons in told.items() if isinstance(told, Mapping) else ():
        for why, count in reasons.items() if isinstance(reasons, Mapping) else ():
            if isinstance(count, int):
                yield (suite, why), count


def _played(run: JsonObject) -> Sequence[JsonObject]:
    """Return the parts of which something is known to be asked; a run of which nothing is known was asked for all."""
    return [part for part in objects(run.get("parts")) if "merged" not in part] or [{}]


def _is_of_others(part: JsonObject, suite: str) -> bool:
    suites = part.get("suites")
    return isinstance(suites, list | tuple) and bool(suites) and suite not in suites


def nobody_chose(run: JsonObject, subject: str, others: AbstractSet[str]) -> bool:
    """Whether every part of the run was asked for agents by name, and for another than this; ``others`` are agents."""
    parts = _played(run)
    return all(
        part.get("chosen") is True and subject not in agents_of(part) and others <= _all_agents(parts) for part in parts
    )


def _all_agents(parts: Sequence[JsonObject]) -> set[str]:
    return {agent for part in parts for agent in agents_of(part)}
