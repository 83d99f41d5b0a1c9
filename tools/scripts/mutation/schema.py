# SPDX-License-Identifier: GPL-2.0-only
"""One tree with all mutations: each is chosen when a program starts, or a kernel, so none costs a build of its own.

The tree is a copy of the source. Number 17 becomes `(mutation(17) ? (a <= b) : (a < b))`, and a statement that
number 18 leaves out becomes `{ if (!mutation(18)) statement; }` (switch.h). A mutation that does not compile is no
mutation: the compiler names its line, and it is left out.
"""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence

from .points import Mutation, Site

HERE = pathlib.Path(__file__).parent
PLACE = r"^(?:\S*/)?((?:sched|kernel)/\S+?):(\d+):\d+: "
ERROR = re.compile(PLACE + "(?:fatal )?error:", re.MULTILINE)
EXPANSION = re.compile(PLACE + "note: in expansion", re.MULTILINE)  # of a macro whose definition has the error
BYTES = "latin-1"  # clang's places count bytes
INCLUDED = re.compile(r'^#include "((?:sched|kernel)/[^"]+)"', re.MULTILINE)
# Which compiler options a room needs, and where which of our files becomes its switch.
OPTIONS = {"sched": ("-DDEBUG=0", "-DCPU_MAX=64u"),
           "kernel": ("-DDEBUG=0", "-DSAN_ADDRESS=0", '-DCOMMIT=""', '-DVERSION=""', "-ffreestanding", "-fno-pie",
                      "-mcmodel=kernel", "-mno-red-zone", "-mgeneral-regs-only", "-I.", "-Iarch/x86")}
SWITCHES = {"sched": {"sched/mutation/switch.c": "switch.c"},
            "kernel": {"tests/hosted/switch.c": "switch.c", "kernel/mutation/switch.c": "boot.c"}}
Numbered = Mapping[int, Mutation]


def put(path: pathlib.Path, text: str) -> None:
    """Write a file, but leave one alone that has this text already, so that make leaves its objects alone."""
    if not path.exists() or path.read_text(BYTES) != text:
        path.write_text(text, BYTES)


def wrap(number: int, site: Site, inner: str) -> str:
    if site.text is None:
        return f"{{ if (!mutation({number})) {inner} }}"
    return f"(mutation({number}) ? ({site.text}) : ({inner}))"


def render(text: str, sites: Sequence[tuple[int, Site]], room: str) -> str:
    """@text with all @sites, whose places contain each other or are apart."""
    # outermost first; of several at one place the first is the outermost
    waiting = sorted(sites, key=lambda each: (each[1].start, -each[1].end, each[1].text is not None, each[0]))
    return f'#include "{room}/mutation/switch.h"\n' + render_part(text, 0, len(text), waiting)


def render_part(text: str, start: int, end: int, sites: Sequence[tuple[int, Site]]) -> str:
    parts, at = [], start
    while sites:
        number, site = sites[0]
        inside = [each for each in sites[1:] if each[1].start < site.end]
        parts.append(text[at:site.start])
        parts.append(wrap(number, site, render_part(text, site.start, site.end, inside)))
        at, sites = site.end, sites[1 + len(inside):]
    return "".join(parts) + text[at:end]


def apart(sites: Sequence[tuple[int, Site]]) -> set[int]:
    """Numbers whose places overlap those of earlier ones instead of containing them."""
    kept: list[Site] = []
    bad = set()
    for number, site in sites:
        if any(a.start < site.start < a.end < site.end or site.start < a.start < site.end < a.end for a in kept):
            bad.add(number)
        else:
            kept.append(site)
    return bad


class Schema:
    """A room of @root, written into @tree with mutations, by number; number 0 is none of them."""

    def __init__(self, root: pathlib.Path, tree: pathlib.Path, mutations: Numbered, room: str = "sched") -> None:
        self.tree = tree
        self.room = room
        self.mutations = dict(mutations)
        self.invalid: dict[int, str] = {}
        self.original = {path.relative_to(root).as_posix(): path.read_text(BYTES)
                         for path in sorted((root / room).rglob("*")) if path.is_file()}

    def mutated(self) -> list[str]:
        """Files with mutations. Headers first, because others include them."""
        names = {mutation.file for mutation in self.mutations.values()}
        return sorted(names, key=lambda name: (name.endswith(".c"), name))

    def sites(self, file: str) -> list[tuple[int, Site]]:
        return [(number, site) for number, mutation in sorted(self.mutations.items()) if mutation.file == file
                for site in mutation.sites]

    def write(self, file: str) -> None:
        sites = self.sites(file)
        text = render(self.original[file], sites, self.room) if sites else self.original[file]
        (self.tree / file).parent.mkdir(parents=True, exist_ok=True)
        put(self.tree / file, text)

    def drop(self, numbers: set[int], why: str) -> None:
        for number in numbers:
            self.invalid[number] = why
            del self.mutations[number]

    def install(self) -> None:
        """Write all files, and the switch."""
        for file in self.original:
            self.drop(apart(self.sites(file)), "overlaps another one")
            self.write(file)
        switch = self.tree / self.room / "mutation"
        for name, ours in {f"{self.room}/mutation/switch.h": "switch.h", **SWITCHES[self.room]}.items():
            text = (HERE / ours).read_text(BYTES).replace("MUTATED_ROOM", self.room)
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            put(self.tree / name, text.replace("NR_MUTATIONS", str(max(self.mutations))))
        for path in (self.tree / self.room).rglob("*.[ch]"):
            if path.parent != switch and path.relative_to(self.tree).as_posix() not in self.original:
                path.unlink()

    @functools.cached_property
    def includes(self) -> dict[str, set[str]]:
        return {file: set(INCLUDED.findall(text)) for file, text in self.original.items()}

    # --- what does not compile ----------------------------------------------------------

    def compile(self, file: str, *options: str) -> subprocess.CompletedProcess[str]:
        words = [os.environ.get("CC", "gcc"), "-std=gnu11", "-w", *OPTIONS[self.room], f"-I{self.tree}", "-c", *options,
                 file]
        return subprocess.run(words, cwd=self.tree, capture_output=True, text=True, check=False)

    def users(self, file: str) -> list[str]:
        """The files to compile when @file has changed: itself, or those that include a header, by whatever way."""
        if file.endswith(".c"):
            return [file]
        known: set[str] = set()
        included = {file}
        while included - known:
            known |= included
            included |= {name for name, names in self.includes.items() if names & known}
        return sorted(name for name in known if name.endswith(".c"))

    def drop_invalid(self) -> None:
        """Take out what the compiler refuses."""
        for file in self.mutated():
            for user in self.users(file):
                self.compile_until_valid(user)

    def compile_until_valid(self, user: str) -> None:
        while True:
            done = self.compile(user, "-fsyntax-only")
            if not done.returncode:
                return
            bad = self.blamed(ERROR.findall(done.stderr)) or self.blamed(EXPANSION.findall(done.stderr))
            if not bad:
                raise ValueError(f"{user} does not compile, and no mutation is to blame: {done.stderr[:500]}")
            files = {self.mutations[number].file for number in bad}
            self.drop(bad, "does not compile")
            for file in files:
                self.write(file)

    def blamed(self, places: Iterable[tuple[str, str]]) -> set[int]:
        return {number for file, line in places if file in self.original for number in self.on_line(file, int(line))}

    def on_line(self, file: str, line: int) -> set[int]:
        """Numbers of the mutations on a line of the file as written; those whose text begins there, at least."""
        lines = (self.tree / file).read_text(BYTES).split("\n")
        while line > 0:
            found = {int(number) for number in re.findall(r"mutation\((\d+)\)", lines[line - 1])}
            if found & set(self.mutations):
                return found & set(self.mutations)
            line -= 1
        return set()

    # --- what the compiler finds equal --------------------------------------------------

    def is_equal(self, number: int) -> bool:
        """Does the compiler make the same code with and without the mutation?"""
        return all(self.code(user, number) == self.code(user, 0) for user in self.users(self.mutations[number].file))

    def code(self, user: str, number: int) -> bytes:
        with tempfile.NamedTemporaryFile(suffix=".o") as output:  # of this thread: several compare at a time
            done = self.compile(user, "-O2", f"-DONLY_MUTATION={number}", "-o", output.name)
            if done.returncode:
                raise ValueError(f"{shlex.join(done.args)}: {done.stderr[:300]}")
            return pathlib.Path(output.name).read_bytes()
