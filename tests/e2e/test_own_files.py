# SPDX-License-Identifier: GPL-2.0-only
"""FILES= and ROOT=: a user's own program, a directory tree and a Debian program with its libraries in the guest."""

import io
import os
import shutil
import subprocess
import tarfile

import pytest

from tests.e2e.conftest import BUILD, settings
from tests.e2e.test_files import Terminal
from fairground.machine import cpio, guestfiles
from fairground.machine.machine import Machine, run_batch
from fairground.base.settings import UsageError

PROGRAM = """
#include <stdio.h>
int main(int argc, char **argv)
{
        char text[32];
        FILE *f = fopen(argv[argc - 1], "r");

        printf("own program: %s", f ? fgets(text, sizeof(text), f) : "no file");
        return 7;
}
"""


def run(cmd, **how):
    outcome = run_batch(settings(cmd, **how))
    return outcome.status, outcome.console.replace("\r", ""), outcome.problem


@pytest.fixture
def program(tmp_path):
    """A static program of the user's, and a file for it."""
    source, out = tmp_path / "own.c", tmp_path / "a.out"
    source.write_text(PROGRAM)
    subprocess.run(["musl-gcc", "-static", "-o", out, source], check=True)
    (tmp_path / "data.json").write_text('{"answer": 42}\n')
    return tmp_path


@pytest.fixture
def tree(tmp_path):
    """A tree as Debian has it: bin is a link into usr, and a file has two names."""
    root = tmp_path / "tree"
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "opt" / "deep").mkdir(parents=True)
    (root / "bin").symlink_to("usr/bin")
    (root / "opt" / "one").write_text("of the tree\n")
    os.link(root / "opt" / "one", root / "opt" / "deep" / "two")
    shutil.copy2("/bin/true", root / "usr" / "bin" / "nothing")
    for name in ("true", "bash", "ls", "sh"):
        path = shutil.which(name)
        shutil.copy2(path, root / "usr" / "bin" / name)
        for library in guestfiles.libraries(path):
            (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, root / library[1:])
    (root / "usr" / "bin" / "hog").write_text("not ours")
    return root


# Its programs have a path in /bin and stand before busybox's; ours stay.
LOOK = ("/bin/bash -c 'echo ${BASH##*/}'; ls --version | grep -o 'ls.*utils'; [ -L /bin/hog ] || echo ours; "
        "cat /opt/deep/two; cd /opt; stat -c %h,%s one deep/two | uniq; stat -c %N /bin/busybox /usr/bin/nothing; "
        "cd /root")


def check_tree(text):
    assert ("\nbash\nls (GNU coreutils\nours\nof the tree\n2,12\n/bin/busybox\n/usr/bin/nothing\n"
            in text.replace("'", ""))


def test_a_program_a_tree_and_a_debian_program_in_one_run(program, tree):
    words = f"{program}/a.out {program}/data.json {shutil.which('expr')}:/usr/bin/debians-expr"
    texts = {"files": words, "root": str(tree)}
    outcome = run_batch(settings_with(texts, f"{LOOK}; debians-expr 6 '*' 7; ./a.out data.json"))
    text = outcome.console.replace("\r", "")
    assert outcome.status == 7, outcome.problem
    check_tree(text)
    assert '\n42\nown program: {"answer": 42}\n' in text


def settings_with(texts, cmd, mem=256):
    """The settings of `make run FILES=... ROOT=...`."""
    from fairground.base.settings import make_settings  # settings() has another use for the name `files`
    return make_settings({"cmd": cmd, "smp": "2", "mem": str(mem), "kvm": "0", "timeout": "900", **texts}, build=BUILD)


@pytest.mark.parametrize("kind", ["tree.tar", "tree.tar.gz", "tree.tar.xz", "tree.cpio", "tree.cpio.gz"])
def test_archives_as_root(tree, tmp_path, kind):
    path = tmp_path / kind
    (tree / "run").mkdir()
    (tree / "run" / "cmd").write_text("exit 3  # of the machine that this tree was saved in\n")
    if ".tar" in kind:
        with tarfile.open(path, "w:" + kind.rpartition("tar")[2].lstrip(".")) as archive:
            archive.add(tree, ".")
    else:
        names = "".join(f"{os.path.relpath(os.path.join(d, n), tree)}\n"
                        for d, ds, fs in os.walk(tree) for n in ds + fs)
        pack = "cpio --quiet -o -H newc" + (" | gzip" if kind.endswith("gz") else "")
        with open(path, "wb") as out:
            subprocess.run(pack, shell=True, cwd=tree, input=names.encode(), stdout=out, check=True)
    outcome = run_batch(settings_with({"root": str(path)}, LOOK))
    assert outcome.status == 0, outcome.console
    check_tree(outcome.console.replace("\r", ""))


def test_the_shell_at_a_terminal_is_the_trees_bash(tree):
    with Machine(settings_with({"root": str(tree), "append": "interactive"}, "")) as machine:
        terminal = Terminal(machine)
        terminal.expect("Leave")
        terminal.prompt()
        terminal.type("echo ${BASH##*/} $((6 * 7))\r")
        terminal.expect("bash 42")
        terminal.process.kill()
        terminal.process.wait()


def test_hard_links_without_limit_and_memory_given_back(tmp_path):
    """300 files of two names each, and 48 MiB, which are in memory once when they are unpacked."""
    many = tmp_path / "many"
    many.mkdir()
    for n in range(300):
        (many / f"a{n}").write_text(f"{n}\n")
        os.link(many / f"a{n}", many / f"b{n}")
    (many / "large").write_bytes(b"x" * (48 << 20))
    outcome = run_batch(settings_with({"files": str(many)},
                                      "cd many; cat b299; stat -c %h a* | grep -vc 2; grep MemFree /proc/meminfo"))
    assert outcome.status == 0, outcome.console
    text = outcome.console.replace("\r", "")
    assert "\n299\n0\n" in text
    assert int(text.partition("MemFree:")[2].split()[0]) > (256 - 48 - 30) * 1024


@pytest.mark.parametrize("texts, complaint", [
    ({"files": "/nosuch"}, "FILES=/nosuch: there is no such file"),
    ({"files": "/bin/true:here"}, "the path in the guest begins with a slash"),
    ({"root": "/nosuch"}, "ROOT=/nosuch: there is no such directory or archive"),
    ({"root": "/bin/true"}, "neither a directory nor an archive that is known"),
])
def test_what_cannot_be_packed_is_one_sentence(texts, complaint):
    with pytest.raises((UsageError, cpio.ArchiveError), match=complaint):
        run_batch(settings_with(texts, "true"))


THREAD = """
#include <pthread.h>
#include <stdio.h>
static void *work(void *arg) { pthread_exit(arg); }
int main(void)
{
        pthread_t thread;

        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
        return puts("both ended") < 0;
}
"""


def test_a_thread_of_glibc_ends_itself(tmp_path):
    """glibc loads libgcc_s by name then; ldd does not know."""
    (tmp_path / "x.c").write_text(THREAD)
    subprocess.run(["gcc", "-pthread", "-o", tmp_path / "thread", tmp_path / "x.c"], check=True)
    outcome = run_batch(settings_with({"files": str(tmp_path / "thread")}, "./thread"))
    assert outcome.status == 0 and "both ended" in outcome.console, outcome.console


# --- what does not fit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mib, mem", [(40, 64), (100, 272)])
def test_an_archive_that_does_not_fit(tmp_path, mib, mem):
    with open(tmp_path / "large", "wb") as f:
        f.truncate(mib << 20)
    with pytest.raises(UsageError, match="needs three times that while it is unpacked: MEM=") as refused:
        run_batch(settings_with({"files": str(tmp_path / "large")}, "true", mem=mem))
    enough = int(str(refused.value).rpartition("=")[2])
    assert run_batch(settings_with({"files": str(tmp_path / "large")}, "exit 7", mem=enough)).status == 7


def test_many_small_files_take_a_page_each(tmp_path):
    for n in range(4000):
        (tmp_path / f"{n}").write_bytes(b"x")
    with pytest.raises(UsageError, match="MEM=") as refused:
        run_batch(settings_with({"files": str(tmp_path)}, "true", mem=32))
    enough = int(str(refused.value).rpartition("=")[2])
    assert run_batch(settings_with({"files": str(tmp_path)}, "exit 7", mem=enough)).status == 7


def test_a_machine_that_cannot_unpack_all_does_not_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(guestfiles, "check_fits", lambda *_: None)
    with open(tmp_path / "large", "wb") as f:
        f.truncate(40 << 20)
    outcome = run_batch(settings_with({"files": str(tmp_path / "large")}, "exit 7", mem=100))
    assert outcome.status == 1 and "stopped: initramfs: not enough memory for " in outcome.problem
    assert "exit status" not in outcome.console


def test_a_damaged_archive_is_told_before_the_boot(tree, tmp_path):
    packed = io.BytesIO()
    cpio.add_root(str(tree), packed)
    (tmp_path / "x.cpio").write_bytes(packed.getvalue()[:-1000])
    with pytest.raises(UsageError, match=r"ROOT=\S+: the cpio archive is damaged or cut off"):
        run_batch(settings_with({"root": str(tmp_path / "x.cpio")}, "true"))


def test_the_command_comes_first():
    with Machine(settings_with({}, "true")) as machine, open(machine.path("initramfs.cpio"), "rb") as packed:
        assert [entry.name for entry in cpio.entries(packed)][:2] == ["run", "run/cmd"]


@pytest.mark.parametrize("kind", ["cpio", "tar"])
def test_a_small_archive_that_becomes_large(tmp_path, monkeypatch, kind):
    """No more than fits into the machine goes to the host's disk, and the counting has an end."""
    with open(tmp_path / "zeros", "wb") as f:
        f.truncate(200 << 20)
    bomb = str(tmp_path / "bomb.gz")
    subprocess.run(f"echo zeros | cpio --quiet -o -H {'newc' if kind == 'cpio' else 'ustar'} | gzip -1 > {bomb}",
                   shell=True, cwd=tmp_path, check=True)
    with open(tmp_path / "out", "wb") as out:
        room = cpio.Limited(out, 32 << 20)
        cpio.add_root(bomb, room)
        assert room.size > 200 << 20 and out.tell() <= 32 << 20
        monkeypatch.setattr(cpio, "COUNTED", 64 << 20)
        with pytest.raises(cpio.ArchiveError, match="has more than 0 GiB when it is unpacked"):
            cpio.add_root(bomb, cpio.Limited(out, 32 << 20))


def test_a_compressed_initramfs_is_named(tmp_path):
    """The kernel itself reads no compressed archive, and says which compression it sees."""
    for name in ("fairground.elf", "policies"):
        (tmp_path / name).symlink_to(os.path.join(BUILD, name))
    with open(os.path.join(BUILD, "initramfs.cpio"), "rb") as f:
        packed = subprocess.run(["gzip", "-c"], input=f.read(1 << 20), stdout=subprocess.PIPE, check=True).stdout
    (tmp_path / "initramfs.cpio").write_bytes(packed)
    how = settings("", cpus=1)
    how.build = str(tmp_path)
    outcome = run_batch(how)
    assert outcome.status == 1 and "initramfs: compressed with gzip, which the kernel does not read" in outcome.console


def test_one_archive_is_the_same_each_time(tree):
    first, second = io.BytesIO(), io.BytesIO()
    for out in (first, second):
        cpio.add_root(str(tree), out)
    assert first.getvalue() == second.getvalue()
