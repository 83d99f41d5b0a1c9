/* SPDX-License-Identifier: GPL-2.0-only */
/* A terminal drawn on the machine's screen, and its font. */
#pragma once

#include "lib/types.h"

struct glyph {
	u16 code;    /* Unicode */
	u8 rows[16]; /* from the top; bit 7 is the left dot */
};
extern const struct glyph font[];
extern const unsigned font_size;

/* The first call. @cells has room for twice @cols * @rows cells. */
void vt_start(u16 *cells, unsigned cols, unsigned rows);
/*
 * Bytes to the screen: text in UTF-8 and the control sequences of a VT100 with colours. One call at
 * a time. @returns: a newline also goes to the first column.
 */
void vt_write(const char *s, size_t n, bool returns);
