/*
 * Domains as files: what users see of a CPU's domains, and may change.
 *
 * Numbers are taken as Linux's debugfs takes them: any u64, of which a field of 32 bits keeps the
 * low half. They are hints to balancing, so none is too odd to be accepted, and they last until
 * the topology changes.
 *
 * Source: Linux 6.1, kernel/sched/debug.c; groups_flags 6.12 (docs/sources.md).
 */
#include "sched/domain.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

enum kind { NAME, FLAGS, PARTS_FLAGS, U32, U64 };

/* clang-format off */
#define FIELD(name, kind, field) { { name, (kind) >= U32 }, kind, offsetof(struct domain, field) }
/* clang-format on */

static const struct {
	struct sched_domain_file file;
	enum kind kind;
	size_t offset;
} files[] = {
	FIELD("name", NAME, name),
	FIELD("flags", FLAGS, flags),
	FIELD("groups_flags", PARTS_FLAGS, child),
	FIELD("min_interval", U64, min_interval_ms),
	FIELD("max_interval", U64, max_interval_ms),
	FIELD("busy_factor", U32, busy_factor),
	FIELD("imbalance_pct", U32, imbalance_pct),
	FIELD("cache_nice_tries", U32, cache_nice_tries),
	FIELD("max_newidle_lb_cost", U64, max_newidle_lb_cost),
};

static const struct {
	u32 flag;
	const char *name;
} flag_names[] = {
	{ SD_BALANCE_NEWIDLE, "SD_BALANCE_NEWIDLE" },
	{ SD_BALANCE_EXEC, "SD_BALANCE_EXEC" },
	{ SD_BALANCE_FORK, "SD_BALANCE_FORK" },
	{ SD_WAKE_AFFINE, "SD_WAKE_AFFINE" },
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

unsigned sched_domain_count(struct sched *s, unsigned cpu)
{
	struct domain *sd;
	unsigned nr = 0;

	for_each_domain(sd, cpu_rq(s, cpu))
		nr++;
	return nr;
}

static struct domain *find_domain(struct sched *s, unsigned cpu, unsigned level)
{
	struct domain *sd = cpu_rq(s, cpu)->domains;

	while (sd && level--)
		sd = sd->parent;
	return sd;
}

static void add_flags(struct text *out, u32 flags)
{
	for (unsigned i = 0; i < ARRAY_SIZE(flag_names); i++)
		if (flags & flag_names[i].flag)
			text_add(out, "%s ", flag_names[i].name);
}

int sched_domain_read(struct sched *s, unsigned cpu, unsigned level, unsigned file, char *buf,
		      size_t size)
{
	const struct domain *sd = find_domain(s, cpu, level);
	struct text out = text_of(buf, size);
	const void *field;

	if (!sd)
		return -ENOENT;
	field = (const u8 *)sd + files[file].offset;
	switch (files[file].kind) {
	case NAME:
		text_add(&out, "%s", sd->name);
		break;
	case FLAGS:
		add_flags(&out, sd->flags);
		break;
	case PARTS_FLAGS:
		add_flags(&out, sd->child ? sd->child->flags : 0);
		break;
	case U32:
		text_add(&out, "%u", READ_ONCE(*(const u32 *)field));
		break;
	case U64:
		text_add(&out, "%lu", READ_ONCE(*(const u64 *)field));
		break;
	}
	text_add(&out, "\n");
	return (int)out.len;
}

int sched_domain_write(struct sched *s, unsigned cpu, unsigned level, unsigned file,
		       const char *text, size_t len)
{
	struct domain *sd = find_domain(s, cpu, level);
	u64 value;
	void *field;

	if (!sd)
		return -ENOENT;
	if (!files[file].file.writable || parse_u64(text, len, &value))
		return -EINVAL;
	field = (u8 *)sd + files[file].offset;
	if (files[file].kind == U32)
		WRITE_ONCE(*(u32 *)field, (u32)value);
	else
		WRITE_ONCE(*(u64 *)field, value);
	return 0;
}
