"""What honest programs need, at every level that this machine allows."""

import pytest

from pytest_crmeval.domain.program import Feed, Language, Limits, Program
from pytest_crmeval.sandboxes.local import LocalSandbox

LIMITS = Limits(cpu_seconds=20.0, wall_seconds=90.0, memory_bytes=256 << 20, output_bytes=1 << 20)
PROGRAMS = {
    "the rest of a package": "import importlib.metadata, json.tool; print('é'.encode('cp1252').decode('cp1252'))",
    "an event loop": "import asyncio\nasync def say(): print('é')\nasyncio.run(say())",
    "a thread": "import threading\nthreading.Thread(target=print, args='é').start()",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_honest_program_runs(sandbox: LocalSandbox, program: str) -> None:
    """Also where the library can't be reached by its path any more."""
    with sandbox.prepared(Program(language=Language.PYTHON, source=PROGRAMS[program])) as prepared:
        ended = prepared.run(Feed(), LIMITS)

    assert ("é\n", 0) == (ended.stdout.decode(), ended.exit_code), ended.stderr
