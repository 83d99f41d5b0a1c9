# SPDX-License-Identifier: GPL-2.0-only
"""Files that others made, damaged at random: each command that reads them says one sentence, or prints what is left.

Each test prints its seed; SEED=n repeats it. What fails is left in a file that the message names.
"""

import argparse
import contextlib
import gzip
import io
import json
import lzma
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tarfile
import time

import pytest

from damage import damaged
from tests.tools.test_decision_files import memory as memory_of
from fairground import __main__
from fairground.machine import cpio, guestfiles, image
from fairground.trace import trace, unpack
from fairground.base.errors import InputError, reading
from fairground.study.experiment_file import Experiment
from fairground.study.grid import Grid
from fairground.pictures.kinds import histogram, sweep
from fairground.base.settings import UsageError

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.path.abspath(os.environ.get("B", "build"))
SCHEDSIM = os.path.join(BUILD, "schedsim")
DAILY_S, NIGHTLY_S = 0.2, 10  # of CPU time, for each kind of file
PATIENCE_S = 60               # for one file
READERS = (["latency"], ["timehist"], ["timehist", "--summary"], ["map"], ["stat"])
OF_DECISIONS = (["decisions"], ["decisions", "--full"], ["decisions", "--kind", "select"],
                ["decisions", "--kind", "balance"])
FORMS = [["convert", "-o", f"out.{suffix}"] for suffix in ("txt", "csv", "json")]


# --- one attempt --------------------------------------------------------------------------------------------------


def check_sentence(status, said, allowed=(0, 2)):
    """A command ended with @status and @said this on stderr: a sentence if it failed, and no traceback."""
    assert status in allowed, f"status {status}: {said}"
    assert "Traceback" not in said
    if status:
        assert re.fullmatch(r"(fairground|schedsim): .*\n", said.splitlines(keepends=True)[-1]), said


def read(words, path):
    """What `fairground WORDS PATH` says on stderr."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = __main__.main([*words, str(path)])
    check_sentence(status, said.getvalue())
    return said.getvalue()


def command(*words):
    return lambda path: read(list(words), path)


def simulate(*before, after=()):
    def attempt(path):
        done = subprocess.run([SCHEDSIM, "--time", "2ms", *before, path, *after], stdin=subprocess.DEVNULL, text=True,
                              errors="replace", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        check_sentence(done.returncode, done.stderr)
    return attempt


def load(kind):
    def attempt(path):
        with contextlib.suppress(InputError):
            kind(path)
    return attempt


def pack(path):
    """ROOT=@path, until the machine would start."""
    with contextlib.suppress(InputError), open(path.parent / "packed", "w+b") as out:
        room = cpio.Limited(out, 1 << 20)
        cpio.add_root(str(path), room)
        with reading(path, UsageError):
            guestfiles.check_fits(out, room, 32)
            guestfiles.add_links(out)


def look(path):
    """All that `trace` and `top` find in a machine's memory."""
    with contextlib.suppress(InputError):
        found = image.Image(image.memory_file(str(path)))
        list(found.events())
        trace.convert(str(path), str(path.parent / "out.dat"))


# --- what is damaged ----------------------------------------------------------------------------------------------


def run(tmp, *words):
    subprocess.run([SCHEDSIM, "--cpus", "2", "--time", "60ms", *words, "hogs:n=3", "periodic:n=1"], cwd=tmp, check=True,
                   stdout=subprocess.DEVNULL)


def of_simulator(*options):
    def make(path):
        run(path.parent, *options, path.name)
    return make


def trace_of_linux(path):
    shutil.copy(ROOT / "tests/sim/linux-6.1.dat", path)


def perf_data(path):
    path.write_bytes(lzma.decompress((ROOT / "tests/tools/linux-6.1.data.xz").read_bytes()))


def archive(path):
    """A tree as cpio or tar, plain or compressed, as the name says."""
    tree = path.parent / "tree"
    (tree / "etc").mkdir(parents=True)
    (tree / "etc/motd").write_text("hello\n" * 20)
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "bin").symlink_to("usr/bin")
    (tree / "usr/bin/link").symlink_to("/etc/motd")
    os.link(tree / "etc/motd", tree / "twice")
    if ".tar" in path.name:
        with tarfile.open(path, "w:" + path.name.rpartition("tar")[2].lstrip(".")) as out:
            out.add(tree, ".")
        return
    plain = io.BytesIO()
    cpio.add_root(str(tree), plain)
    path.write_bytes(gzip.compress(plain.getvalue()) if path.name.endswith("gz") else plain.getvalue())


def table(path):
    """What `sweep` writes, in either form."""
    rows = [{"policy": policy, "x": n, "wait_ms": n / 7} for policy in ("cfs", "eevdf") for n in range(9)]
    lines = [",".join(map(str, row)) for row in ([*rows[0]], *(row.values() for row in rows))]
    path.write_text(json.dumps(rows) if path.suffix == ".json" else "\n".join(lines))


def cyclictest(path):
    rows = {"histogram": {str(us): us for us in range(1, 40)}, "max": 39, "cycles": 780}
    path.write_text(json.dumps({"cmdline:": "cyclictest", "sysinfo": {"sysname": "Linux", "release": "6.1"},
                                "thread": {"0": rows, "1": rows}}))


def memory(path):
    path.write_bytes(memory_of(5, 3)(0, 0x20000))


def copy_of(name):
    return lambda path: shutil.copy(ROOT / name, path)


NO_WINDOW = argparse.Namespace(min=None, max=None)

# name of the file: (how it is made, what is tried with it in turn)
CORPUS = {
    "trace.dat": (of_simulator("--trace"), [command(*words) for words in (*READERS, *FORMS)]),
    "linux.dat": (trace_of_linux, [command(*words) for words in READERS]),
    "decisions.dat": (of_simulator("--decisions"), [command(*words) for words in (*OF_DECISIONS, *FORMS)]),
    "decisions.bin": (of_simulator("--decisions"), [command(*words) for words in OF_DECISIONS]),
    "decisions.json": (of_simulator("--decisions"), [command(*words) for words in OF_DECISIONS]),
    "perf.data": (perf_data, [command("latency"), command("stat")]),
    **dict.fromkeys(("tree.cpio", "tree.cpio.gz", "tree.tar", "tree.tar.gz", "tree.tar.bz2", "tree.tar.xz"),
                    (archive, [pack])),
    "experiment.toml": (copy_of("experiments/x7-contention.toml"), [load(Experiment)]),
    "sweep.toml": (copy_of("examples/sweep.toml"), [load(Grid)]),
    "table.csv": (table, [load(sweep.rows_of)]), "table.json": (table, [load(sweep.rows_of)]),
    "cyclictest.json": (cyclictest, [load(lambda path: histogram.open_source(str(path), NO_WINDOW))]),
    "memory": (memory, [look]),
    "turns.policy": (copy_of("examples/policies/turns.policy"), [
        simulate("--plugin", after=["hogs:n=3"]), simulate("--export")]),
    "phases.json": (copy_of("examples/phases.json"), [simulate()]),
    "groups.json": (copy_of("examples/groups.json"), [simulate()]),
}


# --- names --------------------------------------------------------------------------------------------------------

EVIL = b"\x1b[2J\n$a$b$\xc2\x9bX\x07"


@pytest.fixture
def evil(tmp_path):
    """A trace and decisions in which the tasks called hog have another name, and the command line too."""
    found = []
    for name, option in (("trace.dat", "--trace"), ("decisions.dat", "--decisions")):
        path = tmp_path / name
        run(tmp_path, option, name)
        data = path.read_bytes()
        assert data.count(b"hog\0") > 10 and b"hogs:n=3" in data
        data = data.replace(b"hog".ljust(16, b"\0"), EVIL.ljust(16, b"\0"))
        path.write_bytes(data.replace(b"hogs:n=3", b"\x1b[2J\r\b\a!"))
        found.append(path)
    return found


def words_of(readers, path, out):
    return [[*(f"{out}{word[3:]}" if word.startswith("out.") else word for word in words), str(path)]
            for words in readers]


def test_names_and_commands_of_others_stay_in_their_line(evil, tmp_path):
    """Nothing that is printed moves the cursor, and no name begins a line."""
    trace, decisions = evil
    for words in (*words_of((*READERS, *FORMS[:1]), trace, tmp_path / "out"),
                  *words_of(OF_DECISIONS, decisions, tmp_path / "out")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert __main__.main(words) == 0
        text = out.getvalue() + "".join(path.read_text() for path in tmp_path.glob("out.*"))
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), (words, text)
        assert not re.search(r"^\$a", text, re.MULTILINE), (words, text)
        assert words[0] in ("stat", "convert") or "--kind" in words or r"\x1b[2J\n$a$b$" in text, (words, text)


@pytest.mark.parametrize("kind", ["share", "side", "latency"])
def test_a_picture_shows_names_as_they_are(evil, tmp_path, kind):
    """Between two $ matplotlib would see a formula."""
    pytest.importorskip("matplotlib")
    with contextlib.redirect_stdout(io.StringIO()):
        assert __main__.main(["graph", kind, str(evil[0]), "-o", str(tmp_path / "out.svg")]) == 0


def test_the_simulator_prints_names_in_a_line(tmp_path):
    path = tmp_path / "evil.json"
    path.write_text('{"tasks": {"a\x1b[2J\n": {"run": 1000, "loop": 1}, "b\x9bX": {"run": 1000, "loop": 1}}}', "utf-8")
    done = subprocess.run([SCHEDSIM, "--time", "50ms", "--explain", "0ms", path], capture_output=True, text=True,
                          check=True)
    assert "a?[2J?" in done.stdout and "b??X" in done.stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr)


# --- damages that were found ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before, after", [
    (b" prev_pid;", b" prev_pix;"), (b"\0\x08\0\x10\0\0", b"\0\x08\0\0\0\0"),
    (b"name: sched_switch\nID", b"name: sched_switch\nIx"),
])
def test_traces_whose_bytes_make_no_sense(tmp_path, before, after):
    path = tmp_path / "trace.dat"
    run(tmp_path, "--trace", path.name)
    assert before in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(before, after))
    for words in (*READERS, ["report", "--no-viewer", str(tmp_path / "out.html")]):
        assert read(words, path), words


def test_an_empty_memory(tmp_path):
    (tmp_path / "ram").touch()
    with pytest.raises(image.TraceError, match="the file is empty"):
        image.memory_file(str(tmp_path / "ram"))


@pytest.mark.parametrize("make, name", [(trace_of_linux, "linux.dat"), (perf_data, "perf.data")])
def test_a_small_trace_that_becomes_large(tmp_path, monkeypatch, make, name):
    make(tmp_path / name)
    monkeypatch.setattr(unpack, "LEAST", 1 << 12)
    monkeypatch.setattr(unpack, "TIMES", 0)
    assert "the file becomes larger than 0 MiB when " in read(["latency"], tmp_path / name)


@pytest.mark.parametrize("data, why", [
    (b'title = "\xff"', "this is no text in UTF-8"),
    (b"title = " + b"[" * 100_000, "its brackets are nested too deeply"),
], ids=["not UTF-8", "100,000 brackets"])
def test_toml_that_is_none(tmp_path, data, why):
    (tmp_path / "x.toml").write_bytes(data)
    assert read(["sweep"], tmp_path / "x.toml") == f"fairground: {tmp_path}/x.toml: {why}\n"


# --- attempts without end -----------------------------------------------------------------------------------------


def cpu_s():
    return sum(of.ru_utime + of.ru_stime for of in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                          resource.RUSAGE_CHILDREN)))


@contextlib.contextmanager
def patience():
    def give_up(*_):
        raise AssertionError(f"no end within {PATIENCE_S} s")
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attack(name, attempts, tmp_path, seed, budget_s):
    """Damage the file @name, already in @tmp_path, until @budget_s of CPU time are used. Returns how often."""
    path = tmp_path / name
    whole, end, number = path.read_bytes(), cpu_s() + budget_s, 0
    while cpu_s() < end:
        path.write_bytes(damaged(whole, f"{name} {seed}", number))
        try:
            with patience():
                attempts[number % len(attempts)](path)
        except BaseException as error:
            error.add_note(f"{path}: SEED={seed}, attempt {number}")
            raise
        number += 1
    return number


@pytest.fixture
def seed(request):
    """SEED=, or the number of commits."""
    return int(os.environ.get("SEED", request.config.getoption("--drawn")))


def work(name, tmp_path, monkeypatch, seed, budget_s):
    monkeypatch.chdir(tmp_path)
    make, attempts = CORPUS[name]
    make(tmp_path / name)
    for attempt in attempts:
        attempt(tmp_path / name)  # the whole file is read
    begin = time.monotonic()
    number = attack(name, attempts, tmp_path, seed, budget_s)
    print(f"SEED={seed}: {number} damaged {name} in {time.monotonic() - begin:.1f} s")


@pytest.mark.parametrize("name", CORPUS)
def test_a_damaged_file_is_one_sentence(name, tmp_path, monkeypatch, seed):
    work(name, tmp_path, monkeypatch, seed, DAILY_S)


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.nightly("a damage of a foreign file that takes a thousand attempts to find")
def test_a_thousand_damaged_files(name, tmp_path, monkeypatch, seed):
    work(name, tmp_path, monkeypatch, seed, NIGHTLY_S)
