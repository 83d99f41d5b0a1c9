/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of OPPs; see opp.h. The power numbers of the built-in ones are those of the energy model
 * of ARM's Juno board (docs/sources.md). juno-a53 is its four small CPUs alone, which then are the
 * fastest: their capacities are 1024 * MHz / 850, rounded down.
 */
#include "lib/opp.h"
#include "lib/cpulist.h"

#include "lib/fmt.h"
#include "lib/string.h"

static const struct builtin {
	const char *name, *machine, *text;
} builtins[] = {
	{ "juno-a53", "cores=4",
	  "type a53\n"
	  "opp 450  542 33 26\n"
	  "opp 575  692 46 30\n"
	  "opp 700  843 61 39\n"
	  "opp 775  933 76 47\n"
	  "opp 850 1024 93 57\n"
	  "idle 6 56    0\n"
	  "idle 0 17 2500\n"
	  "domain llc a53\n" },
	{ "juno", "llcs=2,cores=2+4",
	  "type a57\n"
	  "opp  450  417 168 24\n"
	  "opp  625  579 251 32\n"
	  "opp  800  744 359 43\n"
	  "opp  950  883 479 49\n"
	  "opp 1100 1024 616 64\n"
	  "idle 15 65    0\n"
	  "idle  0 24 2500\n"
	  "type a53\n"
	  "opp 450 235 33 26\n"
	  "opp 575 302 46 30\n"
	  "opp 700 368 61 39\n"
	  "opp 775 406 76 47\n"
	  "opp 850 447 93 57\n"
	  "idle 6 56    0\n"
	  "idle 0 17 2500\n"
	  "domain 0-1 a57\n"
	  "domain 2-5 a53\n" },
};

const char *opp_builtin(const char *name, const char **machine)
{
	for (u32 i = 0; i < ARRAY_SIZE(builtins); i++) {
		if (strcmp(builtins[i].name, name))
			continue;
		*machine = builtins[i].machine;
		return builtins[i].text;
	}
	return NULL;
}

/* --- words ------------------------------------------------------------------------------------ */

#define SHOWN	  40 /* characters of a word in an error */
#define NO_DOMAIN UINT32_MAX

struct reader {
	struct opp_table *table;
	const struct cpu_place *places;
	u32 nr_cpus, line;
	const char *at; /* in the line */
};

struct word {
	const char *at;
	int len;
};

#define fail(r, format, ...)                                                                       \
	({                                                                                         \
		fmt_snprintf((r)->table->error, sizeof((r)->table->error), "line %u: " format,     \
			     (r)->line, ##__VA_ARGS__);                                            \
		false;                                                                             \
	})

static bool ends_line(char c)
{
	return !c || c == '\n' || c == '#';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line; of length 0 at its end. */
static struct word next_word(struct reader *r)
{
	struct word w;

	while (is_space(*r->at))
		r->at++;
	w.at = r->at;
	while (!ends_line(*r->at) && !is_space(*r->at))
		r->at++;
	w.len = (int)(r->at - w.at);
	return w;
}

static bool is_word(struct word w, const char *text)
{
	return (size_t)w.len == strlen(text) && !memcmp(w.at, text, (size_t)w.len);
}

static bool read_number(struct reader *r, const char *what, u32 least, u32 most, u32 *value)
{
	struct word w = next_word(r);
	u64 wide;

	if (!w.len)
		return fail(r, "%s is missing", what);
	if (parse_u64(w.at, (size_t)w.len, &wide) || wide < least || wide > most)
		return fail(r, "%s '%.*s' is not a number from %u to %u", what, min(w.len, SHOWN),
			    w.at, least, most);
	*value = (u32)wide;
	return true;
}

static bool read_power(struct reader *r, struct opp_power *power)
{
	return read_number(r, "the power of a CPU", 0, OPP_POWER_MAX, &power->cpu) &&
	       read_number(r, "the power of a domain", 0, OPP_POWER_MAX, &power->domain);
}

/* --- types ------------------------------------------------------------------------------------ */

static s32 find_type(const struct opp_table *table, struct word w)
{
	for (u32 i = 0; i < table->nr_types; i++)
		if (is_word(w, table->type[i].name))
			return (s32)i;
	return -1;
}

static bool read_type(struct reader *r)
{
	struct word w = next_word(r);
	struct opp_table *table = r->table;

	if (!w.len || w.len >= OPP_NAME_LEN)
		return fail(r, "a type needs a name of at most %d characters", OPP_NAME_LEN - 1);
	if (find_type(table, w) >= 0)
		return fail(r, "type '%.*s' twice", w.len, w.at);
	if (table->nr_types == OPP_TYPES_MAX)
		return fail(r, "more than %u types", OPP_TYPES_MAX);
	memcpy(table->type[table->nr_types++].name, w.at, (size_t)w.len);
	return true;
}

static bool read_opp(struct reader *r, struct opp_type *type)
{
	const struct opp *slower = type->nr_opps ? &type->opp[type->nr_opps - 1] : NULL;
	struct opp *opp = &type->opp[type->nr_opps];

	if (type->nr_opps == OPP_MAX)
		return fail(r, "type '%s' has more than %u points", type->name, OPP_MAX);
	if (!read_number(r, "the frequency", 1, OPP_MHZ_MAX, &opp->mhz) ||
	    !read_number(r, "the capacity", 1, OPP_CAPACITY, &opp->capacity) ||
	    !read_power(r, &opp->power))
		return false;
	if (slower && (opp->mhz <= slower->mhz || opp->capacity <= slower->capacity))
		return fail(r, "a point must be faster than the one before: %u MHz, capacity %u",
			    slower->mhz, slower->capacity);
	if (slower && opp->power.cpu < slower->power.cpu)
		return fail(r, "a faster point takes less power than a slower one: %u, after %u",
			    opp->power.cpu, slower->power.cpu);
	type->nr_opps++;
	return true;
}

static bool read_idle(struct reader *r, struct opp_type *type)
{
	const struct opp_idle *shallower = type->nr_idle ? &type->idle[type->nr_idle - 1] : NULL;
	struct opp_idle *idle = &type->idle[type->nr_idle];

	if (type->nr_idle == OPP_IDLE_MAX)
		return fail(r, "type '%s' has more than %u idle states", type->name, OPP_IDLE_MAX);
	if (!read_power(r, &idle->power) ||
	    !read_number(r, "the time without work in us", 0, OPP_TIME_MAX, &idle->after_us))
		return false;
	if (!shallower && idle->after_us)
		return fail(r, "the first idle state begins after 0 us");
	if (shallower && idle->after_us <= shallower->after_us)
		return fail(r, "an idle state must begin later than the one before: after %u us",
			    shallower->after_us);
	type->nr_idle++;
	return true;
}

/* --- domains ---------------------------------------------------------------------------------- */

static bool put_in_domain(struct reader *r, u32 cpu, u32 domain)
{
	if (cpu >= r->nr_cpus)
		return fail(r, "there is no CPU %u: the machine has %u", cpu, r->nr_cpus);
	if (r->table->domain_of[cpu] != NO_DOMAIN)
		return fail(r, "CPU %u is in two domains", cpu);
	r->table->domain_of[cpu] = domain;
	return true;
}

static bool each_cache_is_one(struct reader *r, u8 type)
{
	struct opp_table *table = r->table;

	for (u32 cpu = 0; cpu < r->nr_cpus; cpu++) {
		u32 first = 0;

		while (r->places[first].llc != r->places[cpu].llc)
			first++;
		if (first == cpu)
			table->type_of[table->nr_domains++] = type;
		if (!put_in_domain(r, cpu,
				   first == cpu ? table->nr_domains - 1 : table->domain_of[first]))
			return false;
	}
	return true;
}

static bool read_cpus(struct reader *r, struct word w, u32 domain)
{
	struct cpumask cpus;
	unsigned cpu;

	if (!cpulist_read(w.at, w.len, '+', CPU_MAX, &cpus))
		return fail(r, "'%.*s' is not a list of CPUs, as 0-3+5, or llc", min(w.len, SHOWN),
			    w.at);
	for_each_cpu(cpu, &cpus)
		if (!put_in_domain(r, cpu, domain))
			return false;
	return true;
}

static bool read_domain(struct reader *r)
{
	struct word cpus = next_word(r), name = next_word(r);
	struct opp_table *table = r->table;
	s32 type = find_type(table, name);

	if (!name.len)
		return fail(r, "a domain needs CPUs and the name of their type");
	if (type < 0)
		return fail(r, "there is no type '%.*s' above", min(name.len, SHOWN), name.at);
	if (table->nr_domains == r->nr_cpus)
		return fail(r, "more domains than CPUs");
	if (is_word(cpus, "llc"))
		return each_cache_is_one(r, (u8)type);
	table->type_of[table->nr_domains] = (u8)type;
	return read_cpus(r, cpus, table->nr_domains++);
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool read_statement(struct reader *r)
{
	struct opp_table *table = r->table;
	struct opp_type *type = table->nr_types ? &table->type[table->nr_types - 1] : NULL;
	struct word w = next_word(r), rest;
	bool of_type = is_word(w, "opp") || is_word(w, "idle") || is_word(w, "latency");
	bool good;

	if (!w.len)
		return true;
	if (of_type && !type)
		return fail(r, "'%.*s' before any type", w.len, w.at);
	if (is_word(w, "type"))
		good = read_type(r);
	else if (is_word(w, "opp"))
		good = read_opp(r, type);
	else if (is_word(w, "idle"))
		good = read_idle(r, type);
	else if (is_word(w, "latency"))
		good = read_number(r, "the latency in us", 1, OPP_TIME_MAX, &type->latency_us);
	else if (is_word(w, "domain"))
		good = read_domain(r);
	else
		return fail(r, "'%.*s' is none of type, opp, idle, latency, domain",
			    min(w.len, SHOWN), w.at);
	if (!good)
		return false;
	rest = next_word(r);
	return !rest.len || fail(r, "'%.*s' is too much", min(rest.len, SHOWN), rest.at);
}

static bool read_lines(struct reader *r, const char *text)
{
	for (r->at = text; *r->at; r->line++) {
		if (!read_statement(r))
			return false;
		while (*r->at && *r->at != '\n')
			r->at++;
		r->at += *r->at == '\n';
	}
	return true;
}

#define wrong(table, ...)                                                                          \
	({                                                                                         \
		fmt_snprintf((table)->error, sizeof((table)->error), __VA_ARGS__);                 \
		false;                                                                             \
	})

/* Threads of a core share its clock. */
static bool cores_are_whole(struct reader *r)
{
	const u32 *domain_of = r->table->domain_of;

	for (u32 cpu = 1; cpu < r->nr_cpus; cpu++)
		if (r->places[cpu].core == r->places[cpu - 1].core &&
		    domain_of[cpu] != domain_of[cpu - 1])
			return wrong(r->table, "CPUs %u and %u are one core in two domains",
				     cpu - 1, cpu);
	return true;
}

static bool is_complete(struct reader *r)
{
	struct opp_table *table = r->table;
	u32 most = 0;

	if (!table->nr_types)
		return wrong(table, "the table is empty: it has no type");
	for (u32 i = 0; i < table->nr_types; i++)
		if (!table->type[i].nr_opps || !table->type[i].nr_idle)
			return wrong(table, "type '%s' has no %s", table->type[i].name,
				     table->type[i].nr_opps ? "idle state" : "point");
	for (u32 cpu = 0; cpu < r->nr_cpus; cpu++) {
		const struct opp_type *type;

		if (table->domain_of[cpu] == NO_DOMAIN)
			return wrong(table, "CPU %u is in no domain", cpu);
		type = &table->type[table->type_of[table->domain_of[cpu]]];
		most = max(most, type->opp[type->nr_opps - 1].capacity);
	}
	if (most != OPP_CAPACITY)
		return wrong(table, "the fastest CPU has capacity %u: it must be %u", most,
			     OPP_CAPACITY);
	return cores_are_whole(r);
}

/* Gives each domain the number that its first CPU's order makes it. */
static void number_domains(struct opp_table *table, u32 nr_cpus)
{
	u8 type_of[CPU_MAX];
	u32 nr = 0;

	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		u32 old = table->domain_of[cpu];

		if (old >= CPU_MAX) /* numbered already, from CPU_MAX on */
			continue;
		type_of[nr] = table->type_of[old];
		for (u32 other = cpu; other < nr_cpus; other++)
			if (table->domain_of[other] == old)
				table->domain_of[other] = CPU_MAX + nr;
		nr++;
	}
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		table->domain_of[cpu] -= CPU_MAX;
	memcpy(table->type_of, type_of, nr);
	table->nr_domains = nr;
}

bool opp_read(struct opp_table *table, const char *text, const struct cpu_place *places,
	      u32 nr_cpus)
{
	struct reader r = { .table = table, .places = places, .nr_cpus = nr_cpus, .line = 1 };

	memset(table, 0, sizeof(*table));
	for (u32 cpu = 0; cpu < CPU_MAX; cpu++)
		table->domain_of[cpu] = NO_DOMAIN;
	if (!read_lines(&r, text) || !is_complete(&r))
		return false;
	number_domains(table, nr_cpus);
	return true;
}
