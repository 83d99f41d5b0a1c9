/* SPDX-License-Identifier: GPL-2.0-only */
/* The glyphs of font.hex, which the makefile turns into initializers. */
#include "kernel/tty/vt.h"

const struct glyph font[] = {
#include "font.inc"
};

const unsigned font_size = ARRAY_SIZE(font);
STATIC_ASSERT(ARRAY_SIZE(font) < 255, "a cell of the screen has one byte for the glyph");
