"""What honest programs need, at every level that this machine allows, and what is none of their business."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput, Termination
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.sandboxes.local.machine import isolation_request
from tests.sandboxes.conftest import allowed

LIMITS = Limits(cpu_seconds=20.0, wall_seconds=90.0, memory_bytes=256 << 20, output_bytes=1 << 20)
PROGRAMS = {
    "the rest of a package": "import importlib.metadata, json.tool; print('é'.encode('cp1252').decode('cp1252'))",
    "an event loop": "import asyncio\nasync def say(): print('é')\nasyncio.run(say())",
    "a thread": "import threading\nthreading.Thread(target=print, args='é').start()",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_honest_program_runs(sandbox: LocalSandbox, program: str) -> None:
    """Also where the library can't be reached by its path any more."""
    assert "é\n" == _output(sandbox, PROGRAMS[program])


def test_memory_of_the_interpreter_does_not_count(sandbox: LocalSandbox) -> None:
    """What a process has before it is the program's is not the program's."""
    tiny = replace(LIMITS, memory_bytes=4 << 20)
    with sandbox.prepared(Program(language=Language.PYTHON, source="x = b'x' * (int(input()) << 20)")) as prepared:
        endings = [prepared.run(ProgramInput(stdin=size), tiny).ending for size in (b"1", b"30")]

    assert [Termination.EXITED, Termination.MEMORY] == endings


@pytest.fixture
def shown() -> Iterator[Path]:
    """Make a folder where programs have no room of their own."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_answers_are_hidden_wherever_they_are(level: str, shown: Path) -> None:
    """In a folder that programs are shown, too, as /usr/src is; what is beside them is there."""
    project = shown / "src" / "project"
    project.mkdir(parents=True)
    (project / "answers.txt").write_text("42")
    (shown / "src" / "beside.py").write_text("word = 'beside'")
    (shown / "src" / "link").symlink_to(project)
    (shown / "word.py").write_text("from src.beside import word")
    source = (
        "from word import word\nprint(word)\n"
        f"for name in ('project', 'link'):\n    try: print(open(f'{shown}/src/{{name}}/answers.txt').read())\n"
        "    except OSError as error: print('hidden')\n"
    )
    with closing(LocalSandbox(level, workers=1, packages=[str(shown)], hidden=[str(project)])) as sandbox:
        assert "beside\nhidden\nhidden\n" == _output(allowed(sandbox), source)


def test_folders_that_programs_need_are_never_hidden() -> None:
    wishes = [
        isolation_request("landlock", [], hidden)
        for hidden in ([], ["/", "/usr", "/usr/lib", str(Path(os.__file__).parent)])
    ]

    assert wishes[0] == wishes[1]


def _output(sandbox: LocalSandbox, source: str) -> str:
    with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
        ended = prepared.run(ProgramInput(), LIMITS)
    assert 0 == ended.exit_code, ended.stderr
    return ended.stdout.decode()
