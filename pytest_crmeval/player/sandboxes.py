"""The sandbox of a process: which one is wanted, made when the first program is to run."""

from collections.abc import Callable, Sequence
from contextlib import closing
from threading import Lock

from pytest_crmeval.options.values import LOCAL
from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.ports.sandbox import Sandbox, SandboxError
from pytest_crmeval.solutions.play.sandbox_proxy import SandboxProxy


class LazySandbox(SandboxProxy):
    """A sandbox that is made when it is first used: most workers of most runs have no program to run."""

    def __init__(self, make: Callable[[], Sandbox]) -> None:
        self._make = make
        self._making = Lock()
        self._made: Sandbox | None = None

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of verdicts has to know; not every sandbox has something to say."""
        return tuple(getattr(self.behind, "notes", ()))

    def close(self) -> None:
        """Let go of it, if it was ever made."""
        if self._made is not None:
            self._made.close()

    @property
    def behind(self) -> Sandbox:
        """The sandbox, made now if it was not yet."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made


def spec_of(context: Context) -> str:
    """Return which sandbox is wanted."""
    return context.options.checkpoints.sandbox_spec


def kind_of_sandbox(context: Context) -> str:
    """Return the same without addresses: programs do the same on every server."""
    spec = spec_of(context)
    return "piston" if _is_address(spec) else spec


def sandbox_of(context: Context) -> Sandbox:
    """Return the sandbox that is wanted; SetupError if it can't be had."""
    spec = spec_of(context)
    try:
        found: Sandbox | None = context.make_sandbox(spec)
    except SandboxError as error:
        raise SetupError(f"crmeval: {error}") from error
    if found is None:
        raise SetupError(
            f"crmeval: no plugin knows the sandbox {spec!r}; try --crmeval-sandbox local, or the address of a Piston "
            "server: http://localhost:2000"
        )
    return found


def described_sandbox(context: Context) -> str:
    """Return which sandbox there is, and how strong it is; SetupError if it can't be had."""
    try:
        with closing(sandbox_of(context)) as sandbox:
            return sandbox.name
    except SandboxError as error:
        raise SetupError(f"crmeval: {error}") from error


def known_sandbox(context: Context, spec: str) -> Sandbox | None:
    """Return the sandbox that ``spec`` names, if it is one of ours. SandboxError if it can't be had."""
    if spec == LOCAL:
        from pytest_crmeval.sandboxes.local import LocalSandbox

        options = context.options
        asked = options.checkpoints
        hidden = (context.root, options.reports, *asked.problems, *asked.solutions)
        return LocalSandbox(unsafe=asked.unsafe, hidden=[str(path) for path in hidden])
    if _is_address(spec):
        from pytest_crmeval.sandboxes.piston import PistonSandbox

        return PistonSandbox(spec, shares=context.workers)
    return None


def _is_address(spec: str) -> bool:
    return spec.startswith(("http://", "https://"))
