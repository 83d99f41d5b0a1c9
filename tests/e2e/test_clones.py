# SPDX-License-Identifier: GPL-2.0-only
"""A run whose time is counted is the same in each clone: nothing that it executes depends on the names of directory,
user and commit, on the terminal, the date, or who may read the files."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import BUILD, ROOT

NOBODY = 65534
COMMIT = re.compile(rb"(?:Fairground |, commit )[^\0]{24}(?: x86_64\0|\n\0)")
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


def test_nothing_of_the_host_is_counted(tmp_path):
    """The same image, elsewhere, and by another user if this one may become one."""
    far = tmp_path / "a directory with a long name" / "and another"
    far.mkdir(parents=True)
    for name in ("fairground.elf", "initramfs.cpio"):
        shutil.copyfile(os.path.join(BUILD, name), far / name)
    for path in (far, *far.parents):
        if path.stat().st_uid == os.getuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o055)
    drop = tmp_path / "out"
    drop.mkdir()
    drop.chmod(0o777)
    here = traced(ROOT, os.path.abspath(BUILD), tmp_path / "here.dat")
    there = traced(ROOT, far, drop / "t.dat", user=another_user(), TERM="dumb", COLUMNS="40",
                   LINES="9", USER="fair", LOGNAME="fair", HOME="/nowhere", LANG="C.UTF-8", TZ="Asia/Tokyo",
                   NO_COLOR="1")
    assert b"24 80" in here[0] and here[0] == there[0]
    assert here[1] == there[1]


@pytest.mark.nightly("an image that depends on the directory, the commit or the umask")
def test_a_clone_builds_the_same_image(tmp_path):
    """In a directory of another length, with a changed tree and a longer name of the commit. What can differ is the
    name itself, in its 24 characters."""
    clone = tmp_path / "a-clone-in-a-directory-with-a-rather-long-name"
    shutil.copytree(ROOT, clone, symlinks=True, ignore=shutil.ignore_patterns("build*", ".mypy_cache", "__pycache__"))
    (clone / "README.md").write_text("changed\n")
    made = subprocess.run(["make", "-j2", "image"], cwd=clone, capture_output=True, text=True, check=False, umask=0o077,
                          env={"PATH": os.environ["PATH"], "FAIRGROUND_COMMIT": "v10.20.30-4567-gabcdef0-dirty"})
    assert made.returncode == 0, made.stderr
    ours, theirs = image(BUILD, tmp_path / "ours"), image(clone / "build", tmp_path / "theirs")
    assert ours[0] == theirs[0], "kernels differ"
    assert ours[1] == theirs[1], "initial RAM file systems differ"
