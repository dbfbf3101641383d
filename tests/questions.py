"""Small questions, and files of them."""

import csv
import json
from io import StringIO
from typing import Any

from pytest_crmeval.journal.cipher import encrypted
from pytest_crmeval.questions.question import Grader, Question

CANARY = "canary of the tests"


def asked(grader: str = "exact", answer: str = "Paris", **changes: Any) -> Question:  # noqa: ANN401 (fields)
    """Return a question."""
    text = "What is the capital of France?"
    fields: dict[str, Any] = {"id": "one", "fingerprint": "f", "text": text, **changes}
    return Question(answer=answer, grader=Grader(grader), **fields)


def record(name: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a question as a line of a file."""
    text = "What is the capital of France?"
    return {"id": name, "question": text, "answer": "Paris", "grader": "exact", **changes}


def lines(*records: dict[str, Any]) -> str:
    """Return records as JSON Lines."""
    return "".join(json.dumps(each) + "\n" for each in records)


def table(*rows: list[str]) -> str:
    """Return rows as CSV."""
    out = StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def browsecomp(*pairs: tuple[str, str], canary: str = CANARY) -> str:
    """Return questions and answers as BrowseComp has them."""
    rows = [[encrypted(problem, canary), encrypted(answer, canary), "Topic", canary] for problem, answer in pairs]
    return table(["problem", "answer", "problem_topic", "canary"], *rows)
