# SPDX-License-Identifier: GPL-2.0-only
"""The generator of mutations: what it changes, that a seed repeats it, and who is killed."""

import fnmatch
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

import kernel_tests
from mutation import layers, page, verdicts
from mutation.__main__ import begin, draw, draw_again, follow_moved, meet, read_log
from mutation.points import find_mutations
from mutation.schema import OPTIONS, Schema

HEADER = """#pragma once
#define TWICE(x) ((x) + (x))
#define SCHED_ASSERT(x) ((void)sizeof(x))
#define DEBUG 0
void only_debug_kernels_have_this(void);
void rq_lock(int *rq);
void rq_unlock(int *rq);
static inline int larger(int a, int b)
{
\treturn a > b ? a : b;
}
"""
SOURCE = """#include "sched/small.h"
int locked;
void rq_lock(int *rq) { *rq = 1; }
void rq_unlock(int *rq) { *rq = 0; }
int add(int a, int b)
{
\tint unused = 0;
\tSCHED_ASSERT(a < 100);
\tunused = a;
\trq_lock(&locked);
\ta = TWICE(a - 1);
\trq_unlock(&locked);
\tif (a < 0)
\t\treturn -1;
\treturn larger(a, b);
}
int check_nothing(int a)
{
\treturn a < 3;
}
void watch(int a)
{
\tif (DEBUG && a > 7)
\t\tonly_debug_kernels_have_this();
}
"""
TEST = """extern int add(int, int);
int main(void) { return !(add(4, 2) == 6 && add(2, 5) == 5 && add(0, 5) == -1); }
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A source of two files."""
    root = tmp_path_factory.mktemp("small")
    (root / "sched").mkdir()
    (root / "sched/small.h").write_text(HEADER)
    (root / "sched/small.c").write_text(SOURCE)
    return root


def generate(root):
    return find_mutations(["sched/small.c"], root, [f"-I{root}"])


def changes(root):
    return {(mutation.function, mutation.operator, mutation.before, mutation.after) for mutation in generate(root)}


@pytest.mark.parametrize("function, operator, before, after", [
    ("add", "comparison", "a < 0", "a <= 0"), ("add", "dropped statement", "unused = a;", ""),
    ("add", "dropped statement", "return -1;", ""), ("add", "constant", "1", "0"),
    ("add", "arithmetic", "a - 1", "a + 1"), ("add", "swapped operands", "a - 1", "1 - a"),
    ("add", "swapped operands", "larger(a, b)", "larger(b, a)"), ("larger", "comparison", "a > b", "a <= b"),
    ("add", "dropped lock", "rq_lock(&locked); rq_unlock(&locked);", ""),
    ("larger", "swapped operands", "a > b ? a : b", "a > b ? b : a")])
def test_what_is_mutated(small, function, operator, before, after):
    assert (function, operator, before, after) in changes(small)


def test_what_judges_and_what_ends_a_function_is_left_alone(small):
    found = changes(small)
    assert not [change for change in found if "100" in change[2] or change[0] == "check_nothing"]
    assert not [change for change in found if "DEBUG" in change[2] + change[3]]
    assert ("watch", "comparison", "a > 7", "a >= 7") in found
    assert not [change for change in found if change[1] == "dropped statement" and "larger" in change[2]]


def test_a_seed_draws_the_same_again(small):
    first, again, other = (draw(generate(small), 12, seed, None) for seed in (5, 5, 6))
    assert first == again != other


def test_what_survived_is_met_again(small, tmp_path):
    mutations = generate(small)
    log = tmp_path / "1.jsonl"
    lines = [{"seed": 1}] + [{**begin(each), "verdict": verdict} for each, verdict in zip(
        mutations[:4], ("killed", "survived", "unreached", "same code"), strict=True)]
    lines.append({**lines[2], "verdict": "killed"})
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    before = read_log(log)
    assert [each["verdict"] for each in before.values()] == ["killed", "killed", "unreached", "same code"]
    assert list(draw_again(mutations, before).values()) == [mutations[2]]
    with pytest.raises(ValueError, match="there are no results"):
        read_log(tmp_path / "missing.jsonl")


def test_a_survivor_is_followed_to_another_function(small):
    """Where its change is in one other function now; what was killed stays where it was."""
    mutations = generate(small)
    texts = [(each.operator, each.before, each.after, each.nr) for each in mutations]
    once = next(each for each, text in zip(mutations, texts, strict=True) if texts.count(text) == 1)
    twice = next(each for each, text in zip(mutations, texts, strict=True) if texts.count(text) > 1)
    for mutation, verdict, follows in ((once, "survived", True), (once, "killed", False), (twice, "survived", False)):
        old = mutation.key.replace(f":: {mutation.function} ::", ":: of_old ::")
        followed = follow_moved(mutations, {old: {**begin(mutation), "key": old, "verdict": verdict}})
        assert list(followed) == [mutation.key if follows else old]
        assert [each["key"] for each in followed.values()] == list(followed)


def test_keys_are_unique_and_do_not_move_with_lines(small, tmp_path):
    keys = [mutation.key for mutation in generate(small)]
    assert len(keys) == len(set(keys))
    (tmp_path / "sched").mkdir()
    (tmp_path / "sched/small.h").write_text(HEADER)
    (tmp_path / "sched/small.c").write_text(SOURCE.replace("int locked;", "\n\n\nint locked;"))
    assert [mutation.key for mutation in generate(tmp_path)] == keys


@pytest.fixture(scope="module")
def judged(small, tmp_path_factory):
    """What becomes of each mutation of the small source when its one test runs."""
    tree = tmp_path_factory.mktemp("tree")
    schema = Schema(small, tree, draw(generate(small), 1000, 1, None))
    schema.install()
    schema.drop_invalid()
    (tree / "test.c").write_text(TEST)
    subprocess.run(["gcc", "-w", f"-I{tree}", "-o", "test", "test.c", "sched/small.c", "sched/mutation/switch.c"],
                   cwd=tree, check=True)
    layer = layers.Layer("unit small", ("./test",), 0)
    layers.measure(layer, tree)
    return {(mutation.operator, mutation.before, mutation.after): meet(number, begin(mutation), [layer], tree)
            for number, mutation in schema.mutations.items()}


@pytest.mark.parametrize("change, verdict", [
    (("comparison", "a > b", "a <= b"), "killed"), (("arithmetic", "a - 1", "a + 1"), "killed"),
    (("dropped statement", "return -1;", ""), "killed"), (("comparison", "a > b", "a >= b"), "survived"),
    (("dropped statement", "unused = a;", ""), "survived")])
def test_what_a_test_can_notice_is_killed_and_the_rest_survives(judged, change, verdict):
    assert judged[change]["verdict"] == verdict


def test_a_layer_that_does_not_come_by_is_not_run(small, tmp_path):
    mutation = generate(small)[0]
    missing = layers.Layer("unit missing", ("./no such program",), 0)
    assert meet(1, begin(mutation), [missing], tmp_path)["verdict"] == "unreached"


def test_an_endless_loop_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "CPU_LIMIT_S", 1)
    layer = layers.Layer("unit endless", (sys.executable, "-c", "while True: pass"), 0)
    outcome = layers.run(layer, tmp_path)
    assert layers.reason(layer, outcome) == "no end"


@pytest.mark.parametrize("text, words", [
    ('[[mutation]]\nfile = "a.c"\n', "lacks"),
    ('[[mutation]]\nfile = "a.c"\nfunction = "f"\noperator = "o"\nbefore = "b"\nafter = ""\nverdict = "fine"\n'
     'reason = "r"\n', "none of")])
def test_what_is_no_verdict_is_refused(tmp_path, text, words):
    (tmp_path / "verdicts.toml").write_text(text)
    with pytest.raises(ValueError, match=words):
        verdicts.read_verdicts(tmp_path / "verdicts.toml")


def test_verdicts_are_of_mutations_that_there_are(monkeypatch):
    monkeypatch.chdir(ROOT)
    known = verdicts.read_verdicts()
    files = {key.split(" :: ")[0] for key in known}
    of_kernel = {file for file in files if file.startswith("kernel/")}
    sources = {file if file.endswith(".c") else "sched/fair/core/class.c" for file in files - of_kernel}
    there_are = find_mutations(sources, ROOT, ["-DDEBUG=0", f"-I{ROOT}"]) + find_mutations(
        of_kernel, ROOT, [*OPTIONS["kernel"], f"-I{ROOT}", f"-I{ROOT}/arch/x86"], headers=False)
    assert verdicts.stale(known, there_are) == []


def test_the_score_counts_what_is_no_hole_apart():
    results = [{"key": str(number), "file": "sched/a.c", "operator": "constant", "before": "1", "after": "0", "line": 1,
                "verdict": verdict, "cpu_s": 1.0}
               for number, verdict in enumerate(3 * ("killed",) + ("survived", "unreached", "same code", "survived"))]
    known = {results[3]["key"]: verdicts.Verdict("equivalent", "it is the same"),
             results[6]["key"]: verdicts.Verdict("cost only", "it looks once more")}
    table = page.Table(results, known, 100, 1, "v", 0)
    for part in ("3 of 7 that compile (42.9 %)", "3 of 5 (60.0 %)", "3 of 4 (75.0 %)"):
        assert part in table.score()
    again = page.Table(results, known, 100, 1, "v", 0, [{**results[0], "verdict": "survived"}, *results[1:]])
    assert "Before" not in table.score() and "2 of 7 were killed (28.6 %" in again.score()
    assert "1 of 5 phases: unit tests." in page.Table([{**results[3], "phase": 0}], {}, 1, 1, "v", 0).about()
    assert "**equivalent**: it is the same" in table.markdown() and "**hole**" in table.markdown()


KERNEL_HEADER = """#define assert_small(x) ((void)(x))
#define spin_lock(x) (++*(x))
#define spin_unlock(x) (--*(x))
static inline int two(void) { return 2; }
"""
KERNEL = """#include "kernel/small.h"
int count(int *lock, int n)
{
\tassert_small(n > 1);
\tspin_lock(lock);
\tn += 0444;
\tspin_unlock(lock);
\treturn n;
}
"""


def test_a_kernel_that_boots_has_a_switch(tmp_path):
    """In kernel/ only the files given are changed, and the number comes by the command line."""
    for name, text in (("kernel/small.c", KERNEL), ("kernel/small.h", KERNEL_HEADER),
                       ("kernel/arch.h", "extern struct { const char *cmdline; } boot_info;\n"),
                       ("lib/string.h", "#include <string.h>\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    mutations = find_mutations(["kernel/small.c"], tmp_path, [f"-I{tmp_path}"], headers=False)
    found = [(each.function, each.operator, each.before, each.after) for each in mutations]
    assert found == [("count", "dropped lock", "spin_lock(lock); spin_unlock(lock);", ""),
                     ("count", "arithmetic", "n += 0444", "n -= 0444"),
                     ("count", "dropped statement", "n += 0444;", ""), ("count", "constant", "0444", "291"),
                     ("count", "constant", "0444", "293")]
    schema = Schema(tmp_path, tmp_path, dict(enumerate(mutations, 12)), "kernel")
    schema.install()
    schema.drop_invalid()
    (tmp_path / "main.c").write_text("""#include <stdio.h>
#include "kernel/arch.h"
__typeof__(boot_info) boot_info;
int count(int *, int);
int main(int argc, char **argv)
{
\tint lock = 0;
\tboot_info.cmdline = argv[1];
\treturn !printf("%d\\n", count(&lock, 4));
}
""")
    subprocess.run(["gcc", "-w", f"-I{tmp_path}", "-o", "test", "main.c", "kernel/small.c", "kernel/mutation/switch.c"],
                   cwd=tmp_path, check=True)
    for line, text in (("selftest=all", "296"), ("quiet mutation=13", "-288"), ("mutation=14 quiet", "4"),
                       ("mutation=1", "296"), ("mutation=16", "297")):
        assert subprocess.check_output([tmp_path / "test", line], text=True).strip() == text, line


def test_every_file_of_the_kernel_has_tests_that_there_are():
    names = [path.relative_to(ROOT).as_posix() for path in (ROOT / "kernel").rglob("*.[ch]")]
    rows = [kernel_tests.row(name) for name in names]
    assert {name for row in rows for name in row[0]} == set(kernel_tests.objects(ROOT))
    for command in {name for row in rows for name in row[2]}:
        program, *checks = command.removeprefix("exec ").split()
        texts = [path.read_text() for path in (ROOT / "tests/guest").glob(f"{program}*/*.c")]
        assert (ROOT / f"tests/guest/{program}.c").exists() and all(
            any(re.search(rf'^\t{{ "{check}",\s+\w+ }}', text, re.MULTILINE) for text in texts)
            for check in checks), command
    selftests = re.findall(r"^SELFTEST\((\w+)\)", "".join(
        path.read_text() for path in (ROOT / "tests/kernel").glob("*.c")), re.MULTILINE)
    for pattern in {name for row in rows for name in row[1]} - {"all"}:
        assert fnmatch.filter(selftests, pattern), pattern
    made = (ROOT / "mk/unit.mk").read_text().partition("HOSTED_KERNEL := ")[2].partition("\nHOSTED_C")[0]
    hosted = {f"kernel/{name}" for name in re.findall(r"\w+/\w+\.c", made)}
    assert {name for name, row in zip(names, rows, strict=True) if row[0] and name.endswith(".c")} == hosted
    assert set(kernel_tests.SESSIONS) == {name.rpartition("/")[0] for name in hosted}
    assert not [path for name in names for path in kernel_tests.sessions(name) if not (ROOT / path).exists()]
    for pattern, *_ in kernel_tests.ROWS:
        assert any(fnmatch.fnmatch(name, pattern) for name in names), pattern
