/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording. Every event goes to its CPU's pages, in the layout of Linux's ring buffer. At the end
 * all pages go into one trace.dat file of version 6, which trace-cmd and KernelShark read. The
 * bytes are those of the kernel's tracer (kernel/trace/ring.h, fairground/trace/trace.py), but
 * nothing wraps here.
 */
#include <assert.h>
#include <string.h>

#include "sim/report/trace.h"
#include "sim/engine/output.h"

#include "lib/event_format.h"

#define PAGE	       4096u
#define PAGE_DATA      (PAGE - 16u)
#define TIME_EXTEND    30u /* not an event: the next word is a gap in units of 2^27 ns */
#define DELTA_BITS     27
#define LONGEST_EVENT  (12u + EVENT_SIZE_MAX) /* time extend and header before it */
#define FLAG_IRQS_OFF  1u
#define FLAG_RESCHED   4u
#define FLAG_HARDIRQ   8u
#define MAX_BYTES      (2ull << 30) /* over all CPUs; later events are counted as lost */
#define OPTION_CPUSTAT 2
#define OPTION_CLOCK   4
#define OPTION_COUNT   8
#define OPTION_VERSION 9 /* of the program that wrote the file: what run it is */

struct page {
	u64 time;
	u64 commit;
	u8 data[PAGE_DATA];
};

struct cpu_trace {
	struct page *pages;
	u32 nr_pages, size;
	u64 time; /* of the last event */
	u64 events, lost;
};

struct trace {
	struct sim_listener listener;
	u64 events_on; /* of all: BIT(EVENT_x) */
	char *about;
	u32 nr_cpus;
	struct cpu_trace *cpus;
	u64 bytes, events, lost;
	char (*names)[TASK_COMM_LEN]; /* by pid */
	u32 nr_names, names_size;
};

/* --- recording -------------------------------------------------------------------------------- */

static struct page *page_for(struct trace *trace, struct cpu_trace *c, u32 bytes, u64 now)
{
	struct page *page = c->nr_pages ? &c->pages[c->nr_pages - 1] : NULL;

	if (page && page->commit + bytes <= PAGE_DATA)
		return page;
	if (trace->bytes + PAGE > MAX_BYTES)
		return NULL;
	trace->bytes += PAGE;
	c->pages = grow(c->pages, c->nr_pages, &c->size, sizeof(*page));
	page = &c->pages[c->nr_pages++];
	memset(page, 0, sizeof(*page));
	page->time = c->time = now;
	return page;
}

static void put_word(struct page *page, u32 word)
{
	memcpy(page->data + page->commit, &word, sizeof(word));
	page->commit += sizeof(word);
}

/* Remembers the name of a thread from the event of its start. */
static void note_name(struct trace *trace, const struct event_sched_wakeup_new *ev)
{
	while ((u32)ev->pid >= trace->nr_names) {
		trace->names = grow(trace->names, trace->nr_names, &trace->names_size,
				    sizeof(*trace->names));
		memset(trace->names[trace->nr_names++], 0, TASK_COMM_LEN);
	}
	memcpy(trace->names[ev->pid], ev->comm, TASK_COMM_LEN);
}

/* Is an event of @type in the file? Other listeners may hear of more. */
static bool wanted(const struct trace *trace, u16 type)
{
	switch (type) {
#define EVENT(system, name, id, ...)                                                               \
	case id:                                                                                   \
		return trace->events_on & BIT(EVENT_##name);
#include "sched/observe/event.def"
#undef EVENT
	}
	return false;
}

static void record(struct sim_listener *listener, struct sim *sim, const struct sched_event *event)
{
	struct trace *trace = container_of(listener, struct trace, listener);
	struct cpu_trace *c = &trace->cpus[event->cpu];
	const struct sim_cpu *cpu = &sim->cpus[event->cpu];
	u64 now = sim_record_time(sim), gap;
	struct page *page;
	u32 context = FLAG_IRQS_OFF | (cpu->kicked ? FLAG_RESCHED : 0) |
		      (sim->in_interrupt ? FLAG_HARDIRQ : 0);

	if (!wanted(trace, event->type))
		return;
	page = page_for(trace, c, LONGEST_EVENT, now);
	if (!page) {
		trace->lost++;
		c->lost++;
		return;
	}
	gap = now - c->time;
	c->time = now;
	if (gap >> DELTA_BITS) {
		put_word(page, (u32)gap << 5 | TIME_EXTEND);
		put_word(page, (u32)(gap >> DELTA_BITS));
		gap = 0;
	}
	put_word(page, (u32)gap << 5 | event->size / 4);
	put_word(page, event->type | context << 16);
	put_word(page, (u32)cpu->curr->task.pid);
	memcpy(page->data + page->commit, event + 1, event->size - sizeof(*event));
	page->commit += event->size - sizeof(*event);
	c->events++;
	trace->events++;
	if (event->type == EVENT_ID_sched_wakeup_new)
		note_name(trace, (const struct event_sched_wakeup_new *)event);
}

struct trace *trace_new(struct sim *sim, u64 events, char *about)
{
	struct trace *trace = allocate(1, sizeof(*trace));

	trace->nr_cpus = sim->config.nr_cpus;
	trace->cpus = allocate(trace->nr_cpus, sizeof(*trace->cpus));
	trace->listener.event = record;
	trace->events_on = sim->freq ? events : events & ~POWER_EVENTS;
	trace->about = about;
	sim_listen(sim, &trace->listener);
	sim_trace(sim, events);
	return trace;
}

/* --- the file --------------------------------------------------------------------------------- */

static void put(FILE *out, u64 value, size_t bytes)
{
	fwrite(&value, bytes, 1, out);
}

/* Puts a text, with its length in @bytes bytes before it. */
static void put_text(FILE *out, const char *text, size_t bytes)
{
	put(out, strlen(text), bytes);
	fputs(text, out);
}

/* The number after those of the system of number @first: events of a system stand together. */
static u32 system_end(u32 first)
{
	u32 nr = first;

	while (nr < NR_SCHED_EVENTS && !strcmp(event_system(nr), event_system(first)))
		nr++;
	return nr;
}

/* The system of the events from number @nr up to @end. */
static void put_system(FILE *out, u32 nr, u32 end)
{
	fwrite(event_system(nr), strlen(event_system(nr)) + 1, 1, out);
	put(out, end - nr, 4);
	for (; nr < end; nr++) {
		char *text = event_format_text(nr);

		put_text(out, text, 8);
		free(text);
	}
}

/* The systems of which the file has events. */
static void put_formats(FILE *out, const struct trace *trace)
{
	u64 systems = 0; /* their first events */

	for (u32 nr = 0; nr < NR_SCHED_EVENTS; nr = system_end(nr))
		if (trace->events_on & (BIT(system_end(nr)) - BIT(nr)))
			systems |= BIT(nr);
	put(out, 0, 4); /* none of the ftrace system */
	put(out, (u32)__builtin_popcountll(systems), 4);
	for (u32 nr = 0; nr < NR_SCHED_EVENTS; nr++)
		if (systems & BIT(nr))
			put_system(out, nr, system_end(nr));
}

static void put_names(FILE *out, const struct trace *trace)
{
	char *text;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	for (u32 pid = 1; pid < trace->nr_names; pid++)
		fprintf(memory, "%u %s\n", pid, trace->names[pid]);
	fclose(memory);
	put_text(out, text, 8);
	free(text);
}

static void put_option(FILE *out, u32 id, const void *data, size_t size)
{
	put(out, id, 2);
	put(out, size, 4);
	fwrite(data, size, 1, out);
}

static void put_options(FILE *out, const struct trace *trace)
{
	static const char clock[] = "[local]\n";
	char text[120];

	put_option(out, OPTION_CLOCK, clock, sizeof(clock));
	put_option(out, OPTION_VERSION, trace->about, strlen(trace->about) + 1);
	for (u32 cpu = 0; cpu < trace->nr_cpus; cpu++) {
		int len = snprintf(text, sizeof(text),
				   "CPU: %u\nentries: 0\noverrun: 0\n"
				   "dropped events: %llu\nread events: %llu\n",
				   cpu, (unsigned long long)trace->cpus[cpu].lost,
				   (unsigned long long)trace->cpus[cpu].events);

		put_option(out, OPTION_CPUSTAT, text, (size_t)len + 1);
	}
	put_option(out, OPTION_COUNT, &trace->nr_cpus, 4);
	put(out, 0, 2);
}

static void put_head(FILE *out, const struct trace *trace)
{
	fwrite("\x17\x08\x44tracing6", 12, 1, out);
	put(out, 0, 1); /* little endian, */
	put(out, 8, 1); /* longs of 8 bytes */
	put(out, PAGE, 4);
	fwrite("header_page", 12, 1, out);
	put_text(out, EVENT_HEADER_PAGE, 8);
	fwrite("header_event", 13, 1, out);
	put_text(out, "", 8);
	put_formats(out, trace);
	put_text(out, "", 4); /* symbols */
	put_text(out, "", 4); /* formats of printk */
	put_names(out, trace);
	put(out, trace->nr_cpus, 4);
	fwrite("options  ", 10, 1, out);
	put_options(out, trace);
	fwrite("flyrecord", 10, 1, out);
}

static void pad_to_page(FILE *out)
{
	while (ftell(out) % PAGE)
		fputc(0, out);
}

/* Where the pages of each CPU are: after this, from the next whole page on. */
static void put_places(FILE *out, const struct trace *trace)
{
	u64 at = ALIGN_UP((u64)ftell(out) + 16ull * trace->nr_cpus, (u64)PAGE);

	for (u32 cpu = 0; cpu < trace->nr_cpus; cpu++) {
		u64 size = (u64)trace->cpus[cpu].nr_pages * PAGE;

		put(out, at, 8);
		put(out, size, 8);
		at += size;
	}
	pad_to_page(out);
}

/* All before the pages is made in memory: a pipe does not tell how much it was given. */
static void put_all(FILE *out, const struct trace *trace)
{
	char *head;
	size_t size;
	FILE *memory = open_memstream(&head, &size);

	put_head(memory, trace);
	put_places(memory, trace);
	fclose(memory);
	fwrite(head, size, 1, out);
	free(head);
	for (u32 cpu = 0; cpu < trace->nr_cpus; cpu++)
		fwrite(trace->cpus[cpu].pages, PAGE, trace->cpus[cpu].nr_pages, out);
}

static void trace_free(struct trace *trace)
{
	for (u32 cpu = 0; cpu < trace->nr_cpus; cpu++)
		free(trace->cpus[cpu].pages);
	free(trace->cpus);
	free(trace->names);
	free(trace->about);
	free(trace);
}

void trace_write(struct trace *trace, const char *option, const char *path)
{
	FILE *out = output_create(option, path);

	put_all(out, trace);
	output_finish(out, option, path);
	printf("%s: %llu events", path, (unsigned long long)trace->events);
	if (trace->lost)
		printf(", %llu later ones did not fit", (unsigned long long)trace->lost);
	printf("; read it with: trace-cmd report %s\n", path);
	trace_free(trace);
}
