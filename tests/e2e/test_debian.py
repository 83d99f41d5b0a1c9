# SPDX-License-Identifier: GPL-2.0-only
"""Unmodified programs of Debian with the libraries they load, each at the work it is for."""

import pathlib
import re
import shutil
import subprocess

import pytest

from tests.e2e.conftest import V1, dynamic_program


@pytest.fixture
def debian(guest):
    """debian("ls", "make")(script) runs the script where these programs of this machine are in /root.
    The shell would take its own ones for a bare name."""
    def of(*names):
        found = [dynamic_program(path) if (path := shutil.which(name)) else pytest.skip(f"no {name} here")
                 for name in names]
        put = "".join(put for put, _ in found)
        files = {at: content for _, of_one in found for at, content in of_one.items()}
        return lambda script, **how: guest(f"{put} cd /tmp; {script}", files=files, mem=512, **how)
    return of


def test_ls_shows_permissions_and_owners(debian):
    text = debian("ls")("touch -d '2020-01-02 03:04:05' f; chown 7:8 f; chmod 4751 f; "
                        "TZ=UTC0 /root/ls -ln f; /root/ls -ld /tmp")
    assert re.search(r"^-rwsr-x--x 1 7 8 0 Jan  2  2020 f$", text, re.M)
    assert re.search(r"^drwxrwxrwt .* /tmp$", text, re.M)
    assert "not implemented" not in text


def test_make_with_two_jobs(debian):
    makefile = r"all: a b c\n%%:\n\t@echo make $@; sleep 0.1; echo $@ > $@.out\n"
    text = debian("make")(f"printf '{makefile}' > Makefile; /root/make -j2 && cat a.out b.out c.out && echo MADE")
    assert re.search(r"^a\nb\nc\nMADE$", text, re.M), text


def test_sqlite_keeps_a_database_on_disk(debian):
    text = debian("sqlite3")(
        "/root/sqlite3 x.db 'create table t(n); insert into t values(1),(2);'; "
        "for i in 3 4; do (for j in 1 2 3 4 5; do /root/sqlite3 -cmd '.timeout 60000' x.db "
        "\"insert into t values($i$j);\"; done) & done; wait; "
        "/root/sqlite3 x.db 'select count(*), sum(n) from t; pragma integrity_check; pragma journal_mode=wal;'; ls")
    assert re.search(rf"^12\|{1 + 2 + 31 + 32 + 33 + 34 + 35 + 41 + 42 + 43 + 44 + 45}\nok\nwal$", text, re.M), text


def test_numactl_shows_the_nodes(debian):
    text = debian("numactl")("cd /root; ./numactl -H; ./numactl --membind=0 ./numactl --show; "
                             "./numactl --membind=1 true && echo BAD; true")
    assert "node 0 cpus: 0 1 2 3" in text and re.search(r"^policy: bind$", text, re.M) and "BAD" not in text


@pytest.mark.parametrize("mount", [V1, ""])
def test_cgexec_runs_in_a_group(debian, mount):
    """cgroup-tools, with either version. They ask a daemon first, and go on when it is absent."""
    text = debian("cgcreate", "cgexec", "cgget")(
        f"{mount}cd /root; ./cgcreate -g cpu:lab && ./cgexec -g cpu:lab cat /proc/self/cgroup && ./cgget -g cpu lab")
    assert re.search(r"^(1:cpu|0:):/lab$", text, re.M), text
    assert re.search(r"^cpu\.(shares: 1024|weight: 100)$", text, re.M), text


def test_setpriv_gives_privileges_up(debian):
    text = debian("setpriv")(
        "/root/setpriv --reuid 1000 --regid 1001 --clear-groups --bounding-set=-all sh -c 'id -u; id -g; "
        "grep -E \"^(Uid|CapEff|CapBnd)\" /proc/self/status; kill -0 1 || echo refused; "
        "echo 1 > /sys/kernel/debug/sched/latency_ns || echo kept; renice -n -5 $$ || echo slow'; "
        "/root/setpriv --dump | grep -c chown")
    assert re.search(r"^1000\n1001\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0+\nCapBnd:\t0+$", text, re.M), text
    assert all(re.search(rf"^{word}$", text, re.M) for word in ("refused", "kept", "slow")), text


def test_set_user_id_programs(debian):
    text = debian("setpriv")(
        "cp /root/setpriv s; chown 7:8 s; chmod 6755 s; as='/root/setpriv --reuid 1000 --regid 1000 --clear-groups'; "
        "$as ./s --dump | head -4; $as --no-new-privs ./s --dump | head -4")
    ids = re.findall(r"^(?:uid|euid|gid|egid): (\d+)$", text, re.M)
    assert ids == ["1000", "7", "1000", "8"] + ["1000"] * 4, text


def test_su_becomes_another_user(guest):
    text = guest("echo root::0:0::/root:/bin/sh > /etc/passwd; echo guest::1000:1000::/tmp:/bin/sh >> /etc/passwd; "
                 "cd /tmp; echo secret > s; chmod 600 s; su guest -c 'id -u; cat /tmp/s || echo closed'")
    assert re.search(r"^1000$", text, re.M) and re.search(r"^closed$", text, re.M), text


def test_missing_calls_are_counted_and_said_once(guest):
    text = guest("for i in 1 2; do pivot_root / /tmp 2>/dev/null; done; cat /proc/fairground/unimplemented")
    assert len(re.findall(r"\] pivot_root\[\d+\]: system call 155 is not implemented$", text, re.M)) == 1, text
    assert re.search(r"^number  calls  first program\n(.*\n)* +155 +2  pivot_root$", text, re.M), text


def test_oslat_measures(debian):
    text = debian("oslat")("/root/oslat --duration 1 --cpu-list 0-1 --rtprio 1 2>&1; "
                           "cat /proc/fairground/unimplemented", cpus=2)
    assert re.search(r"^ *Maximum:", text, re.M), text


PYTHON = """
import os, resource, shutil, sqlite3, subprocess, tempfile
print(subprocess.run(["sh", "-c", "echo child"], capture_output=True, text=True).stdout.strip())
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "f")
    open(path, "w").write("x" * 10)
    shutil.copy2(path, path + "2")
    print("copied", os.stat(path + "2").st_size)
if not os.fork():
    os.setgroups([50])
    os.setgid(1001)
    os.setuid(1000)
    for name, call in ("signal", lambda: os.kill(1, 0)), ("nice", lambda: os.nice(-5)):
        try:
            call()
            print("BAD")
        except PermissionError:
            print("refused", name, os.getuid(), os.getgroups())
    os._exit(0)
os.wait()
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 1000)
"""


@pytest.fixture
def python(guest, tmp_path):
    """python(script) runs it with Debian's Python and its whole library as the guest's root."""
    program, library = pathlib.Path("/usr/bin/python3.11"), pathlib.Path("/usr/lib/python3.11")
    if not (program.exists() and library.exists()):
        pytest.skip("no python3.11 of Debian here")
    tree = tmp_path / "root"
    shutil.copytree(library, tree / "usr/lib/python3.11",
                    ignore=shutil.ignore_patterns("__pycache__", "test", "config-*"))
    loaded = "".join(subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
                     for path in (program, *library.glob("lib-dynload/_sqlite3.*.so")))
    for at in {program, *map(pathlib.Path, re.findall(r"(/\S+) \(0x", loaded))}:
        (tree / at.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(at, tree / at.relative_to("/"))

    def run(script):
        (tree / "t.py").write_text(script)
        return guest(f"{program} /t.py", root=tree, mem=1024)
    return run


def test_python_with_its_library(python):
    text = python(PYTHON)
    assert re.search(r"^child\ncopied 10\nrefused signal 1000 \[50\]\nrefused nice 1000 \[50\]\npeak True$", text,
                     re.M), text


ASYNCIO = r"""
import asyncio, os, signal, socket, sys

async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()

async def talk(n):
    ours, theirs = socket.socketpair()
    server = asyncio.create_task(echo(*await asyncio.open_connection(sock=theirs)))
    reader, writer = await asyncio.open_connection(sock=ours)
    for i in range(20):
        writer.write(f"line {n} {i}\n".encode())
        assert await reader.readline() == f"LINE {n} {i}\n".encode()
        await asyncio.sleep(0.001)
    writer.close()
    await server

async def main():
    loop = asyncio.get_running_loop()
    got = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, got.set)
    loop.call_later(0.01, os.kill, os.getpid(), signal.SIGUSR1)
    await asyncio.gather(got.wait(), *(talk(n) for n in range(8)))
    child = await asyncio.create_subprocess_exec("/bin/busybox", "cat", stdin=-1, stdout=-1)
    out, _ = await child.communicate(b"through a pipe\n")
    assert (out, child.returncode) == (b"through a pipe\n", 0)
    assert await loop.run_in_executor(None, sum, range(1000)) == 499500
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.02)
    except TimeoutError:
        print(type(loop._selector).__name__, "DONE")

asyncio.run(main())
"""


def test_asyncio_of_python(python):
    text = python(ASYNCIO)
    assert re.search("^EpollSelector DONE$", text, re.M), text
    assert "not implemented" not in text


def test_a_go_program(debian):
    text = debian("fzf")("for i in 1 2 3 4 5; do seq 20000 | /root/fzf -f 777 | wc -l; done; "
                         "ls /bin | /root/fzf -f busyb | head -n 1")
    assert re.search(r"^(74\n){5}busybox$", text, re.M), text
    assert "not implemented" not in text
