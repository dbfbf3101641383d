"""The JSON Schema of a line of a conversation file, for editors and for other generators.

python -m pytest_crmeval.conversations.dataset.schema > pytest_crmeval/conversations/dataset/conversation.schema.json
"""

import json
import sys
from typing import Any

import msgspec

from pytest_crmeval.conversations.dataset.records import ConversationRecord
from pytest_crmeval.domain.formats import address_of


def schema() -> dict[str, Any]:
    """Return the schema of one line."""
    (reference,), definitions = msgspec.json.schema_components([ConversationRecord], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": address_of("crmeval.conversation/1"),
        "title": "One conversation: a line of a JSON Lines file",
        **reference,
        "$defs": definitions,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
