/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of a policy's text. */
#pragma once

#include "sim/policy/policy.h"

/* A token of one character is that, one of two is an enum recipe_op. */
enum token { TOKEN_end, TOKEN_line = '\n', TOKEN_number = 512, TOKEN_name };

struct tokens {
	struct recipe *recipe; /* gets the first error */
	const char *at;
	u32 line;    /* of the token */
	u32 open;    /* parentheses: a line does not end inside */
	u32 is_next; /* the present token */
	u64 value;   /* of a number */
	char name[RECIPE_NAME + 1];
};

/* Notes the first error, in the line of the present token; nothing but TOKEN_end comes then. */
void token_error(struct tokens *t, const char *format, ...) __printf(2, 3);
/* Goes on to the next token. */
void token_next(struct tokens *t);
/* Goes on if the token is @token, and returns whether it was. */
bool token_accept(struct tokens *t, u32 token);
/* The token must be @token; @what says what is expected, for the error. */
void token_expect(struct tokens *t, u32 token, const char *what);
bool token_is_name(const struct tokens *t, const char *name);
/* The token as a sentence has it, in @text. */
void token_print(const struct tokens *t, char text[static 48]);
