# SPDX-License-Identifier: GPL-2.0-only
"""A release (make release) is a function of its commit: two clones make the same bytes."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

from tests.conftest import BUILD, ROOT

import release
from fairground.base.settings import UsageError

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": os.devnull}


def git(place, *words):
    return subprocess.run(["git", *words], cwd=place, check=True, capture_output=True, text=True,
                          env={**os.environ, **WHO}).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone of the tree as it is, with a commit of what is not committed yet."""
    place = tmp_path_factory.mktemp("release") / "first"
    git(ROOT, "clone", "-q", ROOT, place)
    for path in git(ROOT, "ls-files", "-mo", "--exclude-standard").split("\n")[:-1]:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        if os.path.exists(f"{ROOT}/{path}"):
            shutil.copy(f"{ROOT}/{path}", place / path)
    git(place, "add", "-A")
    git(place, "commit", "-q", "--allow-empty", "-m", "all")
    return place


def test_the_archive_is_the_commit_whatever_the_host_is(clone, tmp_path, monkeypatch):
    monkeypatch.chdir(clone)
    source = release.find_source()
    assert source.version == (clone / "VERSION").read_text().strip() and len(source.commit) == release.CHARACTERS
    release.pack(source, tmp_path / "a.tar.gz")
    git(clone, "config", "tar.umask", "0077")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    release.pack(source, tmp_path / "b.tar.gz")
    git(clone, "config", "--unset", "tar.umask")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        names = {member.name.removeprefix(f"{source.name}/") for member in tar if not member.isdir()}
        assert {(member.uid, member.uname, member.mtime) for member in tar} == {(0, "root", int(source.seconds))}
    assert names == set(git(clone, "ls-files").split("\n")[:-1])
    with gzip.open(tmp_path / "a.tar.gz") as archive:
        archive.read(1)
        assert archive.mtime == 0


def test_a_changed_tree_is_refused(clone, tmp_path, monkeypatch):
    monkeypatch.chdir(clone)
    (clone / "new file").write_text("")
    with pytest.raises(UsageError, match="not that of a commit(?s:.*)new file"):
        release.release(tmp_path)
    assert not list(tmp_path.iterdir())
    (clone / "new file").unlink()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/")
    with pytest.raises(UsageError, match="from a clone"):
        release.find_source()


def made(place, umask, **environment):
    """The files of the release that the clone @place makes."""
    if os.path.exists(f"{BUILD}/web/.fetched"):
        (place / "build").mkdir()
        shutil.copytree(f"{BUILD}/web", place / "build/web", symlinks=True)
    done = subprocess.run(["make", "release"], cwd=place, capture_output=True, text=True, check=False, umask=umask,
                          env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **environment})
    assert done.returncode == 0, done.stderr
    out, = (place / "build/release").iterdir()
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=out, check=True)
    assert set(re.findall(r"^[0-9a-f]{64}  (.*)$", done.stdout, re.MULTILINE)) == {
        path.name for path in out.iterdir()} - {"SHA256SUMS"}
    return {path.name: path.read_bytes() for path in out.iterdir()}, done.stderr


@pytest.mark.nightly("a file of a release that depends on the directory, the umask, the time or the environment")
def test_two_clones_make_the_same_release(clone, tmp_path):
    other = tmp_path / "another directory" / "with a longer name"
    git(tmp_path, "clone", "-q", clone, other)
    first, left_out = made(clone, 0o022)
    second, also = made(other, 0o077, TZ="Asia/Tokyo", LANG="C.UTF-8", DEBUG="1", CC="cc", SOURCE_DATE_EPOCH="5")
    assert left_out == also and set(first) == set(second)
    assert not [name for name in first if first[name] != second[name]]
    for name, what in ((".elf", "kernel"), ("initramfs.cpio", "programs"), (".iso", "CD"), (".html", "page"),
                       (".whl", "wheel")):
        assert any(path.endswith(name) for path in first) or f"{what} is left out" in left_out, name


def test_a_part_that_cannot_be_made_is_left_out_with_a_sentence(tmp_path, monkeypatch):
    """Without a tool, and where a command fails: the others are made."""
    asked = []

    class Builder:
        def make(self, *targets):
            asked.extend(targets)
            if "page" in targets:
                raise UsageError("make page failed: no network")

        seed = wheel = lambda self, *_: None

    monkeypatch.setattr(release, "lacks", lambda use: "it needs the package xorriso" if use == "iso" else "")
    monkeypatch.setattr(release, "lacks_wheel", lambda: "")
    assert release.build_all(Builder(), pathlib.Path(tmp_path)) == [
        "the CD is left out: it needs the package xorriso", "the page is left out: make page failed: no network"]
    assert asked == ["image", "page"]


def test_help():
    done = subprocess.run([sys.executable, "tools/scripts/release.py", "--help"], cwd=ROOT, capture_output=True,
                          text=True, check=True, env={**os.environ, "PYTHONPATH": "tools"})
    assert "byte for byte" in done.stdout
