"""Which languages a server has, and in which version all servers can run them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_crmeval.ports.sandbox import Language
from pytest_crmeval.sandboxes.languages import title

NAMES: Mapping[Language, Sequence[str]] = {
    Language.PYTHON: ("python", "python3", "py3"),
    Language.PYPY: ("pypy", "pypy3"),
    Language.CPP: ("c++", "cpp", "g++"),
    Language.C: ("c", "gcc"),
    Language.JAVA: ("java",),
    Language.JAVASCRIPT: ("javascript", "js", "node", "node-js"),
    Language.GO: ("go", "golang"),
    Language.RUST: ("rust", "rs"),
    Language.KOTLIN: ("kotlin", "kt"),
    Language.CSHARP: ("csharp", "csharp.net", "c#", "cs"),
    Language.RUBY: ("ruby", "rb"),
    Language.PHP: ("php",),
    Language.HASKELL: ("haskell", "hs"),
}
"""The names and aliases under which servers list them."""
_OTHER_RUNTIMES = {"deno"}
"""They run programs of another kind under the name of a language."""
_CSHARP_OF_NET = 4
"""C# 9 came with .NET 5, and so on; Mono's compiler knows C# 7."""
_CSHARP_OF_MONO = 7
Versions = dict[Language, dict[str, str]]
"""By language: version -> what the server calls the language."""


def versions(rows: Iterable[Mapping[str, Any]]) -> Versions:
    """Read which versions of our languages a server lists."""
    found: Versions = {}
    for row in rows:
        runtime = row.get("runtime")
        names = {"pypy"} if runtime == "pypy" else {row["language"], *row.get("aliases", ())}
        for language, wanted in NAMES.items():
            is_python_2 = language is Language.PYTHON and row["version"].startswith("2.")
            if not names.isdisjoint(wanted) and runtime not in _OTHER_RUNTIMES and not is_python_2:
                found.setdefault(language, {})[row["version"]] = row["language"]
    return found


def agreed(language: Language, asked: str, servers: Sequence[Versions]) -> str:
    """Return the newest version that every server has and that runs what was asked for; empty if there is none."""
    lists = [server.get(language, {}) for server in servers]
    shared = set.intersection(*map(set, lists)) if lists else set()
    fitting = [version for version in shared if _fits(language, asked, version, lists[0][version])]
    return max(fitting, key=_age, default="")


def _fits(language: Language, asked: str, version: str, name: str) -> bool:
    """Whether a version of a server runs programs for the asked one: the same or a newer one.

    Standards of C and C++, and editions of Rust, are not in versions of compilers: a program will show.
    """
    if not asked or language in {Language.C, Language.CPP} or (language is Language.RUST and len(asked) == len("2021")):
        return True
    wanted = [int(part) for part in asked.split(".")]
    if language is Language.CSHARP:
        return wanted[0] <= (_age(version)[0][0] + _CSHARP_OF_NET if name.endswith(".net") else _CSHARP_OF_MONO)
    is_python_2 = language in {Language.PYTHON, Language.PYPY} and wanted[0] == 2  # noqa: PLR2004 (its programs differ)
    return not is_python_2 and _age(version)[0][: len(wanted)] >= wanted


def lacking(language: Language, asked: str, servers: Mapping[str, Versions]) -> str:
    """Return why there is no version of a language that all servers have."""
    installed = [f"{name} has {', '.join(sorted(has.get(language, ()))) or 'none'}" for name, has in servers.items()]
    return (
        f"{title(language, asked)} is not installed on every Piston server: {'; '.join(installed)}; install it "
        f"(POST /api/v2/packages with its language and version)"
    )


def _age(version: str) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"\d+", version)], version
