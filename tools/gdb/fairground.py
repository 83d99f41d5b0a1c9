# SPDX-License-Identifier: GPL-2.0-only
"""gdb commands for a stopped Fairground kernel.

    rq [CPU]     the runqueues: who runs, who waits, in the timeline's order
    tasks        every thread: state, CPU, priority, virtual time
    tree CPU     the timelines of a CPU's fair class as the red-black trees they are
    why TASK     why that thread (a tid, or a name) does not run now
    trace [N]    the last N (20) events of all CPUs
    decision TASK  goes on until that thread is woken, gets a CPU or loses it

Everything is read from memory by the kernel's debug information; no code of the guest runs, so it works anywhere the
kernel's page tables are loaded, and looking changes nothing.
"""

import os
import sys

import gdb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from fairground.decisions import class_decisions, decision_kinds  # noqa: E402
from fairground.machine import image
from fairground.decisions.decision_file import SYSTEM, EventFile  # noqa: E402

NICE_0_WEIGHT = 1024
WEIGHT_SHIFT = 10
NS_PER_MS = 1e6
MIGRATING, DELAYED = 2, 3  # enum task_on_rq
STATE_LETTERS = ((0x1, "S"), (0x2, "D"), (0x4, "T"), (0x8, "t"), (0x10, "X"), (0x200, "W"), (0x800, "N"))


# --- reading structures ------------------------------------------------------------------------


def symbol(name):
    return gdb.parse_and_eval(name)


def pointer_to(type_name):
    return gdb.lookup_type(type_name).pointer()


def offset_of(type_name, member):
    """The offset of @member ("a.b" for nested ones) in `struct type_name`, in bytes."""
    where = gdb.Value(0).cast(pointer_to(type_name)).dereference()
    for part in member.split("."):
        where = where[part]
    return int(where.address)


def container_of(pointer, type_name, member):
    return gdb.Value(int(pointer) - offset_of(type_name, member)).cast(pointer_to(type_name))


def list_entries(head, type_name, member):
    """The elements of a struct list."""
    node = head["next"]
    while node != head.address:
        yield container_of(node, type_name, member)
        node = node["next"]


def class_state(area, type_name):
    """What a class keeps in @area, an array of words in a runqueue or in a task that is its own."""
    return area.address.cast(pointer_to(type_name)).dereference()


def text(array):
    return array.string(errors="replace")


def task_of(entity):
    return container_of(entity.address, "struct task", "fair").dereference()


def is_group(entity):
    return bool(entity["own_queue"])


def timeline(queue):
    """The queue's tree as (depth, entity), in its order; under fdl before it the tree of those with a deadline."""
    def walk(node, depth):
        if node:
            yield from walk(node["left"], depth + 1)
            yield depth, container_of(node, "struct entity", "node").dereference()
            yield from walk(node["right"], depth + 1)
    yield from walk(queue["due"]["root"], 0)
    yield from walk(queue["timeline"]["root"], 0)


def real_time(rq):
    return class_state(rq["class_state"]["rt"], "struct rt_queue")


def group_queues(rq):
    """The queues of groups in which something is, parents first."""
    queues = [queue.dereference() for queue in list_entries(rq["queues"], "struct fair_queue", "link")]
    return [queue for queue in reversed(queues) if queue["nr_running"]]


def machine():
    value = symbol("machine")
    if not value:
        raise gdb.GdbError("the scheduler is not initialised yet: break later, for instance on proc_start_init")
    return value.dereference()


def runqueue(cpu):
    m = machine()
    if not 0 <= cpu < int(m["nr_cpus"]):
        raise gdb.GdbError(f"there is no cpu {cpu}: this machine has 0 to {int(m['nr_cpus']) - 1}")
    return m["rq"][cpu]


def control_groups(parent):
    """All groups below @parent."""
    for group in list_entries(parent["children"], "struct cgroup", "sibling"):
        yield group
        yield from control_groups(group)


def path(task_group):
    """Of a group of tasks: where its directory is, seen from the root of its hierarchy."""
    roots = symbol("cgroup_roots")
    found = (group for root in range(roots.type.range()[1] + 1) for group in control_groups(roots[root]))
    group = next(group for group in found if group["tg"] == task_group)
    names = []
    while group["parent"]:
        names.append(group["dentry"]["name"].string(errors="replace"))
        group = group["parent"]
    return "/" + "/".join(reversed(names))


def threads():
    """Every thread that is in a process, and the idle threads first."""
    cpus = symbol("cpus")
    for cpu in range(int(machine()["nr_cpus"])):
        if cpus[cpu]:
            yield cpus[cpu]["idle"]
    for thread in list_entries(symbol("kernel_proc")["threads"], "struct thread", "proc_link"):
        yield thread
    for proc in list_entries(symbol("all_procs"), "struct proc", "all_link"):
        if proc != symbol("kernel_proc").address:
            yield from list_entries(proc["threads"], "struct thread", "proc_link")


# --- showing them ----------------------------------------------------------------------------------


def ms(ns):
    """Time in ms with six decimals, as the kernel's own dumps have it."""
    return f"{signed(ns) / NS_PER_MS:.6f}"


def signed(value):
    """The difference of two wrapping 64-bit numbers."""
    value = int(value) & (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def name(task):
    return f"{text(task['comm'])}/{int(task['pid'])}"


def label(entity):
    return path(entity["own_queue"]["group"]) if is_group(entity) else name(task_of(entity))


def is_current(task):
    return runqueue(int(task["cpu"]))["curr"] == task.address


def state(task):
    """R running, r waiting for its CPU, I the idle thread of a busy CPU, else the letters of ps, d: delayed."""
    if is_current(task):
        return "R"
    if not int(task["pid"]):
        return "I"
    if int(task["on_rq"]) and not is_delayed(task):
        return "r"
    letters = "".join(letter for bit, letter in STATE_LETTERS if int(task["state"]) & bit) or "r"
    return letters + "d" * is_delayed(task)


def is_delayed(task):
    """It sleeps, and stays in the timeline until the others have caught up with it (EEVDF)."""
    return int(task["on_rq"]) == DELAYED


def is_asleep(entity):
    """A delayed task; or a group that nobody runs in, delayed as well."""
    return not entity["own_queue"]["tasks"]["nr"] if is_group(entity) else is_delayed(task_of(entity))


def weight(entity):
    return int(entity["load"]["weight"]) >> WEIGHT_SHIFT


def is_fair(task):
    return int(task["prio"]) >= 100 and int(task["pid"]) != 0


def is_eevdf(queue):
    """Its timeline is in order of EEVDF's deadlines, so the policy is EEVDF or built on it."""
    at = offset_of("struct entity", "policy_state") + offset_of("struct eevdf_entity", "deadline")
    return int(queue["policy"]["key"]) == at - offset_of("struct entity", "node")


def of_eevdf(entity):
    """What EEVDF keeps of it."""
    return class_state(entity["policy_state"], "struct eevdf_entity")


def virtual_now(queue):
    """V of EEVDF, rounded down; the least vruntime of CFS."""
    if not is_eevdf(queue):
        return int(class_state(queue["policy_state"]["cfs"], "struct cfs_queue")["min_vruntime"])
    sums = class_state(queue["policy_state"]["eevdf"], "struct eevdf_queue")
    words = sums["sum_key"].address.cast(gdb.lookup_type("unsigned long").pointer())
    total = signed(words[1]) << 64 | int(words[0])  # gdb does not know integers this long
    weight = int(sums["sum_weight"])
    return int(sums["v0"]) + (total // weight if weight else 0)


def distance(queue, entity):
    """Virtual time of @entity after the queue's: under CFS what decides who is next, under EEVDF its lag, negated."""
    return signed(int(entity["vruntime"]) - virtual_now(queue))


def has_deadline(queue, entity):
    """Its group was given one (fdl)."""
    return entity["policy"] == queue["policy"] and bool(entity["due"])


def key(queue, entity):
    """By what its tree is ordered: virtual time; under EEVDF, or if it was given one, the deadline."""
    if has_deadline(queue, entity):
        return entity["due"]
    return of_eevdf(entity)["deadline"] if is_eevdf(queue) else entity["vruntime"]


def print_other(task, mark=" "):
    """A task that is not of the fair class."""
    where = f"  real-time priority {int(task['rt_priority'])}" if int(task["prio"]) < 100 else ""
    print(f" {mark} {name(task):<22} prio {int(task['prio']):>3}  weight {weight(task['fair']):>6}{where}")


def print_entity(queue, entity, mark, depth):
    where = f"vruntime {ms(entity['vruntime']):>16}  {distance(queue, entity) / NS_PER_MS:+12.6f}"
    if is_eevdf(queue) or has_deadline(queue, entity):
        where += f"  deadline {ms(key(queue, entity)):>16}"
    if is_eevdf(queue):
        where += "  eligible" * (distance(queue, entity) <= 0) + "  asleep, delayed" * is_asleep(entity)
    if is_group(entity):
        what = f"tasks {int(entity['own_queue']['tasks']['nr']):>2}"
    else:
        what = f"prio {int(task_of(entity)['prio']):>3}"
    print(f" {mark} {'  ' * depth + label(entity):<22} {what}  weight {weight(entity):>6}  {where}")


def print_queue(queue, depth=0):
    """Who runs, who waits, and below each group the same of its members."""
    running = [(">", queue["curr"].dereference())] if queue["curr"] else []
    for mark, entity in running + [(" ", entity) for _, entity in timeline(queue)]:
        print_entity(queue, entity, mark, depth)
        if is_group(entity):
            print_queue(entity["own_queue"].dereference(), depth + 1)


def print_runqueue(cpu):
    rq = runqueue(cpu)
    if not rq["online"]:
        print(f"cpu {cpu}: offline")
        return
    current = rq["curr"].dereference()
    print(f"cpu {cpu}: {int(rq['nr_running'])} runnable, clock {ms(rq['clock'])} ms, "
          f"{'V' if is_eevdf(rq['fair']) else 'min_vruntime'} {ms(virtual_now(rq['fair']))} ms, "
          f"load {int(rq['fair']['load']['weight']) >> WEIGHT_SHIFT}")
    if not is_fair(current):
        print_other(current, ">")
    for prio in range(100):
        for part in list_entries(real_time(rq)["list"][prio], "struct rt_task", "link"):
            task = container_of(part, "struct task", "class_state")
            if task != current.address:
                print_other(task.dereference())
    print_queue(rq["fair"])
    for queue in group_queues(rq):
        if queue["throttled"]:
            print(f" - {path(queue['group'])} has used up its quota:")
            print_queue(queue, 1)


def find_task(what):
    """The thread with the id, or the only one with the name @what."""
    found = [t["task"] for t in threads() if str(int(t["tid"])) == what or text(t["task"]["comm"]) == what]
    if not found:
        raise gdb.GdbError(f"there is no thread {what}: `tasks` lists them")
    if len(found) > 1:
        raise gdb.GdbError(f"{what} can be any of {', '.join(name(t) for t in found)}: say the number")
    return found[0]


# --- what was recorded -------------------------------------------------------------------------------------


def tracer():
    """What the tracer has in memory."""
    direct_map = int(symbol("'kernel/trace/trace.c'::image")) - image.IMAGE_PA
    memory = gdb.selected_inferior()
    return image.Image(lambda pa, n: memory.read_memory(direct_map + pa, n).tobytes())


class Recorded(EventFile):
    """The decisions among the last events of a machine."""

    def __init__(self, recorded, newest):
        self._recorded, self._newest = recorded, newest
        self._formats = {event.name: event for event in recorded.formats.values() if event.system == SYSTEM}

    def _events(self, names):
        return (event for event in self._recorded.events(newest=self._newest) if event.format.name in names)


def last_pick(cpu):
    """The newest recorded decision about who runs on @cpu, or None.

    A task that reads its CPU time leaves thousands of records in a tick, so the search goes back in longer and longer
    steps.
    """
    recorded = tracer()
    for newest in (1 << 12, 1 << 15, 1 << 18):
        picks = [d for d in Recorded(recorded, newest).records(decision_kinds.SHAPES)
                 if d.kind == "pick" and d.cpu == cpu and decision_kinds.family(d).whole(d)]
        if picks:
            return picks[-1]
    return None


# --- why ---------------------------------------------------------------------------------------------------


def slice_of(queue, entity):
    """The turn of @entity in ns: its share of the scheduling period by weight, at least the minimal granularity."""
    tunable = queue["rq"]["s"]["tunable"]
    running = max(int(queue["nr_running"]), 1)
    granularity = int(tunable["min_granularity_ns"])
    period = max(int(tunable["latency_ns"]), running * granularity)
    total = int(queue["load"]["weight"])
    share = period * int(entity["load"]["weight"]) // total if total else period
    return max(share, granularity)


def with_groups(task):
    """The entities that stand for @task: its own, its group's, that one's group's, up to the root's queue."""
    entity = task["fair"]
    while True:
        yield entity
        owner = entity["queue"]["owner"]
        if not owner:
            return
        entity = owner.dereference()


def rivals(task, current):
    """The two entities of one queue by which it is decided whether @task or @current runs."""
    return next((mine, other) for mine in with_groups(task) for other in with_groups(current)
                if mine["queue"] == other["queue"])


def why_fair_waits(current, task):
    """Sentences about a fair task that is queued but does not run while another fair task does."""
    throttled = [entity["queue"] for entity in with_groups(task) if entity["queue"]["throttled"]]
    if throttled:
        yield f"its group {path(throttled[0]['group'])} has used up its quota of this period: it is throttled."
        return
    entity, running = rivals(task, current)
    queue = entity["queue"].dereference()
    if is_group(running):
        yield f"{name(current)} runs as a member of {label(running)}."
    if is_group(entity):
        yield f"it waits as a member of {label(entity)}, which competes as one. Of that:"
    if has_deadline(queue, entity):
        yield f"it has a deadline: {ms(entity['due'])} ms of virtual time."
    elif is_eevdf(queue):
        yield from why_not_chosen(queue, running, entity)
    else:
        yield from why_further_right(queue, running, entity)


def why_further_right(queue, running, entity):
    """What of CFS keeps @entity waiting while @running, of the same queue, runs."""
    order = [other for _, other in timeline(queue)]
    place = next(i for i, other in enumerate(order) if other.address == entity.address)
    ahead = ", ".join(label(other) for other in order[:place])
    yield (f"in the timeline it is number {place + 1} of {len(order)}, {distance(queue, entity) / NS_PER_MS:+.6f} ms "
           f"of virtual time from the queue's floor" + (f", after {ahead}." if ahead else "."))
    lead = signed(entity["vruntime"] - running["vruntime"])
    ran = int(running["sum_exec"]) - int(running["prev_sum_exec"])
    ran += int(queue["rq"]["clock"]) - int(running["exec_start"])
    comparison = "less" if lead >= 0 else "more"
    yield (f"{label(running)} has {abs(lead) / NS_PER_MS:.6f} ms {comparison} virtual time, and has run {ms(ran)} ms "
           f"of a slice of {ms(slice_of(queue, running))} ms.")


def why_not_chosen(queue, running, entity):
    """The same under EEVDF."""
    lag = -distance(queue, entity)
    yield (f"its lag is {lag / NS_PER_MS:+.6f} ms of virtual time: it is " + ("eligible." if lag >= 0 else
           "not eligible until the others have caught up with it."))
    earlier = [other for _, other in timeline(queue) if distance(queue, other) <= 0
               and signed(of_eevdf(other)["deadline"] - of_eevdf(entity)["deadline"]) < 0]
    if earlier:
        yield f"eligible and due earlier: {', '.join(label(other) for other in earlier)}."
    request = of_eevdf(running)
    left = signed(request["deadline"] - running["vruntime"])
    yield (f"{label(running)} has {left / NS_PER_MS:.6f} ms of virtual time left of its request and is "
           f"{'' if request['protected'] else 'not '}protected.")


UNRECORDED = "which rule picked it is not recorded: boot with APPEND=trace_event=decision:*"


def why_picked(cpu):
    """The words of the last record of a pick on @cpu: the rule that decided, and the queue that it saw."""
    d = last_pick(cpu)
    if not d:
        yield UNRECORDED
        return
    yield f"recorded at {d.time / NS_PER_MS:.6f} ms: {decision_kinds.family(d).conclusion(d)}"
    yield from decision_kinds.family(d).table(d)


def why_waiting(task):
    """Sentences about a task that is queued but does not run."""
    rq = runqueue(int(task["cpu"]))
    current = rq["curr"].dereference()
    waited = int(rq["clock"]) - int(task["wait_start"]) if int(task["wait_start"]) else 0
    yield f"it is runnable on cpu {int(task['cpu'])}, where {name(current)} runs; it has waited {ms(waited)} ms."
    if int(task["prio"]) < 100 and real_time(rq)["throttled"]:
        yield (f"the real-time class is throttled, because {class_decisions.sentence('share_used')} "
               "(sched_rt_runtime_us).")
    elif int(current["prio"]) < 100:
        yield (f"{name(current)} has real-time priority {int(current['rt_priority'])}, and runs because "
               f"{class_decisions.sentence('most_urgent')}.")
    elif is_fair(task) and is_fair(current):
        yield from why_fair_waits(current, task)
    yield from why_picked(int(task["cpu"]))
    if rq["need_resched"]:
        yield "a switch has been asked for: it happens at the next preemption point."


SLEEPS = {0x1: "it sleeps until something wakes it or a signal comes (interruptible)",
          0x2: "it sleeps until something wakes it (uninterruptible)",
          0x4: "it is stopped until SIGCONT",
          0x10: "it has ended",
          0x200: "it is being woken and on its way to another runqueue",
          0x800: "it is new and has not been started"}


def why(task):
    if is_current(task):
        yield f"it runs, on cpu {int(task['cpu'])}."
        yield from why_picked(int(task["cpu"]))
    elif int(task["on_rq"]) == MIGRATING:
        yield "it is between two runqueues: migrating."
    elif int(task["on_rq"]) and not is_delayed(task):
        yield from why_waiting(task)
    else:
        if is_delayed(task):
            yield (f"it owed {ms(-signed(of_eevdf(task['fair'])['vlag']))} ms of virtual time when it fell asleep: it "
                   "stays in the timeline, without running, until the others have caught up (delayed dequeue).")
        reasons = [said for bit, said in SLEEPS.items() if int(task["state"]) & bit]
        yield f"it is not runnable: {' and '.join(reasons) or 'it waits for its first switch'}."
        yield f"it last ran on cpu {int(task['cpu'])} and has used {ms(task['fair']['sum_exec'])} ms."


# --- the commands --------------------------------------------------------------------------------------------


class Command(gdb.Command):
    """A command called @word, which @function implements; its help is the function's docstring."""

    def __init__(self, word, function):
        self.__doc__ = function.__doc__
        self.function = function
        super().__init__(word, gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        self.function(*gdb.string_to_argv(argument))


def number(argument, what):
    if not argument.isdigit():
        raise gdb.GdbError(f"{argument}: the number of {what} is expected")
    return int(argument)


def rq_command(cpu=None, *_):
    """rq [CPU]: who runs and who waits on a CPU, or on all."""
    for n in range(int(machine()["nr_cpus"])) if cpu is None else [number(cpu, "a CPU")]:
        print_runqueue(n)


def tasks_command(*_):
    """tasks: every thread. R runs, r is runnable, S D sleep, with d delayed, T is stopped, I is an idle thread."""
    print(f"{'tid':>6} {'name':<16} {'state':<5} {'cpu':>3} {'prio':>4} {'vruntime ms':>18} {'ran ms':>16} "
          f"{'switches':>9}")
    for thread in threads():
        task = thread["task"]
        switches = int(task["nr_voluntary"]) + int(task["nr_involuntary"])
        print(f"{int(thread['tid']):>6} {text(task['comm']):<16} {state(task):<5} {int(task['cpu']):>3} "
              f"{int(task['prio']):>4} {ms(task['fair']['vruntime']):>18} {ms(task['fair']['sum_exec']):>16} "
              f"{switches:>9}")


def print_tree(queue):
    nodes = list(timeline(queue))
    if queue["curr"]:
        print(f"runs: {label(queue['curr'].dereference())}, vruntime {ms(queue['curr']['vruntime'])}")
    if not nodes:
        print("the timeline is empty")
    for depth, entity in nodes:
        colour = "red" if int(entity["node"]["parent_color"]) & 1 else "black"
        print(f"{'    ' * depth}{label(entity)}  {ms(key(queue, entity))} "
              f"({distance(queue, entity) / NS_PER_MS:+.6f}) {colour}{' delayed' * is_asleep(entity)}")


def tree_command(cpu="0", *_):
    """tree CPU: the fair class's timeline, leftmost (CFS: next to run) on top, deeper nodes further right; then those
    of the groups that have tasks there."""
    rq = runqueue(number(cpu, "a CPU"))
    print_tree(rq["fair"])
    for queue in group_queues(rq):
        print(f"{path(queue['group'])}:{' throttled' * bool(queue['throttled'])}")
        print_tree(queue)


def why_command(what=None, *_):
    """why TASK: why the thread with this number or name does not run now."""
    if what is None:
        raise gdb.GdbError("why TASK: the number or the name of a thread is expected")
    task = find_task(what)
    print(f"{name(task)}: " + "\n    ".join(why(task)))


def trace_command(count="20", *_):
    """trace [N]: the last N events of all CPUs."""
    wanted = number(count, "events")
    recorded = tracer()
    names = recorded.comms()
    events = list(recorded.events(newest=wanted))
    for event in events[-wanted:] if wanted else []:
        values = " ".join(f"{k}={v}" for k, v in image.event_values(event).items())
        who = names.get(event.pid, "<...>") if event.pid else "<idle>"
        print(f"{who:>16}-{event.pid:<6} [{event.cpu:03}] {event.time / 1e9:13.6f}: {event.format.name}: {values}")
    if not events:
        print("no events are recorded: boot with APPEND=trace_event=sched:*")


class Moment(gdb.Breakpoint):
    """Stops in @place if what is decided there is about @task; said is then what that is."""

    def __init__(self, place, task):
        super().__init__(place, internal=True)
        self.silent = True
        self.place, self.about, self.said = place, int(task.address), ""

    def stop(self):
        value = gdb.selected_frame().read_var
        if self.place == "sched_wake":
            woken = value("t")
            if int(woken) == self.about and int(woken["state"]) & int(value("state_mask")):
                self.said = f"it is to be woken, on a call from cpu {int(value('cpu'))}."
        else:
            before, after = value("prev"), value("next")
            if int(after) == self.about:
                self.said = f"it gets cpu {int(value('rq')['cpu'])}, after {name(before)}."
            elif int(before) == self.about:
                how = "is preempted" if value("preempt") else "goes to sleep" if int(before["state"]) else "yields"
                self.said = f"it {how}, and {name(after)} gets cpu {int(value('rq')['cpu'])}."
        return bool(self.said)


def decision_command(what=None, *_):
    """decision TASK: go on until the thread with this number or name is woken, gets a CPU or loses it."""
    if what is None:
        raise gdb.GdbError("decision TASK: the number or the name of a thread is expected")
    task = find_task(what)
    moments = [Moment(place, task) for place in ("sched_wake", "switch_current")]
    try:
        gdb.execute("continue", to_string=True)
        said = next((moment.said for moment in moments if moment.said), None)
    finally:
        for moment in moments:
            moment.delete()
    print(f"{name(task)}: {said}" if said else "another breakpoint came first")


for word, function in (("rq", rq_command), ("tasks", tasks_command), ("tree", tree_command), ("why", why_command),
                       ("trace", trace_command), ("decision", decision_command)):
    Command(word, function)
