/* SPDX-License-Identifier: GPL-2.0-only */
/* Frequencies and energy of a run, as the scheduler's meters say. */
#include <string.h>

#include "lib/opp.h"
#include "sim/engine/util.h"
#include "sim/report/energy.h"

struct sched_freq_stat *energy_collect(struct sim *sim, const struct machine_desc *machine)
{
	struct sched_freq_stat *stats;

	if (!machine->opp)
		return NULL;
	stats = allocate(machine->nr_cpus, sizeof(*stats));
	for (unsigned cpu = 0; cpu < machine->nr_cpus; cpu++)
		sched_freq_stat(sim->s, cpu, &stats[cpu]);
	return stats;
}

void energy_govern(struct sim *sim, const struct machine_desc *machine, const char *governor)
{
	const char *colon = strchr(governor, ':');
	char *name = strndup(governor, colon ? (size_t)(colon - governor) : strlen(governor));
	u64 mhz = 0;

	if (!machine->opp)
		usage_error("--governor %s: the CPUs have one speed; --opp gives them more",
			    governor);
	if (colon && !parse_number(colon + 1, UINT32_MAX, &mhz))
		usage_error("--governor %s: must be NAME or userspace:MHZ", governor);
	for (unsigned cpu = 0; cpu < machine->nr_cpus; cpu++) {
		if (sched_freq_govern(sim->s, cpu, name))
			usage_error("--governor %s: no such governor; schedsim --help lists them",
				    governor);
		if (colon && sched_freq_set(sim->s, cpu, (u32)mhz))
			usage_error("--governor %s: CPU %u has no such frequency to be told",
				    governor, cpu);
	}
	free(name);
}

/* --- one domain of a run ---------------------------------------------------------------------- */

struct domain_sum {
	u32 first, nr_cpus;
	const struct opp_type *type;
	u64 busy_ns[OPP_MAX], total_busy_ns;
	u64 domain_energy, cpu_energy;
};

static struct domain_sum sum_domain(const struct report *r, const struct sched_freq_stat *stats,
				    u32 domain)
{
	struct domain_sum sum = { .first = UINT32_MAX };

	for (unsigned cpu = 0; cpu < r->machine->nr_cpus; cpu++) {
		if (stats[cpu].domain != domain)
			continue;
		sum.first = min(sum.first, (u32)cpu);
		sum.nr_cpus++;
		sum.cpu_energy += stats[cpu].energy;
		sum.domain_energy = stats[cpu].domain_energy;
		for (u32 i = 0; i < OPP_MAX; i++) {
			sum.busy_ns[i] += stats[cpu].busy_ns[i];
			sum.total_busy_ns += stats[cpu].busy_ns[i];
		}
	}
	sum.type = &r->machine->opp->type[r->machine->opp->type_of[domain]];
	return sum;
}

u64 energy_total(const struct report *r, const struct sched_freq_stat *stats)
{
	u64 total = 0;

	for (u32 d = 0; d < r->machine->opp->nr_domains; d++) {
		struct domain_sum sum = sum_domain(r, stats, d);

		total += sum.domain_energy + sum.cpu_energy;
	}
	return total;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Energy in the table's unit of power times seconds. */
static double units(u64 energy)
{
	return (double)energy / 1e9;
}

static double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_domain(const struct report *r, const struct sched_freq_stat *stats, u32 d)
{
	struct domain_sum sum = sum_domain(r, stats, d);
	const struct sched_freq_stat *stat = &stats[sum.first];
	char name[48];

	snprintf(name, sizeof(name), "%u: %u %s from CPU %u", d, sum.nr_cpus, sum.type->name,
		 sum.first);
	fprintf(r->out,
		r->options->narrow ? "%-20s %11s %7llu %7.2f %13.3f %12.3f\n  busy at MHz:%%"
				   : "%-24s %12s %9llu %8.2f %12.3f %12.3f ",
		name, stat->governor, (unsigned long long)stat->nr_transitions,
		percent(sum.total_busy_ns, r->duration * sum.nr_cpus), units(sum.cpu_energy),
		units(sum.domain_energy));
	for (u32 i = 0; i < sum.type->nr_opps; i++)
		if (sum.busy_ns[i])
			fprintf(r->out, " %u:%.2f", sum.type->opp[i].mhz,
				percent(sum.busy_ns[i], sum.total_busy_ns));
	fputc('\n', r->out);
}

u64 energy_of_group(const struct report *r, const struct result *result, u32 nr)
{
	u64 energy = result->measure->group_energy[nr];

	for (u32 i = nr + 1; i < r->workload->nr_groups; i++)
		if (r->workload->groups[i].parent == nr)
			energy += energy_of_group(r, result, i);
	return energy;
}

/* One line: whose energy, that, its part of all, and by CPU time if that is not 0. */
static void print_share(const struct report *r, const char *name, u64 energy, u64 total, u64 ns)
{
	fprintf(r->out, "%-*s %12.3f %8.2f", KIND_WIDTH, name, units(energy),
		percent(energy, total));
	if (ns)
		fprintf(r->out, " %12.3f", (double)energy / (double)ns);
	fputc('\n', r->out);
}

/* Prints whose the energy is: of whom a CPU served, or of nobody. */
static void print_shares(const struct report *r, const struct result *result)
{
	const struct measure *m = result->measure;
	u64 total = energy_total(r, result->freq), rest = total;
	char name[160];

	fprintf(r->out, "\n%-*s %12s %8s %12s\n", KIND_WIDTH, "energy of", "energy", "% of all",
		"by CPU s");
	for (u32 i = 0; i < m->nr_rows; i++) {
		report_kind(name, sizeof(name), r->workload, workload_row(r->workload, i));
		print_share(r, name, m->rows[i].energy, total, m->rows[i].got_ns);
		rest -= m->rows[i].energy;
	}
	for (u32 i = 1; i < r->workload->nr_groups; i++) {
		snprintf(name, sizeof(name), "group %s", r->workload->groups[i].path);
		print_share(r, name, energy_of_group(r, result, i), total,
			    result->groups[i].usage_ns);
	}
	for (u32 d = 0; d < r->machine->opp->nr_domains; d++)
		rest -= sum_domain(r, result->freq, d).domain_energy;
	print_share(r, "idle CPUs", rest, total, 0);
}

void energy_text(const struct report *r, const struct result *result)
{
	const struct opp_table *opp = r->machine->opp;

	fprintf(r->out,
		r->options->narrow ? "\n%-20s %11s %7s %7s %13s %12s\n"
				   : "\n%-24s %12s %9s %8s %12s %12s  busy at MHz:%%\n",
		r->nr_results > 1 ? result->sched : "frequency domain", "governor", "changes",
		"busy %", "energy, CPUs", "shared");
	for (u32 d = 0; d < opp->nr_domains; d++)
		print_domain(r, result->freq, d);
	fprintf(r->out, "%-*s %12.3f\n", r->options->narrow ? 48 : 56, "energy, all",
		units(energy_total(r, result->freq)));
	print_shares(r, result);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_times(FILE *out, const char *key, const u64 *ns, u32 nr)
{
	fprintf(out, ", \"%s\": [", key);
	for (u32 i = 0; i < nr; i++)
		fprintf(out, "%s%llu", i ? ", " : "", (unsigned long long)ns[i]);
	fprintf(out, "]");
}

static void json_cpu(const struct report *r, const struct sched_freq_stat *stat)
{
	const struct opp_type *type =
		&r->machine->opp->type[r->machine->opp->type_of[stat->domain]];

	fprintf(r->out,
		"{\"domain\": %u, \"type\": \"%s\", \"governor\": \"%s\", \"mhz\": %u, "
		"\"transitions\": %llu, \"energy\": %llu, \"domain_energy\": %llu",
		stat->domain, type->name, stat->governor, stat->mhz,
		(unsigned long long)stat->nr_transitions, (unsigned long long)stat->energy,
		(unsigned long long)stat->domain_energy);
	json_times(r->out, "busy_ns", stat->busy_ns, type->nr_opps);
	json_times(r->out, "idle_ns", stat->idle_ns, type->nr_idle);
	json_times(r->out, "domain_busy_ns", stat->domain_busy_ns, type->nr_opps);
	json_times(r->out, "domain_idle_ns", stat->domain_idle_ns, type->nr_idle);
	fprintf(r->out, "}");
}

void energy_json(const struct report *r, const struct result *result)
{
	fprintf(r->out, "\"energy\": %llu, \"frequencies\": [\n",
		(unsigned long long)energy_total(r, result->freq));
	for (unsigned cpu = 0; cpu < r->machine->nr_cpus; cpu++) {
		fprintf(r->out, "      ");
		json_cpu(r, &result->freq[cpu]);
		fprintf(r->out, cpu + 1 < r->machine->nr_cpus ? ",\n" : "], ");
	}
}
