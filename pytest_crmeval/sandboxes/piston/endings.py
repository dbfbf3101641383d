"""How a run ended, by the answer of the server: a limit of the server itself is never the failure of a program."""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_crmeval.ports.sandbox import Execution, Limits, SandboxError, Termination
from pytest_crmeval.sandboxes.piston.answers import Ran, Stage, TooLowError, TroubleError
from pytest_crmeval.sandboxes.piston.frames import Frame
from pytest_crmeval.sandboxes.piston.messages import compilers, last
from pytest_crmeval.sandboxes.signals import HIGHEST, name_of

_SHELL = 128
"""A shell adds the number of a signal to it."""
_SIGNALS = {number: name_of(number) for number in range(1, HIGHEST + 1)}
_HARDLY = 0.1
_NEARLY = 0.95
"""Share of the memory limit: a program that is killed above it was killed for its memory."""
_NO_MEMORY = re.compile(r"^MemoryError\b|instance of 'std::bad_alloc'", re.MULTILINE)
_BROKEN_COMPILER = re.compile(
    r"^[^\s|][^|\n]*(?:internal compiler error|Killed signal terminated program|cannot execute|"
    r"virtual memory exhausted|Cannot allocate memory|No space left on device|command not found|unexpectedly panicked)",
    re.MULTILINE,
)
"""What compilers say when they could not do their work, which is not an error of the program."""
_REPLACED = "\ufffd"
"""What a server inserts for bytes that are not text, or that it has cut in two."""


class UnseenError(Exception):
    """The server has ended the program or changed its output, so that only a framed run can show the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """What was asked for, and what the server granted."""

    limits: Limits
    granted: Mapping[str, int]
    address: str
    overhead: float = 0.0
    """Seconds of CPU time that the server needs to compile a program while it runs it."""

    @property
    def wall_is_ours(self) -> bool:
        """Whether the wall clock limit is the one that was asked for."""
        return self.granted["run_timeout"] >= round(self.limits.wall_seconds * 1000)

    @property
    def cpu_is_ours(self) -> bool:
        """Whether the CPU limit is the one that was asked for."""
        return self.granted["run_cpu_time"] >= round(self.limits.cpu_seconds * 1000)

    @property
    def memory(self) -> float:
        """Bytes that were granted."""
        return self.granted["run_memory_limit"] * 1.024

    @property
    def memory_is_ours(self) -> bool:
        """Whether the memory limit is the one that was asked for, but for what is lost by rounding."""
        return self.memory > self.limits.memory_bytes - 2048

    def too_low(self, setting: str, granted: str, wanted: str) -> TooLowError:
        """Return the error for a program that reached a limit of the server, which is lower than its own."""
        return TooLowError(
            f"the Piston server {self.address} stopped the program at its own limit ({granted}), which is lower than "
            f"that of the problem ({wanted}); start the server with a higher {setting}",
            self.address,
        )


def execution(ran: Ran, terms: RunTerms) -> Execution:
    """Return how a run without a frame ended; UnseenError if the answer does not show it."""
    stage = ran.run
    if stage.status in {"OL", "EL"} or _REPLACED in stage.stdout:
        raise UnseenError
    if stage.old and stage.signal == "SIGKILL" and not _waited_out(ran, terms):
        raise UnseenError  # it may have printed more than the server takes, which an old one does not tell
    stdout = stage.stdout.encode("utf-8", "surrogatepass")
    ended = _ended(ran, terms, stage.stderr)
    most = terms.limits.output_bytes
    if len(stdout) > most and ended.ending is not Termination.MEMORY:
        ended = _over(ended)
    return replace(ended, stdout=stdout[:most], stderr=last(stage.stderr))


def framed_execution(ran: Ran, frame: Frame | None, names: tuple[str, ...], terms: RunTerms) -> Execution:
    """Return how a run ended whose output came back in a frame; None: it was ended together with the runner."""
    if frame is None:
        return _unframed(ran, terms)
    of_program = Ran(
        run=replace(ran.run, code=frame.code, signal=frame.signal, status="", message=""), seconds=ran.seconds
    )
    stderr = frame.stderr.decode("utf-8", "replace")
    ended = _ended(of_program, terms, stderr)
    if max(frame.sizes) > terms.limits.output_bytes:
        return _over(ended)
    if frame.room <= max(frame.sizes):
        raise terms.too_low("PISTON_MAX_FILE_SIZE", f"{frame.room:,} bytes per file", _output(terms))
    if frame.contents is None:
        raise terms.too_low("PISTON_OUTPUT_MAX_SIZE", f"less than {sum(frame.sizes) * 4 // 3:,} bytes", _output(terms))
    stdout, *contents = frame.contents
    brought = zip(names, contents, frame.sizes[1:], strict=True)
    files = {name: content for name, content, size in brought if size >= 0}
    return replace(ended, stdout=stdout, stderr=frame.stderr, files=files)


def refusal(stage: Stage, granted: Mapping[str, int], address: str) -> Execution:
    """Return how the compiler rejected a program; SandboxError if it did not get that far."""
    if stage.status in {"OL", "EL"}:
        raise TooLowError(
            f"the compiler's messages are longer than the Piston server {address} allows; start it with a higher "
            "PISTON_OUTPUT_MAX_SIZE",
            address,
        )
    cpu = stage.cpu_seconds or 0.0
    if stage.status == "TO" and 2 * cpu * 1000 < granted["compile_timeout"]:
        raise SandboxError(
            f"the compiler got only {cpu:.1f} s of CPU time on the Piston server {address} within its time limit of "
            f"{granted['compile_timeout'] / 1000:g} s; send fewer requests at once (?in_flight=1)"
        )
    ending = Termination.WALL_TIME if stage.code is None else Termination.EXITED
    return Execution(
        ending=ending,
        exit_code=stage.code,
        stdout=compilers(stage.stdout),
        stderr=compilers(stage.stderr),
        cpu_seconds=stage.cpu_seconds,
        wall_seconds=stage.wall_seconds,
        memory_bytes=stage.memory_bytes,
    )


def check_compiler(ran: Ran) -> None:
    """Raise TroubleError if the compiler was killed or broke, which is not an error of the program."""
    stage = ran.compile
    if stage is None or not stage.failed or stage.status in {"OL", "EL", "TO"}:
        return
    if stage.code is None or stage.code - _SHELL in {signal.SIGKILL, signal.SIGTERM}:
        raise TroubleError(f"its compiler was killed by {_exit(stage)[1]}")
    if broken := _BROKEN_COMPILER.search(stage.stderr):
        raise TroubleError(f"its compiler failed: {broken[0].strip()}")


def _unframed(ran: Ran, terms: RunTerms) -> Execution:
    stage = ran.run
    ended = _ended(ran, terms, stage.stderr)
    if ended.ending is Termination.EXITED or stage.status in {"OL", "EL"}:
        raise SandboxError(f"the Piston server {terms.address} did not return the output of the program")
    return replace(ended, stderr=last(stage.stderr))


def _over(ended: Execution) -> Execution:
    """Turn an ending into that of a program which printed too much, whatever it did when it could print no more."""
    return replace(ended, ending=Termination.OUTPUT, exit_code=None, signal="")


def _output(terms: RunTerms) -> str:
    return f"{terms.limits.output_bytes:,} bytes of output"


def _ended(ran: Ran, terms: RunTerms, stderr: str) -> Execution:
    stage = ran.run
    ending = _limit(ran, terms, stderr)
    code, name = _exit(stage)
    if ending is None:
        ending = Termination.SIGNALLED if name else Termination.EXITED
    return Execution(
        ending=ending,
        exit_code=code if ending is Termination.EXITED else None,
        signal=name if ending is Termination.SIGNALLED else "",
        cpu_seconds=None if stage.cpu_seconds is None else max(0.0, stage.cpu_seconds - terms.overhead),
        wall_seconds=stage.wall_seconds,
        memory_bytes=stage.memory_bytes,
    )


def _exit(stage: Stage) -> tuple[int | None, str]:
    """Return exit code and signal: a program that was signalled within a shell looks as if it had exited."""
    if stage.code is None:
        return None, stage.signal or "SIGKILL"
    name = _SIGNALS.get(stage.code - _SHELL, "")
    return (None, name) if name else (stage.code, stage.signal)


def _limit(ran: Ran, terms: RunTerms, stderr: str) -> Termination | None:
    """Return the limit that ended the program; None if none did."""
    stage, limits = ran.run, terms.limits
    if stage.memory_bytes is not None and stage.memory_bytes > limits.memory_bytes:
        return Termination.MEMORY
    if stage.cpu_seconds is not None and stage.cpu_seconds - terms.overhead > limits.cpu_seconds:
        return Termination.CPU_TIME
    if stage.status == "TO":
        return _wall(terms) if "wall" in stage.message else _cpu(terms)
    if _out_of_memory(stage, terms, stderr):
        return _memory(terms)
    return _killed(ran, terms)


def _killed(ran: Ran, terms: RunTerms) -> Termination | None:
    """Return the limit for which a program was killed where there is no status; None if that was not the reason."""
    stage = ran.run
    name = _exit(stage)[1]
    if stage.old and name == "SIGKILL" and _waited_out(ran, terms):
        return _wall(terms)
    used = (stage.cpu_seconds or 0.0) * 1000 >= terms.granted["run_cpu_time"]
    if not stage.status and name in {"SIGKILL", "SIGXCPU"} and used:
        return _cpu(terms)
    return None


def _cpu(terms: RunTerms) -> Termination:
    if not terms.cpu_is_ours:
        granted = f"{terms.granted['run_cpu_time'] / 1000:g} s of CPU time"
        raise terms.too_low("PISTON_RUN_CPU_TIME", granted, f"{terms.limits.cpu_seconds:g} s")
    return Termination.CPU_TIME


def _wall(terms: RunTerms) -> Termination:
    if not terms.wall_is_ours:
        granted = f"{terms.granted['run_timeout'] / 1000:g} s"
        wanted = f"{terms.limits.cpu_seconds:g} s of CPU within {terms.limits.wall_seconds:g} s"
        raise terms.too_low("PISTON_RUN_TIMEOUT", granted, wanted)
    return Termination.WALL_TIME


def _out_of_memory(stage: Stage, terms: RunTerms, stderr: str) -> bool:
    if not stage.failed:
        return False
    killed = _exit(stage)[1] == "SIGKILL" and (stage.memory_bytes or 0) >= _NEARLY * terms.memory
    return killed or _NO_MEMORY.search(stderr) is not None


def _memory(terms: RunTerms) -> Termination:
    if not terms.memory_is_ours:
        wanted = f"{terms.limits.memory_bytes:,} bytes"
        raise terms.too_low("PISTON_RUN_MEMORY_LIMIT", f"{round(terms.memory):,} bytes of memory", wanted)
    return Termination.MEMORY


def _waited_out(ran: Ran, terms: RunTerms) -> bool:
    """Whether a run took as long as it might have: all that is known of an old server's time limit."""
    return ran.seconds * 1000 >= terms.granted["run_timeout"]


def only_waited(ran: Ran, granted: Mapping[str, int]) -> bool:
    """Whether a run reached the wall time limit with hardly any CPU time: the program slept, or the server was busy."""
    stage = ran.run
    is_late = stage.status == "TO" and "wall" in stage.message
    return is_late and (stage.cpu_seconds or 0.0) * 1000 < _HARDLY * granted["run_timeout"]
