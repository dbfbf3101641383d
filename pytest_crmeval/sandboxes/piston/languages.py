"""Which languages a server has, and in which version all servers can run them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_crmeval.domain.program import Language

NAMES: Mapping[Language, Sequence[str]] = {Language.PYTHON: ("python", "python3"), Language.CPP: ("c++", "cpp", "g++")}
"""What servers call them, one name or the other."""
Versions = dict[Language, dict[str, str]]
"""By language: version -> what the server calls the language."""


def versions(rows: Iterable[Mapping[str, Any]]) -> Versions:
    """Read which versions of our languages a server lists."""
    found: Versions = {}
    for row in rows:
        names = {row["language"], *row.get("aliases", ())}
        for language, wanted in NAMES.items():
            if not names.isdisjoint(wanted) and row.get("runtime") != "pypy":
                found.setdefault(language, {})[row["version"]] = row["language"]
    return found


def agreed(servers: Sequence[Versions]) -> dict[Language, str]:
    """Return the newest version of each language that every server has: a verdict must not depend on who gave it."""
    shared = {
        language: set.intersection(*(set(server.get(language, ())) for server in servers)) for language in Language
    }
    return {language: max(found, key=_age) for language, found in shared.items() if found}


def lacking(language: Language, servers: Mapping[str, Versions]) -> str:
    """Tell why there is no version of a language that all servers have."""
    told = [f"{name} has {', '.join(sorted(has.get(language, ()))) or 'none'}" for name, has in servers.items()]
    return (
        f"no version of {NAMES[language][0]} is installed on every Piston server: {'; '.join(told)}; install one "
        f"(POST /api/v2/packages with its language and version)"
    )


def _age(version: str) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"\d+", version)], version
