# SPDX-License-Identifier: GPL-2.0-only
"""Labs without building anything: regions, hand-outs, submissions that are not as they should be, and forms of a grade.

`fairground lab check` tests the rest, which needs a compiler: hand-out, reference and wrong solutions of every lab.
"""

import base64
import bz2
import contextlib
import dataclasses
import gzip
import json
import lzma
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tarfile
import time
import types
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]

from fairground.lab import (
    check, checks, citations, explain, grade, handout, objects, regions, replay, spec, submission, tiers, workshop)
from fairground.lab.results import Result
from tests.sim.test_scx import load

LABS = spec.all_labs()


@pytest.fixture(name="lab", scope="module")
def lab_5():
    return spec.find("5")


@pytest.fixture(name="tree")
def handed_out(lab, tmp_path):
    """The files with regions as the hand-out has them, in a tree."""
    for name, text in regions.cut(handout.texts(lab), lab).items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "tree"


def refused(lab, path):
    with pytest.raises(submission.Refused) as caught:
        submission.read(lab, path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def edit(tree, name, old, new):
    path = tree / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


# --- labs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.directory.name)
def test_a_lab_is_complete(lab):
    assert sum(lab.points(tier) for tier in spec.TIERS) == 100
    if lab.unit:
        assert [lab.points(tier) for tier in spec.TIERS] == ([40, 40, 20] if lab.simulator else [40, 0, 60])
    assert len(spec.wrong_solutions(lab)) >= 5
    for name in ("README.md", "instructor.md"):
        assert (lab.directory / name).stat().st_size > 1000
    for wrong in spec.wrong_solutions(lab):
        assert submission.wrong_code(lab, wrong) != regions.read(handout.texts(lab), lab)
    for tests in lab.unit:
        text = (ROOT / f"tests/unit/test_{tests.program}.c").read_text(encoding="utf-8")
        for test in tests.tests:
            assert f"cmocka_unit_test({test})" in text, test


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.directory.name)
def test_cutting_and_putting_back_is_the_trunk(lab):
    texts = handout.texts(lab)
    cut = regions.cut(texts, lab)
    assert regions.read(cut, lab) == regions.stubs(lab)
    code = regions.read(texts, lab)
    assert regions.put(texts, lab, code) == texts
    assert regions.read(regions.put(cut, lab, code), lab) == code
    assert regions.outside(cut, lab) == regions.outside(texts, lab)


def test_a_handout_does_not_give_the_lab_away(lab, tmp_path):
    to = tmp_path / "student"
    nr = handout.write(lab, to)
    files = {str(path.relative_to(to)) for path in to.rglob("*") if path.is_file()}
    assert nr + 3 == len(files)  # with labs/handout.json, README.md and labs/README.md
    assert not any("wrong" in name or "instructor" in name or "tests/mutants" in name for name in files)
    code = regions.read(handout.texts(lab), lab)["search"]
    line = next(line for line in code.splitlines() if "least_vruntime(node->left)" in line)
    assert not any(line.strip() in (to / name).read_text(encoding="utf-8", errors="replace") for name in files)
    with pytest.raises(spec.LabError, match="not an empty directory"):
        handout.write(lab, to)
    got = submission.read(lab, to)
    assert got.code == regions.stubs(lab) and not got.changed


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.directory.name)
def test_what_a_handout_cites_is_in_it(lab, tmp_path):
    handout.write(lab, tmp_path / "student")
    assert not citations.missing(tmp_path / "student")


def test_a_handout_names_the_version(lab, tmp_path):
    handout.write(lab, tmp_path / "student")
    kept = {name: value for name, value in os.environ.items()
            if name not in ("B", "MAKEFLAGS", "MAKELEVEL", "FAIRGROUND_COMMIT")}
    done = subprocess.run(["make", "-sn", "sim"], cwd=tmp_path / "student", env=kept,
                          capture_output=True, text=True, check=True)
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    assert set(re.findall(r'DCOMMIT=\\?"([^"\\]*)', done.stdout)) == {version}


def test_help_in_a_handout_is_short_and_cites_what_is_there(lab, tmp_path):
    handout.write(lab, tmp_path / "student")
    kept = {name: value for name, value in os.environ.items() if name not in ("B", "MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-s", "help"], cwd=tmp_path / "student", env=kept, capture_output=True, text=True,
                          check=True)
    words = set(done.stdout.split())
    assert {"lab", "sim", "unit", "run", "trace", "ARGS"} <= words and not {"test", "mutants", "digest"} & words
    assert done.stdout.count("\n") < 45 and not citations.of_text(done.stdout, tmp_path / "student")


QUESTIONS = [(lab.number, " ".join(command.split())) for lab in LABS for command in re.findall(
    r"`(build/schedsim [^`$]+)`", (lab.directory / "README.md").read_text(encoding="utf-8"))
             if not re.search("--help|--plugin", command)]


@pytest.mark.parametrize("number, command", QUESTIONS)
def test_the_commands_of_the_questions_run(number, command, tmp_path):
    schedsim = pathlib.Path(os.environ.get("B", "build")).resolve() / "schedsim"
    program = "build/scx/cache.so"
    if program in command:
        command = command.replace(program, str(pathlib.Path(load("labs/13-sched-ext/cache.bpf.c")).resolve()))
    words = command.replace("=N ", "=1000000 ").split()[1:]
    done = subprocess.run([schedsim, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.returncode and done.stdout, done.stderr


def test_a_citation_of_what_is_not_there_is_found(tmp_path):
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs/README.md").write_text("See docs/none.md and make unit TESTS=cfs TEST=no_such_test.\n",
                                             encoding="utf-8")
    assert [text.split(", ")[0] for text in citations.missing(tmp_path)] == [
        "labs/README.md cites docs/none.md", "labs/README.md cites no_such_test of tests/unit/test_cfs.c"]


# --- submissions ------------------------------------------------------------------------------------------------


def test_a_tree_single_files_and_archives_are_read_alike(lab, tree, tmp_path):
    expected = submission.read(lab, tree).code
    flat = tmp_path / "flat"
    flat.mkdir()
    for name in lab.files:
        shutil.copy(tree / name, flat)
    shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path, "tree")
    shutil.make_archive(str(tmp_path / "b"), "gztar", tmp_path, "tree")
    for path in (flat, tmp_path / "a.zip", tmp_path / "b.tar.gz"):
        assert submission.read(lab, path).code == expected


def test_functions_of_ones_own_are_part_of_a_region(lab, tree):
    end = regions.end_line(lab, lab.holes[1])
    edit(tree, "sched/fair/eevdf/eevdf.c", end, "static int mine(void)\n{\n\treturn 1;\n}\n" + end)
    assert "mine" in submission.read(lab, tree).code["search"]


def test_a_region_without_its_end_line_ends_with_its_first_function(lab, tree):
    end = regions.end_line(lab, lab.holes[1])
    edit(tree, "sched/fair/eevdf/eevdf.c", end, "static int mine(void)\n{\n\treturn 1;\n}\n")
    got = submission.read(lab, tree)
    assert "mine" not in got.code["search"]
    assert len(got.changed) == 1 and f'the line "{end.strip()}" is gone' in got.changed[0]


def test_line_ends_of_another_system_are_no_change(lab, tree):
    for name in lab.files:
        path = tree / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    got = submission.read(lab, tree)
    assert got.code == regions.stubs(lab) and not got.changed
    assert len(got.notes) == 2 and "CRLF" in got.notes[0]


def test_what_else_was_changed_is_said_and_not_used(lab, tree):
    edit(tree, "sched/fair/eevdf/eevdf.c", "eevdf_queue(q)->v0 = FIRST_VRUNTIME;", "eevdf_queue(q)->v0 = 0;")
    (tree / "tests/unit").mkdir(parents=True)
    (tree / "tests/unit/host.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    got = submission.read(lab, tree)
    assert [text.partition(":")[0] for text in got.changed] == ["sched/fair/eevdf/eevdf.c", "tests/unit/host.c"]
    assert got.code == regions.stubs(lab)


OWN_GRADE = """
import pathlib
from fairground.lab import handout, regions, spec, submission, workshop
lab, bench = spec.find("13"), workshop.Workshop(pathlib.Path("build"), 1)
mine = submission.read(lab, pathlib.Path("."))
bench.put(lab, mine.code)
print(mine.changed, "helper" in (bench.tree / lab.scx).read_text(), "mine" in (bench.tree / lab.scx).read_text())
"""


def test_a_students_own_grade_is_of_the_regions_alone(tmp_path):
    """A helper that stands outside of regions would be missing in the instructor's grade."""
    handout.write(spec.find("13"), tmp_path / "student")
    name = "labs/13-sched-ext/cache.bpf.c"
    edit(tmp_path / "student", name, "/*\n * Lab 13, charge:", "static void helper(void) { }\n\n/*\n * Lab 13, charge:")
    edit(tmp_path / "student", name, "(void)account_of(p);", "mine(p);")
    done = subprocess.run([sys.executable, "-c", OWN_GRADE], cwd=tmp_path / "student", capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": "tools"}, check=True)
    assert done.stdout.startswith(f"('{name}: its line ") and done.stdout.endswith(") False True\n"), done.stdout


def test_an_empty_directory_and_an_empty_archive(lab, tmp_path):
    (tmp_path / "empty").mkdir()
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    for name in ("empty", "empty.zip"):
        assert "empty" in refused(lab, tmp_path / name)


def test_an_archive_that_is_none_or_breaks_off(lab, tree, tmp_path):
    (tmp_path / "text.zip").write_text("this is no archive", encoding="utf-8")
    assert "no archive" in refused(lab, tmp_path / "text.zip")
    shutil.make_archive(str(tmp_path / "b"), "gztar", tree)
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "b.tar.gz").read_bytes()[:2000])
    assert "archive" in refused(lab, tmp_path / "cut.tar.gz")
    assert "neither" in refused(lab, ROOT / "VERSION")
    assert "no such" in refused(lab, tmp_path / "absent.zip")


@pytest.mark.parametrize("form", ["zip", "tar", "gztar", "bztar", "xztar"])
def test_a_damaged_archive_is_read_or_refused_in_a_sentence(lab, tree, tmp_path, form):
    """Bytes are changed, taken out and cut off at places drawn by a seed."""
    whole = pathlib.Path(shutil.make_archive(str(tmp_path / "whole"), form, tree))
    damaged = whole.with_name("damaged" + "".join(whole.suffixes))
    drawn, nr_refused = random.Random(form), 0
    for _ in range(40):
        data = bytearray(whole.read_bytes())
        at = drawn.randrange(len(data))
        data[at:at + drawn.choice([1, 200, len(data)])] = drawn.choice([b"", b"?"])
        damaged.write_bytes(data)
        try:
            submission.read(lab, damaged)
        except submission.Refused as error:
            nr_refused += 1
            assert str(error) and "\n" not in str(error)
    assert nr_refused > 10


def test_a_gigabyte_of_zeros_is_not_unpacked(lab, tmp_path):
    with zipfile.ZipFile(tmp_path / "big.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("eevdf.c", "w", force_zip64=True) as f:
            for _ in range(70):
                f.write(bytes(1 << 20))
    assert "too big" in refused(lab, tmp_path / "big.zip")
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        link = tarfile.TarInfo("eevdf.c")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert "neither file nor directory" in refused(lab, tmp_path / "link.tar")


def member(name, size, kind):
    """The header of a member of a tar archive."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("name, kind", [("x", tarfile.GNUTYPE_LONGNAME), ("x", tarfile.GNUTYPE_LONGLINK),
                                        ("x", tarfile.XHDTYPE), ("x", tarfile.XGLTYPE), ("build/x", tarfile.REGTYPE)])
@pytest.mark.parametrize("opens", [gzip.open, bz2.open, lzma.open, open])
def test_what_an_archive_has_beside_files_is_not_unpacked_without_end(lab, tmp_path, opens, name, kind):
    """A name of gigabytes was read at once, and what is skipped was unpacked however much it is."""
    with opens(tmp_path / "bomb.tar", "wb") as f:
        f.write(member(name, 64 << 40, kind) + bytes(1 << 20))
    assert "too big" in refused(lab, tmp_path / "bomb.tar")


def test_an_archive_of_nothing_but_directories(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(submission, "MEMBERS_LIMIT", 5)
    with tarfile.open(tmp_path / "many.tar.gz", "w:gz") as archive:
        for number in range(51):
            directory = tarfile.TarInfo(f"d{number}")
            directory.type = tarfile.DIRTYPE
            archive.addfile(directory)
    assert "too big" in refused(lab, tmp_path / "many.tar.gz")
    monkeypatch.setattr(submission, "ZIP_LIMIT", 100)
    (tmp_path / "names.zip").write_bytes(bytes(101))
    assert "too big" in refused(lab, tmp_path / "names.zip")


def test_text_is_looked_through_once(lab, tree):
    """Each of these was looked through again at each of its marks: for an hour, if a file is a megabyte."""
    half = submission.FILE_LIMIT // 4
    for code in ("/* " * half, '"' + '\\"' * half, "'" + "\\'" * half):
        with contextlib.suppress(submission.Refused):
            submission.check_code(lab, {hole.name: code for hole in lab.holes})
    with contextlib.suppress(submission.Refused):
        submission.check_code(spec.find("11"), {hole.name: "/* " * half for hole in spec.find("11").holes})
    edit(tree, "sched/fair/eevdf/eevdf.c", " * Lab 5, search:", " */\n" + "/* Lab 5, search: \n" * (half // 5))
    assert "52428 times" in refused(lab, tree)


def test_a_file_or_a_region_is_missing(lab, tree):
    (tree / "sched/fair/eevdf/eevdf.h").unlink()
    assert "eevdf.h is not in it" in refused(lab, tree)
    (tree / "sched/fair/eevdf/eevdf.h").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in refused(lab, tree)


def test_a_mark_that_is_gone_is_named(lab, tree):
    edit(tree, "sched/fair/eevdf/eevdf.c", "/* End of lab 5, search. */\n", "")
    assert submission.read(lab, tree).code == regions.stubs(lab)  # the function has an end without it
    edit(tree, "sched/fair/eevdf/eevdf.c", " * Lab 5, search:", " *")
    sentence = refused(lab, tree)
    assert "search" in sentence and "eevdf.c" in sentence


def test_what_was_built_may_be_in_an_archive(lab, tree, tmp_path):
    """As a student's own tree has it, with links and more than an archive may have."""
    (tree / "build").mkdir()
    (tree / "build/link").symlink_to("nowhere")
    with open(tree / "build/image", "wb") as f:
        f.truncate(submission.ARCHIVE_LIMIT + 1)
    with tarfile.open(tmp_path / "mine.tar.gz", "w:gz") as tar:
        tar.add(tree, ".")
    assert submission.read(lab, tmp_path / "mine.tar.gz").code == regions.stubs(lab)


@pytest.mark.parametrize("code", ["#if 0\n' /*\n#endif\nasm(\".incbin 'x'\");\n/* */",
                                  "#define Q ' /*\nasm(\"syscall\");\n/* */", '#if 0\n"\\" /*\n#endif\nasm("");\n/* */',
                                  "#if __has_include(<x/*>)\n#endif\nasm(\"syscall\");\n/* */",
                                  "#include <stdlib.h>", "# include <stdio.h>", 'asm("syscall");',
                                  "#  /* */ include <a.h>", "as\\\nm(\"syscall\");", "%:include <a.h>",
                                  '#define OF(a, b) a##b\nOF(as, m)("syscall");', '"/*"; asm("syscall"); "*/";',
                                  "__attribute__((constructor)) void early(void) {}",
                                  "__attribute((constructor)) void early(void) {}",
                                  "[[gnu::constructor]] void early(void) {}",
                                  "<:<:gnu::constructor:>:> void f(void) {}", 'a\\ \nsm volatile("syscall");',
                                  'a\\\t\nsm("syscall");', '#import "/etc/passwd"', "%: include_next </etc/passwd>",
                                  '/* */ # /* */ import "/etc/passwd"', '#inclu\\ \nde "/etc/passwd"', '_Pragma("x")',
                                  'R"(")"; asm("syscall"); (")"', "__builtin_exit(0);", "__builtin_return_address(0);",
                                  "'\\\"'; asm(\"x\"); '\"';"])
def test_code_that_reaches_out_is_refused(lab, tree, code):
    end = regions.end_line(lab, lab.holes[1])
    edit(tree, "sched/fair/eevdf/eevdf.c", end, code + "\n" + end)
    assert "search" in refused(lab, tree)


@pytest.mark.parametrize("code, says", [
    ("__attribute__((constructor)) void early(void) {}", "runs before everything else (.init_array"),
    ('void f(void) { asm volatile("syscall"); }', "the instruction syscall"),
    ('void f(void) { asm("int $0x80"); }', "the instruction int"),
    ("int f(int a) { return a + 1; }", "")])
def test_machine_code_that_reaches_around_is_seen(tmp_path, code, says):
    """Whatever the text was."""
    source = tmp_path / "code.c"
    source.write_text(code + "\n", encoding="utf-8")
    subprocess.run(["gcc", "-c", "-o", tmp_path / "code.o", source], check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "code.so", source], check=True)
    for name in ("code.o", "code.so"):
        found = objects.around([tmp_path / name])
        assert says in found and bool(found) == bool(says)


@pytest.mark.parametrize("code, says", [
    ("((void (*)(void))((char *)known + 2))();", {"f": 1}), ("void *p = (char *)known + 2; goto *p;", {"f": 1}),
    ("static void (*const t[])(void) = { (void (*)(void))((char *)known + 2) }; t[a]();", {"f": 1}),
    ("static void (*volatile v)(void) = known; v();", {"f": 1}), ("known();", {}),
    ("switch (a) { case 1: known(); case 2: return 9; case 3: return 4; case 4: return 7; case 5: return 1; }", {})])
def test_calls_of_what_has_no_name_are_counted(tmp_path, code, says):
    source = tmp_path / "code.c"
    source.write_text(f"void known(void) {{}}\nint f(int a) {{ {code} return 3; }}\n", encoding="utf-8")
    subprocess.run(["gcc", "-O2", "-fno-pie", "-w", *workshop.LOOK.removeprefix("WARN=").split(), "-c", "-o",
                    tmp_path / "code.o", source], check=True)
    assert objects.through_pointers([tmp_path / "code.o"]) == says


@pytest.mark.parametrize("line", ["\tcli", "\tcall panic", "\tmovq panic, %rax", "\tjmp *%rax", "\tpushq $panic",
                                  "\tret; cli", ".byte 0xfa", "\tmovq %rax, %cr3",
                                  "# define ret cli", "\tmovq $panic, %rax", '\t"/*"\n\tcli /* */'])
def test_assembly_is_moves_only(line):
    lab = spec.find("11")
    code = regions.read(handout.texts(lab), lab)
    submission.check_code(lab, code)
    code["stacks"] = code["stacks"].replace("\tret\n", line + "\n\tret\n")
    with pytest.raises(submission.Refused, match="is not for this lab"):
        submission.check_code(lab, code)


@pytest.mark.parametrize("attack", spec.attacks(), ids=lambda attack: attack.name)
def test_an_attack_is_one_on_its_lab(attack):
    """`fairground lab check` hands it in. What a region may not have is said before anything is built."""
    lab = spec.find(str(attack.lab))
    assert set(attack.code) <= {hole.name for hole in lab.holes} and attack.says
    assert all(attack.bands[tier][1] <= lab.floor[tier][1] for tier in spec.TIERS)
    try:
        submission.check_code(lab, regions.stubs(lab) | attack.code)
    except submission.Refused as error:
        assert attack.says in str(error)


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.directory.name)
def test_a_right_solution_is_another(lab):
    """`fairground lab check` grades it."""
    reference = regions.read(handout.texts(lab), lab)
    assert len(spec.right_solutions(lab)) >= 3
    for code in spec.right_solutions(lab).values():
        assert code and set(code) <= set(reference)
        assert all(text != reference[name] for name, text in code.items())
        submission.check_code(lab, reference | code)


def test_the_kernels_code_is_in_an_order_that_the_seed_draws(tmp_path):
    place = workshop.Workshop(tmp_path, 1)
    orders = []
    for seed in (1, 1, 2):
        place.draw_order(seed)
        orders.append((place.tree / "linker.ld").read_text(encoding="utf-8"))
    assert orders[0] == orders[1] != orders[2]
    assert all(order.count("*kernel/kernel/base/console.c.o(.text") == 1 for order in orders)
    assert sorted(orders[0].splitlines()) == sorted(orders[2].splitlines())


def test_half_of_a_file_that_a_killed_grader_left_is_not_taken_for_a_whole_one(tmp_path, monkeypatch):
    """make believes an object that is newer than its source."""
    def killed(*_):
        (bench.tree / "build/half.o").touch()
        raise KeyboardInterrupt

    bench = workshop.Workshop(tmp_path, 1)
    (bench.tree / "build").mkdir(parents=True)
    (bench.tree / "build/whole.o").touch()
    os.utime(bench.tree / "build/whole.o", (1, 1))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(workshop.box, "tool", killed)
        bench._make(["image"])
    bench._lock.close()
    again = workshop.Workshop(tmp_path, 1)
    assert again.tree == bench.tree and os.listdir(again.tree / "build") == ["whole.o"]


def test_a_record_of_another_run_is_known(tmp_path):
    schedsim = pathlib.Path(os.environ.get("B", "build")).resolve() / "schedsim"

    def outline(*words):
        subprocess.run([schedsim, "--sched", "eevdf", "--decisions", tmp_path / "run.json", *words], check=True,
                       capture_output=True)
        return replay.outline(tmp_path / "run.json")

    asked = outline("--time", "200ms", "hogs:n=3", "bursts:run=1ms,sleep=3ms")
    assert not replay.another_run(outline("--time", "200ms", "--seed", "1", "hogs:n=3", "bursts:run=1ms,sleep=3ms"),
                                  asked)
    for words, sentence in ((("--time", "100ms", "hogs:n=3", "bursts:run=1ms,sleep=3ms"), "each decision is right"),
                            (("--time", "200ms", "hogs:n=4"), "this is the record of another run"),
                            (("--time", "200ms", "--hz", "1000", "hogs:n=3", "bursts:run=1ms,sleep=3ms"),
                             "each decision is right, but")):
        said = replay.another_run(outline(*words), asked)
        assert said.startswith(sentence) and "tasks up to" in said


def test_ports_are_not_for_the_switch():
    lab = spec.find("11")
    code = regions.read(handout.texts(lab), lab)
    with pytest.raises(submission.Refused, match="outb"):
        submission.check_code(lab, {**code, "switch": code["switch"].replace("{\n", "{\n\toutb(0x3f8, 35);\n", 1)})


def test_a_policy_that_does_not_end_is_waited_for_once(monkeypatch):
    """An exploration and a boot have the longest limits: the others would each come to theirs, too."""
    def explore(_, __, run, ___):
        return Result("simulator", run.title, 0, run.points, "your policy did not end")

    monkeypatch.setitem(tiers.SIMULATED, "explore", explore)
    monkeypatch.setattr(tiers, "build", lambda *_: ([], ""))
    monkeypatch.setattr(grade, "_too_much", lambda *_: "")
    lab = spec.find("10")
    bench = types.SimpleNamespace(learn_calls=lambda _: None, learn_checks=lambda _: None, put=lambda *_: None,
                                  reaches_around=lambda _: "",
                                  draw_order=lambda _: None)
    graded = grade.of_code(lab, regions.read(handout.texts(lab), lab), bench, 1, list(spec.TIERS))
    assert not graded.refused and not graded.score
    assert [result.message.startswith("not tried") for result in graded.results] == [False] + [True] * (
        len(lab.simulator) + len(lab.kernel) - 1)


@pytest.mark.parametrize("number, ended, boots", [
    ("2", ["", ""], True), ("2", ["x did not end", "wrong"], True), ("2", ["x did not end", "not tried, for"], False),
    ("10", ["x did not end", ""], False), ("10", ["wrong", ""], True), ("11", [], True)])
def test_what_ended_in_no_run_of_the_simulator_is_not_booted(number, ended, boots):
    results = [Result("unit", "a test", 0, 1, "x did not end"),
               *(Result("simulator", "a run", 0, 1, said) for said in ended)]
    assert tiers.must_not_boot(spec.find(number), results) == (not boots)


# --- what a failed check says ----------------------------------------------------------------------------------


CHECKS = """\
static void check_cpu(struct machine *m, unsigned cpu)
{
        assert_int_equal(goes_to(m, cpu), cases[0].to);
        assert_int_equal(m->nr,
                         3);
        assert_true(is_linked(t) && !f("a, (b"));
        assert_in_range(stat.ns, 3 * MS, 4 * MS);
        assert_ptr_equal(eevdf_best(q), &crowd[right]);
}
"""


@pytest.mark.parametrize(("line", "printed", "said"), [
    (3, "0x4 != 0", "goes_to(m, cpu) is 4, where 0 is right: cases[0].to"),
    (4, "0xffffffffffffffff != 0x3", "m->nr is -1, where 3 is right"),
    (6, 'is_linked(t) && !f("a, (b")', 'is_linked(t) && !f("a, (b") does not hold'),
    (7, "7 is not within the range 3-4", "stat.ns is 7, where 3 to 4 is right"),
    (8, "0x602000001230 != 0x602000001270", "eevdf_best(q) is another than &crowd[right]"),
    (9, "0x4 != 0", "4 came out, where 0 is right"),
    (3, "CPU 1 runs nobody", "CPU 1 runs nobody"),
])
def test_a_failed_check_says_what_was_compared(line, printed, said, tmp_path):
    (tmp_path / "test_x.c").write_text(CHECKS.replace(8 * " ", "\t"), encoding="utf-8")
    macro, arguments, around = checks.asserted(tmp_path / "test_x.c", line)
    assert checks.sentence(printed, macro, arguments) == said
    assert around == ("check_cpu" if macro else "")


RIGHT_CHECKS = "# record at 7 00000000000000aa\n# record at 9 00000000000000ac\n# record 8 00000000000000ff\n"


@pytest.mark.parametrize(("printed", "said"), [
    (f"ok 1 - t\n{RIGHT_CHECKS}", ""),
    ("ok 1 - t\n", "passed no checks, where 8 are made"),
    ("ok 1 - t\n# record 3 00000000000000aa\n", "passed 3 checks, where 8 are made"),
    ("ok 1 - t\n# record 8 00000000000000ff\n# record 3 00000000000000aa\n", "passed no checks"),
    ("ok 1 - t\n# record at 7 00000000000000aa\n# record at 9 00000000000000ab\n# record 8 00000000000000fe\n",
     "up to its line 9 it found other numbers equal"),
])
def test_a_test_that_says_ok_is_believed_with_its_record_only(printed, said, lab, monkeypatch):
    """The second record is that of a process which printed one and then ended."""
    def report(_, program, *__):
        reference = program == workshop.of_reference("build/unit/test_rt", lab)
        return types.SimpleNamespace(text=RIGHT_CHECKS if reference else printed, status=0, timed_out=False)

    monkeypatch.setattr(tiers, "_report", report)
    bench = types.SimpleNamespace(checks={}, tree=ROOT)
    passed, why, _ = tiers._run_test(lab, bench, types.SimpleNamespace(program="rt"), "t", 1)
    assert passed == (not said) and said in why


# --- judging ----------------------------------------------------------------------------------------------------


MAY_FAIL = ("assert_true(x)", "assert_false(!x)", "assert_int_equal(x, 1)", "assert_int_not_equal(x, 0)",
            "assert_in_range(x, 1, 2)", 'assert_string_equal(x ? "a" : "b", "a")', "assert_memory_equal(&x, &one, 4)",
            "assert_ptr_equal(x ? &x : &one, &x)", 'if (!x) fail_msg("no")')


@pytest.mark.parametrize("check", MAY_FAIL)
def test_what_fails_is_in_the_record_before_cmocka_is_told(tmp_path, check):
    """Else a program in which what fails goes on, for its code has replaced the end of a test, has the right record."""
    (tmp_path / "a.c").write_text(
        "#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "#include <setjmp.h>\n#include <cmocka.h>\n#include \"tests/unit/checked.h\"\n"
        "void host_checked(unsigned line, uint64_t value)\n"
        "{\n\tif (value >> 40 < 0x55 || value >> 47)\n\t\t"
        "printf(\"%llx\\n\", (unsigned long long)value);\n\tfflush(stdout);\n}\n"
        f"int main(int x, char **v)\n{{\n\tint one = 1;\n\tx = !v[1];\n\t(void)one;\n\t{check};\n\treturn 0;\n}}\n",
        encoding="utf-8")
    subprocess.run(["gcc", "-std=gnu11", f"-I{ROOT}", "-o", tmp_path / "a", tmp_path / "a.c", "-lcmocka"], check=True)
    right, wrong = (subprocess.run([tmp_path / "a", *words], capture_output=True, check=False)
                    for words in ((), ("x",)))
    assert right.returncode == 0 != wrong.returncode and right.stdout != wrong.stdout


@pytest.fixture(name="run")
def a_run(tmp_path):
    """run(change) records decisions of EEVDF and lets @change edit a pick; returns what the judge finds."""
    def make(change):
        path = tmp_path / "run.json"
        schedsim = pathlib.Path(os.environ.get("B", "build")).resolve() / "schedsim"
        subprocess.run([schedsim, "--sched", "eevdf", "--time", "100ms", "--decisions", path, "hogs:n=2",
                        "hogs:nice=5"], check=True, capture_output=True)
        head, *rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        picks = [row for row in rows if row["kind"] == "pick" and row["nr_queued"] == 4
                 and any(not c["flags"] & 0x8 for c in row["candidates"])]
        change(picks[-1])
        path.write_text("\n".join(json.dumps(row) for row in [head, *rows]) + "\n", encoding="utf-8")
        return explain.judge_fair(path)
    return make


def test_right_decisions_are_found_right(run):
    found = run(lambda pick: None)
    assert found.wrong == 0 and not found.first and found.right > 50


def test_a_pick_that_is_not_eligible_is_explained(run):
    def choose_another(pick):
        late = next(row for row in pick["candidates"] if not row["flags"] & 0x8)
        pick.update(pid=late["pid"], comm=late["comm"])
    found = run(choose_another)
    assert found.wrong == 1
    assert re.search(r"decision \d+ at \d+\.000 ms: you picked hog-\d: its lag is -\d+\.\d{6} ms, so it is not "
                     r"eligible; V = \d\.\d{6} from the leftmost; expected hog-\d", found.first)
    assert any("eligible" in line for line in found.table)


def test_the_scene_shown_is_that_of_the_wrong_decision(tmp_path):
    """Four CPUs decide at the same time, and the last is wrong."""
    path = tmp_path / "run.json"
    schedsim = pathlib.Path(os.environ.get("B", "build")).resolve() / "schedsim"
    subprocess.run([schedsim, "--sched", "cfs", "--cpus", "4", "--time", "50ms", "--decisions", path, "hogs:n=12"],
                   check=True, capture_output=True)
    head, *rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    ticks = [row for row in rows if row["kind"] == "tick"]
    last = next(b for a, b, c in zip(ticks, ticks[1:], ticks[2:])
                if a["time"] == b["time"] < c["time"] and b["nr_queued"] > 1)
    last["answer"] = 1 - last["answer"]
    path.write_text("\n".join(json.dumps(row) for row in [head, *rows]) + "\n", encoding="utf-8")
    found = explain.judge_fair(path)
    assert f"{last['comm']}-{last['pid']}" in found.first
    assert any(f"{last['comm']}-{last['pid']}" in line for line in found.table), found.table


def test_a_record_that_breaks_off_is_no_success(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"schema": "fairground-decisions/4", "cpus": 1, "hz": 250}\n{"kind": "pi', encoding="utf-8")
    assert explain.judge_fair(path).broken
    path.write_text("", encoding="utf-8")
    assert explain.judge_fair(path).broken and explain.judge_real_time(path).broken


# --- forms ------------------------------------------------------------------------------------------------------


def graded(lab):
    results = [Result("unit", "one test", 30, 40, "0x1 != 0x0"), Result("simulator", "a run", 40, 40)]
    return grade.Grade(lab, 1, ["unit", "simulator"], results,
                       [grade.Penalty("warnings", 5, "the compiler warns: eevdf.c:1: unused variable")])


def test_forms_of_a_grade_agree(lab, tmp_path):
    got = graded(lab)
    grade.write_json(got, tmp_path / "results.json")
    data = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert data["score"] == 65 == sum(test["score"] for test in data["tests"])
    assert [test["status"] for test in data["tests"]] == ["failed", "passed", "failed"]
    whole = json.loads(base64.b64decode(grade.classroom(got)))
    assert whole["max_score"] == 80 and whole["status"] == "fail"
    assert sum(test["score"] for test in whole["tests"]) == 65
    text = grade.text(got)
    assert "0 of 0" not in grade.text(dataclasses.replace(got, lab=spec.find("13"), chosen=list(spec.TIERS)))
    assert text.endswith("score 65 of 80") and "0x1 != 0x0" in text


def test_a_digest_is_of_all_but_the_time(lab):
    got = grade.Grade(lab, 1, ["unit"], results=[Result("unit", "a", 5, 5)], seconds=1.5)
    same = grade.Grade(lab, 1, ["unit"], results=[Result("unit", "a", 5, 5)], seconds=9)
    told = grade.Grade(lab, 1, ["unit"], results=[Result("unit", "a", 5, 5, "otherwise")], seconds=1.5)
    assert grade.digest(got) == grade.digest(same) != grade.digest(told)


def test_the_command_names_what_is_wrong_with_it(tmp_path):
    def said(*words):
        done = subprocess.run([sys.executable, "-m", "fairground", "lab", *words], cwd=ROOT, capture_output=True,
                              text=True, env={"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin"}, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr
    assert "no lab has the number 77" in said("handout", "77", str(tmp_path / "x"))
    assert "--lab NN" in said("grade", str(tmp_path))
    assert "no part of a grade" in said("grade", "--lab", "5", "--tiers", "units", str(tmp_path))
