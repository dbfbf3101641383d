"""A hook of mkdocs: the pages on commands and exit statuses take their text from `crmeval COMMAND --help`."""

import argparse
import re
from collections.abc import Iterator
from typing import Any

from pytest_crmeval.cli import COMMANDS, parser_for

COMMANDS_HERE = "<!-- the commands -->"
STATUSES_HERE = "<!-- the exit statuses of commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:  # noqa: ANN401 (mkdocs has no types)
    """Insert what is generated."""
    if COMMANDS_HERE in markdown:
        markdown = markdown.replace(COMMANDS_HERE, "\n".join(commands()))
    if STATUSES_HERE in markdown:
        markdown = markdown.replace(STATUSES_HERE, "\n".join(statuses()))
    return markdown


def commands() -> Iterator[str]:
    """Yield a section for each command: its help, and a table of its arguments."""
    for name, parser in _parsers():
        yield f"## crmeval {name}\n\n{(parser.description or '').strip()}\n"
        yield "| argument | meaning |\n|---|---|"
        yield from (_row(action) for action in parser._actions if action.dest != "help")  # noqa: SLF001 (no other way)
        yield ""


def statuses() -> Iterator[str]:
    """Yield a table with what the help of each command says about its exit status."""
    yield "| command | exit status |\n|---|---|"
    for name, parser in _parsers():
        found = re.search(r"Exit status: (.*?)(?:\n\n|$)", parser.description or "", re.DOTALL)
        if found:
            yield f"| [`crmeval {name}`](commands.md#crmeval-{name}) | {_cell(found[1])} |"


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    main = parser_for(list(COMMANDS))
    (commands,) = [action for action in main._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
    yield from commands.choices.items()


def _row(action: argparse.Action) -> str:
    metavar = action.metavar or "|".join(map(str, action.choices or ()))
    names = ", ".join(action.option_strings)
    takes = (
        "" if action.nargs == 0 else f"{metavar or action.dest.upper()}{' ...' if action.nargs in {'*', '+'} else ''}"
    )
    return f"| `{_cell(f'{names} {takes}'.strip())}` | {_cell(action.help or '')} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
