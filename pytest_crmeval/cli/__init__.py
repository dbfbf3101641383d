"""`crmeval`: what is not a test run. Never imports pytest."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from pytest_crmeval.cli import calibrate, describe, generate, lint, merge, report
from pytest_crmeval.cli.terminal import UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crmeval",
        description="Look at the cases and runs of pytest-crmeval. To run: pytest evals/ -n 3",
    )
    parser.add_argument("--version", action="version", version=f"crmeval {version('pytest-crmeval')}")
    commands = parser.add_subparsers(title="commands", required=True)
    for name, module, what in (
        ("report", report, "show the figures of a run"),
        ("merge", merge, "join the runs of shards"),
        ("lint", lint, "look for cases that nobody can pass"),
        ("describe", describe, "see what conversations are made of"),
        ("generate", generate, "write conversations"),
        ("calibrate", calibrate, "see whether scores can be believed"),
    ):
        described = commands.add_parser(
            name, help=what, description=module.HELP, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.configure(described)
        described.set_defaults(command=module.run)
    return parser
