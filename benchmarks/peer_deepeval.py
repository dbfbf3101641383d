"""The peer of ``overhead.py``: a test of deepeval with a metric that costs nothing, in a separate environment."""

import os

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"

import pytest
from deepeval import assert_test  # type: ignore[import-not-found] # not installed here
from deepeval.metrics import BaseMetric  # type: ignore[import-not-found]
from deepeval.test_case import LLMTestCase  # type: ignore[import-not-found]

CASES = int(os.environ["BENCH_CASES"])
IS_PLAIN = "BENCH_PLAIN" in os.environ


class FreeMetric(BaseMetric):  # type: ignore[misc]
    """A metric that every case passes."""

    threshold = 0.5
    async_mode = False

    def measure(self, test_case: LLMTestCase, *_args: object, **_named: object) -> float:  # noqa: ARG002 (the peer's)
        """Pass."""
        self.score, self.success, self.reason = 1.0, True, ""
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: object, **named: object) -> float:
        """Pass."""
        return self.measure(test_case, *args, **named)

    def is_successful(self) -> bool:
        """Pass."""
        return True


@pytest.mark.parametrize("number", range(CASES))
def test_case(number: int) -> None:
    """Evaluate a trivial case, or nothing."""
    if not IS_PLAIN:
        assert_test(LLMTestCase(input=f"case {number}", actual_output="done"), [FreeMetric()], run_async=False)
