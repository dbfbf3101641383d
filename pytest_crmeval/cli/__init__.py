"""The program `crmeval`: everything but the test run. Never imports pytest, and loads only the requested command."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from pytest_crmeval.cli.terminal import UsageError

COMMANDS = {
    "init": ("pytest_crmeval.cli.init", "write a first evaluation project"),
    "submit": ("pytest_crmeval.cli.submit", "start a run in the background"),
    "run": ("pytest_crmeval.cli.run", "run or resume a submitted run here"),
    "judge": ("pytest_crmeval.cli.judge", "run and grade the programs of checkpoints"),
    "status": ("pytest_crmeval.cli.status", "show the progress of a run, or watch it"),
    "stop": ("pytest_crmeval.cli.stop", "stop a run gracefully"),
    "list": ("pytest_crmeval.cli.listing", "list the runs"),
    "view": ("pytest_crmeval.cli.view", "show all runs in a browser"),
    "report": ("pytest_crmeval.cli.report", "show the figures of a run"),
    "show": ("pytest_crmeval.cli.show", "show one case with its dialogue"),
    "export": ("pytest_crmeval.cli.export", "write a run as tables, or as logs for Inspect"),
    "compare": ("pytest_crmeval.cli.compare", "compare two runs, case by case"),
    "gate": ("pytest_crmeval.cli.gate", "evaluate gates on a stored report"),
    "atlas": ("pytest_crmeval.cli.atlas", "show what the agents of a run have learned"),
    "merge": ("pytest_crmeval.cli.merge", "join the runs of shards"),
    "lint": ("pytest_crmeval.cli.lint", "find cases that no agent can pass"),
    "describe": ("pytest_crmeval.cli.describe", "summarise files of conversations"),
    "generate": ("pytest_crmeval.cli.generate", "write conversations"),
    "serve-crm": ("pytest_crmeval.cli.serve_crm", "serve the CRM of a conversation over MCP"),
    "models": ("pytest_crmeval.cli.models", "list the known models"),
    "sandbox": ("pytest_crmeval.cli.sandbox", "show and test the isolation of programs"),
    "calibrate": ("pytest_crmeval.cli.calibrate", "check the scorers with agents whose verdict is known"),
}
"""Where each command is, and what it does. A module has HELP, ``configure(parser)`` and ``run(options)``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given, rest = list(sys.argv[1:] if arguments is None else arguments), list[str]()
    if given[:1] in (["submit"], ["judge"]) and "--" in given:  # the rest is for pytest
        end = given.index("--")
        given, rest = given[:end], given[end + 1 :]
    command = [word for word in given if not word.startswith("-")][:1]
    parser = parser_for(command)
    if not given:
        parser.print_help(sys.stderr)
        return 2
    options = parser.parse_args(given, argparse.Namespace(rest=rest))
    try:
        _check_folder()
        status: int = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it
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


class _Version(argparse.Action):
    """Show the version; finding it takes longer than most commands do."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"crmeval {version('pytest-crmeval')}\n")
        parser.exit()


class _Completion(argparse.Action):
    """Print the completion script for a shell, which knows the arguments of all commands."""

    def __call__(self, parser: argparse.ArgumentParser, _namespace: object, shell: object, *_: object) -> None:
        import shtab

        sys.stdout.write(shtab.complete(parser_for(list(COMMANDS)), str(shell)) + "\n")
        parser.exit()


def parser_for(asked: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with the names of all commands, and the arguments of those in ``asked``."""
    main_parser = argparse.ArgumentParser(
        prog="crmeval",
        description="Manage runs, cases and reports of pytest-crmeval. "
        "To run an evaluation in this terminal: pytest evals/ -n 3",
    )
    main_parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    main_parser.add_argument(
        "--print-completion",
        action=_Completion,
        choices=("bash", "zsh", "tcsh"),
        help='print a completion script; bash: eval "$(crmeval --print-completion bash)"',
    )
    commands = main_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (place, what) in COMMANDS.items():
        described = commands.add_parser(name, help=what, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in asked:
            module = import_module(place)
            described.description = module.HELP
            module.configure(described)
            described.set_defaults(command=module.run)
    return main_parser
