/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines from the command line. lib/cputree.h describes their shapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cpulist.h"
#include "lib/cputree.h"
#include "lib/opp.h"
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

/* --- operating points ----------------------------------------------------------------------- */

/* The bytes of the file, which the caller frees. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text;
	size_t size;
	FILE *copy;
	int c;

	if (!file)
		usage_error("--opp %s: neither juno-a53, juno, none nor a file that can be read",
			    path);
	copy = open_memstream(&text, &size);
	while ((c = getc(file)) != EOF)
		putc(c, copy);
	fclose(copy);
	if (ferror(file))
		usage_error("--opp %s: cannot be read", path);
	fclose(file);
	if (strlen(text) != size)
		usage_error("--opp %s: not a text", path);
	return text;
}

static void read_opp(struct machine_desc *desc, const char *opp, const struct cpu_place *places)
{
	const char *machine, *builtin = opp_builtin(opp, &machine);
	char *text = builtin ? NULL : read_file(opp);

	desc->opp = allocate(1, sizeof(*desc->opp));
	desc->opp_name = opp;
	if (!opp_read(desc->opp, builtin ?: text, places, desc->nr_cpus))
		usage_error("--opp %s: %s", opp, desc->opp->error);
	free(text);
}

/* --- machines ------------------------------------------------------------------------------- */

struct machine_desc machine_describe(unsigned cpus, const char *topology, const char *opp)
{
	struct machine_desc desc = { .opp = NULL };
	struct cpu_place *places;
	struct cpu_tree tree;
	bool has_opp = opp && strcmp(opp, "none");

	if (has_opp && !cpus && !topology)
		opp_builtin(opp, &topology);
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
	if (has_opp)
		read_opp(&desc, opp, places);
	free(places);
	describe_text(&desc, &tree);
	return desc;
}

void machine_isolate(struct machine_desc *desc, const char *list)
{
	size_t at = strlen(desc->text);

	if (!cpulist_read(list, strlen(list), ',', desc->nr_cpus, &desc->isolated))
		usage_error("--isolcpus %s: must be a list of CPUs below %u, as 2-3,5", list,
			    desc->nr_cpus);
	if (cpumask_weight(&desc->isolated) == desc->nr_cpus)
		usage_error("--isolcpus %s: one CPU must be left", list);
	snprintf(desc->text + at, sizeof(desc->text) - at, ", isolated %s", list);
}

void machine_desc_free(struct machine_desc *desc)
{
	free(desc->cpus);
	free(desc->opp);
}
