# SPDX-License-Identifier: GPL-2.0-only
"""The host's side of the fuzzer that learns, without a machine: changes of scripts, the fork server, programs in C."""

import argparse
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools/scripts"))

from fuzzing import guest, mutator, places, proxy, shrink  # noqa: E402

from tests.e2e.conftest import BUILD, ROOT  # noqa: E402

PROGRAM = os.path.join(BUILD, "user/fuzz")


def table():
    return subprocess.run([PROGRAM, "--table"], capture_output=True, text=True, check=True).stdout.splitlines()


def entry(name, other=False, change=(7, 0, 0), fail=0, times=0):
    row = next(i for i, line in enumerate(table()) if line.split("\t")[1] == name)
    return struct.pack("<BBHBBH", other << 2 | times << 3, fail, row, *change)


def fuzz(*words):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/tools:{ROOT}/tools/scripts", "B": BUILD}
    return subprocess.run([sys.executable, "-m", "fuzzing", *words], capture_output=True, text=True, cwd=ROOT,
                          env=environment, check=False)


def test_the_table_has_the_kinds_of_arguments():
    kinds = {line.split("\t")[1]: line.split("\t")[2] for line in table()}
    assert kinds["read"] == "hpnnnn" and kinds["rename"] == "ppnnnn" and kinds["getpid"] == "nnnnnn"
    assert kinds["epoll_ctl"] == "hnhpnn"


@pytest.mark.parametrize("seed", range(20))
def test_a_changed_script_is_one(seed, monkeypatch):
    """Whatever it was made of: entries are whole, and none is too many."""
    monkeypatch.setattr(mutator, "ROWS", [line.split("\t")[2] for line in table()])
    mutator.init(seed)
    script, other = bytearray(), bytearray(random.Random(seed).randbytes(50))
    for _ in range(300):
        script = mutator.fuzz(script, other, 1024)
        assert len(script) % 8 == 1 and 1 < len(script) <= 1 + 8 * mutator.MOST_ENTRIES


@pytest.mark.parametrize("seed", range(20))
def test_a_change_fits_the_argument(seed):
    mutator.init(seed)
    seen = set()
    for _ in range(1000):
        entry_of_a_call = bytearray(8)
        mutator.change(entry_of_a_call, "phnnnn")
        seen.add(tuple(entry_of_a_call[4:6]))
    assert seen == {(argument, how) for argument, kind in enumerate("phn") for how in mutator.WAYS[kind]}


def test_a_script_never_exceeds_the_room():
    assert len(mutator.fuzz(bytearray(1 + 8 * 20), bytearray(), 40)) <= 40


class FakeGuest:
    """Reaches the place of a script's length; a script of length 17 is wrong."""

    pid, nr_places = 42, 100

    def __init__(self):
        self.starts = self.stops = self.calls = 0
        self.script = b""

    def start(self):
        self.starts += 1

    def stop(self):
        self.stops += 1

    def run(self, script):
        self.script = script
        self.calls += 2
        return "it burns" if len(script) == 17 else ""

    def reached(self):
        reached = bytearray(self.nr_places)
        reached[len(self.script)] = 1
        return bytes(reached)

    def ever(self):
        return self.reached()

    def console(self):
        return "panic: it burns\n"


def test_the_fork_server_answers_as_afl_expects(tmp_path, monkeypatch):
    (tmp_path / "input").write_bytes(b"")
    answers = os.open(tmp_path / "answers", os.O_RDWR | os.O_CREAT)
    monkeypatch.setattr(proxy, "ANSWERS", answers)
    scripts = [bytes(9), bytes(17), bytes(25)]
    orders = iter(scripts)

    def next_order(fd, size):
        assert fd == proxy.ORDERS and size == 4
        script = next(orders, None)
        monkeypatch.setattr(os, "pread", lambda *_: script)
        return b"" if script is None else bytes(4)

    monkeypatch.setattr(os, "read", next_order)
    monkeypatch.setattr(places, "addresses_of", lambda kernel: [1, 2])
    fake, notes = FakeGuest(), proxy.Notes(tmp_path, "kernel")
    monkeypatch.delenv("__AFL_SHM_ID", raising=False)
    proxy.serve(fake, notes)
    notes.end(fake)
    said = struct.unpack("<7I", (tmp_path / "answers").read_bytes())
    assert said == (0xc0000001 | 100 << 1, 42, 0, 42, 6, 42, 0)
    assert fake.stops == 1
    assert (tmp_path / "totals").read_text() == "3 6 1\n"
    assert (tmp_path / "wrong-1.script").read_bytes() == scripts[1]
    assert (tmp_path / "wrong-1.log").read_text() == "it burns\npanic: it burns\n"


def test_places_are_found_in_an_image(tmp_path):
    """Each place where gcc would call a function, by the file in which it is. Other calls stay."""
    source, image = tmp_path / "a.c", str(tmp_path / "a")
    source.write_text("int main(int n, char **v) { return n > 2 ? putchar(v[0][0]) : ((int (*)(void))v)(); }\n",
                      encoding="ascii")
    words = ["gcc", "-g", "-w", "-fno-pie", "-no-pie", "-fsanitize-coverage=trace-pc", "-include",
             "kernel/base/place.h", "-o", image, source]
    subprocess.run(words, check=True, cwd=ROOT)
    found = places.addresses_of(image)
    text = subprocess.run(["objdump", "-d", "--disassemble=main", image], capture_output=True, text=True,
                          check=True).stdout
    assert len(found) >= 3 and all(f"{address:x}:" in text for address in found)
    assert "call " in text and "<putchar@plt>" in text and "sanitizer" not in text
    assert text.count("addb ") == len(found)
    assert {os.path.basename(file) for file in places.files_of(image, found)} == {"a.c"}
    assert [places.in_tree(name) for name in ("/x/build-cover/inc/kernel/kernel/fs/fs.h", "./kernel/fs/pipe.c",
                                              "kernel/fs/pipe.c")] == ["kernel/fs/fs.h"] + 2 * ["kernel/fs/pipe.c"]
    assert places.by_room({"kernel/fs/a.c": (1, 2), "kernel/fs/b.c": (3, 4), "lib/c.h": (0, 1)}) == {
        "kernel/fs": (4, 6), "lib": (0, 1)}


def test_places_of_several_runs_are_kept_together(tmp_path, monkeypatch):
    """Those of one kernel; another begins anew."""
    monkeypatch.setattr(places, "addresses_of", lambda kernel: {"old": [1, 2, 3], "new": [1, 2, 4]}[kernel])
    file = tmp_path / "places"
    for kernel, ever, together in (("old", "100", "100"), ("old", "001", "101"), ("new", "010", "010")):
        places.keep(file, kernel, bytes(map(int, ever)))
        assert places.kept(file, kernel) == bytes(map(int, together))
    assert places.kept(file, "old") == b""


def test_the_page_has_every_file_and_run(tmp_path, monkeypatch, capsys):
    from fuzzing import __main__ as command
    with pytest.raises(command.FuzzError, match="has no run to print"):
        command.write_page("build", tmp_path)
    (tmp_path / "runs").write_text("cfs, 4 CPUs\t10\t2000\t0\neevdf, 4 CPUs\t5\t90\t1\ncfs, 4 CPUs\t1\t7\t0\n")
    monkeypatch.setattr(command, "build", lambda image: "cover")
    monkeypatch.setattr(places, "addresses_of", lambda kernel: [1, 2])
    with pytest.raises(command.FuzzError, match="of another kernel"):
        command.write_page("build", tmp_path)
    places.keep(tmp_path / "places", "kernel", bytes(2))
    found = {"kernel/fs/a.c": (1, 4), "kernel/fs/b.c": (3, 3), "kernel/mm/c.c": (0, 1)}
    monkeypatch.setattr(places, "by_file", lambda kernel, ever: found)
    assert command.write_page("build", tmp_path) == 0
    said = capsys.readouterr().out
    assert "\n| cfs, 4 CPUs | 11 | 2,007 | 0 |\n| eevdf, 4 CPUs | 5 | 90 | 1 |\n" in said
    assert "\nReached: 4 of 8 places.\n" in said
    assert said.endswith("| kernel/fs | 7 | 4 | 57 | a.c 25, b.c 100 |\n| kernel/mm | 1 | 0 | 0 | c.c 0 |\n")
    for damaged in ("cfs, 4 CPUs\t10\t2000", "cfs\t1\t2\tx", "", "\x00"):
        (tmp_path / "runs").write_text(f"cfs, 4 CPUs\t10\t2000\t0\n{damaged}\n")
        with pytest.raises(command.FuzzError, match="runs: line 2 is not a run"):
            command.write_page("build", tmp_path)
    with open(tmp_path / "places", "ab") as file:
        file.write(b"\1")
    with pytest.raises(command.FuzzError, match="is damaged, or of another kernel"):
        command.write_page("build", tmp_path)
    assert not capsys.readouterr().out


def test_a_script_becomes_a_program_that_builds(tmp_path):
    script = tmp_path / "script"
    script.write_bytes(b"\1" + entry("read eventfd", change=(1, 4, 0x0020)) + entry("fcntl lock", True, (2, 3, 0), 2, 3)
                       + bytes([1, 0, 5, 0, 7, 0, 0, 0]) + entry("dup", change=(0, 7, 0))
                       + bytes([2, 0, 5, 0, 1, 2, 0, 0]) + entry("write cpu off"))
    text = subprocess.run([PROGRAM, "--source", script], capture_output=True, text=True, check=True).stdout
    assert 'last = call("fcntl lock", a);' in text and "for (int i = 0; i < 40; i++)" in text
    assert "a[1] = (long)copy1;" in text and "a[0] = last;" in text and "fail(2);" in text
    assert "fuzz_file(&(struct random){ 5 }, &(struct random){ 513 });" in text and '"write cpu off", NULL' in text
    assert "a[2] = 0;" in text and "thread_a, thread_b" in text
    program = tmp_path / "program.c"
    program.write_text(text, encoding="ascii")
    parts = [*sorted(pathlib.Path(ROOT, "tests/guest/calls").glob("*.c")),
             *(pathlib.Path(ROOT, "tests/guest/fuzz", f"{name}.c") for name in ("calls", "files", "random", "rows")),
             *(pathlib.Path(ROOT, "user/lib", f"{name}.c") for name in ("args", "clock", "sched"))]
    words = ["musl-gcc", "-Wall", "-Werror", "-static", "-pthread", "-Iuser", "-Itests/guest"]
    subprocess.run([*words, program, *parts, "-o", tmp_path / "program"], check=True, cwd=ROOT)


def test_bad_input_is_one_sentence(tmp_path):
    for words, sentence in (
            (["--run", f"{tmp_path}/none"], "there is no such file"),
            (["--seconds", "0"], "a number from 1 to"), (["--runs", "-1"], "a number from 1 to"),
            (["--seconds", str(10 ** 12)], "a number from 1 to"), (["--seed", "-1"], "a number from 0 to"),
            (["--sched", "nonesuch"], "nonesuch")):
        done = fuzz(*words, "--out", str(tmp_path / "out"))
        assert done.returncode and sentence in done.stderr and "Traceback" not in done.stderr, done.stderr
        assert not (tmp_path / "out").exists()


def lose_the_table(out):
    (out / "table").unlink()


def damage_the_table(out):
    (out / "table").write_bytes(b"0\tread\xff\0\n")


def empty_the_corpus(out):
    for script in (out / "corpus").iterdir():
        script.unlink()


def make_the_corpus_a_file(out):
    shutil.rmtree(out / "corpus")
    (out / "corpus").touch()
    lose_the_table(out)


def make_a_file_of_it(out):
    shutil.rmtree(out)
    out.touch()


@pytest.mark.parametrize(("spoil", "sentence"), [
    (lose_the_table, "/table is missing, which says of what table of calls "),
    (damage_the_table, "/corpus is of another table of calls than this tree's; rm -r "),
    (empty_the_corpus, "/corpus has no script; rm -r "), (make_the_corpus_a_file, "/table is missing"),
    (make_a_file_of_it, "/fuzz/corpus: Not a directory"),
])
def test_a_damaged_directory_is_one_sentence(tmp_path, spoil, sentence):
    """Nothing is built, run or changed."""
    from fuzzing.__main__ import ready_corpus
    out = tmp_path / "fuzz"
    out.mkdir()
    ready_corpus(out, "\n".join(table()) + "\n")
    spoil(out)
    before = sorted(out.rglob("*"))
    for words in ([], ["--minimise"]):
        done = fuzz("--runs", "1", *words, "--out", str(out))
        assert done.returncode == 1 and sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert sorted(out.rglob("*")) == before


def test_a_directory_that_cannot_be_made_is_one_sentence():
    done = fuzz("--runs", "1", "--out", "/proc/fuzz")
    assert (done.returncode, done.stderr) == (1, "fuzz: /proc/fuzz: No such file or directory\n")


@pytest.mark.parametrize("nr_wrong", [0, 1, 25])
def test_what_is_wrong_is_told_also_when_afl_gives_up(tmp_path, monkeypatch, capsys, nr_wrong):
    from fuzzing import __main__ as command

    def give_up(words, *_):
        fake, notes = FakeGuest(), proxy.Notes(tmp_path, "kernel")
        for _ in range(nr_wrong):
            notes.run(bytes(17), "it burns", fake)
        notes.end(fake)
        raise command.FuzzError("afl-fuzz ended with status 1")

    monkeypatch.setattr(command, "afl", give_up)
    monkeypatch.setattr(command, "build", lambda image: "cover")
    monkeypatch.setattr(command, "table_of", lambda image: "0\tread\thpnnnn\n")
    monkeypatch.setattr(places, "by_file", lambda *_: {"kernel/a.c": (1, 4)})
    monkeypatch.setattr(places, "addresses_of", lambda kernel: [1, 2])
    (tmp_path / "wrong-1.script").write_bytes(b"of an earlier run")
    (tmp_path / "wrong-1.log").write_text("it was cold\n")
    words = argparse.Namespace(seconds=None, runs=10, seed=1, sched="cfs", smp=1, files=True)
    if not nr_wrong:
        with pytest.raises(command.FuzzError, match="status 1"):
            command.learn("build", tmp_path, words)
        return
    assert command.learn("build", tmp_path, words) == 1
    assert (tmp_path / "runs").read_text() == f"cfs, 1 CPUs\t{nr_wrong}\t0\t{nr_wrong}\n"
    said = capsys.readouterr().out
    assert "kernel/a.c                            1 of      4   25.0 %\n" in said and f"; {nr_wrong} wrong\n" in said
    assert said.count(": it burns; make fuzz ARGS=") == min(nr_wrong, 20) and ": it was cold; make fuzz" in said
    assert (tmp_path / "wrong-1.script").read_bytes() == b"of an earlier run"
    assert len(list(tmp_path.glob("wrong-*.log"))) == 1 + min(nr_wrong, 20)


FAKE_AFL = """#!{python}
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit("was asked to end"))
time.sleep(20)
sys.exit("was not asked")
"""


def test_afl_is_asked_to_end_also_while_it_reads_the_corpus(tmp_path, monkeypatch):
    from fuzzing import __main__ as command
    fake = tmp_path / "afl-fuzz"
    fake.write_text(FAKE_AFL.format(python=sys.executable), encoding="ascii")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(command.FuzzError, match="status 1"):
        command.afl(["afl-fuzz"], "", tmp_path / "log", 1)
    assert (tmp_path / "log").read_text() == "was asked to end\n"


def test_a_corpus_that_was_not_read_stays(tmp_path):
    from fuzzing.__main__ import keep
    corpus, queue = tmp_path / "corpus", tmp_path / "afl/default/queue"
    corpus.mkdir()
    (corpus / "one").write_bytes(b"\0")
    keep(tmp_path, corpus)
    assert [path.name for path in corpus.iterdir()] == ["one"]
    queue.mkdir(parents=True)
    (queue / "id:000000,orig:one").write_bytes(b"\1")
    keep(tmp_path, corpus)
    assert [(path.name, path.read_bytes()) for path in corpus.iterdir()] == [("000000", b"\1")]


def test_a_corpus_of_another_table_is_refused(tmp_path):
    from fuzzing.__main__ import FuzzError, ready_corpus
    corpus = ready_corpus(tmp_path, "0\tread\thpnnnn\n")
    assert [path.read_bytes() for path in corpus.iterdir()] == [bytes([0, 0, 0, 0, 0, 7, 0, 0, 0])]
    assert ready_corpus(tmp_path, "0\tread\thpnnnn\n") == corpus
    with pytest.raises(FuzzError, match="another table of calls"):
        ready_corpus(tmp_path, "0\twrite\thpnnnn\n")


@pytest.mark.parametrize("seed", range(20))
def test_the_shortest_script_has_what_the_fault_needs(seed):
    """Two calls in this order, of which one has a changed argument and one is made 40 times."""
    rng = random.Random(seed)
    first, second = entry("read", change=(1, 4, 0x20)), entry("close", True, times=3)
    calls = [entry("getpid", True, (0, 1, 5), rng.randrange(3), 2) for _ in range(rng.randrange(40))] + [first, second]
    at = rng.randrange(len(calls) - 1)
    calls.insert(at, calls.pop(-2))
    tries = []

    def is_wrong(script):
        tries.append(script)
        entries = [bytes(part) for part in mutator.entries_of(script)]
        return first in entries and second in entries[entries.index(first):]

    assert shrink.shortest(b"\1" + b"".join(calls), is_wrong) == b"\1" + first + second
    assert len(tries) < 200 and len(set(tries)) > len(tries) // 2


def test_what_the_fault_does_not_need_is_simplified():
    script = b"\0" + entry("read", True, (1, 4, 0x20), fail=3, times=2)
    assert shrink.shortest(script, lambda shorter: len(shorter) == 9) == b"\0" + entry("read", True)


def test_only_a_script_that_is_wrong_is_made_shorter(tmp_path, monkeypatch, capsys):
    from fuzzing import __main__ as command
    monkeypatch.setattr(command, "build", lambda image: "cover")
    monkeypatch.setattr(command, "machine", lambda *_: None)
    monkeypatch.setattr(command, "Guest", lambda _: FakeGuest())
    script = tmp_path / "script"
    words = argparse.Namespace(shrink=str(script))
    script.write_bytes(b"\0" + entry("read") + entry("close"))  # as long as FakeGuest wants it
    assert command.shrink("build", tmp_path, words) == 0
    assert "script.short: 17 bytes of 17: it burns; as C: " in capsys.readouterr().out
    assert (tmp_path / "shrink.log").read_text() == "panic: it burns\n"
    script.write_bytes(b"\0" + entry("read"))
    with pytest.raises(command.FuzzError, match="nothing is wrong with it"):
        command.shrink("build", tmp_path, words)
