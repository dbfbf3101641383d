"""Short names for ids that the CRM generated, so that equal trials look the same."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_crmeval.conversations.references import rows_of
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.evidence import Evidence
from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.transcript import Transcript

_ID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Aliases:
    """Generated id -> ``new-1``, in order of appearance; ids that an agent invented have no name."""

    names: Mapping[str, str]

    def __call__(self, text: str) -> str:
        """Return a text with the names in place of the ids."""
        return _ID.sub(lambda match: self.names.get(match[0].lower(), match[0]), text)


def aliases_of(case: Conversation, evidence: Evidence) -> Aliases:
    """Return names for the ids that the CRM generated, first for the reference, then for the agent."""
    seeded = {row_id.lower() for rows in case.seed.values() for row_id in rows}
    reference = evidence.reference
    found = [
        *_in_results(reference.transcript),
        *_in_rows(reference.after),
        *_in_results(evidence.transcript),
        *_in_rows(evidence.after),
    ]
    new = dict.fromkeys(row_id for row_id in found if row_id not in seeded)
    return Aliases({row_id: f"new-{number}" for number, row_id in enumerate(new, start=1)})


def _in_results(transcript: Transcript) -> Iterator[str]:
    for exchange in transcript.exchanges:
        for _, result in exchange.calls:
            for row in rows_of(result.value):
                yield from _ids(row)


def _in_rows(state: State) -> Iterator[str]:
    for rows in state.values():
        for row in rows:
            yield from _ids(row)


def _ids(row: object) -> Iterator[str]:
    for column, value in row.items() if isinstance(row, Mapping) else ():
        if str(column).endswith("_id") and isinstance(value, str) and _ID.fullmatch(value):
            yield value.lower()
