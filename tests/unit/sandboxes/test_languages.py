"""The names of languages, and the factors for their limits."""

import pytest

from pytest_crmeval.ports.sandbox import Language
from pytest_crmeval.sandboxes.languages import Factors, language_named, title

NAMES = """
python python | py python | Python 3 python | python3.10 python 3.10 | Python 2 python 2 | Python 3.13.2 python 3.13.2
pypy3 pypy | PyPy 3-64 pypy | PyPy 3.10 (7.3.15, 64bit) pypy 3.10 | pypy pypy
cpp cpp | c++ cpp | g++ cpp | cc cpp | C++17 cpp 17 | GNU C++17 cpp 17 | GNU C++17 (64) cpp 17 | gnu++20 cpp 20
GNU C++20 13.2 (64 bit, winlibs) cpp 20 | C++2a cpp 20 | GNU C++0x cpp 11 | Clang++17 Diagnostics cpp 17 | GNU C++ cpp
MS C++ 2017 cpp | c++1z cpp 17
c c | gcc c | GNU C11 c 11 | GNU C11 5.1.0 c 11 | c99 c 99
java java | Java 8 java 8 | Java 1.8 java 8 | Java 21 java 21 | Java 21 64bit java 21
javascript javascript | js javascript | node javascript | Node.js 15.8.0 (64bit) javascript 15.8.0
JavaScript V8 4.8.0 javascript
go go | golang go | Go 1.22.2 go 1.22.2
rust rust | rs rust | Rust 1.75.0 (2021) rust 2021 | Rust 2021 rust 2021
kotlin kotlin | kt kotlin | Kotlin 1.9 kotlin 1.9
csharp csharp | C# csharp | Mono C# csharp | C# 10 csharp 10 | C# 13 (.NET SDK 9) csharp 13 | .NET Core C# csharp
ruby ruby | rb ruby | Ruby 3.2.2 ruby 3.2.2 | php php | PHP 8.1.7 php 8.1.7
haskell haskell | hs haskell | Haskell GHC 8.10.1 haskell 8.10.1
"""


def _rows() -> list[tuple[str, Language, str]]:
    """Read the table: a name, the language, and the version if the name has one."""
    rows = []
    for line in NAMES.strip().splitlines():
        for entry in line.split(" | "):
            words = entry.split()
            place = max(number for number, word in enumerate(words) if word in set(Language))
            rows.append((" ".join(words[:place]), Language(words[place]), " ".join(words[place + 1 :])))
    return rows


@pytest.mark.parametrize(("name", "language", "version"), _rows())
def test_names_of_codeforces_piston_and_fences_are_known(name: str, language: Language, version: str) -> None:
    assert (language, version) == language_named(name)


@pytest.mark.parametrize("name", ["", "brainfuck", "d", "python-repl", "text", "Scala 2.12", "javac++", "cpython-repl"])
def test_unknown_names_are_not_languages(name: str) -> None:
    """A block of text is not a program."""
    assert language_named(name) is None


def test_titles_read_like_the_languages() -> None:
    """Standards are written without a blank."""
    assert ["C++20", "C++", "Java 21", "C#"] == [
        title(Language.CPP, "20"),
        title(Language.CPP),
        title(Language.JAVA, "21"),
        title(Language.CSHARP),
    ]


def test_factors_are_read_from_a_line() -> None:
    """A factor that is not named is 1."""
    assert (Language.JAVA, Factors(time=2.0, memory=1.5)) == Factors.parse("java time=2 memory=1.5")
    assert (Language.PYPY, Factors(time=3.0)) == Factors.parse("pypy3 time=3")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cobol time=2", "unknown language 'cobol'"),
        ("java speed=2", "unknown factor 'speed'"),
        ("java time=0", "must be a positive number"),
        ("java time=fast", "must be a positive number"),
        ("java memory=", "must be a positive number"),
    ],
)
def test_a_wrong_factor_is_refused_by_name(line: str, message: str) -> None:
    """The message says what is allowed."""
    with pytest.raises(ValueError, match=message):
        Factors.parse(line)
