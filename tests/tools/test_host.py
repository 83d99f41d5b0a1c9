# SPDX-License-Identifier: GPL-2.0-only
"""A host without room, without permission, without network: a sentence, and nothing half-done is left."""

import errno
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fairground import __main__
from fairground.__main__ import make_parser
from fairground.base import whole
from fairground.helps import parsers

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.path.abspath(os.environ.get("B", "build"))
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
ROOM = 16 << 10
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
needs_simulator = pytest.mark.skipif(not os.path.exists(f"{BUILD}/schedsim"), reason="make sim")


def fairground(*words, before=(), room=None, cwd=None):
    """The command @words; no file of it may become larger than @room, as on a disk that is full."""
    limit = None if room is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    return subprocess.run([*before, PYTHON, "-m", "fairground", "--build", BUILD, *map(str, words)], cwd=cwd,
                          capture_output=True, text=True, check=False, preexec_fn=limit,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools"), "PYTHONDONTWRITEBYTECODE": "1"})


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("host") / "run.dat"
    subprocess.run([f"{BUILD}/schedsim", "--cpus", "2", "--time", "300ms", "--decisions", path, "hogs:n=3",
                    "bursts:n=2"], check=True, capture_output=True)
    return path


WRITERS = [("graph", "dat2graph2", "{dat}", "-o", "{to}/x.svg"), ("graph", "dat2graph2", "{dat}", "-o", "{to}/x.png"),
           ("report", "{to}/x.html", "{dat}"), ("convert", "{dat}", "-o", "{to}/x.csv", "--table", "events"),
           ("convert", "{dat}", "-o", "{to}/x.pftrace"), ("convert", "{dat}", "-o", "{to}/x.txt")]


@needs_simulator
@pytest.mark.parametrize("words", WRITERS, ids=lambda words: f"{words[0]} {words[-1][-8:]}")
def test_a_full_disk_keeps_the_old_file_and_leaves_no_part(words, trace, tmp_path):
    out, = [Path(word.format(to=tmp_path)) for word in words if word.startswith("{to}")]
    out.write_text("old")
    done = fairground(*(word.format(dat=trace, to=tmp_path) for word in words), room=ROOM)
    assert done.returncode == 2 and not done.stdout, done
    assert done.stderr.count("\n") == 1 and done.stderr.endswith(f"{out}: File too large\n"), done.stderr
    assert os.listdir(tmp_path) == [out.name] and out.read_text() == "old"


@needs_simulator
def test_a_full_disk_of_temporary_files_is_named(trace, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    monkeypatch.setenv("TMPDIR", "/nowhere")
    assert __main__.main(["--build", BUILD, "replay", str(trace)]) == 2
    assert capsys.readouterr().err == "fairground: No space left on device; $TMPDIR is /nowhere\n"


@needs_simulator
def test_a_program_that_a_signal_ends_is_told_so(trace):
    done = fairground("replay", trace, room=ROOM)
    assert done.returncode == 125
    assert re.fullmatch(r"fairground: schedsim --trace .*: ended by signal 25, File size limit exceeded\n", done.stderr)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_full_disk_leaves_no_half_tree(tmp_path, is_there):
    to = tmp_path / "student"
    if is_there:
        to.mkdir()
    done = fairground("lab", "handout", "1", to, room=ROOM)
    assert done.returncode == 2 and done.stderr == f"fairground: {to}: cannot be written: File too large\n"
    assert to.exists() == is_there and os.listdir(tmp_path) == [to.name] * is_there and not list(to.rglob("*"))


def test_what_is_no_file_is_written_itself(tmp_path):
    """A pipe or /dev/null is not replaced by a file."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    whole.write(tmp_path / "pipe", b"told")
    assert os.read(reader, 9) == b"told" and os.listdir(tmp_path) == ["pipe"]
    (tmp_path / "link").symlink_to(tmp_path / "file")
    whole.write(tmp_path / "link", b"1")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"1"


@needs_simulator
@pytest.mark.parametrize("words, says", [
    (("compare", "cfs", "eevdf", "hogs", "--seeds", "1..2", "--time", "9ms", "--out", "/nowhere/x.png"),
     "--out /nowhere/x.png: there is no such directory"),
    (("compare", "cfs", "eevdf", "hogs", "--out", "x.nope"), "--out x.nope: a name that ends in .svg, .pdf, .png"),
    (("sweep", ROOT / "examples/sweep.toml", "--out", "/nowhere/x.parquet"), "there is no such directory"),
    (("experiment", "x14-real-time", "--hosts", "simulator", "--out", "/proc/x"), "/proc/x.running: No such file"),
    (("trace", "--cmd", "true", "--out", "/nowhere/x.dat"), "OUT=/nowhere/x.dat: there is no such directory")])
def test_a_place_that_cannot_be_written_is_one_sentence(words, says):
    done = fairground(*words)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and "Traceback" not in done.stderr and last.startswith("fairground: ")
    assert says in last, done.stderr


def as_nobody():
    """May the tools run as a user who owns nothing?"""
    if os.getuid() or not shutil.which("setpriv"):
        return False
    return not fairground("--version", before=NOBODY).returncode


@needs_simulator
def test_who_is_not_root_gets_a_sentence(trace, tmp_path_factory, tmp_path):
    if not as_nobody():
        pytest.skip("needs root, setpriv and a tree that everybody may read")
    for path in (trace, *trace.parents):
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(0o755)
    tmp_path.chmod(0o755)
    for words in WRITERS:
        done = fairground(*(word.format(dat=trace, to=tmp_path) for word in words), before=NOBODY)
        assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith(": Permission denied"), done.stderr
        assert "Traceback" not in done.stderr
    done = fairground("trace", "--cmd", "true", "--out", tmp_path / "x.dat", before=NOBODY)
    assert done.returncode == 2 and done.stderr.endswith("x.dat: it cannot be written\n")
    assert os.listdir(tmp_path) == []


def test_a_build_that_cannot_be_written_is_one_sentence(tmp_path):
    if not as_nobody():
        pytest.skip("needs root, setpriv and a tree that everybody may read")
    tmp_path.chmod(0o755)
    for path in tmp_path.parents:
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(0o755)
    for place in (tmp_path, tmp_path / "new"):
        done = subprocess.run([*NOBODY, "make", f"B={place}", "sim"], cwd=ROOT, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert "cannot be written; build elsewhere: make B=DIRECTORY sim." in done.stderr
    done = subprocess.run([*NOBODY, "make", f"B={tmp_path}", "help"], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and not os.listdir(tmp_path)


def test_a_help_fits_forty_columns(monkeypatch):
    """But for what no blank parts, as a list of choices, and for examples, which are to be copied."""
    monkeypatch.setenv("COLUMNS", "40")
    seen = 0
    for path, parser in parsers(make_parser()):
        _, _, text = parser.format_help().partition("\n\n")  # behind the usage
        text = text.partition("examples:\n")[0] if path else ""
        for line in text.splitlines():
            option = re.match(r" *-{1,2}[\w-]+ ", line)
            assert len(line) <= 40 or option or " " not in line.strip(), (path, line)
            seen += 1
    assert seen > 500


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_without_network_the_page_says_so(tmp_path):
    done = subprocess.run(["make", "-s", f"B={tmp_path}", f"{tmp_path}/web/.fetched"], cwd=ROOT, capture_output=True,
                          text=True, check=False, env={**os.environ, "npm_config_registry": "http://127.0.0.1:9/",
                                                       "npm_config_cache": str(tmp_path / "cache"),
                                                       "npm_config_fetch_retries": "0"})
    assert done.returncode == 2 and "npm cannot fetch what builds the page" in done.stderr
    assert not (tmp_path / "web/.fetched").exists()
