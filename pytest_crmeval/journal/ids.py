"""Names of runs and of their files."""

import re
from datetime import UTC, datetime

LATEST = "latest"
JOURNAL = "trials.jsonl"
"""File name of the journal in the folder of a run."""
JUDGEMENTS = "judgements"
"""Folder, next to the runs, with the cached grades of judges."""
INDEXES = ".indexes"
"""Folder, next to the runs, with the indexes of large case files."""
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def new_run() -> str:
    """Return a unique name that sorts by time."""
    import secrets

    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def problem_of(run: str) -> str:
    """Return why ``run`` is not a valid id of a run; empty if it is valid."""
    if run in {LATEST, JUDGEMENTS} or run.endswith((".json", ".part")) or not _RUN_ID.fullmatch(run):
        return (
            "use up to 40 letters, digits, '.', '_' and '-', starting with a letter or digit; "
            "'latest', 'judgements' and names that end with '.json' or '.part' are reserved"
        )
    return ""
