/* Topologies: a tree of packages (nodes), caches, cores and threads, given by the parts of each. */
#include <string.h>

#include "machine.h"
#include "util.h"

enum level { NODES, PACKAGES, LLCS, CORES, THREADS, NR_LEVELS };

static const char *const level_name[NR_LEVELS] = { "nodes", "packages", "llcs", "cores",
						   "threads" };

#define MAX_PARTS 256

/* How many parts the groups of the level above have, one after another, over and over. */
struct tree {
	u32 parts[NR_LEVELS][MAX_PARTS];
	u32 nr_parts[NR_LEVELS];
};

static u32 parts_of(const struct tree *tree, enum level level, u32 parent)
{
	return tree->parts[level][parent % tree->nr_parts[level]];
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_parts(struct tree *tree, enum level level, char *list, const char *all)
{
	u64 value;
	char *item;

	tree->nr_parts[level] = 0;
	while ((item = strsep(&list, "+"))) {
		if (tree->nr_parts[level] == MAX_PARTS)
			usage_error("topology '%s': %s lists more than %u numbers", all,
				    level_name[level], MAX_PARTS);
		if (!parse_number(item, CPU_MAX, &value) || !value)
			usage_error("topology '%s': '%s' is not a number of %s from 1 to %u", all,
				    item, level_name[level], CPU_MAX);
		tree->parts[level][tree->nr_parts[level]++] = (u32)value;
	}
}

static void read_named(struct tree *tree, char *text, const char *all)
{
	char *item, *value;
	bool seen[NR_LEVELS] = { false };

	while ((item = strsep(&text, ","))) {
		enum level level = 0;

		value = strchr(item, '=');
		if (!value)
			usage_error("topology '%s': '%s' is not LEVEL=NUMBER", all, item);
		*value++ = '\0';
		while (level < NR_LEVELS && strcmp(item, level_name[level]))
			level++;
		if (level == NR_LEVELS)
			usage_error(
				"topology '%s': no level '%s'; there are nodes, packages, llcs, "
				"cores, threads",
				all, item);
		if (seen[level])
			usage_error("topology '%s': %s twice", all, item);
		seen[level] = true;
		read_parts(tree, level, value, all);
	}
}

/* "2x4x2": the last factor is threads of a core, the one before cores of an LLC, and so on. */
static void read_factors(struct tree *tree, char *text, const char *all)
{
	char *factor[4], *item;
	u32 nr = 0;

	while ((item = strsep(&text, "x"))) {
		if (nr == ARRAY_SIZE(factor))
			usage_error("topology '%s' has more than 4 factors "
				    "(PACKAGESxLLCSxCORESxTHREADS)",
				    all);
		factor[nr++] = item;
	}
	for (u32 i = 0; i < nr; i++)
		read_parts(tree, (enum level)(NR_LEVELS - nr + i), factor[i], all);
}

/* --- building --------------------------------------------------------------------------------- */

/* How many groups there are at @level, and that every number of a list is used. */
static u32 count(const struct tree *tree, enum level level, u32 parents, const char *all)
{
	u32 total = 0;

	if (tree->nr_parts[level] > 1 && parents % tree->nr_parts[level])
		usage_error("topology '%s' does not add up: %u numbers of %s for %u parents", all,
			    tree->nr_parts[level], level_name[level], parents);
	for (u32 parent = 0; parent < parents; parent++) {
		total += parts_of(tree, level, parent);
		if (total > CPU_MAX)
			usage_error("topology '%s' has more than %u CPUs", all, CPU_MAX);
	}
	return total;
}

/* Walk the tree in order; ids[] are the numbers of the groups around the place reached. */
static void number_cpus(const struct tree *tree, enum level level, u32 parent, u32 *ids,
			struct sched_cpu_desc **next)
{
	for (u32 part = parts_of(tree, level, parent); part; part--) {
		if (level == THREADS)
			*(*next)++ = (struct sched_cpu_desc){ .core = ids[CORES],
							      .llc = ids[LLCS],
							      .package = ids[PACKAGES],
							      .node = ids[NODES] };
		else
			number_cpus(tree, level + 1, ids[level], ids, next);
		ids[level]++;
	}
}

static void describe_text(struct machine_desc *desc, const u32 *total)
{
	size_t at = (size_t)snprintf(desc->text, sizeof(desc->text), "%u CPU%s", desc->nr_cpus,
				     desc->nr_cpus == 1 ? "" : "s");

	for (enum level level = NODES; level < THREADS; level++)
		at += (size_t)snprintf(
			desc->text + at, sizeof(desc->text) - at, ", %u %.*s", total[level],
			(int)strlen(level_name[level]) - (total[level] == 1), level_name[level]);
}

struct machine_desc machine_describe(unsigned cpus, const char *topology)
{
	struct tree tree;
	struct machine_desc desc = { .nr_cpus = 1 };
	struct sched_cpu_desc *next;
	u32 total[NR_LEVELS], ids[NR_LEVELS] = { 0 };

	for (enum level level = 0; level < NR_LEVELS; level++)
		tree.nr_parts[level] = tree.parts[level][0] = 1;
	if (topology) {
		char *copy = strdup(topology);

		(strchr(copy, '=') ? read_named : read_factors)(&tree, copy, topology);
		free(copy);
		/* A package is a memory node unless nodes are given. */
		if (!strstr(topology, "nodes=")) {
			memcpy(tree.parts[NODES], tree.parts[PACKAGES], sizeof(tree.parts[NODES]));
			tree.nr_parts[NODES] = tree.nr_parts[PACKAGES];
			tree.nr_parts[PACKAGES] = tree.parts[PACKAGES][0] = 1;
		}
	} else if (cpus) {
		tree.parts[CORES][0] = cpus;
	}
	for (enum level level = 0; level < NR_LEVELS; level++)
		desc.nr_cpus = total[level] =
			count(&tree, level, desc.nr_cpus, topology ? topology : "");
	if (topology && cpus && cpus != desc.nr_cpus)
		usage_error("topology '%s' does not add up: it has %u CPUs, --cpus says %u",
			    topology, desc.nr_cpus, cpus);
	desc.cpus = next = allocate(desc.nr_cpus, sizeof(*desc.cpus));
	number_cpus(&tree, NODES, 0, ids, &next);
	describe_text(&desc, total);
	return desc;
}

void machine_desc_free(struct machine_desc *desc)
{
	free(desc->cpus);
}
