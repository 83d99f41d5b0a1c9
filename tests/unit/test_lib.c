/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lib: masks, formatting, parsing, the red-black tree, wide arithmetic. The memory functions of
 * string.c are compiled in here under other names, because this program has libc's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "lib/cpulist.h"
#include "lib/errno.h"
#include "lib/fmt.h"

int parse_u64(const char *text, size_t len, u64 *out);
int parse_s64(const char *text, size_t len, s64 *out);
int parse_bool(const char *text, size_t len, bool *out);
bool str_glob(const char *pattern, const char *name);
size_t str_copy(char *dst, const char *src, size_t size);

#define memcpy	our_memcpy
#define memmove our_memmove
#define memset	our_memset
#define memcmp	our_memcmp
#define memchr	our_memchr
#define strlen	our_strlen
#define strnlen our_strnlen
#define strcmp	our_strcmp
#define strncmp our_strncmp
#define strchr	our_strchr
#define strrchr our_strrchr
#define strstr	our_strstr
#include "lib/string.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef memchr
#undef strlen
#undef strnlen
#undef strcmp
#undef strncmp
#undef strchr
#undef strrchr
#undef strstr

/* --- masks ---------------------------------------------------------------- */

static void masks_are_sets_of_cpus(void **state)
{
	struct cpumask m = cpumask_none(), other = cpumask_of(255);
	unsigned cpu, n = 0;

	(void)state;
	assert_true(cpumask_empty(&m));
	assert_int_equal(cpumask_first(&m), CPU_MAX);
	for (cpu = 3; cpu < CPU_MAX; cpu += 61)
		cpumask_set(&m, cpu);
	assert_int_equal(cpumask_weight(&m), 5);
	for_each_cpu(cpu, &m)
		assert_int_equal(cpu, 3 + 61 * n++);
	assert_int_equal(n, 5);
	assert_int_equal(cpumask_next_wrap(&m, 247), 3);
	assert_int_equal(cpumask_next_wrap(&other, 255), 255);
	assert_false(cpumask_intersects(&m, &other));
	other = cpumask_or(&m, &other);
	assert_true(cpumask_subset(&m, &other));
	assert_false(cpumask_subset(&other, &m));
	cpumask_clear(&other, 255);
	assert_true(cpumask_equal(&m, &other));
	for (n = 0; n <= CPU_MAX; n++) {
		m = cpumask_first_n(n);
		assert_int_equal(cpumask_weight(&m), n);
	}
}

static void lists_of_cpus_are_read(void **state)
{
	static const struct {
		const char *text;
		u64 cpus; /* 0: it is no list of CPUs below 8 */
	} lists[] = {
		{ "0", 1 },	{ "7", 128 }, { "0-3", 15 },	   { "1,3", 10 }, { "0-1,4,6", 83 },
		{ "3-3", 8 },	{ "2,2", 4 }, { "007", 128 },	   { "8", 0 },	  { "", 0 },
		{ ",", 0 },	{ "1,", 0 },  { "-1", 0 },	   { "1-", 0 },	  { "3-2", 0 },
		{ "1-2-3", 0 }, { "1 ", 0 },  { "a", 0 },	   { "1x", 0 },	  { "0-8", 0 },
		{ "1,,2", 0 },	{ "1+2", 0 }, { "4294967296", 0 },
	};
	struct cpumask mask;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *text = lists[i].text;

		assert_int_equal(cpulist_read(text, strlen(text), ',', 8, &mask), !!lists[i].cpus);
		if (lists[i].cpus)
			assert_int_equal(mask.bits[0], lists[i].cpus);
	}
	assert_true(cpulist_read("1,2", 1, ',', 8, &mask));
	assert_int_equal(mask.bits[0], 2);
	assert_true(cpulist_read("1+2", 3, '+', 8, &mask));
	assert_int_equal(mask.bits[0], 6);
}

/* --- formatting ----------------------------------------------------------- */

static void formatting_agrees_with_libc(void **state)
{
	char ours[256], theirs[256];

	(void)state;
#define SAME(...)                                                                                  \
	do {                                                                                       \
		int a = fmt_snprintf(ours, sizeof(ours), __VA_ARGS__);                             \
		int b = snprintf(theirs, sizeof(theirs), __VA_ARGS__);                             \
		assert_string_equal(ours, theirs);                                                 \
		assert_int_equal(a, b);                                                            \
		assert_int_equal(fmt_snprintf(ours, 5, __VA_ARGS__), b);                           \
		theirs[4] = '\0'; /* cut as a buffer of five bytes cuts */                         \
		assert_string_equal(ours, theirs);                                                 \
	} while (0)

	SAME("plain 100%%");
	SAME("%d %i %u", -1, 2147483647, 4294967295u);
	SAME("%5d|%-5d|%05d|%+d|% d", 42, 42, -42, 42, 42);
	SAME("%.3d|%8.3d|%-8.3d|%.0d", 7, 7, 7, 0);
	SAME("%x %X %#x %#X %o %#o", 255, 255, 255, 0, 8, 8);
	SAME("%08x|%#010x|%-8x|", 0xbeef, 0xbeef, 0xbeef);
	SAME("%ld %lld %lu %llx", -1l, INT64_MIN + 0ll, ~0ul, ~0ull);
	SAME("%hhd %hhu %hd %hu", (signed char)-1, (unsigned char)255, (short)-1,
	     (unsigned short)65535);
	SAME("%zu %td", (size_t)123, (ptrdiff_t)-5);
	SAME("%s|%10s|%-10s|%.2s|%*s|%-*s|%.*s", "ab", "ab", "ab", "abcdef", 4, "x", 4, "x", 1,
	     "yz");
	SAME("%c|%3c|%-3c|", 'a', 'b', 'c');
	SAME("%p", (void *)&ours);
	SAME("%03d %21s:%45s", 7, "right", "left");
}

static void a_buffer_of_no_size_is_left_alone(void **state)
{
	char c = 'x';

	(void)state;
	assert_int_equal(fmt_snprintf(&c, 0, "%s", "abc"), 3);
	assert_int_equal(c, 'x');
	assert_int_equal(fmt_snprintf(NULL, 0, "%d", 12345), 5);
}

static void text_counts_on_when_it_is_full(void **state)
{
	char buf[8];
	struct text t = text_of(buf, sizeof(buf));

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		text_add(&t, "%u,", i);
	assert_int_equal(t.len, 10);
	assert_string_equal(buf, "0,1,2,3");
}

/* --- parsing -------------------------------------------------------------- */

static void numbers_are_parsed_as_control_files_do(void **state)
{
	static const struct {
		const char *text;
		int result;
		s64 value;
	} golden[] = {
		{ "0", 0, 0 },
		{ "42\n", 0, 42 },
		{ "+7", 0, 7 },
		{ "-7", 0, -7 },
		{ "0x10", 0, 16 },
		{ "-0x10", 0, -16 },
		{ "010", 0, 8 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "\n", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "08", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1\n\n", -EINVAL, 0 },
		{ "--1", -EINVAL, 0 },
		{ "0xg", -EINVAL, 0 },
	};
	u64 u;
	bool on;
	s64 v;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		v = 0;
		assert_int_equal(parse_s64(golden[i].text, strlen(golden[i].text), &v),
				 golden[i].result);
		if (!golden[i].result)
			assert_int_equal(v, golden[i].value);
	}
	assert_int_equal(parse_u64("18446744073709551615", 20, &u), 0);
	assert_int_equal(u, UINT64_MAX);
	assert_int_equal(parse_u64("18446744073709551616", 20, &u), -ERANGE);
	assert_int_equal(parse_u64("-1", 2, &u), -EINVAL);
	assert_true(!parse_bool("1\n", 2, &on) && on);
	assert_true(!parse_bool("0x0", 3, &on) && !on);
	assert_int_equal(parse_bool("2", 1, &on), -EINVAL);
	assert_int_equal(parse_bool("", 0, &on), -EINVAL);
}

static void patterns_match_as_in_a_shell(void **state)
{
	(void)state;
	assert_true(str_glob("*", ""));
	assert_true(str_glob("a*c", "abbbc"));
	assert_true(str_glob("a*b*c", "aXbXbXc"));
	assert_true(str_glob("?b?", "abc"));
	assert_true(str_glob("sched*", "sched_wakes"));
	assert_false(str_glob("a*c", "abb"));
	assert_false(str_glob("?", ""));
	assert_false(str_glob("abc", "abcd"));
	assert_false(str_glob("", "x"));
}

static void copies_are_cut_but_terminated(void **state)
{
	char buf[4];

	(void)state;
	assert_int_equal(str_copy(buf, "abcdef", sizeof(buf)), 6);
	assert_string_equal(buf, "abc");
	assert_int_equal(str_copy(buf, "z", 1), 1);
	assert_string_equal(buf, "");
}

/* --- memory --------------------------------------------------------------- */

/* Every size and every alignment of both sides, compared with libc, with guards around. */
static void memory_functions_agree_with_libc(void **state)
{
	u8 source[128], ours[160], theirs[160];

	(void)state;
	for (unsigned i = 0; i < sizeof(source); i++)
		source[i] = (u8)(i * 37 + 11);
	for (unsigned n = 0; n <= 64; n++) {
		for (unsigned from = 0; from < 9; from++) {
			for (unsigned to = 0; to < 9; to++) {
				memset(ours, 0xee, sizeof(ours));
				memset(theirs, 0xee, sizeof(theirs));
				our_memcpy(ours + to, source + from, n);
				memcpy(theirs + to, source + from, n);
				assert_memory_equal(ours, theirs, sizeof(ours));
				our_memset(ours + to, (int)n, n);
				memset(theirs + to, (int)n, n);
				assert_memory_equal(ours, theirs, sizeof(ours));
			}
		}
	}
}

static void overlapping_moves_agree_with_libc(void **state)
{
	u8 ours[160], theirs[160];

	(void)state;
	for (unsigned n = 0; n <= 64; n++) {
		for (unsigned from = 32; from < 64; from++) {
			for (unsigned to = 32; to < 64; to++) {
				for (unsigned i = 0; i < sizeof(ours); i++)
					ours[i] = theirs[i] = (u8)(i * 73 + 5);
				our_memmove(ours + to, ours + from, n);
				memmove(theirs + to, theirs + from, n);
				assert_memory_equal(ours, theirs, sizeof(ours));
			}
		}
	}
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void comparisons_agree_with_libc(void **state)
{
	static const char *const words[] = { "",	 "a",	     "ab",	  "abc",  "abd",
					     "abcdefgh", "abcdefgi", "abcdefghi", "\xff", "b" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		assert_int_equal(our_strlen(words[i]), strlen(words[i]));
		assert_ptr_equal(our_strchr(words[i], 'c'), strchr(words[i], 'c'));
		assert_ptr_equal(our_strrchr(words[i], 0), strrchr(words[i], 0));
		assert_ptr_equal(our_memchr(words[i], 'b', strlen(words[i])),
				 memchr(words[i], 'b', strlen(words[i])));
		for (unsigned k = 0; k < ARRAY_SIZE(words); k++) {
			size_t n = min(strlen(words[i]), strlen(words[k]));

			assert_int_equal(sign(our_strcmp(words[i], words[k])),
					 sign(strcmp(words[i], words[k])));
			assert_int_equal(sign(our_strncmp(words[i], words[k], 3)),
					 sign(strncmp(words[i], words[k], 3)));
			assert_int_equal(sign(our_memcmp(words[i], words[k], n)),
					 sign(memcmp(words[i], words[k], n)));
			assert_ptr_equal(our_strstr(words[i], words[k]),
					 strstr(words[i], words[k]));
		}
	}
	assert_int_equal(our_strnlen("abcdef", 3), 3);
}

/* --- arithmetic ----------------------------------------------------------- */

static void wide_arithmetic_is_exact(void **state)
{
	(void)state;
	assert_int_equal(mul_shr(UINT64_MAX, UINT64_MAX, 64), UINT64_MAX - 1);
	assert_int_equal(mul_div(UINT64_MAX, 1000, 1000), UINT64_MAX);
	assert_int_equal(mul_div(10, 10, 3), 33);
	assert_true(time_before(UINT64_MAX - 5, 5));
	assert_false(time_before(5, UINT64_MAX - 5));
	assert_int_equal(time_max(UINT64_MAX - 5, 5), 5);
	assert_int_equal(time_min(UINT64_MAX - 5, 5), UINT64_MAX - 5);
	assert_int_equal(bit_length(0), 0);
	assert_int_equal(bit_length(1ull << 63), 64);
	assert_int_equal(ilog2(1023), 9);
	assert_int_equal(sub_floor0(3, 5), 0);
}

/* --- tree ----------------------------------------------------------------- */

struct item {
	struct rb_node node;
	unsigned key, order, least; /* least: smallest order in the subtree */
	bool in;
};

static struct item *item_of(const struct rb_node *node)
{
	return container_of(node, struct item, node);
}

static bool item_before(const struct rb_node *a, const struct rb_node *b)
{
	return item_of(a)->key < item_of(b)->key;
}

static bool item_augment(struct rb_node *node)
{
	struct item *item = item_of(node);
	unsigned before = item->least;

	item->least = item->order;
	if (node->left)
		item->least = min(item->least, item_of(node->left)->least);
	if (node->right)
		item->least = min(item->least, item_of(node->right)->least);
	return item->least != before;
}

/* The height in black nodes. Checks colours, links and augmentation on the way. */
static unsigned check_subtree(const struct rb_node *node, const struct rb_node *parent,
			      unsigned *count)
{
	unsigned left, right, least;
	bool red;

	if (!node)
		return 0;
	red = node->parent_color & 1;
	assert_ptr_equal(rb_parent(node), parent);
	assert_false(red && (!parent || (parent->parent_color & 1)));
	left = check_subtree(node->left, node, count);
	right = check_subtree(node->right, node, count);
	assert_int_equal(left, right);
	least = item_of(node)->least;
	item_augment((struct rb_node *)node);
	assert_int_equal(item_of(node)->least, least);
	++*count;
	return left + !red;
}

static void check_tree(const struct rb_tree *tree, unsigned expected)
{
	const struct rb_node *node, *last = NULL;
	unsigned count = 0;

	check_subtree(tree->root, NULL, &count);
	assert_int_equal(count, expected);
	count = 0;
	for (node = rb_first(tree); node; last = node, node = rb_next(node)) {
		assert_ptr_equal(rb_prev(node), last);
		if (last) {
			const struct item *a = item_of(last), *b = item_of(node);

			assert_true(a->key < b->key || (a->key == b->key && a->order < b->order));
		}
		count++;
	}
	assert_int_equal(count, expected);
}

static void a_tree_stays_ordered_balanced_and_augmented(void **state)
{
	static struct item items[200];
	struct rb_tree tree = { .augment = item_augment };
	struct prng rng;
	unsigned in = 0, order = 0;

	(void)state;
	prng_seed(&rng, 7);
	for (unsigned step = 0; step < 20000; step++) {
		struct item *item = &items[prng_below(&rng, ARRAY_SIZE(items))];

		if (item->in) {
			rb_erase(&tree, &item->node);
			in--;
		} else {
			item->key = prng_below(&rng, 50);
			item->order = ++order;
			rb_insert(&tree, &item->node, item_before);
			in++;
		}
		item->in = !item->in;
		check_tree(&tree, in);
	}
}

/*
 * Like tasks that take turns: the first goes behind the others, except for a few that ran longer.
 */
static void a_tree_serves_as_a_queue(void **state)
{
	static struct item items[200];

	(void)state;
	for (unsigned nr = 1; nr <= ARRAY_SIZE(items); nr += nr / 4 + 1) {
		struct rb_tree tree = { .augment = item_augment };
		struct prng rng;
		unsigned now = 0, order = 0;

		prng_seed(&rng, nr);
		for (unsigned step = 0; step < 2000; step++) {
			struct item *item = &items[step % nr];

			if (step >= nr) {
				item = item_of(rb_first(&tree));
				now = item->key;
				rb_erase(&tree, &item->node);
				check_tree(&tree, nr - 1);
			}
			item->key = now + nr + (prng_below(&rng, 10) ? 0 : prng_below(&rng, 300));
			item->order = ++order;
			rb_insert(&tree, &item->node, item_before);
			check_tree(&tree, min(step + 1, nr));
		}
	}
}

static void the_generator_repeats_and_spreads(void **state)
{
	struct prng a, b;
	unsigned buckets[10] = { 0 };

	(void)state;
	prng_seed(&a, 1);
	prng_seed(&b, 1);
	for (unsigned n = 0; n < 10000; n++) {
		assert_int_equal(prng_u64(&a), prng_u64(&b));
		buckets[prng_below(&a, 10)]++;
		prng_below(&b, 10);
	}
	for (unsigned i = 0; i < 10; i++)
		assert_in_range(buckets[i], 900, 1100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_are_sets_of_cpus),
		cmocka_unit_test(lists_of_cpus_are_read),
		cmocka_unit_test(formatting_agrees_with_libc),
		cmocka_unit_test(a_buffer_of_no_size_is_left_alone),
		cmocka_unit_test(text_counts_on_when_it_is_full),
		cmocka_unit_test(numbers_are_parsed_as_control_files_do),
		cmocka_unit_test(patterns_match_as_in_a_shell),
		cmocka_unit_test(copies_are_cut_but_terminated),
		cmocka_unit_test(memory_functions_agree_with_libc),
		cmocka_unit_test(overlapping_moves_agree_with_libc),
		cmocka_unit_test(comparisons_agree_with_libc),
		cmocka_unit_test(wide_arithmetic_is_exact),
		cmocka_unit_test(a_tree_stays_ordered_balanced_and_augmented),
		cmocka_unit_test(a_tree_serves_as_a_queue),
		cmocka_unit_test(the_generator_repeats_and_spreads),
	};

	return cmocka_run_group_tests_name("lib", tests, NULL, NULL);
}
