"""Programs run on this machine, isolated as strongly as it allows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_crmeval.sandboxes.local.sandbox import LocalSandbox

__all__ = ["LocalSandbox"]


def __getattr__(name: str) -> object:
    """Import the sandbox when it is used: fork servers import this package as well, and must stay small."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_crmeval.sandboxes.local.sandbox import LocalSandbox

    return LocalSandbox
