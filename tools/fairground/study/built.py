# SPDX-License-Identifier: GPL-2.0-only
"""Another commit of the project, built aside: `compare commit:REV` runs its simulator or its image."""

import os
import re
import subprocess
from pathlib import Path

from ..base import tree
from ..base.option_values import shortened
from ..base.settings import UsageError

FILES = {"sim": "schedsim", "image": "initramfs.cpio"}  # target of make -> the file that it makes last
PASSED_ON = re.compile(r"MAKE\w*|MFLAGS|GIT_\w+|FAIRGROUND_COMMIT|B|POLICIES|Q|V")
ERROR = re.compile(r"\berror: |undefined reference")


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(tree.ROOT), *words], capture_output=True, text=True, check=False)


def commit_named(rev: str) -> str:
    """The digits of the commit that @rev names. UsageError if it names none."""
    if tree.IS_PACKED:
        raise UsageError(f"commit:{shortened(rev)}: only in the project's tree, which an installed package is not")
    found = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
    if found.returncode or not rev:
        raise UsageError(f"commit:{shortened(rev)}: git knows no such commit")
    return found.stdout.strip()


def build_of(rev: str, build: str, target: str) -> str:
    """The build directory of the commit @rev with what @target of make makes, below @build. It is made if it is not
    there; UsageError if it cannot be."""
    sha = commit_named(rev)
    directory = Path(build, "commits", sha[:16]).absolute()
    if not (directory / FILES[target]).exists():
        make(rev, sha, directory, target)
    return str(directory)


def make(rev: str, sha: str, directory: Path, target: str) -> None:
    """Build @target of the commit @sha into @directory, from a worktree that goes afterwards."""
    source = directory.with_suffix(".tree")
    git("worktree", "remove", "--force", str(source))
    added = git("worktree", "add", "--detach", str(source), sha)
    if added.returncode:
        raise UsageError(f"commit:{rev}: {added.stderr.strip().splitlines()[-1]}")
    try:
        usual = {name: text for name, text in os.environ.items() if not PASSED_ON.fullmatch(name)}
        done = subprocess.run(["make", "-C", str(source), f"-j{os.cpu_count() or 1}", f"B={directory}", target],
                              capture_output=True, text=True, check=False, env=usual)
    finally:
        git("worktree", "remove", "--force", str(source))
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines()
        why = next((line for line in said if ERROR.search(line)), said[-1] if said else f"status {done.returncode}")
        raise UsageError(f"commit:{rev} does not build: make {target}: {why.strip()}")
