"""The .env file of a project, which adds variables to the environment."""

import os
from pathlib import Path

DEFAULT = ".env"


def export(path: Path) -> str:
    """Set the variables of a file, except those that are set already; return the problem with it, without any value."""
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path)
        for name, value in found.items():
            if value is not None and not os.environ.get(name):  # empty is how CI sets a secret that it does not have
                os.environ[name] = value
    except (OSError, ValueError) as error:  # not UTF-8; a NUL in a value
        return f"{path}: could not be read: {type(error).__name__}"
    return ""
