"""What a CRM holds at one moment."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.domain.json import Json

Row = Mapping[str, Json]
State = Mapping[str, Sequence[Row]]
"""Table name -> rows, as JSON primitives."""
