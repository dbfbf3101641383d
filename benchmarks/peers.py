"""Environments with other tools, which are created in ``.bench`` when they are needed, and kept."""

import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import SMALL

FOLDER = Path(__file__).parents[1] / ".bench"
VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another tool."""

    name: str
    """With its version."""
    python: Path


def installed(package: str, *others: str) -> Peer | None:
    """Return a tool with the packages that it needs; None if it can't be installed, or if only our code is tested."""
    if SMALL:
        return None
    python = FOLDER / package / "bin" / "python"
    if not (version := _version(python, package)):
        venv.create(FOLDER / package, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package, *others]
        if subprocess.run(install, check=False).returncode:
            return None
        version = _version(python, package)
    return Peer(name=f"{package} {version}", python=python)


def _version(python: Path, package: str) -> str:
    if not python.exists():
        return ""
    command = [str(python), "-c", VERSION, package]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
