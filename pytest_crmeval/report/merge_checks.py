"""Checks before a merge: conflicts and differences between runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crmeval.journal.shard import Shard, agents_of, shard_of
from pytest_crmeval.report.sources import Source

KINDS: Mapping[str, str] = {
    "content": "a case, or a whole dataset, differs between two runs",
    "outcome": "the same trial has different results in two runs",
    "rules": "different scorers, judges or agents behind a name, or invalid cases played in only one run",
    "shards": "different numbers or divisions of shards, a shard twice, or a shard and an undivided run",
}
"""Kinds of conflicts. If the user allows them, later runs win."""


_COMPARED: Mapping[str, str] = {
    "max_steps": "crmeval_max_steps",
    "prompts": "fingerprints of the prompts",
    "settings": "--crmeval-set",
}
"""Facts about a part that are compared, with their names in a warning. Old journals have none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """Something in which two runs contradict each other."""

    kind: str
    text: str


def merge_conflicts(sources: Sequence[Source]) -> Iterator[MergeConflict]:
    """Yield all conflicts, the worst first."""
    checks: Sequence[tuple[str, Callable[[Sequence[Source]], Iterator[str]]]] = (
        ("rules", _rules),
        ("shards", _shards),
        ("content", _contents),
        ("outcome", _outcomes),
    )
    for kind, check in checks:
        for text in dict.fromkeys(check(sources)):
            yield MergeConflict(kind=kind, text=text)


def differences(sources: Sequence[Source]) -> Iterator[str]:
    """Yield differences in the version of this package, an agent's code, prompts or settings, which may matter."""
    versions = {source.name: {part["version"] for part in source.past.parts if "version" in part} for source in sources}
    for name, other in _differing(versions):
        yield (
            f"{name} was played by pytest-crmeval {_listed(versions[name])}, "
            f"{other} by pytest-crmeval {_listed(versions[other])}"
        )
    agents = sorted({agent for source in sources for part in source.past.parts for agent in _code(part)})
    for agent in agents:
        code = {source.name: {_code(part).get(agent) for part in source.past.parts} - {None} for source in sources}
        for name, other in _differing(code):
            yield f"the code of the agent {agent} differs between {name} and {other}"
        yield from (
            f"the code of the agent {agent} changed while {name} was played" for name in code if len(code[name]) > 1
        )
    for fact, what in _COMPARED.items():
        noted = {
            source.name: {_written(part.get(fact, ())) for part in source.past.parts if "max_steps" in part}
            for source in sources
        }
        for name, other in _differing(noted):
            yield f"{what} in {name}: {_listed(noted[name])}; in {other}: {_listed(noted[other])}"


def _differing(noted: Mapping[str, set[Any]]) -> Iterator[tuple[str, str]]:
    """Yield the first run and each run that differs from it, among those with a value."""
    first, *others = [name for name in noted if noted[name]] or [""]
    yield from ((first, name) for name in others if noted[name] != noted[first])


def _written(fact: Any) -> str:  # noqa: ANN401 (JSON enters here)
    """Return a fact as text: a number, a list of settings, or fingerprints by kind."""
    if isinstance(fact, Mapping):
        return ", ".join(f"{name} {value}" for name, value in sorted(fact.items()))
    return " ".join(map(str, fact)) if isinstance(fact, list | tuple) else str(fact)


def _code(part: Mapping[str, Any]) -> Mapping[str, str]:
    code: Mapping[str, str] = part.get("code", {})
    return code


def _rules(sources: Sequence[Source]) -> Iterator[str]:
    first = sources[0]
    for source in sources[1:]:
        before, after = _rules_of(first), _rules_of(source)
        for name in before:
            if before[name] != after[name]:
                yield f"{name} in {first.name}: {before[name]}, in {source.name}: {after[name]}"
    specs: dict[str, tuple[set[str], str]] = {}
    for source in sources:
        specs_here: dict[str, set[str]] = {}
        for planned in source.past.planned.values():
            specs_here.setdefault(planned.subject, set()).add(planned.spec)
        for subject, found in specs_here.items():
            known, where = specs.setdefault(subject, (found, source.name))
            if known != found:
                yield f"{subject} is {_listed(known)} in {where}, and {_listed(found)} in {source.name}"


def _rules_of(source: Source) -> dict[str, str]:
    """Return the rules that a run was played under; all its parts had the same."""
    part: Mapping[str, Any] = source.past.parts[-1]
    return {
        "scorers": _listed(part.get("scorers", ())),
        "judge": str(part.get("judge") or "none"),
        "trials of each case": str(part.get("trials") or 1),
        "invalid cases": {"play": "played"}.get(str(part.get("invalid")), "reported"),
    }


def _shards(sources: Sequence[Source]) -> Iterator[str]:
    dealt = {
        source.name: [
            (agent, shard) for part in source.past.parts if (shard := shard_of(part)) for agent in agents_of(part)
        ]
        for source in sources
    }
    whole, parts = [name for name in dealt if not dealt[name]], [name for name in dealt if dealt[name]]
    if whole and parts:
        yield f"{parts[0]} is shard {dealt[parts[0]][0][1]}, but {whole[0]} is not a shard"
    sizes: dict[int, str] = {}
    for name in parts:
        for _, shard in dealt[name]:
            sizes.setdefault(shard.of, f"{name} is shard {shard}")
    if len(sizes) > 1:
        yield " and ".join(sizes.values())
    taken: dict[tuple[str, Shard], str] = {}
    for name in parts:
        for agent, shard in dict.fromkeys(dealt[name]):
            other = taken.setdefault((agent, shard), name)
            if other != name:
                yield f"{other} and {name} are both shard {shard} of {agent}"
    yield from _wholes([source for source in sources if dealt[source.name]])


def _wholes(sources: Sequence[Source]) -> Iterator[str]:
    """Yield where shards are parts of different wholes: other cases were divided, or pytest deselected others."""
    for source in sources[1:]:
        first = sources[0]
        before, after = _tests(first, "deal"), _tests(source, "deal")
        for test in sorted(before.keys() | after.keys()):
            if before.get(test) != after.get(test):
                counts = " and ".join(
                    f"{_tests(each, 'cases').get(test, 0)} in {each.name}" for each in (first, source)
                )
                yield f"the shards were made from different cases of {test}, or with different durations: {counts}"
    yield from _partly_played(sources)


def _partly_played(sources: Sequence[Source]) -> Iterator[str]:
    """Yield which shards are incomplete, unless pytest was asked to deselect the same cases in all of them."""
    lacking = {source.name: lack for source in sources if (lack := _lacking(source))}
    asked = {source.name: _narrowed(source) for source in sources}
    for name, lack in lacking.items():
        if not asked[name]:
            yield f"{name} has only {lack}: run it again with all cases"
    by_request = [name for name in lacking if asked[name]]
    for name, other in asked.items():
        if by_request and other != asked[by_request[0]]:
            first = by_request[0]
            yield f"{first} was run with {asked[first]}, and {name} with {other or 'no -k or -m'}"


def _lacking(source: Source) -> str:
    """Return a test of which a run has not planned all cases of its shard; empty if there is none."""
    dealt: dict[tuple[str, str], dict[Shard, int]] = {}
    parts: Sequence[Mapping[str, Any]] = source.past.parts
    for part in parts:
        if shard := shard_of(part):
            for test, about in part["shard"].get("tests", {}).items():
                for agent, count in about.get("mine", {}).items():
                    dealt.setdefault((test, agent), {})[shard] = count
    for (test, agent), shards in dealt.items():
        planned = source.past.planned.values()
        cases = {case.case for case in planned if case.subject == agent and case.key.startswith(f"{test}[")}
        if len(cases) < (whole := sum(shards.values())):
            return f"{len(cases)} of the {whole} cases of {test} in this shard for {agent}"
    return ""


def _contents(sources: Sequence[Source]) -> Iterator[str]:
    known: dict[tuple[str, str, str], tuple[set[str], str]] = {}
    for source in sources:
        found: dict[tuple[str, str, str], set[str]] = {}
        for planned in source.past.planned.values():
            # Two tests may have different cases with the same id.
            place = (planned.key.partition("[")[0], planned.suite, planned.case)
            found.setdefault(place, set()).add(planned.fingerprint)
        for place, prints in found.items():
            before, where = known.setdefault(place, (prints, source.name))
            if before != prints:
                _, suite, case = place
                yield f"the case {case!r} of {suite} differs between {where} and {source.name}"
    contents: dict[str, tuple[Any, str]] = {}
    for source in sources:
        for test, content in _tests(source, "content").items():
            earlier, where = contents.setdefault(test, (content, source.name))
            if earlier != content:
                yield f"the cases of {test} differ between {where} and {source.name}"


def _outcomes(sources: Sequence[Source]) -> Iterator[str]:
    known: dict[str, Source] = {}
    for source in sources:
        for key, trial in source.past.trials.items():
            other = known.setdefault(key, source)
            before = other.past.trials[key]
            if before.planned.same_as(trial.planned) and before != trial:  # a different case or agent is reported above
                verdicts = f"{before.verdict} in {other.name}, {trial.verdict} in {source.name}"
                yield f"{key} was played in two runs: {verdicts}"


def _tests(source: Source, fact: str) -> dict[str, Any]:
    """Return a fact about the division of each test, from the last part that has it."""
    found: dict[str, Any] = {}
    for shard in _shard_facts(source):
        found.update({test: about[fact] for test, about in shard.get("tests", {}).items()})
    return found


def _narrowed(source: Source) -> str:
    """Return the -k and -m of all parts of a shard; empty if one part has none, because it planned all cases."""
    asked = dict.fromkeys(str(shard.get("narrowed", "")) for shard in _shard_facts(source))
    return "" if "" in asked else " and ".join(asked)


def _shard_facts(source: Source) -> list[Mapping[str, Any]]:
    parts: Sequence[Mapping[str, Any]] = source.past.parts
    return [part["shard"] for part in parts if "shard" in part]


def _listed(names: Any) -> str:  # noqa: ANN401 (JSON enters here)
    return ", ".join(sorted(map(str, names))) or "none"
