"""One case to be played."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crmeval.domain.trial import PlannedCase
from pytest_crmeval.player.agents import agent_of
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.kinds import Case, Kind, Ref
from pytest_crmeval.ports.agent import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One case to be played by one subject."""

    planned: PlannedCase
    kind: Kind
    ref: Ref
    settings: Mapping[str, Any]
    """Keyword arguments of the marker."""
    file_name: str = ""
    """Name of the trial's files; empty: the id of the case."""
    case: Case | None = None
    """The case itself, if it was read on another machine."""

    @property
    def where(self) -> str:
        """File, line and id of the case."""
        return f"{self.ref.path}:{self.ref.line}: {self.ref.id}"

    def read(self) -> Case:
        """Return the case itself."""
        return self.ref.read() if self.case is None else self.case


def agent_for(context: Context, kind: Kind, spec: str, case: Any) -> Agent:  # noqa: ANN401 (of this kind)
    """Return the agent that plays a case; each case has its own oracle."""
    if spec == "oracle" or not kind.has_agent:
        return kind.oracle(context.options, case)
    return kind.instructed(agent_of(context, spec))
