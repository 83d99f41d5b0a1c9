/*
 * Red-black tree; see rbtree.h.
 *
 * The rules: the root is black; a red node has no red child; every path from a
 * node down to a missing child passes the same number of black nodes. Hence a
 * path is at most twice as long as another. Insertion adds a red leaf and
 * repairs "red under red" upwards; removal of a black node leaves one side of
 * its parent a black node short and repairs that upwards.
 */
#include "lib/rbtree.h"

#define RED 1

static inline bool is_red(const struct rb_node *node)
{
	return node && (node->parent_color & RED);
}

static inline void set_black(struct rb_node *node)
{
	node->parent_color &= ~(uintptr_t)RED;
}

static inline void set_red(struct rb_node *node)
{
	node->parent_color |= RED;
}

static inline void set_parent(struct rb_node *node, struct rb_node *parent)
{
	node->parent_color = (uintptr_t)parent | (node->parent_color & RED);
}

static inline void replace_child(struct rb_tree *tree, struct rb_node *parent, struct rb_node *old,
				 struct rb_node *new)
{
	if (!parent)
		tree->root = new;
	else if (parent->left == old)
		parent->left = new;
	else
		parent->right = new;
}

/* @node's child on the side @up_right ? left : right takes its place, and @node goes below it. */
static void rotate(struct rb_tree *tree, struct rb_node *node, bool up_right)
{
	struct rb_node *child = up_right ? node->left : node->right;
	struct rb_node *moved = up_right ? child->right : child->left;
	struct rb_node *parent = rb_parent(node);

	if (up_right) {
		node->left = moved;
		child->right = node;
	} else {
		node->right = moved;
		child->left = node;
	}
	if (moved)
		set_parent(moved, node);
	set_parent(child, parent);
	set_parent(node, child);
	replace_child(tree, parent, node, child);
	if (tree->augment) {
		tree->augment(node);
		tree->augment(child);
	}
}

void rb_augment(struct rb_tree *tree, struct rb_node *node)
{
	if (!tree->augment)
		return;
	for (; node; node = rb_parent(node))
		tree->augment(node);
}

static __noinline void repair_insert(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *parent;

	while (is_red(parent = rb_parent(node))) {
		struct rb_node *grand = rb_parent(parent);
		bool on_left = grand->left == parent;
		struct rb_node *uncle = on_left ? grand->right : grand->left;

		if (is_red(uncle)) {
			/* Push the redness up two levels. */
			set_black(parent);
			set_black(uncle);
			set_red(grand);
			node = grand;
			continue;
		}
		if (node == (on_left ? parent->right : parent->left)) {
			/* Make it an outer grandchild. */
			rotate(tree, parent, !on_left);
			parent = node;
		}
		set_black(parent);
		set_red(grand);
		rotate(tree, grand, on_left);
		break;
	}
	set_black(tree->root);
}

void rb_link(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent,
	     struct rb_node **link)
{
	node->parent_color = (uintptr_t)parent | RED;
	node->left = node->right = NULL;
	*link = node;
	if (tree->augment)
		rb_augment(tree, node);
	if (parent)
		repair_insert(tree, node);
	else
		set_black(node);
}

/* The paths through @node (perhaps NULL), a child of @parent, are one black node short. */
static __noinline void repair_erase(struct rb_tree *tree, struct rb_node *node,
				    struct rb_node *parent)
{
	while (parent && !is_red(node)) {
		bool on_left = parent->left == node;
		struct rb_node *sibling = on_left ? parent->right : parent->left;
		struct rb_node *inner, *outer;

		if (is_red(sibling)) {
			/* Arrange for a black sibling. */
			set_black(sibling);
			set_red(parent);
			rotate(tree, parent, !on_left);
			sibling = on_left ? parent->right : parent->left;
		}
		inner = on_left ? sibling->left : sibling->right;
		outer = on_left ? sibling->right : sibling->left;
		if (!is_red(inner) && !is_red(outer)) {
			/* Take a black node from the sibling's side too; the shortage moves up. */
			set_red(sibling);
			node = parent;
			parent = rb_parent(node);
			continue;
		}
		if (!is_red(outer)) {
			set_black(inner);
			set_red(sibling);
			rotate(tree, sibling, on_left);
			outer = sibling;
			sibling = inner;
		}
		/* The sibling takes the parent's place and colour: one black more on our side. */
		if (is_red(parent))
			set_red(sibling);
		else
			set_black(sibling);
		set_black(parent);
		set_black(outer);
		rotate(tree, parent, !on_left);
		return;
	}
	if (node)
		set_black(node);
}

/*
 * @node has two children: its successor takes its place and colour. Returns via the pointers what
 * is short.
 */
static bool replace_by_successor(struct rb_tree *tree, struct rb_node *node, struct rb_node **child,
				 struct rb_node **parent)
{
	struct rb_node *next = node->right;
	bool lost_black;

	while (next->left)
		next = next->left;
	*child = next->right;
	*parent = rb_parent(next);
	lost_black = !is_red(next);
	if (*parent == node) {
		*parent = next;
	} else {
		(*parent)->left = *child;
		if (*child)
			set_parent(*child, *parent);
		next->right = node->right;
		set_parent(next->right, next);
	}
	next->left = node->left;
	set_parent(next->left, next);
	next->parent_color = node->parent_color;
	replace_child(tree, rb_parent(node), node, next);
	return lost_black;
}

static __noinline void erase_inner(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *child, *parent;
	bool lost_black = replace_by_successor(tree, node, &child, &parent);

	rb_augment(tree, parent);
	if (lost_black)
		repair_erase(tree, child, parent);
}

void rb_erase_among_others(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *child, *parent = rb_parent(node);

	/* The leftmost has no left child, so its right one, if any, is a leaf: the successor. */
	if (tree->leftmost == node)
		tree->leftmost = node->right ? node->right : parent;
	if (node->left && node->right) {
		erase_inner(tree, node);
		return;
	}
	/*
	 * At most one child, and that is a red leaf: otherwise the paths on its side would have
	 * more black nodes than those on the other.
	 */
	child = node->left ? node->left : node->right;
	replace_child(tree, parent, node, child);
	if (child)
		child->parent_color = (uintptr_t)parent; /* black now, as @node was */
	if (tree->augment)
		rb_augment(tree, parent);
	if (!child && parent && !is_red(node))
		repair_erase(tree, NULL, parent);
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
