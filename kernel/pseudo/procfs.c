/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc, the part about the machine: CPU time, memory, load, versions. Processes are in proc_pid.c.
 * Formats are those of Linux 6.1, because ps, top, free and uptime read them; see proc(5).
 */
#include "kernel/pseudo/procfs.h"

#include "kernel/cgroup/cgroup.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/syscall.h"
#include "kernel/time/time.h"
#include "lib/string.h"

/* --- sets of CPUs as text ------------------------------------------------------------- */

struct cpumask online_cpus(void)
{
	struct cpumask m = cpumask_none();

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		if (cpus[cpu]->online)
			cpumask_set(&m, cpu);
	return m;
}

struct cpumask possible_cpus(void)
{
	return cpumask_first_n(arch_nr_cpus);
}

void text_add_cpulist(struct text *t, const struct cpumask *m)
{
	const char *comma = "";
	unsigned cpu, last;

	for (cpu = cpumask_first(m); cpu < CPU_MAX; cpu = cpumask_next(m, last + 1)) {
		for (last = cpu; last + 1 < CPU_MAX && cpumask_test(m, last + 1);)
			last++;
		text_add(t, last > cpu ? "%s%u-%u" : "%s%u", comma, cpu, last);
		comma = ",";
	}
}

/* Groups of 32 bits, most significant first, the first only as long as there are CPUs. */
void text_add_cpumask(struct text *t, const struct cpumask *m)
{
	struct cpumask possible = possible_cpus();
	unsigned cpu, last = 0;
	int digits;

	for_each_cpu(cpu, &possible)
		last = cpu;
	digits = (int)(last % 32 / 4 + 1);
	for (int word = (int)last / 32; word >= 0; word--, digits = 8)
		text_add(t, "%0*x%s", digits, (u32)(m->bits[word / 2] >> (word % 2 * 32)),
			 word ? "," : "");
}

/* --- load average --------------------------------------------------------------------- */

/*
 * Exponentially decaying averages of the runnable and uninterruptible tasks over 1, 5 and 15
 * minutes, sampled every 5 seconds: load = load * e + n * (1 - e) with e = exp(-5 s / period), in
 * units of 1/2048. The sample is taken a tick after the full 5 seconds, so that it does not always
 * meet tasks that start on whole seconds.
 */
#define LOAD_SHIFT     11
#define LOAD_ONE       (1u << LOAD_SHIFT)
#define LOAD_PERIOD_NS (5 * NS_PER_SEC + NS_PER_SEC / tick_hz)

static const u32 load_exp[3] = { 1884, 2014, 2037 };
static u64 load_avg[3];
static struct ktimer load_timer;

/* Sum of a field of struct sched_cpu_stat over the CPUs, those out of service included. */
#define SUM_CPUS(field)                                                                            \
	({                                                                                         \
		struct cpumask possible_ = possible_cpus();                                        \
		u64 sum_ = 0;                                                                      \
		unsigned cpu_;                                                                     \
		for_each_cpu(cpu_, &possible_)                                                     \
			sum_ += cpu_stat(cpu_).field;                                              \
		sum_;                                                                              \
	})

static void sample_load(struct ktimer *t)
{
	u64 active = SUM_CPUS(nr_running) + SUM_CPUS(nr_uninterruptible);

	debug_assert(arch_in_irq());
	for (unsigned i = 0; i < ARRAY_SIZE(load_avg); i++) {
		u64 next = load_avg[i] * load_exp[i] + active * LOAD_ONE * (LOAD_ONE - load_exp[i]);

		/* Round up while rising, so that a constant load is reached. */
		load_avg[i] = (next + (active * LOAD_ONE >= load_avg[i] ? LOAD_ONE - 1 : 0)) >>
			      LOAD_SHIFT;
	}
	ktimer_start(t, t->expires_ns + LOAD_PERIOD_NS);
}

static size_t show_loadavg(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	(void)arg;
	for (unsigned i = 0; i < ARRAY_SIZE(load_avg); i++) {
		u64 load = load_avg[i] + LOAD_ONE / 200;

		text_add(&t, "%lu.%02lu ", load >> LOAD_SHIFT,
			 (load % LOAD_ONE) * 100 >> LOAD_SHIFT);
	}
	text_add(&t, "%lu/%u %d\n", SUM_CPUS(nr_running), nr_threads_total, pid_last());
	return t.len;
}

/* --- CPU time ------------------------------------------------------------------------- */

static void add_cpu_line(struct text *t, const char *name, const struct cpu_usage *u)
{
	text_add(t, "%s %lu 0 %lu %lu 0 0 0 0 0 0\n", name, u->user_ns / USER_TICK_NS,
		 u->system_ns / USER_TICK_NS, u->idle_ns / USER_TICK_NS);
}

static u64 nr_interrupts(void)
{
	u64 sum = 0;

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		sum += cpus[cpu]->nr_irqs;
	return sum;
}

static size_t show_stat(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);
	struct cpumask online = online_cpus();
	struct cpu_usage sum = machine_usage(), one;
	char name[16];
	unsigned cpu;

	(void)arg;
	add_cpu_line(&t, "cpu ", &sum);
	for_each_cpu(cpu, &online) {
		one = cpu_usage(cpu);
		snprintf(name, sizeof(name), "cpu%u", cpu);
		add_cpu_line(&t, name, &one);
	}
	text_add(&t, "intr %lu\nctxt %lu\nbtime %lu\nprocesses %lu\n", nr_interrupts(),
		 SUM_CPUS(nr_switches), arch_boot_epoch(), nr_forks);
	text_add(&t, "procs_running %lu\nprocs_blocked %lu\n", SUM_CPUS(nr_running),
		 SUM_CPUS(nr_uninterruptible));
	text_add(&t, "softirq 0 0 0 0 0 0 0 0 0 0 0\n");
	return t.len;
}

static size_t show_uptime(void *arg, char *buf, size_t size)
{
	u64 now = clock_ns() / USER_TICK_NS, idle = SUM_CPUS(idle_ns) / USER_TICK_NS;

	(void)arg;
	return (size_t)snprintf(buf, size, "%lu.%02lu %lu.%02lu\n", now / 100, now % 100,
				idle / 100, idle % 100);
}

static size_t show_interrupts(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);
	struct cpumask online = online_cpus();
	unsigned cpu;

	(void)arg;
	text_add(&t, "     ");
	for_each_cpu(cpu, &online)
		text_add(&t, "      CPU%-3u", cpu);
	text_add(&t, "\nLOC: ");
	for_each_cpu(cpu, &online)
		text_add(&t, "%10lu ", cpus[cpu]->nr_timer);
	text_add(&t, "  Local timer interrupts\nRES: ");
	for_each_cpu(cpu, &online)
		text_add(&t, "%10lu ", cpus[cpu]->nr_resched_ipi);
	text_add(&t, "  Rescheduling interrupts\nTOT: ");
	for_each_cpu(cpu, &online)
		text_add(&t, "%10lu ", cpus[cpu]->nr_irqs);
	text_add(&t, "  All interrupts\n");
	return t.len;
}

static size_t show_cpuinfo(void *arg, char *buf, size_t size)
{
	struct cpumask online = online_cpus();
	size_t len = 0;
	unsigned cpu;

	(void)arg;
	for_each_cpu(cpu, &online)
		len += arch_cpuinfo(cpu, len < size ? buf + len : NULL,
				    len < size ? size - len : 0);
	return len;
}

/* The text is long on many CPUs, so the scheduler makes it in one go. */
static size_t show_schedstat(void *arg, char *buf, size_t size)
{
	size_t len;

	(void)arg;
	with_irqs_off(len = sched_dump_schedstat(machine, buf, size));
	return len;
}

/* --- memory, versions, lists ---------------------------------------------------------- */

#define KB(pages) ((pages) * (u64)PAGE_SIZE / 1024)

static size_t show_meminfo(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);
	const struct {
		const char *name;
		u64 pages;
	} lines[] = {
		{ "MemTotal", page_nr_total() },
		{ "MemFree", page_nr_free() },
		{ "MemAvailable", page_nr_free() },
		{ "Buffers", 0 },
		{ "Cached", tmpfs_nr_pages() },
		{ "SwapCached", 0 },
		{ "SwapTotal", 0 },
		{ "SwapFree", 0 },
		{ "Shmem", tmpfs_nr_pages() },
		{ "SReclaimable", 0 },
	};

	(void)arg;
	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++)
		text_add(&t, "%s:%*s%8lu kB\n", lines[i].name,
			 (int)(16 - strlen(lines[i].name) - 1), "", KB(lines[i].pages));
	return t.len;
}

static size_t show_version(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%s version %s (%s) %s\n", OS_TYPE, OS_RELEASE, COMPILER,
				OS_VERSION);
}

static size_t show_cmdline(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "%s\n", boot_info.cmdline);
}

static size_t show_filesystems(void *arg, char *buf, size_t size)
{
	(void)arg;
	return fs_print_types(buf, size);
}

static size_t show_cgroups(void *arg, char *buf, size_t size)
{
	(void)arg;
	return cgroup_print_controllers(buf, size);
}

static size_t show_vmstat(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size,
				"nr_free_pages %lu\nnr_file_pages %lu\nnr_shmem %lu\npgpgin 0\n"
				"pgpgout 0\npswpin 0\npswpout 0\npgfault %lu\npgmajfault 0\n",
				page_nr_free(), tmpfs_nr_pages(), tmpfs_nr_pages(), mm_nr_faults());
}

static size_t show_slabinfo(void *arg, char *buf, size_t size)
{
	(void)arg;
	return slab_print(buf, size);
}

/* Work that Linux defers is done at once here, so nothing is ever counted. */
static size_t show_softirqs(void *arg, char *buf, size_t size)
{
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };
	struct text t = text_of(buf, size);
	struct cpumask online = online_cpus();
	unsigned cpu;

	(void)arg;
	text_add(&t, "                    ");
	for_each_cpu(cpu, &online)
		text_add(&t, "CPU%-8u", cpu);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		text_add(&t, "\n%12s:", names[i]);
		for_each_cpu(cpu, &online)
			text_add(&t, " %10u", 0);
	}
	text_add(&t, "\n");
	return t.len;
}

/* There are no disks. */
static size_t show_nothing(void *arg, char *buf, size_t size)
{
	(void)arg, (void)buf, (void)size;
	return 0;
}

static size_t show_unimplemented(void *arg, char *buf, size_t size)
{
	(void)arg;
	return syscall_print_missing(buf, size);
}

static size_t show_string(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%s\n", (const char *)arg);
}

/* clang-format off */
#define SHOW(file, fn)	   { .name = file, .mode = 0444, .show = fn }
#define STRING(file, s)	   { .name = file, .mode = 0444, .show = show_string, .arg = (char *)(s) }
/* clang-format on */

static const struct pseudo_file system_files[] = {
	SHOW("stat", show_stat),
	SHOW("uptime", show_uptime),
	SHOW("loadavg", show_loadavg),
	SHOW("cpuinfo", show_cpuinfo),
	SHOW("meminfo", show_meminfo),
	SHOW("version", show_version),
	SHOW("cmdline", show_cmdline),
	SHOW("filesystems", show_filesystems),
	SHOW("cgroups", show_cgroups),
	SHOW("interrupts", show_interrupts),
	SHOW("schedstat", show_schedstat),
	SHOW("vmstat", show_vmstat),
	SHOW("softirqs", show_softirqs),
	SHOW("diskstats", show_nothing),
	{ .name = "slabinfo", .mode = 0400, .show = show_slabinfo },
	SHOW("fairground/unimplemented", show_unimplemented),
	STRING("sys/kernel/ostype", OS_TYPE),
	STRING("sys/kernel/osrelease", OS_RELEASE),
	STRING("sys/kernel/version", OS_VERSION),
	STRING("sys/kernel/pid_max", "32768"),
	STRING("sys/kernel/perf_event_paranoid", "2"),
	STRING("sys/kernel/perf_event_max_sample_rate", "100000"),
	STRING("sys/fs/protected_hardlinks", "1"),
	STRING("sys/fs/pipe-max-size", "1048576"),
	STRING("sys/kernel/printk", "4\t4\t1\t7"),
};

/* --- the root directory --------------------------------------------------------------- */

#define PIDS_AT (1ull << 32) /* directory position of process 0 */

static struct inode *text_link(struct superblock *sb, const char *text)
{
	struct inode *i = inode_create(sb, S_IFLNK | 0777);
	size_t len = strlen(text);

	if (!i)
		return INODE_LACKS;
	i->nlink = 1;
	i->size = len;
	i->link = kmalloc(len + 1);
	if (!i->link) {
		inode_put(i);
		return INODE_LACKS;
	}
	memcpy(i->link, text, len + 1);
	return i;
}

static struct inode *root_lookup(struct inode *dir, const char *name, size_t len)
{
	char text[48];

	if (len == 4 && !memcmp(name, "self", 4))
		snprintf(text, sizeof(text), "%d", current->proc->pid);
	else if (len == 11 && !memcmp(name, "thread-self", 11))
		snprintf(text, sizeof(text), "%d/task/%d", current->proc->pid, current->tid);
	else
		return proc_pid_lookup(dir->sb, name, len);
	return text_link(dir->sb, text);
}

/* First the files in the tree, then the links and the processes. */
static int root_readdir(struct file *f, emit_fn emit, void *arg)
{
	return dentry_readdir(f, emit, arg) ?: proc_pid_readdir(f, emit, arg, PIDS_AT);
}

static const struct inode_ops root_inode_ops = { .lookup = root_lookup };
static const struct file_ops root_file_ops = { .readdir = root_readdir };

void procfs_init(void)
{
	struct inode *root = pseudo_root(&procfs_type)->inode;

	root->iops = &root_inode_ops;
	root->fops = &root_file_ops;
	for (unsigned i = 0; i < ARRAY_SIZE(system_files); i++)
		procfs_add(&system_files[i]);
	pseudo_symlink(&procfs_type, "mounts", "self/mounts");
	ktimer_init(&load_timer, sample_load, NULL);
	ktimer_start(&load_timer, clock_ns() + LOAD_PERIOD_NS);
}
