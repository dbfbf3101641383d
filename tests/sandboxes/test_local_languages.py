"""Programs in every language whose compiler or runtime this machine has; the others are refused by name."""

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, Termination
from pytest_crmeval.sandboxes.java import main_class, public_class
from pytest_crmeval.sandboxes.local import LocalSandbox, toolchains
from tests.sandboxes.conftest import allowed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")

LIMITS = Limits(cpu_seconds=60.0, wall_seconds=240.0, memory_bytes=256 << 20, output_bytes=1 << 20)
SUMS = {
    Language.C: '#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }',
    Language.CPP: '#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }',
    Language.PYPY: "import sys\nassert 'PyPy' in sys.version\nprint(sum(map(int, input().split())))",
    Language.JAVASCRIPT: "const n = require('fs').readFileSync(0, 'utf8').split(' ');\nconsole.log(+n[0] + +n[1]);",
    Language.JAVA: (
        "import java.util.Scanner;\npublic class Sum {\n  public static void main(String[] args) {\n"
        "    Scanner in = new Scanner(System.in);\n    System.out.println(in.nextInt() + in.nextInt());\n  }\n}\n"
    ),
    Language.GO: 'package main\n\nimport "fmt"\n\nfunc main() { var a, b int; fmt.Scan(&a, &b); fmt.Println(a + b) }\n',
    Language.RUST: (
        "fn main() { let mut line = String::new(); std::io::stdin().read_line(&mut line).unwrap();\n"
        '  println!("{}", line.split_whitespace().map(|n| n.parse::<i64>().unwrap()).sum::<i64>()); }\n'
    ),
}
CRASHES = {
    Language.C: "int main(void) { volatile int* p = 0; return *p; }",
    Language.JAVASCRIPT: "throw new Error('no')",
    Language.JAVA: 'class Main { public static void main(String[] a) { throw new RuntimeException("no"); } }',
    Language.PYPY: "1 / 0",
}
HOGS = {
    Language.JAVASCRIPT: "const all = []; while (true) all.push(new Array(1000).fill(all.length));",
    Language.JAVA: (
        "import java.util.*;\nclass Main { public static void main(String[] a) {"
        " List<long[]> all = new ArrayList<>(); while (true) all.add(new long[1 << 16]); } }"
    ),
    Language.PYPY: "all = []\nwhile True: all.append(bytearray(1 << 20))",
}
REACHES_OUT = {
    Language.JAVASCRIPT: "require('child_process').execFileSync('/bin/true'); console.log('escaped')",
    Language.JAVA: (
        "class Main { public static void main(String[] a) throws Exception {"
        ' new ProcessBuilder("/bin/true").start().waitFor(); System.out.println("escaped"); } }'
    ),
    Language.PYPY: "import socket; socket.socket(); print('escaped')",
    Language.GO: (
        'package main\n\nimport ("fmt"; "os")\n\n'
        'func main() { _, e := os.ReadFile("/etc/passwd"); if e == nil { fmt.Println("escaped") } }\n'
    ),
}


@pytest.fixture(scope="module")
def strong() -> Iterator[LocalSandbox]:
    """Return a sandbox at the strongest level of this machine."""
    with closing(LocalSandbox(workers=1)) as sandbox:
        yield allowed(sandbox)


def ended(sandbox: LocalSandbox, language: Language, source: str, version: str = "") -> Execution:
    """Run a program once; skip where its language is not installed, or installed for its owner only."""
    if reason := sandbox.missing(language, version):
        assert "does not work" not in reason or "Permission denied" in reason, reason
        pytest.skip(reason)
    with sandbox.prepared(Program(language=language, version=version, source=source)) as prepared:
        return prepared.refused or prepared.run(ProgramInput(stdin=b"1 2\n"), LIMITS)


@pytest.mark.parametrize("language", SUMS)
def test_a_program_in_each_language_adds_two_numbers(strong: LocalSandbox, language: Language) -> None:
    """Compiled where it has to be."""
    run = ended(strong, language, SUMS[language])

    assert b"3\n" == run.stdout, run.stderr
    assert run.succeeded


@pytest.mark.parametrize("language", CRASHES)
def test_a_crash_is_the_programs(strong: LocalSandbox, language: Language) -> None:
    run = ended(strong, language, CRASHES[language])

    assert not run.succeeded
    assert run.ending in {Termination.EXITED, Termination.SIGNALLED}


@pytest.mark.parametrize("language", HOGS)
def test_a_runtime_that_takes_too_much_memory_is_ended_for_that(strong: LocalSandbox, language: Language) -> None:
    assert Termination.MEMORY is ended(strong, language, HOGS[language]).ending


@pytest.mark.parametrize("language", REACHES_OUT)
def test_a_runtime_is_isolated_like_all_others(strong: LocalSandbox, language: Language) -> None:
    if strong.level == "seccomp" and language is Language.GO:
        pytest.skip("at this level programs read files")

    assert b"escaped" not in ended(strong, language, REACHES_OUT[language]).stdout


@pytest.mark.parametrize(
    ("version", "expected"), [("11", b"201103\n"), ("14", b"201402\n"), ("17", b"201703\n"), ("20", b"202002\n")]
)
def test_the_standard_of_cpp_is_the_one_that_is_named(strong: LocalSandbox, version: str, expected: bytes) -> None:
    """C++17 if there is none."""
    source = '#include <cstdio>\nint main() { std::printf("%ld\\n", __cplusplus); }'

    assert expected == ended(strong, Language.CPP, source, version).stdout
    assert b"201703\n" == ended(strong, Language.CPP, source).stdout


@pytest.mark.parametrize(
    ("language", "version", "reason"),
    [
        (Language.PYTHON, "2", "has Python 3"),
        (Language.PYTHON, "2.7", "has Python 3"),
        (Language.PYTHON, "3.99", "not Python 3.99"),
        (Language.CPP, "42", "unknown standard C++42"),
        (Language.KOTLIN, "", "Kotlin can't be run in the local sandbox"),
        (Language.HASKELL, "9", "Haskell can't be run in the local sandbox"),
    ],
)
def test_missing_language_or_version_is_named_once(
    strong: LocalSandbox, language: Language, version: str, reason: str
) -> None:
    first, second = strong.missing(language, version), strong.missing(language, version)

    assert first == second
    assert reason in first
    assert 1 == strong.notes.count(f"unsupported: {first}")


def test_a_runtime_that_is_too_old_is_refused_by_name(strong: LocalSandbox) -> None:
    """A newer one is not."""
    if strong.missing(Language.JAVA):
        pytest.skip("there is no Java here")

    assert "" == strong.missing(Language.JAVA, "8")
    assert "Java 99 can't be run: this machine has Java" in strong.missing(Language.JAVA, "99")


def test_a_compiler_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchains, "path_of", lambda _: "")

    found = toolchains.toolchain(Language.RUST, "")

    assert isinstance(found, toolchains.Missing)
    assert found.reason.startswith("Rust can't be run: rustc is not installed on this machine; install it")


@pytest.mark.parametrize(
    ("source", "main", "public"),
    [
        ("class Solution { public static void main(String[] a) {} }", "Solution", ""),
        ("class A { int f() { return 1; } }\npublic class B { static void main(String[] a) { } }", "B", "B"),
        ('/* class No { */ class Yes { String s = "class X {"; static void main(String[] a) {} }', "Yes", ""),
        ("package a.b;\npublic final class C { public static void main(String... a) {} }", "a.b.C", "C"),
        (
            "class Outer { static class Inner { static void main(String[] a) {} } static void main(String[] a) {} }",
            "Outer",
            "",
        ),
        ("interface I {} record R(int x) {} class M { char c = '}'; static void main(String[] a) {} }", "M", ""),
        ("class Nothing {}", "Main", ""),
    ],
)
def test_the_class_that_a_java_program_begins_in_is_found(source: str, main: str, public: str) -> None:
    assert (main, public) == (main_class(source), public_class(source))
