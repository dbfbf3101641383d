"""The program is taken out of a response, as models write them."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_crmeval.journal.solutions.outcomes import Defect
from pytest_crmeval.ports.sandbox import Language, Program
from pytest_crmeval.solutions.files.programs import Flaw, blocks, extracted
from pytest_crmeval.solutions.solution import Extraction

DRAFT, FINAL = "print('draft')", "print('a longer final one')"
BOTH = f"First:\n```python\n{DRAFT}\n```\nNo, better:\n```python\n{FINAL}\n```\nDone."


def program(response: str, extraction: Extraction = Extraction.LAST, language: Language = Language.PYTHON) -> Program:
    """Return the program of a response that has one."""
    found = extracted(response, extraction, language)
    assert isinstance(found, Program), found
    return found


def flaw(response: str, extraction: Extraction = Extraction.LAST) -> Flaw:
    """Return why a response has no program."""
    found = extracted(response, extraction, Language.PYTHON)
    assert isinstance(found, Flaw), found
    return found


@pytest.mark.parametrize(
    ("extraction", "source"), [(Extraction.FIRST, DRAFT), (Extraction.LAST, FINAL), (Extraction.LONGEST, FINAL)]
)
def test_which_block_it_is(extraction: Extraction, source: str) -> None:
    assert f"{source}\n" == program(BOTH, extraction).source


def test_the_longest_may_be_the_first() -> None:
    """A short one behind it is an afterthought."""
    response = f"```python\n{FINAL}\n```\n```python\n{DRAFT}\n```"

    assert f"{FINAL}\n" == program(response, Extraction.LONGEST).source


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(f"```python\n{FINAL}\n```", id="plain"),
        pytest.param(f"```\n{FINAL}\n```", id="no word"),
        pytest.param(f"```Python3\n{FINAL}\n```", id="a version"),
        pytest.param(f"``` python\n{FINAL}\n```", id="a blank before the word"),
        pytest.param(f"```{{.python}}\n{FINAL}\n```", id="attributes"),
        pytest.param(f"```solution\n{FINAL}\n```", id="a word that nobody knows"),
        pytest.param(f"~~~python\n{FINAL}\n~~~", id="tildes"),
        pytest.param(f"~~~py\n{FINAL}\n~~~~~", id="a longer end"),
        pytest.param(f"````python\n{FINAL}\n````", id="a longer fence"),
        pytest.param(f"```python\r\n{FINAL}\r\n```\r\n", id="CRLF"),
        pytest.param(f"\ufeff```python\n{FINAL}\n```", id="BOM"),
        pytest.param(f"```python  \n{FINAL}\n```   ", id="blanks behind fences"),
        pytest.param(f"1. Do this:\n\n   ```python\n   {FINAL}\n   ```", id="in a list"),
        pytest.param(f"\t```python\n\t{FINAL}\n\t```", id="behind a tab"),
        pytest.param(f"- ```python\n  {FINAL}\n  ```", id="at the beginning of a list"),
        pytest.param(f"Answer: ```python\n{FINAL}\n```", id="behind a colon"),
        pytest.param(f"```python\n{FINAL}\n```\nIt stands in ```python\nas you want.", id="a fence in a sentence"),
        pytest.param(f"<answer>```python\n{FINAL}\n```</answer>", id="between tags"),
        pytest.param(f"```python\n{FINAL}```", id="an end behind the last line"),
        pytest.param(f"```python\n{FINAL}``` \nIt prints:\n```\n3\n```", id="the same, and its output"),
        pytest.param(f"```python\n{FINAL}\n``` This prints:\n```\n3\n```", id="a sentence behind the end"),
        pytest.param(f"This is it: ```python\n{FINAL}\n```.\nIt prints:\n```\n3\n```", id="a full stop behind the end"),
        pytest.param(f"```\n{FINAL}\n```\n```python-repl\n>>> 3\n```", id="a dialogue behind it"),
        pytest.param(f"Use ```print``` here:\n```python\n{FINAL}\n```", id="three backticks within a line"),
        pytest.param(f"````markdown\n```python\n{DRAFT}\n```\n````\n```python\n{FINAL}\n```", id="nested before"),
        pytest.param(f"```markdown\n```python\n{FINAL}\n```\n```", id="nested as nobody should"),
        pytest.param(f"```python\n{DRAFT}\nno, wait\n```python\n{FINAL}\n```", id="a draft that is never closed"),
        pytest.param(f"```python\n{DRAFT}\nno, wait\n``` python \n{FINAL}\n```", id="the same, with blanks"),
        pytest.param(f"```python\n{FINAL}\n```\nIt prints:\n```\na longer final one\n```", id="its output behind it"),
        pytest.param(f"```python\n{FINAL}\n```\n```text\n3\n```", id="a text behind it"),
        pytest.param(f"```python\n{FINAL}\n```\n```\n3", id="its output, cut off"),
        pytest.param(f"```python\n{FINAL}\n```\nRun it:\n```bash\npython main.py\n```", id="how to run it"),
        pytest.param(f"```python\n{FINAL}\n```\n```java\nclass A {{}}\n```", id="the same in another language"),
        pytest.param(f"```python\n{FINAL}\n```\n```python\n\n```", id="an empty one behind it"),
        pytest.param(f"<think>\n```python\n{DRAFT}\n```\n</think>\n```python\n{FINAL}\n```", id="a draft in thought"),
        pytest.param(f"<think>```python\n{DRAFT}</think>\n```python\n{FINAL}\n```", id="an open draft in thought"),
        pytest.param(f"```python\n{DRAFT}\n```</think>\n```\n{FINAL}\n```", id="thought that began in the prompt"),
    ],
)
def test_the_last_complete_one_that_is_a_program(response: str) -> None:
    assert Program(language=Language.PYTHON, source=f"{FINAL}\n") == program(response)


@pytest.mark.parametrize(
    ("response", "detail"),
    [
        (f"So:\n```python\n{FINAL}\n", "the text ends within its program"),
        ("```python", "the text ends within its program"),
        (f"Sample:\n```\n1 2\n```\nSo:\n```python\n{FINAL}", "the text ends within its program"),
        (f"<think>\n```python\n{DRAFT}\n```\nor rather", "the text ends before </think>"),
        (f"<think>```python\n{DRAFT}\n```</think>So:\n```python\n{FINAL}", "the text ends within its program"),
        (f"\ufeff\n<think>\n```python\n{DRAFT}\n```\n", "the text ends before </think>"),
        (f"<think>a</think>\n<think>\n```python\n{DRAFT}\n```\n", "the text ends before </think>"),
        (f"```python\n{DRAFT}\n```\nFaster:\n```python\nimport sy", "the text ends within its program"),
        (f"```\n{DRAFT}\n```\nFaster:\n~~~\nimport sy", "the text ends within its program"),
        (f"```cpp\n{DRAFT}\n```\nIn Python:\n```python\n", "the text ends within its program"),
        (f"> ```python\n> {FINAL}\n> ```", "the text ends within its program"),
        (f"```python\nmarks = '```', '~~~'\n{FINAL}", "the text ends within its program"),
    ],
)
def test_a_text_that_ends_too_early(response: str, detail: str) -> None:
    """Is cut off: neither prose nor half a program is run, and no draft of a thought."""
    assert Flaw(defect=Defect.TRUNCATED, detail=detail) == flaw(response)


CUT = f"```python\n{DRAFT}\n```\nFaster:\n```python\nimport sy"


def test_complete_block_before_a_truncated_one_is_used_only_as_the_first() -> None:
    """The first block is what it is, whatever follows; the last and the longest one did not come to their end."""
    assert f"{DRAFT}\n" == program(CUT, Extraction.FIRST).source
    assert [Defect.TRUNCATED] * 2 == [flaw(CUT, which).defect for which in (Extraction.LAST, Extraction.LONGEST)]


@pytest.mark.parametrize(
    "response",
    ["I don't know.", "print(1)", "```text\n3\n```", f"```python\n{DRAFT}\n```</think>It is clear.", "Use ```x```."],
)
def test_a_text_without_a_program(response: str) -> None:
    """Prose is not run."""
    assert Defect.NO_CODE is flaw(response).defect


def test_empty_block_is_not_a_program() -> None:
    """It is not cut off either."""
    assert Flaw(defect=Defect.NO_CODE, detail="its block is empty") == flaw("```python\n\n```")


def test_program_in_an_unsupported_language_is_ungradable() -> None:
    found = flaw("```scala\nobject Main\n```")

    assert Flaw(defect=Defect.UNSUPPORTED, detail="programs in scala can't be run") == found


def test_a_block_says_its_language_better_than_the_file() -> None:
    """One that says nothing is in the language that is expected."""
    assert Language.CPP is program("```cpp\nint main() {}\n```").language
    assert Language.CPP is program("```\nint main() {}\n```", language=Language.CPP).language
    assert Language.PYTHON is program("```py\nprint()\n```", language=Language.CPP).language


def test_the_version_that_a_block_names_is_kept() -> None:
    """A program in C++20 is not one in any C++."""
    assert (Language.CPP, "20") == (program("```c++20\n;\n```").language, program("```c++20\n;\n```").version)
    assert Language.PYPY is program("```pypy3\nprint()\n```").language


def test_a_fence_within_the_program_does_not_end_it() -> None:
    """If it is further in, or shorter."""
    source = 'def f():\n    """\n    Example::\n\n        ```\n        f()\n        ```\n    """'

    assert f"{source}\n" == program(f"```python\n{source}\n```").source
    assert f"{source}\n" == program(f"````python\n{source}\n````").source


def test_an_indented_program_keeps_its_own_indentation() -> None:
    """Only that of the fence is taken away, and no more than there is."""
    source = "if True:\n    print(1)\n\nprint(2)"
    response = textwrap.indent(f"```python\n{source}\n```", "  ")

    assert f"{source}\n" == program(response).source
    assert "a\n  b\n" == program("   ```python\n a\n     b\n   ```").source


LINES = st.lists(st.text(st.characters(exclude_characters="`~\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=12))


@given(
    lines=LINES, fence=st.sampled_from(["```", "````", "~~~"]), before=st.text(alphabet="ab \n."), crlf=st.booleans()
)
def test_text_of_a_block_is_taken_unchanged(lines: list[str], fence: str, before: str, *, crlf: bool) -> None:
    """Letter by letter; only line ends are made one kind."""
    end = "\r\n" if crlf else "\n"
    (block,) = blocks(end.join([before, f"{fence}python", *lines, fence, "after"]))

    assert ("python", "\n".join(lines), True) == (block.word, block.text, block.closed)


@given(text=st.text(alphabet="`~a \n\t\r", max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    """Only the last block may be open, and nothing is made up."""
    found = blocks(text)

    assert all(block.closed for block in found[:-1])
    assert sum(len(block.text) for block in found) <= 8 * len(text)
