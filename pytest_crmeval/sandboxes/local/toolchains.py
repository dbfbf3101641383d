"""The compilers and runtimes of this machine: where they are, and the commands that make and start a program."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from pytest_crmeval.ports.sandbox import Language
from pytest_crmeval.sandboxes.java import main_class, public_class
from pytest_crmeval.sandboxes.languages import title

_CPP_STANDARDS = {each: (each,) for each in ("98", "03", "11", "14", "17", "20")} | {"23": ("23", "2b"), "26": ("2c",)}
_C_STANDARDS = {each: (each,) for each in ("89", "90", "99", "11", "17", "18")} | {"23": ("23", "2x")}
_EDITION = re.compile(r"20\d\d")
_NUMBER = re.compile(r"\d+(?:\.\d+)+|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """How programs in one language, and in one version of it, become processes."""

    source: str
    """Name of the file with the program."""
    compilers: Sequence[Sequence[str]] = ()
    """Commands that compile it; the first one that works on this machine is used. Empty: it is not compiled."""
    product: str = "main"
    """The file that the compiler makes."""
    runtime: Sequence[str] = ()
    """Command that runs the program; empty: what was compiled is a program itself."""
    trial: str
    """A small program that prints ``works``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Why programs in a language can't be run on this machine."""

    reason: str


TOOLS: Mapping[Language, Sequence[str]] = {
    Language.PYPY: ("pypy3",),
    Language.C: ("gcc",),
    Language.CPP: ("g++",),
    Language.JAVA: ("java", "javac", "jar"),
    Language.JAVASCRIPT: ("node",),
    Language.GO: ("go",),
    Language.RUST: ("rustc",),
}
"""The programs that a language needs, by the names under which they are looked for in PATH."""


def path_of(tool: str) -> str:
    """Return where a tool really is; empty if it is not installed."""
    found = shutil.which(tool)
    if found is None:
        return ""
    real = os.path.realpath(found)
    # rustup installs one program under many names, which starts the compiler of the chosen toolchain.
    return _rustc(found) if tool == "rustc" and Path(real).name == "rustup" else real


@cache
def _rustc(proxy: str) -> str:
    root = _said([proxy, "--print", "sysroot"])
    return str(Path(root, "bin", "rustc")) if root else ""


def homes() -> Iterator[str]:
    """Yield the folders where installed tools keep what they need, if that is not a folder of the system."""
    if path_of("java"):
        yield from map(str, Path("/etc").glob("java-*-openjdk"))  # Debian keeps the settings of a JDK there
    for tool in (each for tools in TOOLS.values() for each in tools):
        if (path := path_of(tool)) and not path.startswith(("/usr/", "/bin/")):
            home = Path(path).parent.parent
            if home not in (Path.home(), *Path.home().parents, Path.home() / ".local"):
                yield str(home)


def identity() -> Iterator[str]:
    """Yield what verdicts depend on: each tool with its path, size and time of change."""
    for language, tools in TOOLS.items():
        if path := path_of(tools[0]):
            status = Path(path).stat()
            yield f"{language} {path} {status.st_size} {status.st_mtime_ns}"


def toolchain(language: Language, version: str, program: str = "") -> Toolchain | Missing:
    """Return how a program in a language is compiled and started here; ``program`` is its text."""
    if language not in TOOLS:
        return Missing(reason=f"{title(language)} can't be run in the local sandbox; use a Piston server")
    if lacking := [tool for tool in TOOLS[language] if not path_of(tool)]:
        return Missing(
            reason=f"{title(language)} can't be run: {lacking[0]} is not installed on this machine; install it, or use "
            "a Piston server"
        )
    return _MAKERS[language](version, program)


def _c(version: str, _: str) -> Toolchain | Missing:
    return _gcc(Language.C, version or "17", _C_STANDARDS, "gcc", "main.c", _C_TRIAL)


def _cpp(version: str, _: str) -> Toolchain | Missing:
    return _gcc(Language.CPP, version or "17", _CPP_STANDARDS, "g++", "main.cpp", _CPP_TRIAL)


def _gcc(  # noqa: PLR0913, PLR0917 (C and C++ differ in all of them)
    language: Language, version: str, standards: Mapping[str, Sequence[str]], tool: str, source: str, trial: str
) -> Toolchain | Missing:
    if version not in standards:
        return Missing(reason=f"unknown standard {title(language, version)}; standards: {', '.join(standards)}")
    family = "gnu" if language is Language.C else "gnu++"
    # A static binary starts faster; not every machine has the libraries for it.
    compilers = [
        # Without ONLINE_JUDGE, which contests define, programs read input.txt as at home.
        (path_of(tool), *way, f"-std={family}{name}", "-O2", "-DONLINE_JUDGE", "-pipe", "-o", "main", source, "-lm")
        for name, way in product(standards[version], (("-static",), ()))
    ]
    return Toolchain(source=source, compilers=compilers, trial=trial)


def _java(version: str, program: str) -> Toolchain | Missing:
    if lacking := _too_old(Language.JAVA, version, [path_of("java"), "-version"]):
        return lacking
    main = main_class(program)
    release = f"--release {version}" if version else ""
    source = f"{public_class(program) or 'Main'}.java"
    # A compiler may have 3 GiB of addresses, and a JVM would reserve more than that.
    small = (
        "-J-XX:+UseSerialGC -J-XX:-UsePerfData -J-XX:TieredStopAtLevel=1 -J-Xmx768m -J-XX:CompressedClassSpaceSize=64m"
    )
    script = (
        f"{path_of('javac')} {small} {release} -encoding UTF-8 -nowarn -d . {source} && rm {source} &&"
        f" {path_of('jar')} {small} cf main.jar *"
    )
    flags = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xss64m", "-Xmx{memory}m", "-DONLINE_JUDGE=true")
    return Toolchain(
        source=source,
        compilers=[("/bin/sh", "-c", script)],
        product="main.jar",
        runtime=(path_of("java"), *flags, "-cp", "main.jar", main),
        trial='public class Main { public static void main(String[] a) { System.out.println("works"); } }\n',
    )


def _javascript(version: str, _: str) -> Toolchain | Missing:
    command = (
        path_of("node"),
        "--openssl-config=/dev/null",
        "--stack-size=8000",
        "--max-old-space-size={memory}",
        "main.js",
    )
    return _too_old(Language.JAVASCRIPT, version, [command[0], "--version"]) or Toolchain(
        source="main.js", runtime=command, trial='console.log("works")\n'
    )


def _pypy(version: str, _: str) -> Toolchain | Missing:
    path = path_of("pypy3")
    ask = [path, "-c", "import platform; print(platform.python_version())"]
    return _too_old(Language.PYPY, version, ask) or Toolchain(
        source="main.py", runtime=(path, "main.py"), trial='print("works")\n'
    )


def _go(version: str, _: str) -> Toolchain | Missing:
    path = path_of("go")
    settings = ("CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GO111MODULE=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off")
    script = (
        f'HOME="$TMPDIR" GOCACHE="$TMPDIR/go" GOPATH="$TMPDIR/path" {" ".join(settings)} {path} build -o main main.go'
    )
    return _too_old(Language.GO, version, [path, "version"]) or Toolchain(
        source="main.go",
        compilers=[("/bin/sh", "-c", script)],
        trial='package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("works") }\n',
    )


def _rust(version: str, _: str) -> Toolchain | Missing:
    is_edition = _EDITION.fullmatch(version) is not None
    path = path_of("rustc")
    command = (path, "-O", "--edition", version if is_edition else "2021", "-o", "main", "main.rs")
    return _too_old(Language.RUST, "" if is_edition else version, [path, "--version"]) or Toolchain(
        source="main.rs",
        compilers=[(*command, "-C", "target-feature=+crt-static"), command],
        trial='fn main() { println!("works"); }\n',
    )


_MAKERS: Mapping[Language, Callable[[str, str], Toolchain | Missing]] = {
    Language.C: _c,
    Language.CPP: _cpp,
    Language.JAVA: _java,
    Language.JAVASCRIPT: _javascript,
    Language.PYPY: _pypy,
    Language.GO: _go,
    Language.RUST: _rust,
}
_C_TRIAL = '#include <stdio.h>\nint main(void) { puts("works"); return 0; }\n'
_CPP_TRIAL = '#include <cstdio>\nint main() { std::puts("works"); }\n'
"""Linked with the library of C++ like all others, but compiled in a tenth of the time that streams take."""


def python_is_too_old(version: str) -> str:
    """Return why our own interpreter does not run programs for a version of Python; empty if it does."""
    found = version and _older(platform.python_version(), version)
    return f"the local sandbox has Python {platform.python_version()}, not Python {version}" if found else ""


def _too_old(language: Language, version: str, ask: Sequence[str]) -> Missing | None:
    """Return what is missing if a version is named, and the tool is older; None if programs can be run."""
    if not version:
        return None
    said = _said(ask)
    installed = _NUMBER.search(said)
    if installed is None or _older(installed[0], version):
        has = title(language, installed[0]) if installed else f"{title(language)} in an unknown version"
        return Missing(reason=f"{title(language, version)} can't be run: this machine has {has}")
    return None


def _older(installed: str, asked: str) -> bool:
    """Whether an installed version is older than the asked one, or is Python 3 where Python 2 was asked for."""
    mine, wanted = ([int(part) for part in each.split(".")] for each in (installed, asked or "0"))
    of_python_2 = wanted[0] == 2 and mine[0] == 3  # noqa: PLR2004 (nothing else has broken its programs so)
    return of_python_2 or mine[: len(wanted)] < wanted


def _said(command: Sequence[str]) -> str:
    """Return what a tool prints about itself."""
    asked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 (the user's own)
    return (asked.stdout or asked.stderr).strip() if asked.returncode == 0 else ""
