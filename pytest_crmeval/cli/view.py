"""`crmeval view`: all runs in a browser."""

import argparse
import sys

from pytest_crmeval.cli.places import add_reports, all_reports
from pytest_crmeval.cli.terminal import UsageError

HELP = """\
Show all runs in a browser: their results, trends over runs, runs in progress live, comparisons of any two runs, and a
search over all dialogues.

    crmeval view                                    # prints an address; open it in a browser on this machine
    crmeval view --port 8321                        # always the same port, for example behind an SSH tunnel

Only this machine can reach the address, and only with the token in it. Nothing is sent to another machine. The index,
.indexes/view-1.sqlite3 in the reports folder, may be deleted at any time. Ctrl-C ends the server.

Exit status: 130 after Ctrl-C; 2 if there is no reports folder, or the port is in use.
"""
LAST_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--port", type=_port, default=0, help="port to listen on (default: a free one)")
    add_reports(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from pytest_crmeval.viewer.server import ViewServer
    from pytest_crmeval.viewer.site import Site

    folders = [folder.resolve() for folder in all_reports(options)]
    if not folders[0].is_dir():
        raise UsageError(f"there is no folder {folders[0]}; start a run: crmeval submit evals/")
    try:
        server = ViewServer(options.port)
    except OSError as error:
        raise UsageError(f"--port {options.port}: {error.strerror}; choose another one") from error
    with server:
        server.site = site = Site(folders, server.root)
        try:
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            site.start()
            server.serve_forever()
        finally:
            site.close()
    return 0


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= LAST_PORT:
        raise argparse.ArgumentTypeError(f"must be from 0 to {LAST_PORT}, not {text}")
    return port
