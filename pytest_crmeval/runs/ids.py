"""What a run may be called."""

import re

JUDGEMENTS = "judgements"
"""Where, beside the runs, a judge's opinions are kept."""
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def objection_to(run: str) -> str:
    """Return why a run can't have this id; nothing if it can."""
    if run in {"latest", JUDGEMENTS} or run.endswith((".json", ".part")) or not _RUN_ID.fullmatch(run):
        return (
            "use up to 40 letters, digits, '.', '_' and '-', starting with a letter or digit; "
            "'latest', 'judgements' and what ends with '.json' or '.part' are taken"
        )
    return ""
