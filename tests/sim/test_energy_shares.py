# SPDX-License-Identifier: GPL-2.0-only
"""Whose the energy of a run is: each task's and group's part, against the trace and against numbers worked out."""

import json
from collections import defaultdict

import pytest

from tests.sim.conftest import MS, SEC, policies
from fairground.trace.tracefile import TraceFile
from tests.sim.test_energy import fields
from tests.sim.test_opp import A53

POWER = {mhz: busy for mhz, (_, busy, _) in A53.items()}  # of a CPU


def energies(result):
    return {row["name"]: row["energy"] for row in result["tasks"]}


@pytest.mark.parametrize("mhz", POWER)
def test_at_one_point_it_is_time_by_power(sim, mhz):
    result = sim(f"--opp juno-a53 --governor userspace:{mhz} --time 1s bursts:n=3,run=1ms,sleep=3ms hogs:n=2").result()
    for row in result["tasks"]:
        assert row["energy"] == row["cpu_ns"] * POWER[mhz] and row["cpu_ns"] > 100 * MS


def by_the_trace(path, end):
    """Of each kind of task: the power of its CPU by the time that it ran, from switches and frequencies alone."""
    found, mhz, running, since = defaultdict(int), defaultdict(lambda: 850), {}, {}
    begin = None

    def up(cpu, time):
        if running.get(cpu):
            found[running[cpu]] += (time - since[cpu]) * POWER[mhz[cpu]]
        since[cpu] = time
    for event in TraceFile(path).events({"cpu_frequency", "sched_switch"}):
        values = fields(event)
        begin = event.time if begin is None else begin
        if event.format.name == "cpu_frequency":
            up(values["cpu_id"], event.time)
            mhz[values["cpu_id"]] = values["state"] // 1000
        else:
            up(event.cpu, event.time)
            running[event.cpu] = values["next_pid"] and values["next_comm"].split("-")[0]
    for cpu in running:
        up(cpu, begin + end)
    return dict(found)


@pytest.mark.parametrize("sched", policies())
def test_each_task_pays_for_what_its_cpu_takes(sim, tmp_path, sched):
    """Under every policy, while the frequency changes. What is left is the idle CPUs' and what domains share."""
    path = tmp_path / "run.dat"
    run = sim(f"--opp juno-a53 --governor schedutil --sched {sched} --time 1s --check --trace {path} "
              "hogs:n=1,cpus=0+1,run=100ms,util_max=600 bursts:n=3,run=3ms,sleep=17ms periodic:n=2,run=1ms,period=5ms")
    result = run.result()
    assert result["frequencies"][0]["transitions"] > 10
    judged = by_the_trace(path, SEC)
    assert judged.keys() == energies(result).keys()
    for name, energy in energies(result).items():
        assert abs(energy - judged[name]) <= 2 * 93, name  # the first event is a ns after the start
    idle = sum(ns * power for cpu in result["frequencies"] for ns, power in zip(cpu["idle_ns"], (6, 0)))
    assert result["energy"] == sum(energies(result).values()) + idle + result["frequencies"][0]["domain_energy"]


def test_a_group_has_what_its_members_took_while_they_were_there(sim, tmp_path):
    """A task that spends 10 ms in one group and 30 in another, where it then stays; and in the group above both."""
    path = tmp_path / "run.json"
    phases = {name: {"taskgroup": f"/top/{name}", "run": us, "loop": 1} for name, us in (("a", 10_000), ("b", 30_000))}
    path.write_text(json.dumps({"global": {"duration": 1}, "tasks": {"t": {"loop": 1, "phases": phases}}}),
                    encoding="utf-8")
    result = sim("--opp juno-a53 --governor performance --time 1s", str(path)).result()
    of = {group["path"]: group["energy"] for group in result["groups"]}
    assert of == {"/top": 40 * MS * 93, "/top/a": 10 * MS * 93, "/top/b": 30 * MS * 93}


def test_the_table_adds_up(sim):
    """In the text: tasks, idle CPUs and what is shared are all of it. With several policies a line of each kind."""
    words = "--opp juno --governor schedutil --time 500ms bursts:n=3,run=2ms,sleep=8ms hogs:n=2,run=50ms"
    text = sim(words).out
    lines = text[text.index("energy of"):].split("\n\n")[0].splitlines()[1:]
    shared = sum(float(line.split()[10]) for line in text.splitlines() if line[:2] in ("0:", "1:"))
    total = next(float(line.split()[-1]) for line in text.splitlines() if line.startswith("energy, all"))
    parts = [float(line[24:].split()[0]) for line in lines]
    assert len(parts) == 3 and sum(parts) + shared == pytest.approx(total, abs=0.01)
    several = sim("--sched all " + words).out
    assert several.count("energy of its CPUs") == 2 and several.count("idle CPUs") == len(policies())
