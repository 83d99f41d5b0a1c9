# SPDX-License-Identifier: GPL-2.0-only
"""A run whose time is counted is the same in each clone: nothing that it executes depends on the names of directory,
user and commit, on the terminal, the date, or who may read the files."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

from tests.conftest import BUILD, ROOT

NOBODY = 65534
COMMIT = re.compile(rb"(?:Fairground |, commit )[^\0]{24}(?: x86_64\0|\n\0)")
BOOTS = re.compile(r"^\$ make (?:run|trace|repeat) .*(?:ICOUNT=1|ARGS=)", re.MULTILINE)
# Whatever of the host might be seen from inside: its date, terminal, environment, and whose files are where.
LOOK = "date; stty size; env; id; ls -lan / /root /bin/hog; cat /proc/cmdline /proc/version; hack -g 1 -l 2"


def image(build, place):
    """(kernel, initramfs) in the directory @build, without the name of the commit and what only a debugger reads."""
    subprocess.run(["objcopy", "--strip-debug", os.path.join(build, "fairground.elf"), place], check=True)
    text, names = COMMIT.subn(b"COMMIT", place.read_bytes())
    assert names == 2
    with open(os.path.join(build, "initramfs.cpio"), "rb") as initramfs:
        return text, initramfs.read()


def another_user():
    """A user that may run the tree's programs, or None: then the run is this user's."""
    try:
        done = subprocess.run([sys.executable, "-c", "import pytest"], cwd=ROOT, user=NOBODY, check=False,
                              capture_output=True)
    except PermissionError:
        return None
    return None if done.returncode else NOBODY


@pytest.fixture(scope="module")
def public():
    """A directory that every user can reach. Those of pytest are closed to others, again with each of its sessions."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        yield pathlib.Path(place)


def traced(root, build, out, user=None, **variables):
    """(console, trace) of one run by the runner of the clone @root, with the image in @build."""
    words = ["--smp", "1", "--icount", "1", "--cmd", LOOK, "--out", str(out)]
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", str(build), "trace", *words], cwd=root,
                          user=user, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=900,
                          umask=0o077 if user else -1,
                          env={"PATH": os.environ["PATH"], "KVM": "0", "PYTHONPATH": f"{root}/tools", **variables,
                               "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                               "GIT_CONFIG_VALUE_0": "*"})
    assert done.returncode == 0, done.stderr
    return done.stdout.partition(b"Linux version")[2].replace(bytes(out), b"OUT"), out.read_bytes()


def test_nothing_of_the_host_is_counted(tmp_path, public):
    """The same image, elsewhere, and by another user if this one may become one."""
    far = public / "a directory with a long name" / "and another"
    far.mkdir(parents=True)
    for name in ("fairground.elf", "initramfs.cpio"):
        shutil.copyfile(os.path.join(BUILD, name), far / name)
    drop = public / "out"
    drop.mkdir()
    drop.chmod(0o777)
    here = traced(ROOT, os.path.abspath(BUILD), tmp_path / "here.dat")
    there = traced(ROOT, far, drop / "t.dat", user=another_user(), TERM="dumb", COLUMNS="40",
                   LINES="9", USER="fair", LOGNAME="fair", HOME="/nowhere", LANG="C.UTF-8", TZ="Asia/Tokyo",
                   NO_COLOR="1")
    assert b"24 80" in here[0] and here[0] == there[0]
    assert here[1] == there[1]


@pytest.fixture(scope="module")
def cloned(public):
    """run(WORDS) in a clone that differs in all that may differ: another user owns it, in a directory with a long name;
    its commit has a name of 26 characters, of which some are "-dirty", as in the clone of a student."""
    place = public / "a-clone-in-a-directory-with-a-rather-long-name"
    shutil.copytree(ROOT, place, symlinks=True, ignore=shutil.ignore_patterns(
        "build*", ".git", ".mypy_cache", "__pycache__"))
    user = another_user()
    if user is not None:
        for path in (place, *place.rglob("*")):
            os.chown(path, user, -1, follow_symlinks=False)
    words = {"PATH": os.environ["PATH"], "HOME": str(place), "KVM": "0"}
    words |= {f"GIT_{who}_{what}": "fair" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def run(*command):
        done = subprocess.run(command, cwd=place, env=words, user=user, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, umask=0o077)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("git", "init", "--quiet")
    run("git", "add", "--all")
    run("git", "commit", "--quiet", "-m", "all of it")
    run("git", "tag", "-a", "-m", "a version", "v10.20.30")
    run("git", "commit", "--quiet", "--allow-empty", "-m", "more")
    with open(place / "LICENSE", "a", encoding="utf-8") as changed:
        changed.write("changed\n")
    assert re.fullmatch(r"v10\.20\.30-1-g[0-9a-f]{7}-dirty\n", run("git", "describe", "--dirty"))
    run("make", "-j2", "image", "sim")
    run.place = place
    return run


@pytest.mark.nightly("an image that depends on the directory, the user, the commit or the umask")
def test_a_clone_builds_the_same_image(cloned, tmp_path):
    """What can differ is the name of the commit, in its 24 characters."""
    ours, theirs = image(BUILD, tmp_path / "ours"), image(cloned.place / "build", tmp_path / "theirs")
    assert ours[0] == theirs[0], "kernels differ"
    assert ours[1] == theirs[1], "initial RAM file systems differ"


@pytest.mark.nightly("figures of README and of the book that no clone prints")
def test_a_clone_prints_what_the_pages_show(cloned):
    """README, and the chapters whose sessions the kernel prints: renewed in the clone, to the digit the same."""
    there = cloned.place
    pages = [str(path.relative_to(there)) for path in (there / "README.md", *sorted(there.glob("docs/book/*.md")))
             if BOOTS.search(path.read_text(encoding="utf-8"))]
    assert "README.md" in pages and len(pages) > 3
    said = cloned(sys.executable, "tools/scripts/docblocks.py", *pages)
    assert said.count(": the same, ") > 10 and ": renewed, " not in said, said
    assert cloned("git", "diff", "--name-only", "--", *pages) == ""
