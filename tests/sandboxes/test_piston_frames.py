"""A program that meddles with how its output is brought back gains no verdict by it."""

import pytest

from pytest_crmeval.ports.sandbox import ProgramInput, SandboxError, Termination
from pytest_crmeval.sandboxes.piston import PistonSandbox
from tests.sandboxes.pistons import ended

MARK = """
import os, sys
mark = next(c for c in sys._getframe(2).f_code.co_consts if str(c).startswith('crmeval-'))
"""
"""It knows how the judge works, and finds the mark in the frame below its own."""
MEDDLING = f"""{MARK}
with open(f'/proc/{{{{os.getppid()}}}}/fd/{{number}}', 'w') as theirs:
    theirs.write(f{{text!r}})
print('printed')
"""
"""It also finds the runner's own outputs."""
FORGING = f"""{MARK}
print(mark)
print(mark, 0, 0, 1, 1, 1, file=sys.stderr)
open('o', 'w').write('honest')
sys.exit(3)
"""
FEED = ProgramInput(wanted=("none",))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2, "{mark} 0\n"),
        (2, "{mark} 0 0 --1 2 8 -1\n"),
        (2, "{mark} 0 0 9999 3 8 -1 -1\n"),
        (2, "{mark} 0 0 9999 2 7 -1\n"),
        (2, "said without an end of line"),
        (1, "{mark}\nQUJD\n"),
    ],
    ids=["half", "no number", "more files", "another size", "hidden", "contents"],
)
def test_program_that_corrupts_the_frame_is_a_judge_error(piston: PistonSandbox, number: int, text: str) -> None:
    """What it has printed can't be known: an error of the judge, which makes a run red."""
    with pytest.raises(SandboxError, match="output of the program"):
        ended(piston, MEDDLING.format(number=number, text=text), FEED)


def test_frame_printed_by_a_program_is_ordinary_output(piston: PistonSandbox) -> None:
    """It is the program's own output, and comes back as such."""
    execution = ended(piston, FORGING, ProgramInput(wanted=("o",)))

    assert (3, {"o": b"honest"}) == (execution.exit_code, execution.files)
    assert execution.stdout.startswith(b"crmeval-")


def test_text_before_a_frame_is_ignored(piston: PistonSandbox) -> None:
    execution = ended(piston, MEDDLING.format(number=1, text="0 0 9999 2\n"), FEED)

    assert (True, b"printed\n", {}) == (execution.succeeded, execution.stdout, execution.files)


def test_program_that_kills_the_runner_has_crashed(piston: PistonSandbox) -> None:
    execution = ended(piston, "import os; print('yes', flush=True); os.kill(os.getppid(), 9)", FEED)

    assert (Termination.SIGNALLED, "SIGKILL", b"") == (execution.ending, execution.signal, execution.stdout)
