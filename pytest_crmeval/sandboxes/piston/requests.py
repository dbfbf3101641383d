"""Requests to a server: a program, its input, and its limits."""

import base64
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.languages import title

STDIN = "crmeval.stdin"
_RUNNER = "crmeval_runner.py"
FRONT = "crmeval_front.cpp"
_PYTHON = "main.py"
INCLUDED = "main.inc"
"""No .cpp: servers compile every one of those that they find, and it is to be compiled once, behind the front."""
_OURS = {STDIN, "crmeval.stdout", _RUNNER, FRONT, _PYTHON, INCLUDED}
MOST_WANTED = 256
COMPILE_SECONDS = 30.0
_COMPILE_BYTES = 2 << 30
_SOURCES: Mapping[Language, str] = {
    Language.C: "main.c",
    Language.JAVA: "Main.java",
    Language.JAVASCRIPT: "main.js",
    Language.GO: "main.go",
    Language.RUST: "main.rs",
    Language.KOTLIN: "main.kt",
    Language.CSHARP: "main.cs",
    Language.RUBY: "main.rb",
    Language.PHP: "main.php",
    Language.HASKELL: "main.hs",
}
"""Languages for which no runner is sent along: programs get Piston's own stdin."""
_LONGEST_STDIN = 200_000
"""Bytes; Piston cuts longer ones off at 219,264, and does not say so."""
PYTHONS = {Language.PYTHON, Language.PYPY}
COMPILED = {Language.CPP, Language.C, Language.RUST, Language.KOTLIN, Language.CSHARP, Language.HASKELL}
"""Servers compile these in a stage of its own."""
STARTED_SLOWLY = {Language.JAVA, Language.GO}
"""Servers compile these when they run them, in the program's time."""
_NOTHING = 1 << 20
"""Output that a program which is only compiled could have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRequest:
    """One run that is asked for."""

    program: Program
    feed: ProgramInput
    limits: Limits
    mark: str = ""
    """If there is one, the output is brought back in a frame that begins with it."""
    compile_only: bool = False
    most: int = 0
    """Bytes of output that the frame may hold."""
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    """What the runner writes to stderr before it reports a failure of its own."""
    _parts: list[dict[str, str]] = field(default_factory=list, repr=False)

    def body(self, language: str, version: str, granted: Mapping[str, int]) -> bytes:
        """Write it down for a server that calls the language so, and grants these limits."""
        if not self._parts:  # a second attempt sends the same
            self._parts.extend(_files(self))
        fields: dict[str, Any] = {"language": language, "version": version, "files": self._parts, **granted}
        if self.feed.args:
            fields["args"] = list(self.feed.args)
        if self.program.language in _SOURCES:
            fields["stdin"] = self.feed.stdin.decode("utf-8", "surrogateescape")
        return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")

    @property
    def named(self) -> tuple[Language, str]:
        """The language, and the version of it that the solution names."""
        return self.program.language, self.program.version

    @property
    def asked(self) -> dict[str, int]:
        """Limits by the names of the API: milliseconds, and KiB that are written as 1,000 bytes."""
        compiling = round(COMPILE_SECONDS * 1000)
        return {
            "compile_timeout": compiling,
            "compile_cpu_time": compiling,
            "compile_memory_limit": _COMPILE_BYTES // 1024 * 1000,
            "run_timeout": max(1, round(self.limits.wall_seconds * 1000)),
            "run_cpu_time": max(1, round(self.limits.cpu_seconds * 1000)),
            "run_memory_limit": max(1, self.limits.memory_bytes // 1024) * 1000,
        }


def plain(program: Program, feed: ProgramInput, limits: Limits) -> ProgramRequest:
    """Ask for a run whose output comes back as the server brings it."""
    _check(feed, program.language)
    return ProgramRequest(program=program, feed=feed, limits=limits)


def framed(program: Program, feed: ProgramInput, limits: Limits) -> ProgramRequest:
    """Ask for a run whose output, and the files that are wanted, come back whole, whatever bytes they have."""
    _check(feed, program.language)
    if program.language in _SOURCES:
        raise SandboxError(
            f"for programs in {title(program.language)}, Piston can't return files, output that is not text, or more "
            "output than PISTON_OUTPUT_MAX_SIZE"
        )
    mark = f"crmeval-{secrets.token_hex(16)}"
    return ProgramRequest(program=program, feed=feed, limits=limits, mark=mark, most=limits.output_bytes)


def compiling(program: Program) -> ProgramRequest:
    """Return the request that only compiles a program: the program ends before its first statement."""
    limits = Limits(cpu_seconds=1, wall_seconds=2, memory_bytes=1 << 28, output_bytes=_NOTHING)
    return ProgramRequest(program=program, feed=ProgramInput(), limits=limits, compile_only=True)


def _check(feed: ProgramInput, language: Language) -> None:
    if language in _SOURCES:
        _check_stdin(feed.stdin, language)
    for name in [*feed.files, *feed.wanted]:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.name or "\0" in name:
            raise SandboxError(f"file {name!r} is outside the folder of the program")
        if path.name in _OURS:
            raise SandboxError(f"a file can't be called {name!r} on Piston: the runner uses that name")
    if len(feed.wanted) > MOST_WANTED:
        raise SandboxError(f"{len(feed.wanted)} output files are expected; Piston can return {MOST_WANTED} at most")


def _check_stdin(stdin: bytes, language: Language) -> None:
    if len(stdin) > _LONGEST_STDIN:
        raise SandboxError(
            f"the input has {len(stdin):,} bytes, but Piston truncates inputs of programs in {title(language)} "
            f"beyond {_LONGEST_STDIN:,}"
        )
    try:
        stdin.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SandboxError(f"Piston accepts only text as the input of programs in {title(language)}") from error


def _files(request: ProgramRequest) -> Iterator[dict[str, str]]:
    """Yield the files; the first is what the server starts or compiles."""
    source = request.program.source.encode("utf-8", "surrogatepass")
    if name := _SOURCES.get(request.program.language):
        yield _text(name, source)
        for each, content in request.feed.files.items():
            yield _base64(each, content)
        return
    python = request.program.language in PYTHONS
    data = _text if python else _base64  # elsewhere every text counts as source
    yield {"name": _RUNNER if python else FRONT, "content": _runner(request) if python else _front(request)}
    yield data(_PYTHON if python else INCLUDED, source)
    yield data(STDIN, request.feed.stdin)
    for name, content in request.feed.files.items():
        yield data(name, content)


def _text(name: str, content: bytes) -> dict[str, str]:
    """Send as text what is text, which is shorter than the alternative unless it is full of signs to be escaped."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return _base64(name, content)
    return {"name": name, "content": text}


def _base64(name: str, content: bytes) -> dict[str, str]:
    return {"name": name, "content": base64.b64encode(content).decode("ascii"), "encoding": "base64"}


def _runner(request: ProgramRequest) -> str:
    framing = f"frame({request.mark!r}, {request.most}, {list(request.feed.wanted)!r})" if request.mark else ""
    return f"""{_sent("runner.py")}

try:
    feed({STDIN!r})
    {framing or "pass"}
except OSError as error:
    fail({request.token!r}, error)
become({_PYTHON!r})
"""


def _front(request: ProgramRequest) -> str:
    return f"""{_sent("front.inc")}
__attribute__((constructor(101))) static void start() {{
    {_start(request)}
}}
}}
#define ONLINE_JUDGE 1
#include "{INCLUDED}"
"""


def _start(request: ProgramRequest) -> str:
    if request.compile_only:
        return "crmeval_exit(0);"
    feeding = f'token = "{request.token}"; hide("{INCLUDED}"); feed("{STDIN}");'
    if not request.mark:
        return feeding
    wanted = request.feed.wanted
    names = ", ".join([*map(_literal, wanted), "nullptr"])
    return (
        f"{feeding} static const char* const wanted[] = {{{names}}}; "
        f'frame("{request.mark}", {request.most}ul, wanted, {len(wanted)});'
    )


def _literal(name: str) -> str:
    """Write a name as C++ does, whatever signs it has."""
    return '"' + "".join(f"\\{byte:03o}" for byte in name.encode("utf-8", "surrogateescape")) + '"'


@cache
def _sent(name: str) -> str:
    return files("pytest_crmeval.sandboxes.piston.sent").joinpath(name).read_text(encoding="utf-8")


def slowed(asked: Mapping[str, int], seconds: float) -> dict[str, int]:
    """Return the time limits of a program that a server compiles in the program's time."""
    return {name: asked[name] + round(seconds * 1000) for name in ("run_timeout", "run_cpu_time")}


def clamped(asked: Mapping[str, int], maxima: Mapping[str, int]) -> dict[str, int]:
    """Return what a server grants of what is asked for."""
    return {name: min(value, maxima.get(name, value)) for name, value in asked.items()}


def lowered(asked: Mapping[str, int], granted: Mapping[str, int]) -> Sequence[str]:
    """Return the limits of which less is granted."""
    return [name for name in asked if granted[name] < asked[name]]
