/*
 * An intrusive red-black tree with a cached leftmost node and optional
 * augmentation: a value of each node that summarises its subtree, recomputed
 * bottom-up by a callback wherever the tree changes shape.
 *
 * The order is the caller's @before; equal nodes keep insertion order (a later
 * one goes right), which makes a tie in the scheduler first come, first served.
 * A key must not change while its node is in the tree.
 */
#pragma once

#include "lib/types.h"

struct rb_node {
	uintptr_t parent_color; /* the parent, with bit 0 set if this node is red */
	struct rb_node *left, *right;
};

struct rb_tree {
	struct rb_node *root, *leftmost;
	void (*augment)(struct rb_node *node); /* from the node and its children; or NULL */
};

/* Place @node as the child *@link of @parent (found by a descent), and rebalance. */
void rb_link(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent,
	     struct rb_node **link);
void rb_erase_among_others(struct rb_tree *tree, struct rb_node *node);
/*
 * What @node itself contributes to the augmented value has changed: recompute it up to the root.
 * NULL is fine.
 */
void rb_augment(struct rb_tree *tree, struct rb_node *node);
/* In-order neighbours, NULL at the ends. */
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_prev(const struct rb_node *node);

static inline struct rb_node *rb_parent(const struct rb_node *node)
{
	return (struct rb_node *)(node->parent_color & ~(uintptr_t)1);
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
	struct rb_node **link = &tree->root, *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (before(node, parent)) {
			link = &parent->left;
		} else {
			link = &parent->right;
			leftmost = false;
		}
	}
	if (leftmost)
		tree->leftmost = node;
	rb_link(tree, node, parent, link);
}
