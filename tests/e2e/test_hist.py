# SPDX-License-Identifier: GPL-2.0-only
"""Histograms of events: the files trigger and hist. What Linux 6.1 answers is in the tables; what is counted is
compared with the records of the same run."""

import re
import shutil
from collections import Counter

import pytest

from tests.e2e.conftest import dynamic_program
from tests.e2e.test_tracefs import SWITCH, switches

NONE = "# Available triggers:|# hist|"
# command: (status, what the file trigger says then, error_log). All are Linux 6.1's, but for the list of what there is.
COMMANDS = {
    "hist:keys=next_comm": (0, "hist:keys=next_comm:vals=hitcount:sort=hitcount:size=2048 [active]|", ""),
    'hist:key=next_pid:vals=next_prio,prev_pid.hex:sort=next_prio.descending,next_pid:size=100 if next_comm ~ "h*"':
        (0, "hist:keys=next_pid:vals=hitcount,next_prio,prev_pid.hex:sort=next_prio.descending,next_pid:size=128 if "
            'next_comm ~ "h*" [active]|', ""),
    "hist:keys=next_pid:pause": (0, "hist:keys=next_pid:vals=hitcount:sort=hitcount:size=2048 [paused]|", ""),
    "hist:keys=next_pid.log2:vals=hitcount,next_prio":
        (0, "hist:keys=next_pid.log2:vals=hitcount,next_prio:sort=hitcount:size=2048 [active]|", ""),
    "hist:keys=prev_state.hex,next_comm:sort=hitcount.descending":
        (0, "hist:keys=prev_state.hex,next_comm:vals=hitcount:sort=hitcount.descending:size=2048 [active]|", ""),
    "hist:keys=common_pid.execname":
        (0, "hist:keys=common_pid.execname:vals=hitcount:sort=hitcount:size=2048 [active]|", ""),
    "hist:keys=prev_pid.buckets=4":
        (0, "hist:keys=prev_pid.buckets=4:vals=hitcount:sort=hitcount:size=2048 [active]|", ""),
    "hist:keys=cpu": (0, "hist:keys=common_cpu:vals=hitcount:sort=hitcount:size=2048 [active]|", ""),
    "!hist:keys=next_pid": (0, NONE, ""),
    "hist:keys=next_pid:cont": (1, NONE, "Can't clear or continue a nonexistent hist trigger"),
    "hist:keys=next_pid:clear": (1, NONE, "Can't clear or continue a nonexistent hist trigger"),
    "hist:keys=nosuch": (1, NONE, "Couldn't find field"),
    "hist:keys=a,b,c,d,e": (1, NONE, "Couldn't find field"),
    "hist:keys=next_pid,prev_pid,next_prio,prev_prio": (1, NONE, ""),
    "hist:keys=next_pid:sort=nope": (1, NONE, "Sort field must be a key or a val"),
    "hist:keys=next_pid.foo": (1, NONE, "Invalid field modifier"),
    "hist:vals=next_pid": (1, NONE, ""), "hist:": (1, NONE, ""), "hist": (1, NONE, ""), "foo": (1, NONE, ""),
    "hist:keys=next_pid:size=0": (1, NONE, ""), "hist:keys=next_pid:size=1000000": (1, NONE, ""),
}


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def test_commands_are_read_as_by_linux(guest):
    tries = "".join(f"""> error_log; echo {quoted(text)} > {SWITCH}/trigger 2> /dev/null; s=$?
echo "answer $s ($(tr '\\n' '|' < {SWITCH}/trigger)) $(grep -o 'sched_switch: error: .*' error_log)"\n"""
                    for text in COMMANDS)
    text = guest(f"cd /sys/kernel/tracing; {tries} > {SWITCH}/trigger")
    found = re.findall(r"^answer (\d) \((.*?)\) ?(.*?)\r?$", text, re.MULTILINE)
    expected = [(str(status), said, f"sched_switch: error: {error}" if error else "")
                for status, said, error in COMMANDS.values()]
    assert found == expected


ENTRY = re.compile(r"^\{ (.+?) \} hitcount: +(\d+)(.*)$", re.MULTILINE)


def tables(text):
    """Of each histogram: [({key: value}, hits, {value: sum})], and its totals."""
    for part in text.split("# event histogram")[1:]:
        rows = [({name: value.strip() for name, value in (key.split(": ", 1) for key in keys.split(", "))}, int(hits),
                 {name: int(value) for name, value in re.findall(r"(\w+): +(\d+)", rest)})
                for keys, hits, rest in ENTRY.findall(part)]
        yield rows, tuple(map(int, re.search(r"Hits: (\d+)\s+Entries: (\d+)\s+Dropped: (\d+)", part).groups()))


def test_counts_are_those_of_the_records(guest):
    """Of the switches to hack, on two CPUs. The run begins after the commands and ends before the files are read."""
    only = ' if next_comm == "hack"'
    commands = [f"hist:keys=next_pid:vals=prev_prio,prev_pid:sort=hitcount.descending,next_pid{only}",
                f"hist:keys=prev_comm,prev_state:sort=prev_comm,prev_state{only}",
                f"hist:keys=prev_pid.log2{only}", f"hist:keys=prev_pid.buckets=7:sort=prev_pid.descending{only}"]
    adding = "".join(f"echo {quoted(command)} >> {SWITCH}/trigger; " for command in commands)
    text = guest(f"""cd /sys/kernel/tracing; {adding} echo {quoted('next_comm == "hack"')} > {SWITCH}/filter
echo 1 > {SWITCH}/enable; hack -g 1 -l 20 > /dev/null; cat {SWITCH}/hist; grep sched_switch: trace""", cpus=2)
    records = list(switches(text.splitlines()))
    found = list(tables(text))
    assert len(found) == 4 and len(records) > 200
    for rows, (hits, entries, dropped) in found:
        assert hits == len(records) == sum(row[1] for row in rows) and entries == len(rows) and dropped == 0
    by_pid, by_name, by_power, by_bucket = (rows for rows, _ in found)
    assert {int(key["next_pid"]): n for key, n, _ in by_pid} == Counter(r["next_pid"] for r in records)
    for key, _, sums in by_pid:
        mine = [r for r in records if r["next_pid"] == int(key["next_pid"])]
        assert sums == {name: sum(r[name] for r in mine) for name in ("prev_prio", "prev_pid")}
    order = [(-n, int(key["next_pid"])) for key, n, _ in by_pid]
    assert order == sorted(order)
    names = Counter()
    for key, n, _ in by_name:
        names[key["prev_comm"]] += n
    assert names == Counter(r["prev_comm"] for r in records)
    assert [key["prev_comm"] for key, _, _ in by_name] == sorted(key["prev_comm"] for key, _, _ in by_name)
    powers = Counter(f"~ 2^{max(r['prev_pid'] - 1, 0).bit_length()}" for r in records)
    assert {key["prev_pid"]: n for key, n, _ in by_power} == powers
    buckets = Counter(f"~ {r['prev_pid'] // 7 * 7}-{r['prev_pid'] // 7 * 7 + 6}" for r in records)
    assert {key["prev_pid"]: n for key, n, _ in by_bucket} == buckets
    numbers = [int(re.search(r"\d+", key["prev_pid"])[0]) for key, _, _ in by_bucket]
    assert numbers == sorted(numbers, reverse=True)


def test_histograms_stop_go_on_are_cleared_and_end(guest):
    """A histogram needs neither the event to be on nor tracing_on; an instance has its own; a full table drops."""
    text = guest(f"""cd /sys/kernel/tracing; h='hist:keys=next_comm if next_comm == "hack"'; d=$PWD
rmdir instances/x 2>/dev/null; mkdir instances/x; echo 0 > tracing_on
hits() {{ echo "$1 $(grep -c hack: $d/trace) $(grep Hits: $2/{SWITCH}/hist || echo none)"; }}
echo "$h" > {SWITCH}/trigger; echo "$h" > instances/x/{SWITCH}/trigger; cat {SWITCH}/enable
echo "$h" >> {SWITCH}/trigger 2>&1 || echo twice
w() {{ hack -g 1 -l 1 > /dev/null; }}
w; hits one .; echo "${{h% if*}}:pause if${{h#* if}}" >> {SWITCH}/trigger; cat {SWITCH}/trigger; w; hits paused .
hits other instances/x; echo "${{h% if*}}:clear if${{h#* if}}" >> {SWITCH}/trigger; hits cleared .
echo "${{h% if*}}:cont if${{h#* if}}" >> {SWITCH}/trigger; w; hits again .; echo "!$h" >> {SWITCH}/trigger; hits ended .
rmdir instances/x; mkdir instances/x; hits fresh instances/x; rmdir instances/x
echo 'hist:keys=id,common_pid:size=128' > events/raw_syscalls/sys_enter/trigger
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat /dev/null; done
grep Entries: events/raw_syscalls/sys_enter/hist; grep Dropped: events/raw_syscalls/sys_enter/hist
> events/raw_syscalls/sys_enter/trigger; echo 1 > tracing_on""", cpus=1)
    found = {name: (int(records), rest) for name, records, rest in
             re.findall(r"^(\w+) (\d+) ((?: *Hits: \d+)|none)\r?$", text, re.MULTILINE)}
    hits = {name: int(re.search(r"\d+", rest)[0]) if rest != "none" else None for name, (_, rest) in found.items()}
    assert hits["one"] > 20 and hits["paused"] == hits["one"] < hits["other"], text
    assert hits["cleared"] == 0 < hits["again"] and hits["ended"] is None and hits["fresh"] is None, text
    assert all(records == 0 for records, _ in found.values()) and "twice" in text and "[paused]" in text
    assert int(re.search(r"Entries: (\d+)", text)[1]) == 128 and int(re.search(r"Dropped: (\d+)", text)[1]) > 0


@pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")
def test_trace_cmd_sets_and_takes_away_triggers(guest):
    put, files = dynamic_program(shutil.which("trace-cmd"))
    text = guest(f"""{put} cd /sys/kernel/tracing; t=/root/trace-cmd
$t start -e sched_switch -R 'hist:keys=next_comm:vals=next_prio'; cat {SWITCH}/trigger; hack -g 1 -l 1 > /dev/null
grep 'next_comm: hack ' {SWITCH}/hist; $t reset; echo after; cat {SWITCH}/trigger""", cpus=2, mem=512, files=files)
    before, _, after = text.partition("after")
    assert "hist:keys=next_comm:vals=hitcount,next_prio:sort=hitcount:size=2048 [active]" in before
    assert int(re.search(r"next_comm: hack +\} hitcount: +(\d+)", before)[1]) > 20
    assert "# hist" in after and "[active]" not in after
