"""Specs of agents, as far as anybody but their makers has to know."""

_LEARNER = "atlas"
_NO_MATTER = frozenset({"price", "timeout", "retries", "key"})


def asked(spec: str) -> str:
    """Return what of a spec decides how much a model takes: not its price, nor how patient we are."""
    model, _, query = spec.partition("?")
    no_matter = frozenset() if model == _LEARNER else _NO_MATTER  # its retries are those of its student
    kept = sorted(part for part in query.split("&") if part and part.partition("=")[0] not in no_matter)
    return f"{model}?{'&'.join(kept)}" if kept else model
