/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of an address space: an array of pages. Each has its rights, what is behind it, and
 * what was written. Neighbours that go on with each other are one mapping, as in /proc/PID/maps.
 */
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "vma.h"

void vma_model_create(void *model, unsigned nr_threads)
{
	struct vma_model *m = model;

	memset(m, 0, sizeof(*m));
	(void)nr_threads;
	m->size[0] = FILE_PAGES;
	for (unsigned i = 0; i < FILE_PAGES; i++)
		m->content[0][i] = (u8)(100 + i);
	m->page[ALL - 1] = (struct vma_page){ .used = true,
					      .prot = PROT_READ | PROT_WRITE,
					      .flags = VMA_GROWSDOWN };
}

static bool is_data(const struct vma_page *p)
{
	return p->used && p->prot & PROT_WRITE && !(p->flags & (VMA_SHARED | VMA_GROWSDOWN));
}

static bool is_writable(const struct vma_page *p)
{
	return !(p->flags & VMA_SHARED) || p->file != 2;
}

static unsigned used_in(const struct vma_model *m, unsigned first, unsigned end)
{
	unsigned nr = 0;

	for (unsigned i = first; i < end; i++)
		nr += m->page[i].used;
	return nr;
}

/* May there be @nr pages more like @like in RLIMIT_DATA? */
static bool data_fits(const struct vma_model *m, int nr, const struct vma_page *like)
{
	for (unsigned i = 0; i < ALL; i++)
		nr += is_data(&m->page[i]);
	return !is_data(like) || nr <= MOST_DATA;
}

/* And in RLIMIT_AS? */
static bool may_grow(const struct vma_model *m, int nr, const struct vma_page *like)
{
	return (int)used_in(m, 0, ALL) + nr <= MOST_PAGES && data_fits(m, nr, like);
}

/* Are the pages @i and @i + 1 of one mapping? */
static bool goes_on(const struct vma_model *m, unsigned i)
{
	const struct vma_page *a = &m->page[i], *b = a + 1;

	return i + 1 != PAGES && i + 1 < ALL && a->used && b->used && a->prot == b->prot &&
	       a->flags == b->flags && a->file == b->file && a->content == b->content &&
	       (!a->file || a->offset + 1 == b->offset);
}

static unsigned end_of_mapping(const struct vma_model *m, unsigned i)
{
	while (goes_on(m, i))
		i++;
	return i + 1;
}

/* The highest place for @nr pages; PAGES: there is none. */
static unsigned highest(const struct vma_model *m, unsigned nr)
{
	for (unsigned first = PLACED - nr + 1; nr <= PLACED && first-- > 0;)
		if (!used_in(m, first, first + nr))
			return first;
	return PAGES;
}

static void clear(struct vma_model *m, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		m->page[i] = (struct vma_page){ 0 };
}

/* Pages like @like, whose offset is the first one's. */
static void put(struct vma_model *m, unsigned first, unsigned end, const struct vma_page *like)
{
	for (unsigned i = first; i < end; i++) {
		m->page[i] = *like;
		m->page[i].offset = like->file ? (u8)(like->offset + i - first) : 0;
	}
}

static struct vma_page new_page(struct vma_model *m, unsigned id, const struct call *call)
{
	static const u8 files[] = { 0, 3, 1, 1, 2, 2 };
	static const u8 flags[] = { 0, VMA_SHARED, 0, VMA_SHARED, 0, VMA_SHARED };
	enum behind behind = behind_of(call);
	struct vma_page p = { .used = true,
			      .prot = (u8)prot_of(call),
			      .flags = flags[behind],
			      .file = files[behind],
			      .offset = (u8)offset_of(call) };

	if (behind == SHARED_ANON) {
		p.content = (u16)(1 + id);
		m->size[p.content] = (u8)(end_of(call) - first_of(call));
	}
	return p;
}

static long model_map(struct vma_model *m, unsigned id, const struct call *call)
{
	unsigned first = first_of(call), end = end_of(call), nr = end - first;
	struct vma_page like = new_page(m, id, call);
	int replaced = call->op == OP_FIXED ? (int)used_in(m, first, end) : 0;

	if (like.prot & PROT_WRITE && !is_writable(&like))
		return -EACCES;
	if (call->op == OP_NOREPLACE && used_in(m, first, end))
		return -EEXIST;
	if (!may_grow(m, (int)nr - replaced, &like))
		return -ENOMEM;
	if (call->op == OP_MAP || (call->op == OP_HINT && used_in(m, first, end)))
		first = highest(m, nr);
	if (first == PAGES)
		return -ENOMEM;
	put(m, first, first + nr, &like);
	return first;
}

/* How many pages of the call it reaches, and why no more. */
static unsigned reach(const struct vma_model *m, const struct call *call, long *err)
{
	unsigned at = first_of(call), stop;
	int gained = 0; /* in data */
	struct vma_page like;

	for (*err = 0; at < end_of(call) && !*err; at = *err ? at : stop) {
		stop = min(end_of_mapping(m, at), end_of(call));
		like = m->page[at];
		like.prot = (u8)prot_of(call);
		if (!like.used)
			*err = HALF;
		else if (like.prot & PROT_WRITE && !is_writable(&like))
			*err = -EACCES;
		else if (!is_data(&m->page[at]) && is_data(&like))
			gained += (int)(stop - at);
		if (!*err && !data_fits(m, gained, &like))
			*err = HALF;
	}
	return at;
}

static void set(struct vma_page *p, const struct call *call)
{
	if (call->op == OP_PROTECT)
		p->prot = (u8)prot_of(call);
	else if (call->op == OP_DONTFORK)
		p->flags |= VMA_DONTFORK;
	else
		p->flags &= (u8)~VMA_DONTFORK;
}

/*
 * Rights stop at the first page that cannot have them. Flags stop nowhere. Way 1 and above: memory
 * lacked at the mapping of that number, which stays as it is, as do those behind it.
 */
static enum model_says model_set(struct vma_model *m, const struct call *call, struct answer *a)
{
	unsigned lacked = a->way, stop = end_of(call), next;
	long err = 0;

	if (a->way && !(a->failed && a->value == HALF))
		return NO_WAY;
	if (call->op == OP_PROTECT)
		stop = reach(m, call, &err);
	for (unsigned i = first_of(call); i < stop; i = next) {
		next = min(end_of_mapping(m, i), stop);
		if (!m->page[i].used) {
			err = HALF;
			continue;
		}
		if (a->way && !--lacked)
			return ENDS;
		while (i < next)
			set(&m->page[i++], call);
	}
	a->value = err;
	return lacked ? NO_WAY : ENDS;
}

/* The pages [@first, @end) to @to, and behind them new ones like them, @nr in all. */
static void move(struct vma_model *m, unsigned first, unsigned end, unsigned to, unsigned nr)
{
	struct vma_page pages[PAGES] = { 0 };
	struct vma_page like = m->page[first];

	for (unsigned i = first; i < end; i++)
		pages[i - first] = m->page[i];
	clear(m, first, end);
	like.own_copy = false;
	like.own = 0;
	put(m, to, to + nr, &like);
	for (unsigned i = 0; i < min(end - first, nr); i++)
		m->page[to + i] = pages[i];
}

static long model_grow(struct vma_model *m, const struct call *call, unsigned first, unsigned end)
{
	unsigned nr = new_size_of(call), more = first + nr, to;

	if (!may_grow(m, (int)(more - end), &m->page[first]))
		return -ENOMEM;
	if (end_of_mapping(m, first) == end && more <= PAGES && !used_in(m, end, more)) {
		move(m, first, end, first, nr);
		return first;
	}
	to = call->op == OP_RESIZE ? PAGES : highest(m, nr);
	if (to == PAGES)
		return -ENOMEM;
	move(m, first, end, to, nr);
	return to;
}

static long model_move(struct vma_model *m, const struct call *call, unsigned first, unsigned end)
{
	unsigned nr = new_size_of(call), to = target_of(call);

	if (nr > end - first && !may_grow(m, (int)(nr - (end - first)), &m->page[first]))
		return -ENOMEM;
	clear(m, to, to + nr);
	move(m, first, end, to, nr);
	return to;
}

static long model_again(struct vma_model *m, const struct call *call)
{
	struct vma_page like = m->page[first_of(call)];
	unsigned nr = new_size_of(call), to = highest(m, nr);

	if (!(like.flags & VMA_SHARED))
		return -EINVAL;
	if (!may_grow(m, (int)nr, &like) || to == PAGES)
		return -ENOMEM;
	put(m, to, to + nr, &like);
	return to;
}

static long model_remap(struct vma_model *m, const struct call *call)
{
	unsigned first = first_of(call), end = end_of(call), stop = first + new_size_of(call);
	unsigned to = target_of(call);

	if (call->op == OP_MOVE && to < end && first < to + new_size_of(call))
		return -EINVAL;
	if (!m->page[first].used)
		return -EFAULT;
	if (call->op == OP_AGAIN)
		return model_again(m, call);
	/* A smaller size gives up the rest, whatever that is. */
	if (stop <= end && call->op != OP_MOVE) {
		clear(m, stop, end);
		return first;
	}
	if (min(end, stop) > end_of_mapping(m, first))
		return -EFAULT;
	return call->op == OP_MOVE ? model_move(m, call, first, end)
				   : model_grow(m, call, first, end);
}

static long model_brk(struct vma_model *m, unsigned want, const struct answer *a)
{
	const struct vma_page heap = { .used = true, .prot = PROT_READ | PROT_WRITE };

	if (a->failed && a->value == (long)m->brk)
		return m->brk;
	if (want > m->brk) {
		if (used_in(m, m->brk, want) || !may_grow(m, (int)(want - m->brk), &heap))
			return m->brk;
		put(m, m->brk, want, &heap);
	} else {
		clear(m, want, m->brk);
	}
	m->brk = want;
	return m->brk;
}

/* The byte at @p, or for a write its own new copy. NULL: it is behind the end of the file. */
static u8 *byte_of(struct vma_model *m, struct vma_page *p, bool write)
{
	u8 *shared = &m->content[p->content][min((unsigned)p->offset, OBJECT_PAGES - 1u)];
	bool own = p->own_copy || !p->file;

	if (!own && p->offset >= m->size[p->content])
		return NULL;
	if (!own && write && !(p->flags & VMA_SHARED)) {
		p->own = *shared;
		p->own_copy = own = true;
	}
	return own ? &p->own : shared;
}

static long model_touch(struct vma_model *m, struct vma_page *p, bool write, unsigned id)
{
	u8 *byte;
	long was;

	if (!p->used)
		return NO_PAGE - FAULT_MAPERR;
	if (!p->prot || (write && !(p->prot & PROT_WRITE)))
		return NO_PAGE - FAULT_ACCERR;
	byte = byte_of(m, p, write);
	if (!byte)
		return NO_PAGE - FAULT_BUS;
	was = *byte;
	if (write)
		*byte = (u8)(id % 64 + 1);
	return was;
}

static long model_stack(struct vma_model *m, unsigned page, unsigned id)
{
	unsigned lowest = PAGES, below = PAGES;

	while (!m->page[lowest].used)
		lowest++;
	while (below && !m->page[below - 1].used)
		below--;
	if (PAGES + page < lowest) {
		if (STACK_PAGES - page > MOST_STACK || STACK + page < below + GUARD ||
		    !may_grow(m, (int)(lowest - PAGES - page), &m->page[lowest]))
			return NO_PAGE - FAULT_MAPERR;
		for (unsigned i = PAGES + page; i < lowest; i++) {
			m->page[i] = m->page[lowest];
			m->page[i].own = 0;
		}
	}
	return model_touch(m, &m->page[PAGES + page], true, id);
}

static void model_show(const struct vma_model *m, struct answer *a)
{
	*a = (struct answer){ .failed = a->failed };
	for (unsigned i = 0; i < ALL; i++) {
		const struct vma_page *p = &m->page[i];

		if (!p->used)
			continue;
		a->value += !goes_on(m, i);
		a->digest = mix(a->digest, (va(i < PAGES ? i : STACK + i - PAGES)) >> PAGE_SHIFT);
		a->digest = mix(a->digest, p->prot + 8u * p->flags);
		if (p->file)
			a->digest = mix(a->digest, p->offset * PAGE_SIZE);
	}
}

enum model_says vma_model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				  struct answer *a)
{
	struct vma_model *m = model;
	unsigned first = first_of(call);

	(void)nr;
	if (call->op <= OP_NOREPLACE) {
		a->value = model_map(m, id, call);
	} else if (call->op == OP_UNMAP) {
		clear(m, first, end_of(call));
		a->value = 0;
	} else if (call->op <= OP_DOFORK) {
		return model_set(m, call, a);
	} else if (call->op <= OP_AGAIN) {
		a->value = model_remap(m, call);
	} else if (call->op == OP_BRK) {
		a->value = model_brk(m, call->n % 6, a);
	} else if (call->op == OP_SHOW) {
		model_show(m, a);
	} else if (call->op == OP_STACK) {
		a->value = model_stack(m, call->n % STACK_PAGES, id);
	} else {
		a->value = model_touch(m, &m->page[first], call->op == OP_WRITE, id);
	}
	return ENDS;
}
