/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of the kernel into a pipe, for splice(2): what trace-cmd record does with trace_pipe_raw.
 */
#include "kernel/fs/pipe.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/string.h"

/* Copy the page at @data to the head of the ring, where there is room. lock held. */
static long copy_page(struct pipe *p, const char *data)
{
	u32 offset = p->head % PAGE_SIZE;
	char *first = pipe_page(p, p->head);
	char *second = offset ? pipe_page(p, p->head + PAGE_SIZE) : first;

	assert(spin_is_held(&p->lock));
	if (!first || !second)
		return -ENOMEM;
	memcpy(first + offset, data, PAGE_SIZE - offset);
	memcpy(second, data + PAGE_SIZE - offset, offset);
	p->head += PAGE_SIZE;
	return PAGE_SIZE;
}

long pipe_put_page(struct pipe *p, const void *data)
{
	bool broken, was_empty;
	long ret = -EAGAIN;

	spin_lock(&p->lock);
	broken = !p->readers;
	was_empty = p->head == p->tail;
	if (!broken && pipe_capacity(p) - pipe_used(p) >= PAGE_SIZE)
		ret = copy_page(p, data);
	spin_unlock(&p->lock);
	if (broken)
		return pipe_broken(0);
	if (ret > 0 && was_empty)
		waitq_wake_sync(&p->readable, 1);
	if (ret == -ENOMEM)
		waitq_pass_on(&p->writable);
	return ret;
}
