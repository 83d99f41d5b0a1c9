/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Domains as files: the part of a CPU's domains that users see and may change.
 *
 * Numbers are taken as Linux's debugfs takes them: any u64 is accepted, and a field of 32 bits
 * keeps its low half. The numbers are hints to balancing, so even odd ones do no harm. A change
 * lasts until the topology changes.
 *
 * Source: Linux 6.1, kernel/sched/debug.c; groups_flags 6.12 (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

/* clang-format off */
enum { NAME, FLAGS, PARTS_FLAGS }; /* files of text; all others hold a number of 32 or 64 bits */
#define NUMBER(name, field) \
	{ { name, true }, sizeof(((struct domain *)0)->field), offsetof(struct domain, field) }

static const struct {
	struct sched_domain_file file;
	size_t size, offset;
} files[] = {
	[NAME] = { { "name", false }, 0, 0 },
	[FLAGS] = { { "flags", false }, 0, 0 },
	[PARTS_FLAGS] = { { "groups_flags", false }, 0, 0 },
	NUMBER("min_interval", min_interval_ms),
	NUMBER("max_interval", max_interval_ms),
	NUMBER("busy_factor", busy_factor),
	NUMBER("imbalance_pct", imbalance_pct),
	NUMBER("cache_nice_tries", cache_nice_tries),
	NUMBER("max_newidle_lb_cost", max_newidle_lb_cost),
};
/* clang-format on */

static const struct {
	u32 flag;
	const char *name;
} flag_names[] = {
	{ SD_BALANCE_NEWIDLE, "SD_BALANCE_NEWIDLE" },
	{ SD_BALANCE_EXEC, "SD_BALANCE_EXEC" },
	{ SD_BALANCE_FORK, "SD_BALANCE_FORK" },
	{ SD_WAKE_AFFINE, "SD_WAKE_AFFINE" },
	{ SD_ASYM_CPUCAPACITY, "SD_ASYM_CPUCAPACITY" },
	{ SD_ASYM_CPUCAPACITY_FULL, "SD_ASYM_CPUCAPACITY_FULL" },
	{ SD_SHARE_CPUCAPACITY, "SD_SHARE_CPUCAPACITY" },
	{ SD_SHARE_LLC, "SD_SHARE_PKG_RESOURCES" },
	{ SD_SERIALIZE, "SD_SERIALIZE" },
	{ SD_PREFER_SIBLING, "SD_PREFER_SIBLING" },
	{ SD_NUMA, "SD_NUMA" },
};

const struct sched_domain_file *sched_domain_file(unsigned index)
{
	return index < ARRAY_SIZE(files) ? &files[index].file : NULL;
}

static struct domain *find_domain(struct sched *s, unsigned cpu, unsigned level)
{
	struct domain *sd = cpu_rq(s, cpu)->domains;

	while (sd && level--)
		sd = sd->parent;
	return sd;
}

static u64 *field_of(struct domain *sd, unsigned file)
{
	return (u64 *)((u8 *)sd + files[file].offset);
}

int sched_domain_read(struct sched *s, unsigned cpu, unsigned level, unsigned file, char *buf,
		      size_t size)
{
	struct domain *sd = find_domain(s, cpu, level);
	struct text out = text_of(buf, size);
	u32 flags = 0;

	SCHED_DEBUG_ASSERT(file < ARRAY_SIZE(files));
	if (!sd)
		return -ENOENT;
	if (files[file].size)
		text_add(&out, "%lu",
			 files[file].size == 4 ? *(u32 *)field_of(sd, file) : *field_of(sd, file));
	else if (file == NAME)
		text_add(&out, "%s", sd->name);
	else
		flags = file == FLAGS ? sd->flags : sd->child ? sd->child->flags : 0;
	for (unsigned i = 0; i < ARRAY_SIZE(flag_names); i++)
		if (flags & flag_names[i].flag)
			text_add(&out, "%s ", flag_names[i].name);
	text_add(&out, "\n");
	return (int)out.len;
}

int sched_domain_write(struct sched *s, unsigned cpu, unsigned level, unsigned file,
		       const char *text, size_t len)
{
	struct domain *sd = find_domain(s, cpu, level);
	u64 value;

	SCHED_DEBUG_ASSERT(file < ARRAY_SIZE(files));
	if (!sd)
		return -ENOENT;
	if (!files[file].size || parse_u64(text, len, &value))
		return -EINVAL;
	if (files[file].size == 4)
		WRITE_ONCE(*(u32 *)field_of(sd, file), (u32)value);
	else
		WRITE_ONCE(*field_of(sd, file), value);
	return 0;
}
