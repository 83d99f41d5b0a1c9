# SPDX-License-Identifier: GPL-2.0-only
"""CPUs of several speeds: work takes longer, utilisation does not change, energy is the table's power times time."""

import json

import pytest

from tests.sim.conftest import MS, SEC, policies
from fairground.machine.image import field_value
from fairground.trace.tracefile import TraceFile

# Of a CPU and of what its domain shares: MHz: capacity, power of both while busy; power of both while idle, and from
# when on in us. Published numbers; docs/energy.md says where.
A53 = {450: (542, 33, 26), 575: (692, 46, 30), 700: (843, 61, 39), 775: (933, 76, 47), 850: (1024, 93, 57)}
LITTLE = {450: (235, 33, 26), 575: (302, 46, 30), 700: (368, 61, 39), 775: (406, 76, 47), 850: (447, 93, 57)}
BIG = {450: (417, 168, 24), 625: (579, 251, 32), 800: (744, 359, 43), 950: (883, 479, 49), 1100: (1024, 616, 64)}
IDLE = {"a53": [(6, 56, 0), (0, 17, 2500)], "a57": [(15, 65, 0), (0, 24, 2500)]}


@pytest.mark.parametrize("mhz", A53)
def test_work_takes_as_long_as_the_speed_says(sim, mhz):
    """1 ms of work at full speed, then 1 ms of sleep, rounded up to whole ns."""
    run = sim(f"--opp juno-a53 --governor userspace:{mhz} --time 1s bursts:run=1ms,sleep=1ms,cpus=1")
    each = -(-MS * 1024 // A53[mhz][0])
    assert abs(run.row("burst")["cpu_ns"] - SEC * each // (each + MS)) <= each
    assert run.row("burst")["wakeups"] in (SEC // (each + MS) - 1, SEC // (each + MS))


def test_a_program_that_runs_on_two_types(sim):
    """50 ms of work take 50 ms of a big CPU and 112 of a small one."""
    big = sim("--opp juno --time 1s bursts:n=1,run=50ms,sleep=10s,cpus=0")
    little = sim("--opp juno --time 1s bursts:n=1,run=50ms,sleep=10s,cpus=5")
    assert big.row("burst")["cpu_ns"] == 50 * MS
    assert little.row("burst")["cpu_ns"] == -(-50 * MS * 1024 // 447)


def integrate(events, cpus, table, domain_of, mhz, end):
    """Energy of each CPU and of each domain, by running through the trace with exact numbers."""
    types = {cpu: ("a57" if table is not A53 and cpu < 2 else "a53") for cpu in cpus}
    points = {cpu: BIG if types[cpu] == "a57" else (A53 if table is A53 else LITTLE) for cpu in cpus}
    meters = {**{("cpu", cpu): [0, None, 0] for cpu in cpus},  # energy, busy since or None, idle since
              **{("domain", d): [0, None, 0] for d in set(domain_of.values())}}
    busy = {cpu: False for cpu in cpus}

    def idle_energy(kind, member, begin, now):
        energy, states = 0, IDLE[types[member]]
        for i, state in enumerate(states):
            last = begin + states[i + 1][2] * 1000 if i + 1 < len(states) else now
            energy += state[kind == "domain"] * max(0, min(now, last) - min(now, begin + state[2] * 1000))
        return energy

    def close(key, member, now):
        meter, column = meters[key], 1 if key[0] == "cpu" else 2
        if meter[1] is not None:
            meter[0] += points[member][mhz[member]][column] * (now - meter[1])
            meter[1] = now

    def turn(key, member, now, is_busy):
        close(key, member, now)
        if is_busy:
            meters[key][0] += idle_energy(key[0], member, meters[key][2], now)
        meters[key][1:] = [now, 0] if is_busy else [None, now]

    for event in events:
        now, cpu = event.time, event.cpu
        fields = {field.name: field_value(field, event.data) for field in event.format.fields}
        if event.format.name == "cpu_frequency":
            cpu = fields["cpu_id"]
            close(("cpu", cpu), cpu, now)
            close(("domain", domain_of[cpu]), cpu, now)
            mhz[cpu] = fields["state"] // 1000
        elif (fields["next_pid"] != 0) != busy[cpu]:
            others = any(busy[c] for c in cpus if domain_of[c] == domain_of[cpu] and c != cpu)
            busy[cpu] = not busy[cpu]
            turn(("cpu", cpu), cpu, now, busy[cpu])
            if not others:
                turn(("domain", domain_of[cpu]), cpu, now, busy[cpu])
    for key, meter in meters.items():
        member = key[1] if key[0] == "cpu" else min(c for c in cpus if domain_of[c] == key[1])
        if meter[1] is None:
            meter[0] += idle_energy(key[0], member, meter[2], end)
        else:
            close(key, member, end)
    return {key: meter[0] for key, meter in meters.items()}


@pytest.mark.parametrize("opp, governor", [("juno-a53", "performance"), ("juno", "powersave"),
                                           ("juno-a53", "userspace:700")])
def test_energy_is_the_integral_over_the_trace(sim, tmp_path, opp, governor):
    path = tmp_path / "run.dat"
    run = sim(f"--opp {opp} --governor {governor} --time 300ms --trace {path}",
              "bursts:n=3,run=1ms-3ms,sleep=1ms-9ms", "hogs:n=1,cpus=1", "periodic")
    cpus = run.result()["frequencies"]
    end = run.data["duration_ns"]
    events = [e for e in TraceFile(path).events({"sched_switch", "cpu_frequency"}) if e.time < end]
    domain_of = {i: cpu["domain"] for i, cpu in enumerate(cpus)}
    mhz = {i: cpu["mhz"] for i, cpu in enumerate(cpus)}  # these governors never change it
    judged = integrate(events, list(domain_of), A53 if opp == "juno-a53" else LITTLE, domain_of, mhz, end)
    for i, cpu in enumerate(cpus):
        # Records begin 1 ns after the start, see sim_record_time().
        assert abs(cpu["energy"] - judged["cpu", i]) <= 616
        assert abs(cpu["domain_energy"] - judged["domain", cpu["domain"]]) <= 65
        assert sum(cpu["busy_ns"]) + sum(cpu["idle_ns"]) == end
        assert sum(cpu["domain_busy_ns"]) + sum(cpu["domain_idle_ns"]) == end
    domains = {cpu["domain"]: cpu["domain_energy"] for cpu in cpus}
    assert run.result()["energy"] == sum(cpu["energy"] for cpu in cpus) + sum(domains.values())


@pytest.mark.parametrize("sched", policies())
def test_half_the_capacity_is_half_the_progress(sim, sched):
    """Two hogs of equal weight share a slow CPU as they share a fast one; a task with work needs more of it."""
    run = sim(f"--sched {sched} --opp juno-a53 --governor powersave --time 2s --check hogs:n=2,cpus=0"
              " bursts:n=1,run=100ms,sleep=10s,cpus=1")
    assert run.share("hog") == 100
    assert run.row("burst")["cpu_ns"] == -(-100 * MS * 1024 // 542)


def test_one_speed_is_as_before(sim):
    words = "--cpus 4 --time 200ms bursts:n=6,run=1ms-3ms,sleep=1ms-9ms hogs:n=2"
    plain, none = sim(words), sim(f"--opp none {words}")
    assert plain.result() == none.result() and "energy" not in plain.result()
    # At its fastest point, this machine decides the same.
    fast = sim(f"--opp juno-a53 {words}").result()
    assert [t["cpu_ns"] for t in fast["tasks"]] == [t["cpu_ns"] for t in plain.result()["tasks"]]
    assert fast["switches"] == plain.result()["switches"]


def test_tables_bring_their_machine(sim, tmp_path):
    assert sim("--opp juno --time 1ms hogs").data["topology"] == "6 CPUs, 1 node, 1 package, 2 llcs, 6 cores"
    assert sim("--opp juno-a53 --topology 2x2x1 --time 1ms hogs").data["cpus"] == 4
    table = tmp_path / "own"
    table.write_text("type fast\nopp 1000 1024 100 10 # the only one\nidle 0 0 0\n"
                     "type slow\nopp 250 256 10 1\nidle 0 0 0\ndomain 1 fast\ndomain 0 slow\n", encoding="utf-8")
    run = sim("--cpus 2 --time 100ms hogs:n=1,cpus=0 hogs:n=1,cpus=1", "--opp", str(table))
    assert [cpu["energy"] for cpu in run.result()["frequencies"]] == [10 * 100 * MS, 100 * 100 * MS]
    assert run.result()["energy"] == (10 + 1 + 100 + 10) * 100 * MS


def test_a_file_asks_for_a_platform(sim, fails, tmp_path):
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    work = {"tasks": {"t": {"run": 1000, "sleep": 1000, "loop": 10}}, "global": {"duration": 1}}
    file.write_text(json.dumps({"platform": "juno-a53", **work}), encoding="utf-8")
    other.write_text(json.dumps({"platform": "juno", **work}), encoding="utf-8")
    assert sim(str(file)).data["cpus"] == 4 and sim(str(other)).data["cpus"] == 6
    assert sim("--opp none --cpus 1", str(file)).data["cpus"] == 1
    assert "two platforms, juno-a53 and juno" in fails(str(file), str(other))
    file.write_text(json.dumps({"platform": 5, **work}), encoding="utf-8")
    assert "a.json" in fails(str(file))


@pytest.mark.parametrize("words, message", [
    ("--opp mars hogs", "--opp mars: neither juno-a53, juno, none nor a file that can be read"),
    ("--opp juno --cpus 4 hogs", "--opp juno: line 18: there is no CPU 4: the machine has 4"),
    ("--opp juno --cpus 8 hogs", "--opp juno: CPU 6 is in no domain"),
    ("--governor powersave hogs", "--governor powersave: the CPUs have one speed; --opp gives them more"),
    ("--opp juno --governor turbo hogs", "--governor turbo: no such governor"),
    ("--opp juno --governor userspace:451 hogs", "CPU 0 has no such frequency to be told"),
    ("--opp juno --governor performance:450 hogs", "CPU 0 has no such frequency to be told"),
    ("--opp juno --governor userspace:x hogs", "must be NAME or userspace:MHZ"),
])
def test_bad_words(fails, words, message):
    assert message in fails(words)


def test_a_bad_table_is_named_with_its_line(fails, tmp_path):
    table = tmp_path / "own"
    table.write_text("type t\nopp 450 1024 1 1\nopp 400 1024 1 1\n", encoding="utf-8")
    assert fails("--opp", str(table), "hogs") == \
        f"--opp {table}: line 3: a point must be faster than the one before: 450 MHz, capacity 1024"


