/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's knobs as files: its tunables and features under /sys/kernel/debug/sched and
 * /proc/sys/kernel, its state as debugfs `sched/debug`. Everything is derived from the scheduler's
 * own lists (sched/observe/tunable.def, feature.def).
 */
#include "kernel/pseudo/procfs.h"

#include "kernel/pseudo/engine.h"
#include "kernel/kernel.h"
#include "kernel/scx/scx.h"
#include "kernel/task/preempt.h"
#include "kernel/time/speed.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/string.h"

/* --- tunables and features: arg is the name ------------------------------------------- */

static size_t show_tunable(void *arg, char *buf, size_t size)
{
	int len;

	with_irqs_off(len = sched_tunable_read(machine, arg, buf, size));
	return len < 0 ? 0 : (size_t)len;
}

static long store_tunable(void *arg, const char *text, size_t len)
{
	int err;

	with_irqs_off(err = sched_tunable_write(machine, arg, text, len));
	return err < 0 ? err : (long)len;
}

static size_t show_features(void *arg, char *buf, size_t size)
{
	int len = sched_features_read(machine, buf, size);

	(void)arg;
	return len < 0 ? 0 : (size_t)len;
}

static long store_features(void *arg, const char *text, size_t len)
{
	int err;

	(void)arg;
	with_irqs_off(err = sched_features_write(machine, text, len));
	return err < 0 ? err : (long)len;
}

static int add_as(const struct sched_tunable_info *info, int (*add)(const struct pseudo_file *file),
		  const char *folder)
{
	char name[64];
	struct pseudo_file file = {
		.name = name,
		.mode = 0644,
		.show = show_tunable,
		.store = store_tunable,
		.arg = (void *)info->name,
	};

	debug_assert(strlen(folder) + 1 + strlen(info->name) < sizeof(name));
	snprintf(name, sizeof(name), "%s/%s", folder, info->name);
	return add(&file);
}

static int add_tunable(const struct sched_tunable_info *info)
{
	return strcmp(info->where, "sysctl") ? add_as(info, debugfs_add, "sched")
					     : add_as(info, proc_sys_add, "kernel");
}

/* Boosts and clamps are sysctls; what governors have is theirs, as on Linux, below their names. */
static int add_freq_tunable(const struct sched_tunable_info *info)
{
	if (!strncmp(info->name, "sched_", 6))
		return add_as(info, proc_sys_add, "kernel");
	return add_as(info, sysfs_add,
		      strcmp(info->name, "rate_limit_us") ? "devices/system/cpu/cpufreq/sched"
							  : "devices/system/cpu/cpufreq/schedutil");
}

/* --- FDL's tunables: all in one file, "NAME VALUE" lines to read and to write --------- */

static bool is_in_qos_params(const struct sched_tunable_info *info)
{
	return !strcmp(info->where, "qos");
}

static bool is_of_frequencies(const struct sched_tunable_info *info)
{
	return !strcmp(info->where, "freq");
}

static size_t show_qos_params(void *arg, char *buf, size_t size)
{
	const struct sched_tunable_info *info;
	struct text t = text_of(buf, size);
	char value[32];

	(void)arg;
	for_each_tunable(info) if (is_in_qos_params(info) &&
				   show_tunable((void *)info->name, value, sizeof(value)))
		text_add(&t, "%25s %s", info->name, value);
	return t.len;
}

static long store_qos_params(void *arg, const char *text, size_t len)
{
	const char *space = strchr(text, ' ');
	const struct sched_tunable_info *info;
	size_t name = space ? (size_t)(space - text) : 0;
	long done;

	(void)arg;
	for_each_tunable(info) if (is_in_qos_params(info) && strlen(info->name) == name &&
				   !memcmp(info->name, text, name))
	{
		done = store_tunable((void *)info->name, space + 1, len - name - 1);
		return done < 0 ? done : (long)len;
	}
	return -EINVAL;
}

/* --- the state of every runqueue ------------------------------------------------------ */

static void add_ms(struct text *t, const char *name, u64 ns)
{
	text_add(t, "%-40s: %llu.%06llu\n", name, ns / NS_PER_MS, ns % NS_PER_MS);
}

/* Lets the scheduler write at the end of @t. */
static void add_cpu(struct text *t, unsigned cpu)
{
	with_irqs_off(t->len +=
		      sched_dump_cpu(machine, cpu, t->len < t->size ? t->buf + t->len : NULL,
				     t->len < t->size ? t->size - t->len : 0));
}

static size_t show_debug(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);
	struct cpumask online = online_cpus();
	unsigned cpu;

	(void)arg;
	text_add(&t, "Sched Debug Version: v0.11, %s #1\n", OS_RELEASE);
	add_ms(&t, "ktime", clock_ns());
	add_ms(&t, "sched_clk", clock_ns());
	text_add(&t, "%-40s: %llu\n", "jiffies", clock_ns() * tick_hz / NS_PER_SEC);
	for_each_cpu(cpu, &online)
		add_cpu(&t, cpu);
	return t.len;
}

/* Work conservation; counted while sched_schedstats is 1. */
static size_t show_waste(void *arg, char *buf, size_t size)
{
	struct sched_waste_stat stat;

	(void)arg;
	with_irqs_off(sched_waste(machine, arch_cpu_id(), &stat));
	return (size_t)snprintf(
		buf, size,
		"counted %u\nwaste_ns %lu\nwaste_llc_ns %lu\nnr_wasted %u\nnr_idle %u\n"
		"nr_waiting %u\n",
		stat.counted, stat.ns, stat.llc_ns, stat.nr_wasted, stat.nr_idle, stat.nr_waiting);
}

/* --- the fair policy: all names, the one in use in brackets ---------------------------- */

static struct mutex swap_lock = MUTEX_INIT(swap_lock);

static size_t show_fair_class(void *arg, char *buf, size_t size)
{
	const char *name, *now = sched_fair_current(machine);
	char loaded[64];
	struct text t = text_of(buf, size);

	(void)arg;
	for (unsigned i = 0; (name = sched_fair_name(i)); i++)
		text_add(&t, !strcmp(name, now) ? "%s[%s]" : "%s%s", i ? " " : "", name);
	if (scx_name(loaded, sizeof(loaded)))
		text_add(&t, " [scx:%s]", loaded);
	text_add(&t, "\n");
	return t.len;
}

/* scx:FILE[,NAME=VALUE...]: a program for sched_ext takes the place of the fair policies. */
static long store_program(const char *text, size_t len)
{
	char spec[SCX_PATH_MAX];
	size_t n = pseudo_trim(text, len);

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (n >= sizeof(spec))
		return -ENAMETOOLONG;
	memcpy(spec, text, n);
	spec[n] = 0;
	return scx_load(spec);
}

static long store_fair_class(void *arg, const char *text, size_t len)
{
	char name[PSEUDO_WORD_SIZE];
	int err;

	(void)arg;
	if (len > 4 && !strncmp(text, "scx:", 4)) {
		long stored = store_program(text + 4, len - 4);

		return stored < 0 ? stored : (long)len;
	}
	err = pseudo_word(name, text, len);
	if (err)
		return err;
	mutex_lock(&swap_lock);
	with_irqs_off(err = sched_fair_swap(machine, name, arch_cpu_id()));
	if (!err)
		scx_unload();
	mutex_unlock(&swap_lock);
	return err < 0 ? err : (long)len;
}

/* --- the model of preemption -------------------------------------------------------------- */

static size_t show_preempt(void *arg, char *buf, size_t size)
{
	(void)arg;
	return preempt_print(buf, size);
}

static long store_preempt(void *arg, const char *text, size_t len)
{
	char name[PSEUDO_WORD_SIZE];
	int err = pseudo_word(name, text, len) ?: preempt_choose(name);

	(void)arg;
	return err ? err : (long)len;
}

/* --- domains: arg is the CPU, the level and the file ------------------------------------ */

#define DOMAIN_ARG(cpu, level, file) ((void *)((u64)(cpu) << 16 | (level) << 8 | (file)))
#define DOMAIN_CPU(arg)		     ((unsigned)((u64)(arg) >> 16))
#define DOMAIN_LEVEL(arg)	     ((unsigned)((u64)(arg) >> 8 & 0xff))
#define DOMAIN_FILE(arg)	     ((unsigned)((u64)(arg)&0xff))

static size_t show_domain(void *arg, char *buf, size_t size)
{
	int len;

	debug_assert(DOMAIN_CPU(arg) < arch_nr_cpus && DOMAIN_LEVEL(arg) < SCHED_DOMAINS_MAX);
	with_irqs_off(len = sched_domain_read(machine, DOMAIN_CPU(arg), DOMAIN_LEVEL(arg),
					      DOMAIN_FILE(arg), buf, size));
	return len < 0 ? 0 : (size_t)len;
}

static long store_domain(void *arg, const char *text, size_t len)
{
	int err;

	debug_assert(DOMAIN_CPU(arg) < arch_nr_cpus && DOMAIN_LEVEL(arg) < SCHED_DOMAINS_MAX);
	with_irqs_off(err = sched_domain_write(machine, DOMAIN_CPU(arg), DOMAIN_LEVEL(arg),
					       DOMAIN_FILE(arg), text, len));
	return err < 0 ? err : (long)len;
}

static bool has_domain(unsigned cpu, unsigned level)
{
	int len;

	with_irqs_off(len = sched_domain_read(machine, cpu, level, 0, NULL, 0));
	return len > 0;
}

static int add_domain(unsigned cpu, unsigned level)
{
	const struct sched_domain_file *file;
	char name[80];
	int err = 0;

	debug_assert(cpu < arch_nr_cpus && level < SCHED_DOMAINS_MAX);
	for (unsigned i = 0; !err && (file = sched_domain_file(i)); i++) {
		snprintf(name, sizeof(name), "sched/domains/cpu%u/domain%u/%s", cpu, level,
			 file->name);
		err = debugfs_add(&(struct pseudo_file){
			.name = name,
			.mode = file->writable ? 0644 : 0444,
			.show = show_domain,
			.store = file->writable ? store_domain : NULL,
			.arg = DOMAIN_ARG(cpu, level, i),
		});
	}
	return err;
}

/* The directories of all domains that each CPU has with all CPUs in service. */
static struct dentry *domain_dirs[MAX_CPUS][SCHED_DOMAINS_MAX], *cpu_dirs[MAX_CPUS];

static int add_domains(void)
{
	struct cpumask online = online_cpus();
	char name[64];
	unsigned cpu;
	int err = 0;

	for_each_cpu(cpu, &online) {
		for (unsigned level = 0; !err && has_domain(cpu, level); level++) {
			err = add_domain(cpu, level);
			snprintf(name, sizeof(name), "sched/domains/cpu%u/domain%u", cpu, level);
			domain_dirs[cpu][level] = pseudo_find(&debugfs_type, name);
		}
		snprintf(name, sizeof(name), "sched/domains/cpu%u", cpu);
		cpu_dirs[cpu] = pseudo_find(&debugfs_type, name);
	}
	return err;
}

void schedfs_show_domains(void)
{
	struct cpumask possible = possible_cpus();
	unsigned cpu;

	for_each_cpu(cpu, &possible) {
		for (unsigned level = 0; level < SCHED_DOMAINS_MAX; level++)
			if (domain_dirs[cpu][level])
				pseudo_show(domain_dirs[cpu][level], has_domain(cpu, level));
		if (cpu_dirs[cpu])
			pseudo_show(cpu_dirs[cpu], cpus[cpu]->online);
	}
}

/* --- the fair server of each CPU: arg is CPU * 2 + file ------------------------------- */

#define SERVER_ARG(cpu, file) ((void *)(uintptr_t)((cpu)*2 + (file)))
#define SERVER_CPU(arg)	      ((unsigned)(uintptr_t)(arg) / 2)
#define SERVER_FILE(arg)      ((unsigned)(uintptr_t)(arg) % 2)

static size_t show_server(void *arg, char *buf, size_t size)
{
	return (size_t)sched_fair_server_read(machine, SERVER_CPU(arg), SERVER_FILE(arg), buf,
					      size);
}

static long store_server(void *arg, const char *text, size_t len)
{
	int err;

	with_irqs_off(err = sched_fair_server_write(machine, SERVER_CPU(arg), SERVER_FILE(arg),
						    text, len));
	return err < 0 ? err : (long)len;
}

static int add_servers(void)
{
	struct cpumask possible = possible_cpus();
	char name[64];
	unsigned cpu;
	int err = 0;

	for_each_cpu(cpu, &possible) {
		for (unsigned i = 0; !err && sched_fair_server_file(i); i++) {
			snprintf(name, sizeof(name), "sched/fair_server/cpu%u/%s", cpu,
				 sched_fair_server_file(i));
			err = debugfs_add(&(struct pseudo_file){ .name = name,
								 .mode = 0644,
								 .show = show_server,
								 .store = store_server,
								 .arg = SERVER_ARG(cpu, i) });
		}
	}
	return err;
}

static const struct pseudo_file state_files[] = {
	{ .name = "sched/fair_class",
	  .mode = 0644,
	  .show = show_fair_class,
	  .store = store_fair_class },
	{ .name = "sched/features", .mode = 0644, .show = show_features, .store = store_features },
	{ .name = "sched/debug", .mode = 0444, .show = show_debug },
	{ .name = "sched/waste", .mode = 0444, .show = show_waste },
	{ .name = "sched/preempt", .mode = 0644, .show = show_preempt, .store = store_preempt },
	{ .name = "qos/qos_params",
	  .mode = 0644,
	  .show = show_qos_params,
	  .store = store_qos_params },
};

static int schedfs_init(void)
{
	const struct sched_tunable_info *info;
	int err = 0;

	for_each_tunable(info)
	{
		if (is_of_frequencies(info))
			err = speed_table() ? add_freq_tunable(info) : 0;
		else if (!is_in_qos_params(info))
			err = add_tunable(info);
		if (err)
			return err;
	}
	for (unsigned i = 0; !err && i < ARRAY_SIZE(state_files); i++)
		err = debugfs_add(&state_files[i]);
	return err ?: add_servers() ?: add_domains();
}
INITCALL(schedfs_init);
