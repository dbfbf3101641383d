"""A small program that proves that a server runs a language as we need it: input, files, arguments, output, limits."""

from collections.abc import Callable, Mapping

from pytest_crmeval.domain.cutting import cut_end
from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.languages import title
from pytest_crmeval.sandboxes.piston.answers import ExceededError, Ran, TroubleError
from pytest_crmeval.sandboxes.piston.endings import RunTerms, framed_execution, refusal
from pytest_crmeval.sandboxes.piston.frames import frame_of
from pytest_crmeval.sandboxes.piston.requests import ProgramRequest, clamped, framed, plain

OUTPUT = 16_384
"""Bytes of output that a server must at least return."""
_LEAST = {"run_timeout": 1000, "run_cpu_time": 1000, "run_memory_limit": 64_000_000}
_SETTINGS = {
    "run_timeout": "PISTON_RUN_TIMEOUT",
    "run_cpu_time": "PISTON_RUN_CPU_TIME",
    "run_memory_limit": "PISTON_RUN_MEMORY_LIMIT",
}
_EVERYTHING = {
    "compile_timeout": 10**9,
    "run_timeout": 10**9,
    "compile_cpu_time": 10**9,
    "run_cpu_time": 10**9,
    "compile_memory_limit": 10**12,
    "run_memory_limit": 10**12,
}
"""More than any server has limits for, and not more than its clocks can count."""
_PYTHON = f"""
import sys

with open("given.bin", "rb") as given, open("taken.bin", "wb") as taken:
    taken.write(given.read() + sys.stdin.buffer.read() + sys.argv[1].encode())
sys.stdout.write("x" * {OUTPUT - 1024})
"""
_CPP = f"""
#include <cstdio>
#include <string>

int main(int, char** argv) {{
    std::string all;
    FILE* given = std::fopen("given.bin", "rb");
    for (int c; (c = std::getc(given)) != EOF;) all += char(c);
    for (int c; (c = std::getchar()) != EOF;) all += char(c);
    all += argv[1];
    FILE* taken = std::fopen("taken.bin", "wb");
    std::fwrite(all.data(), 1, all.size(), taken);
    std::fclose(taken);
    std::fputs(std::string({OUTPUT - 1024}, 'x').c_str(), stdout);
}}
"""
_STANDARDS = {"98": 199711, "03": 199711, "11": 201103, "14": 201402, "17": 201703, "20": 202002, "23": 202302}
SUMS: Mapping[Language, str] = {
    Language.C: '#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }\n',
    Language.JAVA: """import java.util.Scanner;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(in.nextInt() + in.nextInt());
    }
}
""",
    Language.JAVASCRIPT: "const n = require('fs').readFileSync(0, 'utf8').split(' ');\nconsole.log(+n[0] + +n[1]);\n",
    Language.GO: 'package main\n\nimport "fmt"\n\nfunc main() { var a, b int; fmt.Scan(&a, &b); fmt.Println(a + b) }\n',
    Language.RUST: """use std::io;
fn main() {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap();
    let sum: i64 = line.split_whitespace().map(|n| n.parse::<i64>().unwrap()).sum();
    println!("{}", sum);
}
""",
    Language.KOTLIN: 'fun main() {\n    println(readLine()!!.trim().split(" ").map { it.toInt() }.sum())\n}\n',
    Language.CSHARP: """using System;
class Program {
    static void Main() {
        string[] n = Console.ReadLine().Split(' ');
        Console.WriteLine(int.Parse(n[0]) + int.Parse(n[1]));
    }
}
""",
    Language.RUBY: "puts gets.split.map(&:to_i).sum\n",
    Language.PHP: '<?php echo array_sum(explode(" ", trim(fgets(STDIN)))), "\\n";\n',
    Language.HASKELL: "main :: IO ()\nmain = getLine >>= print . sum . map (read :: String -> Int) . words\n",
}
"""Programs that add two numbers, in the languages that get Piston's own stdin."""
_LIMITS = Limits(cpu_seconds=10**6, wall_seconds=10**6, memory_bytes=1 << 40, output_bytes=OUTPUT)
_FEED = ProgramInput(stdin=b"\0\xff in", files={"given.bin": b"\xfe\r\n"}, args=("a b",), wanted=("taken.bin",))
_TAKEN = b"\xfe\r\n\0\xff ina b"
Ask = Callable[[ProgramRequest, Mapping[str, int]], Ran]
"""Asks one server to run something within what is granted."""


def proved(language: Language, version: str, address: str, ask: Ask) -> tuple[dict[str, int], Ran]:
    """Return the maximum limits of a server, and its answer to a small program.

    SandboxError if it grants too little, or the language, or this version of it, does not work there.
    """
    request = _request(language, version)
    maxima: dict[str, int] = {}
    for _ in range(len(_EVERYTHING) + 1):
        granted = clamped(_EVERYTHING, maxima)
        try:
            ran = ask(request, granted)
        except ExceededError as error:  # a server names one limit at a time
            maxima[error.field] = error.maximum
            continue
        _check_limits(maxima)
        if request.mark:
            _check(_execution(request, ran, granted, address), title(language, version))
        else:
            _check_sum(ran, title(language, version))
        return maxima, ran
    raise TroubleError(f"it rejects limits that it has reported itself: {maxima}")


def _request(language: Language, version: str) -> ProgramRequest:
    if language in SUMS:
        program = Program(language=language, version=version, source=SUMS[language])
        return plain(program, ProgramInput(stdin=b"20 22\n"), _LIMITS)
    source = _CPP if language is Language.CPP else _PYTHON
    if language is Language.CPP and version:
        source = f'static_assert(__cplusplus == {_STANDARDS.get(version, 0)}L, "not C++{version}");\n{source}'
    return framed(Program(language=language, version=version, source=source), _FEED, _LIMITS)


def _check_sum(ran: Ran, name: str) -> None:
    stage = ran.compile if ran.refused and ran.compile else ran.run
    if stage.failed or ran.run.stdout.strip() != "42":
        said = cut_end((stage.stderr or stage.stdout).strip(), 500)
        raise SandboxError(
            f"it fails to run a small program in {name}: exit code {stage.code}, {said or 'wrong output'}"
        )


def _execution(request: ProgramRequest, ran: Ran, granted: Mapping[str, int], address: str) -> Execution:
    if ran.refused and ran.compile is not None:
        return refusal(ran.compile, granted, address)
    terms = RunTerms(limits=_LIMITS, granted=granted, address=address)
    frame = frame_of(ran.run, request.mark, len(_FEED.wanted))
    return framed_execution(ran, frame, tuple(_FEED.wanted), terms)


def _check_limits(maxima: Mapping[str, int]) -> None:
    for name, least in _LEAST.items():
        if maxima.get(name, least) < least:
            raise SandboxError(
                f"it limits {name} to {maxima[name]}, which is too low for any problem; "
                f"start it with {_SETTINGS[name]}={least} or more"
            )


def _check(execution: Execution, name: str) -> None:
    if execution.succeeded and execution.files == {"taken.bin": _TAKEN} and len(execution.stdout) == OUTPUT - 1024:
        return
    said = cut_end(execution.stderr.decode("utf-8", "replace").strip(), 500)
    raise SandboxError(
        f"it fails to run a small program in {name}: "
        f"{execution.ending}, exit code {execution.exit_code}, {said or 'wrong output'}"
    )
