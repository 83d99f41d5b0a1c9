/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines from the command line. lib/cputree.h describes their shapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cputree.h"
#include "sim/engine/machine.h"
#include "sim/engine/util.h"

static void describe_text(struct machine_desc *desc, const struct cpu_tree *tree)
{
	size_t at = (size_t)snprintf(desc->text, sizeof(desc->text), "%u CPU%s", desc->nr_cpus,
				     desc->nr_cpus == 1 ? "" : "s");

	for (enum tree_level level = TREE_NODES; level < TREE_THREADS; level++) {
		const char *name = tree_level_name[level];

		at += (size_t)snprintf(desc->text + at, sizeof(desc->text) - at, ", %u %.*s",
				       tree->total[level],
				       (int)strlen(name) - (tree->total[level] == 1), name);
	}
}

struct machine_desc machine_describe(unsigned cpus, const char *topology)
{
	struct machine_desc desc;
	struct cpu_place *places;
	struct cpu_tree tree;

	if (!topology)
		cpu_tree_flat(&tree, cpus ? cpus : 1);
	else if (!cpu_tree_read(&tree, topology))
		usage_error("%s", tree.error);
	desc.nr_cpus = tree.total[TREE_THREADS];
	if (topology && cpus && cpus != desc.nr_cpus)
		usage_error("topology '%s' does not add up: it has %u CPUs, --cpus says %u",
			    topology, desc.nr_cpus, cpus);
	places = allocate(desc.nr_cpus, sizeof(*places));
	cpu_tree_places(&tree, places);
	desc.cpus = allocate(desc.nr_cpus, sizeof(*desc.cpus));
	for (unsigned cpu = 0; cpu < desc.nr_cpus; cpu++)
		desc.cpus[cpu] = (struct sched_cpu_desc){ .core = places[cpu].core,
							  .llc = places[cpu].llc,
							  .package = places[cpu].package,
							  .node = places[cpu].node };
	free(places);
	describe_text(&desc, &tree);
	return desc;
}

void machine_desc_free(struct machine_desc *desc)
{
	free(desc->cpus);
}
