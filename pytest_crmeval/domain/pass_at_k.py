"""How likely one of k samples solves a problem, estimated from n of them."""

from math import comb


def pass_at_k(samples: int, solved: int, k: int) -> float:
    """Return the unbiased estimate for one problem; ValueError if there are fewer than k samples."""
    if not 1 <= k <= samples or not 0 <= solved <= samples:
        raise ValueError(f"pass@{k} can't be told from {solved} of {samples} samples")
    return 1.0 - comb(samples - solved, k) / comb(samples, k)
