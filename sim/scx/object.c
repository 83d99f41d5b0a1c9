/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects that a program allocates. A program may give any address for an object, so one is found
 * by it before anything is freed. Objects that a program still has end with it.
 *
 * Lock: objects_lock, a leaf.
 */
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define BUCKETS	   256u
#define OBJECT_MAX (1u << 20) /* bytes of one */

struct object {
	struct scx_left left; /* first: the host frees it by that */
	struct object *next;  /* in its bucket */
	u32 holders;
	u8 data[] __aligned(16);
};

static struct host_lock objects_lock = { .rank = HOST_RANK_LEAF };
static struct object *objects[BUCKETS];

/* Where the object that begins at @data is, or would be. */
static struct object **place_of(const void *data)
{
	struct object **at = &objects[((uintptr_t)data >> 4) * 0x9e3779b1u >> 16 & (BUCKETS - 1)];

	while (*at && (*at)->data != data)
		at = &(*at)->next;
	return at;
}

void *scx_obj_new(size_t size)
{
	struct object *o = size <= OBJECT_MAX ? scx_alloc(sizeof(*o) + size) : NULL;

	if (!o)
		return NULL;
	o->holders = 1;
	host_lock(&objects_lock);
	*place_of(o->data) = o;
	host_unlock(&objects_lock);
	return o->data;
}

/* The object at @data has one holder more, or less. False and a fault: there is none. */
static bool count_holder(const void *data, bool more)
{
	struct object **at, *o, *unheld = NULL;

	host_lock(&objects_lock);
	at = place_of(data);
	o = *at;
	if (o)
		o->holders += more ? 1 : -1u;
	if (o && !o->holders) {
		unheld = o;
		*at = o->next;
	}
	host_unlock(&objects_lock);
	if (unheld)
		scx_keep_left(&unheld->left);
	if (!o)
		ext_report(scx_frame()->call, EXT_EXIT_ERROR, 0,
			   "an object that the program has not, or no longer");
	return o;
}

bool scx_obj_hold(const void *data)
{
	return count_holder(data, true);
}

void bpf_obj_drop(void *object)
{
	count_holder(object, false);
}

void scx_objects_free(void)
{
	for (u32 i = 0; i < BUCKETS; i++)
		while (objects[i]) {
			struct object *o = objects[i];

			objects[i] = o->next;
			scx_free(o);
		}
}
