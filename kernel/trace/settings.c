/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Control files for how the tracer records: sizes of the rings, CPUs, options, the clock, and the
 * directories of each CPU. tracefs.c has the rest.
 */
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/trace/internal.h"
#include "lib/errno.h"
#include "lib/string.h"

/* --- buffers --------------------------------------------------------------------------------- */

/* The KiB that each ring of the CPUs @first..@end-1 has or will have; X if they differ. */
static size_t show_sizes(const struct trace_instance *t, unsigned first, unsigned end, char *buf,
			 size_t size)
{
	u64 kb = trace_buffer_kb(t, first);

	debug_assert(mutex_is_held(&trace_lock));
	for (unsigned cpu = first; cpu < end; cpu++) {
		if (trace_buffer_kb(t, cpu) != kb)
			return (size_t)snprintf(buf, size, "X\n");
	}
	if (t->expands_to_kb)
		return (size_t)snprintf(buf, size, "%lu (expanded: %lu)\n", kb, t->expands_to_kb);
	return (size_t)snprintf(buf, size, "%lu\n", kb);
}

/* The number: cpu + 1; 0 is all. */
static size_t show_buffer_size(void *arg, char *buf, size_t size)
{
	const struct trace_instance *t = instance_of(arg);
	unsigned cpu = number_of(arg);
	size_t len;

	debug_assert(cpu <= arch_nr_cpus);
	if (tracefs_lock(arg))
		return 0;
	len = cpu ? show_sizes(t, cpu - 1, cpu, buf, size)
		  : show_sizes(t, 0, arch_nr_cpus, buf, size);
	tracefs_unlock(0, 0);
	return len;
}

static long store_buffer_size(void *arg, const char *text, size_t len)
{
	u64 kb;
	int err;

	debug_assert(number_of(arg) <= arch_nr_cpus);
	if (parse_u64(text, len, &kb) || !kb || kb > page_nr_total() * (PAGE_SIZE / 1024))
		return -EINVAL;
	err = tracefs_lock(arg);
	if (err)
		return err;
	err = trace_set_buffer_kb(instance_of(arg), (int)number_of(arg) - 1, kb);
	return tracefs_unlock(err, len);
}

static size_t show_total_size(void *arg, char *buf, size_t size)
{
	const struct trace_instance *t = instance_of(arg);
	struct text out = text_of(buf, size);
	u64 kb = 0;

	if (tracefs_lock(arg))
		return 0;
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		kb += trace_buffer_kb(t, cpu);
	text_add(&out, "%lu", kb);
	if (t->expands_to_kb)
		text_add(&out, " (expanded: %lu)", t->expands_to_kb * arch_nr_cpus);
	text_add(&out, "\n");
	tracefs_unlock(0, 0);
	return out.len;
}

static void add_seconds(struct text *out, const char *what, u64 ns)
{
	text_add(out, "%s%5llu.%06llu\n", what, ns / NS_PER_SEC, ns % NS_PER_SEC / NS_PER_US);
}

static size_t show_stats(void *arg, char *buf, size_t size)
{
	const struct ring *r;
	struct text out = text_of(buf, size);
	struct ring_stats st;

	debug_assert(number_of(arg) && number_of(arg) <= arch_nr_cpus);
	if (tracefs_lock(arg))
		return 0;
	r = &instance_of(arg)->rings[number_of(arg) - 1];
	ring_stats(r, &st);
	text_add(&out, "entries: %lu\noverrun: %lu\ncommit overrun: 0\nbytes: %lu\n", st.entries,
		 st.overrun, st.bytes);
	add_seconds(&out, "oldest event ts: ", st.oldest_ns);
	add_seconds(&out, "now ts: ", arch_clock_ns());
	text_add(&out, "dropped events: %lu\nread events: %lu\n", r->dropped, st.read_events);
	tracefs_unlock(0, 0);
	return out.len;
}

/* --- which CPUs ------------------------------------------------------------------------------ */

/* Hexadecimal, a comma between groups of 32 CPUs. */
static size_t show_cpumask(void *arg, char *buf, size_t size)
{
	struct cpumask mask;
	struct text out = text_of(buf, size);
	unsigned groups = (arch_nr_cpus + 31) / 32, digits = (arch_nr_cpus - 1) % 32 / 4 + 1;

	if (tracefs_lock(arg))
		return 0;
	mask = trace_cpumask(instance_of(arg));
	tracefs_unlock(0, 0);
	for (unsigned g = groups; g-- > 0; digits = 8)
		text_add(&out, "%0*x%s", digits, (u32)(mask.bits[g / 2] >> (g % 2 * 32)),
			 g ? "," : "\n");
	return out.len;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static long store_cpumask(void *arg, const char *text, size_t len)
{
	struct cpumask mask = cpumask_none();
	unsigned bit = 0;
	int err;

	for (size_t i = pseudo_trim(text, len); i-- > 0;) {
		int digit = hex_digit(text[i]);

		if (text[i] == ',')
			continue;
		if (digit < 0)
			return -EINVAL;
		for (unsigned b = 0; b < 4; b++, bit++) {
			if (!(digit >> b & 1))
				continue;
			if (bit >= arch_nr_cpus)
				return -EOVERFLOW;
			cpumask_set(&mask, bit);
		}
	}
	if (!bit)
		return -EINVAL;
	err = tracefs_lock(arg);
	if (err)
		return err;
	trace_set_cpumask(instance_of(arg), &mask);
	return tracefs_unlock(0, len);
}

/* --- options --------------------------------------------------------------------------------- */

static size_t show_option(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%d\n", trace_option(instance_of(arg), number_of(arg)));
}

static long set_option(void *arg, enum trace_option option, bool on, size_t len)
{
	int err = tracefs_lock(arg);

	debug_assert(option < NR_TRACE_OPTIONS);
	if (err)
		return err;
	trace_set_option(instance_of(arg), option, on);
	return tracefs_unlock(0, len);
}

static long store_option(void *arg, const char *text, size_t len)
{
	bool on;

	if (parse_bool(text, len, &on))
		return -EINVAL;
	return set_option(arg, number_of(arg), on, len);
}

static size_t show_options(void *arg, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	for (unsigned i = 0; i < NR_TRACE_OPTIONS; i++)
		text_add(&out, "%s%s\n", trace_option(instance_of(arg), i) ? "" : "no",
			 trace_option_names[i]);
	return out.len;
}

static long store_options(void *arg, const char *text, size_t len)
{
	bool off = len > 2 && !memcmp(text, "no", 2);

	for (unsigned i = 0; i < NR_TRACE_OPTIONS; i++) {
		if (tracefs_is(off ? text + 2 : text, off ? len - 2 : len, trace_option_names[i]))
			return set_option(arg, i, !off, len);
	}
	return -EINVAL;
}

/* --- the clock ------------------------------------------------------------------------------- */

/* All these names mean one clock here: ns since boot, the same on every CPU. */
static const char *const clock_names[] = { "local", "global", "perf", "mono", "mono_raw", "boot" };

static size_t show_clock(void *arg, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	for (unsigned i = 0; i < ARRAY_SIZE(clock_names); i++)
		text_add(&out, i == instance_of(arg)->clock ? "%s[%s]" : "%s%s", i ? " " : "",
			 clock_names[i]);
	text_add(&out, "\n");
	return out.len;
}

static long store_clock(void *arg, const char *text, size_t len)
{
	int err;

	for (unsigned i = 0; i < ARRAY_SIZE(clock_names); i++) {
		if (!tracefs_is(text, len, clock_names[i]))
			continue;
		err = tracefs_lock(arg);
		if (err)
			return err;
		instance_of(arg)->clock = i;
		trace_clear(instance_of(arg), -1);
		return tracefs_unlock(0, len);
	}
	return -EINVAL;
}

static size_t show_timestamp_mode(void *arg, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "[delta] absolute\n");
}

/* --- the tables ------------------------------------------------------------------------------ */

static const struct pseudo_file files[] = {
	{ .name = "trace_clock", .mode = 0640, .show = show_clock, .store = store_clock },
	{ .name = "trace_options", .mode = 0640, .show = show_options, .store = store_options },
	{ .name = "timestamp_mode", .mode = 0440, .show = show_timestamp_mode },
	{ .name = "tracing_cpumask", .mode = 0640, .show = show_cpumask, .store = store_cpumask },
	{ .name = "buffer_size_kb",
	  .mode = 0640,
	  .show = show_buffer_size,
	  .store = store_buffer_size },
	{ .name = "buffer_total_size_kb", .mode = 0440, .show = show_total_size },
};

static const struct pseudo_file cpu_files[] = {
	{ .name = "stats", .mode = 0440, .show = show_stats },
	{ .name = "trace", .mode = 0640, .ops = &trace_text_ops },
	{ .name = "trace_pipe", .mode = 0440, .ops = &trace_pipe_ops },
	{ .name = "trace_pipe_raw", .mode = 0440, .ops = &trace_raw_ops },
	{ .name = "buffer_size_kb",
	  .mode = 0640,
	  .show = show_buffer_size,
	  .store = store_buffer_size },
};

int tracefs_add_settings(unsigned i)
{
	int err = tracefs_add_dir(i, "", files, ARRAY_SIZE(files), 0);

	for (unsigned cpu = 0; cpu < arch_nr_cpus && !err; cpu++) {
		char dir[32];

		snprintf(dir, sizeof(dir), "per_cpu/cpu%u/", cpu);
		err = tracefs_add_dir(i, dir, cpu_files, ARRAY_SIZE(cpu_files), cpu + 1);
	}
	for (unsigned option = 0; option < NR_TRACE_OPTIONS && !err; option++) {
		struct pseudo_file file = { .name = trace_option_names[option],
					    .mode = 0640,
					    .show = show_option,
					    .store = store_option };

		err = tracefs_add_file(i, "options/", &file, option);
	}
	return err;
}
