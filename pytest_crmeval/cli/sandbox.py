"""`crmeval sandbox`: show how programs are isolated on this machine, and try to break out."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from pytest_crmeval.cli.terminal import UsageError

if TYPE_CHECKING:
    from pytest_crmeval.ports.sandbox import Sandbox

HELP = """\
Show where the programs of solution files run, what they can access there, and which languages work. Each line is the
result of a program that has just tried it.

    crmeval sandbox                            # the local sandbox, at the strongest level of this machine
    crmeval sandbox --level landlock           # another level
    crmeval sandbox http://localhost:2000      # Piston servers

Exit status: 0 if programs are isolated, 1 if a program could do what the level should prevent, or if the level or
server is not available, 2 if the arguments are wrong.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    from pytest_crmeval.sandboxes.local.probing import AUTO, LEVELS

    parser.add_argument("where", nargs="?", default="local", help="local (default), or addresses of Piston servers")
    parser.add_argument("--level", choices=(AUTO, *LEVELS), default=AUTO, help="level of the local sandbox to try")


def run(options: argparse.Namespace) -> int:
    """Try the sandbox, and print what was found."""
    from pytest_crmeval.ports.sandbox import SandboxError

    try:
        if options.where == "local":
            return _local(options.level)
        return _piston(options.where)
    except SandboxError as error:
        sys.stdout.write(f"{error}\n")
        return 1


def _local(level: str) -> int:
    from pytest_crmeval.sandboxes.local import LocalSandbox
    from pytest_crmeval.sandboxes.local.attempts import attempts

    with closing(LocalSandbox(level, workers=1, unsafe=level == "rlimits")) as sandbox:
        _print(f"sandbox: {sandbox.name}", "")
        escapes = 0
        for attempt in attempts(sandbox):
            escapes += attempt.is_escape
            _print(f"  {attempt.name:42} {attempt.shown}")
        _print("", *_languages(sandbox))
        if escapes:
            _print("", f"{escapes} of these should not be possible at the level {sandbox.level!r}: please report it")
    return 1 if escapes or sandbox.level == "rlimits" else 0


def _piston(where: str) -> int:
    from pytest_crmeval.sandboxes.piston import PistonSandbox

    try:
        sandbox = PistonSandbox(where)
    except ValueError as error:
        raise UsageError(error) from error
    with closing(sandbox):
        _print(f"sandbox: {sandbox.name}", *(f"  note: {note}" for note in sandbox.notes), "", *_languages(sandbox))
    return 0


def _languages(sandbox: "Sandbox") -> Iterator[str]:
    from pytest_crmeval.sandboxes.languages import TITLES

    yield "languages:"
    for language, name in TITLES.items():
        yield f"  {name:12} {' '.join(sandbox.missing(language).split()) or 'works'}"


def _print(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
