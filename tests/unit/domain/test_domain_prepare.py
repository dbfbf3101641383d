"""Types that several threads use for the first time at once."""

import subprocess
import sys

FIRST_USES = """
import os, sys, threading
from pytest_crmeval.models.sdks import openai_chat
from pytest_crmeval.models.sdks.dialect import converted

ANSWER = {"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}], "usage": {}}


def first_use():
    sys.setswitchinterval(1e-6)
    together = threading.Barrier(4)
    use = lambda: (together.wait(), converted(ANSWER, openai_chat._Answer))
    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


for _ in range(60):
    if not (child := os.fork()):
        first_use()
        os._exit(0)
    assert 0 == os.waitpid(child, 0)[1], "crashed"
"""


def test_first_answers_that_arrive_at_the_same_time_do_not_crash_the_process() -> None:
    """A type is inspected when it is first used; msgspec crashes if two threads do it, about once in twelve times."""
    done = subprocess.run([sys.executable, "-c", FIRST_USES], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
