/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive, circular, doubly linked list. A list head is a node that
 * belongs to no element; an empty list is a head that points at itself.
 * No locking: the owner of the list guards it.
 */
#pragma once

#include "lib/types.h"

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name)                                                                            \
	{                                                                                          \
		&(name), &(name)                                                                   \
	}

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_insert_between(struct list *node, struct list *prev, struct list *next)
{
	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

static inline void list_add_head(struct list *head, struct list *node)
{
	list_insert_between(node, head, head->next);
}

static inline void list_add_tail(struct list *head, struct list *node)
{
	list_insert_between(node, head->prev, head);
}

/* Unlinks @node and leaves it a list of its own, so that a second removal is harmless. */
static inline void list_del(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/*
 * Like list_del(), but its last store lets @node go: whoever then finds list_is_released() may free
 * it, without the list's lock.
 */
static inline void list_release(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->prev = node;
	__atomic_store_n(&node->next, node, __ATOMIC_RELEASE);
}

static inline bool list_is_released(const struct list *node)
{
	return READ_ONCE(node->next) == node && READ_ONCE(node->prev) == node;
}

/* Move everything on @from to the empty or uninitialised @to. */
static inline void list_move_all(struct list *from, struct list *to)
{
	list_init(to);
	if (list_empty(from))
		return;
	to->next = from->next;
	to->prev = from->prev;
	to->next->prev = to->prev->next = to;
	list_init(from);
}

static inline bool list_is_singular(const struct list *head)
{
	return !list_empty(head) && head->next == head->prev;
}

static inline unsigned list_length(const struct list *head)
{
	unsigned nr = 0;

	for (const struct list *node = head->next; node != head; node = node->next)
		nr++;
	return nr;
}

#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)
#define list_last(head, type, member)  list_entry((head)->prev, type, member)

/* True if @pos would begin in the head, which is no entry and may be aligned to less than one. */
#define list_at_head(pos, head, member)                                                            \
	((uintptr_t)(pos) + offsetof(__typeof__(*(pos)), member) == (uintptr_t)(head))

#define list_for_each(pos, head, member)                                                           \
	for (pos = list_first(head, __typeof__(*pos), member); !list_at_head(pos, head, member);   \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

/* As list_for_each, but @pos may be unlinked or freed in the body. */
#define list_for_each_safe(pos, tmp, head, member)                                                 \
	for (pos = list_first(head, __typeof__(*pos), member);                                     \
	     !list_at_head(pos, head, member) &&                                                   \
	     (tmp = list_entry(pos->member.next, __typeof__(*tmp), member), true);                 \
	     pos = tmp)
