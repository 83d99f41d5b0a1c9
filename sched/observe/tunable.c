/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tunables and features: reading and writing them by name, as Linux's files do.
 *
 * Some defaults grow with the number of CPUs, because more CPUs mean more tasks
 * that can wait elsewhere. The factor applies to the normalised values when the
 * number of online CPUs changes; writing a scaled tunable sets the value in
 * effect only, and writing tunable_scaling derives the normalised ones anew.
 *
 * A write is validated before anything changes. Readers take no lock: each
 * tunable is one word. What a fair policy derives from tunables it renews when
 * told (fair_tuned). Source: Linux 6.1, debug.c and sysctl.
 */
#include "sched/balance/energy.h"
#include "sched/balance/sharedq.h"
#include "sched/fair/core/fair.h"
#include "sched/freq/freq.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

enum kind {
	U32,
	INT,
	UINT,
	RANGE,
	READ_ONLY,
	SCALING,
	RT_PERIOD,
	RT_RUNTIME,
	RR_SLICE,
	CLAMP_LEAST,
	CLAMP_MOST
};
/* Kinds of the list that take numbers: 0..n, and n..2^31-1. */
#define UP_TO(n) RANGE, .most = (n)
#define FROM(n)	 RANGE, .least = (n), .most = INT32_MAX
#define BOOL	 UP_TO(1)

enum scaling { SCALING_NONE, SCALING_LOG, SCALING_LINEAR, NR_SCALINGS };

struct tunable {
	struct sched_tunable_info info;
	enum kind kind;
	bool scaled;
	u32 least, most;    /* of RANGE */
	const char *policy; /* whose it is, or NULL */
	size_t offset;	    /* in struct tunables */
	u32 otherwise;	    /* the default */
};

static const struct tunable table[] = {
#define TUNABLE(type, field, file, dir, value, is_scaled, values, owner, text)                     \
	{ .info = { .name = (file), .where = #dir, .doc = (text) },                                \
	  .kind = values,                                                                          \
	  .policy = (owner),                                                                       \
	  .scaled = (is_scaled),                                                                   \
	  .offset = offsetof(struct tunables, field),                                              \
	  .otherwise = (value) },
#include "sched/observe/tunable.def"
#undef TUNABLE
};

/* Every tunable is one 32-bit word. */
static u32 *value_of(struct tunables *values, const struct tunable *tn)
{
	SCHED_DEBUG_ASSERT(tn->offset <= sizeof(*values) - sizeof(u32));
	return (u32 *)(void *)((u8 *)values + tn->offset);
}

/* --- scaling -------------------------------------------------------------- */

static u32 scale_factor(const struct sched *s)
{
	/* Beyond eight CPUs longer slices only cost latency. */
	u32 cpus = max(1u, min(cpumask_weight(&s->online), 8u));

	switch (s->tunable.tunable_scaling) {
	case SCALING_NONE:
		return 1;
	case SCALING_LINEAR:
		return cpus;
	default:
		return 1 + ilog2(cpus);
	}
}

void tunables_rescale(struct sched *s)
{
	u32 factor = scale_factor(s);

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].scaled)
			WRITE_ONCE(*value_of(&s->tunable, &table[i]),
				   factor * *value_of(&s->normalised, &table[i]));
}

/* tunable_scaling was written: what is in effect now is taken for scaled. */
static void normalise(struct sched *s)
{
	struct tunables *tn = &s->tunable;
	u32 factor = scale_factor(s);

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].scaled)
			*value_of(&s->normalised, &table[i]) = *value_of(tn, &table[i]) / factor;
	s->nr_latency = tn->min_granularity_ns ? (tn->latency_ns - 1 + tn->min_granularity_ns) /
							 tn->min_granularity_ns
					       : tn->latency_ns;
}

/* Read-only entries, whose values follow from other tunables. */
static void derive(struct sched *s)
{
	u64 ticks = ((u64)s->tunable.bore_min_base_slice_ns + s->tick_ns - 1) / s->tick_ns;

	WRITE_ONCE(s->tunable.bore_base_slice_ns, (u32)(max(ticks, 1ull) * s->tick_ns));
}

void tunables_init(struct sched *s)
{
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++)
		*value_of(&s->normalised, &table[i]) = table[i].otherwise;
	s->tunable = s->normalised;
	normalise(s);
	derive(s);
#define FEATURE(name, on, ...) s->features |= (on) ? BIT(FEATURE_##name) : 0;
#include "sched/observe/feature.def"
#undef FEATURE
	s->features &= ~s->fair_policy->features_mask;
	s->features |= s->fair_policy->features_on;
}

/* --- tunables by name ----------------------------------------------------- */

static bool is_first_of_its_name(unsigned row)
{
	for (unsigned i = 0; i < row; i++)
		if (!strcmp(table[i].info.name, table[row].info.name))
			return false;
	return true;
}

const struct sched_tunable_info *sched_tunable_after(const struct sched_tunable_info *info)
{
	unsigned row = info ? (unsigned)(container_of(info, struct tunable, info) - table) + 1 : 0;

	while (row < ARRAY_SIZE(table) && !is_first_of_its_name(row))
		row++;
	return row < ARRAY_SIZE(table) ? &table[row].info : NULL;
}

/* The row of the policy in use, or the first of that name. */
static const struct tunable *find_tunable(const struct sched *s, const char *name)
{
	const char *in_use = READ_ONCE(s->fair_policy)->name;
	const struct tunable *first = NULL;

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].info.name, name))
			continue;
		if (table[i].policy && !strcmp(table[i].policy, in_use))
			return &table[i];
		first = first ?: &table[i];
	}
	return first;
}

static bool is_signed(const struct tunable *tn)
{
	return tn->kind == INT || tn->kind == RT_RUNTIME || tn->kind == RR_SLICE;
}

int sched_tunable_read(struct sched *s, const char *name, char *buf, size_t size)
{
	const struct tunable *tn = find_tunable(s, name);
	u32 value;

	if (!tn)
		return -ENOENT;
	value = READ_ONCE(*value_of(&s->tunable, tn));
	return is_signed(tn) ? fmt_snprintf(buf, size, "%d\n", (s32)value)
			     : fmt_snprintf(buf, size, "%u\n", value);
}

/* 0 if @value is accepted, or -errno. May replace @value by the number that the file stands for. */
static int validate(const struct sched *s, const struct tunable *tn, s64 *value)
{
	const struct tunables *now = &s->tunable;

	switch (tn->kind) {
	case U32:
		return 0;
	case INT:
		return *value >= INT32_MIN && *value <= INT32_MAX ? 0 : -EINVAL;
	case UINT:
		return *value >= 0 && *value <= UINT32_MAX ? 0 : -EINVAL;
	case RANGE:
		return *value >= tn->least && *value <= tn->most ? 0 : -EINVAL;
	case READ_ONLY:
		return -EINVAL;
	case SCALING:
		return *value >= 0 && *value < NR_SCALINGS ? 0 : -EINVAL;
	case RT_PERIOD:
		return *value > 0 && *value <= INT32_MAX && *value >= now->rt_runtime_us ? 0
											 : -EINVAL;
	case RT_RUNTIME:
		return *value >= -1 && *value <= (s64)now->rt_period_us ? 0 : -EINVAL;
	case CLAMP_LEAST:
		return *value >= 0 && *value <= now->clamp_max ? 0 : -EINVAL;
	case CLAMP_MOST:
		return *value >= now->clamp_min && *value <= OPP_CAPACITY ? 0 : -EINVAL;
	case RR_SLICE:
		if (*value < INT32_MIN || *value > INT32_MAX)
			return -EINVAL;
		if (*value <= 0)
			*value = tn->otherwise;
		return 0;
	}
	return -EINVAL;
}

/* debugfs takes any u64 and keeps its low half; sysctl takes an int. */
static int parse_value(const struct tunable *tn, const char *text, size_t len, s64 *value)
{
	u64 wide;
	int err;

	if (tn->kind != U32)
		err = parse_s64(text, len, value);
	else if (!(err = parse_u64(text, len, &wide)))
		*value = (u32)wide;
	return err ? -EINVAL : 0;
}

/* Does every class agree? */
static int admit(struct sched *s, const struct tunable *tn, s64 value)
{
	struct tunables next = s->tunable;

	*value_of(&next, tn) = (u32)value;
	return classes_admit(s, &(struct admission_request){ ADMIT_TUNABLES, .tunables = &next });
}

int sched_tunable_write(struct sched *s, const char *name, const char *text, size_t len)
{
	const struct tunable *tn = find_tunable(s, name);
	s64 value;
	int err;

	if (!tn)
		return -ENOENT;
	err = parse_value(tn, text, len, &value);
	if (!err)
		err = validate(s, tn, &value);
	if (!err)
		err = admit(s, tn, value);
	if (err)
		return err;
	WRITE_ONCE(*value_of(&s->tunable, tn), (u32)value);
	if (tn->kind == SCALING)
		normalise(s);
	derive(s);
	fair_tuned(s);
	if (tn->offset == offsetof(struct tunables, shared_shard_size))
		sharedq_update(s);
	if (tn->offset == offsetof(struct tunables, schedstats))
		waste_tuned(s);
	if (tn->kind == CLAMP_LEAST || tn->kind == CLAMP_MOST ||
	    tn->offset == offsetof(struct tunables, clamp_min_rt))
		clamp_tuned(s);
	if (tn->offset == offsetof(struct tunables, energy_aware) && s->freq)
		energy_refresh(s);
	return 0;
}

/* --- features ------------------------------------------------------------- */

static const char *const feature_name[NR_FEATURES] = {
#define FEATURE(name, ...) #name,
#include "sched/observe/feature.def"
#undef FEATURE
};

int sched_features_read(struct sched *s, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	for (unsigned f = 0; f < NR_FEATURES; f++)
		text_add(&out, "%s%s ", feature(s, (enum feature)f) ? "" : "NO_", feature_name[f]);
	text_add(&out, "\n");
	return (int)out.len;
}

int sched_features_write(struct sched *s, const char *text, size_t len)
{
	bool on = true;

	if (len && text[len - 1] == '\n')
		len--;
	if (len > 3 && !strncmp(text, "NO_", 3)) {
		on = false;
		text += 3;
		len -= 3;
	}
	for (unsigned f = 0; f < NR_FEATURES; f++) {
		if (strlen(feature_name[f]) != len || memcmp(feature_name[f], text, len))
			continue;
		if (on)
			__atomic_fetch_or(&s->features, BIT(f), __ATOMIC_SEQ_CST);
		else
			__atomic_fetch_and(&s->features, ~BIT(f), __ATOMIC_SEQ_CST);
		if (f == FEATURE_SWQUEUE || f == FEATURE_SHARED_RUNQ)
			sharedq_update(s);
		return 0;
	}
	return -EINVAL;
}
