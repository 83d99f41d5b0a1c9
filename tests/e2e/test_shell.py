# SPDX-License-Identifier: GPL-2.0-only
"""Debian's unmodified busybox as the shell: what people type must do what it does on Linux."""

import re

import pytest

from tests.e2e.conftest import run_batch, settings

# Shell functions that every case may use: they wait for what should happen "soon".
FUNCTIONS = """\
tries() { i=0; until eval "$1" || [ $i -ge 300 ]; do sleep 0.1; i=$((i + 1)); done; }
becomes() { tries "[ \\$(cut -d' ' -f3 /proc/$1/stat) = $2 ]"; cut -d' ' -f3 /proc/$1/stat; }
"""

CASES = {
    "pipeline": ("seq 1 1000 | grep 7 | sort -rn | head -n 2 | tr '\\n' ,", "997,987,"),
    "status of a pipeline": ("true | false; echo $?; set -o pipefail; false | true; echo $?", "1\n1"),
    "output and append": ("echo a >/tmp/f; echo b >>/tmp/f; cat /tmp/f", "a\nb"),
    "input and here document": ("wc -l <<END\nx\ny\nEND", "2"),
    "both outputs": ("ls /none /etc/passwd >/tmp/o 2>&1; grep -c . /tmp/o", "2"),
    "swapped descriptors": ("{ echo out; echo err >&2; } 3>&1 1>&2 2>&3 3>&- | cat >/dev/null", "out"),
    "command substitution": ("echo $(echo a; echo b) `echo c`", "a b c"),
    "background and wait": ("(sleep 0.2; exit 5) & wait $!; echo $?", "5"),
    "list of jobs": ("sleep 9 & jobs | sed 's/ *$//'; kill $!", "[1]+  Running"),
    "kill by job": ("(sleep 9 & kill %1; wait $!; echo $?) 2>&1 | tail -n 1", "143"),
    "stop and continue": ("sleep 99 & kill -STOP $!; becomes $! T; kill -CONT $!; becomes $! S; kill $!", "T\nS"),
    "trap": ("trap 'echo caught' USR1; kill -USR1 $$; echo after", "caught\nafter"),
    "broken pipe": ("yes | head -n 1; echo ${PIPESTATUS:-none}", "y\nnone"),
    "writer without reader": ("(trap '' PIPE; yes 2>/tmp/e; echo $? >>/tmp/e) | true; "
                              "tries '[ $(wc -l </tmp/e) = 2 ]'; cat /tmp/e",
                              "yes: (null): Broken pipe\n1"),
    "timeout": ("timeout 0.2 sleep 9; echo $?", "Terminated\n143"),
    "exec": ("(exec echo replaced); echo $?", "replaced\n0"),
    "glob": ("cd /tmp; touch a1 a2 b1; echo a* [!a]1", "a1 a2 b1"),
    "links and rename": ("cd /tmp; echo x >f; ln -s f s; mv f g; cat s 2>&1 | sed 's/.*: //'; ln -sf g s; cat s",
                         "No such file or directory\nx"),
    "find and xargs": ("mkdir -p /tmp/d/e; touch /tmp/d/e/f; find /tmp/d -type f | xargs -n1 basename", "f"),
    "environment": ("A=1 sh -c 'echo $A-$B'", "1-"),
    "arithmetic": ("i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done; echo $i", "1000"),
    "large file": ("dd if=/dev/zero of=/tmp/z bs=64k count=100 2>/dev/null; wc -c </tmp/z; md5sum </tmp/z | cut -c1-8",
                   "6553600\n35bf22f8"),
    "taskset": ("taskset 2 sh -c 'taskset -p $$ | sed s/.*:.//; grep Cpus_allowed_list /proc/self/status | cut -f2'",
                "2\n1"),
    "nice": ("nice -n 7 nice; nice -n 19 sh -c 'cut -d\" \" -f18,19 /proc/self/stat'", "7\n39 19"),
    "renice": ("sleep 9 & renice -n 4 -p $!; cut -d' ' -f19 /proc/$!/stat; kill $!", "4"),
    "chrt": ("chrt -f 30 chrt -p 0 | sed 's/.*: //'", "SCHED_FIFO\n30"),
    "nproc follows the affinity": ("nproc; taskset 5 nproc", "4\n2"),
}


@pytest.fixture(scope="module")
def answers():
    """The output of every case, each run in a shell of its own, from one boot."""
    files = {f"/tmp/case{i}": (FUNCTIONS + script).encode() for i, (script, _) in enumerate(CASES.values())}
    script = "\n".join(f"echo '=== {i}'; cd /; sh {path} 2>&1" for i, path in enumerate(files)) + "\necho '=== end'"
    outcome = run_batch(settings(script, files=files))
    assert outcome.status == 0, outcome.console
    parts = re.split(r"=== (?:\d+|end)\n", outcome.console)
    assert len(parts) == len(CASES) + 2, outcome.console
    return dict(zip(CASES, parts[1:]))


@pytest.mark.parametrize("name", CASES)
def test_shell(answers, name):
    assert answers[name].rstrip("\n") == CASES[name][1]


def test_ps_and_top(guest):
    text = guest("hog -t 3s -a 3 & sleep 0.2; ps -o pid,ppid,nice,stat,comm; top -b -n 1 | head -n 7", icount=True)
    assert re.search(r"^ +1 +0 +0 S +init$", text, re.MULTILINE)
    assert re.search(r"^ +\d+ +\d+ +0 R +hog$", text, re.MULTILINE)
    assert re.search(r"^Mem: \d+K used, \d+K free", text, re.MULTILINE)
    assert re.search(r"^ +\d+ +\d+ root +R .* hog -t 3s -a 3$", text, re.MULTILINE)
