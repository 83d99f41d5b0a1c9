/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An intrusive red-black tree with a cached leftmost node and optional
 * augmentation: a value of each node that summarises its subtree, recomputed
 * bottom-up by a callback wherever the tree changes shape.
 *
 * The order is the caller's @before; equal nodes keep insertion order (a later
 * one goes right), which makes a tie in the scheduler first come, first served.
 * A key must not change while its node is in the tree.
 *
 * Where the order is that of one number, rb_insert_key() compares without a call.
 */
#pragma once

#include "lib/math64.h"
#include "lib/types.h"

struct rb_node {
	uintptr_t parent_color; /* the parent, with bit 0 set if this node is red */
	union {
		struct {
			struct rb_node *left, *right;
		};
		struct rb_node *child[2]; /* the same: code that is alike for both sides */
	};
};

struct rb_tree {
	struct rb_node *root, *leftmost;
	/* Recompute a node's value from itself and its children. Did it change? NULL: no values. */
	bool (*augment)(struct rb_node *node);
};

#define RB_RED ((uintptr_t)1)

/* Parts of the inline functions below. */
void rb_link(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent, bool right);
void rb_erase_among_others(struct rb_tree *tree, struct rb_node *node);

/* rb_insert() in the order of rb_key_before(). */
void rb_insert_key(struct rb_tree *tree, struct rb_node *node, size_t key);

/*
 * The contribution of @node itself to the augmented value, or a child, has changed: recompute the
 * values from there up, as far as they change. NULL is fine.
 */
void rb_augment(struct rb_tree *tree, struct rb_node *node);
/* In-order neighbours, NULL at the ends. */
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_prev(const struct rb_node *node);

/* By the u64, a time that may wrap, @key bytes from each node. */
static inline bool rb_key_before(const struct rb_node *a, const struct rb_node *b, size_t key)
{
	return time_before(*(const u64 *)((const char *)a + key),
			   *(const u64 *)((const char *)b + key));
}

static inline struct rb_node *rb_parent(const struct rb_node *node)
{
	return (struct rb_node *)(node->parent_color & ~RB_RED);
}

static inline bool rb_is_empty(const struct rb_tree *tree)
{
	return !tree->root;
}

static inline struct rb_node *rb_first(const struct rb_tree *tree)
{
	return tree->leftmost;
}

/* The last node of a tree is a common case: two tasks that take turns. */
static inline void rb_erase(struct rb_tree *tree, struct rb_node *node)
{
	if (tree->root == node && !node->left && !node->right)
		tree->root = tree->leftmost = NULL;
	else
		rb_erase_among_others(tree, node);
}

static inline void rb_insert(struct rb_tree *tree, struct rb_node *node,
			     bool (*before)(const struct rb_node *a, const struct rb_node *b))
{
	struct rb_node *parent = NULL;
	bool right = false;

	for (struct rb_node *at = tree->root; at; at = at->child[right]) {
		parent = at;
		right = !before(node, at);
	}
	if (!right && parent == tree->leftmost)
		tree->leftmost = node;
	rb_link(tree, node, parent, right);
}
