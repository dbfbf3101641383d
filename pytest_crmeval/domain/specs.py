"""The parts of a spec that matter for estimates."""

from collections.abc import Mapping

_LEARNER = "atlas"
_NO_MATTER = frozenset({"price", "timeout", "retries", "key"})


def asked(spec: str, addresses: Mapping[str, str] | None = None) -> str:
    """Return the parts of a spec that affect time and tokens: not its price, time-out or retries.

    ``addresses`` are the default addresses of providers; the same name at another address is another model.
    """
    model, _, query = spec.partition("?")
    no_matter = frozenset() if model == _LEARNER else _NO_MATTER  # its retries are those of its student
    parts = [part for part in query.split("&") if part]
    if "base_url" not in {part.partition("=")[0] for part in parts}:
        parts += [f"base_url={where}" for provider, where in (addresses or {}).items() if _asks(model, provider)]
    kept = sorted(part for part in parts if part.partition("=")[0] not in no_matter)
    return f"{model}?{'&'.join(kept)}" if kept else model


def _asks(model: str, provider: str) -> bool:
    """Whether a model belongs to a provider; a learner may have models of every provider."""
    return model == _LEARNER or model.startswith(f"{provider}:")
