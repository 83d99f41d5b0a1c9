/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer's state: which events are on, the rings they go to, and the header page through which
 * a host tool finds everything in the machine's memory, even after a panic.
 *
 * LOCKING. trace_lock guards all of it. Recording (record.c) takes no lock: it runs with interrupts
 * off from the test of the event's mask bit to the commit. So whoever takes something away from it
 * makes every other CPU take an interrupt: after that no writer that could have seen it is still at
 * work. Rings are replaced only while all masks are empty.
 *
 * ROUTING. A record goes into the ring of the top instance, and nothing is asked on the way. Once
 * there is something to ask, a filter or another instance, that ring gets a gate (ring.h), so that
 * the usual way fails and record.c takes the other one, trace_route().
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/syscall.h"
#include "kernel/trace/internal.h"
#include "kernel/trace/perf.h"
#include "lib/errno.h"
#include "lib/string.h"

u64 trace_mask;
struct ring trace_rings[MAX_CPUS];
struct mutex trace_lock = MUTEX_INIT(trace_lock);

#define DEFAULT_OPTIONS (BIT(TRACE_EVENT_FORK) - 1)
struct trace_instance trace_instances[NR_TRACE_INSTANCES] = {
	{ .rings = trace_rings, .live = true, .options = DEFAULT_OPTIONS },
};
bool trace_routed; /* guarded by: trace_lock; changes while nobody records */

const char *const trace_option_names[NR_TRACE_OPTIONS] = {
	[TRACE_CONTEXT_INFO] = "context-info", [TRACE_IRQ_INFO] = "irq-info",
	[TRACE_MARKERS] = "markers",	       [TRACE_OVERWRITE] = "overwrite",
	[TRACE_EVENT_FORK] = "event-fork",
};

/* --- control --------------------------------------------------------------------------------- */

bool trace_option(const struct trace_instance *t, enum trace_option option)
{
	return READ_ONCE(t->options) & BIT(option);
}

static void do_nothing(void *arg)
{
	(void)arg;
}

void trace_wait_for_writers(void)
{
	debug_assert(arch_irq_enabled());
	arch_call_others(do_nothing, NULL);
}

static void set_mask(u64 mask)
{
	debug_assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(trace_mask, mask);
	with_irqs_off(sched_trace_set(machine, mask & (BIT(NR_SCHED_EVENTS) - 1)));
}

/* Nobody records until trace_apply(). */
static void silence(void)
{
	debug_assert(mutex_is_held(&trace_lock));
	if (trace_mask) {
		set_mask(0);
		trace_wait_for_writers();
	}
}

/* From now on each record goes through trace_route(), or none does. */
static void set_routed(bool on)
{
	debug_assert(mutex_is_held(&trace_lock));
	if (on == trace_routed)
		return;
	silence();
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		ring_set_gate(&trace_rings[cpu], on);
	trace_routed = on;
}

static bool needs_routing(const struct trace_instance *t, u64 wanted)
{
	debug_assert(mutex_is_held(&trace_lock));
	return t->hist_events ||
	       (t == trace_top ? t->pids || t->nr_filters : wanted & ~BIT(EVENT_print));
}

/* Threads that an instance follows are born and end without being recorded, too. */
static u64 followed_events(const struct trace_instance *t)
{
	debug_assert(mutex_is_held(&trace_lock));
	return t->pids && trace_option(t, TRACE_EVENT_FORK)
		       ? BIT(EVENT_sched_process_fork) | BIT(EVENT_sched_process_exit)
		       : 0;
}

#define SYSCALL_EVENTS (BIT(EVENT_sys_enter) | BIT(EVENT_sys_exit))

void trace_apply(void)
{
	u64 mask = perf_wanted();
	bool fewer = false, routed = mask;

	assert(mutex_is_held(&trace_lock));
	for (unsigned i = 0; i < NR_TRACE_INSTANCES; i++) {
		struct trace_instance *t = &trace_instances[i];
		u64 wanted = t->live && t->recording ? t->events_on | BIT(EVENT_print) : 0;

		fewer |= t->wanted & ~wanted;
		WRITE_ONCE(t->wanted, wanted);
		routed |= needs_routing(t, wanted);
		mask |= wanted | followed_events(t) | t->hist_events;
	}
	set_routed(routed);
	set_mask(mask);
	syscall_trace(mask & SYSCALL_EVENTS);
	if (fewer)
		trace_wait_for_writers();
}

void trace_set_on(struct trace_instance *t, bool on)
{
	assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(t->recording, on);
	trace_apply();
}

int trace_set_events(struct trace_instance *t, u64 mask)
{
	int err = mask && t->expands_to_kb ? trace_set_buffer_kb(t, -1, t->expands_to_kb) : 0;

	assert(mutex_is_held(&trace_lock));
	if (err)
		return err;
	WRITE_ONCE(t->events_on, mask);
	trace_apply();
	return 0;
}

void trace_set_option(struct trace_instance *t, enum trace_option option, bool on)
{
	u32 bit = (u32)BIT(option);

	assert(mutex_is_held(&trace_lock));
	WRITE_ONCE(t->options, on ? t->options | bit : t->options & ~bit);
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		WRITE_ONCE(t->rings[cpu].overwrite, trace_option(t, TRACE_OVERWRITE));
	trace_apply();
}

void trace_clear(struct trace_instance *t, int cpu)
{
	debug_assert(cpu < (int)arch_nr_cpus);
	assert(mutex_is_held(&trace_lock));
	for (unsigned c = 0; c < arch_nr_cpus; c++) {
		if (cpu < 0 || (unsigned)cpu == c)
			ring_clear(&t->rings[c]);
	}
}

void trace_set_cpumask(struct trace_instance *t, const struct cpumask *mask)
{
	assert(mutex_is_held(&trace_lock));
	silence();
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		ring_set_closed(&t->rings[cpu], !cpumask_test(mask, cpu));
	trace_apply();
}

struct cpumask trace_cpumask(const struct trace_instance *t)
{
	struct cpumask mask = cpumask_none();

	debug_assert(mutex_is_held(&trace_lock));
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		if (!t->rings[cpu].closed)
			cpumask_set(&mask, cpu);
	}
	return mask;
}

void trace_set_filter(struct trace_instance *t, unsigned event, struct trace_filter *filter)
{
	struct trace_filter *old = t->filter[event];

	debug_assert(event < NR_TRACE_EVENTS);
	assert(mutex_is_held(&trace_lock));
	if (!filter && !old)
		return;
	t->nr_filters += (filter != NULL) - (old != NULL);
	WRITE_ONCE(t->filter[event], filter);
	trace_apply();
	if (old)
		trace_wait_for_writers();
	trace_filter_free(old);
}

void trace_set_pids(struct trace_instance *t, u64 *pids)
{
	u64 *old = t->pids;

	assert(mutex_is_held(&trace_lock));
	if (!pids && !old)
		return;
	WRITE_ONCE(t->pids, pids);
	trace_apply();
	if (old)
		trace_wait_for_writers();
	kfree(old);
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

	debug_assert(nr >= 2);
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

/* The rings of @first..@end-1 get new pages; the old ones are freed. */
static void install_rings(struct trace_instance *t, unsigned first, unsigned end,
			  struct ring_slot **fresh, u64 nr_pages)
{
	debug_assert(mutex_is_held(&trace_lock));
	silence();
	for (unsigned c = first; c < end; c++) {
		struct ring *r = &t->rings[c];
		struct ring old = *r;

		ring_init(r, fresh[c], nr_pages);
		r->overwrite = trace_option(t, TRACE_OVERWRITE);
		ring_set_closed(r, old.closed);
		ring_set_gate(r, t == trace_top && trace_routed);
		free_slots(old.slots, old.nr_pages);
	}
	t->expands_to_kb = 0;
	t->generation++;
	trace_apply();
}

int trace_set_buffer_kb(struct trace_instance *t, int cpu, u64 kb)
{
	u64 nr_pages = max((kb * 1024 + RING_DATA_SIZE - 1) / RING_DATA_SIZE, 2ull);
	unsigned first = cpu < 0 ? 0 : (unsigned)cpu;
	unsigned end = cpu < 0 ? arch_nr_cpus : first + 1;
	struct ring_slot *fresh[MAX_CPUS];

	assert(mutex_is_held(&trace_lock));
	for (unsigned c = first; c < end; c++) {
		fresh[c] = alloc_slots(nr_pages);
		if (!fresh[c]) {
			while (c-- > first)
				free_slots(fresh[c], nr_pages);
			return -ENOMEM;
		}
	}
	install_rings(t, first, end, fresh, nr_pages);
	return 0;
}

u64 trace_buffer_kb(const struct trace_instance *t, unsigned cpu)
{
	debug_assert(cpu < arch_nr_cpus);
	return t->rings[cpu].nr_pages * RING_DATA_SIZE / 1024;
}

/* --- instances ------------------------------------------------------------------------------- */

/*
 * The default size of a CPU's ring: Linux's 1408 KiB, or less where all rings together would take
 * more than an eighth of the memory.
 */
static u64 default_kb(void)
{
	u64 share = page_nr_total() * PAGE_SIZE / 8 / arch_nr_cpus / 1024;

	return max(min(1408ull, share), 64ull);
}

int trace_instance_start(struct trace_instance *t)
{
	int err;

	debug_assert(!t->live);
	assert(mutex_is_held(&trace_lock));
	*t = (struct trace_instance){
		.options = DEFAULT_OPTIONS,
		.generation = t->generation + 1,
		.rings = vmap_alloc(arch_nr_cpus * sizeof(struct ring)),
	};
	err = t->rings ? trace_set_buffer_kb(t, -1, 0) : -ENOMEM;
	if (err) {
		vmap_free(t->rings);
		t->rings = NULL;
		return err;
	}
	t->expands_to_kb = default_kb();
	t->live = true;
	trace_set_on(t, true);
	return 0;
}

void trace_instance_stop(struct trace_instance *t)
{
	debug_assert(t->live && !t->nr_open);
	assert(mutex_is_held(&trace_lock));
	t->live = false;
	trace_apply();
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++) {
		trace_set_filter(t, nr, NULL);
		trace_remove_hists(t, nr);
	}
	trace_set_pids(t, NULL);
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		free_slots(t->rings[cpu].slots, t->rings[cpu].nr_pages);
	vmap_free(t->rings);
	t->rings = NULL;
}

/* --- the way out: what a host tool needs, at a fixed place in memory ------------------------- */

#define IMAGE_PA 0x7000ull

/* tools/fairground/machine/image.py reads this; all integers little-endian, addresses physical. */
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
	if (!trace_route_init() || trace_set_buffer_kb(trace_top, -1, kb))
		panic("no memory for the trace rings");
	trace_top->expands_to_kb = kb ? 0 : default_kb();
	if (trace_set_events(trace_top, events_on_command_line()))
		kprintf("trace: no memory for rings of %lu KiB\n", trace_top->expands_to_kb);
	trace_set_on(trace_top, true);
	mutex_unlock(&trace_lock);
}
