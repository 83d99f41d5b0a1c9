/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines whose CPUs are not equal and change their speed: which operating performance points
 * (OPPs) a type of CPU has, what power it takes at each, and which CPUs change together, as the
 * simulator's --opp takes it. One statement a line, # begins a comment:
 *
 *	type NAME	begins a type of CPU; the next three are of it
 *	opp MHZ CAPACITY CPU DOMAIN
 *			a point, the slowest first, with its power while busy
 *	idle CPU DOMAIN US
 *			an idle state, the shallowest first, with its power, and from how many us
 *			without work on; 0 for the first
 *	latency US	after a change the next one comes no sooner; default: unknown
 *	domain CPUS|llc NAME
 *			CPUs, as 0-3+5, that change together; llc: those of each cache
 *
 * Capacity is in 1024ths of the fastest CPU's at its fastest point. The unit of power is arbitrary
 * but the same everywhere; "CPU" is that of each CPU, "DOMAIN" of what the CPUs of a domain share:
 * busy while one of them is.
 */
#pragma once

#include "lib/cputree.h"

#define OPP_CAPACITY  1024u
#define OPP_MAX	      16u /* points of a type */
#define OPP_IDLE_MAX  4u  /* idle states of a type */
#define OPP_TYPES_MAX 8u
#define OPP_NAME_LEN  16
#define OPP_POWER_MAX 1000000u
#define OPP_MHZ_MAX   100000u
#define OPP_TIME_MAX  1000000u /* us: a latency, a residency */

struct opp_power {
	u32 cpu, domain;
};

struct opp {
	u32 mhz, capacity;
	struct opp_power power;
};

struct opp_idle {
	u32 after_us; /* CPU or domain is in this state when it has idled so long */
	struct opp_power power;
};

struct opp_type {
	char name[OPP_NAME_LEN];
	struct opp opp[OPP_MAX];
	struct opp_idle idle[OPP_IDLE_MAX];
	u32 nr_opps, nr_idle;
	u32 latency_us; /* 0: unknown */
};

struct opp_table {
	struct opp_type type[OPP_TYPES_MAX];
	u32 nr_types, nr_domains;
	/* Of each CPU: its domain, numbered in order of their first CPUs. */
	u32 domain_of[CPU_MAX];
	u8 type_of[CPU_MAX]; /* of each domain */
	char error[160];
};

/*
 * The text of the table that is built in as @name, or NULL; its usual shape, for cpu_tree_read(),
 * in *@machine.
 */
const char *opp_builtin(const char *name, const char **machine);

/*
 * Reads @text for a machine of @nr_cpus at @places. False if it is not a table for this machine;
 * table->error then says why, in one line.
 */
bool opp_read(struct opp_table *table, const char *text, const struct cpu_place *places,
	      u32 nr_cpus);
