"""The languages that programs are written in: their names, and the factors for their limits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from pytest_crmeval.ports.sandbox import Language

TITLES: Mapping[Language, str] = {
    Language.PYTHON: "Python",
    Language.PYPY: "PyPy",
    Language.CPP: "C++",
    Language.C: "C",
    Language.JAVA: "Java",
    Language.JAVASCRIPT: "JavaScript",
    Language.GO: "Go",
    Language.RUST: "Rust",
    Language.KOTLIN: "Kotlin",
    Language.CSHARP: "C#",
    Language.RUBY: "Ruby",
    Language.PHP: "PHP",
    Language.HASKELL: "Haskell",
}
_NUMBER = r"[ -]?(?P<version>\d+(?:\.\d+)*)?"
_STANDARD = r"[ -]?(?P<version>\d[\da-z]|1998|2003|20(?:11|14|17|20|23|26))?"
_NAMES: Mapping[Language, str] = {
    Language.PYTHON: rf"(?:python|py|cpython){_NUMBER}",
    Language.PYPY: rf"pypy{_NUMBER}(?:-64)?",
    Language.CPP: rf"(?:ms c\+\+(?: 20\d\d)?|(?:gnu ?)?(?:c\+\+|cpp|cc|cxx|g\+\+|gnu\+\+|clang\+\+){_STANDARD})",
    Language.C: rf"(?:gnu ?)?(?:c|gcc){_STANDARD}",
    Language.JAVA: rf"(?:java|openjdk|jdk)[ -]?(?:1\.(?=[5-8]))?{_NUMBER}",
    Language.JAVASCRIPT: rf"(?:javascript v8(?: [\d.]+)?|(?:javascript|js|ecmascript|node|node\.js|nodejs){_NUMBER})",
    Language.GO: rf"(?:go|golang){_NUMBER}",
    Language.RUST: rf"(?:rust|rs){_NUMBER}(?: ?\((?P<edition>20\d\d)\))?",
    Language.KOTLIN: rf"(?:kotlin|kt){_NUMBER}",
    Language.CSHARP: rf"(?:mono |\.net (?:core )?)?(?:c#|csharp|cs){_NUMBER}",
    Language.RUBY: rf"(?:ruby|rb){_NUMBER}",
    Language.PHP: rf"php{_NUMBER}",
    Language.HASKELL: rf"(?:haskell|hs)(?: ghc)?{_NUMBER}",
}
"""As fenced blocks, Piston and Codeforces write them: ``c++17``, ``GNU C++17 (64)``, ``PyPy 3-64``, ``Java 21``."""
_DETAIL = r"(?: \d[\d.]*)?(?: ?\d\d ?-?bit)?(?: ?\(.*\))?(?: diagnostics)?"
"""What may follow a name, and says nothing about the language: the compiler's own version, 64 bits."""
_PATTERNS = {language: re.compile(names + _DETAIL) for language, names in _NAMES.items()}
_STANDARDS = {"0x": "11", "1y": "14", "1z": "17", "2a": "20", "2b": "23", "2c": "26"}
_HAS_STANDARDS = {Language.C, Language.CPP}
_ARE_PYTHON = {Language.PYTHON, Language.PYPY}
"""Version 3 of these is any that is in use."""


def language_named(name: str) -> tuple[Language, str] | None:
    """Return the language that a name stands for and the version in it, empty if there is none; None if unknown."""
    text = " ".join(name.lower().split())
    for language, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            version = parts.get("edition") or parts["version"] or ""
            if language in _HAS_STANDARDS:
                version = _STANDARDS.get(version, version[-2:])
            return language, "" if version == "3" and language in _ARE_PYTHON else version
    return None


def title(language: Language, version: str = "") -> str:
    """Return how a language is written in a sentence: C++20, Java 21."""
    return f"{TITLES[language]}{'' if language in _HAS_STANDARDS else ' '}{version}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """What the limits of a problem are multiplied by for programs in one language."""

    time: float = 1.0
    memory: float = 1.0

    @classmethod
    def parse(cls, line: str) -> tuple[Language, "Factors"]:
        """Read ``java time=2 memory=1.5``; ValueError says what is wrong."""
        name, *settings = line.split()
        if (found := language_named(name)) is None:
            raise ValueError(f"unknown language {name!r}; languages: {', '.join(Language)}")
        factors: dict[str, float] = {}
        for setting in settings:
            key, _, value = setting.partition("=")
            if key not in {"time", "memory"}:
                raise ValueError(f"unknown factor {key!r}; write, for example, 'java time=2 memory=1.5'")
            factors[key] = _positive(value)
        return found[0], cls(**factors)


def _positive(text: str) -> float:
    number = float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else 0.0
    if not isfinite(number) or number <= 0:
        raise ValueError(f"a factor must be a positive number, for example 2 or 1.5, not {text!r}")
    return number
