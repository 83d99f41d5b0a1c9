/* SPDX-License-Identifier: GPL-2.0-only */
/* Shapes of machines; see cputree.h. */
#include "lib/cputree.h"

#include "lib/fmt.h"
#include "lib/string.h"

const char *const tree_level_name[NR_TREE_LEVELS] = { "nodes", "packages", "llcs", "cores",
						      "threads" };

static u32 parts_of(const struct cpu_tree *tree, enum tree_level level, u32 parent)
{
	return tree->parts[level][parent % tree->nr_parts[level]];
}

/* --- reading ------------------------------------------------------------------------------ */

/* The text being read and the place reached in it. */
struct reader {
	struct cpu_tree *tree;
	const char *all, *at;
};

/* The text in an error, and a word of it: so much of them that the reason behind fits. */
#define SHOWN 40

#define fail(r, format, ...)                                                                       \
	({                                                                                         \
		fmt_snprintf((r)->tree->error, sizeof((r)->tree->error), "topology '%.*s'" format, \
			     SHOWN, (r)->all, ##__VA_ARGS__);                                      \
		false;                                                                             \
	})

static int word_length(const char *at, const char *ends)
{
	const char *end = at;

	while (*end && !strchr(ends, *end))
		end++;
	return (int)(end - at);
}

/* Reads a number up to CPU_MAX that ends with the word; 0 if there is none. */
static u32 read_number(const char *at, int length)
{
	const char *end = at + length;
	u64 value;

	return read_decimal(&at, end, CPU_MAX, &value) && at == end ? (u32)value : 0;
}

/* "4" or "4+3+4". */
static bool read_parts(struct reader *r, enum tree_level level)
{
	struct cpu_tree *tree = r->tree;
	u32 *nr = &tree->nr_parts[level];

	for (*nr = 0;; r->at++) {
		int length = word_length(r->at, "+,x");

		if (*nr == TREE_PARTS_MAX)
			return fail(r, ": %s lists more than %u numbers", tree_level_name[level],
				    TREE_PARTS_MAX);
		tree->parts[level][*nr] = read_number(r->at, length);
		if (!tree->parts[level][(*nr)++])
			return fail(r, ": '%.*s' is not a number of %s from 1 to %u",
				    min(length, SHOWN), r->at, tree_level_name[level], CPU_MAX);
		r->at += length;
		if (*r->at != '+')
			return true;
	}
}

static bool is_word(const char *word, const char *at, size_t length)
{
	return strlen(word) == length && !memcmp(word, at, length);
}

static bool read_named(struct reader *r, bool seen[NR_TREE_LEVELS])
{
	for (;; r->at++) {
		int length = word_length(r->at, "=,");
		enum tree_level level = 0;

		if (r->at[length] != '=')
			return fail(r, ": '%.*s' is not LEVEL=NUMBER", min(length, SHOWN), r->at);
		while (level < NR_TREE_LEVELS &&
		       !is_word(tree_level_name[level], r->at, (size_t)length))
			level++;
		if (level == NR_TREE_LEVELS)
			return fail(r,
				    ": no level '%.*s'; there are nodes, packages, llcs, cores, "
				    "threads",
				    min(length, SHOWN), r->at);
		if (seen[level])
			return fail(r, ": %s twice", tree_level_name[level]);
		seen[level] = true;
		r->at += length + 1;
		if (!read_parts(r, level))
			return false;
		if (*r->at != ',')
			return !*r->at || fail(r, ": '%.*s' is too much", SHOWN, r->at);
	}
}

/* The last factor is threads of a core, the one before cores of an LLC, and so on. */
static bool read_factors(struct reader *r)
{
	enum tree_level level = TREE_THREADS;

	for (const char *at = r->all; *at; at++)
		if (*at == 'x' && level-- == TREE_PACKAGES)
			return fail(r, " has more than 4 factors (PACKAGESxLLCSxCORESxTHREADS)");
	for (;; level++, r->at++) {
		if (!read_parts(r, level))
			return false;
		if (*r->at != 'x')
			return !*r->at || fail(r, ": '%.*s' is too much", SHOWN, r->at);
	}
}

/* Returns how many groups there are at @level; every number of a list must be used. */
static bool count(struct reader *r, enum tree_level level)
{
	struct cpu_tree *tree = r->tree;
	u32 parents = level ? tree->total[level - 1] : 1, *total = &tree->total[level];

	if (tree->nr_parts[level] > 1 && parents % tree->nr_parts[level])
		return fail(r, " does not add up: %u numbers of %s for %u parents",
			    tree->nr_parts[level], tree_level_name[level], parents);
	*total = 0;
	for (u32 parent = 0; parent < parents; parent++) {
		*total += parts_of(tree, level, parent);
		if (*total > CPU_MAX)
			return fail(r, " has more than %u CPUs", CPU_MAX);
	}
	return true;
}

void cpu_tree_flat(struct cpu_tree *tree, u32 nr_cores)
{
	tree->error[0] = '\0';
	for (enum tree_level level = 0; level < NR_TREE_LEVELS; level++) {
		tree->nr_parts[level] = tree->parts[level][0] = 1;
		tree->total[level] = level < TREE_CORES ? 1 : nr_cores;
	}
	tree->parts[TREE_CORES][0] = nr_cores;
}

bool cpu_tree_read(struct cpu_tree *tree, const char *text)
{
	struct reader r = { .tree = tree, .all = text, .at = text };
	bool seen[NR_TREE_LEVELS] = { false };

	cpu_tree_flat(tree, 1);
	if (!(strchr(text, '=') ? read_named(&r, seen) : read_factors(&r)))
		return false;
	if (!seen[TREE_NODES]) {
		memcpy(tree->parts[TREE_NODES], tree->parts[TREE_PACKAGES],
		       sizeof(tree->parts[TREE_NODES]));
		tree->nr_parts[TREE_NODES] = tree->nr_parts[TREE_PACKAGES];
		tree->nr_parts[TREE_PACKAGES] = tree->parts[TREE_PACKAGES][0] = 1;
	}
	for (enum tree_level level = 0; level < NR_TREE_LEVELS; level++)
		if (!count(&r, level))
			return false;
	return true;
}

/* --- numbering ---------------------------------------------------------------------------- */

/* How many threads the @core-th core has, and so on up: walk the groups of each level in step. */
void cpu_tree_places(const struct cpu_tree *tree, struct cpu_place *places)
{
	u32 at[NR_TREE_LEVELS] = { 0 };	  /* the group reached at each level */
	u32 left[NR_TREE_LEVELS] = { 0 }; /* parts of it that are still to come */

	for (enum tree_level level = 0; level < NR_TREE_LEVELS; level++)
		left[level] = parts_of(tree, level, 0);
	for (u32 cpu = 0; cpu < tree->total[TREE_THREADS]; cpu++) {
		enum tree_level level = TREE_THREADS;

		places[cpu] = (struct cpu_place){ .core = at[TREE_CORES],
						  .llc = at[TREE_LLCS],
						  .package = at[TREE_PACKAGES],
						  .node = at[TREE_NODES] };
		/* A part ends; if it was the last of its group, that group does, too. */
		while (--left[level] == 0 && level)
			at[--level]++;
		for (; level < TREE_THREADS; level++)
			left[level + 1] = parts_of(tree, level + 1, at[level]);
	}
}
