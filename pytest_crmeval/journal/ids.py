"""What runs, and their files, are called."""

import re
from datetime import UTC, datetime

LATEST = "latest"
JOURNAL = "trials.jsonl"
"""What the journal in the folder of a run is called."""
JUDGEMENTS = "judgements"
"""Where, beside the runs, a judge's opinions are kept."""
INDEXES = ".indexes"
"""Folder, next to the runs, with the indexes of large case files."""
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def new_run() -> str:
    """Return a name that sorts by time, and that nobody else has."""
    import secrets

    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def problem_of(run: str) -> str:
    """Return why a run can't be called so; nothing if it can."""
    if run in {LATEST, JUDGEMENTS} or run.endswith((".json", ".part")) or not _RUN_ID.fullmatch(run):
        return (
            "use up to 40 letters, digits, '.', '_' and '-', starting with a letter or digit; "
            "'latest', 'judgements' and what ends with '.json' or '.part' are taken"
        )
    return ""
