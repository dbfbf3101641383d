"""Environments for packages that can't be installed beside ours, or must not be."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest


def python_beside(name: str, *packages: str) -> Path:
    """Return the Python of an environment with our packages and others, which is created once per ``.venv``."""
    home = Path(sys.prefix, name)
    python, ready = home / "bin" / "python", home / ".ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", home], check=True)
        site = sysconfig.get_path("purelib", vars={"base": str(home)})
        link = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        Path(site, "beside.pth").write_text(link, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        install = [*pip, "install", "--no-compile", "--only-binary", ":all:", *packages]
        installed = subprocess.run(install, check=False, capture_output=True, text=True)
        if installed.returncode:
            pytest.skip(f"{name} can't be installed: {installed.stderr.strip().splitlines()[-1]}")
        ready.touch()
    return python
