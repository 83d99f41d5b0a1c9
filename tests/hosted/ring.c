/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of one CPU (kernel/trace/ring.c): events are written, looked at, consumed one by one or
 * by pages, and counted. The model is a list of events and of the pages that Linux's format gives
 * them. One call follows another: a reader beside the writer is in tests/unit/test_ring.c.
 */
#include "kernel/trace/ring.h"

#include "kernel/kernel.h"
#include "kernel/sync.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "queue.h"

enum { PAGES = 3, MOST = 300 /* more than calls */ };

/* The number of a call says how long an event is, and how long after the last one it comes. */
enum op { OP_WRITE, OP_LOOK, OP_REWIND, OP_TAKE, OP_TAKE_PAGE, OP_CLEAR, OP_COUNT, OP_OVERWRITE };
static const char *const op_names[] = { "write", "look",  "rewind",    "take", "take_page",
					"clear", "count", "overwrite", NULL };

static const u32 sizes[] = { 8, 12, 112, 116, 1000, 2000, RING_PAYLOAD_MAX - 4, RING_PAYLOAD_MAX };
static const u64 gaps[] = {
	0, 1, 1000, BIT(27) - 1, BIT(27), BIT(27) + 5, 5 * BIT(27) + 7, BIT(40)
};

static u32 size_of(u32 n)
{
	return sizes[n % ARRAY_SIZE(sizes)];
}

static u64 gap_of(u32 n)
{
	return gaps[n / ARRAY_SIZE(sizes) % ARRAY_SIZE(gaps)];
}

/* An event as it was seen: its time and what it carries. */
static u64 mix_event(u64 digest, u64 time, const u8 *bytes, u32 size)
{
	return mix(mix(mix(digest, time), size), queue_digest(bytes, size));
}

/* --- the object ------------------------------------------------------------------------------ */

struct rings {
	struct ring ring;
	struct ring_slot slots[PAGES];
	struct ring_page pages[PAGES];
	struct ring_reader stands[NR_FIBERS], reader;
	struct mutex lock;
	u64 now;
};

static void *create(unsigned nr_threads)
{
	struct rings *o = aligned_alloc(128, ALIGN_UP(sizeof(*o), 128u));

	memset(o, 0, sizeof(*o));
	for (unsigned i = 0; i < PAGES; i++)
		o->slots[i].page = &o->pages[i];
	ring_init(&o->ring, o->slots, PAGES);
	for (unsigned nr = 0; nr < nr_threads; nr++)
		ring_reader_init(&o->stands[nr], &o->ring);
	mutex_init(&o->lock, "ring");
	return o;
}

static void destroy(void *object)
{
	free(object);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_WRITE... OP_OVERWRITE] = { 0, ARRAY_SIZE(sizes) * ARRAY_SIZE(gaps) - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_WRITE, OP_WRITE, OP_WRITE,    OP_WRITE,	OP_WRITE,
				    OP_LOOK,  OP_LOOK,	OP_TAKE,     OP_REWIND, OP_TAKE_PAGE,
				    OP_COUNT, OP_CLEAR, OP_OVERWRITE };

	(void)alone;
	return (struct call){ .op = often[prng_below(random, ARRAY_SIZE(often))],
			      .n = prng_below(random, ARRAY_SIZE(sizes) * ARRAY_SIZE(gaps)) };
}

static long put(struct rings *o, unsigned id, u32 n)
{
	u32 size = size_of(n);
	unsigned long flags = arch_irq_save();
	u8 *payload;

	o->now += gap_of(n);
	payload = ring_reserve(&o->ring, o->now, size);
	if (payload) {
		for (u32 i = 0; i < size; i++)
			payload[i] = queue_byte(id, i);
		ring_commit(&o->ring);
	}
	arch_irq_restore(flags);
	return payload ? 0 : -ENOSPC;
}

static struct answer look(struct ring_reader *rd, struct ring_event *ev)
{
	struct answer a = { .value = -EAGAIN };

	if (!ring_reader_next(rd, ev))
		return a;
	a.value = (long)ev->nr;
	a.digest = mix_event(ev->lost, ev->time, ev->data, ev->size);
	return a;
}

/* A page as a program sees it that reads Linux's format. */
static u64 decode(const struct ring_page *page)
{
	u32 len = (u32)page->commit & 0xfffff, at = 0;
	u64 digest = mix(page->commit, page->time), time = page->time, lost = 0;
	const u32 *word;
	u32 size;

	while (at < len) {
		word = (const u32 *)(page->data + at);
		time += word[0] >> 5;
		if ((word[0] & 31) == 30) {
			time += (u64)word[1] << 27;
			at += 8;
			continue;
		}
		size = word[0] & 31 ? (word[0] & 31) * 4 : word[1] - 4;
		at += word[0] & 31 ? 4 : 8;
		digest = mix_event(digest, time, page->data + at, size);
		at += size;
	}
	if (page->commit & BIT(30))
		memcpy(&lost, page->data + len, sizeof(lost));
	return mix(digest, lost);
}

static u64 count(const struct ring *r)
{
	struct ring_stats s;

	ring_stats(r, &s);
	return mix(mix(mix(mix(mix(s.entries, s.overrun), s.bytes), s.oldest_ns), s.read_events),
		   r->dropped);
}

static struct answer do_call(struct rings *o, unsigned nr, unsigned id, const struct call *call)
{
	struct answer a = { 0 };
	struct ring_event ev;

	switch ((enum op)call->op) {
	case OP_WRITE:
		a.value = put(o, id, call->n);
		break;
	case OP_LOOK:
		return look(&o->stands[nr], &ev);
	case OP_REWIND:
		ring_reader_init(&o->stands[nr], &o->ring);
		break;
	case OP_TAKE:
		ring_reader_init(&o->reader, &o->ring);
		a = look(&o->reader, &ev);
		if (a.value >= 0)
			ring_consume(&o->ring, &ev);
		break;
	case OP_TAKE_PAGE:
		a.value = ring_read_page(&o->ring, &o->reader);
		a.digest = a.value ? decode(&o->reader.copy) : 0;
		break;
	case OP_CLEAR:
		ring_clear(&o->ring);
		break;
	case OP_COUNT:
		a.digest = count(&o->ring);
		break;
	default:
		o->ring.overwrite = call->n & 1;
	}
	return a;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct rings *o = object;
	struct answer a;

	mutex_lock(&o->lock);
	a = do_call(o, nr, id, call);
	mutex_unlock(&o->lock);
	return a;
}

/* --- the model ------------------------------------------------------------------------------- */

struct model {
	struct event {
		u64 time;
		u32 id, size, page, length; /* of its bytes on the page */
	} event[MOST];
	u64 now, last;	    /* when the last event was written */
	u32 nr, page, used; /* events; the page that is filled, and its bytes */
	u32 read, lost, nr_taken, dropped;
	u32 wanted[NR_FIBERS], copied[NR_FIBERS]; /* by a reader, up to that event */
	bool keeps;				  /* it drops new events and no old ones */
};

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	memset(model, 0, sizeof(struct model));
}

/* The number of the oldest event that page @page, or a later one, has. */
static u32 first_from(const struct model *m, u32 page)
{
	u32 nr = 0;

	while (nr < m->nr && m->event[nr].page < page)
		nr++;
	return nr;
}

static u32 oldest(const struct model *m)
{
	return m->page < PAGES ? 0 : first_from(m, m->page - PAGES + 1);
}

/* False: a full ring keeps what nobody has read. */
static bool model_turn(struct model *m)
{
	if (m->keeps && m->page + 1 >= PAGES && m->read < first_from(m, m->page - PAGES + 2))
		return false;
	m->page++;
	m->used = 0;
	return true;
}

static long model_write(struct model *m, unsigned id, u32 n)
{
	u32 size = size_of(n), head = size > 112 ? 8 : 4, length;
	u64 gap;

	m->now += gap_of(n);
	gap = m->now - m->last;
	length = head + size + (gap >> 27 ? 8 : 0);
	if (m->used + length > RING_DATA_SIZE && !model_turn(m)) {
		m->dropped++;
		return -ENOSPC;
	}
	/* The first of a page has the page's time. */
	length = m->used ? length : head + size;
	m->event[m->nr++] = (struct event){ m->now, id, size, m->page, length };
	m->used += length;
	m->last = m->now;
	return 0;
}

/*
 * A page has the time of its first event. The ring begins with a page of time 0, which keeps that
 * if the plain way to write, for short events without a long gap, has the first of all.
 */
static u64 time_of_page(const struct model *m, u32 nr)
{
	const struct event *e = &m->event[nr];

	return !nr && e->size <= RING_SHORT_MAX && !(e->time >> 27) ? 0 : e->time;
}

static u64 model_mix(u64 digest, const struct event *e)
{
	u8 bytes[RING_DATA_SIZE];

	for (u32 i = 0; i < e->size; i++)
		bytes[i] = queue_byte(e->id, i);
	return mix_event(digest, e->time, bytes, e->size);
}

/* Event @nr for a reader that wants number @wanted. */
static void model_look(const struct model *m, u32 wanted, u32 nr, struct answer *a)
{
	*a = (struct answer){ .value = -EAGAIN };
	if (nr < m->nr)
		*a = (struct answer){ .value = nr,
				      .digest = model_mix(nr - wanted, &m->event[nr]) };
}

/* A reader goes on in its copy of a page, whatever became of that, and then copies another. */
static void model_stand(struct model *m, unsigned nr, struct answer *a)
{
	u32 wanted = m->wanted[nr], has = wanted;

	if (wanted >= m->copied[nr]) {
		has = max(wanted, oldest(m));
		if (has < m->nr)
			m->copied[nr] = first_from(m, m->event[has].page + 1);
	}
	model_look(m, wanted, has, a);
	m->wanted[nr] = has + (a->value >= 0);
}

static void model_take_page(struct model *m, struct answer *a)
{
	u32 first = max(m->read, oldest(m)), end = first, lost = first - m->read, len = 0;
	bool begins, stored;
	u64 commit, time;

	*a = (struct answer){ 0 };
	if (first == m->nr)
		return;
	for (; end < m->nr && m->event[end].page == m->event[first].page; end++)
		len += m->event[end].length;
	begins = !first || m->event[first - 1].page != m->event[first].page;
	time = begins ? time_of_page(m, first) : m->event[first - 1].time;
	stored = lost && len + 8 <= RING_DATA_SIZE;
	commit = len | (lost ? BIT(31) : 0) | (stored ? BIT(30) : 0);
	a->value = 1;
	a->digest = mix(commit, time);
	for (u32 nr = first; nr < end; nr++)
		a->digest = model_mix(a->digest, &m->event[nr]);
	a->digest = mix(a->digest, stored ? lost : 0);
	m->nr_taken += end - first;
	m->lost += lost;
	m->read = end;
}

/* Bytes and the oldest time are those of the pages from the one on that has the next event. */
static u64 model_count(const struct model *m)
{
	u32 first = max(m->read, oldest(m)), bytes = 0, page = m->page, nr;

	if (first < m->nr)
		page = m->event[first].page;
	for (nr = first_from(m, page); nr < m->nr; nr++)
		bytes += m->event[nr].length;
	nr = first_from(m, page);
	return mix(mix(mix(mix(mix(m->nr - first, m->lost + first - m->read), bytes),
			   nr < m->nr ? time_of_page(m, nr) : 0),
		       m->nr_taken),
		   m->dropped);
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;

	switch ((enum op)call->op) {
	case OP_WRITE:
		a->value = model_write(m, id, call->n);
		break;
	case OP_LOOK:
		model_stand(m, nr, a);
		break;
	case OP_REWIND:
		m->wanted[nr] = m->read;
		m->copied[nr] = 0;
		break;
	case OP_TAKE:
		model_look(m, m->read, max(m->read, oldest(m)), a);
		if (a->value < 0)
			break;
		m->lost += (u32)a->value - m->read;
		m->read = (u32)a->value + 1;
		m->nr_taken++;
		break;
	case OP_TAKE_PAGE:
		model_take_page(m, a);
		break;
	case OP_CLEAR:
		m->read = m->nr;
		m->lost = m->nr_taken = m->dropped = 0;
		break;
	case OP_COUNT:
		a->digest = model_count(m);
		break;
	default:
		m->keeps = !(call->n & 1);
	}
	return ENDS;
}

DEFINE_OBJECT(ring, "((struct rings *)object)->ring");
