"""``report.schema.json`` and the structs that reports are written from agree."""

import json
from functools import reduce
from importlib.resources import files
from typing import Any

import msgspec
import pytest

from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.answers import AnswerOutcome
from pytest_crmeval.domain.file_outcome import FileOutcome
from pytest_crmeval.domain.judgement import Grade, Judgement, LabelAgreement, Statement, StatementAnswer
from pytest_crmeval.domain.learning import Lesson, PlaybookEntry, Reward, RewardOpinion
from pytest_crmeval.domain.score import Score
from pytest_crmeval.domain.trial import Labels, PlannedCase, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Service, Usage
from pytest_crmeval.journal.checkpoints import CheckpointFigures, PassAt, Solved
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.report.comparison import CaseChange, Comparison, Contrast
from pytest_crmeval.report.judge_figures import JudgeFigures
from pytest_crmeval.report.learning_curve import Learning, PassShare, PlaybookEffect
from pytest_crmeval.report.metrics import Group, Metrics
from pytest_crmeval.report.outliers import Outlier, Reason
from pytest_crmeval.report.report import SERVICE, SubjectSummary
from pytest_crmeval.report.ruling import Ruling

DOCUMENT = json.loads((files("pytest_crmeval") / "report/report.schema.json").read_text(encoding="utf-8"))
RESULT, TRIAL = "properties/results/items", "properties/trials/items"
DERIVED = {"planned", "pass_rate", "cost_per_trial", "cost_per_pass", "tokens_per_pass", *SERVICE}
"""What a summary adds when it is written."""
STRUCTS = {
    f"{RESULT}/properties/reasons/items": Reason,
    f"{TRIAL}/properties/scores/items": Score,
    f"{TRIAL}/properties/labels": Labels,
    f"{TRIAL}/properties/turns/items": TurnOutcome,
    f"{TRIAL}/properties/answer": AnswerOutcome,
    "$defs/figure": Figure,
    "$defs/passed_of": PassShare,
    "$defs/learning": Learning,
    "$defs/learning/properties/comparison": PlaybookEffect,
    "$defs/entry": PlaybookEntry,
    "$defs/playbook": Playbook,
    "$defs/lesson": Lesson,
    "$defs/reward": Reward,
    "$defs/opinion": RewardOpinion,
    "$defs/pass_at/additionalProperties": PassAt,
    "$defs/solutions": FileOutcome,
    "$defs/checkpoint": CheckpointFigures,
    "$defs/checkpoint/properties/by/additionalProperties/additionalProperties": Solved,
    "$defs/standouts/items": Outlier,
    "$defs/ruling": Ruling,
    "$defs/comparison": Comparison,
    "$defs/contrast": Contrast,
    "$defs/changes/items": CaseChange,
    "$defs/bill": Bill,
    "$defs/bill/properties/usage": Usage,
    "$defs/service": Service,
    "$defs/judge": JudgeFigures,
    "$defs/label_agreement": LabelAgreement,
    "$defs/judgement": Judgement,
    "$defs/judgement/properties/grades/items": Grade,
    "$defs/judgement/properties/grades/items/properties/answers/items": StatementAnswer,
    "$defs/judgement/properties/statements/items": Statement,
    "$defs/metrics": Metrics,
    "$defs/case_groups/additionalProperties": Group,
}


def in_document(place: str) -> dict[str, Any]:
    """Return a part of the published schema."""
    found: dict[str, Any] = reduce(lambda node, name: node[name], place.split("/"), DOCUMENT)
    return found


def generated(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the schema that msgspec generates from a struct, without what it refers to."""
    (reference,), components = msgspec.json.schema_components([struct])
    found: dict[str, Any] = components[reference["$ref"].rpartition("/")[2]]
    return found


def types_of(schema: dict[str, Any]) -> set[str]:
    """Return the JSON types that a schema names, without null, which means absent."""
    kinds = [schema, *schema.get("anyOf", ())]
    named = [kind["type"] for kind in kinds if "type" in kind]
    return {each for found in named for each in ([found] if isinstance(found, str) else found)} - {"null"}


@pytest.mark.parametrize(("place", "struct"), STRUCTS.items(), ids=[each.__name__ for each in STRUCTS.values()])
def test_schema_and_struct_have_the_same_fields(place: str, struct: type[msgspec.Struct]) -> None:
    published, from_struct = in_document(place)["properties"], generated(struct)["properties"]

    assert published.keys() - {"$schema"} == from_struct.keys()
    kinds = {name: (types_of(published[name]), types_of(from_struct[name])) for name in from_struct}
    assert {} == {name: both for name, both in kinds.items() if all(both) and both[0] != both[1]}


def test_a_result_has_the_fields_of_a_summary() -> None:
    assert in_document(RESULT)["properties"].keys() == generated(SubjectSummary)["properties"].keys() | DERIVED


def test_a_trial_has_its_own_fields_and_those_of_its_planned_case() -> None:
    """Side by side; the transcript has a file of its own."""
    own = set(Trial.__struct_encode_fields__) - {"planned", "transcript", "colored"}

    assert in_document(TRIAL)["properties"].keys() == own | generated(PlannedCase)["properties"].keys()
