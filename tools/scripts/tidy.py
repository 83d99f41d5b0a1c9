#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the rules of the source that no compiler checks. Each finding is file:line: what is wrong.

    lines       .editorconfig is obeyed: width, indentation, no blanks at the end (tools/scripts/editorconfig.py)
    files       open with the licence and a comment that says what they are for
    sizes       of files and of the reading path (tools/scripts/size.py)
    circles     files of the scheduler that need each other (tools/scripts/circles.py)
    functions   at most 60 lines
    demands     a function whose comment ends in "lock held." or "Interrupts off." asserts it; in the scheduler also one
                of "@rq, locked" or "Locked: @rq."
    includes    no '..', no cycles between headers, every header guards itself with #pragma once
    words       no unfinished-work markers without an issue number, no typedef'd structs
    sched/      nothing conditional, no floating point, volatile, goto, assembly or printing: the scheduler is a
                hosted core that must behave the same everywhere (docs/adr/001-hosted-core.md)
    docs        pages made from the .def files are up to date (tools/scripts/gendocs.py)
    prose       plain words, in pages and comments (tools/scripts/prose.py)
    paths       files that a page names exist
    mutants     each seeded bug of tests/mutants, and each wrong solution of labs/, still applies; the test that a
                seeded bug names is one of the program that it names, or an invariant

Usage: tidy.py [FILE...]    default: every file of the repository. Exits 1 if there is a finding.
"""

import itertools
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

from fairground.base.edit import EditError, changed
from fairground.lab.spec import LabError, all_labs, wrong_solutions
from fairground.lab.submission import wrong_code

import circles
import editorconfig
import gendocs
import mutants
import prose
import size
import usage

FUNCTION_LINES = 60
C = {".c", ".h", ".S", ".def"}
CODE = C | {".py", ".sh", ".ld", ".lds", ".mk"}

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LICENCE = "SPDX-License-Identifier: GPL-2.0-only"
BINARY = {".dat", ".png", ".xz"}
OTHERS_WORK = {"examples/fdl.sh"}  # kept as published, under its author's terms
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:c|h|def|py|S))`")
OF_A_READER = re.compile(r"(?:^|/)(?:mine|NAME)\.c$")  # files that a page asks its reader to write
OF_OTHERS = {"docs/sources.md", "CHANGELOG.md"}  # these name files of other trees, or of the past
MARKER = re.compile(r"\b(?:TODO|FIXME|XX|XXX|HACK)\b(?!.*#\d)")
TYPEDEF_STRUCT = re.compile(r"\btypedef\s+(?:struct|union)\b")
# A comment that ends in a demand, and the declaration or definition that follows at once.
DECLARED = r"(?:(?!\*/).)*\*/\n[^;{}=/#]*?\b(\w+)\([^;{}()]*\)\s*[;{]"
DEMAND = re.compile(r"/\*(?:(?!\*/).)*(?:(?<!not )\bheld|\b[Ii]nterrupts o(?:n|ff))\.(?=\s*\*/)" + DECLARED, re.DOTALL)
LOCKED = re.compile(r"/\*(?:(?!\*/).)*(?:@\w+,\s+(?:\*\s+)?locked\b|\bLocked: @\w+)" + DECLARED, re.DOTALL)
BODY = re.compile(r"^\w[^;{}=/#]*?\b(\w+)\([^;{}]*\)\s*\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
ASSERTS = re.compile(r"\b(?:(?:debug_)?assert\w*|might_sleep|SCHED_(?:DEBUG_)?ASSERT)\(")
# A ring does not know its reader's lock. A dump is made when the machine is lost, too. No lock of all CPUs' is one.
UNABLE = {"ring_consume", "ring_clear", "fair_dump_key", "sharedq_close"}
BANNED_IN_SCHED = {
    r"^\s*#\s*(?:if|ifdef|ifndef)\b": "conditional compilation",
    r"\b(?:float|double)\b": "floating point",
    r"\bvolatile\b": "volatile",
    r"\bgoto\b": "goto",
    r"\b(?:__)?asm(?:__)?\b": "assembly",
    r"\b(?:kprintf|printf|panic|malloc|free)\s*\(": "a call of the host's library",
}


def blank_out(match: re.Match[str]) -> str:
    """Blanks in the place of a comment or a string, so that positions stay the same."""
    return re.sub(r"[^\n]", " ", match.group())


class File:
    """One source file: its text, and the text without comments and strings."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        with open(path, encoding="utf-8", newline="") as f:
            self.text = f.read()
        self.code = COMMENT_OR_STRING.sub(blank_out, self.text) if path.suffix in C else self.text

    def line_of(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def found(self, line: int, what: str) -> str:
        return f"{self.path}:{line}: {what}"


def check_lines(file: File) -> Iterator[str]:
    for number, what in editorconfig.problems(file.path, file.text):
        yield file.found(number, what)


def check_header_comment(file: File) -> Iterator[str]:
    start = re.sub(r"^#!.*\n", "", file.text)
    licence, _, rest = start.partition("\n")
    opens = ("/*", "//") if file.path.suffix in C | {".ld", ".lds"} else ("#", '"""')
    if file.text.strip() and LICENCE not in licence and str(file.path) not in OTHERS_WORK:
        yield file.found(1, f"the first line is not {LICENCE}")
    elif file.text.strip() and not rest.lstrip("\n").startswith(opens):
        yield file.found(2, "no comment at the top that says what this file is for")


def functions(file: File) -> Iterator[tuple[int, str, int]]:
    """(first line, name, number of lines) of each function. The braces of its body stand in column 1."""
    start = None  # the line of a declaration that may begin a function
    for number, line in enumerate(file.code.splitlines(), 1):
        declaration = re.match(r"[A-Za-z_][^=;(]*?(\w+)\(", line)
        if declaration:
            start, name = number, declaration[1]
        elif line.startswith("}") and start:
            yield start, name, number - start + 1
            start = None
        elif line.rstrip().endswith((";", "}")) and line[:1].strip():
            start = None


def check_functions(file: File) -> Iterator[str]:
    if file.path.suffix != ".c":
        return
    for line, name, length in functions(file):
        if length > FUNCTION_LINES:
            yield file.found(line, f"{name}() has {length} lines; at most {FUNCTION_LINES}")


def check_markers(file: File) -> Iterator[str]:
    for match in MARKER.finditer(file.text if file.path.name != "tidy.py" else ""):
        yield file.found(file.line_of(match.start()), f"{match.group()} without an issue number")


def check_words(file: File) -> Iterator[str]:
    if file.path.suffix in C and file.path.parts[0] in ("lib", "sched", "kernel", "arch"):
        for match in TYPEDEF_STRUCT.finditer(file.code):
            yield file.found(file.line_of(match.start()), "a typedef hides a struct")


def check_sched(file: File) -> Iterator[str]:
    if file.path.parts[0] != "sched" or file.path.suffix not in C:
        return
    for pattern, what in BANNED_IN_SCHED.items():
        for match in re.finditer(pattern, file.code, re.MULTILINE):
            yield file.found(file.line_of(match.start()), f"{what} in the scheduler")


def check_includes(file: File) -> Iterator[str]:
    for match in INCLUDE.finditer(file.text if file.path.suffix in C else ""):
        if ".." in match[1]:
            yield file.found(file.line_of(match.start()), f'"{match[1]}" leaves its layer')
    if file.path.suffix == ".h" and "#pragma once" not in file.code:
        yield file.found(1, "a header without #pragma once")


def unkept_demands(files: list[File]) -> Iterator[str]:
    """A finding for each function that says what its caller must hold, and does not assert it."""
    files = [file for file in files if file.path.parts[0] in ("kernel", "arch", "sched", "lib")]
    bodies = {file.path: {m[1]: m[2] for m in BODY.finditer(file.text)} for file in files}
    anywhere = {name: body for of_file in bodies.values() for name, body in of_file.items()}
    for file in files:
        of_scheduler = LOCKED.finditer(file.text if file.path.parts[0] == "sched" else "")
        for match in itertools.chain(DEMAND.finditer(file.text), of_scheduler):
            name = match[1]
            body = bodies[file.path].get(name, anywhere.get(name))
            if body is not None and name not in UNABLE and not ASSERTS.search(body):
                yield file.found(file.line_of(match.start(1)), f"{name}() does not assert what its comment demands")


def include_cycles(files: list[File]) -> Iterator[str]:
    """Headers that include each other in a circle, each circle once."""
    headers = {str(f.path): INCLUDE.findall(f.text) for f in files if f.path.suffix == ".h"}
    done = set()

    def visit(path: str, trail: list[str]) -> Iterator[str]:
        if path in trail:
            yield f"{path}:1: includes itself through {' -> '.join(trail[trail.index(path):] + [path])}"
        elif path in headers and path not in done:
            for name in headers[path]:
                yield from visit(name, trail + [path])
            done.add(path)

    for path in headers:
        yield from visit(path, [])


CHECKS = (check_header_comment, check_functions, check_words, check_sched, check_includes)


def files_that_are_gone(files: list[File]) -> Iterator[str]:
    """A finding for each file that a page names, by its path or the end of it, and that is not there."""
    endings = {"/".join(parts[n:]) for parts in (path.parts for path in repository_files()) for n in range(len(parts))}
    for file in files:
        if file.path.suffix != ".md" or str(file.path) in OF_OTHERS:
            continue
        for match in NAMED_FILE.finditer(file.text):
            if match[1] not in endings and not OF_A_READER.search(match[1]):
                yield file.found(file.line_of(match.start()), f"names {match[1]}, which is not there")


def stale_mutants() -> Iterator[str]:
    """A finding for each seeded bug that cannot be planted any more, and for each test that it names and that is none.

    The tests themselves plant only a few in each run.
    """
    try:
        for mutant in mutants.read_mutants().values():
            try:
                changed(mutant.edits, lambda name: pathlib.Path(name).read_text(encoding="utf-8"))
                for word in mutants.misnamed(mutant):
                    yield f"{mutant.where}: {word} is no invariant and no test of: {mutant.run[:60]}"
            except (EditError, OSError, mutants.Problem) as problem:
                yield f"{mutant.where}: {problem}"
    except mutants.Problem as problem:
        yield str(problem)


def stale_solutions() -> Iterator[str]:
    """A finding for each wrong solution of a lab that cannot be made from the reference."""
    for lab in all_labs(pathlib.Path()):
        try:
            for wrong in wrong_solutions(lab):
                wrong_code(lab, wrong)
        except LabError as error:
            yield str(error)


def repository_files() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True, check=True)
    return [path for path in map(pathlib.Path, listed.stdout.splitlines()) if path.is_file()]


def is_code(file: File) -> bool:
    """Programs, whatever they are called, and what they are built from."""
    return file.path.suffix in CODE or file.path.name == "Makefile" or file.text.startswith("#!")


def findings(paths: Iterable[pathlib.Path]) -> Iterator[str]:
    files = []
    for path in paths:
        try:
            files.append(File(path))
        except UnicodeDecodeError:
            if editorconfig.properties(path).get("charset") == "utf-8" and path.suffix not in BINARY:
                yield f"{path}:1: not UTF-8"
    sources = [file for file in files if is_code(file)]
    for file in files:
        yield from check_lines(file)
        yield from check_markers(file)
    for file in sources:
        for check in CHECKS:
            yield from check(file)
    yield from include_cycles(sources)
    yield from unkept_demands(sources)
    yield from size.problems()
    yield from circles.problems("build/kernel/sched")
    yield from gendocs.stale()
    yield from prose.problems()
    yield from files_that_are_gone(files)
    yield from stale_mutants()
    yield from stale_solutions()


def main() -> None:
    found = list(findings([pathlib.Path(p) for p in usage.words(__doc__)] or repository_files()))
    print("\n".join(found) if found else "tidy")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
