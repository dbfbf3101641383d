"""Programs run on this machine, walled in as strongly as it allows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_crmeval.sandboxes.local.sandbox import LocalSandbox

__all__ = ["LocalSandbox"]


def __getattr__(name: str) -> object:
    """Import the sandbox when it is used: cells are in this package, too, and every run pays for what they load."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_crmeval.sandboxes.local.sandbox import LocalSandbox

    return LocalSandbox
