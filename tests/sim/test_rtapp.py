# SPDX-License-Identifier: GPL-2.0-only
"""rt-app files: the examples, the meaning of each event, and every mistake named with its line."""

import glob
import os

import pytest

from tests.sim.conftest import MS, ROOT, SEC, policies, run

EXAMPLES = sorted(glob.glob(os.path.join(ROOT, "examples", "*.json")))


@pytest.mark.parametrize("path", EXAMPLES, ids=os.path.basename)
def test_examples_run_under_every_policy(sim, path):
    run = sim("--sched all --cpus 4 --check --time 500ms", path)
    for result in run.data["results"]:
        assert all(t["tasks"] for t in result["tasks"])
    assert [r["sched"] for r in run.data["results"]] == policies()


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


def test_duration_is_the_file_s(sim, rtapp):
    path = rtapp({"global": {"duration": 3}, "tasks": {"a": {"run": 1000, "sleep": 1000}}})
    assert sim("", path).data["duration_ns"] == 3 * SEC
    assert sim("--time 1s", path).data["duration_ns"] == SEC


def test_comments_and_trailing_commas(sim, rtapp):
    path = rtapp('// one\n{ /* two\n */ "tasks": { "a": { "run": 1000, "sleep": 1000, }, }, }\n')
    assert sim("--time 10ms", path).row("a")["cpu_ns"] == 5 * MS


def test_comment_signs_in_a_string(sim, rtapp):
    path = rtapp('{"tasks": {"a//b": {"run": 1000, "sleep": 1000}, "/*c*/": {"sleep": 1000, "run": 1}}}')
    run = sim("--time 10ms", path)
    assert run.row("a//b")["tasks"] == 1 and run.row("/*c*/")["tasks"] == 1


def test_work_and_wall_time(sim, rtapp):
    """"run" is work; "runtime" ends when the time has passed, whichever task ran meanwhile."""
    tasks = {"work": {"loop": 1, "run": 100_000}, "wall": {"loop": 1, "runtime": 100_000}}
    run = sim("--time 1s", rtapp({"tasks": tasks}))
    assert run.row("work")["cpu_ns"] == 100 * MS
    # The task looks at the clock after each 32 us of work, and may have to wait for the CPU before that.
    assert 40 * MS < run.row("wall")["cpu_ns"] < 60 * MS


def test_timers(sim, rtapp):
    """An overrun of 25 ms at a period of 10: "absolute" catches up with the grid, "relative" starts a new one."""
    def events(mode):
        timer = {"ref": "unique1", "period": 10_000, "mode": mode}
        phases = {"late": {"run": 25_000, "timer": timer}, "then": {"loop": 6, "run": 1000, "timer": timer}}
        return {"tasks": {"a": {"loop": 1, "phases": phases}}}

    run = sim("--time 1s", rtapp(events("absolute")))
    # Expiries 10, 20 (both past), then 30 to 70: two of the six do not sleep.
    assert run.row("a")["wakeups"] == 5
    run = sim("--time 1s", rtapp(events("relative")))
    assert run.row("a")["wakeups"] == 6


def test_timers_that_instances_share(sim, rtapp):
    """Two instances of one named timer take its expiries in turn; a unique timer exists once for each instance."""
    def rounds(ref):
        task = {"instance": 2, "run": 100, "timer": {"ref": ref, "period": 10_000, "mode": "absolute"}}
        return sim("--time 1s", rtapp({"tasks": {"a": task}})).row("a")["cpu_ns"] / 100_000

    assert rounds("unique") == pytest.approx(200, abs=2)
    assert rounds("shared") == pytest.approx(100, abs=2)


def test_delay_loop_instance(sim, rtapp):
    run = sim("--time 1s", rtapp({"tasks": {"a": {"instance": 3, "delay": 500_000, "loop": 4, "run": 1000}}}))
    row = run.row("a")
    assert (row["tasks"], row["ended"], row["cpu_ns"]) == (3, 3, 12 * MS)
    assert sim("--time 499ms", rtapp({"tasks": {"a": {"delay": 500_000, "run": 1000}}})).row("a")["cpu_ns"] == 0


def test_phases(sim, rtapp):
    """Two rounds of 3 x 1 ms and 2 ms, and then the task is over."""
    phases = {"one": {"loop": 3, "run": 1000, "sleep": 1000}, "two": {"run0": 500, "sleep0": 10, "run1": 1500}}
    row = sim("--time 1s", rtapp({"tasks": {"a": {"loop": 2, "phases": phases}}})).row("a")
    assert (row["ended"], row["cpu_ns"]) == (1, 2 * 5 * MS)


def test_phases_change_policy_and_cpus(sim, rtapp):
    """The second phase moves it to CPU 1 as a FIFO task, away from the hog: it never waits there."""
    phases = {"fair": {"loop": 10, "cpus": [0], "run": 5000, "sleep": 100},
              "rt": {"loop": 10, "policy": "SCHED_FIFO", "priority": 30, "cpus": [1], "run": 5000, "sleep": 100}}
    tasks = {"a": {"loop": 1, "cpus": [0], "phases": phases}, "hog": {"cpus": [0], "run": 100_000}}
    row = sim("--cpus 2 --time 1s --check", rtapp({"tasks": tasks})).row("a")
    assert (row["ended"], row["cpu_ns"], row["migrations"]) == (1, 100 * MS, 1)


def test_mutex_excludes(sim, rtapp):
    """Two tasks on two CPUs that hold one mutex for all their work get one CPU between them."""
    task = {"instance": 2, "lock": "m", "run": 1000, "unlock": "m"}
    run = sim("--cpus 2 --time 1s", rtapp({"tasks": {"a": task}}))
    assert run.share("a") == pytest.approx(100, abs=0.5)


def test_condition_wakes_one_or_all(sim, rtapp):
    def woken(event):
        waiter = {"instance": 4, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 100}
        waker = {"sleep": 10_000, "lock": "m", event: "c", "unlock": "m"}
        return sim("--cpus 8 --time 995ms", rtapp({"tasks": {"w": waiter, "s": waker}})).row("w")["cpu_ns"] // 100_000

    assert woken("signal") == 99 and woken("broad") == 4 * 99


def test_sync_alternates(sim, rtapp):
    """Each signals the other's condition and waits for its own signal: the classic ping-pong."""
    def player(own):
        return {"lock": "m", "sync": {"ref": "c", "mutex": "m"}, "unlock": "m", own: 1000}

    run = sim("--cpus 2 --time 1s", rtapp({"tasks": {"a": player("run"), "b": player("run")}}))
    assert run.row("a")["cpu_ns"] == pytest.approx(run.row("b")["cpu_ns"], rel=0.02)


def test_semaphore_remembers(sim, rtapp):
    tasks = {"post": {"loop": 5, "sem_post": "s", "run": 10}, "take": {"delay": 100_000, "sem_wait": "s", "run": 1000}}
    assert sim("--time 1s", rtapp({"tasks": tasks})).row("take")["cpu_ns"] == 5 * MS


def test_suspend_forgets(sim, rtapp):
    """Two resumes before the suspend are lost; the third, later, wakes it."""
    tasks = {"sleeper": {"delay": 100_000, "loop": 1, "suspend": "", "run": 1000},
             "early": {"loop": 2, "resume": "sleeper", "run": 10},
             "late": {"delay": 300_000, "loop": 1, "resume": "sleeper"}}
    assert sim("--time 299ms", rtapp({"tasks": tasks})).row("sleeper")["cpu_ns"] == 0
    assert sim("--time 400ms", rtapp({"tasks": tasks})).row("sleeper")["cpu_ns"] == 1 * MS


def test_barrier_waits_for_all(sim, rtapp):
    """The quick task goes at the pace of the slow ones."""
    tasks = {"quick": {"run": 100, "barrier": "b"}, "slow": {"instance": 2, "run": 10_000, "barrier": "b"}}
    run = sim("--cpus 4 --time 1s", rtapp({"tasks": tasks}))
    assert run.row("quick")["cpu_ns"] == pytest.approx(100 * 100_000, rel=0.02)


def test_fork(sim, rtapp):
    tasks = {"parent": {"loop": 7, "fork": "child", "run": 100}, "child": {"instance": 0, "loop": 1, "run": 1000}}
    row = sim("--cpus 2 --time 1s", rtapp({"tasks": tasks})).row("child")
    assert (row["tasks"], row["ended"], row["cpu_ns"]) == (7, 7, 7 * MS)


def test_slices(sim, rtapp):
    """A short request is served soon: the point of EEVDF. CFS has no requests."""
    def wait(sched, slice_us):
        tasks = {"a": {"dl-runtime": slice_us, "run": 200, "sleep": 5000}, "hog": {"instance": 4, "run": 1000}}
        return sim(f"--sched {sched} --time 3s", rtapp({"tasks": tasks})).row("a")["wakeup_ns"]["p99"]

    assert wait("eevdf", 100) < wait("eevdf", 50_000)
    assert wait("cfs", 100) == wait("cfs", 50_000)


def test_memory_costs_what_it_is_told(sim, rtapp):
    path = rtapp({"tasks": {"a": {"mem": 10_240, "iorun": 2048, "sleep": 1000}}})
    assert sim("--time 10ms", path).row("a")["cpu_ns"] == 0
    row = sim("--time 10ms --cost-mem 100", path).row("a")
    assert row["cpu_ns"] % 1200 == 0 and row["cpu_ns"] > 0


@pytest.mark.parametrize("line, text", [
    (1, "[]"),
    (1, ""),
    (3, '{\n"tasks": {\n"a": {"run": -5}}}'),
    (3, '{\n"tasks": {\n"a": {"run": 1.5}}}'),
    (3, '{\n"tasks": {\n"a": {"run": "5"}}}'),
    (3, '{\n"tasks": {\n"a": {"run": 99999999999999999999}}}'),
    (4, '{\n"tasks": {\n"a": {"run": 5,\n"slep": 6}}}'),
    (2, '{\n"task": {"a": {"run": 5}}}'),
    (2, '{ "tasks": {"a": {"run": 5}},\n"global": {"durations": 5}}'),
    (2, '{ "tasks": {"a": {"run": 5}},\n"global": {"duration": "5"}}'),
    (2, '{ "tasks": {"a": {"run": 5}},\n"global": {"default_policy": "SCHED_LOTTERY"}}'),
    (2, '{ "tasks": {"a": {"run": 5}},\n"global": {"pi_enabled": 1}}'),
    (1, '{ "tasks": [1] }'),
    (1, '{ "global": {} }'),
    (2, '{ "tasks":\n{"a":\n5}}'),
    (2, '{ "tasks": {"a": {\n"run": 5 "sleep": 6}}}'),
    (2, '{ "tasks": {"a": {\n"run" 5}}}'),
    (3, '{ "tasks": {"a": {\n"run": 5\n'),
    (2, '{ "tasks": {"a": {\n"run": 5}}}}'),
    (2, '{ "tasks": {"a": {\n"run": 05x}}}'),
    (2, '{ "tasks": {"a": {\nrun: 5}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}}\n/* endless'),
    (3, '{ "tasks": {"a": {\n"run": 5,\n"run": 6}}}'),
    (2, '{ "tasks": {"a": {\n"policy": "SCHED_DEADLINE", "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"priority": 20, "run": 5}}}'),
    (2, '{ "tasks": {"a": {"policy": "SCHED_FIFO",\n"priority": 0, "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"cpus": [0, 4], "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"cpus": [], "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"cpus": 0, "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"loop": 0, "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"instance": 1000001, "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"dl-runtime": 99, "run": 5}}}'),
    (3, '{ "tasks": {"a": {"policy": "SCHED_FIFO",\n"run": 5,\n"dl-runtime": 1000}}}'),
    (2, '{ "tasks": {"a": {\n"fork": "b"}}}'),
    (2, '{ "tasks": {"a": {\n"resume": "b"}}}'),
    (2, '{ "tasks": {"a": {\n"timer": {"ref": "t"}}}}'),
    (2, '{ "tasks": {"a": {\n"timer": {"ref": "t", "period": 0}}}}'),
    (2, '{ "tasks": {"a": {\n"timer": {"ref": "t", "period": 5, "mode": "fast"}}}}'),
    (2, '{ "tasks": {"a": {\n"timer": {"ref": "t", "period": 5, "phase": 1}}}}'),
    (2, '{ "tasks": {"a": {\n"wait": "c"}}}'),
    (2, '{ "tasks": {"a": {\n"wait": {"ref": "c"}}}}'),
    (2, '{ "tasks": {"a": {\n"memrun": {"type": "read"}}}}'),
    (2, '{ "tasks": {"a": {\n"taskgroup": "x", "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"taskgroup": "/x/", "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"taskgroup": "/x/../y", "run": 5}}}'),
    (2, '{ "tasks": {"a": {\n"taskgroup": 5, "run": 5}}}'),
    (2, '{ "tasks": {"a": {"policy": "SCHED_FIFO",\n"taskgroup": "/x", "run": 5}}}'),
    (2, '{ "tasks": {"a": {"run": 5}},\n"taskgroups": 5}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {\n"x": {}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {\n"/": {"shares": 5}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {\n"/x": 5}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {"/x": {\n"share": 5}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {"/x": {\n"shares": 1}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {"/x": {\n"shares": 262145}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {"/x": {\n"quota": 999}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {"/x": {\n"period": 1000001}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {"/x": {\n"idle": 1}}}'),
    (3, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {"/x": {"shares": 5},\n"/y": {},\n"/x": {}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {\n"/x": {"quota": 5000, "burst": 5001}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {\n"/x": {"burst": 5001}}}'),
    (2, '{ "tasks": {"a": {"run": 5}}, "taskgroups": {\n"/x": {"idle": true, "shares": 100}}}'),
    (2, '{ "tasks": {"a": {"phases": {"p": {"run": 5}},\n"run": 5}}}'),
    (2, '{ "tasks": {"a": {"phases": {"p": {"run": 5,\n"delay": 5}}}}}'),
    (2, '{ "tasks": {"a": {"timer0": {"ref": "unique", "period": 5},\n"timer1": {"ref": "unique2", "period": 5}}}}'),
])
def test_mistakes_are_named_with_their_line(fails, rtapp, line, text):
    path = rtapp(text)
    assert fails("--strict --cpus 4", path).startswith(f"{path}:{line}: ")


# Mistakes of public files that rt-app or its workgen let pass: (file, the notes, runs of its tasks in a second)
LOOSE = [
    ('{"global": {"duration": 1, "frag": 1,\n"logstats": true}, "tasks": {"a": {"run": 1000, "sleep": 9000}}}',
     [(1, 'unknown key "frag" is left out'), (2, 'unknown key "logstats" is left out')], {"a": (100, 100)}),
    ('{"tasks": {"a": {"run": 1000, "resume": "b", "sleep": 9000},\n"b": {"suspend", "run": 2000}}}',
     [(2, '"suspend" has no value; it suspends its own task')], {"a": (100, 100), "b": (100, 200)}),
    ('{"tasks": {"a": {"run": 1000, "sleep": 2000,\n"run": 3000, "sleep": 4000},\n"a": {"run": 5000, "sleep": 5000}}}',
     [(3, 'a second task "a"; it is called a1'), (2, 'the key "run" is here twice; both count'),
      (2, 'the key "sleep" is here twice; both count')], {"a": (200, 400), "a1": (100, 500)}),
    ('{"tasks": {"a": {"run": 1000, "resume": "nobody", "sleep": 9000}}}',
     [(1, 'there is no such task: "resume" does nothing')], {"a": (100, 100)}),
]


@pytest.mark.parametrize("text, notes, tasks", LOOSE)
def test_loose_files_run_with_a_note(rtapp, tmp_path, text, notes, tasks):
    path = rtapp(text)
    done = run(["--cpus", "4", "--time", "1s", path], str(tmp_path))
    assert done.status == 0
    assert done.err.splitlines() == [f"schedsim: {path}:{line}: {note}" for line, note in notes]
    for name, (runs, cpu_ms) in tasks.items():
        row = done.row(name)
        assert abs(row["runs"] - runs) <= 2 and abs(row["cpu_ns"] / 1e6 - cpu_ms) <= 5


@pytest.mark.parametrize("text, notes, tasks", LOOSE)
def test_loose_files_are_refused_on_request(fails, rtapp, text, notes, tasks):
    path = rtapp(text)
    assert fails("--strict --cpus 4", path).startswith(f"{path}:{notes[0][0]}: ")


@pytest.mark.parametrize("text, message", [
    ('{"tasks": {"a": {"yield": ""}}}', "a-0: it goes on and on without using time"),
    ('{"tasks": {"a": {"exec": 5, "period": 10}}}', 'unknown key "exec": rt-app before 1.0 called "run" so'),
    ('{"tasks": {"a": {"run": 5, "unlock": "m"}}}', "a-0: it unlocks a mutex that it does not hold"),
])
def test_programs_that_make_no_sense(fails, rtapp, text, message):
    assert message in fails("", rtapp(text))


def test_missing_file(fails):
    assert fails("/no/such/file.json") == "/no/such/file.json: No such file or directory"
