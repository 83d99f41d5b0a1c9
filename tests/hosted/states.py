# SPDX-License-Identifier: GPL-2.0-only
"""
For gdb, which build/unit/hosted starts on a program that fails: print the state of the kernel's object before it goes,
and of the model after the first call that it answers otherwise. Members that are 0 are left out.

An object says what to print (object.h, `state`): expressions with semicolons between them. In them `$each(HEAD,
"struct X.MEMBER")` is all of a list, or of a tree.
"""
import gdb

LINKS = ("list", "rb_node", "spinlock", "mutex", "waitq")  # not shown
DEPTH = 2  # structures within structures, and behind pointers
MOST = 32  # elements


lines = []  # of the object; printed behind what the program prints
model = ""


def elements(value, depth):
    first, last = value.type.range()
    shown = [f"[{i}] = {text}" for i in range(first, min(last, first + MOST) + 1) if (text := show(value[i], depth))]
    return f"{{{', '.join(shown)}}}" if shown else ""


def members(value, depth):
    fields = [field for field in value.type.fields() if field.name]
    shown = [f"{field.name} = {text}" for field in fields if (text := show(value[field], depth - 1))]
    return f"{{{', '.join(shown)}}}" if shown else ""


def show(value, depth=DEPTH):
    """Return @value as a text; "" if it is 0 in all its members."""
    kind = value.type.strip_typedefs()
    if kind.name in LINKS:
        return ""
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return members(value, depth) if depth else "{...}"
    if kind.code == gdb.TYPE_CODE_ARRAY:
        bytes_only = kind.target().strip_typedefs().sizeof == 1
        return value.format_string(max_elements=MOST, repeat_threshold=8) if bytes_only else elements(value, depth)
    if not value:
        return ""
    if kind.code != gdb.TYPE_CODE_PTR:
        return value.format_string()
    target = kind.target().strip_typedefs()
    follow = target.code == gdb.TYPE_CODE_STRUCT and target.name not in LINKS and depth
    return show(value.dereference(), depth - 1) if follow else value.format_string(symbols=True)


def nodes(head):
    """The nodes of a list or of a tree, which @head is."""
    if head.type.strip_typedefs().name == "list":
        at = head["next"]
        while at and at != head.address:
            yield at
            at = at["next"]
        return

    def below(node):
        if node:
            yield from below(node["left"])
            yield node
            yield from below(node["right"])
    yield from below(head["root"])


class Each(gdb.Function):
    """$each(HEAD, "struct X.MEMBER"): says each X that is linked by MEMBER, and is their number."""

    def __init__(self):
        super().__init__("each")

    def invoke(self, head, where):  # pylint: disable=arguments-differ
        name, member = where.string().split(".")
        kind = gdb.lookup_type(name)
        offset = int(gdb.parse_and_eval(f"(long)&(({name} *)0)->{member}"))
        found = list(nodes(head))
        for number, node in enumerate(found):
            at = gdb.Value(int(node) - offset).cast(kind.pointer())
            lines.append(f"    {number}: {show(at.dereference())}")
        return len(found)


class AtItsEnd(gdb.Breakpoint):
    """At the object's destroy()."""

    def stop(self):
        for expression in gdb.parse_and_eval(f"{OBJECT}_object.state").string().split(";"):
            try:
                text = show(gdb.parse_and_eval(expression)) or "0"
            except gdb.error as error:
                text = f"({error})"
            lines.append(f"    {expression.strip()} = {text}")
        return False


def model_type():
    block = gdb.block_for_pc(int(gdb.parse_and_eval(f"{OBJECT}_object.model_perform")))
    symbol = gdb.lookup_symbol("model", block, gdb.SYMBOL_STRUCT_DOMAIN)[0]
    return symbol.type if symbol else gdb.lookup_type(f"struct {OBJECT}_model")


class AtADisagreement(gdb.Breakpoint):
    """In judge.c. The last time is that of the longest part of the program."""

    def stop(self):
        global model
        model = show(gdb.parse_and_eval("model").cast(model_type().pointer()).dereference()) or "0"
        return False


OBJECT = gdb.execute("show args", to_string=True).split("--object ")[1].split()[0]
gdb.execute("set print inferior-events off")
Each()
AtItsEnd(f"tests/hosted/{OBJECT}.c:destroy", internal=True)
AtADisagreement("disagrees", internal=True)
gdb.execute("run", to_string=True)
print("  the object, after all calls:", *lines, sep="\n")
print(f"  the model, after the call that it answers otherwise:\n    {model}")
gdb.execute("quit 1")
