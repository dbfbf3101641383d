"""The answers of a Piston server, read strictly: an unexpected answer is the server's failure, not the program's."""

import json
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.piston.wire import PistonAnswer

_EXCEEDED = re.compile(r"(\w+) cannot exceed the configured limit of (\d+)")
_UNKNOWN = "runtime is unknown"
_EXHAUSTED = ("Resource temporarily unavailable", "No space left on device")
_NO_COMMAND = re.compile(
    r"^/\S+/(?:run|compile): line \d+: .*: (?:command not found|No such file or directory|Permission denied)$",
    re.MULTILINE,
)
"""What a shell says when the script of a language does not find its interpreter."""
_NOT_FOUND = {126, 127}
_TOO_LARGE = "PayloadTooLargeError"
_SHOWN = 300
"""Characters of an unexpected answer that are shown."""


class TroubleError(Exception):
    """A failure of the server: another server, or another attempt, may help."""

    def __init__(self, reason: str, *, sick: bool = False) -> None:
        super().__init__(reason)
        self.sick = sick
        """Whether the next request to this server would fail as well."""


class ExceededError(Exception):
    """A limit that was asked for is above what the server allows."""

    def __init__(self, field_name: str, maximum: int) -> None:
        super().__init__(f"{field_name} is at most {maximum}")
        self.field = field_name
        self.maximum = maximum


class TooLowError(SandboxError):
    """A limit of one server is too low, so the result is unknown; another server may allow more."""

    def __init__(self, reason: str, address: str = "") -> None:
        super().__init__(reason)
        self.address = address


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How compiling or running ended, as the server reports it."""

    stdout: str = field(repr=False)
    stderr: str = field(repr=False)
    code: int | None
    signal: str
    status: str
    """TO, OL, EL, SG, RE, XX; empty for a program that ended well, and on old servers."""
    message: str
    cpu_seconds: float | None
    wall_seconds: float | None
    memory_bytes: int | None
    old: bool
    """Whether the server is too old to report a status."""

    @property
    def failed(self) -> bool:
        """Whether it ended in any other way than well."""
        return self.code != 0

    @property
    def starved(self) -> bool:
        """Whether it failed for lack of processes, memory or space: the fault of the server, or of the program."""
        return self.failed and any(words in self.stderr for words in _EXHAUSTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The answer to a program."""

    run: Stage
    compile: Stage | None = None
    seconds: float = 0.0
    """Seconds as we measured them, including the network and the server's queue."""

    @property
    def refused(self) -> bool:
        """Whether the compiler did not make a program of it."""
        return self.compile is not None and self.compile.failed


def ran(answer: PistonAnswer, version: str = "", token: str = "") -> Ran:
    """Read the answer to a program; raise whatever else it says.

    ``version`` is what was asked for, and ``token`` what the runner writes if it has failed itself.
    """
    if answer.status != HTTPStatus.OK:
        raise _refusal(answer)
    found = _json(answer)
    if version and found.get("version") not in {None, version}:
        raise TroubleError(f"it ran version {found['version']} instead of {version}", sick=True)
    run = _stage(found.get("run"))
    compiled = found.get("compile")
    stages = [run] if compiled is None else [run, _stage(compiled)]
    for stage in stages:
        if stage.status == "XX":
            raise TroubleError(f"its isolation failed: {_shown(stage.message or stage.stderr)}")
        if stage.code in _NOT_FOUND and (missing := _NO_COMMAND.search(stage.stderr)):
            raise TroubleError(f"a language is not completely installed on it: {_shown(missing[0])}", sick=True)
    if token and not run.starved and (failed := re.search(rf"^{token} .*", run.stderr, re.MULTILINE)):
        raise TroubleError(f"the runner failed: {_shown(failed[0].removeprefix(token))}")
    return Ran(run=run, compile=None if compiled is None else stages[1], seconds=answer.seconds)


def runtimes(answer: PistonAnswer) -> list[dict[str, Any]]:
    """Read the list of languages; TroubleError if it is none."""
    if answer.status != HTTPStatus.OK:
        raise TroubleError(f"it is not a Piston server: /runtimes answered {answer.status}", sick=True)
    try:
        rows = json.loads(answer.body)
    except ValueError as error:
        raise TroubleError("it is not a Piston server: /runtimes is not JSON", sick=True) from error
    if not (isinstance(rows, list) and all(_is_runtime(row) for row in rows)):
        raise TroubleError("it is not a Piston server: /runtimes is not a list of languages", sick=True)
    return rows


def _is_runtime(row: object) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(name), str) for name in ("language", "version"))


def _refusal(answer: PistonAnswer) -> Exception:
    """Return what an answer that is not 200 means."""
    text = answer.body.decode("utf-8", "replace")
    if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or _TOO_LARGE in text:
        return TooLowError(
            "the program and its input are larger than a request to the Piston server can be (100 kB by default); "
            "raise the limit of its body parser, or use --crmeval-sandbox local"
        )
    if answer.status != HTTPStatus.BAD_REQUEST:
        return _mishap(answer.status, text)
    exceeded = _EXCEEDED.search(text)
    if exceeded:
        return ExceededError(exceeded[1], int(exceeded[2]))
    if _UNKNOWN in text:
        return TroubleError(f"a language is no longer installed on it: {_shown(text)}", sick=True)
    return SandboxError(f"the Piston server rejected the request: {_shown(text)}")


def _mishap(status: int, text: str) -> TroubleError:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return TroubleError("it has too many requests (status 429)")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TroubleError(f"it answered {status} {_shown(text)}".rstrip())
    return TroubleError(f"it answered {status}, which Piston servers don't send: {_shown(text)}", sick=True)


def _json(answer: PistonAnswer) -> dict[str, Any]:
    try:
        found = json.loads(answer.body)
    except ValueError as error:
        what = _shown(answer.body.decode("utf-8", "replace")) or "nothing"
        raise TroubleError(f"its answer is not JSON: {what}") from error
    if not isinstance(found, dict):
        raise TroubleError(f"its answer is not that of a Piston server: {_shown(str(found))}")
    return found


def _stage(found: object) -> Stage:
    if not (isinstance(found, dict) and all(isinstance(found.get(name), str) for name in ("stdout", "stderr"))):
        raise TroubleError(f"its answer does not say how the program ended: {_shown(json.dumps(found))}")
    kinds = {"code": int, "signal": str, "status": str, "message": str}
    odd = [name for name, kind in kinds.items() if not isinstance(found.get(name), kind | None)]
    if odd or (found.get("code") is None and not found.get("signal") and not found.get("status")):
        raise TroubleError(f"its answer does not say how the program ended: {_shown(json.dumps(found))}")
    output = found.get("output")
    if isinstance(output, str) and len(output) != len(found["stdout"]) + len(found["stderr"]):
        raise TroubleError("its answer is incomplete: stdout and stderr are not the whole output")
    memory = _number(found, "memory")
    return Stage(
        stdout=found["stdout"],
        stderr=found["stderr"],
        code=found.get("code"),
        signal=found.get("signal") or "",
        status=found.get("status") or "",
        message=found.get("message") or "",
        cpu_seconds=_seconds(found, "cpu_time"),
        wall_seconds=_seconds(found, "wall_time"),
        memory_bytes=None if memory is None else round(memory * 1.024),  # it takes a KiB for 1,000 bytes
        old="status" not in found,
    )


def _number(found: dict[str, Any], name: str) -> float | None:
    value = found.get(name)
    return float(value) if isinstance(value, int | float) else None


def _seconds(found: dict[str, Any], name: str) -> float | None:
    milliseconds = _number(found, name)
    return None if milliseconds is None else milliseconds / 1000


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return cut(line, _SHOWN, "...")
