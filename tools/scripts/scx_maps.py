# SPDX-License-Identifier: GPL-2.0-only
"""Describe a sched_ext program (make scx): its maps, constants and operations, as C that is compiled behind it.

Usage: scx_maps.py SOURCE HALF PLACE <PREPROCESSED >TABLE.c

HALF is the file of the program's user half, which stands between the two, or empty. PLACE says which of the program's
sources this is: first, middle, last, or only. The first has the operations. The linker appends the tables to each
other in this order.
"""

import re
import sys

import usage

NAMED = r'\w+\s*(?:__attribute__\(\(\w+\)\)\s*)?__attribute__\(\(section\("\.maps"\), used\)\)'
MAP = re.compile(rf"struct\s*(?:\w+\s*)?\{{([^{{}}]*)\}}\s*((?:{NAMED}\s*,?\s*)+)[;=]")
MEMBER = re.compile(r"int\s*\(\*(\w+)\)\[|\*\s*(\w+)(\[\])?;")
TEXT = r'"(?:\\.|[^"\\])*"'
CONSTANTS = re.compile(rf"^\s*const volatile ([\w\s]+\b\w+\s*(?:\[[^;=]*\])?\s*(?:[=,](?:{TEXT}|[^;])*)?);", re.M)
NESTED = re.compile(TEXT + r"|\{[^{}]*\}|\([^()]*\)|\[[^][]*\]")
NAME = re.compile(r"(?:^|,)[^,=*]*?(\w+)\s*(?=[=,]|$)")
EXTERN = re.compile(r"^\s*extern\s+([\w\s]+?)\s+(CONFIG_\w+)\s*;", re.MULTILINE)  # words of the machine (__kconfig)
TABLE = '__attribute__((section("{}"), used, aligned(8)))'
OPS = re.compile(r"\bstruct sched_ext_ops (\w+)\s*=")


def number(name: str, member: str, members: set[str]) -> str:
    """C for the number that __uint() put into a member, or 0."""
    return f"sizeof(*{name}.{member}) / sizeof(int)" if member in members else "0"


def size(name: str, what: str, members: set[str]) -> str:
    """C for the size of a key or value, which is named as a type or as a number."""
    return f"sizeof(*{name}.{what})" if what in members else number(name, f"{what}_size", members)


def constants_of(declaration: str) -> list[str]:
    """The names of `u64 a = max(1, 2), b[2] = { 3, 4 }`."""
    while NESTED.search(declaration):
        declaration = NESTED.sub("", declaration)
    return NAME.findall(declaration)


def map_row(name: str, members: set[str]) -> str:
    values = f"(void **){name}.values" if "values" in members else "0"
    return (f'\t{{ "{name}", &{name}, {number(name, "type", members)}, {size(name, "key", members)}, '
            f'{size(name, "value", members)}, {number(name, "max_entries", members)}, {values} }},')


def main() -> None:
    (source, half, place), text = usage.words(__doc__, 3, 3), sys.stdin.read()
    is_first, is_last = place in ("first", "only"), place in ("last", "only")
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    ops = OPS.findall(plain)
    if is_first and len(ops) != 1:
        if not ops and "SCX_OPS_DEFINE" in plain:
            sys.exit(f"{source}: SCX_OPS_DEFINE is not known: #include <scx/common.bpf.h> is missing")
        sys.exit(f"{source}: a scheduler has one table of operations (SCX_OPS_DEFINE); here are {len(ops)}: "
                 + (", ".join(ops) or "is it the user half?"))
    constants = [name for declaration in CONSTANTS.findall(plain) for name in constants_of(declaration)]
    for of_type, name in EXTERN.findall(plain):
        print(f"{of_type} {name};")
        constants.append(name)
    checks, found = [], set()
    print(f"static const struct scx_map scx_map_list[] {TABLE.format('scx_maps')} = {{")
    for body, names in MAP.findall(plain):
        members = {a or b for a, b, _ in MEMBER.findall(body)}
        for name in re.findall(r"(\w+)\s*__attribute__", names):
            print(map_row(name, members))
            found.add(name)
            sizes = f"{size(name, 'key', members)} + {size(name, 'value', members)}"
            checks.append(f'_Static_assert({sizes} < 1ull << 32, "the map {name} has too large a key or value");')
    print("\t{ 0 }\n" * is_last
          + f"}};\nstatic const struct scx_variable scx_constant_list[] {TABLE.format('scx_constants')} = {{")
    for name in constants:
        print(f'\t{{ "{name}", (void *)&{name}, sizeof({name}), SCX_IS_SIGNED({name}), SCX_IS_BOOL({name}) }},')
    print("\t{ 0 }\n" * is_last + "};")
    missing = set(re.findall(r"(\w+)\s*" + NAMED.removeprefix(r"\w+\s*"), plain)) - found
    if missing:
        sys.exit(f"{source}: the map {min(missing)} is not understood: its members may have no braces of their own")
    print("\n".join(checks))
    if is_first:
        print("#ifndef HALF_FLAGS\n#define HALF_FLAGS 0\n#endif")
        print("const struct scx_program scx_program __attribute__((visibility(\"default\"))) = {\n"
              f'\tSCX_ABI, &{ops[0]}, scx_map_list, scx_constant_list, HALF_FLAGS,\n'
              + "\t(void (*)(u32))user_half\n" * bool(half) + "};")


if __name__ == "__main__":
    main()
