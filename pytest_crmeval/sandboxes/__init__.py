"""Where untrusted programs run."""
