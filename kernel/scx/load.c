/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program comes and goes: by a write to fair_class, at boot (sched=scx:FILE), or because it has
 * come to its end. A timer, which looks now and then while a program is loaded, then has all tasks
 * go on without it, and wakes the kernel thread that unloads it. The timer does not leave the first
 * to the thread: a task that waits with the program may hold a lock that the thread needs. It wakes
 * the thread for tasks that have left the program, too.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/engine.h"
#include "kernel/scx/scx.h"
#include "kernel/task/proc.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define NR_DSQS	    1024u
#define LOOK_NS	    (10 * NS_PER_MS)
#define HELPER_PRIO 50

static struct {
	struct mutex lock;
	struct scx_object object;
	struct ext_ops ops;
	void *memory;	       /* of the class */
	const char *constants; /* of the user, while it loads */
	u64 nr_loads;
	bool loaded;	/* also read without the lock */
	bool unloading; /* as that */
	struct ktimer look;
	bool has_helper;
	bool bypassed;	  /* no task waits with the program any more; also read without the lock */
	size_t dump_size; /* of scx.dump; 0: it did not err */
} state = { .lock = MUTEX_INIT(state.lock) };
static struct waitq news = WAITQ_INIT(news);

/* --- all tasks ------------------------------------------------------------------------- */

/* Each task goes to the class that has its policy now. Tasks that are born later begin there. */
static void settle_all(void)
{
	for (int tid = 1; tid < PID_MAX; tid++) {
		struct thread *t = thread_find(tid);

		if (!t)
			continue;
		with_irqs_off(sched_ext_settle(machine, &t->task));
		thread_put(t);
		cond_resched();
	}
}

/* Tasks that end have no number any more, and leave when they have ended. */
static void settle_until_empty(void)
{
	bool empty = false;

	while (!empty) {
		settle_all();
		with_irqs_off(empty = sched_ext_is_empty(machine));
		if (!empty)
			sleep_until(clock_ns() + NS_PER_MS, 0);
	}
}

static void nothing(void *unused)
{
	(void)unused;
}

/* Operations run with interrupts off: each CPU that answers is in none. */
void scx_wait_for_calls(void)
{
	arch_call_others(nothing, NULL);
}

/* --- going ----------------------------------------------------------------------------- */

static void free_program(void)
{
	debug_assert(mutex_is_held(&state.lock));
	scx_timers_close();
	mutex_lock(&cgroup_mutex);
	scx_maps_close();
	scx_objects_free();
	scx_groups_free();
	mutex_unlock(&cgroup_mutex);
	vmap_free(state.memory);
	vmap_free(scx.dump);
	vmap_free(scx.task);
	scx_object = NULL;
	scx = (struct scx){ 0 };
	scx_object_close(&state.object);
	state.memory = NULL;
	state.dump_size = 0;
	WRITE_ONCE(state.bypassed, false);
}

static void say_end(const struct ext_exit *end)
{
	const char *name = state.ops.name;

	kprintf("sched_ext: BPF scheduler \"%s\" disabled (%s)\n", name, end->reason);
	if (end->kind >= EXT_EXIT_UNREG_BPF)
		kprintf("sched_ext: %s: %s\n", name, end->message);
}

/*
 * From now on the program decides nothing, and the kernel runs its tasks. In the timer, or behind
 * its last call.
 */
static void bypass(void)
{
	if (sched_ext_ended(machine))
		state.dump_size = sched_ext_dump(machine, scx.dump, scx_dump_size());
	sched_ext_bypass(machine);
	WRITE_ONCE(state.bypassed, true);
}

static void unload_locked(void)
{
	const struct ext_exit *end;

	debug_assert(mutex_is_held(&state.lock));
	if (!state.loaded)
		return;
	state.unloading = true;
	ktimer_cancel(&state.look);
	if (!state.bypassed)
		with_irqs_off(bypass());
	console_write(scx.dump, state.dump_size);
	sched_ext_leave(machine);
	settle_until_empty();
	scx_wait_for_calls();
	mutex_lock(&cgroup_mutex);
	with_irqs_off(end = sched_ext_unload(machine));
	mutex_unlock(&cgroup_mutex);
	say_end(end);
	state.loaded = false;
	scx_free_left();
	free_program();
	scx_show_root(false);
	state.unloading = false;
}

void scx_unload(void)
{
	mutex_lock(&state.lock);
	unload_locked();
	mutex_unlock(&state.lock);
}

/* Is there something to do for the helper? */
static bool has_news(void)
{
	return READ_ONCE(state.bypassed) || scx_has_left();
}

static void look(struct ktimer *timer)
{
	if (sched_ext_ended(machine))
		bypass();
	else
		ktimer_start(timer, clock_ns() + LOOK_NS);
	if (has_news())
		waitq_wake(&news, 0);
}

/* It is more urgent than all that a scheduler may have left waiting. */
static void helper(void *unused)
{
	struct sched_attr_req urgent = { .policy = SCHED_FIFO, .rt_priority = HELPER_PRIO };

	(void)unused;
	with_irqs_off(sched_set_attr(machine, &current->task, &urgent));
	for (;;) {
		wait_event_idle(&news, has_news());
		mutex_lock(&state.lock);
		if (state.bypassed)
			unload_locked();
		else if (state.loaded)
			scx_free_left();
		mutex_unlock(&state.lock);
	}
}

/* --- coming ---------------------------------------------------------------------------- */

/* Sets all of @list, which commas divide. */
static const char *set_constants(const struct scx_program *program, const char *list)
{
	char copy[SCX_PATH_MAX], *words = list ? copy : NULL;
	const char *why = NULL;

	str_copy(copy, list ?: "", sizeof(copy));
	while (words && !why) {
		char *comma = strchr(words, ',');

		if (comma)
			*comma = 0;
		why = scx_set_constant(program, words);
		words = comma ? comma + 1 : NULL;
	}
	return why;
}

/* The words were right when the program was checked. */
void scx_set_constants(void)
{
	set_constants(scx.program, state.constants);
}

static const char *check_program(struct scx_object *o, const char *constants, int *err)
{
	const struct scx_program *program = scx_object_program(o);
	const char *why;

	*err = -ENOEXEC;
	if (!program)
		return "holds no scheduler, or a table that points out of it";
	why = scx_refusal(program, err);
	if (why)
		return why;
	*err = -EINVAL;
	why = set_constants(program, constants);
	scx_object_protect_text(o);
	return why;
}

/* Memory for the program of state.object. NULL, or why it cannot have it. */
static const char *prepare(void)
{
	state.memory = vmap_alloc(sched_ext_size(arch_nr_cpus, NR_DSQS));
	scx.dump = vmap_alloc(scx_dump_size());
	scx.task = vmap_alloc(PID_MAX * sizeof(*scx.task));
	if (!state.memory || !scx.dump || !scx.task || !scx_groups_prepare())
		return "needs more memory than there is";
	scx.nr_tasks = PID_MAX;
	scx.idle = (struct task_struct){ .comm = "swapper", .flags = PF_IDLE };
	return scx_maps_open();
}

/* The program of state.object becomes the scheduler. NULL, or why not, with *@err set. */
static const char *start(int *err)
{
	const char *why = prepare();

	*err = -EINVAL;
	if (why)
		return why;
	scx_object = &state.object;
	state.ops = scx_operations();
	mutex_lock(&cgroup_mutex);
	with_irqs_off(*err = sched_ext_load(machine, state.memory, NR_DSQS, &state.ops));
	mutex_unlock(&cgroup_mutex);
	if (*err)
		return sched_ext_refusal(state.memory)->message;
	scx_object_protect_constants(&state.object);
	state.loaded = true;
	state.nr_loads++;
	/* Before this very task is the program's. */
	ktimer_start(&state.look, clock_ns() + LOOK_NS);
	settle_all();
	with_irqs_off(sched_ext_outside(machine, scx_attached, NULL));
	kprintf("sched_ext: BPF scheduler \"%s\" enabled\n", state.ops.name);
	scx_show_root(true);
	return NULL;
}

static int begin_helper(void)
{
	if (!state.has_helper) {
		ktimer_init(&state.look, look, NULL);
		state.has_helper = kthread_create("sched_ext_helper", helper, NULL);
	}
	return state.has_helper ? 0 : -ENOMEM;
}

/* The program @path takes the place of the one that is loaded, if it is a program at all. */
static int load_locked(const char *path, const char *constants)
{
	struct scx_object fresh = { 0 };
	int err = begin_helper();
	const char *why = err ? "there is no memory" : scx_object_open(&fresh, path, &err);

	why = why ?: check_program(&fresh, constants, &err);
	if (why) {
		kprintf("sched_ext: %s: %s\n", path, why);
		scx_object_close(&fresh);
		return err ?: -ENOEXEC;
	}
	unload_locked();
	state.object = fresh;
	state.constants = constants;
	scx.program = scx_object_program(&state.object);
	why = start(&err);
	if (!why)
		return 0;
	kprintf("sched_ext: %s: %s\n", path, why);
	free_program();
	return err;
}

int scx_load(const char *spec)
{
	char path[SCX_PATH_MAX], *comma;
	int err;

	if (strlen(spec) >= sizeof(path))
		return -ENAMETOOLONG;
	str_copy(path, spec, sizeof(path));
	comma = strchr(path, ',');
	if (comma)
		*comma++ = 0;
	mutex_lock(&state.lock);
	err = load_locked(path, comma);
	state.constants = NULL;
	mutex_unlock(&state.lock);
	return err;
}

void scx_boot(void)
{
	const char *sched = cmdline_get("sched");

	if (sched && !strncmp(sched, "scx:", 4))
		scx_load(sched + 4);
}

bool scx_name(char *buf, size_t size)
{
	bool loaded;

	mutex_lock(&state.lock);
	loaded = state.loaded;
	if (loaded)
		snprintf(buf, size, "%s", state.ops.name);
	mutex_unlock(&state.lock);
	return loaded;
}

bool scx_switches_all(void)
{
	bool all;

	mutex_lock(&state.lock);
	all = state.loaded && !(state.ops.flags & EXT_OPS_SWITCH_PARTIAL);
	mutex_unlock(&state.lock);
	return all;
}

struct ext_events scx_events(void)
{
	struct ext_events events;

	mutex_lock(&state.lock);
	events = sched_ext_events(machine);
	mutex_unlock(&state.lock);
	return events;
}

u64 scx_nr_loads(void)
{
	return READ_ONCE(state.nr_loads);
}

const char *scx_state(void)
{
	if (READ_ONCE(state.unloading))
		return "disabling";
	return READ_ONCE(state.loaded) ? "enabled" : "disabled";
}
