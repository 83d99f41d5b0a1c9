/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The place of each logical CPU: core, last-level cache, package and NUMA node.
 *
 * The MADT lists APIC ids; an APIC id is a row of bit fields, and CPUID tells where each field
 * ends: equal above the SMT field means the same core, equal above the package field the same
 * package, equal above the bits that the last-level cache spans the same LLC. Ids have holes when a
 * level is not a power of two; the numbers in arch_cpus[] are dense, in order of first appearance.
 * The SRAT adds the node.
 *
 * Traps, seen on QEMU: leaves beyond the maximum answer with another leaf's data; leaf 0x1F aborts
 * QEMU 10 on subleaves above 5; ECX must be zero where it does not matter; EBX of 0xB is not the
 * count of the level (use the shift); the TOPOEXT bit reads 0 although 0x8000001D is there.
 *
 * References: Intel SDM 2A, CPUID leaves 4, 0xB, 0x1F; AMD APM 3, E.4.
 */
#include "kernel/arch.h"
#include "kernel/percpu.h"
#include "lib/cputree.h"
#include "lib/fmt.h"
#include "lib/string.h"
#include "x86.h"

unsigned arch_nr_cpus;
struct arch_cpu_info arch_cpus[MAX_CPUS];

static u32 found_apic_id[MAX_CPUS]; /* as the MADT lists them */
static unsigned nr_found;

static struct {
	u32 apic_id, proximity;
} affinity[MAX_CPUS]; /* as the SRAT lists them */
static unsigned nr_affinity;

static u32 proximity_of_node[MAX_CPUS];
static unsigned nr_nodes;
static bool shape_given; /* by the parameter topology= */

void x86_topology_add_cpu(u32 apic_id)
{
	if (nr_found < MAX_CPUS)
		found_apic_id[nr_found++] = apic_id;
}

void x86_topology_set_node(u32 apic_id, u32 proximity)
{
	if (nr_affinity == MAX_CPUS)
		return;
	affinity[nr_affinity].apic_id = apic_id;
	affinity[nr_affinity++].proximity = proximity;
}

/* --- CPUID: where the fields of an APIC id end --------------------------------- */

struct shifts {
	unsigned core, llc, package; /* number of low bits to drop to get a number of this level */
};

static unsigned bits_for(u32 count)
{
	return count <= 1 ? 0 : 32 - __builtin_clz(count - 1);
}

/* Leaf 0x1F or 0xB. False if it says nothing. */
static bool extended_topology(u32 leaf, struct shifts *s)
{
	enum { LAST_SUBLEAF = 5, SMT = 1 };

	if (cpuid(leaf, 0).b == 0)
		return false;
	for (u32 sub = 0; sub <= LAST_SUBLEAF; sub++) {
		struct cpuid r = cpuid(leaf, sub);
		unsigned type = r.c >> 8 & 0xff, shift = r.a & 31;

		if (!type)
			break;
		if (type == SMT)
			s->core = shift;
		s->package = max(s->package, shift);
	}
	return true;
}

/* Older processors lack those leaves and give counts, which are rounded up to powers of two. */
static void legacy_topology(struct shifts *s)
{
	u32 threads = cpuid(1, 0).d & BIT(28) ? cpuid(1, 0).b >> 16 & 0xff : 1;
	u32 amd = cpuid(0x80000008, 0).c;
	unsigned core_bits = bits_for((cpuid(4, 0).a >> 26) + 1);

	s->package = bits_for(threads);
	if (strcmp(x86_features.vendor, "AuthenticAMD") == 0) {
		s->package = amd >> 12 & 15 ? amd >> 12 & 15 : bits_for((amd & 0xff) + 1);
		core_bits = s->package - bits_for((cpuid(0x8000001e, 0).b >> 8 & 0xff) + 1);
	}
	s->core = s->package > core_bits ? s->package - core_bits : 0;
}

/* Leaf 4 and AMD's 0x8000001D share a format: a subleaf for each cache, with its sharers. */
bool arch_cache(unsigned index, struct arch_cache *cache)
{
	static const char *const types[] = { "", "Data", "Instruction", "Unified" };
	bool amd = strcmp(x86_features.vendor, "AuthenticAMD") == 0;
	struct cpuid r = cpuid(amd ? 0x8000001d : 4, index);
	unsigned type = r.a & 31;

	if (!type || type >= ARRAY_SIZE(types) || index > 7)
		return false;
	*cache = (struct arch_cache){
		.type = types[type],
		.level = r.a >> 5 & 7,
		.line = (r.b & 0xfff) + 1,
		.ways = (r.b >> 22) + 1,
		.sets = r.c + 1,
		.shift = bits_for((r.a >> 14 & 0xfff) + 1),
	};
	cache->kib = cache->line * cache->ways * cache->sets / 1024;
	return true;
}

/* The last level that holds data says which CPUs share an LLC. */
static void cache_topology(struct shifts *s)
{
	struct arch_cache c;
	unsigned best = 0;

	for (unsigned i = 0; arch_cache(i, &c); i++) {
		if (strcmp(c.type, "Instruction") && c.level > best) {
			best = c.level;
			s->llc = c.shift;
		}
	}
	if (best < 2) /* no shared cache described: a package is the best guess */
		s->llc = s->package;
}

static struct shifts read_shifts(void)
{
	struct shifts s = { 0 };

	if (!extended_topology(0x1f, &s) && !extended_topology(0xb, &s))
		legacy_topology(&s);
	cache_topology(&s);
	s.llc = min(max(s.llc, s.core), s.package);
	return s;
}

/* --- arch_cpus[] --------------------------------------------------------------- */

/* A dense number for @id: its place in @seen. */
static u32 number_of(u32 id, u32 *seen, unsigned *nr)
{
	for (unsigned i = 0; i < *nr; i++)
		if (seen[i] == id)
			return i;
	seen[*nr] = id;
	return (*nr)++;
}

static u32 node_of(u32 apic_id)
{
	u32 proximity = 0;

	for (unsigned i = 0; i < nr_affinity; i++)
		if (affinity[i].apic_id == apic_id)
			proximity = affinity[i].proximity;
	return number_of(proximity, proximity_of_node, &nr_nodes);
}

/* The boot CPU first, then by APIC id: never in the order of arrival. */
static void sort_found(u32 boot_id)
{
	if (!nr_found)
		found_apic_id[nr_found++] = boot_id;
	for (unsigned i = 1; i < nr_found; i++) {
		u32 id = found_apic_id[i];
		unsigned at = i;

		for (; at && (id == boot_id ||
			      (found_apic_id[at - 1] > id && found_apic_id[at - 1] != boot_id));
		     at--)
			found_apic_id[at] = found_apic_id[at - 1];
		found_apic_id[at] = id;
	}
}

/* topology=: a shape for the machine that QEMU cannot describe. */
static void apply_shape(const char *text)
{
	static struct cpu_place places[MAX_CPUS];
	static struct cpu_tree tree;

	if (!cpu_tree_read(&tree, text)) {
		kprintf("%s; ignored\n", tree.error);
		return;
	}
	if (tree.total[TREE_THREADS] != arch_nr_cpus) {
		kprintf("topology '%.40s' has %u CPUs, this machine %u; ignored\n", text,
			tree.total[TREE_THREADS], arch_nr_cpus);
		return;
	}
	cpu_tree_places(&tree, places);
	for (unsigned i = 0; i < arch_nr_cpus; i++) {
		arch_cpus[i].core = places[i].core;
		arch_cpus[i].llc = places[i].llc;
		arch_cpus[i].package = places[i].package;
		arch_cpus[i].node = places[i].node;
	}
	nr_nodes = tree.total[TREE_NODES];
	shape_given = true;
}

void x86_topology_init(void)
{
	static u32 cores[MAX_CPUS], llcs[MAX_CPUS], packages[MAX_CPUS];
	unsigned nr_cores = 0, nr_llcs = 0, nr_packages = 0;
	u64 llc_cpus = cmdline_get_u64(
		"llc", 0); /* llc=N: every N CPUs share a cache, whatever CPUID says */
	struct shifts s = read_shifts();

	sort_found(x86_apic_id());
	arch_nr_cpus = min((u64)nr_found, max(cmdline_get_u64("smp", nr_found), 1ull));
	for (unsigned i = 0; i < arch_nr_cpus; i++) {
		u32 id = found_apic_id[i];

		arch_cpus[i] = (struct arch_cpu_info){
			.apic_id = id,
			.thread = i,
			.core = number_of(id >> s.core, cores, &nr_cores),
			.llc = number_of(llc_cpus ? i / llc_cpus : id >> s.llc, llcs, &nr_llcs),
			.package = number_of(id >> s.package, packages, &nr_packages),
			.node = node_of(id),
		};
	}
	cpus[0]->arch->apic_id = arch_cpus[0].apic_id;
	if (cmdline_get("topology"))
		apply_shape(cmdline_get("topology"));
}

bool arch_cache_shared(const struct arch_cache *cache, unsigned a, unsigned b)
{
	const struct arch_cpu_info *x = &arch_cpus[a], *y = &arch_cpus[b];

	if (cache->level >= 3)
		return x->llc == y->llc;
	if (shape_given)
		return x->core == y->core;
	return x->apic_id >> cache->shift == y->apic_id >> cache->shift;
}

unsigned arch_core_id(unsigned cpu)
{
	unsigned first = 0;

	while (arch_cpus[first].package != arch_cpus[cpu].package)
		first++;
	return arch_cpus[cpu].core - arch_cpus[first].core;
}

unsigned arch_node_distance(unsigned from, unsigned to)
{
	u64 row = from < nr_nodes ? proximity_of_node[from] : ~0u,
	    column = to < nr_nodes ? proximity_of_node[to] : ~0u;

	if (!shape_given && row < x86_acpi.slit_size && column < x86_acpi.slit_size)
		return x86_acpi.slit[row * x86_acpi.slit_size + column];
	return from == to ? 10 : 20;
}

/* --- for people ---------------------------------------------------------------- */

static void print_distances(void)
{
	char line[256];

	for (unsigned from = 0; from < nr_nodes && nr_nodes > 1; from++) {
		struct text t = text_of(line, sizeof(line));

		for (unsigned to = 0; to < nr_nodes; to++)
			text_add(&t, " %u", arch_node_distance(from, to));
		kprintf("  node %u distances%s\n", from, line);
	}
}

/* Print one line for the core of CPU @i; returns the first CPU of the next core. */
static unsigned print_core(unsigned i)
{
	const struct arch_cpu_info *first = &arch_cpus[i];
	char line[160];
	struct text t = text_of(line, sizeof(line));

	for (; i < arch_nr_cpus && arch_cpus[i].core == first->core; i++)
		text_add(&t, "  cpu %u (apic %u)", i, arch_cpus[i].apic_id);
	kprintf("      core %u  node %u%s\n", first->core, first->node, line);
	return i;
}

/* APIC ids grow along the tree, so CPUs of a package, of an LLC and of a core follow each other. */
void arch_print_topology(void)
{
	kprintf("topology: %u CPU%s, %u node%s\n", arch_nr_cpus, arch_nr_cpus == 1 ? "" : "s",
		nr_nodes, nr_nodes == 1 ? "" : "s");
	for (unsigned i = 0, next; i < arch_nr_cpus; i = next) {
		const struct arch_cpu_info *before = i ? &arch_cpus[i - 1] : NULL,
					   *c = &arch_cpus[i];

		if (!before || before->package != c->package)
			kprintf("  package %u\n", c->package);
		if (!before || before->llc != c->llc)
			kprintf("    LLC %u\n", c->llc);
		next = print_core(i);
	}
	print_distances();
}

static void brand_string(char name[49])
{
	for (u32 i = 0; i < 3; i++) {
		struct cpuid r = cpuid(0x80000002 + i, 0);

		memcpy(name + 16 * i, &r, 16);
	}
	name[48] = 0;
}

/* Returns how many CPUs, or cores, the package of @c has. */
static unsigned count_in_package(const struct arch_cpu_info *c, bool cores)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < arch_nr_cpus; i++)
		if (arch_cpus[i].package == c->package &&
		    !(cores && i && arch_cpus[i - 1].core == arch_cpus[i].core))
			nr++;
	return nr;
}

size_t arch_cpuinfo(unsigned cpu, char *buf, size_t size)
{
	const struct arch_cpu_info *c = &arch_cpus[cpu];
	struct text t = text_of(buf, size);
	u32 id = cpuid(1, 0).a, family = id >> 8 & 15, model = id >> 4 & 15;
	char name[49];

	brand_string(name);
	if (family >= 6)
		model |= id >> 12 & 0xf0;
	if (family == 15)
		family += id >> 20 & 0xff;
	text_add(&t, "processor\t: %u\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\n", cpu,
		 x86_features.vendor, family, model);
	text_add(&t, "model name\t: %s\nstepping\t: %u\ncpu MHz\t\t: %lu.%03lu\n", name, id & 15,
		 x86_tsc_hz / 1000000, x86_tsc_hz / 1000 % 1000);
	text_add(&t, "physical id\t: %u\nsiblings\t: %u\n", c->package, count_in_package(c, false));
	text_add(&t, "core id\t\t: %u\ncpu cores\t: %u\n", arch_core_id(cpu),
		 count_in_package(c, true));
	text_add(&t, "apicid\t\t: %u\ninitial apicid\t: %u\n", c->apic_id, c->apic_id);
	text_add(&t, "flags\t\t: fpu tsc msr pae apic fxsr sse sse2 syscall lm%s%s%s%s%s%s\n\n",
		 x86_features.nx ? " nx" : "", x86_features.x2apic ? " x2apic" : "",
		 x86_features.tsc_deadline ? " tsc_deadline_timer" : "",
		 x86_features.smep ? " smep" : "", x86_features.smap ? " smap" : "",
		 x86_features.hypervisor ? " hypervisor" : "");
	return t.len;
}
