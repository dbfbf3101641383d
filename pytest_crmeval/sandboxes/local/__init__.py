"""Programs run on this machine, walled in as strongly as it allows."""

from pytest_crmeval.sandboxes.local.sandbox import LocalSandbox

__all__ = ["LocalSandbox"]
