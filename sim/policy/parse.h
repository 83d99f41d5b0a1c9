/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the two halves of the parser: parse.c reads declarations and statements. */
#pragma once

#include "sim/policy/token.h"

struct parser {
	struct tokens tokens;
	enum hook hook; /* whose text is read */
	u32 depth;
};

/* A new node of @kind at the present line; NO_NODE after an error. */
s32 parse_node(struct parser *p, enum node_kind kind);
/* Counts one level of parentheses or blocks; false and an error: there are too many. */
bool parse_deeper(struct parser *p);
/* The place of @name among @v, or -1. */
s32 variable_find(const struct variables *v, const char *name);
/* The enum given that @name means, or -1. */
s32 given_find(const char *name);
/* Reads an expression (expression.c). */
s32 parse_expression(struct parser *p);
/* Reads the variable that is the present token, for an expression or to be set (expression.c). */
s32 parse_variable(struct parser *p, enum owner owner);
