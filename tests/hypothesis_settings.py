"""Settings of property tests: the same examples on every machine, and no deadline."""

from hypothesis import HealthCheck, settings

DETERMINISTIC = settings(
    deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
