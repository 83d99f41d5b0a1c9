/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer's state: which events are on, the rings they go to, and the header page through which
 * a host tool finds everything in the machine's memory, even after a panic.
 *
 * LOCKING. trace_lock guards all of it. Recording (record.c) takes no lock: it runs with interrupts
 * off from the test of the event's mask bit to the commit. So trace_apply() takes bits out of the
 * masks and then makes every other CPU take an interrupt: after that no writer of those events is
 * still at work. Rings are replaced only then, with all masks empty.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/trace/internal.h"
#include "lib/errno.h"
#include "lib/string.h"

u64 trace_mask;
struct ring trace_rings[MAX_CPUS];
struct mutex trace_lock = MUTEX_INIT(trace_lock);

/* guarded by: trace_lock */
u64 trace_generation;
static bool recording; /* tracing_on */
static u64 events_on;  /* chosen events, whether or not recording */
static u32 options = BIT(NR_TRACE_OPTIONS) - 1;
/* Size that the rings get when the first event is switched on; 0: they have it. */
static u64 expands_to_kb;

const char *const trace_option_names[NR_TRACE_OPTIONS] = {
	[TRACE_CONTEXT_INFO] = "context-info",
	[TRACE_IRQ_INFO] = "irq-info",
	[TRACE_MARKERS] = "markers",
	[TRACE_OVERWRITE] = "overwrite",
};

/* --- control --------------------------------------------------------------------------------- */

bool trace_is_on(void)
{
	return READ_ONCE(recording);
}

u64 trace_events_on(void)
{
	return READ_ONCE(events_on);
}

bool trace_option(enum trace_option option)
{
	return READ_ONCE(options) & BIT(option);
}

static void do_nothing(void *arg)
{
	(void)arg;
}

/*
 * Set the mask that recording tests. On return no event that @mask leaves out is still being
 * written.
 */
static void trace_apply(u64 mask)
{
	bool fewer = trace_mask & ~mask;

	WRITE_ONCE(trace_mask, mask);
	with_irqs_off(sched_trace_set(machine, mask & (BIT(NR_SCHED_EVENTS) - 1)));
	if (fewer)
		arch_call_others(do_nothing, NULL);
}

static u64 mask_now(void)
{
	return recording ? events_on | BIT(EVENT_print) : 0;
}

void trace_set_on(bool on)
{
	assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(recording, on);
	trace_apply(mask_now());
}

int trace_set_events(u64 mask)
{
	int err = mask && expands_to_kb ? trace_set_buffer_kb(-1, expands_to_kb) : 0;

	assert(mutex_is_held(&trace_lock));
	if (err)
		return err;
	WRITE_ONCE(events_on, mask);
	trace_apply(mask_now());
	return 0;
}

void trace_set_option(enum trace_option option, bool on)
{
	assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(options, on ? options | (u32)BIT(option) : options & ~(u32)BIT(option));
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		WRITE_ONCE(trace_rings[cpu].overwrite, trace_option(TRACE_OVERWRITE));
}

void trace_clear(int cpu)
{
	assert(mutex_is_held(&trace_lock));
	for (unsigned c = 0; c < arch_nr_cpus; c++) {
		if (cpu < 0 || (unsigned)cpu == c)
			ring_clear(&trace_rings[c]);
	}
}

void trace_set_cpumask(const struct cpumask *mask)
{
	bool was_recording = recording;

	assert(mutex_is_held(&trace_lock));
	trace_set_on(false);
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		ring_set_closed(&trace_rings[cpu], !cpumask_test(mask, cpu));
	trace_set_on(was_recording);
}

struct cpumask trace_cpumask(void)
{
	struct cpumask mask = cpumask_none();

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		if (!trace_rings[cpu].closed)
			cpumask_set(&mask, cpu);
	}
	return mask;
}

/* --- ring memory ----------------------------------------------------------------------------- */

static unsigned order_of(u64 bytes)
{
	unsigned order = 0;

	while (PAGE_SIZE << order < bytes)
		order++;
	return order;
}

static void free_slots(struct ring_slot *slots, u64 nr)
{
	for (u64 i = 0; i < nr; i++) {
		if (slots[i].page)
			page_put(virt_to_phys(slots[i].page));
	}
	if (slots)
		page_free(virt_to_phys(slots), order_of(nr * sizeof(*slots)));
}

/* The table of a ring and its pages; NULL when memory is short. */
static struct ring_slot *alloc_slots(u64 nr)
{
	u64 pa = page_alloc(order_of(nr * sizeof(struct ring_slot)));
	struct ring_slot *slots = phys_to_virt(pa);

	if (!pa)
		return NULL;
	memset(slots, 0, nr * sizeof(*slots));
	for (u64 i = 0; i < nr; i++) {
		u64 page = page_alloc_user(); /* not from the reserve */

		if (!page) {
			free_slots(slots, nr);
			return NULL;
		}
		slots[i].page = phys_to_virt(page);
	}
	return slots;
}

/* Fresh rings for @cpu, or for all CPUs if it is < 0. Nothing changes when memory is short. */
static int replace_rings(int cpu, u64 nr_pages)
{
	unsigned first = cpu < 0 ? 0 : (unsigned)cpu;
	unsigned end = cpu < 0 ? arch_nr_cpus : first + 1;
	struct ring_slot *fresh[MAX_CPUS];

	for (unsigned c = first; c < end; c++) {
		fresh[c] = alloc_slots(nr_pages);
		if (!fresh[c]) {
			while (c-- > first)
				free_slots(fresh[c], nr_pages);
			return -ENOMEM;
		}
	}
	for (unsigned c = first; c < end; c++) {
		struct ring *r = &trace_rings[c];
		struct ring old = *r;

		ring_init(r, fresh[c], nr_pages);
		r->overwrite = trace_option(TRACE_OVERWRITE);
		ring_set_closed(r, old.closed);
		free_slots(old.slots, old.nr_pages);
	}
	return 0;
}

int trace_set_buffer_kb(int cpu, u64 kb)
{
	u64 nr_pages = max((kb * 1024 + RING_DATA_SIZE - 1) / RING_DATA_SIZE, 2ull);
	bool was_recording = recording;
	int err;

	assert(mutex_is_held(&trace_lock));
	trace_set_on(false);
	err = replace_rings(cpu, nr_pages);
	if (!err) {
		expands_to_kb = 0;
		trace_generation++;
	}
	trace_set_on(was_recording);
	return err;
}

u64 trace_buffer_kb(unsigned cpu)
{
	return trace_rings[cpu].nr_pages * RING_DATA_SIZE / 1024;
}

u64 trace_buffer_expands_to(void)
{
	return expands_to_kb;
}

/* --- the way out: what a host tool needs, at a fixed place in memory ------------------------- */

#define IMAGE_PA 0x7000ull

/* tools/fairground/image.py reads this; all integers little-endian, addresses physical. */
struct trace_image {
	char magic[8];
	u32 version, nr_cpus;
	u64 direct_map; /* kernel address of physical 0: base of the pointers in rings */
	u64 rings;	/* struct ring[nr_cpus] */
	u64 info;	/* pairs of strings, what it is and its text; an empty one ends them */
	u64 cmdlines;	/* struct cmdline[nr_cmdlines] */
	u64 nr_cmdlines;
	u64 marker_ip; /* tracing_mark_write(), which `print` events refer to */
};

static void add_string(struct text *out, const char *text)
{
	text_add(out, "%s", text);
	out->len++; /* the memory is zero: that was the NUL */
}

static void add_info(struct text *out, const char *what, const char *text)
{
	add_string(out, what);
	add_string(out, text);
}

static void add_format(struct text *out, const struct trace_event *ev)
{
	size_t room;

	add_string(out, ev->system);
	room = out->len < out->size ? out->size - out->len : 0;
	out->len += trace_event_format(ev, room ? out->buf + out->len : NULL, room);
	out->len++;
}

/*
 * All texts that a trace.dat holds, into @buf of @size bytes, which are zero. Returns the size that
 * they take, whether or not it is there.
 */
static size_t make_info(char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	add_info(&out, "header_page", trace_header_page);
	add_info(&out, "header_event", trace_header_event);
	add_info(&out, "trace_clock", "[local] global mono boot\n");
	add_info(&out, "uname", "Fairground " COMMIT " x86_64");
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++)
		add_format(&out, &trace_events[nr]);
	return out.len + 1; /* the empty string at the end */
}

/* The physical address of the texts, or 0: no memory. */
static u64 publish_info(void)
{
	size_t size = make_info(NULL, 0);
	u64 pa = page_alloc(order_of(size));

	if (!pa)
		return 0;
	memset(phys_to_virt(pa), 0, size);
	make_info(phys_to_virt(pa), size);
	return pa;
}

static struct trace_image *image __attribute__((used)); /* tools/gdb starts from it */

static void publish_image(void)
{
	image = phys_to_virt(IMAGE_PA);
	*image = (struct trace_image){
		.magic = "FGTRACE",
		.version = 1,
		.nr_cpus = arch_nr_cpus,
		.direct_map = (u64)phys_to_virt(0),
		.rings = virt_to_phys(trace_rings),
		.info = publish_info(),
		.cmdlines = virt_to_phys(trace_cmdlines),
		.nr_cmdlines = NR_CMDLINES,
		.marker_ip = (u64)tracing_mark_write,
	};
}

/* --- start ----------------------------------------------------------------------------------- */

/*
 * The default size of a CPU's ring: Linux's 1408 KiB, or less where all rings together would take
 * more than an eighth of the memory.
 */
static u64 default_kb(void)
{
	u64 share = page_nr_total() * PAGE_SIZE / 8 / arch_nr_cpus / 1024;

	return max(min(1408ull, share), 64ull);
}

/* trace_event=sched:*,irq_vectors:local_timer_entry; a word after ! is left out. */
static u64 events_on_command_line(void)
{
	const char *list = cmdline_get("trace_event");
	u64 mask = 0;

	while (list && *list) {
		const char *comma = strchr(list, ',');
		size_t len = comma ? (size_t)(comma - list) : strlen(list);
		bool out = *list == '!';
		u64 matching = trace_events_matching(list + out, len - out);

		if (!matching)
			kprintf("trace: no event matches %.*s\n", (int)len, list);
		mask = out ? mask & ~matching : mask | matching;
		list += len + (comma != NULL);
	}
	return mask;
}

void trace_init(void)
{
	u64 kb = cmdline_get_u64("trace_buf_size", 0);

	publish_image();
	mutex_lock(&trace_lock);
	if (trace_set_buffer_kb(-1, kb))
		panic("no memory for the trace rings");
	expands_to_kb = kb ? 0 : default_kb();
	if (trace_set_events(events_on_command_line()))
		kprintf("trace: no memory for rings of %lu KiB\n", expands_to_kb);
	trace_set_on(true);
	mutex_unlock(&trace_lock);
}
