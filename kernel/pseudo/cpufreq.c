/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frequencies in /sys/devices/system/cpu: a directory cpufreq/policyN for each domain, named after
 * its first CPU, to which cpuM/cpufreq leads, with the files of Linux's cpufreq and cpufreq_stats;
 * cpuM/energy and policyN/energy; the governors' tunables. Frequencies are in kHz.
 *
 * A file `energy` has a line "energy E", in the table's units of power times ns, and the times that
 * it comes from: "busy KHZ POWER NS" for each point, "idle STATE POWER NS" for each idle state.
 *
 * Reference: Linux, Documentation/admin-guide/pm/cpufreq.rst. There, too, a CPU that leaves loses
 * its link; a domain without a CPU in service loses its directory here, too.
 */
#include "kernel/pseudo/procfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/engine.h"
#include "kernel/time/speed.h"
#include "lib/errno.h"
#include "lib/string.h"

#define BASE "devices/system/cpu"
#define KHZ  1000u

static struct sched_freq_stat stat_of(unsigned cpu)
{
	struct sched_freq_stat stat;

	with_irqs_off(sched_freq_stat(machine, cpu, &stat));
	return stat;
}

static u32 domain_of(unsigned cpu)
{
	return speed_table()->domain_of[cpu];
}

static const struct opp_type *type_of(unsigned cpu)
{
	return &speed_table()->type[speed_table()->type_of[domain_of(cpu)]];
}

static unsigned first_of(unsigned cpu)
{
	unsigned first = 0;

	debug_assert(cpu < arch_nr_cpus);
	while (domain_of(first) != domain_of(cpu))
		first++;
	return first;
}

static struct cpumask cpus_of(unsigned cpu, struct cpumask among)
{
	struct cpumask m = cpumask_none();
	unsigned other;

	for_each_cpu(other, &among)
		if (domain_of(other) == domain_of(cpu))
			cpumask_set(&m, other);
	return m;
}

/* --- what the files say --------------------------------------------------------------- */

typedef void (*say_fn)(struct text *t, unsigned cpu);

static void say_cpus(struct text *t, struct cpumask m)
{
	unsigned cpu, first = cpumask_first(&m);

	for_each_cpu(cpu, &m)
		text_add(t, cpu == first ? "%u" : " %u", cpu);
	text_add(t, "\n");
}

static void say_affected(struct text *t, unsigned cpu)
{
	say_cpus(t, cpus_of(cpu, online_cpus()));
}

static void say_related(struct text *t, unsigned cpu)
{
	say_cpus(t, cpus_of(cpu, possible_cpus()));
}

static void say_slowest(struct text *t, unsigned cpu)
{
	text_add(t, "%u\n", type_of(cpu)->opp[0].mhz * KHZ);
}

static void say_fastest(struct text *t, unsigned cpu)
{
	text_add(t, "%u\n", type_of(cpu)->opp[type_of(cpu)->nr_opps - 1].mhz * KHZ);
}

/* In ns; Linux's number for "unknown" is -1. */
static void say_latency(struct text *t, unsigned cpu)
{
	u32 us = type_of(cpu)->latency_us;

	text_add(t, "%u\n", us ? us * 1000 : UINT32_MAX);
}

static void say_frequency(struct text *t, unsigned cpu)
{
	text_add(t, "%u\n", stat_of(cpu).mhz * KHZ);
}

static void say_min(struct text *t, unsigned cpu)
{
	text_add(t, "%u\n", stat_of(cpu).slowest_mhz * KHZ);
}

static void say_max(struct text *t, unsigned cpu)
{
	text_add(t, "%u\n", stat_of(cpu).fastest_mhz * KHZ);
}

static void say_frequencies(struct text *t, unsigned cpu)
{
	for (u32 i = 0; i < type_of(cpu)->nr_opps; i++)
		text_add(t, "%u ", type_of(cpu)->opp[i].mhz * KHZ);
	text_add(t, "\n");
}

static void say_governor(struct text *t, unsigned cpu)
{
	text_add(t, "%s\n", stat_of(cpu).governor);
}

static void say_governors(struct text *t, unsigned cpu)
{
	const char *name;

	(void)cpu;
	for (unsigned i = 0; (name = sched_governor_name(i)); i++)
		text_add(t, "%s ", name);
	text_add(t, "\n");
}

static void say_driver(struct text *t, unsigned cpu)
{
	(void)cpu;
	text_add(t, "fairground\n");
}

static void say_setspeed(struct text *t, unsigned cpu)
{
	if (strcmp(stat_of(cpu).governor, "userspace"))
		text_add(t, "<unsupported>\n");
	else
		say_frequency(t, cpu);
}

static void say_times(struct text *t, unsigned cpu)
{
	struct sched_freq_stat stat = stat_of(cpu);

	for (u32 i = 0; i < type_of(cpu)->nr_opps; i++)
		text_add(t, "%u %lu\n", type_of(cpu)->opp[i].mhz * KHZ,
			 stat.at_ns[i] / USER_TICK_NS);
}

static void say_transitions(struct text *t, unsigned cpu)
{
	text_add(t, "%lu\n", stat_of(cpu).nr_transitions);
}

static void say_trans_table(struct text *t, unsigned cpu)
{
	const struct opp_type *type = type_of(cpu);

	text_add(t, "   From  :    To\n         : ");
	for (u32 i = 0; i < type->nr_opps; i++)
		text_add(t, "%9u ", type->opp[i].mhz * KHZ);
	for (u32 i = 0; i < type->nr_opps; i++) {
		text_add(t, "\n%9u: ", type->opp[i].mhz * KHZ);
		for (u32 to = 0; to < type->nr_opps; to++)
			text_add(t, "%9u ", sched_freq_changes(machine, cpu, i, to));
	}
	text_add(t, "\n");
}

static void add_energy(struct text *t, unsigned cpu, bool of_domain)
{
	const struct opp_type *type = type_of(cpu);
	struct sched_freq_stat stat = stat_of(cpu);
	const u64 *busy = of_domain ? stat.domain_busy_ns : stat.busy_ns;
	const u64 *idle = of_domain ? stat.domain_idle_ns : stat.idle_ns;

	text_add(t, "energy %lu\n", of_domain ? stat.domain_energy : stat.energy);
	for (u32 i = 0; i < type->nr_opps; i++)
		text_add(t, "busy %u %u %lu\n", type->opp[i].mhz * KHZ,
			 of_domain ? type->opp[i].power.domain : type->opp[i].power.cpu, busy[i]);
	for (u32 i = 0; i < type->nr_idle; i++)
		text_add(t, "idle %u %u %lu\n", i,
			 of_domain ? type->idle[i].power.domain : type->idle[i].power.cpu, idle[i]);
}

static void say_domain_energy(struct text *t, unsigned cpu)
{
	add_energy(t, cpu, true);
}

static void say_cpu_energy(struct text *t, unsigned cpu)
{
	add_energy(t, cpu, false);
}

/* --- what is written to them ---------------------------------------------------------- */

typedef int (*take_fn)(unsigned cpu, const char *word);

static struct mutex freq_lock = MUTEX_INIT(freq_lock); /* one change at a time */

static int take_governor(unsigned cpu, const char *word)
{
	int err;

	debug_assert(mutex_is_held(&freq_lock));
	with_irqs_off(err = sched_freq_govern(machine, cpu, word));
	return err;
}

/* In MHz, the rest of the division is in *@rest. */
static int read_khz(const char *word, u32 *mhz, u32 *rest)
{
	u64 khz;

	if (parse_u64(word, strlen(word), &khz) || khz > UINT32_MAX)
		return -EINVAL;
	*mhz = (u32)khz / KHZ;
	*rest = (u32)khz % KHZ;
	return 0;
}

static int take_speed(unsigned cpu, const char *word)
{
	u32 mhz, rest;
	int err = read_khz(word, &mhz, &rest);

	debug_assert(mutex_is_held(&freq_lock));
	if (err || rest)
		return -EINVAL;
	with_irqs_off(err = sched_freq_set(machine, cpu, mhz));
	return err;
}

/* A limit beyond all points is as good as the last of them. */
static int limit(unsigned cpu, u32 least, u32 most)
{
	const struct opp_type *type = type_of(cpu);
	int err;

	debug_assert(mutex_is_held(&freq_lock));
	with_irqs_off(err = sched_freq_limit(machine, cpu,
					     min(least, type->opp[type->nr_opps - 1].mhz),
					     max(most, type->opp[0].mhz)));
	return err;
}

static int take_min(unsigned cpu, const char *word)
{
	u32 mhz, rest;

	return read_khz(word, &mhz, &rest) ?: limit(cpu, mhz + !!rest, stat_of(cpu).fastest_mhz);
}

static int take_max(unsigned cpu, const char *word)
{
	u32 mhz, rest;

	return read_khz(word, &mhz, &rest) ?: limit(cpu, stat_of(cpu).slowest_mhz, mhz);
}

/* --- the files; arg is the file's row and the first CPU of the domain ------------------- */

static const struct row {
	const char *name;
	say_fn say;
	take_fn take;
} rows[] = {
	{ "affected_cpus", say_affected, NULL },
	{ "related_cpus", say_related, NULL },
	{ "cpuinfo_min_freq", say_slowest, NULL },
	{ "cpuinfo_max_freq", say_fastest, NULL },
	{ "cpuinfo_transition_latency", say_latency, NULL },
	{ "scaling_driver", say_driver, NULL },
	{ "scaling_cur_freq", say_frequency, NULL },
	{ "scaling_available_frequencies", say_frequencies, NULL },
	{ "scaling_available_governors", say_governors, NULL },
	{ "scaling_governor", say_governor, take_governor },
	{ "scaling_min_freq", say_min, take_min },
	{ "scaling_max_freq", say_max, take_max },
	{ "scaling_setspeed", say_setspeed, take_speed },
	{ "stats/time_in_state", say_times, NULL },
	{ "stats/total_trans", say_transitions, NULL },
	{ "stats/trans_table", say_trans_table, NULL },
	{ "energy", say_domain_energy, NULL },
};
static const struct row energy_row = { "energy", say_cpu_energy, NULL };

struct freq_file {
	const struct row *row;
	unsigned cpu;
};

static size_t show(void *arg, char *buf, size_t size)
{
	const struct freq_file *file = arg;
	struct text t = text_of(buf, size);

	file->row->say(&t, file->cpu);
	return t.len;
}

static long store(void *arg, const char *text, size_t len)
{
	const struct freq_file *file = arg;
	char name[PSEUDO_WORD_SIZE];
	int err = pseudo_word(name, text, len);

	if (err)
		return err;
	mutex_lock(&freq_lock);
	err = file->row->take(file->cpu, name);
	mutex_unlock(&freq_lock);
	return err ? err : (long)len;
}

static int add_file(const char *dir, const struct row *row, unsigned cpu)
{
	struct freq_file *file = kzalloc(sizeof(*file));
	char name[96];

	if (!file)
		return -ENOMEM;
	*file = (struct freq_file){ row, cpu };
	snprintf(name, sizeof(name), BASE "/%s/%s", dir, row->name);
	debug_assert(strlen(name) + 1 < sizeof(name));
	return sysfs_add(&(struct pseudo_file){
		.name = name,
		.mode = row->take ? 0644 : 0444,
		.show = show,
		.store = row->take ? store : NULL,
		.arg = file,
	});
}

static struct dentry *policies[MAX_CPUS], *links[MAX_CPUS];

static int add_policy(unsigned cpu)
{
	char name[64];
	int err = 0;

	snprintf(name, sizeof(name), "cpufreq/policy%u", cpu);
	for (unsigned i = 0; !err && i < ARRAY_SIZE(rows); i++)
		err = add_file(name, &rows[i], cpu);
	snprintf(name, sizeof(name), BASE "/cpufreq/policy%u", cpu);
	policies[cpu] = pseudo_find(&sysfs_type, name);
	return err;
}

static int add_cpu(unsigned cpu)
{
	char name[64], target[64];
	int err = first_of(cpu) == cpu ? add_policy(cpu) : 0;

	debug_assert(cpu < arch_nr_cpus);
	snprintf(name, sizeof(name), "cpu%u", cpu);
	err = err ?: add_file(name, &energy_row, cpu);
	snprintf(name, sizeof(name), BASE "/cpu%u/cpufreq", cpu);
	snprintf(target, sizeof(target), "../cpufreq/policy%u", first_of(cpu));
	err = err ?: pseudo_symlink(&sysfs_type, name, target);
	links[cpu] = pseudo_find(&sysfs_type, name);
	return err;
}

void cpufreq_show_cpu(unsigned cpu, bool online)
{
	struct cpumask left;

	if (!speed_table())
		return;
	left = cpus_of(cpu, online_cpus());
	if (links[cpu])
		pseudo_show(links[cpu], online);
	if (policies[first_of(cpu)] && cpumask_weight(&left) == (online ? 1 : 0))
		pseudo_show(policies[first_of(cpu)], online);
}

static int cpufreq_init(void)
{
	struct cpumask possible = possible_cpus();
	unsigned cpu;
	int err = 0;

	if (!speed_table())
		return 0;
	for_each_cpu(cpu, &possible)
		err = err ?: add_cpu(cpu);
	return err;
}
INITCALL(cpufreq_init);
