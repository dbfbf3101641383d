"""Problems are read from our own lines and from published tables, with the tests that the user chooses."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from pyarrow import parquet

from pytest_crmeval.domain.dataset_error import DatasetError
from pytest_crmeval.ports.sandbox import Language
from pytest_crmeval.solutions import problems
from pytest_crmeval.solutions.problem import (
    CheckerStyle,
    Compare,
    Examples,
    OutputComparison,
    Problem,
    Sizes,
    TestChoice,
    TestKind,
)
from pytest_crmeval.solutions.problems import HOW_TO_GIVE, WITHOUT_GENERATED, check, opened, schema

SCHEMA: dict[str, Any] = json.loads(Path(schema.__file__).with_name("problem.schema.json").read_text(encoding="utf-8"))
TEST = {"input": "1\r\n2\r\n", "output": "3\r\n"}


def ours(id_: str = "p", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a problem in our own format."""
    return {"id": id_, "tests": [{"input": "1\n", "output": "2\n"}], **fields}


def row(id_: str = "852/A", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a problem with the published columns."""
    contest, _, index = id_.partition("/")
    known = {"id": id_, "contest_id": contest, "index": index, "time_limit": 1.5, "memory_limit": 64.0}
    return {**known, "input_mode": "stdio", "official_tests": [TEST], "tags": ["math"], "rating": 800, **fields}


def lines(path: Path, *records: dict[str, Any]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def got(path: Path, id_: str, choice: TestChoice | None = None) -> Problem:
    """Return a problem that is there."""
    problem = opened([path], choice).get(id_)
    assert problem is not None
    return problem


def shown(path: Path) -> str:
    """Return why a file is refused, without its folder."""
    with pytest.raises(DatasetError) as refused:
        opened([path])
    return str(refused.value).replace(f"{path.parent}/", "")


def test_our_own_with_everything(tmp_path: Path) -> None:
    """Limits, comparison, checker, files, labels."""
    checker = {"style": "kattis", "language": "cpp", "source": "int main() { return 42; }"}
    files = {"input_file": "in.txt", "output_file": "out.txt"}
    record = ours(time_limit=0.5, memory_limit=16, checker=checker, rating=900, tags=["dp"], title="T", **files)
    problem = got(lines(tmp_path / "p.jsonl", record, ours("q", comparison="exact", tolerance=0.1)), "p")

    assert (0.5, 16 * 2**20, "in.txt", "out.txt") == (
        problem.time_limit,
        problem.memory_limit,
        problem.input_file,
        problem.output_file,
    )
    assert problem.checker is not None
    assert (CheckerStyle.KATTIS, Language.CPP) == (problem.checker.style, problem.checker.program.language)
    assert (900, ("dp",), "") == (problem.rating, problem.tags, problem.unsupported)
    other = got(tmp_path / "p.jsonl", "q")
    assert OutputComparison(mode=Compare.EXACT, tolerance=0.1) == other.comparison
    assert (2.0, 256 * 2**20) == (other.time_limit, other.memory_limit)


def test_a_validator_gets_the_headers_that_it_includes(tmp_path: Path) -> None:
    """Each once, nested ones as well: a sandbox compiles one file."""
    source = '#include "validate.h"\n#include <iostream>\n#include "validate.h"\nint main() { return ok(); }'
    files = {"validate.h": '#include "codes.h"\nint ok() { return AC; }', "codes.h": "enum { AC = 42 };"}
    checker = {"style": "kattis", "language": "cpp", "source": source, "files": files}
    problem = got(lines(tmp_path / "p.jsonl", ours(checker=checker)), "p")

    assert problem.checker is not None
    assert (
        "enum { AC = 42 };\nint ok() { return AC; }\n#include <iostream>\n\nint main() { return ok(); }"
        == problem.checker.program.source
    )


def test_a_problem_whose_validator_is_not_given_is_unsupported(tmp_path: Path) -> None:
    """It is not compared instead, which would reject right answers."""
    problem = got(lines(tmp_path / "p.jsonl", ours(checker={"style": "kattis", "language": "cpp"})), "p")

    assert "its checker (style kattis) has no source: add checker.source" == problem.unsupported


def test_open_r1_compares_words(tmp_path: Path) -> None:
    """Its own rule: no tolerance, and yes and no in any case."""
    problem = got(lines(tmp_path / "p.jsonl", row()), "852/A")

    assert OutputComparison(mode=Compare.WORDS) == problem.comparison


def test_a_published_row(tmp_path: Path) -> None:
    """Line ends are made one kind, and a checker is a Python program that prints its verdict."""
    problem = got(lines(tmp_path / "p.jsonl", row(generated_checker="print(1)", aliases=["853/C"])), "853/C")

    assert ("852/A", 1.5, 64 * 2**20, 800) == (problem.id, problem.time_limit, problem.memory_limit, problem.rating)
    assert [("1\n2\n", "3\n")] == [(test.input, test.output) for test in problem.tests]
    assert problem.checker is not None
    assert CheckerStyle.STDOUT is problem.checker.style


@pytest.mark.parametrize(
    ("fields", "unsupported"),
    [
        ({"interaction_format": "Ask."}, "it is interactive"),
        ({"official_tests": []}, "it has no tests"),
        ({"input_mode": "telepathy"}, "unknown input_mode 'telepathy'"),
        ({"interaction_format": None}, ""),
    ],
)
def test_problem_that_cannot_be_graded_is_unsupported(tmp_path: Path, fields: dict[str, Any], unsupported: str) -> None:
    assert unsupported == got(lines(tmp_path / "p.jsonl", row(**fields)), "852/A").unsupported


def test_file_mode_of_a_problem_names_its_files(tmp_path: Path) -> None:
    problem = got(lines(tmp_path / "p.jsonl", row(input_mode="file")), "852/A")

    assert ("input.txt", "output.txt") == (problem.input_file, problem.output_file)


def test_a_table_is_read_as_lines_are(tmp_path: Path) -> None:
    """Row by row, whatever group it is in."""
    rows = [row(f"{number}/A", aliases=[f"alias-{number}"]) for number in range(1, 8)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet", row_group_size=3)
    table, plain = opened([tmp_path / "p.parquet"]), opened([lines(tmp_path / "p.jsonl", *rows)])

    assert list(plain) == list(table)
    assert [plain.get(id_) for id_ in plain] == [table.get(id_) for id_ in reversed(list(table))][::-1]
    assert table.get("alias-5") == table.get("5/A")
    assert (7, None, True, False) == (len(table), table.get("9/A"), "alias-1" in table, "9/A" in table)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert "p.parquet: to read parquet, pyarrow is needed: pip install 'pytest-crmeval[parquet]'" == shown(
        tmp_path / "p.parquet"
    )


def test_invalid_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.parquet").write_bytes(b"no table")
    parquet.write_table(pa.table({"id": ["a"]}), tmp_path / "q.parquet")

    assert shown(tmp_path / "p.parquet").startswith("p.parquet: this is not a readable parquet file")
    assert shown(tmp_path / "q.parquet").startswith(
        "q.parquet: none of the known formats; a table of problems has the columns official_tests or "
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (ours(tetss=[]), "p.jsonl:1: line: Object contains unknown field `tetss`"),
        (ours(tests=[]), "p.jsonl:1: tests: a problem needs at least one test"),
        (ours(time_limit=0), "p.jsonl:1: time_limit: Expected `float` > 0.0"),
        (ours(input_file="../x"), "p.jsonl:1: input_file: Expected `str` matching"),
        (ours(tolerance=1, checker={"style": "stdout", "source": "x"}), "p.jsonl:1: tolerance: has no effect"),
        (ours(checker={"style": "own", "source": "x"}), "p.jsonl:1: checker.style: Invalid enum value 'own'"),
        ({"id": "p"}, "p.jsonl:1: line: Object missing required field `tests`"),
        ({"official_tests": []}, "p.jsonl:1: id: there is neither id, nor contest_id and index"),
    ],
)
def test_invalid_problem_is_refused(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    assert shown(lines(tmp_path / "p.jsonl", record)).startswith(message)


@pytest.mark.parametrize(
    ("content", "small_message", "big_message"),
    [
        ('{"id": "p"}', "p.jsonl:1: line: ", "p.jsonl:1: line: "),
        ("", "p.jsonl: the file has no problem", "p.jsonl: the file has no problem"),
        (json.dumps(ours()) + "\n{}", "p.jsonl:2: ", ""),
        (json.dumps(ours()), "", ""),
    ],
)
def test_a_file_is_looked_at_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, small_message: str, big_message: str
) -> None:
    """At all of a small one, at the first problem of a big one: every worker does it."""
    path = tmp_path / "p.jsonl"
    path.write_text(content, encoding="utf-8")
    found = []
    for bound in (2**20, -1):
        monkeypatch.setattr(problems, "WHOLE", bound)
        try:
            check(path)
            found.append("")
        except DatasetError as error:
            found.append(str(error).removeprefix(f"{tmp_path}/"))

    assert [bool(small_message), bool(big_message)] == [bool(one) for one in found]
    assert found[0].startswith(small_message)
    assert found[1].startswith(big_message)


def test_unreadable_file_is_reported_before_it_is_used(tmp_path: Path) -> None:
    """A folder, here."""
    with pytest.raises(DatasetError, match="Is a directory; give the path of a JSON Lines or parquet file"):
        check(tmp_path)


def test_invalid_problem_files_are_refused(tmp_path: Path) -> None:
    """No file, an empty one, no JSON, an id twice; published tables may repeat theirs."""
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "bad.jsonl").write_text("{\n")

    assert "gone.jsonl: No such file or directory" in shown(tmp_path / "gone.jsonl")
    assert shown(tmp_path / "empty.jsonl").startswith("empty.jsonl: the file has no problem")
    assert shown(tmp_path / "bad.jsonl").startswith("bad.jsonl:1: this line is not JSON")
    assert "line 1; ids must be unique" in shown(lines(tmp_path / "two.jsonl", ours(), ours()))
    assert 1 == len(opened([lines(tmp_path / "rows.jsonl", row(), row())]))


def test_first_of_two_files_takes_precedence(tmp_path: Path) -> None:
    """As the published sets are meant to be laid over each other."""
    one, two = lines(tmp_path / "1.jsonl", ours()), lines(tmp_path / "2.jsonl", ours(rating=5), ours("q"))
    problems = opened([one, two])

    found = problems.get("p")
    assert found is not None
    assert (["p", "q"], None) == (list(problems), found.rating)


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    """The place is another one then."""
    path = lines(tmp_path / "p.jsonl", ours("first"), ours("second"))
    problems = opened([path])
    lines(path, ours("other and longer"), ours("second"))

    with pytest.raises(DatasetError, match="the file was changed while it was in use"):
        problems.get("second")


@pytest.mark.parametrize(
    ("examples", "official", "expected"),
    [
        (Examples.INSTEAD, [TEST], ["official"]),
        (Examples.INSTEAD, [], ["example", "example"]),
        (Examples.ALWAYS, [TEST], ["example", "official"]),
        (Examples.NEVER, [], []),
    ],
)
def test_examples_are_used_instead_of_before_or_without_other_tests(
    tmp_path: Path, examples: Examples, official: list[Any], expected: list[str]
) -> None:
    """In place of other tests, before them, or not at all; none twice."""
    record = row(official_tests=official, examples=[TEST, {"input": "9", "output": "9"}])
    problem = got(lines(tmp_path / "p.jsonl", record), "852/A", TestChoice(examples=examples))

    assert expected == [str(test.kind) for test in problem.tests]


def test_an_input_that_is_too_large_is_skipped(tmp_path: Path) -> None:
    """With the reason; what it holds is not kept."""
    (test,) = got(lines(tmp_path / "p.jsonl", ours()), "p", TestChoice(skip_larger=1)).tests

    assert ("", "its input has 2 bytes, and those over 1 are skipped") == (test.input, test.skipped)


@pytest.fixture(params=["test_cases_0852.parquet", "test_cases_852.parquet", "sub/0852.parquet"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a folder of generated tests: twenty of one problem, of growing size, among those of another."""
    number = "test_i" if "0852" in request.param else "test_case_i"
    rows = [
        {"problem_id": id_, "input": "x" * (place + 1) + "\r\n", "output": str(place), number: place}
        for place in reversed(range(20))
        for id_ in ("852/B", "852/A")
    ]
    path: Path = tmp_path / "generated" / request.param
    path.parent.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
    return tmp_path / "generated"


def generated(folder: Path, **choice: Any) -> list[int]:  # noqa: ANN401 (of the choice)
    """Return which generated tests are run."""
    record = row(official_tests=[], generated_tests=20)
    path = lines(folder.parent / "p.jsonl", record)
    problem = got(path, "852/A", TestChoice(generated=folder, **{"max_generated": None, **choice}))
    assert all(
        test.kind is TestKind.GENERATED and test.input == "x" * (int(test.output) + 1) + "\n"
        for test in problem.tests
        if not test.skipped
    )
    return [int(test.output or -1) for test in problem.tests]


def test_generated_tests_can_be_limited_sorted_and_sampled(folder: Path) -> None:
    """All, the first, the small or the large ones, as many as fit, a share of them."""
    share = generated(folder, share=0.25, seed=1)

    assert list(range(20)) == generated(folder)
    assert [0, 1, 2] == generated(folder, max_generated=3)
    assert [19, 18] == generated(folder, max_generated=2, sizes=Sizes.LARGE_FIRST)
    assert [0, 1] == generated(folder, max_generated=2, sizes=Sizes.SMALL_FIRST)
    assert [0, 1, 2] == generated(folder, max_bytes=4 + 5 + 6)
    assert [0, 1, -1, -1] == generated(folder, max_generated=4, skip_larger=4)
    assert (5, share) == (len(share), generated(folder, share=0.25, seed=1))
    assert share == sorted(generated(folder, share=0.25, seed=1, sizes=Sizes.LARGE_FIRST))
    assert share != generated(folder, share=0.25, seed=2)


def test_a_problem_without_its_generated_tests_is_unsupported_unless_its_official_ones_are_complete(
    tmp_path: Path,
) -> None:
    """It is never judged by fewer tests without saying so."""
    path = lines(
        tmp_path / "p.jsonl", row(generated_tests=5), row("1/A", generated_tests=5, official_tests_complete=True)
    )
    everything = TestChoice(max_generated=None)

    promised, complete = got(path, "852/A", everything), got(path, "1/A", everything)

    assert (f"its generated tests are missing: {HOW_TO_GIVE}", "") == (promised.unsupported, promised.note)
    assert ("", WITHOUT_GENERATED) == (complete.unsupported, complete.note)


def test_a_problem_with_some_of_its_generated_tests_is_unsupported(folder: Path, tmp_path: Path) -> None:
    """A part of a download is not the whole."""
    path = lines(tmp_path / "p.jsonl", row(generated_tests=21))

    problem = got(path, "852/A", TestChoice(generated=folder, max_generated=None))

    assert f"20 of its 21 generated tests are in {folder}" == problem.unsupported


def test_no_generated_tests_unless_they_are_wanted(tmp_path: Path) -> None:
    """And those that are promised and not there are missed."""
    (tmp_path / "none").mkdir()
    path = lines(tmp_path / "p.jsonl", row(generated_tests=5))

    chosen = got(path, "852/A", TestChoice(generated=tmp_path / "none"))
    assert ("", WITHOUT_GENERATED) == (chosen.unsupported, chosen.note)
    wanted = got(path, "852/A", TestChoice(generated=tmp_path / "none", max_generated=None))
    assert f"0 of its 5 generated tests are in {tmp_path / 'none'}" == wanted.unsupported
    with pytest.raises(DatasetError, match="this folder of generated tests does not exist"):
        opened([path], TestChoice(generated=tmp_path / "gone", max_generated=1))


def test_fingerprint_includes_all_that_a_verdict_depends_on(tmp_path: Path) -> None:
    """Tests, limits, checker; not what it is called or rated."""

    def fingerprint(**fields: Any) -> str:  # noqa: ANN401 (JSON)
        return got(lines(tmp_path / "p.jsonl", ours(**fields)), "p").fingerprint

    others: list[dict[str, Any]] = [
        {"time_limit": 3},
        {"tests": [{"input": "1", "output": "2\n"}]},
        {"checker": {"style": "stdout", "source": "x"}},
        {"checker": {"style": "stdout", "source": "y"}},
        {"comparison": "exact"},
    ]
    assert 1 + len(others) == len({fingerprint(), *(fingerprint(**fields) for fields in others)})
    assert fingerprint() == fingerprint(rating=5, title="other", tags=["a"])


def test_a_file_is_read_once_for_the_fingerprint_of_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of its problems; and the order of the files counts, since the first of an id does."""
    one = lines(tmp_path / "one.jsonl", *(ours(str(number)) for number in range(50)))
    two = lines(tmp_path / "two.jsonl", *(ours(f"b{number}") for number in range(50)))
    there, back = opened([one, two]), opened([two, one])
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return path.name

    monkeypatch.setattr(problems, "quick", counted)

    assert there.fingerprint != back.fingerprint
    assert [one, two, two, one] == read


def test_a_limit_below_nothing_is_refused(tmp_path: Path) -> None:
    """Zero is none, in published tables."""
    assert 2.0 == got(lines(tmp_path / "zero.jsonl", row(time_limit=0)), "852/A").time_limit
    assert "time_limit" in shown(lines(tmp_path / "p.jsonl", row(time_limit=-1)))


def test_the_choice_of_tests_is_in_the_fingerprint_of_the_set(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", ours())
    plain, always = opened([path]).fingerprint, opened([path], TestChoice(examples=Examples.ALWAYS)).fingerprint
    lines(path, ours(rating=1))

    assert 3 == len({plain, always, opened([path]).fingerprint})


def test_testlib_is_the_users_own(tmp_path: Path) -> None:
    """It is put where it is included, and is part of the fingerprint."""
    checker = {"style": "testlib", "language": "cpp", "source": '#include "testlib.h"\nint main() {}'}
    path = lines(tmp_path / "p.jsonl", ours(checker=checker))
    (tmp_path / "testlib.h").write_text("// \\1 theirs\n")
    problem = opened([path], testlib=tmp_path / "testlib.h").get("p")

    assert problem is not None
    assert problem.checker is not None
    assert "// \\1 theirs\n\nint main() {}" == problem.checker.program.source
    with pytest.raises(DatasetError, match=r"give the path of your testlib.h"):
        opened([path], testlib=tmp_path / "gone.h")


def test_the_schema_is_what_the_records_say() -> None:
    assert schema.schema() == SCHEMA
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert validator.is_valid(ours())
    assert not validator.is_valid(ours(tetss=[]))
