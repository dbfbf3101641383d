"""Right programs are right in the local sandbox: whatever the machine, the input or the open files are like."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput, Termination
from pytest_crmeval.sandboxes.local import LocalSandbox
from tests.sandboxes.conftest import allowed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")

LIMITS = Limits(cpu_seconds=20.0, wall_seconds=90.0, memory_bytes=64 << 20, output_bytes=1 << 20)
ROOT = Path(__file__).parents[2]
FROM_TMP = """
import json, sys
sys.path.insert(0, {root!r})
from pytest_crmeval.ports.sandbox import Language, Limits, Program, ProgramInput
from pytest_crmeval.sandboxes.local import LocalSandbox
from pytest_crmeval.sandboxes.local.machine import interpreter
limits = Limits(cpu_seconds=20.0, wall_seconds=90.0, memory_bytes=1 << 28, output_bytes=1 << 20)
sandbox = LocalSandbox(workers=1)
with sandbox.prepared(Program(language=Language.PYTHON, source={source!r})) as prepared:
    ended = prepared.run(ProgramInput(), limits)
print(json.dumps([interpreter(), sandbox.level, ended.stdout.decode(), ended.stderr.decode(), sandbox.identity]))
sandbox.close()
"""


@pytest.fixture(scope="module")
def python_in_tmp() -> Iterator[Path]:
    """Copy the interpreter and its library below /tmp."""
    base = Path(os.path.realpath(sys.base_prefix))
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}"
    with TemporaryDirectory(prefix="crmeval-python-", dir="/tmp") as folder:
        home = Path(folder)
        home.chmod(0o755)
        executable = home / "bin" / "python3"
        executable.parent.mkdir()
        shutil.copy(os.path.realpath(sys.executable), executable)
        skipped = shutil.ignore_patterns(
            "site-packages", "test", "tests", "__pycache__", "config-*", "idlelib", "ensurepip"
        )
        shutil.copytree(base / library, home / library, ignore=skipped)
        for shared in (base / "lib").glob("libpython*.so*"):
            shutil.copy(shared, home / "lib" / shared.name, follow_symlinks=False)
        yield executable


def test_an_interpreter_below_tmp_runs_programs_that_import_modules(python_in_tmp: Path) -> None:
    """Programs have another folder for temporary files then; it is the one that TMPDIR names."""
    source = (
        "import random, decimal, fractions, tempfile\n"
        "print(decimal.Decimal(1) + 1, open(tempfile.mkstemp()[1]).read() == '')"
    )
    environment = {
        "LD_LIBRARY_PATH": str(python_in_tmp.parent.parent / "lib"),
        "PYTHONPATH": str(Path(msgspec.__file__ or "").parents[1]),
        "PYTHONHOME": str(python_in_tmp.parent.parent),
    }
    ended = subprocess.run(
        [python_in_tmp, "-c", FROM_TMP.format(root=str(ROOT), source=source)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "SandboxError" in ended.stderr or "error while loading shared libraries" in ended.stderr:
        pytest.skip(ended.stderr[-300:])

    interpreter, level, stdout, stderr, identity = json.loads(ended.stdout)
    assert str(python_in_tmp) == interpreter, ended.stderr
    assert "2 True\n" == stdout, (level, stderr)
    assert f"python {sys.version.split()[0]} {python_in_tmp}" in identity


def test_a_large_input_file_is_not_the_programs_memory(sandbox: LocalSandbox) -> None:
    """A program that reads it line by line needs little."""
    content = b"1234567\n" * (12 << 20)
    limits = Limits(cpu_seconds=60.0, wall_seconds=240.0, memory_bytes=64 << 20, output_bytes=1 << 20)
    with sandbox.prepared(Program(language=Language.PYTHON, source="print(open('input.txt').readline())")) as prepared:
        ended = prepared.run(ProgramInput(files={"input.txt": content}), limits)

    assert (Termination.EXITED, b"1234567\n\n") == (ended.ending, ended.stdout)
    assert (ended.memory_bytes or 0) < len(content) // 2


@pytest.mark.parametrize("number", [100, 101])
def test_sandbox_works_in_a_process_with_many_open_files(number: int) -> None:
    """The number of the first free file is of no importance."""
    with closing(LocalSandbox(workers=1)) as another:
        allowed(another)
    opened = [os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)]
    while opened[-1] < number - 2:
        opened.append(os.dup(opened[0]))
    try:
        with closing(LocalSandbox(workers=1)) as sandbox:
            source = "print(sum(map(int, input().split())))"
            with sandbox.prepared(Program(language=Language.PYTHON, source=source)) as prepared:
                runs = [prepared.run(ProgramInput(stdin=b"1 2\n"), LIMITS) for _ in range(2)]
    finally:
        for descriptor in opened:
            os.close(descriptor)

    assert [b"3\n", b"3\n"] == [ended.stdout for ended in runs]


def test_packages_can_be_imported_if_they_are_shown(public: Path) -> None:
    (public / "numbers_of_ours.py").write_text("answer = 42\n", encoding="utf-8")
    program = Program(language=Language.PYTHON, source="import numbers_of_ours; print(numbers_of_ours.answer)")
    outputs = []
    for packages in ([], [str(public)]):
        with closing(LocalSandbox(workers=1, packages=packages)) as sandbox:
            with allowed(sandbox).prepared(program) as prepared:
                outputs.append(prepared.run(ProgramInput(), LIMITS).stdout)
            assert (str(public) in sandbox.identity) == bool(packages)

    assert [b"", b"42\n"] == outputs
