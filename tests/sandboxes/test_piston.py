"""Programs run on Piston as they would run alone: their input, files, arguments and output are not touched."""

import re
from dataclasses import replace

import pytest

from pytest_crmeval.ports.sandbox import Language, Program, ProgramInput, Sandbox, SandboxError, Termination
from pytest_crmeval.sandboxes.piston import PistonSandbox
from tests.sandboxes.piston_server import PistonServer
from tests.sandboxes.pistons import BRIEF, LIMITS, ended, printed

IDIOMS = {
    "input": "n = input(); m = input(); print(len(n) + len(m) + 2)",
    "input till the end": """
total = 0
try:
    while True:
        total += len(input()) + 1
except EOFError:
    print(total)
""",
    "sys.stdin.read": "import sys; print(len(sys.stdin.read()))",
    "sys.stdin lines": "import sys; print(sum(len(line) for line in sys.stdin))",
    "readline bound": "import sys; input = sys.stdin.readline; print(len(input()) + len(input()))",
    "buffer.readline": "import sys; r = sys.stdin.buffer.readline; print(len(r()) + len(r()))",
    "buffer.read": "import sys; print(len(sys.stdin.buffer.read()))",
    "open(0)": "print(len(open(0).read()))",
    "open(0, rb)": "print(len(open(0, 'rb').read()))",
    "open /dev/stdin": "print(len(open('/dev/stdin').read()))",
    "os.read": "import os\nn = 0\nwhile c := os.read(0, 65536): n += len(c)\nprint(n)",
    "fstat": "import io, os; print(len(io.BytesIO(os.read(0, os.fstat(0).st_size)).getvalue()))",
    "mmap": "import mmap; print(len(mmap.mmap(0, 0, access=mmap.ACCESS_READ)))",
    "seek": "import sys; sys.stdin.read(); sys.stdin.seek(0); print(len(sys.stdin.read()))",
    "future": "from __future__ import annotations\nimport sys\nprint(len(sys.stdin.read()))",
    "fileinput": "import fileinput; print(sum(len(line) for line in fileinput.input()))",
    "thread": """
import sys, threading
def main():
    print(len(sys.stdin.read()))
threading.stack_size(2**26)
threading.Thread(target=main).start()
""",
    "subprocess": "import subprocess, sys; print(int(subprocess.check_output(['wc', '-c'], stdin=0)))",
}
LONG = b"7" * 200_000 + b"\n" + b"8" * 99_998 + b"\n"
"""More than a server passes on as stdin."""


@pytest.mark.parametrize("idiom", IDIOMS)
def test_every_way_to_read_stdin_sees_all_of_it(piston: PistonSandbox, idiom: str) -> None:
    """The seed's fourth weakness: what is long was cut, or a prelude was in the way of all but sys.stdin."""
    assert b"300000\n" == printed(piston, IDIOMS[idiom], ProgramInput(stdin=LONG))


@pytest.mark.parametrize("content", [b"", b"abc", b"\r\nabc\r\n", b"\0\xff\xfe", "ä☃𝄞".encode(), b"\xef\xbb\xbfx"])
def test_program_gets_the_whole_input(piston: PistonSandbox, content: bytes) -> None:
    program = "import sys; data = sys.stdin.buffer.read(); print(data.hex())"

    assert f"{content.hex()}\n".encode() == printed(piston, program, ProgramInput(stdin=content))


def test_a_program_does_not_find_its_judge(piston: PistonSandbox) -> None:
    """It is the main module, under its own name, with nothing of ours among its names."""
    program = """
import sys, __main__
print(__name__, sys.argv, __file__.rpartition('/')[2], __main__.__dict__ is globals(), __doc__)
print(sorted(name for name in globals() if not name.startswith('__')))
"""

    assert b"__main__ ['main.py', 'a b', '1'] main.py True None\n['sys']\n" == printed(
        piston, program, ProgramInput(args=("a b", "1"))
    )


def test_recursion_goes_as_deep_as_it_would_alone(piston: PistonSandbox) -> None:
    """The runner's own frames are not taken from the program's."""
    program = """
def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n
print(depth(1))
"""
    starter = f"""
import subprocess, sys
open("x.py", "w").write({program!r})
sys.stdout.write(subprocess.check_output([sys.executable, "x.py"], text=True))
"""
    alone = printed(piston, starter)

    assert alone == printed(piston, program)


@pytest.mark.parametrize("wanted", [(), ("none",)])
def test_an_error_is_shown_as_it_would_be_alone(piston: PistonSandbox, wanted: tuple[str, ...]) -> None:
    program = "def f():\n    1 / 0\ntry:\n    f()\nexcept ZeroDivisionError as e:\n    raise ValueError('no') from e\n"
    execution = ended(piston, program, ProgramInput(wanted=wanted))
    said = execution.stderr.decode()

    assert (Termination.EXITED, 1) == (execution.ending, execution.exit_code)
    assert ["line 4, in <module>", "line 2, in f", "line 6, in <module>"] == re.findall(r'main.py", (.*)', said)
    assert 3 == said.count("File ")
    assert said.endswith("ValueError: no\n")


def test_invalid_python_ends_with_a_syntax_error(piston: PistonSandbox) -> None:
    said = ended(piston, "def (:").stderr.decode()

    assert said.startswith("  File ")
    assert 1 == said.count("File ")
    assert "SyntaxError" in said
    assert 1 == ended(piston, "print('\udcff')").exit_code


@pytest.mark.parametrize("wanted", [(), ("none",)])
def test_folder_of_a_program_has_only_its_files(piston: PistonSandbox, wanted: tuple[str, ...]) -> None:
    program = "import os; print(sorted(os.listdir()))"
    execution = ended(piston, program, ProgramInput(stdin=b"x", files={"given": b""}, wanted=wanted))

    assert b"['given', 'main.py']\n" == execution.stdout


@pytest.mark.parametrize("code", [0, 1, 3, 42, 120, 255])
def test_exit_codes_come_back(piston: PistonSandbox, code: int) -> None:
    assert code == ended(piston, f"import os; os._exit({code})").exit_code


def test_files_are_there_and_what_is_wanted_comes_back(piston: PistonSandbox) -> None:
    """Bytes as they are, in folders if need be; what the program did not write is missing."""
    program = """
import os, sys
os.mkdir('out')
with open('in/data.bin', 'rb') as given, open('out/copy.bin', 'wb') as copy:
    copy.write(given.read() + sys.stdin.buffer.read())
print('done')
"""
    feed = ProgramInput(stdin=b"\xff", files={"in/data.bin": bytes(range(256))}, wanted=("out/copy.bin", "none.txt"))
    execution = ended(piston, program, feed)

    assert {"out/copy.bin": bytes(range(256)) + b"\xff"} == execution.files
    assert (b"done\n", 0) == (execution.stdout, execution.exit_code)


def test_only_regular_files_are_returned(piston: PistonSandbox) -> None:
    program = "import os; os.symlink('/etc/passwd', 'a'); os.mkfifo('b'); os.mkdir('c')"

    assert {} == ended(piston, program, ProgramInput(wanted=("a", "b", "c"))).files


def test_wanted_files_come_back_from_a_program_that_dies(piston: PistonSandbox) -> None:
    program = "import os; open('o', 'w').write('x'); os.kill(os.getpid(), {})"
    died = ended(piston, program.format(11), ProgramInput(wanted=("o",)))

    assert (Termination.SIGNALLED, "SIGSEGV", {"o": b"x"}) == (died.ending, died.signal, died.files)


def test_binary_output_is_returned_unchanged(piston: PistonSandbox) -> None:
    """A server would replace the bytes."""
    program = "import sys; sys.stdout.buffer.write(bytes(range(256)))"

    assert bytes(range(256)) == printed(piston, program)


def test_program_that_prints_too_much_exceeds_the_output_limit(piston: PistonSandbox) -> None:
    """Beyond the problem's limit, below the server's, and beyond both."""
    for size in (LIMITS.output_bytes + 1, 1 << 22):
        assert Termination.OUTPUT is ended(piston, f"print('x' * {size}, end='')").ending
    assert Termination.EXITED is ended(piston, f"print('x' * {LIMITS.output_bytes}, end='')").ending
    assert Termination.OUTPUT is ended(piston, "while True: print('x' * 1000)").ending


def test_errors_that_are_long_end_nothing(piston: PistonSandbox) -> None:
    """A server would have killed the program for them; they are cut, and their end is kept."""
    execution = ended(piston, "import sys; sys.stderr.write('x' * 3_000_000 + 'end'); print('fine')")

    assert (0, b"fine\n") == (execution.exit_code, execution.stdout)
    assert (4096, b"end") == (len(execution.stderr), execution.stderr[-3:])


def test_stderr_is_shortened_equally_with_and_without_a_frame(piston: PistonSandbox) -> None:
    """Below the server's limit they come as they are, and are no less cut."""
    program = "import sys; sys.stderr.write('x' * 9000 + 'end')"
    plain, framed = ended(piston, program), ended(piston, program, ProgramInput(wanted=("none",)))

    assert b"x" * 4093 + b"end" == plain.stderr == framed.stderr


def test_limits_end_a_program(piston: PistonSandbox) -> None:
    waiting = replace(LIMITS, wall_seconds=4.0)  # in half of it, another program must be able to start

    assert Termination.CPU_TIME is ended(piston, "while True: pass", limits=BRIEF).ending
    assert Termination.WALL_TIME is ended(piston, "import time; time.sleep(99)", limits=waiting).ending
    assert Termination.MEMORY is ended(piston, "x = bytearray(2 * 10**9)").ending


def test_limits_end_a_program_whose_files_are_wanted(piston: PistonSandbox) -> None:
    feed = ProgramInput(wanted=("o",))

    assert Termination.CPU_TIME is ended(piston, "while True: pass", feed, BRIEF).ending
    assert Termination.MEMORY is ended(piston, "x = bytearray(2 * 10**9)", feed).ending
    assert Termination.OUTPUT is ended(piston, "open('o', 'w').write('x' * 10**6)", feed).ending


def test_time_and_memory_are_reported(piston: PistonSandbox) -> None:
    execution = ended(piston, "x = bytearray(50_000_000); import time; time.sleep(0.05)")

    assert execution.memory_bytes is not None
    assert execution.cpu_seconds is not None
    assert execution.wall_seconds is not None
    assert execution.memory_bytes > 50_000_000
    assert 0 < execution.cpu_seconds
    assert 0.05 <= execution.wall_seconds


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "main.py", "crmeval.stdin", ""])
def test_a_file_that_can_not_be_is_refused(piston: PistonSandbox, name: str) -> None:
    """The server would break, or the program be replaced."""
    with pytest.raises(SandboxError, match="file"):
        ended(piston, "", ProgramInput(files={name: b""}))


def test_piston_sandbox_shows_its_address_and_versions(piston: PistonSandbox, piston_server: PistonServer) -> None:
    assert isinstance(piston, Sandbox)
    assert f"Piston at {piston_server.url} (python 3.11.2, c++ 12.2.0, c 12.2.0)" == piston.name
    assert "piston: python 3.11.2, c++ 12.2.0, c 12.2.0" == piston.identity
    assert 4 == piston.slots
    assert "" == piston.missing(Language.PYTHON)


def test_connections_are_kept(piston: PistonSandbox, piston_server: PistonServer) -> None:
    """One after the other needs no new one."""
    ended(piston, "")
    before = piston_server.connections
    for _ in range(3):
        ended(piston, "")

    assert before == piston_server.connections


def test_a_program_is_sent_untouched(piston: PistonSandbox, piston_server: PistonServer) -> None:
    source = "# -*- coding: utf-8 -*-\nprint('ä')\r\n"
    ended(piston, source)
    body = piston_server.bodies[-1]

    assert source == next(file["content"] for file in body["files"] if file["name"] == "main.py")
    assert (60_000, 20_000, (1 << 30) // 1024 * 1000) == (
        body["run_timeout"],
        body["run_cpu_time"],
        body["run_memory_limit"],
    )


def test_a_python_program_is_prepared_without_asking_anybody(
    piston: PistonSandbox, piston_server: PistonServer
) -> None:
    """It is not compiled."""
    before = piston_server.counts["/api/v2/execute"]
    with piston.prepared(Program(language=Language.PYTHON, source="def (:")) as ready:
        assert ready.refused is None
    assert before == piston_server.counts["/api/v2/execute"]
