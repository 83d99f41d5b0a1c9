# SPDX-License-Identifier: GPL-2.0-only
"""Programs written for sched_ext as schedulers of the booted kernel: loading, shares, swaps, ends, damaged files."""

import os
import pathlib
import re

import pytest

from tests.e2e.conftest import ROOT
from tests.sim.test_scx import (ASKS, CRATES, DEALS, DIVIDES, FOREIGN, INIT, OLDER, ONE_TIMER, WAITS, load, pages_in,
                                partial)
from fairground.base.expect import expect

FAIR_CLASS = "/sys/kernel/debug/sched/fair_class"
ROOT_DIR = "/sys/kernel/sched_ext"
BROKEN = """#include <scx/common.bpf.h>
const volatile u32 rule;
static volatile u64 zero;
static struct bpf_spin_lock lock;
static struct bpf_rb_root tree;
static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b) { return a < b; }
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __type(key, u32);
    __type(value, u64);
    __uint(max_entries, 10);
} map SEC(".maps");
static __noinline u64 deep(u64 n)
{
    volatile char room[256];
    room[n % 256] = 1;
    return n == zero - 1 ? 0 : deep(n + 1) + room[3];
}
void BPF_STRUCT_OPS(broken_enqueue, struct task_struct *p, u64 enq_flags)
{
    struct task_struct *q = p;
RULES
    scx_bpf_dsq_insert(q, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}
SCX_OPS_DEFINE(broken_ops, .enqueue = (void *)broken_enqueue, .name = "broken");
"""
MISTAKES = [
    ("*(volatile u64 *)0xffffa00000001000 = 1;", r"page fault at broken_enqueue\+0x\w+, address ffffa00000001000"),
    ("q = *(struct task_struct **)zero;", r"page fault at broken_enqueue\+0x\w+, address 0"),
    ("volatile s64 least = 1ll << 63; zero = least / ((s64)zero - 1);", r"divide error at broken_enqueue\+0x\w+"),
    ("while (!zero) barrier();", r"a loop without end at broken_enqueue\+0x\w+"),
    ("zero = deep(1);", r"too deep a recursion at deep\+0x\w+"),
    ("q = (void *)0xffff800000000010;", "bad pointer given to a function, address ffff800000000010"),
    ("if (bpf_map_lookup_elem(&map, (void *)0x1234)) zero = 0;", "bad pointer given to a function, address 1234"),
    ('scx_bpf_error("%s", (char *)0xdead000000000000);', "bad pointer given to a function, address dead000000000000"),
    ("((void (*)(void))0x100)();", "page fault at 0x100, address 100"),
    ("*(volatile u64 *)(u64)&broken_enqueue = 1;", r"page fault at broken_enqueue\+0x\w+, address ffffc9"),
    ("((void (*)(void))(void *)&zero)();", "page fault at 0xffffc9"),
    ("__builtin_trap();", "invalid opcode at broken_enqueue"),
    ("bpf_map_update_elem((void *)&zero, (void *)&zero, (void *)&zero, 0);", "a map that is none"),
    ("bpf_spin_lock(&lock); bpf_spin_lock(&lock);", "a second lock in one call"),
    ("bpf_spin_unlock(&lock);", "a lock is released that is not held"),
    ("bpf_obj_drop((void *)&zero);", "an object that the program has not, or no longer"),
    ("struct bpf_cpumask *m = bpf_cpumask_create(); bpf_cpumask_release(m); bpf_cpumask_release(m);", "an object that"),
    ("bpf_cpumask_set_cpu(1, (void *)0x1234);", "bad pointer given to a function, address 1234"),
    ("bpf_cpumask_set_cpu(1, (void *)&broken_enqueue);", "bad pointer given to a function, address ffffc9"),
    ("static struct bpf_rb_node a; a.next = &a; tree.first = &a; bpf_rbtree_remove(&tree, (void *)&lock);",
     "a tree without an end"),
    ("tree.first = (void *)0x1000; bpf_rbtree_add(&tree, bpf_obj_new(struct bpf_rb_node), less);",
     "bad pointer given to a function, address 1000"),
    ("scx_bpf_dsq_insert(q, 7, 0, 0); return;", "non-existent DSQ 0x7"),
    ("scx_bpf_kick_cpu(0, SCX_KICK_PREEMPT); scx_bpf_kick_cpu(1, SCX_KICK_PREEMPT);",
     r"CPU \d is kicked again and again"),
]
PATIENT = [("lock.taken = 1; bpf_spin_lock(&lock);", "a lock that nobody releases")]


# It counts operations about groups, and refuses an eighth group, and each second move to a group of weight 777. The end
# of a group of weight 999 tells the counts.
TOLD = """#include <scx/common.bpf.h>
static u32 nr_init, nr_exit, nr_prep, nr_move, nr_cancel, nr_weight, asked, last, refusing;
struct {
    __uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, u32);
} weights SEC(".maps");
s32 BPF_STRUCT_OPS_SLEEPABLE(told_cgroup_init, struct cgroup *cgrp, struct scx_cgroup_init_args *args)
{
    u32 *weight = bpf_cgrp_storage_get(&weights, cgrp, 0, 0);

    if (weight)
        scx_bpf_error("a new group has a weight of %u", *weight);
    weight = bpf_cgrp_storage_get(&weights, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!weight || nr_init == 7)
        return -28;
    *weight = args->weight;
    nr_init++;
    return 0;
}
void BPF_STRUCT_OPS(told_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
    u32 *was = bpf_cgrp_storage_get(&weights, cgrp, 0, 0);

    if (was)
        *was = weight;
    nr_weight++;
}
s32 BPF_STRUCT_OPS(told_cgroup_prep_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
    u32 *weight = bpf_cgrp_storage_get(&weights, to, 0, 0);

    if (weight && *weight == 777 && ++asked % 2 == 0)
        return -1;
    nr_prep++;
    return 0;
}
void BPF_STRUCT_OPS(told_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
    nr_move += scx_bpf_task_cgroup(p) == to && bpf_cgroup_from_id(to->kn->id) == to;
}
void BPF_STRUCT_OPS(told_cgroup_cancel_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
    nr_cancel++;
}
void BPF_STRUCT_OPS_SLEEPABLE(told_cgroup_exit, struct cgroup *cgrp)
{
    u32 *weight = bpf_cgrp_storage_get(&weights, cgrp, 0, 0);

    nr_exit++;
    if (weight && *weight == 999)
        scx_bpf_error("init %u exit %u prep %u move %u cancel %u weight %u", nr_init, nr_exit, nr_prep, nr_move,
                      nr_cancel, nr_weight);
}
SCX_OPS_DEFINE(told_ops, .cgroup_init = (void *)told_cgroup_init, .cgroup_exit = (void *)told_cgroup_exit,
               .cgroup_set_weight = (void *)told_cgroup_set_weight, .cgroup_move = (void *)told_cgroup_move,
               .cgroup_prep_move = (void *)told_cgroup_prep_move,
               .cgroup_cancel_move = (void *)told_cgroup_cancel_move, .name = "told");
"""


# The program of this file hears of changes: of a group, and of a task that is asleep. A hog that is nice ends it.
CALLS = pathlib.Path(ROOT, "tests/e2e/scx/calls.bpf.c")
CHANGES = """mkdir -p /c; mount -t cgroup2 none /c; echo +cpu > /c/cgroup.subtree_control; mkdir /c/a; cd /c/a
while read file words; do echo $words > $file; done <<END
cpu.weight 300
cpu.weight 300
cpu.weight.nice 19
cpu.max 50000
cpu.max 50000 100000
cpu.max 20000 50000
cpu.max.burst 10000
cpu.max.burst 0
cpu.max max
cpu.idle 1
cpu.max 30000
cpu.idle 1
cpu.idle 0
cpu.weight 200
END
cd /; rmdir /c/a
sleep 2 & usleep 100000
taskset -p 2 $!; taskset -p 3 $!; renice -n 5 -p $!
chrt -f -p 5 $!; taskset -p 1 $!; chrt -o -p 0 $!; chrt -i -p 0 $!; chrt -b -p 0 $!
wait
hog -N 19 -a 0 -t 100ms"""
NO_QUOTA = 2**64 - 1
CALLED = [f"cgroup_init 100 100000 {NO_QUOTA} 0", "cgroup_set_weight 300", "cgroup_set_weight 1",
          "cgroup_set_bandwidth 100000 50000 0", "cgroup_set_bandwidth 50000 20000 0",
          "cgroup_set_bandwidth 50000 20000 10000", "cgroup_set_bandwidth 50000 20000 0",
          f"cgroup_set_bandwidth 50000 {NO_QUOTA} 0", "cgroup_set_idle 1", "cgroup_set_bandwidth 50000 30000 0",
          "cgroup_set_idle 1", "cgroup_set_idle 0", "cgroup_set_weight 200", "cgroup_exit",
          "set_cpumask 0 1", "set_cpumask 1 1", "set_weight 33 33", "disable", "enable", "set_weight 33 33",
          "set_cpumask 1 0", "set_weight 1 1", "set_weight 33 33", "disable",
          "dump 1025 1", "dump_task hog", "dump_cpu", "second line", "exit 1025 1"]


def path_of(source):
    """The object for the kernel of a program."""
    return pathlib.Path(load(str(source)).removesuffix(".so") + ".o")


def files_of(*objects):
    return {f"/root/{path.name}": path.read_bytes() for path in objects}


@pytest.fixture(name="examples", scope="module")
def objects_of_the_examples():
    return files_of(*(path_of(f"examples/scx/{name}.bpf.c") for name in ("fifo", "vtime", "central", "llc", "stall")))


def use(name):
    return f"echo {name} > {FAIR_CLASS}; "


def shares(text):
    return [float(share) for share in re.findall(r"^ +\d+ +-?\d+ +[\d.]+ +[\d.]+ +([\d.]+) ", text, re.MULTILINE)]


def test_shares_are_those_of_the_simulator(guest, examples):
    """No task follows itself in order of vtime, so nice 0 gets a half; in order of arrival everybody gets a third."""
    text = guest(use("scx:vtime.o") + "hog -N 0,5,10 -t 1s; " + use("scx:fifo.o") + "hog -N 0,5,10 -t 1s",
                 cpus=1, icount=True, files=examples)
    vtime, fifo = shares(text)[:3], shares(text)[3:]
    assert vtime == pytest.approx([50.0, 37.5, 12.5], abs=1.5)
    assert fifo == pytest.approx([33.3, 33.3, 33.3], abs=1.5)


def test_a_partial_program_has_the_tasks_of_its_policy_only(guest, tmp_path):
    """Beside a fair hog on one CPU the two of SCHED_EXT, which may run on the other only, share that. A task of theirs
    that waited on the fair hog's CPU would wait for its end, as on Linux. Without a program both are fair."""
    hogs = "taskset 2 chrt -e 0 hog -n 2 -t 1s & taskset 1 hog -n 1 -t 1s; wait; "  # slices of 20 ms
    told = f"cat {ROOT_DIR}/state {ROOT_DIR}/switch_all {FAIR_CLASS}; chrt -e 0 grep policy /proc/self/sched; "
    text = guest("chrt -m; taskset 1 chrt -e 0 hog -n 2 -t 400ms; " + use("scx:partial.o") + told + hogs + use("cfs") +
                 f"cat {ROOT_DIR}/switch_all; chrt -e 0 chrt -p 0", cpus=2, icount=True,
                 files=files_of(path_of(partial(tmp_path, "partial"))))
    assert "SCHED_EXT min/max priority\t: 0/0" in text and "current scheduling policy: SCHED_EXT" in text
    assert re.search(r"^enabled\n0\n\[cfs\] .*\[scx:fifo\]\npolicy +: +7$", text, re.MULTILINE)
    found = shares(text)
    assert found[:2] == pytest.approx([50, 50], abs=3)
    assert sorted(found[2:]) == pytest.approx([50, 50, 100], abs=3)


def test_events_are_counted_while_a_program_is_loaded(guest, examples):
    """The names are those of Linux 7.2, and in its order."""
    text = guest(use("scx:fifo.o") + f"hog -n 1 -t 400ms; cat {ROOT_DIR}/root/events; " + use("cfs") +
                 f"ls {ROOT_DIR}/root || true", cpus=1, icount=True, files=examples)
    rows = re.findall(r"^SCX_EV_(\w+) (\d+)$", text, re.MULTILINE)
    count = {name: int(number) for name, number in rows}
    assert " ".join(count) == ("SELECT_CPU_FALLBACK DISPATCH_LOCAL_DSQ_OFFLINE DISPATCH_KEEP_LAST ENQ_SKIP_EXITING "
                               "ENQ_SKIP_MIGRATION_DISABLED REENQ_IMMED REENQ_LOCAL_REPEAT REFILL_SLICE_DFL "
                               "BYPASS_DURATION BYPASS_DISPATCH BYPASS_ACTIVATE INSERT_NOT_OWNED SUB_BYPASS_DISPATCH")
    assert len(rows) == 13 and 15 <= count["DISPATCH_KEEP_LAST"] <= count["REFILL_SLICE_DFL"] <= 20
    assert sum(count.values()) == count["DISPATCH_KEEP_LAST"] + count["REFILL_SLICE_DFL"]
    assert "root: No such file" in text


@pytest.mark.nightly("a CPU that a program leaves idle")
@pytest.mark.parametrize("cpus", [2, 4])
def test_all_cpus_are_used_and_urgent_tasks_come_first(guest, examples, cpus):
    text = guest(use("scx:vtime.o") + f"hog -n {cpus + 3} -t 300ms; chrt -f 10 hog -t 100ms & hog -n 2 -t 100ms; "
                 "wait; hack -g 1", cpus=cpus, icount=True, files=examples)
    found = shares(text)
    assert sum(found[:cpus + 3]) == pytest.approx(100, abs=0.1)
    assert all(share == pytest.approx(100 / (cpus + 3), abs=4) for share in found[:cpus + 3])
    assert 100.0 in found[cpus + 3:] and "40000 messages" in text


@pytest.mark.nightly("a run of a program that does not repeat")
def test_two_runs_are_the_same_to_the_byte(guest, examples):
    console = [re.sub(r"^.*Fairground 0.*$", "", guest(use("scx:llc.o") + "hog -n 5 -t 50ms & hack -g 1; wait", cpus=4,
                                                       icount=True, files=examples)) for _ in range(2)]
    assert console[0] == console[1] and "40000 messages" in console[0]


@pytest.mark.nightly("a task that a swap among programs loses")
def test_swaps_under_load_lose_nobody(guest, examples):
    names = ["scx:llc.o", "eevdf", "scx:central.o", "scx:fifo.o", "cfs", "scx:vtime.o"]
    again = "; ".join(f"echo {name} > {FAIR_CLASS}; usleep 3000" for name in names)
    text = guest(f"for i in 1 2 3; do hack -g 1 & {again}; wait; done; cat {FAIR_CLASS} {ROOT_DIR}/state "
                 f"{ROOT_DIR}/root/ops {ROOT_DIR}/enable_seq; echo bore > {FAIR_CLASS}; cat {FAIR_CLASS} "
                 f"{ROOT_DIR}/state {ROOT_DIR}/switch_all; ls -1 {ROOT_DIR}", cpus=4, icount=True, files=examples)
    assert text.count("40000 messages") == 3 and text.count(" enabled") >= 12
    assert text.count("disabled (") == text.count("(unregistered from user space)") == 12
    assert "bore fdl [scx:vtime]\nenabled\nvtime\n12\n" in text
    assert "[bore] fdl\ndisabled\n0\nenable_seq\nhotplug_seq\nnr_rejected\nstate\nswitch_all\n" in text


@pytest.mark.nightly("a stalled program that stays, or its dump")
def test_a_scheduler_that_loses_a_task_is_thrown_out(guest, examples):
    text = guest(use("scx:stall.o") + f"hog -n 3 -t 5s; cat {ROOT_DIR}/state", cpus=1, icount=True, files=examples)
    assert 'sched_ext: BPF scheduler "stall" disabled (runnable task stall)' in text
    dump = text.partition("DEBUG DUMP\n")[2].partition("\n[")[0]
    assert re.search(r"stall triggered exit kind 1026:\n  runnable task stall \(hog\[\d+\] failed to run", dump)
    lost = re.search(r"^  R hog\[\d+\] -(2\d{3})ms\n.* ops_state/qseq=2/\d+\n.* dsq_id=\(n/a\).*\n +cpus=1$", dump,
                     re.MULTILINE)
    assert lost and dump.count("R hog[") == 3
    counted = dump.partition("\nEvent counters\n--------------\n")[2]
    assert counted.count("SCX_EV_") == 13 and re.search(r"^ {18}SCX_EV_BYPASS_ACTIVATE: {16}1$", counted, re.MULTILINE)
    waited = re.search(r"sched_ext: stall: hog\[\d+\] failed to run for (\d\.\d+)s", text)
    assert 2.0 < float(waited[1]) < 3.1 and sum(shares(text)) == pytest.approx(100, abs=0.1)
    assert text.rstrip().splitlines()[-2] == "disabled"


# It inserts a task of another CPU, waits for the end of it, and inserts it once more.
LATE = """#include <scx/common.bpf.h>
static volatile u32 dying, nr_caught;
void BPF_STRUCT_OPS(late_running, struct task_struct *p)
{
    if (p->static_prio == 127)
        dying = p->pid;
}
void BPF_STRUCT_OPS(late_enqueue, struct task_struct *p, u64 enq_flags)
{
    scx_bpf_dsq_insert(p, 0, 1000000, enq_flags);
}
static __noinline void wait(u32 pid, u64 ns)
{
    u64 until = bpf_ktime_get_ns() + ns;

    while (time_before(bpf_ktime_get_ns(), until) && (!pid || bpf_task_from_pid(pid)))
        barrier();
}
static __noinline void insert_late(u32 pid)
{
    struct task_struct *p = bpf_task_from_pid(pid);

    if (!p)
        return;
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, 0);
    wait(pid, 2000000);
    if (bpf_task_from_pid(pid))
        return;
    wait(0, 12000000);
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, 0);
    if (p->pid != pid)
        scx_bpf_error("another task is where one was");
    if (++nr_caught == 5)
        scx_bpf_exit(0, "%u have ended meanwhile", nr_caught);
}
void BPF_STRUCT_OPS(late_dispatch, s32 cpu, struct task_struct *prev)
{
    if (cpu == 0)
        insert_late(dying);
    scx_bpf_dsq_move_to_local(0);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(late_init)
{
    return scx_bpf_create_dsq(0, -1);
}
SCX_OPS_DEFINE(late_ops, .init = (void *)late_init, .enqueue = (void *)late_enqueue, .running = (void *)late_running,
               .dispatch = (void *)late_dispatch, .name = "late");
"""
# The kernel's thread that frees what has ended is beside them on CPU 1, as its timer. Pauses of many lengths keep the
# ends from always falling between two ticks of CPU 0.
ENDS = f"""taskset 2 sh -c 'echo scx:/root/late.o > {FAIR_CLASS}'
taskset -p 2 $(grep -l sched_ext_helpe /proc/[0-9]*/comm | cut -d / -f 3)
taskset 1 hog -n 2 -t 600ms > /dev/null &
taskset 2 sh -c 'i=0; while test $i -lt 300; do nice -n 7 /bin/true; usleep $((i%40))00; i=$((i+1)); done'; wait
cat {ROOT_DIR}/state"""


def late(directory):
    """The program LATE in the guest."""
    (directory / "late.bpf.c").write_text(LATE, encoding="utf-8")
    return files_of(path_of(directory / "late.bpf.c"))


def test_a_task_that_ends_while_a_call_has_it_is_passed_over(guest, tmp_path):
    text = guest(ENDS, cpus=2, icount=True, files=late(tmp_path))
    assert 'BPF scheduler "late" disabled (unregistered from BPF)\n' in text
    assert "sched_ext: late: 5 have ended meanwhile\n" in text and text.rstrip().splitlines()[-2] == "disabled"


def waiting(directory):
    (directory / "waits.bpf.c").write_text(WAITS)
    return files_of(path_of(directory / "waits.bpf.c"))


def test_a_kick_that_is_to_wait_waits_until_the_other_cpu_has_chosen(guest, tmp_path):
    text = guest(use("scx:waits.o,only_busy=1") + "taskset 2 hog -t 300ms & taskset 1 hack -g 3; wait", cpus=2,
                 icount=True, files=waiting(tmp_path))
    assert "sched_ext: waits: 0 of 8 too early" in text


def test_cpus_that_wait_for_each_other_go_on(guest, tmp_path):
    """Meanwhile threads exit, so that CPUs also wait for answers of those that wait."""
    text = guest(use("scx:waits.o,mutual=1") + f"hog -n 3 -t 200ms & hack -g 2; wait; cat {ROOT_DIR}/state", cpus=2,
                 icount=True, files=waiting(tmp_path))
    assert "80000 messages" in text and text.rstrip().splitlines()[-2] == "enabled"


THREADS = """#include <scx/common.bpf.h>
void BPF_STRUCT_OPS(threads_quiescent, struct task_struct *p, u64 deq_flags)
{
    if (p->tgid != p->pid)
        scx_bpf_error("thread %d of %d", p->pid, p->tgid);
}
SCX_OPS_DEFINE(threads_ops, .quiescent = (void *)threads_quiescent, .name = "threads");
"""


def test_a_thread_has_the_number_of_its_process(guest, tmp_path):
    (tmp_path / "threads.bpf.c").write_text(THREADS)
    text = guest(use("scx:threads.o") + "schbench -m 1 -t 2 -r 1 > /dev/null 2>&1 & echo process $!; wait", cpus=2,
                 icount=True, files=files_of(path_of(tmp_path / "threads.bpf.c")))
    thread, process = expect(r"sched_ext: threads: thread (\d+) of (\d+)\n", text).groups()
    assert process == expect(r"process (\d+)\n", text)[1] and int(thread) > int(process)


# It takes the place of scx_flatcg, whose user half sets nr_cpus. Each task has an object with a key, and a mask.
OWN = """#include <scx/common.bpf.h>
const volatile u32 nr_cpus;
struct node { struct bpf_rb_node rb; u32 key; struct bpf_cpumask __kptr *mask; };
private(A) struct bpf_spin_lock lock;
private(A) struct bpf_rb_root tree __contains(node, rb);
static u32 nr_tasks, nr_taken;
static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
    return container_of(a, struct node, rb)->key < container_of(b, struct node, rb)->key;
}
static __noinline void check(struct node *node)
{
    struct bpf_cpumask *mask = bpf_kptr_xchg(&node->mask, NULL);

    if (!mask || bpf_cpumask_first(cast_mask(mask)) != node->key % nr_cpus || bpf_cpumask_weight(cast_mask(mask)) != 1)
        scx_bpf_error("the mask of %u is another", node->key);
    else
        bpf_cpumask_release(mask);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(own_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
    struct node *node = bpf_obj_new(typeof(*node));
    struct bpf_cpumask *mask = bpf_cpumask_create();

    if (!node || !mask || !nr_cpus || nr_cpus != scx_bpf_nr_cpu_ids())
        return -12;
    node->key = p->pid * 7607 % 1000;
    bpf_cpumask_set_cpu(node->key % nr_cpus, mask);
    if (bpf_kptr_xchg(&node->mask, mask))
        return -17;
    bpf_spin_lock(&lock);
    if (bpf_rbtree_add(&tree, &node->rb, less) || !bpf_rbtree_add(&tree, &node->rb, less))
        scx_bpf_error("a node is in two places");
    bpf_spin_unlock(&lock);
    return 0;
}
void BPF_STRUCT_OPS(own_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
    struct bpf_rb_node *first;
    u32 last = 0;

    if (++nr_taken > 1 || p->static_prio != 127)
        return;
    bpf_spin_lock(&lock);
    for (first = bpf_rbtree_first(&tree); first; first = bpf_rbtree_first(&tree)) {
        struct node *node = container_of(first, struct node, rb);

        if (node->key < last || bpf_rbtree_remove(&tree, first) != first || bpf_rbtree_remove(&tree, first))
            scx_bpf_error("%u behind %u", node->key, last);
        last = node->key;
        check(node);
        bpf_obj_drop(node);
        nr_tasks++;
    }
    bpf_spin_unlock(&lock);
    scx_bpf_exit(0, "%u tasks on %u CPUs", nr_tasks, nr_cpus);
}
SCX_OPS_DEFINE(own_ops, .init_task = (void *)own_init_task, .exit_task = (void *)own_exit_task, .name = "own");
"""


def test_a_program_has_objects_masks_trees_and_a_user_half(guest, tmp_path):
    (tmp_path / "scx_flatcg.bpf.c").write_text(OWN)
    files = files_of(path_of(tmp_path / "scx_flatcg.bpf.c"))
    text = guest("sleep 1 & sleep 1 & sleep 1 & " + use("scx:scx_flatcg.o") + "nice -n 7 true; wait", cpus=3,
                 icount=True, files=files)
    assert int(expect(r"sched_ext: own: (\d+) tasks on 3 CPUs\n", text)[1]) >= 6


def test_divisions_by_zero_and_arenas_are_those_of_the_simulator(guest, tmp_path):
    (tmp_path / "divides.bpf.c").write_text(DIVIDES)
    files = {**files_of(path_of(tmp_path / "divides.bpf.c")), **files_of(path_of(pages_in(tmp_path)))}
    text = guest(use("scx:divides.o") + f"hog -t 100ms > /dev/null; cat {ROOT_DIR}/state; " + use("scx:pages.o")
                 + "hog -n 3 -t 200ms", cpus=2, icount=True, files=files)
    assert "divides: of" not in text
    expect(r"^enabled$", text)
    expect(r"sched_ext: pages: enough", text)


def test_a_program_hears_of_clocks_interrupts_and_words_of_the_machine(guest, tmp_path):
    (tmp_path / "asks.bpf.c").write_text(ASKS)
    text = guest(use("scx:asks.o") + "mix -t 200ms pair > /dev/null; burst -n 40 > /dev/null; hog -t 1500ms", cpus=2,
                 icount=True, files=files_of(path_of(tmp_path / "asks.bpf.c")))
    expect(r"asks: work 1024 of 1024, interrupts 1, tasks 1, idle CPUs rest, nowhere at 0, by 1", text)


def test_a_timer_moves_tasks_and_any_of_them_may_be_bound_to_a_cpu(guest, tmp_path):
    """The hogs change their CPUs again and again while they wait: the scheduler never hears of a fault of its own."""
    (tmp_path / "deals.bpf.c").write_text(DEALS)
    binds = ("hog -q -n 3 -t 4s > /dev/null & while read -r state < /sys/kernel/sched_ext/state && "
             "[ $state = enabled ]; do for pid in $(pidof hog); do taskset -p 1 $pid; taskset -p 2 $pid; "
             "taskset -p 3 $pid; done > /dev/null; done; wait")
    text = guest(use("scx:deals.o") + binds, cpus=2, icount=True, files=files_of(path_of(tmp_path / "deals.bpf.c")))
    expect(r"deals: dealt", text)


# Shares of hogs of nice 0, 5 and 10 on two CPUs. Most of these give all the same, or do not look at weights here.
EVEN, WEIGHED = [33.3, 33.3, 33.3], [50.0, 37.5, 12.5]


@pytest.mark.nightly("a program of others that the kernel refuses or throws out, or whose shares are others")
@pytest.mark.skipif(not os.path.exists(f"{CRATES}/scx_bpfland"), reason="sh tools/setup.sh --scx fetches them")
@pytest.mark.parametrize("source, ideal", [
    (f"{CRATES}/scx_bpfland/main", EVEN), (f"{CRATES}/scx_flash/main", WEIGHED), (f"{CRATES}/scx_cosmos/main", EVEN),
    (f"{CRATES}/scx_beerland/main", EVEN), (f"{CRATES}/scx_tickless/main", EVEN), (f"{FOREIGN}/scx_central", EVEN),
    (f"{CRATES}/scx_p2dq/main", EVEN), (f"{CRATES}/scx_rusty/main", EVEN), (f"{FOREIGN}/scx_qmap", EVEN),
    (f"{FOREIGN}/scx_simple", EVEN), (f"{CRATES}/scx_lavd/main", EVEN)])
def test_schedulers_of_others_run_in_the_kernel(guest, source, ideal):
    path = path_of(f"{source}.bpf.c")
    text = guest(use(f"scx:{path.name}") + f"hog -N 0,5,10 -t 10s; cat {ROOT_DIR}/state", cpus=2, icount=True,
                 files=files_of(path))
    assert shares(text) == pytest.approx(ideal, abs=7) and text.rstrip().splitlines()[-2] == "enabled"


GROUPS = "mkdir -p /c; mount -t cgroup2 none /c; cd /c; echo +cpu > cgroup.subtree_control; mkdir a b; "


def test_groups_share_by_their_weights(guest):
    """Half of the time one to one, then three to one. The groups are there before the scheduler."""
    files = files_of(path_of("examples/scx/group.bpf.c"))
    hogs = "".join(f"(echo 0 > {name}/cgroup.procs; exec hog -q -n 3 -t 1s) > /dev/null & " for name in "ab")
    text = guest(f"{GROUPS}{use('scx:/root/group.o')}{hogs} sleep 0.5; echo 300 > a/cpu.weight; wait; "
                 f"head -n 1 a/cpu.stat; rmdir a b; mkdir c; {use('eevdf')}cat {ROOT_DIR}/state; rmdir c",
                 cpus=1, icount=True, files=files)
    assert int(expect(r"^usage_usec (\d+)", text)[1]) == pytest.approx(625_000, rel=0.02)
    assert "disabled (unregistered" in text and text.rstrip().splitlines()[-2] == "disabled"


HEARS = f"""{GROUPS}{use("scx:/root/told.o")}mkdir r; echo 777 > r/cpu.weight; echo 777 > r/cpu.weight
echo 0 > a/cgroup.procs; schbench -m 1 -t 2 -r 3 > /dev/null 2>&1 & sleep 0.2
echo $! > r/cgroup.procs || echo refused; cat /proc/$!/cgroup
mkdir d; rmdir d; mkdir e f g; ls -1d e f g; rmdir b; echo 999 > e/cpu.weight; rmdir e; sleep 0.1"""


def heard(directory):
    """The program TOLD in the guest."""
    (directory / "told.bpf.c").write_text(TOLD, encoding="utf-8")
    return files_of(path_of(directory / "told.bpf.c"))


def hears_and_refuses(text):
    """Of the threads of a process the second was refused: none moved, and the first one's move was cancelled."""
    assert "write error: Operation not permitted\nrefused\n0::/a\n" in text
    assert "'g': No space left on device" in text and "\ne\nf\n" in text
    assert "sched_ext: told: init 7 exit 3 prep 2 move 1 cancel 1 weight 2\n" in text


def test_a_program_hears_of_groups_and_may_refuse(guest, tmp_path):
    hears_and_refuses(guest(HEARS, cpus=2, icount=True, files=heard(tmp_path)))


def test_a_program_hears_of_each_change_and_adds_to_its_dump(guest):
    text = guest(f"{use('scx:/root/calls.o')}{CHANGES} > /dev/null; sleep 0.1", cpus=2, icount=True,
                 files=files_of(path_of(CALLS)))
    assert re.findall(r"calls> (.*)", text.replace("\r", "")) == CALLED


@pytest.mark.parametrize("mistakes", [
    pytest.param(MISTAKES, id="each"),
    pytest.param(PATIENT, id="patient", marks=pytest.mark.nightly("a program that waits for its own lock for ever"))])
def test_a_mistake_ends_the_scheduler_and_not_the_machine(guest, tmp_path, mistakes):
    source = tmp_path / "broken.bpf.c"
    rules = "\n".join(f"\tif (rule == {n}) {{ {text} }}" for n, (text, _) in enumerate(mistakes))
    source.write_text(BROKEN.replace("RULES", rules))
    # CPUs that kick each other let tasks run for some 100 us in between, so that takes longer to notice.
    runs = "; ".join(f"echo rule {n}; echo scx:broken.o,rule={n} > {FAIR_CLASS}; hog -n 3 "
                     f"-t {2000 if 'kick' in text else 20}ms; sleep 0.05; cat {ROOT_DIR}/state"
                     for n, (text, _) in enumerate(mistakes))
    text = guest(runs, cpus=2, icount=True, files=files_of(path_of(source)), append="hardlockup_panic=1")
    for part, (_, why) in zip(re.split(r"^rule \d+$", text, flags=re.MULTILINE)[1:], mistakes, strict=True):
        assert re.search(f"sched_ext: broken: (enqueue: )?{why}", part), part
        assert "(runtime error)" in part or "(scx_bpf_error)" in part
        assert sum(shares(part)) == pytest.approx(100, abs=0.1) and re.search("^disabled$", part, re.MULTILINE)


KEEPS = """#include <scx/common.bpf.h>
static bool kept;
void BPF_STRUCT_OPS(keeps_enqueue, struct task_struct *p, u64 enq_flags)
{
    if (p->comm[0] == 's' && p->comm[1] == 'h')
        kept = true;
    else if (kept)
        scx_bpf_error("the shell waits");
    else
        scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, enq_flags);
}
void BPF_STRUCT_OPS(keeps_enable, struct task_struct *p)
{
    p->scx.slice = 1;
}
SCX_OPS_DEFINE(keeps_ops, .enqueue = (void *)keeps_enqueue, .enable = (void *)keeps_enable, .name = "keeps");
"""


def test_whoever_loads_a_program_may_wait_with_it_when_it_ends(guest, tmp_path):
    """The loader, which has a later number than the hogs, holds what the kernel needs to unload the program."""
    source = tmp_path / "keeps.bpf.c"
    source.write_text(KEEPS, encoding="utf-8")
    text = guest(f"hog -q -n 3 -t 200ms > /dev/null & sleep 0.02; sh -c '{use('scx:/root/keeps.o')} true'; sleep 0.05; "
                 f"cat {ROOT_DIR}/state; wait", cpus=1, icount=True, files=files_of(path_of(source)),
                 append="hung_task_panic=1")
    assert "keeps: the shell waits\n" in text and text.rstrip().splitlines()[-2] == "disabled"


ALARM = f"#include <scx/common.bpf.h>\n{ONE_TIMER}" """static int expired(void *map, int *key, struct bpf_timer *timer)
{
    return 0;
}
void BPF_STRUCT_OPS(alarm_enqueue, struct task_struct *p, u64 enq_flags)
{
    u32 key = 0;
    struct bpf_timer *timer = bpf_map_lookup_elem(&ones, &key);

    if (timer)
        bpf_timer_start(timer, 20000, 0);
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, enq_flags);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(alarm_init)
{
    u32 key = 0;
    struct bpf_timer *timer = bpf_map_lookup_elem(&ones, &key);

    if (!timer || bpf_timer_init(timer, &ones, CLOCK_MONOTONIC))
        return -EINVAL;
    return bpf_timer_set_callback(timer, expired);
}
SCX_OPS_DEFINE(alarm_ops, .enqueue = (void *)alarm_enqueue, .init = (void *)alarm_init, .name = "alarm");
"""


def test_all_cpus_may_start_one_timer(guest, tmp_path):
    source = tmp_path / "alarm.bpf.c"
    source.write_text(ALARM, encoding="utf-8")
    text = guest(f"{use('scx:/root/alarm.o')} for i in 1 2 3 4 5 6; do hack -g 4; done; cat {ROOT_DIR}/state", cpus=4,
                 files=files_of(path_of(source)))
    assert text.rstrip().splitlines()[-2] == "enabled"


# Each time that a task is picked its slice was used up by the operation before.
SLOW = """#include <scx/common.bpf.h>
void BPF_STRUCT_OPS(slow_enqueue, struct task_struct *p, u64 enq_flags)
{
    u64 began = bpf_ktime_get_ns();

    while (bpf_ktime_get_ns() - began < 10000000)
        barrier();
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 1000000, enq_flags);
}
SCX_OPS_DEFINE(slow_ops, .enqueue = (void *)slow_enqueue, .timeout_ms = 300, .name = "slow");
"""


def test_operations_that_take_all_the_time_end_the_scheduler(guest, tmp_path):
    (tmp_path / "slow.bpf.c").write_text(SLOW, encoding="utf-8")
    text = guest(use("scx:slow.o") + f"hog -n 3 -t 50ms; cat {ROOT_DIR}/state", cpus=1, icount=True,
                 files=files_of(path_of(tmp_path / "slow.bpf.c")))
    took = expect(r"sched_ext: slow: no task can run on CPU 0, for operations took its time for (\d+) ms\n", text)[1]
    assert 300 < int(took) < 320 and "disabled (runnable task stall)" in text
    assert sum(shares(text)) == pytest.approx(100, abs=0.1) and text.rstrip().splitlines()[-2] == "disabled"


def damaged(good):
    """Files that are no objects, by name, with the sentence that says so."""
    def with_bytes(at, what):
        return good[:at] + what + good[at + len(what):]

    sections = int.from_bytes(good[0x28:0x30], "little")
    return {
        "empty": (b"", "too short"),
        "text": (b"#!/bin/sh\n" * 100, "no relocatable object"),
        "short": (good[:len(good) // 2], "table of sections"),
        "sections": (with_bytes(0x28, b"\xff" * 8), "table of sections"),
        "offset": (with_bytes(sections + 64 + 24, b"\xff" * 7 + b"\x7f"), "not in the file"),
        "size": (with_bytes(sections + 64 + 32, b"\xff" * 7 + b"\x7f"), "not in the file"),
        "rights": (with_bytes(sections + 64 + 8, b"\x07"), "code that can be written"),
        "export": (good.replace(b"scx_bpf_dsq_insert\0", b"sched_task_settle\0\0"), "needs sched_task_settle"),
        "name": (good.replace(b"fifo\0", b"fi o\0"), "has a name that is not"),
        "table": (good.replace(b"\0scx_program\0", b"\0scx_problem\0"), "holds no scheduler"),
    }


def test_damaged_files_and_wrong_words_change_nothing(guest, examples, tmp_path):
    bad = damaged(examples["/root/fifo.o"])
    words = [(f"{name}.bad", why) for name, (_, why) in bad.items()]
    (tmp_path / "older.bpf.c").write_text(OLDER)
    words += [("older.o", "was made for another version"), ("nowhere.o", "cannot be opened"),
              ("fifo.o,turn=3", "is called turn"), ("fifo.o,slice_ns=soon", "slice_ns=soon: not a number"),
              ("fifo.o,slice_ns", "must be NAME=VALUE")]
    tries = "; ".join(f"echo try; echo scx:{word} > {FAIR_CLASS} || echo refused" for word, _ in words)
    text = guest(f"echo scx:vtime.o > {FAIR_CLASS}; {tries}; cat {FAIR_CLASS}", cpus=2, icount=True,
                 files={**examples, **files_of(path_of(tmp_path / "older.bpf.c")),
                        **{f"/root/{name}.bad": file for name, (file, _) in bad.items()}})
    for part, (word, why) in zip(text.split("try\n")[1:], words, strict=True):
        assert "refused" in part, part
        assert re.search(f"sched_ext: {word.split(',', maxsplit=1)[0]}: .*{why}", part), (word, part)
    assert "[scx:vtime]" in text


def test_what_init_returns_is_the_error_of_the_write(guest, tmp_path):
    """As on Linux a number that is no error is EPROTO."""
    said = {"5": "5, which is no error", "-12345": "-12345, which is no error", "-17": r"-17 \(EEXIST\)"}
    files = {}
    for number in said:
        (tmp_path / f"is{number}.bpf.c").write_text(INIT % number)
        files |= files_of(path_of(tmp_path / f"is{number}.bpf.c"))
    text = guest("".join(f"echo scx:is{number}.o > {FAIR_CLASS} || echo refused; " for number in said), cpus=1,
                 icount=True, files=files)
    for number, why in said.items():
        how = "File exists" if number == "-17" else "Protocol error"
        expect(rf"sched_ext: is{number}.o: its init failed: {why}\n.*{how}\nrefused\n", text)


def test_only_root_loads(boot, examples):
    text = boot("mkdir -p /etc; echo nobody:x:1000:1000::/:/bin/sh > /etc/passwd; "
                f"su nobody -c 'echo scx:/root/fifo.o >&3' 3> {FAIR_CLASS}; cat {FAIR_CLASS}",
                cpus=1, icount=True, files=examples).console
    assert "not permitted" in text and "scx:" not in text.rsplit("[cfs]", maxsplit=1)[-1]


def test_at_boot_by_its_file(boot):
    """SCHED=scx:FILE brings the file into the guest."""
    path = path_of(f"{ROOT}/examples/scx/vtime.bpf.c")
    text = boot(f"cat {FAIR_CLASS}; hog -N 0,5,10 -t 1s", cpus=1, icount=True, sched=f"scx:{path}").console
    assert "[scx:vtime]" in text and shares(text) == pytest.approx([50.0, 37.5, 12.5], abs=1.5)


@pytest.mark.parametrize("name, words, workload, why", [
    ("fifo", ",slice=4", "true", r"^scx:/root/fifo.o,slice=4 was not loaded: .*constant \(const volatile\)"),
    ("stall", "", "hog -n 3 -t 5s", r"^scx:stall ended at \d\.\d+ s, runnable task stall: \S+ failed to run for"),
    ("stall", "", f"echo cfs > {FAIR_CLASS}; hog -n 3 -t 5s", ""),
])
def test_a_machine_whose_scheduler_ended_has_failed(boot, name, words, workload, why):
    """Not if its workload has asked for that."""
    outcome = boot(workload, cpus=1, icount=True, sched=f"scx:{path_of(f'{ROOT}/examples/scx/{name}.bpf.c')}{words}")
    assert outcome.status == bool(why) and re.search(why, outcome.problem) and bool(outcome.problem) == bool(why)
