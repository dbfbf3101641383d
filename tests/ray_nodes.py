"""A cluster of Ray on loopback addresses: each node has one CPU, and can be killed."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.postgres.processes import descendants, eventually

MACHINE = 20 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
"""The third part of the addresses: workers of xdist have clusters of their own."""
QUICK = {"RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "4"}
"""A dead node is noticed after two seconds, not fifteen."""


class RayNodes:
    """The nodes of a cluster, while the context lasts."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        with socket.socket() as free:
            free.bind((f"127.0.{MACHINE}.1", 0))
            self.address = f"127.0.{MACHINE}.1:{free.getsockname()[1]}"
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self._nodes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Start the first node, which must not be killed."""
        port = self.address.partition(":")[2]
        self._start("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={self.folder}")
        self.wait(0)
        return self

    def add(self) -> int:
        """Start a node; return its number."""
        return self._start(f"--address={self.address}")

    def wait(self, number: int) -> None:
        """Wait until a node has joined."""
        log = Path(self.folder, f"node{number}.log")
        eventually(
            lambda: "Ray runtime started" in log.read_text() or self._nodes[number].poll() is not None,
            "the node starts",
        )
        assert self._nodes[number].poll() is None, log.read_text()

    def processes(self) -> set[int]:
        """Return the processes of all nodes."""
        return {pid for node in self._nodes for pid in (node.pid, *descendants(node.pid))}

    def address_of(self, number: int) -> str:
        """Return the address of a node."""
        return f"127.0.{MACHINE}.{number + 1}"

    def kill(self, number: int) -> None:
        """Kill all processes of a node at once, as if its machine lost power."""
        pid = self._nodes[number].pid
        for each in (pid, *descendants(pid)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._nodes[number].wait()

    def __exit__(self, *_: object) -> None:
        """Kill all nodes, and remove their files."""
        for number in range(len(self._nodes)):
            self.kill(number)
        shutil.rmtree(self.folder)

    def _start(self, *options: str) -> int:
        number = len(self._nodes)
        ray = Path(sys.executable).with_name("ray")
        own = [
            f"--node-ip-address={self.address_of(number)}",
            "--num-cpus=1",
            "--object-store-memory=80000000",
        ]
        ports = ["--min-worker-port=0", "--max-worker-port=0"]  # any: several nodes share this machine
        command = [str(ray), "start", "--block", *options, *own, *ports]
        environment = {**os.environ, **self.environment, **QUICK}
        with Path(self.folder, f"node{number}.log").open("wb") as log:
            self._nodes.append(
                subprocess.Popen(command, env=environment, cwd="/", stdout=log, stderr=log, start_new_session=True)
            )
        return number
