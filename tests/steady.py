"""Property tests that give the same on every machine, however loaded it is."""

from hypothesis import HealthCheck, settings

STEADY = settings(
    deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
