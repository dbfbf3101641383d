"""`crmeval sandbox` shows which isolation works on this machine."""

import sys
from contextlib import closing

import pytest

from pytest_crmeval.cli import main
from pytest_crmeval.ports.sandbox import Language, SandboxError
from pytest_crmeval.sandboxes.local import LocalSandbox, attempts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


@pytest.fixture(autouse=True)
def python_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip compilers, which take seconds and are tested elsewhere. Skip the test if programs can't be isolated."""
    try:
        with closing(LocalSandbox(workers=1)) as sandbox:
            assert sandbox.name
    except SandboxError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(
        LocalSandbox, "missing", lambda _, language, version="": "" if language is Language.PYTHON else f"no {version}"
    )


def test_sandbox_command_shows_the_level_its_effect_and_the_languages(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 0: programs are isolated."""
    assert 0 == main(["sandbox"])

    shown = capsys.readouterr().out
    assert shown.startswith("sandbox: local (")
    assert "  connect to a server on this machine        prevented\n" in shown
    assert "  Python       works\n" in shown
    assert "POSSIBLE" not in shown


def test_resource_limits_alone_are_not_isolation(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1; the output shows what programs can do."""
    assert 1 == main(["sandbox", "--level", "rlimits"])

    shown = capsys.readouterr().out
    assert "  fork                                       possible at this level\n" in shown
    assert "  use more memory than its limit             prevented\n" in shown


def test_program_that_breaks_out_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 1."""
    programs = {"read its own program": ("open('main.py').read()", ("namespaces", "landlock", "seccomp"))}
    monkeypatch.setattr(attempts, "_PROGRAMS", programs)

    assert 1 == main(["sandbox"])

    assert "POSSIBLE, though this level should prevent it" in capsys.readouterr().out


def test_unreachable_servers_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1; for an invalid address 2."""
    assert 1 == main(["sandbox", "http://127.0.0.1:9"])
    assert "http://127.0.0.1:9" in capsys.readouterr().out
    assert 2 == main(["sandbox", "ftp://here"])
