/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policies in expressions (docs/policies.md): what a text means when it is computed, and the C that
 * is made of it. The numbers of an entity and of a queue are arrays here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "sim/policy/policy.h"

#define HEAD "policy p\nentity a b\nqueue c\nkey a\n"

static u64 of_entity[NR_OWNERS][RECIPE_ENTITY_VARS], of_queue[RECIPE_QUEUE_VARS];

u64 *recipe_entity(const struct scope *scope, enum owner owner, u32 nr)
{
	(void)scope;
	return &of_entity[owner][nr];
}

u64 *recipe_queue(const struct scope *scope, u32 nr)
{
	(void)scope;
	return &of_queue[nr];
}

u64 recipe_given(const struct scope *scope, enum owner owner, enum given given)
{
	(void)scope;
	return 100u * owner + given;
}

/* The policy with @place as the statements of place, and @value as its tick. The text must stay. */
static struct recipe *read_policy(const char *place, const char *value)
{
	static char text[2048];
	struct recipe *recipe;

	snprintf(text, sizeof(text), HEAD "place {\n%s\n}\ntick = %s\n", place, value);
	recipe = recipe_parse(text);
	if (recipe->error_line)
		fail_msg("line %u: %s", recipe->error_line, recipe->error);
	return recipe;
}

/* Computes @text with 5 for b and -7 for c. */
static s64 value_of(const char *text)
{
	struct recipe *recipe = read_policy("a = 1", text);
	struct scope scope = { .recipe = recipe, .hook = HOOK_tick };
	s64 value;

	of_entity[OWNER_it][1] = 5;
	of_queue[0] = (u64)-7;
	value = (s64)recipe_run(&scope);
	free(recipe);
	return value;
}

/* Runs @statements as place, and returns a; @hung_line: of a loop without end. */
static s64 after(const char *statements, u32 hung_line)
{
	struct recipe *recipe = read_policy(statements, "1");
	struct scope scope = { .recipe = recipe, .hook = HOOK_place };

	of_entity[OWNER_it][0] = 0;
	recipe_run(&scope);
	assert_int_equal(scope.hung_line, hung_line);
	free(recipe);
	return (s64)of_entity[OWNER_it][0];
}

static void operators_bind_as_in_c(void **state)
{
	(void)state;
	assert_int_equal(value_of("b - 3 - 1"), 1);
	assert_int_equal(value_of("b - (3 - 1)"), 3);
	assert_int_equal(value_of("100 / b / 2"), 10);
	assert_int_equal(value_of("1 + b * 2"), 11);
	assert_int_equal(value_of("0 && b || 1"), 1);
	assert_int_equal(value_of("-b + 6"), 1);
	assert_int_equal(value_of("!b + 1"), 1);
	assert_int_equal(value_of("b > 5 ? 10 : b > 4 ? 20 : 30"), 20);
}

static void numbers_alone_mean_the_same(void **state)
{
	(void)state;
	assert_int_equal(value_of("0 ? b : 7"), 7);
	assert_int_equal(value_of("1 ? b : 7"), 5);
	assert_int_equal(value_of("7 - 3 - 1"), 3);
	assert_int_equal(value_of("min(3, 0 - 2) * 2"), -4);
}

static void numbers_have_a_sign_and_wrap(void **state)
{
	(void)state;
	assert_true(value_of("c < b"));
	assert_true(value_of("b >= c"));
	assert_int_equal(value_of("c / 2"), -3);
	assert_int_equal(value_of("c % b"), -2);
	assert_int_equal(value_of("min(b, c)"), -7);
	assert_int_equal(value_of("max(b, c)"), 5);
	assert_int_equal(value_of("b / (b - 5)"), 0);
	assert_int_equal(value_of("b % (b - 5)"), 0);
	assert_true(value_of("(c * 0 - 9223372036854775807 - 1) / (b - 6) < 0"));
	assert_int_equal(value_of("(c * 0 - 9223372036854775807 - 1) % (b - 6)"), 0);
}

static void times_have_units(void **state)
{
	(void)state;
	assert_int_equal(value_of("3ms"), 3000000);
	assert_int_equal(value_of("1.5us"), 1500);
	assert_int_equal(value_of("2s"), 2000000000);
	assert_int_equal(value_of("40ns"), 40);
}

static void statements_follow_each_other(void **state)
{
	(void)state;
	assert_int_equal(after("a = 7\na -= 3\na += 1", 0), 5);
	assert_int_equal(after("let n = 4\nwhile n > 0 {\n a += n\n n -= 1\n}", 0), 10);
	assert_int_equal(after("if 0 {\n a = 1\n} else if 1 {\n a = 2\n}\na += 10", 0), 12);
	assert_int_equal(after("a = 1 # b\nwhile a {\n a = 2\n}\na = 9", 7), 2);
}

/* The C of @text as the value of tick. The caller frees it. */
static char *c_of(const char *text)
{
	struct recipe *recipe = read_policy("a = 1", text);
	const char *from, *to;
	char *all, *found;
	size_t size;
	FILE *out = open_memstream(&all, &size);

	recipe_export(recipe, out);
	fclose(out);
	from = strstr(all, "bool tick_expired(");
	assert_non_null(from);
	from = strstr(from, "return ") + strlen("return ");
	to = strchr(from, ';');
	found = strndup(from, (size_t)(to - from));
	free(all);
	free(recipe);
	return found;
}

static void expect_c(const char *text, const char *expected)
{
	char *found = c_of(text);

	assert_string_equal(found, expected);
	free(found);
}

static void c_keeps_order_and_sign(void **state)
{
	(void)state;
	expect_c("b - (c - a)", "own->b - (all->c - own->a) != 0");
	expect_c("b - c - a", "own->b - all->c - own->a != 0");
	expect_c("b + c > 3", "(s64)(own->b + all->c) > 3");
	expect_c("(b < c) + 1", "(u64)((s64)own->b < (s64)all->c) + 1 != 0");
	expect_c("(b || c) && a", "(own->b != 0 || all->c != 0) && own->a != 0");
	expect_c("b % c", "rest(own->b, all->c) != 0");
	expect_c("!b", "own->b == 0");
	/* Both sides are numbers of few bits, so a function compares them. */
	expect_c("queued > 3", "less(3, (u64)e->queued)");
	expect_c("queued <= 3", "!less(3, (u64)e->queued)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_bind_as_in_c),
		cmocka_unit_test(numbers_alone_mean_the_same),
		cmocka_unit_test(numbers_have_a_sign_and_wrap),
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(statements_follow_each_other),
		cmocka_unit_test(c_keeps_order_and_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
