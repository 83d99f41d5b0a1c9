/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bringing CPUs into service, and where their time goes.
 *
 * The boot CPU builds everything (task_init): the scheduler's machine from what the architecture
 * found, and for each CPU its struct cpu and idle thread. Then each CPU, the boot CPU first, goes
 * online by itself and becomes its idle thread.
 *
 * CPU time is exact, not sampled. The scheduler knows how long a thread ran; how much of that was
 * in user space is measured in raw cycles at every crossing; the rest was the kernel's.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/task.h"
#include "kernel/time/speed.h"
#include "kernel/time/tick.h"
#include "kernel/time/time.h"
#include "kernel/time/watchdog.h"
#include "lib/cpulist.h"
#include "lib/fmt.h"
#include "lib/string.h"

struct sched *machine;

/* Returns zeroed whole pages that are never freed, for tables that grow with the number of CPUs. */
static void *boot_alloc(size_t size)
{
	unsigned order = 0;

	debug_assert(size);
	while ((PAGE_SIZE << order) < size)
		order++;
	u64 pa = page_alloc(order);
	if (!pa)
		panic("no memory for %zu bytes at boot", size);
	return memset(phys_to_virt(pa), 0, size);
}

/*
 * The CPUs that isolcpus= lists. Linux takes flags before the list. Of these "domain" is accepted
 * here, and changes nothing.
 */
static struct cpumask isolated_cpus(unsigned nr_cpus)
{
	const char *list = cmdline_get("isolcpus");
	struct cpumask all = cpumask_first_n(nr_cpus), isolated;

	if (!list)
		return cpumask_none();
	if (!strncmp(list, "domain,", 7))
		list += 7;
	if (!cpulist_read(list, strlen(list), ',', CPU_MAX, &isolated)) {
		kprintf("isolcpus=%s: not a list of CPUs, as 2-3,5; none is isolated\n", list);
		return cpumask_none();
	}
	if (cpumask_subset(&all, &isolated)) {
		kprintf("isolcpus=%s: CPU 0 is not isolated, because one must be left\n", list);
		cpumask_clear(&isolated, 0);
	}
	return isolated;
}

/* CPUs of several speeds, if opp= says so. */
static void init_speeds(unsigned nr_cpus)
{
	if (speed_read(nr_cpus, boot_alloc(nr_cpus * sizeof(struct cpu_place))))
		sched_freq_init(machine, speed_table(), boot_alloc(sched_freq_size(nr_cpus)));
}

static void init_machine(unsigned nr_cpus)
{
	struct sched_cpu_desc *topology = boot_alloc(nr_cpus * sizeof(*topology));
	struct cpumask isolated = isolated_cpus(nr_cpus);
	const char *sched = cmdline_get("sched");
	struct sched_config config = {
		.nr_cpus = nr_cpus,
		.hz = tick_hz,
		.topology = topology,
		/* A program is loaded when there are files: scx_boot(). */
		.fair_policy = sched && !strncmp(sched, "scx:", 4) ? NULL : sched,
		.isolated = &isolated,
		.seed = cmdline_get_u64("seed", 1),
	};

	for (unsigned i = 0; i < nr_cpus; i++)
		topology[i] = (struct sched_cpu_desc){
			.core = arch_cpus[i].core,
			.llc = arch_cpus[i].llc,
			.package = arch_cpus[i].package,
			.node = arch_cpus[i].node,
		};
	machine = boot_alloc(sched_size(nr_cpus));
	if (!sched_init(machine, &config))
		return;
	kprintf("sched=%s: there is no such policy, using the default\n", config.fair_policy);
	config.fair_policy = NULL;
	if (sched_init(machine, &config))
		panic("bad scheduler parameters: HZ=%u", tick_hz);
}

/* An idle thread has number 0, is in no list, and runs on the stack it is given. */
static struct thread *init_idle(unsigned cpu, void *kstack)
{
	struct thread *t = boot_alloc(sizeof(*t));
	char name[COMM_LEN];

	debug_assert(cpu < arch_nr_cpus);
	t->kstack = kstack;
	t->proc = &kernel_proc;
	t->flags = THREAD_KERNEL | THREAD_IDLE;
	t->refs = 1;
	t->cred = root_cred;
	t->account = &root_account;
	list_init(&t->proc_link);
	list_init(&t->pending.queue);
	sched_task_init_idle(machine, &t->task, cpu);
	snprintf(name, sizeof(name), "swapper/%u", cpu);
	str_copy(t->task.comm, name, sizeof(t->task.comm));
	return t;
}

void task_init(void)
{
	clock_init();
	tick_init();
	watchdog_init();
	thread_init();
	proc_init();
	init_machine(arch_nr_cpus);
	init_speeds(arch_nr_cpus);
	for (unsigned i = 0; i < arch_nr_cpus; i++) {
		if (i)
			cpus[i] = boot_alloc(sizeof(struct cpu));
		cpus[i]->id = i;
		cpus[i]->self = cpus[i];
		cpus[i]->idle = init_idle(i, i ? kstack_alloc() : arch_boot_stack);
		if (!cpus[i]->idle->kstack)
			panic("no memory for the stack of cpu %u", i);
	}
	cpus[0]->running = cpus[0]->idle;
	/* The kernel's own "process" begins with this thread, and never ends. */
	kernel_proc.leader = cpus[0]->idle;
	kernel_proc.nr_threads = kernel_proc.nr_alive = 1;
}

void task_cpu_online(void)
{
	struct cpu *c = this_cpu();
	unsigned long flags = arch_irq_save();

	debug_assert(!c->online);
	sched_cpu_online(machine, c->id, &c->idle->task);
	c->online_ns = clock_ns();
	c->online = true;
	tick_start();
	arch_irq_restore(flags);
}

/* --- CPU time -------------------------------------------------------------------- */

struct usage thread_usage(struct thread *t)
{
	unsigned long flags = arch_irq_save();
	u64 total = sched_task_runtime(machine, &t->task);
	u32 entered = READ_ONCE(t->user_stamp);
	u64 cycles = READ_ONCE(t->user_cycles) + (entered ? arch_cycles32() - entered : 0);

	arch_irq_restore(flags);
	u64 user = min(arch_cycles_to_ns(cycles), total);
	/* The thread itself counts on. */
	return (struct usage){
		.user_ns = user,
		.system_ns = total - user,
		.min_flt = READ_ONCE(t->min_flt),
		.maj_flt = READ_ONCE(t->maj_flt),
		.nr_voluntary = READ_ONCE(t->task.nr_voluntary),
		.nr_involuntary = READ_ONCE(t->task.nr_involuntary),
		.read_bytes = READ_ONCE(t->read_bytes),
		.written_bytes = READ_ONCE(t->written_bytes),
		.nr_reads = READ_ONCE(t->nr_reads),
		.nr_writes = READ_ONCE(t->nr_writes),
	};
}

void usage_add(struct usage *sum, const struct usage *more)
{
	sum->user_ns += more->user_ns;
	sum->system_ns += more->system_ns;
	sum->min_flt += more->min_flt;
	sum->maj_flt += more->maj_flt;
	sum->nr_voluntary += more->nr_voluntary;
	sum->nr_involuntary += more->nr_involuntary;
	sum->read_bytes += more->read_bytes;
	sum->written_bytes += more->written_bytes;
	sum->nr_reads += more->nr_reads;
	sum->nr_writes += more->nr_writes;
	sum->max_rss = max(sum->max_rss, more->max_rss);
}

struct usage proc_usage_locked(struct proc *p)
{
	struct usage sum = p->exited;
	struct thread *t;

	assert_held(&proc_tree_lock);
	list_for_each(t, &p->threads, proc_link) {
		struct usage one = thread_usage(t);
		usage_add(&sum, &one);
	}
	if (p->mm)
		sum.max_rss = max(sum.max_rss, mm_peak_rss(p->mm));
	return sum;
}

struct usage proc_usage(struct proc *p)
{
	spin_lock(&proc_tree_lock);
	struct usage sum = proc_usage_locked(p);

	spin_unlock(&proc_tree_lock);
	return sum;
}

struct sched_cpu_stat cpu_stat(unsigned cpu)
{
	struct sched_cpu_stat stat;

	debug_assert(cpu < arch_nr_cpus);
	with_irqs_off(sched_cpu_stat(machine, cpu, &stat));
	return stat;
}

/* Returns the larger of @now and @said, the value reported before. */
static u64 never_less(u64 *said, u64 now)
{
	u64 before = READ_ONCE(*said);

	while (before < now && !__atomic_compare_exchange_n(said, &before, now, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return max(before, now);
}

/*
 * Time that is neither user nor idle is system time. The user part is up to date as of the CPU's
 * last entry into the kernel, at most a tick ago. When it catches up, the system part must not
 * fall: readers subtract two readings as unsigned numbers.
 */
struct cpu_usage cpu_usage(unsigned cpu)
{
	struct cpu *c = cpus[cpu];
	struct sched_cpu_stat stat = cpu_stat(cpu);
	u64 total = (c->online ? stat.clock : c->offline_since_ns) - c->online_ns;
	u64 user = arch_cycles_to_ns(c->user_cycles), spent = user + stat.idle_ns;

	return (struct cpu_usage){ .user_ns = user,
				   .system_ns = never_less(&c->system_ns,
							   total > spent ? total - spent : 0),
				   .idle_ns = stat.idle_ns };
}

struct cpu_usage machine_usage(void)
{
	struct cpu_usage sum = { 0 }, one;

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		one = cpu_usage(cpu);
		sum.user_ns += one.user_ns;
		sum.system_ns += one.system_ns;
		sum.idle_ns += one.idle_ns;
	}
	return sum;
}
