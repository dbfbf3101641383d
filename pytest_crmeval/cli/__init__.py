"""`crmeval`: what is not a test run. Never imports pytest, and of its commands only the one that is asked for."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from pytest_crmeval.cli.terminal import UsageError

COMMANDS = {
    "submit": ("pytest_crmeval.cli.submit", "start a run in the background"),
    "run": ("pytest_crmeval.cli.run", "run or resume a submitted run here"),
    "status": ("pytest_crmeval.cli.status", "see how far a run is, or watch it"),
    "stop": ("pytest_crmeval.cli.stop", "stop a run gracefully"),
    "list": ("pytest_crmeval.cli.listing", "list the runs"),
    "report": ("pytest_crmeval.cli.report", "show the figures of a run"),
    "compare": ("pytest_crmeval.cli.compare", "compare two runs, case by case"),
    "gate": ("pytest_crmeval.cli.gate", "judge a report again"),
    "atlas": ("pytest_crmeval.cli.atlas", "see what the agents of a run have learnt"),
    "merge": ("pytest_crmeval.cli.merge", "join the runs of shards"),
    "lint": ("pytest_crmeval.cli.lint", "look for cases that nobody can pass"),
    "describe": ("pytest_crmeval.cli.describe", "see what conversations are made of"),
    "generate": ("pytest_crmeval.cli.generate", "write conversations"),
    "calibrate": ("pytest_crmeval.cli.calibrate", "see whether scores can be believed"),
}
"""Where each command is, and what it does. A module has HELP, ``configure(parser)`` and ``run(options)``."""
PASS_ON = (["submit"],)
"""Commands that have something for pytest."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    given, rest = _parted(given)
    options = _parser(given).parse_args(given, argparse.Namespace(rest=rest))
    try:
        _check_folder()
        status: int = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as error:
        sys.stderr.write(f"crmeval: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("crmeval: stopped\n")
        return 130  # as shells have it
    return status


def _check_folder() -> None:
    try:
        Path.cwd()
    except OSError as error:
        raise UsageError(f"can't use the current folder: {error.strerror}; change to another folder") from error


def _parted(given: list[str]) -> tuple[list[str], list[str]]:
    """Return what is for us, and what a command passes on to pytest: all that comes after ``--``."""
    if given[:1] not in PASS_ON or "--" not in given:
        return given, []
    end = given.index("--")
    return given[:end], given[end + 1 :]


class _Version(argparse.Action):
    """Tell the version; to find it takes longer than most commands do."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"crmeval {version('pytest-crmeval')}\n")
        parser.exit()


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser that knows all commands by name, and the one that is asked for in full."""
    parser = argparse.ArgumentParser(
        prog="crmeval",
        description="Submit, watch and stop runs of pytest-crmeval; look at cases and reports. "
        "To run here and now: pytest evals/ -n 3",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(title="commands", required=True)
    asked = next((word for word in given if not word.startswith("-")), "")
    for name, (place, what) in COMMANDS.items():
        described = commands.add_parser(name, help=what, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == asked:
            module = import_module(place)
            described.description = module.HELP
            module.configure(described)
            described.set_defaults(command=module.run)
    return parser
