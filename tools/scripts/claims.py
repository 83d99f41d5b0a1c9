#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The claims of a page: what its sentences say of the numbers that its sessions show, as expressions that are computed.

A claim is a comment behind the paragraph, with words of the sentence that it checks:

    <!-- claim "twice as soon": [burst nice 0 20ms: wait ms] > 1.9 * [burst nice 0 500us: wait ms] -->

[ROW: COLUMN] is the number below the head COLUMN in the line that begins with ROW, and [TEXT: #N] the Nth number behind
TEXT in its line. There must be one such line among the sessions of the page; otherwise " (N)" behind ROW takes the Nth,
and " @ WORDS" behind COLUMN only those that a command with WORDS printed. The rest is arithmetic and comparisons of
Python, with abs, min, max and round.

A sentence of the book that compares numbers and has no claim is an error, too (tests/tools/test_book.py).

Usage: claims.py [PAGE...]    prints each claim that is not so, and each sentence without one; default: the book
"""

import ast
import glob
import operator
import re
import sys
from collections.abc import Callable
from typing import NamedTuple

import docblocks
import usage

COMMENT = re.compile(r'<!-- claim "([^"]+)":\s*(.*?)\s*-->', re.DOTALL)
REFERENCE = re.compile(r"\[([^][]+?)(?: \((\d+)\))?: (#\d+|[^][@#]+?)(?: @ ([^][]+?))?\]")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?!\w)")
DECIMAL = re.compile(r"(?<![\w.])\d[\d,]*\.\d+(?![\w.]*\d)")
VERSION = re.compile(r"\b(?:Linux|BORE|Debian|version|card|chapters?)\s+\d+(?:\.\d+)+")
COMPARING = re.compile(
    r"\b(twice|thrice|half|third|quarter|times as|(?:more|less|later|earlier|longer|shorter|sooner|larger) than|"
    r"(?:smaller|higher|lower|fewer|further|better|worse) than|instead of|at most|at least|up to|never|nearly|almost|"
    r"hardly|within|below|above|falls?|fell|rises?|rose|from [\d.]+ to|not far from|where its|"
    r"as (?:much|often|long|soon|many) as)\b")
TIMES = re.compile(r"\b(instead of|(?:twice|times) as)\b")
Operator = Callable[..., object]
OPERATORS: dict[type[ast.AST], Operator] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg, ast.Not: operator.not_, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne}
FUNCTIONS: dict[str, Operator] = {"abs": abs, "min": min, "max": max, "round": round}


class ClaimError(Exception):
    """A claim that cannot be computed."""


class Claim(NamedTuple):
    line: int
    sentence: str  # "" if the page has no such words
    expression: str


class Shown(NamedTuple):
    """A line that a session shows, with all that its block shows before it."""
    command: str
    before: list[str]
    text: str


def shown_lines(path: str) -> list[Shown]:
    """Every line that a session of the page @path shows."""
    found = []
    for _, lines in docblocks.blocks(path):
        before: list[str] = []
        for command, printed in docblocks.session(lines):
            for _, text in printed:
                found.append(Shown(command, list(before), text))
                before.append(text)
    return found


def number(text: str) -> float:
    return float(text.replace(",", "").replace("%", ""))


def is_head(text: str) -> bool:
    """Whether the line @text heads a table: several words apart, and no number with a decimal point."""
    return bool(re.search(r"\S {2,}\S|^ {8,}\S+ {2,}", text)) and not DECIMAL.search(text)


def below(line: Shown, row: str, head: str) -> float | None:
    """The number of @line, which begins with @row, below @head in the head of its table."""
    if not re.match(rf"[> ]*{re.escape(row)}(?:  |$)", line.text):
        return None
    above = next((each for each in reversed(line.before) if is_head(each)), "")
    at = re.search(rf"(?<!\S)(?<!wake ){re.escape(head)}(?!\S)", above)
    cell = re.search(r"\S+$", line.text[:at.end()]) if at else None
    return number(cell[0]) if cell and NUMBER.fullmatch(cell[0]) else None


def behind(line: Shown, text: str, nth: int) -> float | None:
    """The @nth number behind @text in @line."""
    _, found, rest = " ".join(line.text.split()).partition(text)
    numbers = NUMBER.findall(rest) if found else []
    return number(numbers[nth - 1]) if len(numbers) >= nth else None


def value(lines: list[Shown], reference: re.Match[str]) -> float:
    """The number that @reference stands for. ClaimError if there is none, or more than one."""
    row, nth, column, command = reference.groups()
    found = []
    for line in lines:
        if command and command not in " ".join(line.command.replace("\\\n", " ").split()):
            continue
        one = behind(line, row, int(column[1:])) if column.startswith("#") else below(line, row, column)
        if one is not None:
            found.append(one)
    if nth and len(found) >= int(nth):
        return found[int(nth) - 1]
    if len(found) != 1:
        raise ClaimError(f"{reference[0]} is in {len(found)} lines")
    return found[0]


def compute(node: ast.AST) -> object:
    """The value of an expression of numbers. ClaimError for everything else."""
    match node:
        case ast.Expression(body):
            return compute(body)
        case ast.Constant(int() | float() as constant):
            return constant
        case ast.BinOp(left, sign, right):
            return OPERATORS[type(sign)](compute(left), compute(right))
        case ast.UnaryOp(sign, operand):
            return OPERATORS[type(sign)](compute(operand))
        case ast.BoolOp(joint, values):
            return (all if isinstance(joint, ast.And) else any)(compute(each) for each in values)
        case ast.Compare(left, signs, others):
            sides = [compute(each) for each in (left, *others)]
            return all(OPERATORS[type(sign)](*pair) for sign, pair in zip(signs, zip(sides, sides[1:])))
        case ast.Call(ast.Name(name), args, []) if name in FUNCTIONS:
            return FUNCTIONS[name](*map(compute, args))
    raise ClaimError(f"{ast.unparse(node)} is no arithmetic")


def holds(lines: list[Shown], expression: str) -> tuple[bool, str]:
    """Whether @expression is so, and the expression with its numbers."""
    if not REFERENCE.search(expression):
        raise ClaimError("it names no number of a session")
    filled = " ".join(REFERENCE.sub(lambda found: f"({value(lines, found)!r})", expression).split())
    try:
        result = compute(ast.parse(filled, mode="eval"))
    except (SyntaxError, KeyError, TypeError, ZeroDivisionError) as error:
        raise ClaimError(f"{filled}: {error}") from error
    if not isinstance(result, bool):
        raise ClaimError(f"{filled} compares nothing")
    return result, filled


def sentences(text: str) -> list[str]:
    """The sentences of @text, a page, without its sessions, tables, headings and comments."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    text = "\n".join("" if line.startswith(("|", "#", "!")) else line for line in text.splitlines())
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:\* |\d+\. ))", text)
    found = [each for part in parts for each in re.split(r"(?<=[.?!])\s+(?=[A-Z*`(])", part)]
    return [" ".join(each.split()) for each in found if each.strip()]


def claims(text: str) -> list[Claim]:
    """The claims of @text, a page."""
    said = sentences(text)
    return [Claim(text[:found.start()].count("\n") + 1,
                  next((each for each in said if " ".join(found[1].split()) in each), ""), " ".join(found[2].split()))
            for found in COMMENT.finditer(text)]


def compares(sentence: str) -> bool:
    """Whether @sentence compares measured numbers: two decimal ones, or one and a word that compares, or any two and a
    word that compares nothing else."""
    plain = VERSION.sub("", re.sub(r"`[^`]*`|\]\([^)]*\)", "", sentence))
    decimals, numbers = set(DECIMAL.findall(plain)), set(NUMBER.findall(plain))
    return bool(len(decimals) > 1 or decimals and COMPARING.search(plain) or len(numbers) > 1 and TIMES.search(plain))


def complaints(path: str) -> list[str]:
    """A line for each claim of the page @path that is not so, or cannot be computed."""
    with open(path, encoding="utf-8") as page:
        text = page.read()
    lines, found = shown_lines(path), []
    for claim in claims(text):
        where = f"{path}:{claim.line}"
        if not claim.sentence:
            found.append(f"{where}: no sentence of the page has the words of this claim")
            continue
        try:
            so, filled = holds(lines, claim.expression)
        except ClaimError as error:
            found.append(f"{where}: {error}; the claim of: {claim.sentence}")
            continue
        if not so:
            found.append(f"{where}: this is not so: {claim.sentence}\n  {filled}")
    return found


def unclaimed(path: str) -> list[str]:
    """The sentences of the page @path that compare numbers and have no claim."""
    with open(path, encoding="utf-8") as page:
        text = page.read()
    claimed = {claim.sentence for claim in claims(text)}
    return [each for each in sentences(text) if compares(each) and each not in claimed]


def main() -> None:
    paths = usage.words(__doc__) or sorted(glob.glob("docs/book/*.md"))
    wrong = [line for path in paths for line in complaints(path)]
    wrong += [f"{path}: no claim checks: {sentence}" for path in paths for sentence in unclaimed(path)]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
