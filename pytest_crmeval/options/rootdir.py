"""Whether pytest has found the project, or has taken a file of ours for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest


def check_rootdir(config: pytest.Config, given: Mapping[str, Sequence[Path]]) -> None:
    """Refuse a run whose rootdir is what it is because of where an option of ours points to.

    pytest looks for the rootdir before it knows our options. It takes the value of one that is written with a blank for
    something to collect; then the project's settings are not read, and reports would be written beside the data.
    """
    here, root = config.invocation_params.dir, config.rootpath
    if getattr(config.option, "rootdir", None) or config.inipath or root == here:
        return
    for option, paths in given.items():
        for path in paths:
            if path.is_relative_to(root) and not path.is_relative_to(here):
                raise pytest.UsageError(
                    f"pytest takes {root} for your project, because of {option} {path}: write it with '=', "
                    f"{option}={path}, or name what to collect, or give --rootdir"
                )
