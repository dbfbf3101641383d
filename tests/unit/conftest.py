"""What the unit tests share."""

from pathlib import Path
from typing import Any

import pytest

from tests.projects import Written, line_of


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Return a function that writes lines (records, text or bytes) to a file."""

    def write(*lines: dict[str, Any] | str | bytes, name: str = "cases.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(map(line_of, lines)))
        return path

    return write
