/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /sys: the CPUs, what they share, and the NUMA nodes, from what the architecture found
 * (arch_cpus[]). lscpu, lstopo, libnuma and glibc read these files; their names and formats follow
 * Linux's Documentation/ABI (sysfs-devices-system-cpu).
 */
#include "kernel/pseudo/procfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/hotplug.h"
#include "lib/string.h"

/* A file's arg: which of a table's functions makes it, and for which CPU, node or cache. */
#define ARG(kind, cpu, index) ((void *)((u64)(kind) << 24 | (u64)(index) << 16 | (cpu)))
#define ARG_KIND(arg)	      ((u64)(arg) >> 24)
#define ARG_INDEX(arg)	      ((u64)(arg) >> 16 & 0xff)
#define ARG_CPU(arg)	      ((unsigned)((u64)(arg)&0xffff))

/* CPUs of which @same(cpu, @of) is true. */
typedef bool (*same_fn)(const struct arch_cpu_info *a, const struct arch_cpu_info *b);

static struct cpumask cpus_like(unsigned of, same_fn same)
{
	struct cpumask online = online_cpus(), m = cpumask_none();
	unsigned cpu;

	debug_assert(of < arch_nr_cpus);
	for_each_cpu(cpu, &online)
		if (same(&arch_cpus[cpu], &arch_cpus[of]))
			cpumask_set(&m, cpu);
	return m;
}

static bool same_core(const struct arch_cpu_info *a, const struct arch_cpu_info *b)
{
	return a->core == b->core;
}

static bool same_package(const struct arch_cpu_info *a, const struct arch_cpu_info *b)
{
	return a->package == b->package;
}

static size_t print_mask(const struct cpumask *m, bool list, char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	if (list)
		text_add_cpulist(&t, m);
	else
		text_add_cpumask(&t, m);
	text_add(&t, "\n");
	return t.len;
}

/* --- cpu/: the machine as a whole ----------------------------------------------------- */

enum cpu_set { SET_ONLINE, SET_POSSIBLE, SET_OFFLINE, SET_ISOLATED };

static size_t show_cpus(void *arg, char *buf, size_t size)
{
	struct cpumask online = online_cpus(), m = possible_cpus();
	unsigned cpu;

	if ((enum cpu_set)(u64)arg == SET_ONLINE)
		m = online;
	else if ((enum cpu_set)(u64)arg == SET_ISOLATED)
		m = *sched_isolated(machine);
	else if ((enum cpu_set)(u64)arg == SET_OFFLINE)
		for_each_cpu(cpu, &online)
			cpumask_clear(&m, cpu);
	return print_mask(&m, true, buf, size);
}

static size_t show_text(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%s\n", (const char *)arg);
}

static size_t show_smt_active(void *arg, char *buf, size_t size)
{
	struct cpumask online = online_cpus();
	bool active = false;
	unsigned cpu;

	(void)arg;
	for_each_cpu(cpu, &online) {
		struct cpumask core = cpus_like(cpu, same_core);

		active |= cpumask_weight(&core) > 1;
	}
	return (size_t)snprintf(buf, size, "%d\n", active);
}

/* clang-format off */
#define MACHINE(file, fn, value) { .name = file, .mode = 0444, .show = fn, .arg = (char *)(value) }
/* clang-format on */

static const struct pseudo_file machine_files[] = {
	MACHINE("devices/system/cpu/online", show_cpus, SET_ONLINE),
	MACHINE("devices/system/cpu/possible", show_cpus, SET_POSSIBLE),
	MACHINE("devices/system/cpu/present", show_cpus, SET_POSSIBLE),
	MACHINE("devices/system/cpu/offline", show_cpus, SET_OFFLINE),
	MACHINE("devices/system/cpu/isolated", show_cpus, SET_ISOLATED),
	MACHINE("devices/system/cpu/kernel_max", show_text, "255"),
	MACHINE("devices/system/cpu/smt/active", show_smt_active, NULL),
	MACHINE("bus/event_source/devices/software/type", show_text, "1"),
	MACHINE("bus/event_source/devices/tracepoint/type", show_text, "2"),
	MACHINE("class/tty/console/active", show_text, "ttyS0"),
	MACHINE("devices/system/clocksource/clocksource0/available_clocksource", show_text, "tsc"),
	MACHINE("devices/system/clocksource/clocksource0/current_clocksource", show_text, "tsc"),
};

/* --- cpuN/topology -------------------------------------------------------------------- */

static const struct {
	const char *name; /* name of the file with the CPU map; name_list is the CPU list */
	same_fn same;
} maps[] = {
	{ "thread_siblings", same_core },  { "core_cpus", same_core },
	{ "core_siblings", same_package }, { "package_cpus", same_package },
	{ "die_cpus", same_package },	   { "cluster_cpus", same_core },
};

static size_t show_map(void *arg, char *buf, size_t size)
{
	struct cpumask m = cpus_like(ARG_CPU(arg), maps[ARG_INDEX(arg)].same);

	debug_assert(ARG_INDEX(arg) < ARRAY_SIZE(maps));
	return print_mask(&m, ARG_KIND(arg), buf, size);
}

enum cpu_id { ID_PACKAGE, ID_DIE, ID_CLUSTER, ID_CORE, NR_IDS };
static const char *const id_names[NR_IDS] = { "physical_package_id", "die_id", "cluster_id",
					      "core_id" };

static size_t show_id(void *arg, char *buf, size_t size)
{
	unsigned cpu = ARG_CPU(arg);
	struct cpumask core = cpus_like(cpu, same_core);
	/* A cluster is the CPUs that share the second-level cache: a core. */
	const u32 ids[NR_IDS] = { arch_cpus[cpu].package, 0, cpumask_first(&core),
				  arch_core_id(cpu) };

	debug_assert(cpu < arch_nr_cpus && ARG_INDEX(arg) < NR_IDS);
	return (size_t)snprintf(buf, size, "%u\n", ids[ARG_INDEX(arg)]);
}

/* --- cpuN/cache ----------------------------------------------------------------------- */

/* clang-format off */
enum cache_file {
	C_LEVEL, C_TYPE, C_ID, C_SIZE, C_LINE, C_SETS, C_WAYS, C_PARTITION, C_MAP, C_LIST,
	NR_CACHE_FILES,
};
static const char *const cache_names[NR_CACHE_FILES] = {
	"level", "type", "id", "size", "coherency_line_size", "number_of_sets",
	"ways_of_associativity", "physical_line_partition", "shared_cpu_map", "shared_cpu_list",
};
/* clang-format on */

static struct cpumask sharers(const struct arch_cache *c, unsigned cpu)
{
	struct cpumask online = online_cpus(), m = cpumask_none();
	unsigned other;

	for_each_cpu(other, &online)
		if (arch_cache_shared(c, cpu, other))
			cpumask_set(&m, other);
	return m;
}

/* Caches of a kind are numbered in the order of their first CPUs. */
static unsigned cache_id(const struct arch_cache *c, unsigned cpu)
{
	unsigned id = 0, other, before;

	debug_assert(cpu < arch_nr_cpus);
	for (other = 0; other < arch_nr_cpus && !arch_cache_shared(c, cpu, other); other++) {
		for (before = 0; before < other && !arch_cache_shared(c, before, other);)
			before++;
		id += before == other;
	}
	return id;
}

static size_t show_cache(void *arg, char *buf, size_t size)
{
	struct arch_cache c = { 0 };
	struct cpumask m;

	debug_assert(ARG_KIND(arg) < NR_CACHE_FILES);
	arch_cache(ARG_INDEX(arg), &c);
	m = sharers(&c, ARG_CPU(arg));
	const unsigned numbers[NR_CACHE_FILES] = {
		[C_LEVEL] = c.level, [C_ID] = cache_id(&c, ARG_CPU(arg)),
		[C_LINE] = c.line,   [C_SETS] = c.sets,
		[C_WAYS] = c.ways,   [C_PARTITION] = 1,
	};

	switch (ARG_KIND(arg)) {
	case C_TYPE:
		return (size_t)snprintf(buf, size, "%s\n", c.type);
	case C_SIZE:
		return (size_t)snprintf(buf, size, "%uK\n", c.kib);
	case C_MAP:
	case C_LIST:
		return print_mask(&m, ARG_KIND(arg) == C_LIST, buf, size);
	default:
		return (size_t)snprintf(buf, size, "%u\n", numbers[ARG_KIND(arg)]);
	}
}

/* --- node/ ---------------------------------------------------------------------------- */

static unsigned nr_nodes(void)
{
	unsigned nr = 1;

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		nr = max(nr, arch_cpus[cpu].node + 1);
	return nr;
}

static struct cpumask cpus_of_node(unsigned node)
{
	struct cpumask online = online_cpus(), m = cpumask_none();
	unsigned cpu;

	for_each_cpu(cpu, &online)
		if (arch_cpus[cpu].node == node)
			cpumask_set(&m, cpu);
	return m;
}

/* Memory is not placed by node, so all of it is shown at the first node. */
enum node_set { NODES_ALL, NODES_WITH_CPUS, NODES_WITH_MEMORY, NODES_NONE };

static bool node_is_in(unsigned node, enum node_set set)
{
	struct cpumask m = cpus_of_node(node);

	return set == NODES_ALL || (set == NODES_WITH_CPUS && !cpumask_empty(&m)) ||
	       (set == NODES_WITH_MEMORY && !node);
}

static size_t show_nodes(void *arg, char *buf, size_t size)
{
	struct cpumask m = cpumask_none(); /* numbers of nodes */

	for (unsigned node = 0; node < nr_nodes(); node++)
		if (node_is_in(node, (enum node_set)(u64)arg))
			cpumask_set(&m, node);
	return print_mask(&m, true, buf, size);
}

static size_t show_node_cpus(void *arg, char *buf, size_t size)
{
	struct cpumask m = cpus_of_node(ARG_CPU(arg));

	return print_mask(&m, ARG_KIND(arg), buf, size);
}

/* The kernel does not count where pages come from, so every page counts as local and a hit. */
static size_t show_numastat(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size,
				"numa_hit 0\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\n"
				"local_node 0\nother_node 0\n");
}

static size_t show_distance(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	for (unsigned to = 0; to < nr_nodes(); to++)
		text_add(&t, "%s%u", to ? " " : "", arch_node_distance(ARG_CPU(arg), to));
	text_add(&t, "\n");
	return t.len;
}

static size_t show_node_memory(void *arg, char *buf, size_t size)
{
	unsigned node = ARG_CPU(arg);
	u64 kib = node ? 0 : PAGE_SIZE / 1024, total = page_nr_total() * kib,
	    free = page_nr_free() * kib;
	struct text t = text_of(buf, size);

	text_add(&t, "Node %u MemTotal:       %8lu kB\n", node, total);
	text_add(&t, "Node %u MemFree:        %8lu kB\n", node, free);
	text_add(&t, "Node %u MemUsed:        %8lu kB\n", node, total - free);
	return t.len;
}

/* --- cpuN/online ---------------------------------------------------------------------- */

static size_t show_online(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%d\n", cpus[ARG_CPU(arg)]->online);
}

/* 1, 0, or -EINVAL. As on Linux the first letter decides, or after an "o" the second (on, off). */
static int read_truth(const char *text)
{
	bool o = *text == 'o' || *text == 'O';
	char c = o ? text[1] : text[0];

	if (c && strchr(o ? "nN" : "1yY", c))
		return 1;
	return c && strchr(o ? "fF" : "0nN", c) ? 0 : -EINVAL;
}

static long store_online(void *arg, const char *text, size_t len)
{
	int online = read_truth(text), err = online;

	if (online >= 0)
		err = cpu_set_online(ARG_CPU(arg), online);
	return err ?: (long)len;
}

/* Entries that only CPUs in service have: topology and cache of the CPU, links with its node. */
static struct dentry *presence[MAX_CPUS][4];

void sysfs_show_cpu(unsigned cpu, bool online)
{
	debug_assert(cpu < arch_nr_cpus);
	for (unsigned i = 0; i < ARRAY_SIZE(presence[cpu]); i++)
		if (presence[cpu][i])
			pseudo_show(presence[cpu][i], online);
}

/* --- registration --------------------------------------------------------------------- */

typedef size_t (*show_fn)(void *arg, char *buf, size_t size);

static void __printf(3, 4) add(show_fn show, void *arg, const char *format, ...)
{
	char name[96];
	va_list args;
	int err;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	debug_assert(strlen(name) + 1 < sizeof(name));
	err = sysfs_add(&(struct pseudo_file){
		.name = name,
		.mode = 0444,
		.show = show,
		.arg = arg,
	});
	if (err)
		kprintf("/sys/%s: error %d\n", name, -err);
}

/* CPU 0 has no file `online`, because it never leaves. */
static void add_online(unsigned cpu)
{
	char name[64];

	snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/online", cpu);
	sysfs_add(&(struct pseudo_file){
		.name = name,
		.mode = 0644,
		.show = show_online,
		.store = store_online,
		.arg = ARG(0, cpu, 0),
	});
}

static void add_cpu(unsigned cpu)
{
	const char *base = "devices/system/cpu";

	for (unsigned i = 0; i < ARRAY_SIZE(maps); i++) {
		add(show_map, ARG(0, cpu, i), "%s/cpu%u/topology/%s", base, cpu, maps[i].name);
		add(show_map, ARG(1, cpu, i), "%s/cpu%u/topology/%s_list", base, cpu, maps[i].name);
	}
	for (unsigned i = 0; i < NR_IDS; i++)
		add(show_id, ARG(0, cpu, i), "%s/cpu%u/topology/%s", base, cpu, id_names[i]);
	for (unsigned i = 0; arch_cache(i, &(struct arch_cache){ 0 }); i++)
		for (unsigned file = 0; file < NR_CACHE_FILES; file++)
			add(show_cache, ARG(file, cpu, i), "%s/cpu%u/cache/index%u/%s", base, cpu,
			    i, cache_names[file]);
	if (cpu)
		add_online(cpu);
}

static void add_node(unsigned node)
{
	add(show_node_cpus, ARG(0, node, 0), "devices/system/node/node%u/cpumap", node);
	add(show_node_cpus, ARG(1, node, 0), "devices/system/node/node%u/cpulist", node);
	add(show_distance, ARG(0, node, 0), "devices/system/node/node%u/distance", node);
	add(show_node_memory, ARG(0, node, 0), "devices/system/node/node%u/meminfo", node);
	add(show_numastat, NULL, "devices/system/node/node%u/numastat", node);
}

/* cpuN/nodeM and nodeM/cpuN lead to each other. */
static void link_cpu_and_node(unsigned cpu)
{
	unsigned node = arch_cpus[cpu].node;
	char name[64], target[64];

	snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/node%u", cpu, node);
	snprintf(target, sizeof(target), "../../node/node%u", node);
	pseudo_symlink(&sysfs_type, name, target);
	presence[cpu][0] = pseudo_find(&sysfs_type, name);
	snprintf(name, sizeof(name), "devices/system/node/node%u/cpu%u", node, cpu);
	snprintf(target, sizeof(target), "../../cpu/cpu%u", cpu);
	pseudo_symlink(&sysfs_type, name, target);
	presence[cpu][1] = pseudo_find(&sysfs_type, name);
	snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/topology", cpu);
	presence[cpu][2] = pseudo_find(&sysfs_type, name);
	snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/cache", cpu);
	presence[cpu][3] = pseudo_find(&sysfs_type, name);
}

static void add_nodes(void)
{
	static const struct {
		const char *name;
		enum node_set set;
	} sets[] = { { "online", NODES_ALL },
		     { "possible", NODES_ALL },
		     { "has_cpu", NODES_WITH_CPUS },
		     { "has_memory", NODES_WITH_MEMORY },
		     { "has_normal_memory", NODES_WITH_MEMORY },
		     { "has_generic_initiator", NODES_NONE } };

	for (unsigned i = 0; i < ARRAY_SIZE(sets); i++)
		add(show_nodes, (void *)(u64)sets[i].set, "devices/system/node/%s", sets[i].name);
	for (unsigned node = 0; node < nr_nodes(); node++)
		add_node(node);
}

void sysfs_init(void)
{
	struct cpumask possible = possible_cpus();
	unsigned cpu;

	for (unsigned i = 0; i < ARRAY_SIZE(machine_files); i++)
		sysfs_add(&machine_files[i]);
	add_nodes();
	for_each_cpu(cpu, &possible) {
		add_cpu(cpu);
		link_cpu_and_node(cpu);
	}
	pseudo_mkdir(&sysfs_type, "kernel/debug");
	pseudo_mkdir(&sysfs_type, "kernel/tracing");
}
