"""Programs are compiled once, inside the sandbox, and the latest ones are kept."""

import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from pytest_crmeval.domain.cutting import cut_end
from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.languages import title
from pytest_crmeval.sandboxes.local.inside.messages import BINARY, COMPILER, RUNTIME
from pytest_crmeval.sandboxes.local.runs import Runnable, opened
from pytest_crmeval.sandboxes.local.toolchains import Missing, Toolchain, toolchain

Run = Callable[[Runnable, ProgramInput, Limits], Execution]

_COMPILING = Limits(cpu_seconds=60.0, wall_seconds=240.0, memory_bytes=2 << 30, output_bytes=256 << 20)
_RUNNING = Limits(cpu_seconds=10.0, wall_seconds=60.0, memory_bytes=512 << 20, output_bytes=1 << 16)
_KEPT_BYTES = 64 << 20
"""Maximum size of the compiled programs that are kept for the next file, mostly checkers."""

_ELF_64_LITTLE = b"\x7fELF\x02\x01"
_TABLE_AT, _ENTRY_SIZE_AT, _MEMORY_AT = 32, 54, 40
_LOADED = 1


class Compiler:
    """Compiles programs by the toolchains that were seen to work in this sandbox; for several threads."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._proving: dict[tuple[Language, str], threading.Lock] = {}
        self._known: dict[tuple[Language, str], tuple[int, str]] = {}
        """By language and version: which of the commands works, and what is missing if none does."""
        self._kept: OrderedDict[Program, Execution] = OrderedDict()
        self._bytes = 0

    def missing(self, language: Language, version: str) -> str:
        """Return why programs in a language can't be run; empty if a small one has run."""
        return self._proved(language, version)[1]

    def compile(self, program: Program) -> Execution | None:
        """Compile a program, unless that was done lately; its product is a file of the execution.

        None if programs in its language are not compiled.
        """
        tools = self._toolchain(program)
        if not tools.compilers:
            return None
        with self._lock:
            if program in self._kept:
                self._kept.move_to_end(program)
                return self._kept[program]
        compiled = self._compiled(tools, program, self._proved(program.language, program.version)[0])
        if compiled.succeeded and tools.product in compiled.files:
            self._keep(program, compiled)
        return compiled

    def runnable(self, program: Program, compiled: Execution | None, descriptor: int) -> Runnable:
        """Return what a compiled program, or one that is not compiled, runs as; ``descriptor`` is its open file."""
        return _runnable(self._toolchain(program), compiled, descriptor)

    def content(self, program: Program, compiled: Execution | None) -> bytes:
        """Return what is run: the product of the compiler, or the program itself."""
        return encoded(program) if compiled is None else compiled.files[self._toolchain(program).product]

    def _toolchain(self, program: Program) -> Toolchain:
        found = toolchain(program.language, program.version, program.source)
        assert isinstance(found, Toolchain)  # noqa: S101 (it was asked before whether something is missing)
        return found

    def _proved(self, language: Language, version: str) -> tuple[int, str]:
        key = (language, version)
        with self._lock:
            proving = self._proving.setdefault(key, threading.Lock())
        with proving:
            if key not in self._known:
                self._known[key] = self._prove(language, version)
            return self._known[key]

    def _prove(self, language: Language, version: str) -> tuple[int, str]:
        """Compile and run something small by each command; return the first that works, or what is missing."""
        tools = toolchain(language, version)
        if isinstance(tools, Missing):
            return 0, tools.reason
        trial = Program(language=language, version=version, source=tools.trial)
        said = ""
        for number in range(max(1, len(tools.compilers))):
            try:
                ended = self._tried(tools, trial, number)
            except SandboxError as error:  # the compiler can't be reached at this level
                said = said or str(error)
                continue
            if ended.stdout == b"works\n":
                return number, ""
            said = said or cut_end((ended.stderr or ended.stdout).decode(errors="replace").strip(), 400) or ended.ending
        return 0, f"{title(language, version)} does not work in the sandbox of this machine: {said}"

    def _tried(self, tools: Toolchain, trial: Program, number: int) -> Execution:
        compiled = self._compiled(tools, trial, number) if tools.compilers else None
        if compiled is not None and tools.product not in compiled.files:
            return compiled
        with opened("trial", encoded(trial) if compiled is None else compiled.files[tools.product]) as descriptor:
            return self._run(_runnable(tools, compiled, descriptor), ProgramInput(), _RUNNING)

    def _compiled(self, tools: Toolchain, program: Program, number: int) -> Execution:
        command: Sequence[str] = tools.compilers[number]
        with opened(tools.source, encoded(program)) as descriptor:
            compiling = Runnable(kind=COMPILER, descriptor=descriptor, name=tools.source, command=command)
            return self._run(compiling, ProgramInput(wanted=(tools.product,)), _COMPILING)

    def _keep(self, program: Program, compiled: Execution) -> None:
        """Keep a compiled program, and drop those that were used longest ago."""
        with self._lock:
            if program not in self._kept:
                self._kept[program] = compiled
                self._bytes += _size(compiled)
            while self._bytes > _KEPT_BYTES:
                self._bytes -= _size(self._kept.popitem(last=False)[1])


def encoded(program: Program) -> bytes:
    """Return the text of a program; a lone surrogate has no encoding, the compiler shall say so about its file."""
    return program.source.encode("utf-8", "surrogatepass")


def _runnable(tools: Toolchain, compiled: Execution | None, descriptor: int) -> Runnable:
    if not tools.runtime:
        assert compiled is not None  # noqa: S101 (what has no runtime is compiled)
        image = image_bytes(compiled.files[tools.product])
        return Runnable(kind=BINARY, descriptor=descriptor, image=image)
    name = tools.source if compiled is None else tools.product
    return Runnable(kind=RUNTIME, descriptor=descriptor, name=name, command=tools.runtime)


def _size(compiled: Execution) -> int:
    return sum(map(len, compiled.files.values()))


def image_bytes(binary: bytes) -> int:
    """Return the memory that a compiled program has before its first instruction: its text, and its global variables.

    0 if it is not in the known format.
    """
    if not binary.startswith(_ELF_64_LITTLE):
        return 0
    try:
        (table,) = struct.unpack_from("<Q", binary, _TABLE_AT)
        size, count = struct.unpack_from("<HH", binary, _ENTRY_SIZE_AT)
        return sum(_memory(binary, table + size * number) for number in range(count))
    except struct.error:  # it is cut off
        return 0


def _memory(binary: bytes, entry: int) -> int:
    (kind,) = struct.unpack_from("<I", binary, entry)
    (memory,) = struct.unpack_from("<Q", binary, entry + _MEMORY_AT)
    return int(memory) if kind == _LOADED else 0
