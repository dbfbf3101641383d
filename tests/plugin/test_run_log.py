"""The log of a submitted run shows errors during the run."""

import os
import subprocess
import sys
from collections.abc import Callable
from threading import Event

import pytest

from pytest_crmeval.journal.locks import holder_of, is_held
from tests.plugin.test_inflight import many
from tests.postgres.processes import SECONDS, eventually
from tests.providers.answers import Answer, Status
from tests.providers.loopback import Loopback, Seen, crm_brain

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]


class Troubled:
    """A brain that fails once for the first case, refuses the second, and blocks the third until it is released."""

    def __init__(self) -> None:
        self.end = Event()
        self._asked: set[str] = set()

    def __call__(self, seen: Seen) -> Answer:
        """Answer by the case that the user names."""
        text = seen.last_user_text
        is_first = text not in self._asked
        self._asked.add(text)
        if "c00" in text and is_first:
            return Status(503)
        if "c01" in text:
            return Status(400)
        if "c02" in text:
            self.end.wait(SECONDS)
        return crm_brain(seen)


def test_the_log_has_errored_trials_and_failed_calls_before_the_run_ends(
    project: Project, providers: Providers
) -> None:
    """The lines name the case, the model and the reason."""
    brain = Troubled()
    providers(brain)
    folder = project(many(3)).path
    run = f"log-{os.getpid()}"
    place = folder / "reports" / run
    words = ["submit", ".", "--run", run, "--models", "m", "--concurrent", "3", "-n", "1"]
    said = subprocess.run(
        [sys.executable, "-m", "pytest_crmeval.cli", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert 0 == said.returncode, said.stderr
    try:
        log = place / "run.log"
        for line in ("errored: crm × openai:m, c01: ", "call failed: server error: openai:m"):
            eventually(lambda line=line: line in log.read_text(), line)  # type: ignore[misc]
        was_running = is_held(place)
    finally:
        brain.end.set()
        eventually(lambda: holder_of(place) is None, "the run has ended")

    assert was_running
    assert 1 == log.read_text().count("errored: crm × openai:m, c01: ")
    assert any("503" in line for line in log.read_text().splitlines() if "call failed" in line)
