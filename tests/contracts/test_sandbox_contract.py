"""The contract of every sandbox, wherever its programs run. An adapter is a line in ``ADAPTERS``."""

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing

import pytest

from pytest_crmeval.ports.sandbox import (
    Execution,
    Language,
    Limits,
    Program,
    ProgramInput,
    Sandbox,
    SandboxError,
    Termination,
)
from pytest_crmeval.sandboxes.local import LocalSandbox
from tests.sandboxes.pistons import piston

ADAPTERS: Mapping[str, Callable[[], AbstractContextManager[Sandbox]]] = {
    "local": lambda: closing(LocalSandbox()),
    "piston": piston,
}
LIMITS = Limits(cpu_seconds=10.0, wall_seconds=60.0, memory_bytes=256 << 20, output_bytes=1 << 20)
SHORT = Limits(cpu_seconds=0.5, wall_seconds=20.0, memory_bytes=256 << 20, output_bytes=1 << 20)
ADDS = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << std::endl; }\n"
READERS = {
    "input": "print(input(), input())",
    "stdin": "import sys; print(*sys.stdin.read().split())",
    "buffer": "import sys; print(*(line.decode().strip() for line in sys.stdin.buffer.readlines()))",
    "lines": "import sys; print(*[line.strip() for line in sys.stdin])",
    "open(0)": "print(*open(0).read().split())",
    "os.read": "import os; print(*os.read(0, os.fstat(0).st_size).decode().split())",
    "future": "from __future__ import annotations\nprint(input(), input())",
    "rebound": "import sys; input = sys.stdin.readline\nprint(input().strip(), input().strip())",
}
OWN_STREAM = """
import os, sys
from io import BytesIO, IOBase
class Own(IOBase):
    def __init__(self, file):
        self.number, self.kept, self.writes = file.fileno(), BytesIO(), "r" not in file.mode
    def write(self, text): self.kept.write(text.encode())
    def readline(self): return os.read(self.number, os.fstat(self.number).st_size).decode()
    def flush(self):
        if self.writes:
            os.write(self.number, self.kept.getvalue())
            self.kept.truncate(0), self.kept.seek(0)
sys.stdin, sys.stdout = Own(sys.stdin), Own(sys.stdout)
input = lambda: sys.stdin.readline().rstrip()
print(input())
"""
"""For example fast input and output as on Codeforces."""
WRITERS = {
    "own stream": OWN_STREAM,
    "a stream that can't be closed": (
        "import sys\nclass Out:\n    def write(self, text): sys.__stdout__.write(text)\n    def flush(self): pass\n"
        "sys.stdout = Out()\nprint(input())"
    ),
    "taken away": "import sys\nprint(input())\nsys.stdout = None",
    "a second one": "import sys\nsys.stdout = open(1, 'w')\nprint(input())",
    "a last word": (
        "import os, sys\nclass Last:\n    def __del__(self): os.write(1, text.encode())\n"
        "last = Last(); last.own = last\ntext = sys.stdin.read()"
    ),
    "with a guard": "import os\nfor name in ('_exit', 'fork', 'kill'): setattr(os, name, None)\nprint(input())",
    "as it ends": "import atexit\natexit.register(print, input())",
    "deep": "def f(n): return n and 1 + f(n - 1)\nprint(input() if f(998) == 998 else '')",
    "another alphabet": "print(input().encode('cp037').decode('cp037'))",
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


@pytest.fixture(scope="module", params=ADAPTERS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Yield each sandbox, for all tests of this file."""
    with ADAPTERS[request.param]() as sandbox:
        yield sandbox


def run(
    sandbox: Sandbox,
    source: str,
    feed: ProgramInput | None = None,
    limits: Limits = LIMITS,
    language: Language = Language.PYTHON,
) -> Execution:
    """Run a program once."""
    with sandbox.prepared(Program(language=language, source=source)) as prepared:
        assert prepared.refused is None, prepared.refused
        return prepared.run(feed or ProgramInput(), limits)


@pytest.fixture
def cpp(sandbox: Sandbox) -> Sandbox:
    """Return the sandbox if it can compile."""
    if reason := sandbox.missing(Language.CPP):
        pytest.skip(reason)
    return sandbox


class TestSandbox:
    """Every sandbox that comes with the package."""

    def test_sandbox_has_name_identity_and_slots(self, sandbox: Sandbox) -> None:
        """With everything that a header and a fingerprint need."""
        assert isinstance(sandbox, Sandbox)
        assert sandbox.name.strip() == sandbox.name != ""
        assert sandbox.identity == sandbox.identity != ""
        assert sandbox.slots >= 1
        assert "" == sandbox.missing(Language.PYTHON)

    @pytest.mark.parametrize("reader", READERS)
    def test_every_way_to_read_works(self, sandbox: Sandbox, reader: str) -> None:
        """Every way to read works."""
        ended = run(sandbox, READERS[reader], ProgramInput(stdin=b"one\ntwo\n"))

        assert (b"one two\n", True) == (ended.stdout, ended.succeeded), ended.stderr

    @pytest.mark.parametrize("writer", WRITERS)
    def test_every_way_to_write_works(self, sandbox: Sandbox, writer: str) -> None:
        """The program ends like an interpreter: with all its output, and without an error of its own."""
        ended = run(sandbox, WRITERS[writer], ProgramInput(stdin=b"one\n"))

        assert (b"one\n", 0) == (ended.stdout, ended.exit_code), ended.stderr

    def test_line_ends_come_as_they_are(self, sandbox: Sandbox) -> None:
        """An interpreter does not change them on Linux."""
        ended = run(
            sandbox, "import sys; print(repr(input()), repr(sys.stdin.read()))", ProgramInput(stdin=b"1\r\n2\r3\n")
        )

        assert b"'1\\r' '2\\r3\\n'\n" == ended.stdout

    def test_a_large_input_comes_whole(self, sandbox: Sandbox) -> None:
        """Larger than any pipe."""
        ended = run(sandbox, "import sys; print(len(sys.stdin.read()))", ProgramInput(stdin=b"x" * 3_000_000))

        assert b"3000000\n" == ended.stdout

    def test_program_is_the_main_module_with_its_arguments(self, sandbox: Sandbox) -> None:
        """With its name and arguments."""
        source = "import sys\nif __name__ == '__main__': print(__file__.rpartition('/')[2], *sys.argv[1:])"
        ended = run(sandbox, source, ProgramInput(args=("a b", "é")))

        assert "main.py a b é\n" == ended.stdout.decode()

    @pytest.mark.parametrize(
        ("source", "code"),
        [
            ("pass", 0),
            ("exit()", 0),
            ("import sys; sys.exit(7)", 7),
            ("exit(2**70)", 255),
            ("exit('no')", 1),
            ("1/0", 1),
            ("def f(:", 1),
        ],
    )
    def test_the_exit_code_is_the_programs(self, sandbox: Sandbox, source: str, code: int) -> None:
        """Whatever it is."""
        ended = run(sandbox, source)

        assert (Termination.EXITED, code) == (ended.ending, ended.exit_code)
        assert (code == 0) is ended.succeeded

    def test_a_traceback_names_the_programs_own_line(self, sandbox: Sandbox) -> None:
        """And no line of the sandbox."""
        said = run(sandbox, "x = 0\n\nprint(1 / x)\n").stderr.decode()

        assert 1 == said.count("File ")
        assert 'main.py", line 3' in said
        assert said.endswith("ZeroDivisionError: division by zero\n")

    @pytest.mark.parametrize(("number", "name"), [(11, "SIGSEGV"), (36, "SIGRTMIN+2")])
    def test_a_crash_is_a_signal(self, sandbox: Sandbox, number: int, name: str) -> None:
        """A crash is a signal."""
        ended = run(sandbox, f"import os; os.kill(os.getpid(), {number})")

        assert (Termination.SIGNALLED, name, None) == (ended.ending, ended.signal, ended.exit_code)

    def test_files_go_in_and_come_back(self, sandbox: Sandbox) -> None:
        """Only the requested ones, and only if they exist; also one that was not closed."""
        source = "f = open('out.txt', 'w'); f.write(open('in.txt').read() * 2); open('other', 'w').close()"
        ended = run(sandbox, source, ProgramInput(files={"in.txt": b"ab"}, wanted=("out.txt", "missing.txt")))

        assert {"out.txt": b"abab"} == ended.files

    def test_cpu_time_is_limited(self, sandbox: Sandbox) -> None:
        """It ends a busy loop."""
        ended = run(sandbox, "while True: pass", limits=SHORT)

        assert (Termination.CPU_TIME, None) == (ended.ending, ended.exit_code)

    def test_wall_time_is_limited(self, sandbox: Sandbox) -> None:
        """It ends a program that only waits."""
        waiting = Limits(cpu_seconds=10.0, wall_seconds=0.5, memory_bytes=256 << 20, output_bytes=1 << 20)

        assert Termination.WALL_TIME is run(sandbox, "import time; time.sleep(60)", limits=waiting).ending

    @pytest.mark.parametrize("source", ["x = b'x' * (600 << 20)", "x = [0] * 10**12", "x = bytearray(500 << 20)"])
    def test_memory_is_limited(self, sandbox: Sandbox, source: str) -> None:
        """Exceeded or refused."""
        assert Termination.MEMORY is run(sandbox, source).ending

    def test_output_is_limited(self, sandbox: Sandbox) -> None:
        """The allowed part is kept."""
        ended = run(sandbox, "while True: print('x' * 999)", limits=SHORT)

        assert Termination.OUTPUT is ended.ending
        assert SHORT.output_bytes >= len(ended.stdout)

    def test_long_stderr_is_cut_and_its_end_is_kept(self, sandbox: Sandbox) -> None:
        """It is cut off, and its end is kept."""
        ended = run(sandbox, "import sys\nfor _ in range(3000): sys.stderr.write('x' * 1000)\nsys.stderr.write('end')")

        assert ended.succeeded, ended
        assert ended.stderr.endswith(b"end")
        assert len(ended.stderr) < 1_000_000

    def test_run_leaves_no_file_module_or_variable_for_the_next(self, sandbox: Sandbox) -> None:
        """No file, no module, no variable."""
        source = (
            "import os, math\n"
            "print(sorted(os.listdir()), hasattr(math, 'left'), 'LEFT' in os.environ)\n"
            "math.left = os.environ['LEFT'] = 'here'; open('left', 'w').close()\n"
        )
        with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
            outputs = {prepared.run(ProgramInput(), LIMITS).stdout for _ in range(2 * sandbox.slots + 1)}

        assert {b"['main.py'] False False\n"} == outputs

    def test_many_threads_may_run_programs(self, sandbox: Sandbox) -> None:
        """Each gets its own output."""
        with (
            sandbox.prepared(Program(language=Language.PYTHON, source="print(int(input()) ** 2)")) as prepared,
            ThreadPoolExecutor(6) as threads,
        ):
            ends = list(threads.map(lambda n: prepared.run(ProgramInput(stdin=b"%d" % n), LIMITS), range(24)))

        assert [n * n for n in range(24)] == [int(end.stdout) for end in ends]

    def test_run_reports_its_time_and_memory(self, sandbox: Sandbox) -> None:
        """If it is known."""
        ended = run(sandbox, "x = bytearray(50 << 20)\nfor _ in range(10**6): pass")

        assert None is ended.cpu_seconds or 0 < ended.cpu_seconds < LIMITS.cpu_seconds
        assert None is ended.wall_seconds or 0 < ended.wall_seconds < LIMITS.wall_seconds
        assert None is ended.memory_bytes or 50 << 20 < ended.memory_bytes < 256 << 20

    def test_a_name_that_leads_out_is_the_judges_trouble(self, sandbox: Sandbox) -> None:
        """It says nothing about the program."""
        with pytest.raises(SandboxError):
            run(sandbox, "pass", ProgramInput(files={"../escape": b""}))

    def test_a_compiled_program_runs(self, cpp: Sandbox) -> None:
        """As often as there are tests."""
        with cpp.prepared(Program(language=Language.CPP, source=ADDS)) as prepared:
            outputs = [prepared.run(ProgramInput(stdin=b"%d 1" % n), LIMITS).stdout for n in range(3)]

        assert [b"1\n", b"2\n", b"3\n"] == outputs

    def test_a_compiled_program_knows_that_it_is_judged(self, cpp: Sandbox) -> None:
        """On a developer's machine it would read a file."""
        source = (
            '#include <cstdio>\nint main() {\n#ifndef ONLINE_JUDGE\n  freopen("input.txt", "r", stdin);\n#endif\n'
            '  int n; std::puts(std::scanf("%d", &n) == 1 ? "read" : "nothing"); }\n'
        )

        assert b"read\n" == run(cpp, source, ProgramInput(stdin=b"5"), language=Language.CPP).stdout

    def test_compile_error_is_reported_with_the_message_of_the_compiler(self, cpp: Sandbox) -> None:
        """With the compiler's message."""
        with cpp.prepared(Program(language=Language.CPP, source="int main() { return x; }")) as prepared:
            assert prepared.refused is not None
            assert not prepared.refused.succeeded
            assert b"main.cpp" in prepared.refused.stderr

    @pytest.mark.parametrize(
        ("source", "ending"),
        [
            ("#include <vector>\nint main() { std::vector<char> v(1ull << 40); return v[9]; }", Termination.MEMORY),
            ("#include <cstdlib>\nint main() { abort(); }", Termination.SIGNALLED),
            ('#include <cstdio>\nint main() { for (;;) puts("xxxxxxxx"); }', Termination.OUTPUT),
            ("int main() { for (volatile int i = 0;; ++i) {} }", Termination.CPU_TIME),
        ],
        ids=["refused memory", "crash", "output", "CPU time"],
    )
    def test_a_compiled_program_has_the_same_limits(self, cpp: Sandbox, source: str, ending: Termination) -> None:
        """The ending says what happened."""
        assert ending is run(cpp, source, limits=SHORT, language=Language.CPP).ending
