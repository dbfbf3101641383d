"""``--crmeval-shard auto``: the shard that a scheduler or a CI system has assigned to this process."""

from collections.abc import Mapping

from pytest_crmeval.journal.shard import Shard

ASSIGNED = "CRMEVAL_SHARD"
COUNT = "CRMEVAL_SHARD_COUNT"
SLURM_ID, SLURM_COUNT = "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"

NUMBERED: Mapping[str, tuple[str, int]] = {
    SLURM_ID: (SLURM_COUNT, 0),
    "JOB_COMPLETION_INDEX": (COUNT, 0),
    "CI_NODE_INDEX": ("CI_NODE_TOTAL", 1),
    "CIRCLE_NODE_INDEX": ("CIRCLE_NODE_TOTAL", 0),
    "BUILDKITE_PARALLEL_JOB": ("BUILDKITE_PARALLEL_JOB_COUNT", 0),
}
"""Variables with the number of this process, each with the variable of the total and the first number.

They are those of SLURM arrays, Kubernetes Indexed Jobs, GitLab, CircleCI and Buildkite. Kubernetes has no variable for
the total; the numbers of a SLURM array may start anywhere."""


def assigned_shard(environment: Mapping[str, str]) -> Shard:
    """Return the shard that the environment assigns; ValueError if there is none, or more than one."""
    if text := environment.get(ASSIGNED):
        try:
            return Shard.parse(text)
        except ValueError as error:
            raise ValueError(f"{ASSIGNED}={text}: {error}") from None
    found = [name for name in NUMBERED if environment.get(name)]
    if not found:
        raise ValueError(f"no shard is assigned here: set {ASSIGNED} to I/N, or one of {', '.join(NUMBERED)}")
    if len(found) > 1:
        raise ValueError(f"both {found[0]} and {found[1]} are set: set {ASSIGNED} to I/N to choose")
    total, first = NUMBERED[found[0]]
    position = _slurm_position(environment) if found[0] == SLURM_ID else _number(found[0], environment) - first
    count = _number(total, environment)
    if not 0 <= position < count:
        raise ValueError(f"{found[0]}={environment[found[0]]} is out of range: {total}={count}")
    return Shard.parse(f"{position + 1}/{count}")


def _slurm_position(environment: Mapping[str, str]) -> int:
    """Return the position of a task in its array, whose ids may have any start and step, such as 10-40:10."""
    names = (SLURM_ID, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", SLURM_COUNT)
    task, least, most, count = (_number(name, environment) for name in names)
    step, rest = divmod(most - least, count - 1) if count > 1 else (1, 0)
    if rest or not step or (task - least) % step:
        raise ValueError("the ids of the SLURM array are not evenly spaced: use --array=1-N")
    return (task - least) // step


def _number(name: str, environment: Mapping[str, str]) -> int:
    text = environment.get(name)
    if not text:
        raise ValueError(f"{name} must be set as well")
    if not text.isdecimal():
        raise ValueError(f"{name}={text} is not a number")
    return int(text)
