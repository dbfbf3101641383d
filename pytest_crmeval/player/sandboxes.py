"""The sandbox of a process, created before its first program runs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.options.values import LOCAL
from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.ports.sandbox import Sandbox, SandboxError
from pytest_crmeval.solutions.files.sources import files
from pytest_crmeval.solutions.play.sandbox_proxy import SandboxProxy


class LazySandbox(SandboxProxy):
    """A sandbox that is created on first use: most workers run no program."""

    def __init__(self, make: Callable[[], Sandbox]) -> None:
        self._make = make
        self._making = Lock()
        self._made: Sandbox | None = None

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the verdicts; empty for a sandbox without notes."""
        return tuple(getattr(self.behind, "notes", ()))

    @property
    def servers(self) -> Sequence[str]:
        """The servers that run programs; empty if they run on this machine."""
        return tuple(getattr(self.behind, "servers", ()))

    @property
    def distrusted(self) -> Mapping[str, str]:
        """The servers that gave wrong results, with the reasons."""
        return dict(getattr(self.behind, "distrusted", {}))

    def close(self) -> None:
        """Close the sandbox, if it was created."""
        if self._made is not None:
            self._made.close()

    @property
    def behind(self) -> Sandbox:
        """The sandbox, created on first access."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made


def spec_of(context: Context) -> str:
    """Return the spec of the configured sandbox."""
    return context.options.checkpoints.sandbox_spec


def kind_of_sandbox(context: Context) -> str:
    """Return the spec without addresses, because all servers give the same results."""
    spec = spec_of(context)
    return "piston" if _is_address(spec) else spec


def sandbox_of(context: Context) -> Sandbox:
    """Return the configured sandbox; SetupError if it can't be used.

    The run ends if this process can't reach the isolation level of the controller.
    """
    spec = spec_of(context)
    try:
        found: Sandbox | None = context.make_sandbox(spec)
        if found is not None:
            found.name  # noqa: B018 (raises if it can't isolate)
    except SandboxError as error:
        if spec == LOCAL and (level := context.services().sandbox_level):
            why = f"crmeval: the run uses the sandbox level {level!r}, which {context.worker} can't reach: {error}"
            context.services().refuse(why)
            raise context.exits(why) from error
        raise SetupError(f"crmeval: {error}") from error
    if found is None:
        raise SetupError(
            f"crmeval: unknown sandbox {spec!r}; try --crmeval-sandbox local, or the address of a Piston "
            "server: http://localhost:2000"
        )
    return found


def is_local(context: Context, sandbox: Sandbox) -> bool:
    """Whether a sandbox is the built-in one of this machine."""
    return isinstance(sandbox, LazySandbox) and spec_of(context) == LOCAL


def described_sandbox(context: Context) -> tuple[str, str]:
    """Return name and level of the run's sandbox, for the header; SetupError if it can't be used."""
    try:
        with closing(sandbox_of(context)) as sandbox:
            return sandbox.name, getattr(sandbox, "level", "")
    except SandboxError as error:
        raise SetupError(f"crmeval: {error}") from error


def known_sandbox(context: Context, spec: str) -> Sandbox | None:
    """Return the built-in sandbox of ``spec``; None if it is not built in, SandboxError if it can't be used."""
    if spec == LOCAL:
        from pytest_crmeval.sandboxes.local import LocalSandbox

        options = context.options.checkpoints
        return LocalSandbox(
            context.services().sandbox_level or "auto",
            unsafe=options.unsafe,
            packages=[str(path) for path in options.packages],
            hidden=hidden_paths(context),
        )
    if _is_address(spec):
        from pytest_crmeval.sandboxes.piston import PistonSandbox

        return PistonSandbox(spec, shares=context.workers)
    return None


def hidden_paths(context: Context) -> Sequence[str]:
    """Return the paths that programs must not read: the project, and all files with expected outputs."""
    options = context.options
    checkpoints = options.checkpoints
    given = [*checkpoints.problems, *checkpoints.solutions, *context.once(case_files)]
    tests = [checkpoints.generated.folder] if checkpoints.generated.folder else []
    found = [path for source in given for path in _files_of(source)]
    return [str(path) for path in (context.root, options.reports, *tests, *given, *found)]


def case_files(_: Context) -> set[Path]:
    """Return the set of files and folders in markers, to which collection adds."""
    return set()


def _files_of(source: Path) -> Sequence[Path]:
    """Return the files of a pattern or list; empty for a folder, which is hidden as a whole."""
    if source.is_dir() or source.suffix == ".parquet":
        return ()
    try:
        return [path for path, _ in files(source)]
    except DatasetError:  # reported when the file is read
        return ()


def _is_address(spec: str) -> bool:
    return spec.startswith(("http://", "https://"))
