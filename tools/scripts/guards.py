#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which lock guards which field: the declarations of the source, and whether a kernel keeps to them.

A line GUARDED(RULE...) in a structure is for the members below it, up to the next such line or an empty one. Its words:

    lock             a lock: a member of the same structure, a lock that all objects share, or TYPE->MEMBER, that of
                     another object. Who writes holds all of them, who reads at least one
    atomic           each write is one instruction, or a WRITE_ONCE
    self             the thread itself; of a process: a thread of it. Beside locks: or it
    constant         nobody writes once a second thread knows the object
    "SOMEBODY"       reads without any of these. "itself": the thread, or a thread of the process, and nobody else does

A kernel of `make DEBUG=1 SAN=thread` notes accesses to objects of slabs, and the locks that were held. It has them in a
table in its memory (kernel/base/guards.c).

Usage: guards.py KERNEL MEMORY...   the fields that the kernel accessed otherwise, in machines whose memory is in these
       files: each with the place and the locks
       guards.py --seen KERNEL MEMORY...   how many accesses to each field were checked
"""

import json
import pathlib
import re
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import usage

NOTE = struct.Struct("<IIIIIHBBI6I")  # struct note of guards.c
TABLE = struct.Struct("<QII")
IMAGE_BASE, IMAGE_HALF, DIRECT_MAP = 0xffffffff80000000, 0xffffffff00000000, 0xffff888000000000
IMAGE = 1 << 31  # the lowest of its lower halves
SITE_MACHINE = 1  # of objects in the scheduler's memory
WRITE, MARKED = 1, 2
ROOMS = ("kernel", "sched")
NAMES = "atomic", "self", "constant"
ITSELF = "itself"


# Fields that the machines of the nightly test access too rarely for it to be sure that it sees one, and those that are
# in no slab. By structure; "": all.
UNSEEN = {
    "autogroup": "", "cgroup": "", "epoll_set": "", "epoll_item": "", "eventfd": "", "timerfd": "", "posix_timer": "",
    "itimers": "", "perf_event": "", "tty": "", "shard": "", "content": "", "ktimer": "",
    "account": "next uid points", "cgroup_member": "joined_user_ns joined_system_ns",
    "entity": "nr_migrations policy_state", "family": "thread_link policy_state", "file": "path pos watchers",
    "inode": "link", "mm": "lock_new", "pipe": "head tail nr_pages readers_ever writers_ever files user limited",
    "proc": "ppid nr_stopped stop_taken continue_pending parent_death_signal start_ns", "sigqueue": "kept",
    "rq": "deciding yield_below prng class_rule timer_armed misfit_load", "shared_link": "",
    "task": "class_state waste_cpu waste_link lost_cpu kthread wait_max sleep_max block_max sleep_sum block_sum clamp",
    "fair_queue": "group link depth asked rule number load_contrib load_due remaining throttled_at pelt_stopped "
                  "pelt_skipped throttled_link debt debtor_link",
    "thread": "saved_mask blocked_on perf vfork_done",
}

INTRO = """# Fields
<!-- Made from the GUARDED() lines of the source by tools/scripts/guards.py; change those and run `make generated`. -->

Which lock guards which field, as the structures declare it. `a` and `b`: who writes holds both. `TYPE->lock` is that of
another object. [locking.md](locking.md) has the order of the locks.

Checked: a nightly test (tests/e2e/test_guards.py) boots a kernel of `make DEBUG=1 SAN=thread`, which notes one in some
accesses to objects of slabs and to the runqueues, with the locks that were held. The test fails with the field, the
place and the locks if an access is not as declared, and if it sees none to a field that this page calls checked. The
others are compared as well when they are accessed, but static objects are not. An object is checked from the moment at
which a second thread or an interrupt is seen to access it. That ends when the last reference is dropped, or when its
last user says that nobody else knows it (`owned()`). Before and after, one thread has it to itself. Reads are checked
unless the third column says who needs no lock. Of a lock in the same object the test knows which one it was, of others
the class.

"""


# --- declarations -------------------------------------------------------------------------------

@dataclass(frozen=True)
class Guard:
    """One GUARDED() line and the members that it is for."""

    path: str
    kind: str  # the structure
    members: tuple[str, ...]
    rule: tuple[str, ...]
    readers: str

    def text(self) -> str:
        """The rule, for people."""
        words = {"atomic": "atomic instructions", "constant": "nobody: it is constant"}
        locks = " and ".join(f"`{lock}`" for lock in self.locks())
        if "self" in self.rule:
            return "the thread itself" + (f", or with {locks}" if locks else "")
        return words.get(self.rule[0], locks)

    def locks(self) -> list[str]:
        return [word for word in self.rule if word not in NAMES]

    def others(self) -> str:
        """Those who read without a lock, for people."""
        either = ["holders of either"] if len(self.locks()) > 1 else []
        readers = self.readers or ("" if self.locks() else "anybody")
        if readers == ITSELF:
            readers = "threads of the process" if self.kind == "proc" else "the thread itself"
        return "; ".join(either + ([readers] if readers else [])) or "-"


def names_of(declaration: str) -> list[str]:
    """The names that `struct list a, *b[4];` declares."""
    pointer = re.match(r".*?\(\*(\w+)\)\(", declaration)
    if pointer:
        return [pointer[1]]
    return [re.findall(r"\w+", re.sub(r"\[.*?\]", "", part))[-1] for part in declaration.rstrip(";").split(",")]


def groups(body: str) -> Iterator[tuple[str, list[str]]]:
    """The GUARDED() lines of a structure's text with the names below them."""
    rule: str | None = None
    names: list[str] = []
    said = ""
    for line in re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).split("\n") + [""]:
        head = re.match(r"\s*GUARDED\((.*)\);$", line)
        if rule is not None and (head or not line.strip() and not said):
            yield rule, names
            rule, names = None, []
        if head:
            rule = head[1]
        elif rule is not None:
            said += line
            if said.strip().endswith(";"):
                names += names_of(" ".join(said.split()))
                said = ""


def declared(root: str = ".") -> list[Guard]:
    """All declarations. A comment's line is not an empty line."""
    found = []
    for path in sorted(p for room in ROOMS for p in pathlib.Path(root, room).rglob("*.[ch]")):
        text = path.read_text(encoding="utf-8")
        if "GUARDED(" not in text:
            continue
        for kind, body in re.findall(r"^struct (\w+) \{(.*?)^\}", text, re.DOTALL | re.MULTILINE):
            for rule, names in groups(re.sub(r"^[ \t]*/\*.*?\*/\n", "", body, flags=re.DOTALL | re.MULTILINE)):
                words = [w.strip() for w in re.findall(r'"[^"]*"|[^,"]+', rule) if w.strip()]
                locks = tuple(w for w in words if w[0] != '"')
                readers = "".join(w.strip('"') for w in words if w[0] == '"')
                found.append(Guard(str(path.relative_to(root)), kind, tuple(names), locks, readers))
    return found


def page() -> str:
    """docs/fields.md."""
    lines = [(f"`{g.kind}.{g.members[0]}`" + "".join(f", `{m}`" for m in g.members[1:]), g.text(), g.others(),
              "yes" if is_checked(g) else "") for g in declared() if not g.path.endswith("_test.c")]
    body = ["| field | written with | read without it by | checked |", "|---|---|---|---|"]
    return INTRO + "\n".join(body + ["| " + " | ".join(line) + " |" for line in lines]) + "\n"


def is_checked(guard: Guard) -> bool:
    """Does the nightly test see accesses to each of its members?"""
    unseen = UNSEEN.get(guard.kind)
    return unseen is None or bool(unseen) and not set(unseen.split()) & set(guard.members)


# --- the names of locks -----------------------------------------------------------------------------

def classes(root: str = ".") -> dict[str, set[str]]:
    """Of each lock that has a name of its own, and of each member that is a lock, the classes that lockdep knows."""
    found: dict[str, set[str]] = {}
    for path in pathlib.Path(root, "kernel").rglob("*.c"):
        text = path.read_text(encoding="utf-8")
        for name, kind in re.findall(r"(\w+)(?:\[[^]]*\])? = SPINLOCK_INIT\(\"([^\"]+)\"\)", text):
            found.setdefault(name, set()).add(kind)
        for name in re.findall(r"MUTEX_INIT\(([\w.]+)\)", text):
            found.setdefault(name, set()).add(f"({name}).queue")
        for member, kind in re.findall(r"(?:spin_lock|mutex)_init\(&\w+(?:\[i\])?(?:->|\.)(\w+), \"([^\"]+)\"\)", text):
            found.setdefault(f"->{member}", set()).add(kind)
    return found | RANKS


def class_of(lock: str, known: dict[str, set[str]]) -> set[str]:
    """The class of @lock, which is not in the same object: of TYPE->lock, the one that is called as the type is."""
    if "->" not in lock:
        return known.get(lock) or ({lock} & {kind for kinds in known.values() for kind in kinds})
    if lock in known:
        return known[lock]
    owner, member = lock.split("->")
    kinds = known.get(f"->{member}", set())
    called = {kind for kind in kinds if kind.split()[0] == owner or kind == owner.replace("_", " ")}
    return called or (kinds if len(kinds) == 1 else set())


def unknown(root: str = ".") -> Iterator[str]:
    """A finding for each word of a declaration that is no lock, and for each line that is for no member."""
    known = classes(root)
    for guard in declared(root):
        text = pathlib.Path(root, guard.path).read_text(encoding="utf-8")
        own = set(re.findall(r"struct (?:spinlock|mutex|host_lock) (\w+);", text))
        for lock in guard.locks():
            if lock not in own and not class_of(lock, known):
                yield f"{guard.path}:1: GUARDED({lock}) in struct {guard.kind}: there is no such lock"
        if not guard.members or not guard.rule:
            yield f"{guard.path}:1: a GUARDED() line in struct {guard.kind} without a rule, or a member below it"


# Locks of the scheduler: their class is their rank (kernel/task/lockdep.c).
RANKS = {"rq->lock": {"sched rq"}, "bandwidth->lock": {"sched group"}, "shard->lock": {"sched shard"},
         "sched->waste_lock": {"sched leaf"}, "sched->family_lock": {"sched leaf"},
         "freq_domain->lock": {"sched leaf"}}


# --- what a kernel did ----------------------------------------------------------------------------

@dataclass(frozen=True)
class Access:
    """Accesses by one instruction to one place of the objects that one place allocates."""

    site: int
    code: int
    caller: int
    count: int
    offset: int
    size: int
    how: int
    by_itself: int
    held: tuple[int, ...]


def notes_of(memory: bytes, table: int) -> tuple[list[Access], int]:
    """The accesses that a machine noted, and how many it could not. @table: where guard_table is."""
    at, size, lost = TABLE.unpack_from(memory, table)
    found = []
    for i in range(size):
        note = NOTE.unpack_from(memory, at + i * NOTE.size)
        site, code, caller, count, offset, length, how, by_itself, nr, *held = note
        if count:
            found.append(Access(site, code, caller, count, offset, length, how, by_itself, tuple(held[:nr])))
    return found, lost


class Kernel:
    """What the debug information of a kernel says."""

    def __init__(self, elf: str, accesses: Iterable[Access], kinds: Iterable[str]) -> None:
        code = {x - 1 for a in accesses for x in (a.site, a.code, a.caller) if x != SITE_MACHINE}
        text = {lock for a in accesses for lock in a.held if lock >= IMAGE}
        asked = {"types": sorted(set(kinds)), "code": [IMAGE_HALF + c for c in sorted(code)],
                 "text": [IMAGE_HALF + t for t in sorted(text)]}
        script = str(pathlib.Path(__file__).resolve().parents[1] / "gdb" / "layout.py")
        said = subprocess.run(["gdb", "-nx", "-q", "-batch", "-x", script, elf], input=json.dumps(asked),
                              capture_output=True, text=True, check=True)
        answer = json.loads(said.stdout[said.stdout.index("{"):])
        self.types: dict[str, list[Any] | None] = answer["types"]
        self.sizes: dict[str, int] = answer["sizes"]
        self._code = {int(a): place for a, place in answer["code"].items()}
        self.texts = {int(a) - IMAGE_HALF: name for a, name in answer["text"].items()}

    def place(self, address: int) -> tuple[str, str, int]:
        """Function, file and line of the call, or the access, that returns to @address."""
        function, path, line = self._code[IMAGE_HALF + address - 1]
        return function, re.sub(r"^.*?build[^/]*/inc/\w+/|^\./", "", path), line


def allocated_kind(path: str, line: int) -> str:
    """The structure that is allocated at @line of @path, "" for texts and arrays."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    call = lines[line - 1]
    cache = re.search(r"kmem_cache_alloc\((\w+)\)", call)
    if cache:
        made = re.search(cache[1] + r" = kmem_cache_create\([^,]*, sizeof\(struct (\w+)\)", "\n".join(lines))
        return made[1] if made else ""
    named = re.search(r"k[mz]alloc\(sizeof\(\*(\w+)(?:\[0\])?\)\)", call)
    for above in reversed(lines[:line]) if named else ():
        variable = re.search(r"struct (\w+) (?:.*[ ,*])?\*?\b" + named[1] + r"\b", above) if named else None
        if variable:
            return variable[1]
        if above.startswith("{"):
            break
    return ""


# --- the comparison ----------------------------------------------------------------------------------

@dataclass
class Verdict:
    """What a comparison found."""

    seen: Counter[str] = field(default_factory=Counter)   # accesses that were checked, by field
    wrong: dict[str, int] = field(default_factory=dict)   # a sentence for each violation, and how often it was seen
    lost: int = 0


class Judge:
    """Compares accesses of one kernel with the declarations."""

    def __init__(self, guards: list[Guard], kernel: Kernel) -> None:
        self._guards = {(g.kind, m): g for g in guards for m in g.members}
        self._kernel = kernel
        self._classes = classes()
        self._kinds: dict[int, str] = {}
        self._first_rq = self._nr_cpus = 0

    def kind_of(self, site: int) -> str:
        if site not in self._kinds:
            _, path, line = self._kernel.place(site)
            self._kinds[site] = allocated_kind(path, line) if pathlib.Path(path).is_file() else ""
        return self._kinds[site]

    def held(self, access: Access, start: int) -> tuple[set[int], set[str]]:
        """The locks held at @access to a structure that begins at @start of the object: by their place in the object,
        and by the class. Another runqueue's lock is none."""
        own = {held for held in access.held if held < IMAGE}
        named = {self._kernel.texts[held] for held in access.held if held >= IMAGE}
        if access.site != SITE_MACHINE:
            return own, named
        rq = self._kernel.sizes["rq"]
        for name, offset, *_ in self._kernel.types["sched"] or []:
            if offset in own:
                named |= RANKS.get(f"sched->{name}", set())
        if start >= self._first_rq:
            own = {lock for lock in own if start <= lock < start + rq}
            named |= RANKS["rq->lock"] if own else set()
        return own, named

    def holds(self, held: tuple[set[int], set[str]], lock: str, kind: str, base: int) -> bool:
        """Was @lock of a member of the structure @kind, which begins at @base of the object, held?"""
        places = {base + at for name, at, *_ in self._kernel.types.get(kind) or [] if name == lock}
        # A lock of the object is known by its place alone: its class may be that of another one.
        return bool(places & held[0]) if places else bool(held[1] & class_of(lock, self._classes))

    def is_kept(self, access: Access, guard: Guard, base: int, start: int) -> bool:
        write = access.how & WRITE
        if guard.rule[0] == "constant":
            return not write
        if guard.rule[0] == "atomic":
            return not write or bool(access.how & MARKED)
        by_itself = bool(access.by_itself)
        if "self" in guard.rule and by_itself or not write and guard.readers and (guard.readers != ITSELF or by_itself):
            return True
        locks = self.held(access, start)
        held = [self.holds(locks, lock, guard.kind, base) for lock in guard.locks()]
        return (all(held) if write else any(held)) if held else not write

    def start(self, memory: bytes, machine: int) -> None:
        """Accesses from here on are those of a machine of this @memory. @machine: where its pointer of this name is."""
        at, = struct.unpack_from("<Q", memory, machine)
        pointer, = (offset for name, offset, *_ in self._kernel.types["sched"] or [] if name == "rq")
        rq, = struct.unpack_from("<Q", memory, at - DIRECT_MAP + pointer)
        self._nr_cpus, = struct.unpack_from("<I", memory, at - DIRECT_MAP)
        self._first_rq = rq - at

    def find(self, access: Access) -> tuple[str, int]:
        """The structure that @access is to, and where in the object it begins."""
        if access.site != SITE_MACHINE:
            return self.kind_of(access.site), 0
        size = self._kernel.sizes["rq"]
        cpu = (access.offset - self._first_rq) // size
        if 0 <= cpu < self._nr_cpus:
            return "rq", self._first_rq + cpu * size
        return "sched" if access.offset < self._kernel.sizes["sched"] else "", 0

    def guards_of(self, kind: str, offset: int, size: int, base: int) -> Iterator[tuple[Guard, str, int]]:
        """The declared members of @kind in the @size bytes from @offset, and where in the object, in which @kind begins
        at @base, their structures begin. The members of a member have precedence over that one."""
        for name, at, length, inner, element in self._kernel.types.get(kind) or []:
            if at >= offset + size or offset >= at + length:
                continue
            start = at + (max(offset - at, 0) // element * element if element else 0)
            found = list(self.guards_of(inner, max(offset - start, 0), size, base + start)) if inner else []
            guard = self._guards.get((kind, name))
            yield from found or ([(guard, name, base)] if guard else [])

    def look(self, access: Access, verdict: Verdict) -> None:
        outer, start = self.find(access)
        for guard, member, base in self.guards_of(outer, access.offset - start, access.size, start):
            verdict.seen[f"{guard.kind}.{member}"] += access.count
            if not self.is_kept(access, guard, base, start):
                sentence = self.sentence(access, guard, member)
                verdict.wrong[sentence] = verdict.wrong.get(sentence, 0) + access.count

    def sentence(self, access: Access, guard: Guard, member: str) -> str:
        function, path, line = self._kernel.place(access.code)
        caller = self._kernel.place(access.caller)
        held = ", ".join(self._kernel.texts.get(lock, f"its lock at byte {lock}") for lock in access.held) or "no lock"
        return (f"{guard.kind}.{member} is {'written' if access.how & WRITE else 'read'} by {function} ({path}:{line}, "
                f"called by {caller[0]}) with {held}; declared: {', '.join(guard.rule)} ({guard.path})")


def compare(elf: str, memories: Sequence[bytes]) -> Verdict:
    """The accesses in the machines' @memories, of the kernel @elf, beside the declarations of the source."""
    said = subprocess.run(["nm", elf], capture_output=True, text=True, check=True).stdout
    table, machine = (int(re.findall(rf"^(\w+) \w {name}$", said, re.MULTILINE)[0], 16) - IMAGE_BASE
                      for name in ("guard_table", "machine"))
    guards, verdict = declared(), Verdict()
    notes = [notes_of(memory, table) for memory in memories]
    kernel = Kernel(elf, [a for found, _ in notes for a in found], {g.kind for g in guards} | {"thread", "rq", "sched"})
    judge = Judge(guards, kernel)
    for memory, (accesses, lost) in zip(memories, notes):
        judge.start(memory, machine)
        verdict.lost += lost
        for access in accesses:
            judge.look(access, verdict)
    return verdict


def main() -> int:
    given = usage.words(__doc__, 2, None, ["--seen"])
    seen = "--seen" in given
    elf, *paths = (word for word in given if word != "--seen")
    verdict = compare(elf, [pathlib.Path(path).read_bytes() for path in paths])
    for name, number in sorted(verdict.seen.items()) if seen else ():
        print(f"{number:8} {name}")
    for sentence, number in sorted(verdict.wrong.items()):
        print(f"{number:8} times: {sentence}")
    print(f"{sum(verdict.seen.values())} accesses to {len(verdict.seen)} fields were checked; "
          f"{len(verdict.wrong)} wrong; {verdict.lost} were not noted for want of room")
    return bool(verdict.wrong)


if __name__ == "__main__":
    sys.exit(main())
