/* SPDX-License-Identifier: GPL-2.0-only */
/* Trees of objects (object.c). A tree is the program's, which has a lock for it. */
#include "lib/errno.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define NODES_MAX (1u << 16) /* of a tree: more are a ring */

/* The next link of a walk, of which this is the step @n; NULL and a fault if it has no end. */
static struct bpf_rb_node **next_link(struct bpf_rb_node **at, u32 n)
{
	if (n == NODES_MAX) {
		ext_report(scx_frame()->call, EXT_EXIT_ERROR, 0, "a tree without an end");
		return NULL;
	}
	if (*at)
		scx_need(*at, sizeof(**at), true);
	return at;
}

/* Trees of programs have a few nodes, one for each group: a sorted list answers the same. */
int bpf_rbtree_add(struct bpf_rb_root *root, struct bpf_rb_node *node,
		   bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b))
{
	struct bpf_rb_node **at;
	u32 n = 0;

	scx_need(root, sizeof(*root), true);
	scx_need(node, sizeof(*node), true);
	if (node->root)
		return -EINVAL;
	at = next_link(&root->first, n);
	while (at && *at && !less(node, *at))
		at = next_link(&(*at)->next, ++n);
	if (!at)
		return -EINVAL;
	node->root = root;
	node->next = *at;
	*at = node;
	return 0;
}

struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root)
{
	scx_need(root, sizeof(*root), false);
	return root->first;
}

struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node)
{
	struct bpf_rb_node **at;
	u32 n = 0;

	scx_need(root, sizeof(*root), true);
	scx_need(node, sizeof(*node), true);
	at = next_link(&root->first, n);
	while (at && *at && *at != node)
		at = next_link(&(*at)->next, ++n);
	if (!at || !*at)
		return NULL;
	*at = node->next;
	node->root = NULL;
	return node;
}
