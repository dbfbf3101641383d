"""Shards that schedulers and CI systems assign by environment variables."""

import re

import pytest

from pytest_crmeval.options.schedulers import assigned_shard


def slurm(task: int, least: int, most: int, count: int) -> dict[str, str]:
    """Return the variables that SLURM sets for a task of an array."""
    values = {"ID": task, "MIN": least, "MAX": most, "COUNT": count}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in values.items()}


@pytest.mark.parametrize(
    ("environment", "shard"),
    [
        ({"CRMEVAL_SHARD": "2/4"}, "2/4"),
        (slurm(1, 1, 4, 4), "1/4"),
        (slurm(3, 0, 3, 4), "4/4"),
        (slurm(30, 10, 40, 4), "3/4"),
        (slurm(7, 7, 7, 1), "1/1"),
        ({"JOB_COMPLETION_INDEX": "0", "CRMEVAL_SHARD_COUNT": "8"}, "1/8"),
        ({"CI_NODE_INDEX": "5", "CI_NODE_TOTAL": "5"}, "5/5"),
        ({"CIRCLE_NODE_INDEX": "4", "CIRCLE_NODE_TOTAL": "5"}, "5/5"),
        ({"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "3"}, "1/3"),
        ({"CRMEVAL_SHARD": "1/2", "CI_NODE_INDEX": "5", "CI_NODE_TOTAL": "5"}, "1/2"),
        ({"CI_NODE_TOTAL": "1", "CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "2"}, "1/2"),
    ],
)
def test_shard_is_read_from_the_variables_of_a_scheduler(environment: dict[str, str], shard: str) -> None:
    """Our own variable comes first. GitLab sets its total for jobs that are not parallel as well."""
    assert shard == str(assigned_shard(environment))


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        (
            {},
            "no shard is assigned here: set CRMEVAL_SHARD to I/N, or one of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX",
        ),
        ({"CRMEVAL_SHARD": "3"}, "CRMEVAL_SHARD=3: must be I/N"),
        ({"JOB_COMPLETION_INDEX": "0"}, "CRMEVAL_SHARD_COUNT must be set as well"),
        ({"CI_NODE_INDEX": "6", "CI_NODE_TOTAL": "5"}, "CI_NODE_INDEX=6 is out of range: CI_NODE_TOTAL=5"),
        ({"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "5"}, "CI_NODE_INDEX=0 is out of range: CI_NODE_TOTAL=5"),
        ({"CI_NODE_INDEX": "a", "CI_NODE_TOTAL": "5"}, "CI_NODE_INDEX=a is not a number"),
        (slurm(3, 1, 7, 3), "the ids of the SLURM array are not evenly spaced: use --array=1-N"),
        (
            {"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "2", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "2"},
            "both CI_NODE_INDEX and CIRCLE_NODE_INDEX are set: set CRMEVAL_SHARD to I/N to choose",
        ),
    ],
)
def test_shard_that_is_not_assigned_clearly_is_refused(environment: dict[str, str], why: str) -> None:
    """The message names the variable and what to set."""
    with pytest.raises(ValueError, match=f"^{re.escape(why)}"):
        assigned_shard(environment)
