# SPDX-License-Identifier: GPL-2.0-only
"""Where and how the source can be mutated, by clang's syntax tree.

Every function of the given files is looked at once. What judges is left alone: assertions, and functions and files
that check invariants, because a weaker check only shows next to a bug (tests/mutants has one for each invariant).
Text that comes out of a macro's definition is left alone too; a macro's arguments are not.
"""

import ctypes
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clang import cindex
from clang.cindex import Cursor, CursorKind, SourceLocation

JUDGE_FILE = re.compile(r"(^|/)check\.c$")
JUDGE_FUNCTION = re.compile(r"(^|_)check(_|$)")
JUDGE_CALL = re.compile(r"\b(?:\w*(?:assert|ASSERT)\w*|SCHED_CHECK|host_bug|might_sleep)\s*\(")
OF_DEBUG = re.compile(r"\bDEBUG\b")  # another kernel has what such a condition leads to, or it does not link
LOCK = re.compile(r"\b(?:rq|host|shard|sharedq?|spin|mutex)_(un)?lock\s*\(([^;]*)\)\s*;")

OTHER_COMPARISONS = {"<": (">=", "<="), "<=": (">", "<"), ">": ("<=", ">="), ">=": ("<", ">"), "==": ("!=",),
                     "!=": ("==",)}
OTHER_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
                    "^": "&"}
OTHER_ASSIGNMENTS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "/=", "<<=": ">>=", ">>=": "<<=",
                     "&=": "|=", "|=": "&=", "^=": "|="}
NOT_SYMMETRIC = {"-", "/", "%"}
SYMMETRIC_CALLS = re.compile(r"(?:max|min|time_max|time_min|cpumask_and|cpumask_intersects|shares_llc|swap)\s*\(")
NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)$")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

STATEMENT_PARENTS = {CursorKind.COMPOUND_STMT: None, CursorKind.IF_STMT: 1, CursorKind.FOR_STMT: -1,
                     CursorKind.WHILE_STMT: 1, CursorKind.DO_STMT: 0, CursorKind.CASE_STMT: 1,
                     CursorKind.DEFAULT_STMT: 0, CursorKind.SWITCH_STMT: 1}
CONDITIONAL = {CursorKind.IF_STMT: 0, CursorKind.WHILE_STMT: 0, CursorKind.DO_STMT: 1,
               CursorKind.CONDITIONAL_OPERATOR: 0}
JUMPS = {CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT, CursorKind.RETURN_STMT}
NOT_RUN = {CursorKind.CXX_UNARY_EXPR, CursorKind.STATIC_ASSERT}  # sizeof; an assertion of the compiler's


@dataclass(frozen=True)
class Site:
    """Bytes [start, end) of a file, and the text to have there instead; None: a statement is left out."""

    start: int
    end: int
    text: str | None


@dataclass(frozen=True)
class Mutation:
    """One change. All but the sites is its key, which stays the same when lines move."""

    file: str
    function: str
    operator: str
    before: str
    after: str
    nr: int  # of several that are alike in one function
    line: int = field(compare=False)
    sites: tuple[Site, ...] = field(compare=False)

    @property
    def key(self) -> str:
        return " :: ".join([self.file, self.function, self.operator, self.before, self.after, str(self.nr)])


def one_line(text: str) -> str:
    return " ".join(COMMENT.sub(" ", text).split())


def spelled_at(location: SourceLocation) -> tuple[str | None, int]:
    """The file and the offset at which @location is written, be it in a macro's argument or in its definition."""
    file, line, column, offset = cindex.c_object_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    cindex.conf.lib.clang_getSpellingLocation(location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column),
                                              ctypes.byref(offset))
    return (cindex.File(file).name if file else None), offset.value


@dataclass
class Function:
    """A function's text, and the mutations found in it."""

    cursor: Cursor
    file: str
    text: bytes  # of the file
    start: int = 0
    end: int = 0
    judges: list[tuple[int, int]] = field(default_factory=list)
    found: list[tuple[str, str, str, tuple[Site, ...]]] = field(default_factory=list)
    seen: set[tuple[str, int, int, str | None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.start, self.end = self.cursor.extent.start.offset, self.cursor.extent.end.offset
        body = self.text[self.start:self.end].decode("latin-1")
        for match in JUDGE_CALL.finditer(body):
            end = closing(body, match.end())
            self.judges.append((self.start + match.start(), self.start + end + body[end:end + 1].count(";")))

    # --- places -----------------------------------------------------------------------

    def offset(self, location: SourceLocation) -> int:
        """Where @location is written inside the function, or, for text of a macro, where that macro stands."""
        name, offset = spelled_at(location)
        if name == self.cursor.extent.start.file.name and self.start <= offset <= self.end:
            return offset
        return int(location.offset)

    def place(self, cursor: Cursor) -> tuple[int, int]:
        return self.offset(cursor.extent.start), self.offset(cursor.extent.end)

    def source(self, start: int, end: int) -> str:
        return self.text[start:end].decode("latin-1")

    def of(self, cursor: Cursor) -> str:
        return self.source(*self.place(cursor))

    def judged(self, start: int, end: int) -> bool:
        return any(first <= start and end <= last for first, last in self.judges)

    # --- mutations --------------------------------------------------------------------

    def add(self, operator: str, start: int, end: int, text: str | None, shown: tuple[str, str] | None = None) -> None:
        if not self.start <= start < end <= self.end or self.judged(start, end):
            return
        if OF_DEBUG.search(self.source(start, end)):
            return
        if (operator, start, end, text) in self.seen:  # a macro that uses its argument twice
            return
        self.seen.add((operator, start, end, text))
        before, after = shown or (self.source(start, end), text if text is not None else "")
        self.found.append((operator, one_line(before), one_line(after), (Site(start, end, text),)))

    def visit(self, cursor: Cursor) -> None:
        if cursor.kind in NOT_RUN:
            return
        children = list(cursor.get_children())
        self.mutate_conditions(cursor, children)
        self.mutate_statements(cursor, children)
        if cursor.kind == CursorKind.BINARY_OPERATOR and len(children) == 2:
            self.mutate_binary(cursor, *children)
        elif cursor.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR and len(children) == 2:
            self.mutate_assignment(cursor, *children)
        elif cursor.kind == CursorKind.UNARY_OPERATOR and children:
            self.mutate_unary(cursor, children[0])
        elif cursor.kind == CursorKind.INTEGER_LITERAL:
            self.mutate_number(cursor)
        elif cursor.kind == CursorKind.CONDITIONAL_OPERATOR and len(children) == 3:
            self.mutate_choice(cursor, *children)
        elif cursor.kind == CursorKind.CALL_EXPR:
            self.mutate_call(cursor)
        if cursor.kind == CursorKind.CASE_STMT:
            children = children[1:]
        for child in children:
            self.visit(child)

    def between(self, cursor: Cursor, left: Cursor, right: Cursor) -> tuple[str, str, str] | None:
        """(left operand, operator, right operand), if they are what is written there."""
        (start, end), (a, b), (c, d) = self.place(cursor), self.place(left), self.place(right)
        if not (start == a and b <= c and end == d):
            return None
        return self.source(a, b), one_line(self.source(b, c)), self.source(c, d)

    def mutate_binary(self, cursor: Cursor, left: Cursor, right: Cursor) -> None:
        parts = self.between(cursor, left, right)
        if not parts:
            return
        (a, sign, b), (start, end) = parts, self.place(cursor)
        for other in OTHER_COMPARISONS.get(sign, ()):
            self.add("comparison", start, end, f"{a} {other} {b}")
        if sign in OTHER_ARITHMETIC:
            self.add("arithmetic", start, end, f"({a}) {OTHER_ARITHMETIC[sign]} ({b})",
                     (f"{a} {sign} {b}", f"{a} {OTHER_ARITHMETIC[sign]} {b}"))
        if sign in NOT_SYMMETRIC:
            self.add("swapped operands", start, end, f"({b}) {sign} ({a})", (f"{a} {sign} {b}", f"{b} {sign} {a}"))
        if sign in ("&&", "||"):
            other = "||" if sign == "&&" else "&&"
            self.add("logic", start, end, f"({a}) {other} ({b})", (f"{a} {sign} {b}", f"{a} {other} {b}"))
            self.add("logic", start, end, f"!!({a})", (f"{a} {sign} {b}", a))
            self.add("logic", start, end, f"!!({b})", (f"{a} {sign} {b}", b))

    def mutate_assignment(self, cursor: Cursor, left: Cursor, right: Cursor) -> None:
        parts = self.between(cursor, left, right)
        if parts and parts[1] in OTHER_ASSIGNMENTS:
            self.add("arithmetic", *self.place(cursor), f"{parts[0]} {OTHER_ASSIGNMENTS[parts[1]]} {parts[2]}")

    def mutate_unary(self, cursor: Cursor, operand: Cursor) -> None:
        (start, end), (a, b) = self.place(cursor), self.place(operand)
        sign, inner = one_line(self.source(start, a) + self.source(b, end)), self.source(a, b)
        if not (start <= a <= b <= end):
            return
        if sign in ("++", "--"):
            other = "--" if sign == "++" else "++"
            self.add("arithmetic", start, end, f"{other}{inner}" if start < a else f"{inner}{other}")
        elif sign == "!":
            self.add("logic", start, end, f"!!({inner})", (f"!{inner}", inner))
        elif sign in ("-", "~"):
            self.add("arithmetic", start, end, f"({inner})", (f"{sign}{inner}", inner))

    def mutate_number(self, cursor: Cursor) -> None:
        start, end = self.place(cursor)
        text = self.source(start, end)
        if text in ("true", "false"):
            self.add("constant", start, end, "false" if text == "true" else "true")
        match = NUMBER.match(text)
        if match:
            value = int(match[1], 8 if re.match("0[0-7]", text) else 0)
            self.add("constant", start, end, f"{value + 1}{match[2]}")
            if value:
                self.add("constant", start, end, f"{value - 1}{match[2]}")

    def mutate_choice(self, cursor: Cursor, condition: Cursor, yes: Cursor, no: Cursor) -> None:
        (start, end), (_, after), (a, b), (c, d) = map(self.place, (cursor, condition, yes, no))
        if start <= after <= a <= b <= c and d == end and one_line(self.source(b, c)) == ":":
            head = self.source(start, a)
            self.add("swapped operands", start, end, f"{head}({self.source(c, d)}) : ({self.source(a, b)})",
                     (self.source(start, end), f"{head}{self.source(c, d)} : {self.source(a, b)}"))

    def mutate_call(self, cursor: Cursor) -> None:
        """Two neighbouring arguments of one type change places."""
        start, end = self.place(cursor)
        if SYMMETRIC_CALLS.match(self.source(start, end)):
            return
        arguments = [(argument.type.get_canonical().spelling, *self.place(argument))
                     for argument in cursor.get_arguments() if argument is not None]
        for (one, a, b), (other, c, d) in zip(arguments, arguments[1:]):
            if one == other and start < a <= b < c <= d < end and self.source(a, b) != self.source(c, d):
                self.add("swapped operands", start, end, self.source(start, a) + self.source(c, d) +
                         self.source(b, c) + self.source(a, b) + self.source(d, end))

    def mutate_conditions(self, cursor: Cursor, children: Sequence[Cursor]) -> None:
        """A condition that is a value or a call is turned round; comparisons and logic have changes of their own."""
        condition = None
        if cursor.kind in CONDITIONAL and len(children) > CONDITIONAL[cursor.kind]:
            condition = children[CONDITIONAL[cursor.kind]]
        elif cursor.kind == CursorKind.RETURN_STMT and self.cursor.result_type.spelling in ("bool", "_Bool"):
            condition = children[0] if children else None
        if condition is None:
            return
        start, end = self.place(condition)
        text = self.source(start, end)
        if re.fullmatch(r"[A-Za-z_][\w.\->\[\]]*(\(.*\))?", text, re.DOTALL) and balanced(text) and \
                text not in ("true", "false"):
            self.add("logic", start, end, f"!({text})", (text, f"!{text}"))

    def mutate_statements(self, cursor: Cursor, children: Sequence[Cursor]) -> None:
        if cursor.kind not in STATEMENT_PARENTS:
            return
        first = STATEMENT_PARENTS[cursor.kind]
        for child in children if first is None else children[first:]:
            start, end = self.place(child)
            tail = re.match(rb"\s*;", self.text[end:])
            text = self.source(start, end)
            if not tail or LOCK.match(text + ";") or text.startswith("(void)") or self.ends(child, end + tail.end()):
                continue
            if child.kind in JUMPS or child.kind.is_expression() or (
                    child.kind == CursorKind.DO_STMT and not text.startswith("do")):
                self.add("dropped statement", start, end + tail.end(), None)

    def ends(self, child: Cursor, end: int) -> bool:
        """Does @child return at the very end of the function? Without it the result would be undefined."""
        return child.kind == CursorKind.RETURN_STMT and self.source(end, self.end).strip() == "}"

    def mutate_locks(self) -> None:
        """A lock and its release, both in this function, are dropped together."""
        body = self.source(self.start, self.end)
        lines: dict[str, list[re.Match[str]]] = {}
        for match in LOCK.finditer(body):
            lines.setdefault(match[2], []).append(match)
        for what, matches in lines.items():
            sites = tuple(Site(self.start + match.start(), self.start + match.end(), None) for match in matches)
            self.found.append(("dropped lock", " ".join(one_line(match[0]) for match in matches), "", sites))

    def mutations(self) -> Iterator[Mutation]:
        for child in self.cursor.get_children():
            if child.kind == CursorKind.COMPOUND_STMT:
                self.visit(child)
        self.mutate_locks()
        times: dict[tuple[str, str, str], int] = {}
        for operator, before, after, sites in sorted(self.found, key=lambda found: found[3][0].start):
            nr = times[operator, before, after] = times.get((operator, before, after), 0) + 1
            line = 1 + self.text.count(b"\n", 0, sites[0].start)
            yield Mutation(self.file, self.cursor.spelling, operator, before, after, nr, line, sites)


def balanced(text: str) -> bool:
    """Is the first opening parenthesis of @text, if any, closed at its end?"""
    return "(" not in text or closing(text, text.index("(") + 1) == len(text)


def closing(text: str, at: int) -> int:
    """Behind the parenthesis that closes the one before @at."""
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def functions(unit: cindex.TranslationUnit, root: pathlib.Path, done: set[tuple[str, int]],
              within: str) -> Iterator[Function]:
    """The functions that @unit defines in files whose name begins with @within, and that are not in @done."""
    texts: dict[str, bytes] = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind != CursorKind.FUNCTION_DECL or not cursor.is_definition():
            continue
        file = os.path.relpath(os.path.realpath(cursor.extent.start.file.name), root)
        place = (file, cursor.extent.start.offset)
        if not file.startswith(within) or place in done or JUDGE_FILE.search(file) or \
                JUDGE_FUNCTION.search(cursor.spelling):
            continue
        done.add(place)
        if file not in texts:
            texts[file] = (root / file).read_bytes()
        yield Function(cursor, file, texts[file])


def find_mutations(files: Iterable[str], root: pathlib.Path, options: Sequence[str],
                   headers: bool = True) -> list[Mutation]:
    """All mutations of the functions in @files and, with @headers, in the headers of their room that they include."""
    index = cindex.Index.create()
    done: set[tuple[str, int]] = set()
    found: list[Mutation] = []
    for name in sorted(files):
        unit = index.parse(str(root / name), args=list(options))
        errors = [str(each) for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]
        if errors:
            raise ValueError(f"{name}: {errors[0]}")
        within = f"{name.partition('/')[0]}/" if headers else name
        for function in functions(unit, root, done, within):
            found += function.mutations()
    return sorted(found, key=lambda mutation: (mutation.file, mutation.sites[0].start, mutation.key))
