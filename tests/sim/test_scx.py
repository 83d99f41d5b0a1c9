# SPDX-License-Identifier: GPL-2.0-only
"""Programs written for sched_ext as schedulers of the simulator: make scx, schedsim --scx (docs/scx.md)."""

import filecmp
import functools
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fairground.base.settings import SCHEDULERS
from fairground.decisions.class_decisions import place, read
from fairground.machine import simulator
from tests.conftest import BUILD, ROOT

MIXED = ["--cpus", "4", "--time", "4s", "hogs:n=6", "bursts:n=2,run=2ms,sleep=10ms"]
NICE = ["--time", "20s", "hogs:n=1", "hogs:n=1,nice=5", "hogs:n=1,nice=10"]
NICE_TWICE = ["--time", "20s", "hogs:n=2", "hogs:n=1,nice=5", "hogs:n=1,nice=10"]


def make_scx(source, environment=()):
    """The status and output of make scx, and the object."""
    done = subprocess.run(["make", "-s", "scx", f"SRC={source}"], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "B": BUILD, **dict(environment)}, check=False)
    name = os.path.basename(source).removesuffix(".bpf.c")
    if name == "main":
        name = os.path.basename(os.path.dirname(source))
    return done.returncode, done.stdout + done.stderr, f"{BUILD}/scx/{name}.so"


@functools.lru_cache(maxsize=None)
def load(source):
    status, text, path = make_scx(source)
    assert not status, text
    return path


def made_of(tmp_path_factory, name, text):
    """The object of a source of its own, for a fixture."""
    source = tmp_path_factory.mktemp("scx") / f"{name}.bpf.c"
    source.write_text(text)
    return load(str(source))


def loaded(name):
    return load(f"examples/scx/{name}.bpf.c")


def matches(pattern, text):
    return re.search(pattern, text, re.DOTALL)


def shares(result, *rows):
    return [round(result.share(*row), 1) for row in rows]


def test_in_order_of_arrival_everybody_gets_the_same(sim):
    by_nice = sim("--check", "--scx", loaded("fifo"), *NICE)
    assert shares(by_nice, ("hog", 0), ("hog", 5), ("hog", 10)) == [33.4, 33.3, 33.3]


def test_in_order_of_vtime_shares_are_those_of_weights_if_somebody_is_between(sim):
    """The weights say 41.1, 41.1, 13.4, 4.4. One hog of each cannot follow itself, so that the first gets a half."""
    twice, once = (sim("--check", "--scx", loaded("vtime"), *words) for words in (NICE_TWICE, NICE))
    assert shares(twice, ("hog", 0), ("hog", 5), ("hog", 10)) == [82.0, 13.5, 4.5]
    assert shares(once, ("hog", 0), ("hog", 5), ("hog", 10)) == [50.0, 37.5, 12.5]


@pytest.mark.parametrize("name, hogs", [("fifo", 96.05), ("vtime", 95.47), ("central", 95.5), ("llc", 95.5),
                                        ("wake", 91.7)])
def test_all_cpus_are_used_and_every_invariant_holds(sim, name, hogs):
    mixed = sim("--check", "--scx", loaded(name), *MIXED)
    assert mixed.result()["sched"] == f"scx:{name}"
    assert 4 * 100 - mixed.share("hog") - mixed.share("burst") < 1
    assert mixed.share("hog") / 4 == pytest.approx(hogs, abs=1)


def test_constants_are_set_by_name(sim):
    short = sim("--scx", loaded("fifo") + ",slice_ns=4000000", "--time", "1s", "hogs:n=2")
    assert short.row("hog")["runs"] == 250


def test_two_runs_are_the_same_to_the_byte(sim, tmp_path):
    for n in "12":
        sim("--scx", loaded("central"), "--trace", f"{tmp_path}/{n}.dat", *MIXED, "pingpong", "forks")
    assert filecmp.cmp(tmp_path / "1.dat", tmp_path / "2.dat", shallow=False)
    assert (tmp_path / "1.dat").stat().st_size > 100_000


@pytest.mark.parametrize("name", ["fifo", "vtime", "central", "llc", "wake"])
def test_recording_decisions_changes_nothing(traced_alike, name):
    traced_alike(f"--scx {loaded(name)} --cpus 4 --time 1s hogs:n=6 bursts:n=2,run=2ms,sleep=10ms pingpong forks")


@pytest.fixture(name="decided", scope="module")
def decisions_of_a_program(tmp_path_factory):
    path = tmp_path_factory.mktemp("scx") / "d.json"
    subprocess.run([f"{BUILD}/schedsim", "--scx", loaded("vtime"), "--cpus", "2", "--time", "1s", "--decisions",
                    str(path), "hogs:n=3", "bursts:n=2,run=2ms,sleep=10ms"], check=True, stdout=subprocess.DEVNULL)
    return path


def fairground(*words):
    return subprocess.run(["python3", "-m", "fairground", *map(str, words)], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": f"{ROOT}/tools"}).stdout


def test_decisions_say_by_which_rule_and_who_else_waited(decided):
    """That a task cannot follow itself: dispatch brings another one, and only then the first is inserted again."""
    assert json.loads(decided.read_text().partition("\n")[0])["sched"] == "scx:vtime"
    found = [d for d in read(str(decided)) if d.policy == "ext"]
    assert {("enter", "inserted"), ("enter", "sent"), ("pick", "dispatched"), ("pick", "first_local"),
            ("select", "default_idle"), ("select", "default_busy"), ("stop", "inserted"),
            ("leave", "sleeps"), ("leave", "departs")} == {(d.kind, d.rule) for d in found}
    pick = next(nr for nr, d in enumerate(found) if d.rule == "dispatched" and d.cpu == 0)
    stop = found[pick + 1]
    rows = {task.name: (place(task.replenish_at), task.budget) for task in found[pick].candidates}
    assert (found[pick].subject, stop.kind, stop.subject) == ("hog-3", "stop", "hog-1")
    assert rows == {"hog-1": ("no queue", 0), "hog-3": ("the local queue", 20_000_000),
                    "burst-4": ("queue 0x0", 20_000_000), "burst-5": ("queue 0x0", 20_000_000)}
    assert (place(stop.replenish_at), stop.deadline) == ("queue 0x0", 20_000_000)
    assert all(d.complete for d in found)


def test_why_says_who_ran_by_which_rule_and_where_the_task_waited(decided):
    told = fairground("why", decided, "--task", "burst", "--waits", "1")
    assert "ext picked hog-1: it was the first in the local queue of the CPU" in told
    assert "burst-5 waits in queue 0x0" in told
    futures = told.split("from that moment on: ")[1]
    assert all(sched in futures for sched in SCHEDULERS)
    full = fairground("decisions", decided, "--rule", "dispatched", "--limit", "1", "--full")
    assert "slice left  waits in" in full and "dispatch of its scheduler chose" in full


@pytest.mark.parametrize("words, rows, why", [
    ("--explain 100ms hogs:n=3 bursts",
     [" hog-1 queue 0x0", " hog-2 runs", " hog-3 queue 0x0", "> burst-4 the local queue"],
     "picked: burst-4, because the local queue was empty, and dispatch of its scheduler chose."),
    ("--explain 101ms bursts:run=1ms,sleep=9ms", [], "picked: swapper/0-0, because nobody is queued."),
])
def test_explain_says_where_the_others_waited(sim, words, rows, why):
    text = sim("--scx", loaded("vtime"), *words.split()).out
    found = re.findall(r"^ ([> ]) +(\w+-\d+) +100 +[\d.]+ +[\d.]+  (.+)$", text, re.MULTILINE)
    assert [" ".join(row).replace("  ", " ") for row in found] == rows and text.endswith(f"\n{why}\n")


def test_traits_answers_with_the_shortest_run(sim):
    """A slice of 1.5 s lets the third of three hogs wait for 3 s."""
    def asked(*words):
        done = subprocess.run(["make", "-s", "traits", "SRC=examples/scx/fifo.bpf.c", *words, f"B={BUILD}"], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout
    status, text = asked("ARGS=slice_ns=1500000000")
    assert status == 2 and "gives hog 3 of 3 nothing for 2 s, at 2 s of" in text
    words = shlex.split(text.splitlines()[-1])
    assert words[1:4] == ["--scx", f"{BUILD}/scx/fifo.so,slice_ns=1500000000", "--cpus"]
    assert sim(*words[1:]).result()["tasks"][2]["cpu_ns"] == 0
    status, text = asked()
    assert status == 0 and "fifo: nobody starves" in text


FIRST = """#include <scx/common.bpf.h>
void BPF_STRUCT_OPS(first_enqueue, struct task_struct *p, u64 enq_flags)
{
    scx_bpf_dsq_insert(p, enq_flags & SCX_ENQ_WAKEUP ? 0 : 1, SCX_SLICE_DFL, enq_flags);
}
void BPF_STRUCT_OPS(first_dispatch, s32 cpu, struct task_struct *prev)
{
    if (!scx_bpf_dsq_move_to_local(0))
        scx_bpf_dsq_move_to_local(1);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(first_init) { return scx_bpf_create_dsq(0, -1) ?: scx_bpf_create_dsq(1, -1); }
SCX_OPS_DEFINE(first_ops, .enqueue = (void *)first_enqueue, .dispatch = (void *)first_dispatch,
               .init = (void *)first_init, .name = "first");
"""


def test_traits_names_a_rule_by_which_those_that_wake_up_come_first(tmp_path):
    """Four that sleep for as long as they run want twice what a CPU has: a new one of them, like the hog, waits on."""
    (tmp_path / "first.bpf.c").write_text(FIRST)
    done = subprocess.run(["make", "-s", "traits", f"SRC={tmp_path}/first.bpf.c", f"B={BUILD}"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "first lets a burst wait for 2 s, at 2 s of" in done.stdout, done.stdout


def test_a_scheduler_that_loses_a_task_is_thrown_out_and_nobody_is_lost(sim):
    run = sim("--check", "--scx", loaded("stall"), "--time", "10s", "hogs:n=3")
    assert 'at 4.000 s sched_ext: BPF scheduler "stall" disabled (runnable task stall)' in run.err
    assert "stall: hog[1] failed to run for 2.060s" in run.err
    assert run.row("hog")["wait_ns"]["max"] < 2_100_000_000
    assert run.share("hog") == pytest.approx(100)


def test_a_dump_has_what_the_program_adds_to_it_and_exit_has_the_dump(sim):
    run = sim("--scx", load("tests/e2e/scx/calls.bpf.c"), "--cpus", "2", "group:name=a,quota=30ms,period=60ms",
              "hogs:n=1,nice=19", "bursts:n=1,group=a")
    said = re.findall(r"^schedsim: at ([\d.]+) s calls: calls> (.*)", run.err, re.MULTILINE)
    assert said[0] == ("0.000000", "cgroup_init 100 60000 30000 0") and said[-1][1] == "exit 1025 1"
    assert matches(r"DEBUG DUMP\n=+\n\ncalls triggered exit kind 1025:\n  scx_bpf_error \(a hog that is nice\)\n\n"
                   r"calls> dump 1025 1\n\nCPU states\n-+\n\nCPU 0 .*\n +\*R hog\[\d+\] -0ms\n.*\n\n"
                   r"    calls> dump_task hog\n\nCPU 1 .*\n\n  calls> dump_cpu\n  calls> second line\n",
                   run.err), run.err


BROKEN = """#include <scx/common.bpf.h>
const volatile u32 rule;
volatile u32 zero;
__noinline u32 deeper(volatile u32 *above) { volatile u32 here[9]; here[0] = *above; return deeper(here) + here[0]; }
void BPF_STRUCT_OPS(broken_enqueue, struct task_struct *p, u64 enq_flags)
{
%s
}
SCX_OPS_DEFINE(broken_ops, .enqueue = (void *)broken_enqueue, .flags = %s, .name = "broken");
"""
RULES = [
    ("scx_bpf_dsq_insert(p, 7, 0, 0);", "runtime error.*non-existent DSQ 0x7"),
    ("scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, 0); scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, 0);", "inserted twice"),
    ("scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | 9, 0, 0);", "invalid CPU 9 in a DSQ number"),
    ("scx_bpf_dsq_insert_vtime(p, SCX_DSQ_LOCAL, 0, 0, 0);", "cannot use vtime ordering for built-in DSQs"),
    ('scx_bpf_error("number %d", p->pid);', "scx_bpf_error.*number 3"),
    ("scx_bpf_dsq_move_to_local(SCX_DSQ_GLOBAL, 0);", "move to the local DSQ outside dispatch"),
    ('scx_bpf_exit(3, "enough");', "unregistered from BPF.*enough"),
    ("scx_bpf_kick_cpu(-1, 0);", "invalid CPU -1"),
    ("scx_bpf_reenqueue_local();", "reenqueue_local outside cpu_release"),
    ("*(volatile u32 *)(0x10ul + zero) = 1;", "enqueue on CPU 0 used a wild pointer, 0x10"),
    ("volatile s32 least = 1 << 31; zero = least / ((s32)zero - 1);", "enqueue on CPU 0 divided by zero, or the least"),
    ("while (!zero) ;", "enqueue on CPU 0 does not return"),
    ("zero = deeper(&zero);", "enqueue on CPU 0 has no stack left"),
    ("__builtin_trap();", "enqueue on CPU 0 reached an instruction that no program has"),
    ("scx_bpf_dsq_insert((void *)0x4000, 0, 0, 0);", "enqueue on CPU 0 used a wild pointer, 0x4"),
    ("scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 0, 0); scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);",
     "CPU [01] is kicked again and again, and tasks hardly run there"),
    ("static struct task_struct made; made.pid = p->pid; scx_bpf_dsq_insert(&made, 0, 0, 0);", "is given for a task"),
]


@pytest.fixture(name="broken", scope="module")
def program_that_breaks_one_rule_of_its_choice(tmp_path_factory):
    rules = "\n".join(f"\tif (rule == {n}) {{ {body} }}" for n, (body, _) in enumerate(RULES))
    return made_of(tmp_path_factory, "broken", BROKEN % (rules, 0))


@pytest.mark.parametrize("rule", range(len(RULES)), ids=[why for _, why in RULES])
def test_a_scheduler_that_breaks_a_rule_is_thrown_out_with_the_rule(sim, broken, rule):
    run = sim("--check", "--scx", f"{broken},rule={rule}", "--hang", "200ms", "--cpus", "2", "--time", "1s", "hogs:n=3")
    assert matches(RULES[rule][1], run.err), run.err
    assert run.share("hog") == pytest.approx(200, abs=1)


# After 900 ms it says how often events were counted. It lets a task wake up on CPU 2, or inserts all for CPU 1.
COUNTED = """#include <scx/common.bpf.h>
const volatile bool to_2;
const volatile bool on_1;
static u64 begin;
s32 BPF_STRUCT_OPS(counted_select_cpu, struct task_struct *p, s32 prev, u64 flags) { return to_2 ? 2 : prev; }
void BPF_STRUCT_OPS(counted_enqueue, struct task_struct *p, u64 enq_flags)
{
    scx_bpf_dsq_insert(p, on_1 ? SCX_DSQ_LOCAL_ON | 1 : SCX_DSQ_GLOBAL, 5000000, enq_flags);
}
void BPF_STRUCT_OPS(counted_tick, struct task_struct *p)
{
    struct scx_event_stats events = {};

    begin = begin ? begin : scx_bpf_now();
    if (scx_bpf_now() - begin < 900000000)
        return;
    scx_bpf_events(&events, sizeof(events));
    scx_bpf_exit(0, "%lld fallbacks %lld offline %lld last %lld refills %lld bypassed",
                 scx_read_event(&events, SCX_EV_SELECT_CPU_FALLBACK), events.SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE,
                 events.SCX_EV_DISPATCH_KEEP_LAST, events.SCX_EV_REFILL_SLICE_DFL,
                 events.SCX_EV_BYPASS_DISPATCH + events.SCX_EV_BYPASS_ACTIVATE);
}
void BPF_STRUCT_OPS(counted_cpu, s32 cpu) { }
SCX_OPS_DEFINE(counted_ops, .select_cpu = (void *)counted_select_cpu, .enqueue = (void *)counted_enqueue,
               .tick = (void *)counted_tick, .cpu_online = (void *)counted_cpu, .cpu_offline = (void *)counted_cpu,
               .name = "counted");
"""


@pytest.fixture(name="counted", scope="session")
def program_that_says_what_was_counted(tmp_path_factory):
    return made_of(tmp_path_factory, "counted", COUNTED)


@pytest.mark.parametrize("words, workload, said", [
    ("", "--cpus 1 hogs:n=1", "0 fallbacks 0 offline 45 last 45 refills 0 bypassed"),
    ("", "--cpus 1 hogs:n=2", "0 fallbacks 0 offline 0 last 0 refills 0 bypassed"),
    (",to_2=1", "--cpus 3 hogs:n=1,cpus=2 bursts:n=1,cpus=0-1,run=1ms,sleep=9ms",
     "91 fallbacks 0 offline 45 last 45 refills 0 bypassed"),
    (",on_1=1", "--cpus 2 hotplug:cpu=1,after=100ms,off=200ms bursts:n=1,run=1ms,sleep=9ms hogs:n=1",
     "0 fallbacks 16 offline 41 last 41 refills 0 bypassed"),
])
def test_events_are_counted_under_the_names_of_linux(sim, counted, words, workload, said):
    """A hog that is alone is refilled every 20 ms; the burst of the third row wakes up every 10 ms."""
    run = sim("--check", "--scx", counted + words, "--time", "1s", *workload.split())
    assert f"counted: {said};" in run.err


QUEUED = """#include <scx/common.bpf.h>
static u32 nr_sleeps;
static void expect(struct task_struct *p, bool queued, const char *op)
{
    if (!(p->scx.flags & SCX_TASK_QUEUED) == queued)
        scx_bpf_error("%s: SCX_TASK_QUEUED is wrong", op);
}
s32 BPF_STRUCT_OPS(queued_select_cpu, struct task_struct *p, s32 prev, u64 flags)
{
    expect(p, false, "select_cpu");
    return prev;
}
void BPF_STRUCT_OPS(queued_runnable, struct task_struct *p, u64 flags) { expect(p, true, "runnable"); }
void BPF_STRUCT_OPS(queued_running, struct task_struct *p) { expect(p, true, "running"); }
void BPF_STRUCT_OPS(queued_enable, struct task_struct *p) { expect(p, false, "enable"); }
void BPF_STRUCT_OPS(queued_quiescent, struct task_struct *p, u64 flags)
{
    expect(p, true, "quiescent");
    if (++nr_sleeps == 50)
        scx_bpf_exit(0, "%u sleeps", nr_sleeps);
}
SCX_OPS_DEFINE(queued_ops, .select_cpu = (void *)queued_select_cpu, .runnable = (void *)queued_runnable,
               .running = (void *)queued_running, .enable = (void *)queued_enable,
               .quiescent = (void *)queued_quiescent, .name = "queued");
"""


DIVIDES = """#include <scx/common.bpf.h>
volatile struct { u64 pad; u32 u; s32 s; u64 ul; s64 sl; u16 us; } zero;
/* Each result is stored: a compiler may compare the operands instead. */
#define IS_BPFS(type, of)                                                           \\
    do {                                                                            \\
        volatile type all = (type)-77, by = zero.of, results[4];                    \\
        type in_register = by;                                                      \\
        results[0] = all / zero.of; results[1] = all % zero.of;                     \\
        results[2] = all / in_register; results[3] = all % in_register;             \\
        if (results[0] || results[2] || results[1] != all || results[3] != all)     \\
            scx_bpf_error("of " #type);                                             \\
    } while (0)
void BPF_STRUCT_OPS(divides_enqueue, struct task_struct *p, u64 enq_flags)
{
    IS_BPFS(u32, u); IS_BPFS(s32, s); IS_BPFS(u64, ul); IS_BPFS(s64, sl); IS_BPFS(u16, us);
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL + 5 / zero.ul, enq_flags);
}
SCX_OPS_DEFINE(divides_ops, .enqueue = (void *)divides_enqueue, .name = "divides");
"""


@pytest.fixture(name="divides", scope="session")
def program_that_divides_by_zero(tmp_path_factory):
    return made_of(tmp_path_factory, "divides", DIVIDES)


def test_divided_by_zero_is_zero_and_the_rest_is_all(sim, divides):
    """As of BPF (RFC 9669): in registers and memory, of every size that C's arithmetic has."""
    run = sim("--check", "--scx", divides, "--time", "1s", "hogs:n=2")
    assert not run.err and run.row("hog")["runs"] == 50


IN_PAGES = """#include <scx/common.bpf.h>
#include <bpf_arena_common.bpf.h>
#include <bpf_arena_spin_lock.h>
struct {
    __uint(type, BPF_MAP_TYPE_ARENA); __uint(max_entries, 4); __ulong(map_extra, 1ull << 44);
} arena __weak SEC(".maps");
u32 *counter(void);
"""
PAGES_MAIN = IN_PAGES + """
const volatile u32 wrong;
static u32 *page(u32 nr) { return bpf_arena_alloc_pages(&arena, NULL, nr, NUMA_NO_NODE, 0); }
static void give(void *address, u32 nr) { bpf_arena_free_pages(&arena, address, nr); }
s32 BPF_STRUCT_OPS_SLEEPABLE(pages_init)
{
    u32 *first = page(1), *two = page(2), *last = page(1);

    if (!first || !two || !last || page(1) || last != first + 3 * PAGE_SIZE / 4)
        return -ENOMEM;
    first[7] = two[7] = 7;
    give(first, 1);
    give(two, 1);
    if (page(3) || page(2) != first || first[7] || two[7] || page(1))
        return -EINVAL;
    give(last, 1);
    if (wrong)
        give(wrong == 1 ? (void *)first + 64 : first, wrong == 1 ? 1 : 5);
    return counter() ? 0 : -ENOMEM;
}
void BPF_STRUCT_OPS(pages_enqueue, struct task_struct *p, u64 enq_flags)
{
    ++*counter();
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}
void BPF_STRUCT_OPS(pages_tick, struct task_struct *p)
{
    if (*counter() >= 5)
        scx_bpf_exit(5, "enough");
}
SCX_OPS_DEFINE(pages_ops, .enqueue = (void *)pages_enqueue, .tick = (void *)pages_tick, .init = (void *)pages_init,
               .name = "pages");
"""
PAGES_COUNTER = IN_PAGES + """
struct counter { arena_spinlock_t lock, other; u32 value; };
u32 *counter(void)
{
    static struct counter *kept;

    if (!kept)
        kept = bpf_arena_alloc_pages(&arena, NULL, 1, NUMA_NO_NODE, 0);
    if (!kept || arena_spin_lock(&kept->lock) || arena_spin_lock(&kept->other))
        return NULL;
    arena_spin_unlock(&kept->other);
    arena_spin_unlock(&kept->lock);
    return &kept->value;
}
"""


def pages_in(directory):
    """The first source of a program of two, with an arena, in a folder of its own."""
    folder = directory / "pages"
    (folder / "lib").mkdir(parents=True)
    for name, text in {"main": PAGES_MAIN, "lib/counter": PAGES_COUNTER}.items():
        (folder / f"{name}.bpf.c").write_text(text)
    (folder / "sources").write_text("lib/counter.bpf.c\n")
    return folder / "main.bpf.c"


@pytest.fixture(name="pages", scope="session")
def program_of_two_sources_with_an_arena(tmp_path_factory):
    return load(str(pages_in(tmp_path_factory.mktemp("scx"))))


def test_a_program_of_several_sources_has_no_module_for_the_page(tmp_path):
    status, said, path = make_scx(pages_in(tmp_path))
    assert status == 0 and not os.path.exists(path.replace(".so", ".wasm"))
    assert said.endswith("/pages.wasm for the page: a module is of one source; this program has several\n"), said


def test_sources_share_an_arena_whose_pages_come_back_empty(sim, pages):
    run = sim("--check", "--scx", pages, "--time", "1s", "hogs:n=2")
    assert 'BPF scheduler "pages" disabled (unregistered from BPF)' in run.err and "pages: enough" in run.err


@pytest.mark.parametrize("wrong", "12")
def test_pages_that_are_not_the_arenas_are_refused(pages, wrong):
    done = subprocess.run([f"{BUILD}/schedsim", "--scx", f"{pages},wrong={wrong}", "hogs"], capture_output=True,
                          text=True, check=False)
    assert done.returncode and "pages that are not the arena's are given back" in done.stderr


def test_the_flag_of_a_task_says_whether_it_is_runnable(sim, tmp_path):
    (tmp_path / "queued.bpf.c").write_text(QUEUED)
    run = sim("--scx", load(str(tmp_path / "queued.bpf.c")), "--cpus", "2", "--time", "1s", "hogs:n=2", "bursts:n=3")
    assert matches("unregistered from BPF.*queued: 50 sleeps", run.err), run.err


@pytest.mark.parametrize("words", ["unsigned", "unsigned int", "unsigned long"])
def test_a_program_has_the_rate_of_ticks_in_a_word_of_its_own_size(sim, tmp_path, words):
    source = tmp_path / "rate.bpf.c"
    text = BROKEN % ('scx_bpf_error("HZ %llu", (u64)CONFIG_HZ);', 0)
    source.write_text(text.replace(".h>\n", f".h>\nextern {words} CONFIG_HZ __kconfig;\n", 1))
    run = sim("--scx", load(str(source)), "--hz", "100", "--time", "100ms", "hogs:n=1")
    assert "HZ 100" in run.err


# A program asks about the machine: after a second of the task that asks it says what it was told.
ASKS = """#include <scx/common.bpf.h>
extern bool CONFIG_NO_HZ_IDLE __kconfig;
extern int nowhere __ksym;
static u64 began, scaled, by_interrupt, by_task;
s32 BPF_STRUCT_OPS(asks_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
    bool idle;

    if (bpf_in_hardirq())
        by_interrupt++;
    else
        by_task++;
    return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);
}
void BPF_STRUCT_OPS(asks_tick, struct task_struct *p)
{
    u32 cpu = bpf_get_smp_processor_id();
    u64 now = scx_clock_task(cpu);

    if (bpf_strncmp(p->comm, 3, "hog"))
        return;
    if (!began) {
        began = now;
        scaled = scx_clock_pelt(cpu);
    } else if (now - began > 1000000000) {
        scx_bpf_exit(0, "work %llu of 1024, interrupts %d, tasks %d, idle CPUs %s, nowhere %s, by %d",
                     (scx_clock_pelt(cpu) - scaled) * 1024 / (now - began), by_interrupt > 9, by_task > 9,
                     CONFIG_NO_HZ_IDLE ? "rest" : "tick", &nowhere ? "somewhere" : "at 0",
                     (u32)bpf_get_current_pid_tgid() == (u32)p->pid);
    }
}
SCX_OPS_DEFINE(asks_ops, .select_cpu = (void *)asks_select_cpu, .tick = (void *)asks_tick, .name = "asks");
"""


@pytest.mark.parametrize("governor, work", [("performance", 1024), ("powersave", 542)])
def test_a_program_hears_of_clocks_interrupts_and_words_of_the_machine(sim, tmp_path, governor, work):
    """Juno's A53 has a capacity of 542 at 450 MHz. A burst is woken by its timer, the other end of a pipe by a task."""
    (tmp_path / "asks.bpf.c").write_text(ASKS)
    run = sim("--scx", load(str(tmp_path / "asks.bpf.c")), "--opp", "juno-a53", "--governor", governor, "--cpus", "4",
              "--time", "3s", "hogs:n=1,cpus=0", "bursts:n=1", "pingpong:n=1,run=5ms")
    assert f"asks: work {work} of 1024, interrupts 1, tasks 1, idle CPUs rest, nowhere at 0, by 1" in run.err, run.err


# A map of one timer.
ONE_TIMER = """struct one { struct bpf_timer timer; };
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct one);
} ones SEC(".maps");
"""
# Only a timer looks into the queue, each millisecond: it gives a task to one CPU and the next to the other. A task that
# is bound to a CPU is inserted there; it may wait in the queue as it is bound.
DEALS = f"#include <scx/common.bpf.h>\n{ONE_TIMER}" """static u32 nr_moved;
void BPF_STRUCT_OPS(deals_enqueue, struct task_struct *p, u64 enq_flags)
{
    scx_bpf_dsq_insert(p, p->nr_cpus_allowed == 1 ? SCX_DSQ_LOCAL : 1, SCX_SLICE_DFL, enq_flags);
}
static int deal(void *map, int *key, struct bpf_timer *timer)
{
    struct task_struct *p;
    bpf_for_each(scx_dsq, p, 1, 0) {
        scx_bpf_dsq_move_set_slice(BPF_FOR_EACH_ITER, 2000000);
        nr_moved += scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | nr_moved % scx_bpf_nr_cpu_ids(), 0);
    }
    if (nr_moved >= 1000)
        scx_bpf_exit(0, "dealt");
    bpf_timer_start(timer, 1000000, 0);
    return 0;
}
s32 BPF_STRUCT_OPS_SLEEPABLE(deals_init)
{
    u32 key = 0;
    struct one *one = bpf_map_lookup_elem(&ones, &key);
    if (!one || bpf_timer_init(&one->timer, &ones, CLOCK_MONOTONIC))
        return -EINVAL;
    bpf_timer_set_callback(&one->timer, deal);
    bpf_timer_start(&one->timer, 1000000, 0);
    return scx_bpf_create_dsq(1, -1);
}
SCX_OPS_DEFINE(deals_ops, .enqueue = (void *)deals_enqueue, .init = (void *)deals_init,
               .flags = SCX_OPS_ENQ_LAST, .name = "deals");
"""


def test_a_timer_moves_tasks_to_local_queues(sim, tmp_path):
    (tmp_path / "deals.bpf.c").write_text(DEALS)
    run = sim("--check", "--scx", load(str(tmp_path / "deals.bpf.c")), "--cpus", "2", "--time", "5s", "hogs:n=3")
    assert "deals: dealt" in run.err


def test_a_cpu_that_kicks_itself_does_not_wait(sim, tmp_path):
    """The kicked CPU chooses anew, so that a burst does not wait for the end of the hog's slice of 20 ms."""
    source = tmp_path / "itself.bpf.c"
    source.write_text(BROKEN % ("scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);\n"
                                "if (!scx_bpf_task_running(p)) scx_bpf_kick_cpu(0, SCX_KICK_WAIT | SCX_KICK_PREEMPT);",
                                0))
    run = sim("--scx", load(str(source)), "--time", "1s", "hogs:n=1", "bursts:n=1,run=1ms,sleep=5ms")
    assert not run.err and run.row("burst")["wait_ns"]["p90"] == 0


# CPU 0 kicks CPU 1 in dispatch. The task that it switches to stops too early if CPU 1 has not been asked since. With
# only_busy that is while CPU 1 hears no interrupt; with mutual both kick each other in each dispatch.
WAITS = """#include <scx/common.bpf.h>
const volatile bool only_busy;
const volatile bool mutual;
static u32 nr_choices, before, nr_kicks, nr_early;
static bool busy;
static enum { NO_KICK, KICKED, SWITCHED } step;
void BPF_STRUCT_OPS(waits_enqueue, struct task_struct *p, u64 enq_flags)
{
    scx_bpf_dsq_insert(p, 0, SCX_SLICE_DFL, enq_flags);
}
void BPF_STRUCT_OPS(waits_dispatch, s32 cpu, struct task_struct *prev)
{
    struct task_struct *other = scx_bpf_cpu_curr(1);
    nr_choices += cpu == 1;
    if (mutual) {
        scx_bpf_kick_cpu(1 - cpu, SCX_KICK_WAIT);
    } else if (cpu == 0 && step == NO_KICK && (busy || !only_busy) && other && !(other->flags & PF_IDLE)) {
        step = KICKED;
        before = nr_choices;
        scx_bpf_kick_cpu(1, SCX_KICK_WAIT | SCX_KICK_PREEMPT);
    }
    scx_bpf_dsq_move_to_local(0, 0);
}
void BPF_STRUCT_OPS(waits_tick, struct task_struct *p)
{
    u32 was = nr_kicks;
    if (scx_bpf_task_cpu(p) != 1)
        return;
    busy = true;
    for (volatile u32 i = 0; i < 20000 && nr_kicks == was && only_busy; i++)
        asm volatile("pause");
    busy = false;
}
void BPF_STRUCT_OPS(waits_running, struct task_struct *p)
{
    if (scx_bpf_task_cpu(p) == 0 && step == KICKED)
        step = SWITCHED;
}
void BPF_STRUCT_OPS(waits_stopping, struct task_struct *p, bool runnable)
{
    if (scx_bpf_task_cpu(p) != 0 || step != SWITCHED)
        return;
    step = NO_KICK;
    nr_early += nr_choices == before;
    if (++nr_kicks == 8)
        scx_bpf_exit(0, "%u of %u too early", nr_early, nr_kicks);
}
s32 BPF_STRUCT_OPS_SLEEPABLE(waits_init) { return scx_bpf_create_dsq(0, -1); }
SCX_OPS_DEFINE(waits_ops, .enqueue = (void *)waits_enqueue, .dispatch = (void *)waits_dispatch,
               .tick = (void *)waits_tick, .running = (void *)waits_running, .stopping = (void *)waits_stopping,
               .init = (void *)waits_init, .name = "waits");
"""


@pytest.fixture(name="waits", scope="module")
def program_that_waits_for_the_cpus_that_it_kicks(tmp_path_factory):
    return made_of(tmp_path_factory, "waits", WAITS)


def test_a_kick_that_is_to_wait_waits_until_the_other_cpu_has_chosen(sim, waits):
    """A kick takes 20 us, and the tasks of CPU 0 run for 5 us at a time."""
    run = sim("--check", "--scx", waits, "--cost-ipi", "20us", "--cpus", "2", "--time", "1s", "hogs:n=1,cpus=1",
              "pingpong:cpus=0")
    assert "waits: 0 of 8 too early" in run.err and run.result()["overhead_ns"] == pytest.approx(8 * 20_000, rel=0.1)


def test_cpus_that_wait_for_each_other_go_on(sim, waits):
    run = sim("--check", "--scx", f"{waits},mutual=1", "--cost-ipi", "20us", "--cpus", "2", "--time", "1s",
              "hogs:n=3", "bursts:n=2,run=2ms,sleep=3ms")
    assert not run.err and run.share("hog") + run.share("burst") > 199


def partial(directory, name, words=""):
    """The source, called NAME, of the example fifo with the tasks of SCHED_EXT only."""
    text = (pathlib.Path(ROOT) / "examples/scx/fifo.bpf.c").read_text(encoding="utf-8")
    source = directory / f"{name}.bpf.c"
    source.write_text(text.replace(".name =", f".flags = SCX_OPS_SWITCH_PARTIAL, {words} .name ="), encoding="utf-8")
    return str(source)


def cpu_ms(run):
    return [round(row["cpu_ns"] / 1e6) for row in run.result()["tasks"]]


def test_a_partial_scheduler_has_the_tasks_of_its_policy_and_fair_ones_come_first(sim, tmp_path):
    """On each of two CPUs a burst of 2 ms in 10 never waits; the tasks of SCHED_EXT share the rest as they came."""
    run = sim("--check", "--scx", load(partial(tmp_path, "partial_2")), "--cpus", "2", "--time", "10s",
              "bursts:n=2,run=2ms,sleep=8ms", "hogs:n=3,policy=ext,nice=0", "hogs:n=1,policy=ext,nice=10")
    assert not run.err and run.row("burst")["wait_ns"]["max"] == 0
    assert cpu_ms(run) == pytest.approx([4000, 12000, 4000], abs=20) and sum(cpu_ms(run)) == 20000


def test_a_cpu_that_balancing_brought_a_fair_task_looks_for_others_after_it(sim, tmp_path):
    """Fair tasks that are seldom alone, and more CPUs than they need: SCHED_EXT has all that they leave."""
    run = sim("--check", "--scx", load(partial(tmp_path, "partial_4")), "--cpus", "4", "--time", "500ms",
              "hogs:n=8,policy=ext", "bursts:n=7,run=3ms,sleep=4ms", "pingpong", "forks")
    assert not run.err and sum(cpu_ms(run)) == pytest.approx(2000, rel=0.005)


def test_a_fair_hog_starves_a_partial_scheduler_until_that_is_thrown_out(sim, tmp_path):
    source = partial(tmp_path, "partial_1", ".timeout_ms = 1000,")
    run = sim("--check", "--scx", load(source), "--time", "5s", "hogs:n=1", "hogs:n=1,policy=ext")
    assert "fifo: hog[2] failed to run for 1." in run.err
    assert cpu_ms(run) == pytest.approx([3250, 1750], abs=260)


def test_without_a_scheduler_its_policy_is_a_fair_one(sim):
    assert cpu_ms(sim("--time", "4s", "hogs:n=1", "hogs:n=1,policy=ext,nice=5")) == cpu_ms(
        sim("--time", "4s", "hogs:n=1", "hogs:n=1,nice=5"))


MAPS = """#include <scx/common.bpf.h>
%s
SCX_OPS_DEFINE(maps_ops, .name = "maps");
"""
MAP = """struct { __uint(type, BPF_MAP_TYPE_%s); __uint(max_entries, %s); %s __type(value, %s); } map%s SEC(".maps");"""
KEY = "__type(key, u32);"
NAMED = """#include <scx/common.bpf.h>
SCX_OPS_DEFINE(named_ops, .timeout_ms = %s);
"""
INIT = """#include <scx/common.bpf.h>
s32 BPF_STRUCT_OPS_SLEEPABLE(begins_init)
{
    return %s;
}
SCX_OPS_DEFINE(begins_ops, .init = (void *)begins_init, .name = "begins");
"""
OLDER = INIT % "0" + "#undef SCX_ABI\n#define SCX_ABI 1\n"


@pytest.mark.parametrize("text, why", [
    (BROKEN % ("scx_bpf_unheard_of(p);", 0), "broken.bpf.c:7:.*scx_bpf_unheard_of"),
    ("#include <scx/common.bpf.h>\n", "here are 0: is it the user half"),
    (BROKEN % ("", 0) + 'SCX_OPS_DEFINE(more_ops, .name = "more");\n', "here are 2: broken_ops, more_ops"),
    ('SCX_OPS_DEFINE(a_ops, .name = "a");\n', "SCX_OPS_DEFINE is not known: #include <scx/common.bpf.h> is missing"),
    (MAPS % (MAP % ("ARRAY", 1, KEY, "struct { u64 n; }", "")), "the map map is not understood: its members may have"),
    (BROKEN % ("", "SCX_OPS_BUILTIN_IDLE_PER_NODE"), "broken.so: needs SCX_OPS_BUILTIN_IDLE_PER_NODE, which is not"),
    (BROKEN % ("", 0x40080), "broken.so: has flags that are none: 0x40080$"),
    (NAMED % '40000, .name = "x"', "broken.so: has a timeout_ms of 40000; at most 30000$"),
    (NAMED % '30000, .name = "two words"', "broken.so: has a name that is not 1 to 127 letters, digits, _ and .$"),
    (NAMED % f'0, .name = "{"x" * 128}"', "broken.so: has a name that is not"),
    (NAMED % "0", "broken.so: has a name that is not"),
    (NAMED % '0, .name = "x", .dispatch_max_batch = 129', "broken.so: has a dispatch_max_batch of 129; at most 128$"),
    ((BROKEN % ("", 0)).replace(".name =", ".init = (void *)hangs, .name =").replace(
        "void BPF", "s32 hangs(void) { while (!zero) ; return 0; }\nvoid BPF", 1),
     "broken: init on CPU 0 does not return"),
    (INIT % "scx_bpf_create_dsq(1, -1) ?: scx_bpf_create_dsq(1, -1)", r"begins: its init failed: -17 \(EEXIST\)$"),
    (INIT % "-4000", "begins: its init failed: -4000$"),
    (MAPS % (MAP % ("ARRAY", "0x7fffffff", KEY, "u64", "")), "maps: has the map map, of more than 2.30 bytes"),
    (MAPS % (MAP % ("ARRAY", "0x80000000", KEY, "u8", "")), "maps: has the map map, of more than 2.30 bytes"),
    (MAPS % (MAP % ("ARRAY", 1, KEY, "char[(1u << 30) + 1]", "")), "map map, with too large a key or value"),
    (MAPS % (MAP % ("HASH", 1, "__type(key, char[513]);", "u64", "")), "map map, with too large a key or value"),
    (MAPS % (MAP % ("ARRAY", 1, KEY, "char[1ull << 33]", "")), "the map map has too large a key or value"),
    (MAPS % (MAP % ("ARRAY", 1, "__type(key, u64);", "u64", "")), "map map, with a key of another size"),
    (MAPS % (MAP % ("QUEUE", 1, KEY, "u64", "")), "map map, with a key of another size"),
    (MAPS % (MAP % ("ARRAY", 0, KEY, "u64", "")), "map map, without entries"),
    (MAPS % (MAP % ("HASH", 0, KEY, "u64", "")), "map map, without entries"),
    (MAPS % (MAP % ("PERCPU_HASH", 1, KEY, "u64", "")), "map map, of a type that is not there"),
    (MAPS % "\n".join(MAP % ("ARRAY", 1, KEY, "u64", n) for n in range(256)), "map map255, behind 255 others"),
    (INIT % "5", "begins: its init failed: 5, which is no error$"),
    (OLDER, "broken.so: was made for another version: make scx SRC=... makes"),
])
def test_what_is_no_scheduler_or_wants_more_is_refused_in_a_sentence(tmp_path, text, why):
    source = tmp_path / "broken.bpf.c"
    source.write_text(text)
    status, said, path = make_scx(source)
    if not status:
        done = subprocess.run([f"{BUILD}/schedsim", "--hang", "200ms", "--scx", path, "hogs"], capture_output=True,
                              text=True, check=False)
        status, said = done.returncode, done.stderr
    assert status and matches(why, said), said


def test_what_is_made_says_nothing_of_the_directory_it_is_made_in():
    """The page, which has such programs in it, would be another in each clone."""
    def files():
        assert not make_scx("examples/scx/fifo.bpf.c")[0]
        return {path: pathlib.Path(path).read_bytes() for path in glob.glob(f"{BUILD}/scx/fifo.[osw]*")}
    first = files()
    assert len(first) > 1 and first == files()
    assert not [path for path, text in first.items() if os.fsencode(ROOT) in text]


def test_a_table_may_stand_on_the_line_of_its_section(tmp_path):
    source = tmp_path / "table.bpf.c"
    source.write_text('#include <scx/common.bpf.h>\nSEC(".struct_ops") struct sched_ext_ops t = { .name = "t" };\n')
    status, said, _ = make_scx(source)
    assert status == 0, said


def test_a_program_that_does_not_compile_leaves_nothing_of_an_older_one(tmp_path):
    source = tmp_path / "older.bpf.c"
    source.write_text(BROKEN % ("", 0))
    assert make_scx(source)[0] == 0 and os.path.exists(f"{BUILD}/scx/older.so")
    source.write_text(BROKEN % ("no_such();", 0))
    assert make_scx(source)[0] and not glob.glob(f"{BUILD}/scx/older.*")


@pytest.mark.parametrize("has_clang", [False, True], ids=["no_clang", "not_32_bits"])
def test_why_there_is_no_module_for_the_page_is_said(tmp_path, has_clang):
    """Nothing that only half a program went into is left, either."""
    if has_clang and not (shutil.which("clang") and shutil.which("wasm-ld")):
        pytest.skip("not installed: clang and lld")
    source, tools = tmp_path / "wide.bpf.c", tmp_path / "bin"
    example = pathlib.Path(ROOT, "examples/scx/fifo.bpf.c").read_text(encoding="utf-8")
    source.write_text(example + '_Static_assert(sizeof(void *) == 8, "wide");\n', encoding="utf-8")
    tools.mkdir()
    for name in () if has_clang else os.listdir("/usr/bin"):
        if not name.startswith(("clang", "wasm-ld")):
            (tools / name).symlink_to(f"/usr/bin/{name}")
    status, said, path = make_scx(source, {} if has_clang else {"PATH": str(tools)})
    why = rf"{source}:\d+:\d+: error: .*wide" if has_clang else "install clang and lld$"
    assert status == 0 and os.path.exists(path) and not os.path.exists(path.replace(".so", ".wasm"))
    assert re.search(rf"^no \S+/wide.wasm for the page: {why}", said, re.MULTILINE) and said.count("\n") == 2, said


# Of three keys in a map with room for two the one that was used last but two goes.
LRU = """#include <scx/common.bpf.h>
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 2);
    __type(key, u64);
    __type(value, u64);
} map SEC(".maps");
static u64 *value(u64 key) { return bpf_map_lookup_elem(&map, &key); }
static s64 put(u64 key, u64 value) { return bpf_map_update_elem(&map, &key, &value, 0); }
static u32 there(void)
{
    u32 found = 0;

    for (u64 key = 1; key <= 5; key++)
        found = 10 * found + !!value(key);
    return found;
}
s32 BPF_STRUCT_OPS_SLEEPABLE(lru_init)
{
    u64 three = 3;
    s64 err = put(1, 10) ?: put(2, 20);
    u64 *first = value(1);

    err = err ?: put(3, 30);
    if (err || !first || *first != 10 || there() != 10100)
        scx_bpf_error("after a look %lld, %05u", err, there());
    err = put(1, 11) ?: put(4, 40);
    if (err || *value(1) != 11 || there() != 10010)
        scx_bpf_error("after a change %lld, %05u", err, there());
    if (bpf_map_delete_elem(&map, &three) != -2)
        scx_bpf_error("what went is there");
    put(5, 50);
    scx_bpf_error("at last %05u", there());
    return 0;
}
SCX_OPS_DEFINE(lru_ops, .init = (void *)lru_init, .name = "lru");
"""


def test_a_full_lru_loses_the_entry_that_was_used_least_recently(tmp_path):
    (tmp_path / "lru.bpf.c").write_text(LRU)
    done = subprocess.run([f"{BUILD}/schedsim", "--scx", load(str(tmp_path / "lru.bpf.c")), "hogs"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.strip().endswith("lru: at last 00011"), done.stderr


@pytest.mark.parametrize("words, why", [
    (["nowhere.so"], "nowhere.so"),
    (["{fifo},turn=3"], "no constant (const volatile) is called turn"),
    (["{fifo},slice_ns=soon"], "slice_ns=soon: not a number"),
    (["{fifo},slice_ns="], "slice_ns=: not a number"),
    (["{fifo},slice_ns=-1"], "slice_ns=-1: a number from 0 to 18446744073709551615 is expected"),
    (["{fifo},slice_ns=99999999999999999999999"], "from 0 to 18446744073709551615 is expected"),
    (["{fifo},slice_ns=-"], "slice_ns=-: not a number"),
    (["{fifo},slice_ns"], "slice_ns: must be NAME=VALUE"),
    (["{fifo}", "--sched", "all"], "of one run"),
])
def test_a_wrong_option_is_a_sentence(words, why):
    words = [word.format(fifo=loaded("fifo")) for word in words]
    done = subprocess.run([f"{BUILD}/schedsim", "--scx", *words, "hogs"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and why in done.stderr


@pytest.fixture(name="typed", scope="module")
def program_with_constants_of_several_types(tmp_path_factory):
    text = BROKEN % ('scx_bpf_exit(0, "%d %u %lld %d %u %u", small, byte, wide, on, second, third);', 0)
    types = {"small": "s16", "byte": "u8", "wide": "s64", "on": "bool", "list[4]": "u32",
             r'first[8] = "a\";,=(", second = (2 + 2), pair[2] = { 1, 2 }, third = 5': "u8"}
    constants = "".join(f"const volatile {of_type} {name};\n" for name, of_type in types.items())
    return made_of(tmp_path_factory, "typed", text.replace("const", f"{constants}const", 1))


@pytest.mark.parametrize("words, said", [
    ("small=-32768,byte=255,wide=-9223372036854775808,on=true", "-32768 255 -9223372036854775808 1"),
    ("small=0x7fff,wide=9223372036854775807,on=1", "32767 0 9223372036854775807 1"),
    ("second=8,third=9", "0 0 0 0 8 9"), ("second=8", "0 0 0 0 8 5"),
    ("small=-32769", "small=-32769: a number from -32768 to 32767 is expected"),
    ("small=32768", "small=32768: a number from -32768 to 32767 is expected"),
    ("byte=256", "byte=256: a number from 0 to 255 is expected"), ("byte=-1", "byte=-1: a number from 0 to 255"),
    ("wide=9223372036854775808",
     "wide=9223372036854775808: a number from -9223372036854775808 to 9223372036854775807 is expected"),
    ("on=2", "on=2: a number from 0 to 1 is expected"), ("on=-1", "on=-1: a number from 0 to 1 is expected"),
    ("list=1", "list=1: not a constant of one number"),
])
def test_constants_have_the_range_of_their_type(typed, words, said):
    done = subprocess.run([f"{BUILD}/schedsim", "--scx", f"{typed},{words}", "hogs:n=2"], capture_output=True,
                          text=True, check=False)
    assert said in done.stderr and done.returncode == 2 * ("=" in said)


TREE = ["group:name=a,shares=2048", "group:name=a/c,shares=1024", "group:name=a/d,shares=3072",
        "group:name=b,shares=1024", "hogs:n=2,group=a/c", "hogs:n=3,group=a/d", "hogs:n=3,group=b"]


def shares_of_groups(run):
    """{group: percent of one CPU}."""
    duration = run.data["duration_ns"]
    return {row["group"]: round(100 * row["cpu_ns"] / duration, 1) for row in run.result()["tasks"]}


def test_groups_share_by_their_weights_at_each_level(sim):
    """200 and 100 for the two and 100 for the root's own; in the first 1:3."""
    run = sim("--check", "--scx", loaded("group"), "--cpus", "1", "--time", "20s", *TREE, "hogs:n=2")
    assert shares_of_groups(run) == {"/a/c": 12.5, "/a/d": 37.5, "/b": 25.0, "/": 25.0}


FOREIGN = f"{BUILD}/scx/linux"


@pytest.mark.skipif(not os.path.exists(f"{FOREIGN}/scx_simple.bpf.c"), reason="sh tools/setup.sh --scx fetches them")
@pytest.mark.parametrize("name, hogs", [("simple", 95.47), ("simple,fifo_sched=1", 96.05), ("qmap", 96.05),
                                        ("central,nr_cpu_ids=4", 97.48)])
def test_schedulers_of_linux_run_as_they_are(sim, name, hogs):
    """The figures are those of a prototype whose shares under vtime were within 0.5 points of Linux 7.2's."""
    name, comma, constants = name.partition(",")
    mixed = sim("--check", "--scx", load(f"{FOREIGN}/scx_{name}.bpf.c") + comma + constants, *MIXED)
    assert mixed.share("hog") / 4 == pytest.approx(hogs, abs=0.1)


@pytest.mark.skipif(not os.path.exists(f"{FOREIGN}/scx_flatcg.bpf.c"), reason="sh tools/setup.sh --scx fetches them")
def test_the_flat_groups_of_linux_share_by_their_weights_too(sim):
    run = sim("--check", "--scx", load(f"{FOREIGN}/scx_flatcg.bpf.c"), "--cpus", "1", "--time", "20s", *TREE)
    assert shares_of_groups(run) == {"/a/c": 16.7, "/a/d": 50.0, "/b": 33.3}


CRATES = f"{BUILD}/scx/crates"


@pytest.mark.skipif(not os.path.exists(f"{CRATES}/scx_bpfland"), reason="sh tools/setup.sh --scx fetches them")
@pytest.mark.parametrize("name, hogs, wait_ms", [
    ("bpfland", 91.67, 0.02), ("flash", 91.67, 0.02), ("cosmos", 91.67, 0.02), ("beerland", 92.10, 0.7),
    ("tickless", 95.47, 10.1), ("p2dq", 91.67, 0.02), ("rusty", 95.47, 10.1),
    ("lavd", 92.52, 1.5)])
def test_schedulers_of_crates_run_as_they_are(sim, name, hogs, wait_ms):
    """The shares of the first, third and fourth are the prototype's; how long bursts wait tells them apart."""
    mixed = sim("--check", "--scx", load(f"{CRATES}/scx_{name}/main.bpf.c"), *MIXED)
    assert "disabled" not in mixed.err and mixed.share("hog") / 4 == pytest.approx(hogs, abs=0.1)
    assert mixed.row("burst")["wait_ns"]["mean"] <= wait_ms * 1e6


def test_threads_compile_an_example_once(monkeypatch):
    all_ask, made = threading.Barrier(4), []

    def make(*words):
        made.append(words)
        time.sleep(0.1)  # the others come
        return pathlib.Path("build/scx/central")

    def ask(_):
        all_ask.wait()
        return simulator.policy_words("scx:central,slice=1", "nowhere")

    monkeypatch.setattr(simulator, "make_program", make)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == 4 * [["--scx", "build/scx/central.so,slice=1"]]
    assert len(made) == 1
