"""Every JSON document names its JSON Schema at a stable address, and follows it."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from pytest_crmeval import cli
from pytest_crmeval.journal import transcripts
from pytest_crmeval.journal.jobs import BackgroundRun, Task, write_job
from tests.doc_examples import keep_examples
from tests.pages import trials_of

ROOT = Path(__file__).parents[1]
FILES = (*(ROOT / "docs/schemas").glob("*.json"), *(ROOT / "pytest_crmeval").rglob("*.schema.json"))
PUBLISHED = {schema["$id"]: schema for schema in (json.loads(path.read_text(encoding="utf-8")) for path in FILES)}
REGISTRY = Registry().with_resources((address, Resource.from_contents(schema)) for address, schema in PUBLISHED.items())
HANDMADE = str(ROOT / "tests/data/handmade.jsonl")
COMMANDS = (
    ["list", "--json"],
    ["status", "today", "--json"],
    ["compare", "nightly", "today", "--json"],
    ["report", "today", "--json"],
    ["lint", HANDMADE, "--format", "json"],
    ["describe", HANDMADE, "--format", "json"],
)


def checked(content: str) -> str:
    """Return the name of the schema that a document names and follows."""
    document = json.loads(content)
    schema = PUBLISHED[document["$schema"]]
    errors = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(schema, registry=REGISTRY).iter_errors(document)
    ]

    assert [] == errors
    assert next(iter(document)) == "$schema"  # where an editor looks for it
    return str(document["$schema"]).rpartition("/")[2]


def test_documents_name_their_schemas_and_follow_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reports, transcripts, jobs, and what commands print as JSON; confidential transcripts as well."""
    monkeypatch.chdir(tmp_path)
    reports = tmp_path / "reports"
    keep_examples(reports)
    (played,) = trials_of(1)
    written = [
        transcripts.write(tmp_path / "open", played, exchanges=[{"model": "m"}], judged=[{"model": "m"}]),
        transcripts.write(tmp_path / "closed", played, canary="crmeval f00d"),
        reports / "judged.json",
        reports / "job.json",
    ]
    task = Task(suite="crm", subject="mine", total=3, cost=None)
    write_job(reports, BackgroundRun(id="job", command=["pytest"], cwd="/", submitted="2026-11-17", tasks=[task]))
    printed = []
    for command in COMMANDS:
        assert 0 == cli.main(command), command
        printed.append(capsys.readouterr().out)

    found = [checked(content) for content in (*(path.read_text(encoding="utf-8") for path in written), *printed)]

    assert [
        *("transcript-1.json", "transcript-1.json", "report-1.json", "job-1.json", "runs-1.json", "status-1.json"),
        *("comparison-1.json", "report-1.json", "lint-1.json", "describe-1.json"),
    ] == found


def test_published_schemas_are_valid() -> None:
    for schema in PUBLISHED.values():
        Draft202012Validator.check_schema(schema)
