/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects that a program allocates, and trees of them. */
#include <stdlib.h>

#include "sim/engine/util.h"
#include "sim/scx/include/scx/functions.h"
#include "sim/scx/include/scx/simulator.h"

void *scx_obj_new(size_t size)
{
	return allocate(1, size);
}

void bpf_obj_drop(void *object)
{
	free(object);
}

/* Trees of programs have a few nodes, one for each group: a sorted list answers the same. */
int bpf_rbtree_add(struct bpf_rb_root *root, struct bpf_rb_node *node,
		   bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b))
{
	struct bpf_rb_node **at = &root->first;

	while (*at && !less(node, *at))
		at = &(*at)->next;
	node->next = *at;
	*at = node;
	return 0;
}

struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root)
{
	return root->first;
}

struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node)
{
	struct bpf_rb_node **at = &root->first;

	while (*at && *at != node)
		at = &(*at)->next;
	if (!*at)
		return NULL;
	*at = node->next;
	return node;
}
