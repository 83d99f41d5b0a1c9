#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A release: the source as an archive, and what is built of that archive and of nothing else: kernel, programs, CD,
page, wheel. With the same compilers it is the same byte for byte, in any directory, by anybody, at any time.

A part that this machine cannot make is left out, with a sentence. A release is of a commit: the tree must have no
changes.

Usage: release.py    writes B/release/fairground-VERSION/; environment: B (build directory), MAKE
"""

import gzip
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairground.base.progress import waiting
from fairground.base.settings import UsageError

import usage
import website

CHARACTERS = 12  # of the commit's name: git's own choice depends on how much a clone has
FETCHED = ("web/package.json", "web/package-lock.json")
KEPT = ("PATH", "HOME", "TERM", "FAIRGROUND_PYTHON")  # of the environment, in which a setting may stand
TOOLS = ("gcc --version", "ld --version", "clang --version", "musl-gcc --version", "node --version",
         "grub-mkrescue --version", "xorriso --version", "busybox")


class Source(NamedTuple):
    """The commit that is released."""

    version: str
    commit: str
    seconds: str  # since 1970, of the commit

    @property
    def name(self) -> str:
        return f"fairground-{self.version}"


def git(*words: str) -> bytes:
    """What git prints. UsageError with its message if it fails."""
    done = subprocess.run(["git", *words], capture_output=True, check=False)
    if done.returncode:
        raise UsageError(f"a release is made from a clone: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def find_source() -> Source:
    """The commit of this clone. UsageError if the tree is another."""
    if changed := git("status", "--porcelain").decode():
        raise UsageError(f"the tree is not that of a commit; git status --short says:\n{changed.rstrip()}")
    version = pathlib.Path("VERSION").read_text(encoding="utf-8").strip()
    commit, seconds = git("log", "-1", "--format=%H %ct").decode().split()
    return Source(version, commit[:CHARACTERS], seconds)


def pack(source: Source, path: pathlib.Path) -> None:
    """Write the files of the commit to the archive @path."""
    tar = git("-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix={source.name}/", "HEAD")
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as archive:
        archive.write(tar)


class Builder:
    """A tree in which parts of the release are built."""

    def __init__(self, tree: pathlib.Path, source: Source) -> None:
        self.tree = tree
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.environment: Mapping[str, str] = {**kept, "LC_ALL": "C", "SOURCE_DATE_EPOCH": source.seconds,
                                               "FAIRGROUND_COMMIT": f"v{source.version}-{source.commit}"}

    def run(self, words: Sequence[str]) -> None:
        """Run a command in the tree. UsageError with its last lines if it fails."""
        done = subprocess.run(words, cwd=self.tree, env=self.environment, umask=0o022, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False)
        if done.returncode:
            raise UsageError(f"{' '.join(words)} failed: " + "\n".join(done.stdout.strip().split("\n")[-5:]))

    def make(self, *targets: str) -> None:
        self.run([os.environ.get("MAKE", "make"), f"-j{os.cpu_count() or 1}", *targets])

    def seed(self, build: pathlib.Path) -> None:
        """Take what npm fetched into @build, if the same is wanted here."""
        there = build / "web"
        if (there / ".fetched").exists() and all(
                (there / pathlib.Path(name).name).read_bytes() == (self.tree / name).read_bytes() for name in FETCHED):
            shutil.copytree(there / "node_modules", self.tree / "build/web/node_modules", symlinks=True)
            (self.tree / "build/web/.fetched").touch()

    def wheel(self) -> None:
        """With the simulator, and with the viewer if the page could be made."""
        self.make("sim")
        self.run(["/usr/bin/python3", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
                  "--no-build-isolation", "--wheel-dir", "build", "."])


def lacks(use: str) -> str:
    """A sentence if a package for the @use of tools/setup.sh is missing."""
    return subprocess.run(["sh", "tools/setup.sh", "--lacks", use], capture_output=True, text=True,
                          check=False).stdout.strip()


def lacks_wheel() -> str:
    missing = [name for name in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(name)]
    names = " and ".join(f"python3-{name}" for name in missing)
    return f"it needs {names}: sh tools/setup.sh --test" if missing else ""


def build_all(builder: Builder, build: pathlib.Path) -> list[str]:
    """Build what can be built. A sentence for each part that cannot."""
    def page() -> None:
        builder.seed(build)
        builder.make("page")

    left_out = []
    parts: list[tuple[str, str, Callable[[], None]]] = [
        ("the kernel and its programs", lacks("run"), lambda: builder.make("image")),
        ("the CD", lacks("iso"), lambda: builder.make("iso")),
        ("the page", lacks("page"), page), ("the wheel", lacks_wheel(), builder.wheel)]
    for nr, (what, missing, make) in enumerate(parts, 1):
        with waiting(f"building {what}, {nr} of {len(parts)}"):
            try:
                if missing:
                    raise UsageError(missing)
                make()
            except UsageError as error:
                left_out.append(f"{what} is left out: {error}")
    return left_out


def tools_text(source: Source) -> str:
    """Which tools made the release: others may make other bytes."""
    lines = [f"commit {source.commit}"]
    for command in TOOLS:
        words = command.split()
        if shutil.which(words[0]):
            said = subprocess.run(words, capture_output=True, text=True, check=False)
            lines.append(f"{words[0]}: {(said.stdout + said.stderr).partition(chr(10))[0]}")
    return "\n".join(lines) + "\n"


def release(build: pathlib.Path) -> tuple[pathlib.Path, list[str]]:
    """Make the release. Returns its directory, and a sentence for each part that is left out."""
    source = find_source()
    place = build / "release"
    out, work = place / source.name, place / "work"
    for directory in (out, work):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
    archive = out / f"{source.name}.tar.gz"
    pack(source, archive)
    with tarfile.open(archive) as tar:
        tar.extractall(work)
    tree = work / source.name
    left_out = build_all(Builder(tree, source), build)
    made = [*(tree / "build" / name for name in (*website.IMAGES, website.PAGE)), *(tree / "build").glob("*.whl")]
    for path in made:
        if path.exists():
            shutil.copyfile(path, out / path.name.replace("fairground.", f"{source.name}.").replace(
                "initramfs.", f"{source.name}-initramfs."))
    (out / "TOOLS").write_text(tools_text(source), encoding="utf-8")
    (out / website.SUMS).write_text(website.sums(sorted(path for path in out.iterdir() if path.name != website.SUMS)),
                                    encoding="utf-8")
    shutil.rmtree(work)
    return out, left_out


def main() -> None:
    usage.words(__doc__, 0, 0)
    try:
        out, left_out = release(pathlib.Path(os.environ.get("B", "build")))
    except UsageError as error:
        sys.exit(f"release: {error}")
    print(*(f"release: {sentence}" for sentence in left_out), sep="\n", end="\n" * bool(left_out), file=sys.stderr)
    print(f"{out}/:")
    print((out / website.SUMS).read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
