/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for addresses: the table that tools/scripts/symbols.py leaves at the end of the image. */
#include "kernel/kernel.h"
#include "kernel/arch.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/task/cred.h"
#include "lib/fmt.h"

extern const u8 text_end[]; /* linker.ld */

static const char *name_of(const struct symbol *s)
{
	return (const char *)&symbol_table.entries[symbol_table.nr] + s->name;
}

/* The last function that begins at or below @addr; NULL if none does. */
static const struct symbol *symbol_find(u64 addr)
{
	const struct symbol *s = symbol_table.entries;
	u32 low = 0, high = symbol_table.nr, offset = addr - IMAGE_BASE;

	if (addr < IMAGE_BASE || addr >= (u64)text_end)
		return NULL;
	while (low < high) {
		u32 middle = (low + high) / 2;

		if (s[middle].addr <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &s[low - 1] : NULL;
}

const char *symbol_name(u64 addr, char *buf, size_t size)
{
	const struct symbol *s = symbol_find(addr);

	if (s)
		snprintf(buf, size, "%s+0x%lx", name_of(s), addr - IMAGE_BASE - s->addr);
	else
		snprintf(buf, size, "0x%lx", addr);
	return buf;
}

/*
 * /proc/kallsyms: "address type name", as debuggers and trace-cmd read it. To ordinary users each
 * address is 0.
 */
static size_t kallsyms_show(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);
	u64 mask = capable(CAP_SYSLOG) ? ~0ull : 0;

	(void)arg;
	for (u32 i = 0; i < symbol_table.nr; i++) {
		const struct symbol *s = &symbol_table.entries[i];

		text_add(&t, "%016lx T %s\n", (IMAGE_BASE + s->addr) & mask, name_of(s));
	}
	return t.len;
}

static int kallsyms_init(void)
{
	static const struct pseudo_file file = { .name = "kallsyms",
						 .mode = 0444,
						 .show = kallsyms_show };

	return procfs_add(&file);
}
INITCALL(kallsyms_init);
