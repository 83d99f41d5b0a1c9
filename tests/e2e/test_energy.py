# SPDX-License-Identifier: GPL-2.0-only
"""CPUs of several speeds in the kernel: programs slow down, and Linux's files of frequencies, boosts and energy."""

import re

import pytest

from tests.e2e.conftest import settings
from fairground.machine.machine import run_batch

pytestmark = pytest.mark.exact

# A program that knows nothing of frequencies: so many rounds of a shell's loop.
WORK = "time sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'"


def seconds(text):
    minutes, rest = re.search(r"real\s+(\d+)m ([\d.]+)s", text).groups()
    return 60 * int(minutes) + float(rest)


@pytest.fixture(scope="module")
def full_speed():
    return seconds(run_batch(settings(WORK, icount=True)).console)


@pytest.mark.sampled(6, "a speed that does not slow a program down")
@pytest.mark.parametrize("governor, capacity", [("performance", 1024), ("powersave", 542)])
def test_a_program_slows_down_to_its_cpus_capacity(boot, full_speed, governor, capacity):
    """It needs 1024 / capacity of the time. The stalls' own interrupts cost up to 3 % more."""
    took = seconds(boot(WORK, icount=True, append=f"opp=juno-a53 governor={governor}").console)
    assert -0.02 <= took - full_speed * 1024 / capacity <= 0.02 + 0.03 * took * (capacity < 1024)


@pytest.mark.sampled(6, "a parameter whose sentence is another")
@pytest.mark.parametrize("words, said", [
    ("opp=juno9", "opp=juno9: there is no such table"),
    ("opp=juno", "opp=juno: line 18: there is no CPU 4: the machine has 4"),
    ("governor=powersave", "governor=powersave: all CPUs have one speed"),
    ("opp=juno-a53 governor=turbo", "governor=turbo: there is no such governor"),
])
def test_wrong_parameters_are_told_and_change_nothing(boot, full_speed, words, said):
    text = boot("dmesg; " + WORK, icount=True, append=words).console
    assert said in text and abs(seconds(text) - full_speed) <= 0.011


POLICY = "cd /sys/devices/system/cpu/cpufreq/policy0; "
KHZ = [450000, 575000, 700000, 775000, 850000]


def said(text):
    """The lines "= NAME VALUE" of a run."""
    return {name: value.strip() for name, value in re.findall(r"^= (\S+) (.*?)\r?$", text, re.M)}


def test_the_files_are_linuxs(guest):
    """Two domains of a Juno: four small CPUs and two big ones. Each CPU leads to its domain's directory."""
    names = ("affected_cpus related_cpus cpuinfo_min_freq cpuinfo_max_freq scaling_cur_freq scaling_min_freq "
             "scaling_max_freq scaling_governor scaling_setspeed scaling_available_frequencies "
             "scaling_available_governors stats/total_trans cpuinfo_transition_latency")
    text = guest(f"cd /sys/devices/system/cpu; for f in {names}; do echo = $f $(cat cpu4/cpufreq/$f); done; "
                 "echo = link $(readlink cpu1/cpufreq) $(readlink cpu4/cpufreq)",
                 cpus=6, append="opp=juno topology=llcs=2,cores=2+4 governor=schedutil", icount=True)
    files = said(text)
    assert files["affected_cpus"] == files["related_cpus"] == "2 3 4 5"
    assert files["scaling_available_frequencies"].split() == list(map(str, KHZ))
    assert {"performance", "powersave", "userspace", "ondemand", "schedutil", "sched"} \
        == set(files["scaling_available_governors"].split())
    assert files["cpuinfo_min_freq"] == files["scaling_min_freq"] == "450000"
    assert files["cpuinfo_max_freq"] == files["scaling_max_freq"] == "850000"
    assert int(files["scaling_cur_freq"]) in KHZ and files["scaling_governor"] == "schedutil"
    assert files["scaling_setspeed"] == "<unsupported>" and files["cpuinfo_transition_latency"] == "4294967295"
    assert files["link"] == "../cpufreq/policy0 ../cpufreq/policy2"


# (file, text, answer): under `userspace` at 700000 the text is written to the file of a domain, which then says the
# answer. None: the write is an error, and nothing changes.
WRITES = [
    ("scaling_governor", "turbo", None), ("scaling_governor", "", None), ("scaling_governor", "x" * 40, None),
    ("scaling_governor", "powersav", None), ("scaling_setspeed", "700001", None), ("scaling_setspeed", "-1", None),
    ("scaling_setspeed", "900000", None), ("scaling_setspeed", "fast", None), ("scaling_setspeed", "", None),
    ("scaling_min_freq", "x", None), ("scaling_max_freq", "99999999999", None), ("scaling_min_freq", "-5", None),
    ("scaling_setspeed", "450000", "450000"), ("scaling_max_freq", "575000", "575000"),
    ("scaling_min_freq", "700000", None),  # crossed
    ("scaling_min_freq", "460000", "575000"), ("scaling_max_freq", "460000", None),
    ("scaling_max_freq", "1", None), ("scaling_min_freq", "0", "450000"), ("scaling_max_freq", "1", "450000"),
    ("scaling_max_freq", "4000000", "850000"), ("scaling_governor", "powersave", "powersave"),
    ("scaling_setspeed", "450000", None),
]


def test_what_is_written_is_taken_or_changes_nothing(guest):
    text = guest(POLICY + "echo userspace > scaling_governor; echo 700000 > scaling_setspeed; " + "".join(
        f"was=$(cat {name}); echo '{word}' > {name}; err=$?; echo \\= {i} $err $was / $(cat {name}); "
        for i, (name, word, _) in enumerate(WRITES)), append="opp=juno-a53")
    found = {int(i): (int(err), was, now) for i, err, was, now in
             re.findall(r"^= (\d+) (\d) (\S+) / (\S+?)\r?$", text, re.M)}
    for i, (name, word, expected) in enumerate(WRITES):
        err, was, now = found[i]
        assert (err, now) == ((1, was) if expected is None else (0, expected)), (name, word, found[i])


@pytest.mark.parametrize("name", ["scaling_cur_freq", "cpuinfo_max_freq", "energy", "stats/time_in_state",
                                  "scaling_available_governors"])
def test_files_that_are_only_read(boot, name):
    text = boot(f"{POLICY} echo 1 > {name}; echo = $?", append="opp=juno-a53").console
    assert "Permission denied" in text and re.search(r"^= 1", text, re.M)


def test_tunables_and_their_errors(guest):
    """A boost is at most 100 %; without a table there is nothing to boost, and no file."""
    words = "for w in 101 -1 x ''; do echo $w > /proc/sys/kernel/sched_cfs_boost && echo taken; done; "
    text = guest(words + "cd /proc/sys/kernel; echo 100 > sched_cfs_boost; echo = boost $(cat sched_cfs_boost); "
                 "cd /sys/devices/system/cpu/cpufreq; echo 2000000 > schedutil/rate_limit_us && echo taken; "
                 "echo 9 > sched/throttle_defer && echo taken; echo = rest $(cat schedutil/* sched/*)",
                 append="opp=juno-a53")
    assert "taken" not in text and said(text) == {"boost": "100", "rest": "1000 1 50000000"}
    assert "none" in guest("ls /proc/sys/kernel/sched_cfs_boost /sys/devices/system/cpu/cpufreq || echo none")


def test_a_domain_whose_last_cpu_leaves(guest):
    text = guest("cd /sys/devices/system/cpu; "
                 "l() { echo = $1 $(ls cpufreq | tr '\\n' ' ') $(ls -d cpu?/cpufreq | wc -l); }; "
                 "l all; echo 0 > cpu2/online; l one; echo = left $(cat cpufreq/policy2/affected_cpus); "
                 "echo 0 > cpu3/online; l none; echo 1 > cpu3/online; l back; "
                 "echo powersave > cpu3/cpufreq/scaling_governor; echo = cur $(cat cpu3/cpufreq/scaling_cur_freq)",
                 append="opp=juno-a53 topology=llcs=2,cores=2", icount=True)
    assert said(text) == {"all": "policy0 policy2 sched schedutil 4", "one": "policy0 policy2 sched schedutil 3",
                          "left": "3", "none": "policy0 sched schedutil 2", "back": "policy0 policy2 sched schedutil 3",
                          "cur": "450000"}


def test_times_and_transitions(guest):
    """100 ms at each point: time_in_state counts them, total_trans and trans_table the changes."""
    text = guest(POLICY + "echo userspace > scaling_governor; for f in 450000 575000 700000 775000 850000; do "
                 "echo $f > scaling_setspeed; sleep 0.1; done; cat stats/*", append="opp=juno-a53", icount=True)
    times = dict(tuple(map(int, m)) for m in re.findall(r"^(\d{6}) (\d+)\r?$", text, re.M))
    assert all(10 <= times[khz] <= 12 for khz in KHZ[:4]) and 10 <= times[850000] <= 30
    rows = [list(map(int, m.split())) for m in re.findall(r"^ +\d{6}: ([\d ]+?)\s*$", text, re.M)]
    assert rows == [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    assert re.search(r"^5\r?$", text, re.M)


POWER = dict(zip(KHZ, [33, 46, 61, 76, 93]))


def energy_of(lines):
    """What a file `energy` says: (energy, the times in which it was taken)."""
    energy = int(re.search(r"energy (\d+)", lines).group(1))
    return energy, [tuple(map(int, m)) for m in re.findall(r"(?:busy|idle) (\d+) (\d+) (\d+)", lines)]


def test_energy_is_the_tables_power_times_time(guest):
    """Of each CPU and of the domain. A load that comes and goes under a governor that follows it."""
    text = guest("for i in 1 2 3 4 5; do hog -n 2 -t 60ms > /dev/null; sleep 0.06; done; cd /sys/devices/system/cpu; "
                 "for f in cpu0 cpu1 cpu2 cpu3 cpufreq/policy0; do echo \\= $f $(cat $f/energy); done",
                 append="opp=juno-a53 governor=sched", icount=True)
    files = said(text)
    assert len(files) == 5
    for name, lines in files.items():
        energy, times = energy_of(lines)
        assert energy == sum(power * ns for _, power, ns in times) > 0, name
        busy = {khz: power for khz, power, _ in times if khz >= 1000}
        assert busy == (POWER if name.startswith("cpu") and "/" not in name else dict(zip(KHZ, [26, 30, 39, 47, 57])))


def test_energy_is_the_integral_over_the_trace(guest):
    """Busy times and frequencies from the events power:cpu_idle and power:cpu_frequency alone."""
    text = guest("cd /sys/kernel/tracing; echo 4000 > buffer_size_kb; echo 1 > events/power/cpu_idle/enable; "
                 "echo 1 > events/power/cpu_frequency/enable; cat /sys/devices/system/cpu/cpu1/energy; "
                 "cat /sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq; "
                 "echo =cut=; taskset 2 sh -c 'for i in 1 2 3; do hog -n 1 -t 50ms > /dev/null; sleep 0.05; done'; "
                 "cat /sys/devices/system/cpu/cpu1/energy; echo =cut=; cat trace",
                 append="opp=juno-a53 governor=sched", icount=True)
    before, after, trace = text.split("=cut=")
    spent = {khz: ns - dict((k, n) for k, _, n in energy_of(before)[1] if k >= 1000)[khz]
             for khz, _, ns in energy_of(after)[1] if khz >= 1000}
    found = dict.fromkeys(KHZ, 0.0)
    khz_now, since = int(before.split()[-1]), None
    for at, event, state in re.findall(r"(\d+\.\d+): (cpu_idle|cpu_frequency): state=(\d+) cpu_id=1\b", trace):
        now = float(at)
        if since is not None:
            found[khz_now] += now - since
            since = now
        if event == "cpu_frequency":
            khz_now = int(state)
        else:
            since = None if state == "0" else now
    assert sum(spent.values()) > 100e6
    for khz in KHZ:
        # The trace begins before the first reading and ends after the second one: milliseconds.
        assert abs(spent[khz] / 1e9 - found[khz]) < 0.005, (khz, spent, found)
