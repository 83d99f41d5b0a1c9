/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Red-black tree; see rbtree.h.
 *
 * The rules: the root is black; a red node has no red child; every path from a
 * node down to a missing child passes the same number of black nodes. Hence a
 * path is at most twice as long as another. Insertion adds a red leaf and
 * repairs "red under red" upwards; removal of a black node leaves one side of
 * its parent a black node short and repairs that upwards.
 *
 * A side is 0 (left) or 1 (right), an index of child[]; what is said of one
 * holds for the other. Where a node's colour is known, its parent_color is
 * written or read as a whole: the parent of a black node, that plus RB_RED of a
 * red one.
 */
#include "lib/rbtree.h"

static inline bool is_red(const struct rb_node *node)
{
	return node && (node->parent_color & RB_RED);
}

static inline void set_black(struct rb_node *node, struct rb_node *parent)
{
	node->parent_color = (uintptr_t)parent;
}

static inline void set_red(struct rb_node *node, struct rb_node *parent)
{
	node->parent_color = (uintptr_t)parent | RB_RED;
}

static inline struct rb_node *parent_of_black(const struct rb_node *node)
{
	return (struct rb_node *)node->parent_color;
}

static inline struct rb_node *parent_of_red(const struct rb_node *node)
{
	return (struct rb_node *)(node->parent_color - RB_RED);
}

static inline void set_parent(struct rb_node *node, struct rb_node *parent)
{
	node->parent_color = (uintptr_t)parent | (node->parent_color & RB_RED);
}

static inline void replace_child(struct rb_tree *tree, struct rb_node *parent, struct rb_node *old,
				 struct rb_node *new)
{
	if (!parent)
		tree->root = new;
	else
		parent->child[parent->right == old] = new;
}

/*
 * The shape of a rotation: @child, on @side of @node, goes up by one, and @node becomes its child
 * on the other side. Returns the subtree that changes hands between them (perhaps NULL). Left to
 * the caller: the parents and colours of all three, and the link from above.
 */
static inline struct rb_node *rotate(struct rb_node *node, struct rb_node *child, unsigned side)
{
	struct rb_node *moved = child->child[!side];

	node->child[side] = moved;
	child->child[!side] = node;
	return moved;
}

/* Recompute both values after a rotation: @lower is the child of @upper now. */
static inline void augment_two(struct rb_tree *tree, struct rb_node *lower, struct rb_node *upper)
{
	if (unlikely(tree->augment)) {
		tree->augment(lower);
		tree->augment(upper);
	}
}

void rb_augment(struct rb_tree *tree, struct rb_node *node)
{
	if (!tree->augment)
		return;
	while (node && tree->augment(node))
		node = rb_parent(node);
}

/* The same, up to @end in any case, whose value is of another place in the tree. */
static void augment_to(struct rb_tree *tree, struct rb_node *node, struct rb_node *end)
{
	if (!tree->augment)
		return;
	for (; node != end; node = rb_parent(node))
		tree->augment(node);
	tree->augment(end);
	rb_augment(tree, rb_parent(end));
}

/* @node and its @parent are both red. */
static inline void repair_insert(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent)
{
	struct rb_node *grand, *uncle, *moved;
	unsigned side;

	for (;;) {
		grand = parent_of_red(parent);
		side = grand->right == parent;
		uncle = grand->child[!side];
		if (!is_red(uncle))
			break;
		/* Push the redness up two levels. */
		set_black(parent, grand);
		set_black(uncle, grand);
		node = grand;
		parent = parent_of_black(node);
		if (!parent)
			return;
		set_red(node, parent);
		if (!is_red(parent))
			return;
	}
	if (node != parent->child[side]) {
		/* Make it an outer grandchild. */
		moved = rotate(parent, node, !side);
		if (moved)
			set_black(moved, parent);
		set_red(parent, node);
		augment_two(tree, parent, node);
		parent = node;
	}
	moved = rotate(grand, parent, side);
	if (moved)
		set_black(moved, grand);
	set_black(parent, parent_of_black(grand));
	replace_child(tree, parent_of_black(parent), grand, parent);
	set_red(grand, parent);
	augment_two(tree, grand, parent);
}

/* Make @node, a new leaf, the child of @parent (NULL: the root) on that side. */
static inline __attribute__((always_inline)) void link(struct rb_tree *tree, struct rb_node *node,
						       struct rb_node *parent, bool right)
{
	node->left = node->right = NULL;
	if (!parent) {
		set_black(node, NULL);
		tree->root = node;
		if (unlikely(tree->augment))
			tree->augment(node);
		return;
	}
	set_red(node, parent);
	parent->child[right] = node;
	if (unlikely(tree->augment)) {
		tree->augment(node); /* for the first time here: whether it changes says nothing */
		rb_augment(tree, parent);
	}
	if (is_red(parent))
		repair_insert(tree, node, parent);
}

void rb_link(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent, bool right)
{
	link(tree, node, parent, right);
}

void rb_insert_key(struct rb_tree *tree, struct rb_node *node, size_t key)
{
	struct rb_node *at = tree->root, *parent = NULL;
	bool right = false;

	while (at) {
		parent = at;
		right = !rb_key_before(node, at, key);
		at = at->child[right];
	}
	if (!right && parent == tree->leftmost)
		tree->leftmost = node;
	link(tree, node, parent, right);
}

/* The paths through the child on @side of @parent, which is black or missing, are short of one. */
static __noinline void repair_erase(struct rb_tree *tree, struct rb_node *parent, unsigned side)
{
	struct rb_node *node, *sibling, *inner, *outer, *moved;

	for (;;) {
		sibling = parent->child[!side];
		if (is_red(sibling)) {
			/* Arrange for a black sibling. */
			inner = rotate(parent, sibling, !side);
			set_black(inner, parent);
			set_black(sibling, parent_of_black(parent));
			replace_child(tree, parent_of_black(sibling), parent, sibling);
			set_red(parent, sibling);
			augment_two(tree, parent, sibling);
			sibling = inner;
		}
		inner = sibling->child[side];
		outer = sibling->child[!side];
		if (is_red(outer) || is_red(inner))
			break;
		/* Take a black node from the sibling's side too; the shortage moves up. */
		set_red(sibling, parent);
		if (is_red(parent)) {
			set_black(parent, parent_of_red(parent));
			return;
		}
		node = parent;
		parent = parent_of_black(node);
		if (!parent)
			return;
		side = parent->right == node;
	}
	if (!is_red(outer)) {
		moved = rotate(sibling, inner, side);
		if (moved)
			set_black(moved, sibling);
		augment_two(tree, sibling, inner);
		outer = sibling;
		sibling = inner;
	}
	/* The sibling takes the parent's place and colour: one black more on our side. */
	moved = rotate(parent, sibling, !side);
	if (moved)
		set_parent(moved, parent);
	sibling->parent_color = parent->parent_color;
	replace_child(tree, rb_parent(sibling), parent, sibling);
	set_black(parent, sibling);
	set_black(outer, sibling);
	augment_two(tree, parent, sibling);
}

/* @node has two children: its successor takes its place and colour. */
static __noinline void erase_inner(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *next = node->right, *child, *parent;
	bool lost_black;
	unsigned side;

	while (next->left)
		next = next->left;
	child = next->right;
	parent = rb_parent(next);
	lost_black = !is_red(next);
	side = parent == node; /* where @next was, below @parent */
	if (parent == node) {
		parent = next;
	} else {
		parent->left = child;
		next->right = node->right;
		set_parent(next->right, next);
	}
	next->left = node->left;
	set_parent(next->left, next);
	next->parent_color = node->parent_color;
	replace_child(tree, rb_parent(node), node, next);
	if (child)
		set_black(child, parent); /* a red leaf until now: it makes up for @next */
	augment_to(tree, parent, next);
	if (lost_black && !child)
		repair_erase(tree, parent, side);
}

void rb_erase_among_others(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *child = node->right, *parent = rb_parent(node);
	unsigned side;

	/* The first has no left child, so its right one, if any, is a leaf: the next. */
	if (tree->leftmost == node)
		tree->leftmost = child ? child : parent;
	if (node->left) {
		if (child) {
			erase_inner(tree, node);
			return;
		}
		child = node->left;
	}
	/*
	 * At most one child, and that is a red leaf: otherwise the paths on its side would have
	 * more black nodes than those on the other.
	 */
	if (child)
		set_black(child, parent);
	if (!parent) {
		tree->root = child; /* there is one: this is not the only node */
		return;
	}
	side = parent->right == node;
	parent->child[side] = child;
	if (unlikely(tree->augment))
		rb_augment(tree, parent);
	if (!child && parent_of_black(node) == parent)
		repair_erase(tree, parent, side);
}

struct rb_node *rb_next(const struct rb_node *node)
{
	struct rb_node *up;

	if (node->right) {
		struct rb_node *down = node->right;

		while (down->left)
			down = down->left;
		return down;
	}
	while ((up = rb_parent(node)) && up->right == node)
		node = up;
	return up;
}

struct rb_node *rb_prev(const struct rb_node *node)
{
	struct rb_node *up;

	if (node->left) {
		struct rb_node *down = node->left;

		while (down->right)
			down = down->right;
		return down;
	}
	while ((up = rb_parent(node)) && up->left == node)
		node = up;
	return up;
}
