"""C++ on Piston: compiled behind a front that gives it its input and brings back its files."""

from contextlib import closing

import pytest

from pytest_crmeval.ports.sandbox import Language, Program, ProgramInput, SandboxError, Termination
from pytest_crmeval.sandboxes.piston import PistonSandbox
from tests.sandboxes.piston_jobs import Settings
from tests.sandboxes.piston_server import PistonServer
from tests.sandboxes.pistons import BRIEF, ended, printed

pytestmark = pytest.mark.usefixtures("compiler")

READERS = r"""
#include <cstdio>
#include <iostream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static long early = [] { struct stat s; fstat(0, &s); return s.st_size; }();
static char all[1 << 20];

long by_getchar() { long n = 0; while (getchar() != EOF) ++n; return n; }

int main(int argc, char** argv) {
    long by_read = 0, by_cin = 0;
    for (long n; (n = read(0, all, 4096)) > 0;) by_read += n;
    void* map = mmap(nullptr, early, PROT_READ, MAP_PRIVATE, 0, 0);
    std::cout << early << " " << by_read << " " << (map != MAP_FAILED);
    lseek(0, 0, SEEK_SET);
    std::cout << " " << by_getchar();
    rewind(stdin);
    std::cout << " " << fread(all, 1, sizeof all, stdin);
    rewind(stdin);
    for (std::string line; std::getline(std::cin, line);) by_cin += line.size() + 1;
    freopen("/dev/stdin", "r", stdin);
    std::cout << " " << by_cin << " " << by_getchar() << " " << argc << " " << argv[1];
}
"""
NAMES = r"""
#include <cstdio>
#define int long long
#define static
#define char unsigned char
struct Room { int a; };
int open, read, write, close, dup2, fork, feed, frame, start, said, pipe, link;
namespace mine { int crmeval_front; }
signed main() { printf("%d", (signed)sizeof(int)); }
"""
WRITER = r"""
#include <csignal>
#include <cstdio>
int main() {
    for (int c = 0; c < 256; ++c) putchar(c);
    FILE* out = fopen("a b.bin", "wb");
    for (int i = 0; i < 100000; ++i) putc(i * 7 % 256, out);
    fclose(out);
    fputs("said", stderr);
    fflush(stdout);
    raise(SIGABRT);
}
"""
LISTS = r"""
#include <cstdio>
#include <dirent.h>
int main() {
    dirent** names;
    for (int i = 0, n = scandir(".", &names, nullptr, alphasort); i < n; ++i) printf("%s ", names[i]->d_name);
    for (int i = 0; i < 70000; ++i) putc('x', stderr);
    fputs("e", stderr);
    fputs("nd", stderr);
}
"""


def test_every_way_to_read_stdin_sees_all_of_it(piston: PistonSandbox) -> None:
    """However long it is, from its first line of code on, and before main."""
    feed = ProgramInput(stdin=b"x" * 299_999 + b"\n", args=("a b",))

    assert b"300000 300000 1 300000 300000 300000 300000 2 a b" == printed(piston, READERS, feed, language="cpp")


def test_a_program_may_use_any_name(piston: PistonSandbox) -> None:
    """Nothing that stands before it is in its way: no header, no macro of ours, no name that people use."""
    assert b"8" == printed(piston, NAMES, language="cpp")


def test_output_and_files_come_back_as_they_were(piston: PistonSandbox) -> None:
    died = ended(piston, WRITER, ProgramInput(wanted=("a b.bin", "none")), language="cpp")

    assert (Termination.SIGNALLED, "SIGABRT", b"said") == (died.ending, died.signal, died.stderr)
    assert bytes(range(256)) == died.stdout
    assert {"a b.bin": bytes(i * 7 % 256 for i in range(100_000))} == died.files


def test_compile_error_has_the_message_of_the_compiler(piston: PistonSandbox) -> None:
    with piston.prepared(Program(language=Language.CPP, source="int main() {\n  return x;\n}")) as ready:
        assert ready.refused is not None
        assert (Termination.EXITED, 1) == (ready.refused.ending, ready.refused.exit_code)
        assert ready.refused.stderr.startswith(b"main.cpp: In function")
        assert b"main.cpp:2:10: error:" in ready.refused.stderr
        assert b"return x;" in ready.refused.stderr
        assert b"crmeval" not in ready.refused.stderr


def test_messages_that_are_more_than_a_server_keeps_are_no_refusal() -> None:
    """It has ended the compiler for them: who knows what would have come of it."""
    with PistonServer(Settings(output_max_size=40_000)) as server, closing(PistonSandbox(server.url)) as sandbox:
        program = Program(language=Language.CPP, source=f"#error {'x' * 90}\n" * 400)

        with pytest.raises(SandboxError, match=r"compiler's messages .* higher PISTON_OUTPUT_MAX_SIZE"):
            sandbox.prepared(program).__enter__()


def test_folder_has_only_the_programs_files_and_stderr_keeps_its_end(piston: PistonSandbox) -> None:
    execution = ended(piston, LISTS, ProgramInput(stdin=b"x", files={"given": b""}, wanted=("none",)), language="cpp")

    assert b". .. a.out given " == execution.stdout
    assert b"x" * 4093 + b"end" == execution.stderr


def test_compilation_does_not_run_the_program(piston: PistonSandbox, piston_server: PistonServer) -> None:
    """A program that would never end is ready at once."""
    before = piston_server.counts["/api/v2/execute"]
    with piston.prepared(Program(language=Language.CPP, source="int main() { for (;;); }")) as ready:
        assert ready.refused is None
        assert Termination.CPU_TIME is ready.run(ProgramInput(), BRIEF).ending
    assert before + 2 == piston_server.counts["/api/v2/execute"]


def test_output_limit_and_memory_limit_are_named(piston: PistonSandbox) -> None:
    flood = '#include <cstdio>\nint main() { for (;;) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); }'
    greedy = "#include <vector>\nint main() { std::vector<char> all(4'000'000'000); return all[1]; }"

    assert Termination.OUTPUT is ended(piston, flood, language="cpp").ending
    assert Termination.MEMORY is ended(piston, greedy, language="cpp").ending
