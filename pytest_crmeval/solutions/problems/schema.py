"""The JSON Schema of a line of a problem file, for editors and for generators of problems.

python -m pytest_crmeval.solutions.problems.schema > pytest_crmeval/solutions/problems/problem.schema.json
"""

import json
import sys
from typing import Any

import msgspec

from pytest_crmeval.domain.formats import address_of
from pytest_crmeval.solutions.problems.records import ProblemRecord


def schema() -> dict[str, Any]:
    """Return the schema of one line in our own format."""
    (reference,), definitions = msgspec.json.schema_components([ProblemRecord], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": address_of("crmeval.problem/1"),
        "title": "One programming problem: a line of a JSON Lines file",
        **reference,
        "$defs": definitions,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
