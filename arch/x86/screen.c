/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The screen that the boot loader found: a framebuffer of 16, 24 or 32 bits a dot, or the text mode
 * of a VGA. Both show characters of 8x16 dots. Video memory is written and not read.
 *
 * Reference: Multiboot2 2.0, section 3.6.12; IBM VGA: CRT controller.
 */
#include "kernel/arch.h"
#include "kernel/mm/mm.h"
#include "kernel/tty/vt.h"
#include "x86.h"

#define GLYPH_WIDTH  8
#define GLYPH_HEIGHT 16
#define CRT_INDEX    0x3d4
#define CRT_DATA     0x3d5
#define CURSOR_START 0x0a
#define CURSOR_OFF   0x20

static u32 palette[16]; /* colours as dots */

static unsigned columns(void)
{
	return x86_screen.kind == SCREEN_TEXT ? x86_screen.width : x86_screen.width / GLYPH_WIDTH;
}

static unsigned lines(void)
{
	return x86_screen.kind == SCREEN_TEXT ? x86_screen.height
					      : x86_screen.height / GLYPH_HEIGHT;
}

u64 x86_screen_pages(void)
{
	return (2ull * sizeof(u16) * columns() * lines() + PAGE_SIZE - 1) / PAGE_SIZE;
}

/* --- text mode ----------------------------------------------------------------- */

/* Colours of a VGA have blue and red the other way round. */
static u8 vga_colour(u8 colour)
{
	return (colour & 0xa) | (colour & 1) << 2 | (colour >> 2 & 1);
}

static void draw_text(unsigned x, unsigned y, const struct glyph *glyph, u8 colours)
{
	volatile u16 *line = phys_to_virt(x86_screen.pa + y * x86_screen.pitch);
	u16 c = glyph->code < 0x7f ? glyph->code : '?';

	line[x] = c | vga_colour(colours & 0xf) << 8 | (vga_colour(colours >> 4) & 7) << 12;
}

/* Is there memory? A machine without a VGA forgets what is written. */
static bool text_works(void)
{
	volatile u16 *cell = phys_to_virt(x86_screen.pa);

	*cell = 0x0755;
	if (*cell != 0x0755)
		return false;
	*cell = 0x07aa;
	return *cell == 0x07aa;
}

/* --- framebuffer --------------------------------------------------------------- */

/* The part @i of the dots of 0xRRGGBB @rgb. */
static u32 field_of(u32 rgb, unsigned i)
{
	u8 bits = x86_screen.field[i].bits, value = rgb >> (16 - 8 * i);

	return (u32)(bits >= 8 ? value : value >> (8 - bits)) << x86_screen.field[i].at;
}

static void fill_palette(void)
{
	static const u32 rgb[16] = {
		0x000000, 0xaa0000, 0x00aa00, 0xaa5500, 0x3050d0, 0xaa00aa, 0x00aaaa, 0xc0c0c0,
		0x666666, 0xff5555, 0x55ff55, 0xffff55, 0x7090ff, 0xff55ff, 0x55ffff, 0xffffff,
	};

	for (unsigned c = 0; c < ARRAY_SIZE(rgb); c++)
		palette[c] = field_of(rgb[c], 0) | field_of(rgb[c], 1) | field_of(rgb[c], 2);
}

static void draw_dots(volatile u8 *to, u8 dots, u32 front, u32 back)
{
	unsigned bytes = x86_screen.depth / 8;

	for (unsigned i = 0; i < GLYPH_WIDTH; i++, to += bytes) {
		u32 dot = dots & 0x80 >> i ? front : back;

		if (bytes == 4) {
			*(volatile u32 *)to = dot;
			continue;
		}
		*(volatile u16 *)to = (u16)dot;
		if (bytes == 3)
			to[2] = dot >> 16;
	}
}

void arch_screen_draw(unsigned x, unsigned y, const struct glyph *glyph, u8 colours)
{
	u64 at = x86_screen.pa + (u64)y * GLYPH_HEIGHT * x86_screen.pitch +
		 x * GLYPH_WIDTH * (x86_screen.depth / 8);

	if (x86_screen.kind == SCREEN_TEXT) {
		draw_text(x, y, glyph, colours);
		return;
	}
	for (unsigned row = 0; row < GLYPH_HEIGHT; row++, at += x86_screen.pitch)
		draw_dots(phys_to_virt(at), glyph->rows[row], palette[colours & 0xf],
			  palette[colours >> 4]);
}

/* --- the beginning ------------------------------------------------------------- */

static bool fields_fit(void)
{
	for (unsigned i = 0; i < 3; i++)
		if (x86_screen.field[i].at + x86_screen.field[i].bits > x86_screen.depth)
			return false;
	return true;
}

/* Returns false for a screen that nobody makes: with a palette, too small, or damaged. */
static bool is_known(void)
{
	u8 depth = x86_screen.depth;

	if (columns() < 40 || lines() < 10 || columns() > 1000 || lines() > 1000)
		return false;
	if (x86_screen.kind == SCREEN_TEXT)
		return x86_screen.pa < 1ull << 20 && x86_screen.pitch >= 2 * columns() &&
		       text_works();
	return x86_screen.kind == SCREEN_RGB && (depth == 16 || depth == 24 || depth == 32) &&
	       fields_fit() && x86_screen.pitch >= x86_screen.width * (depth / 8);
}

bool x86_screen_start(u16 *cells)
{
	if (!is_known())
		return false;
	if (x86_screen.kind == SCREEN_TEXT) {
		outb(CRT_INDEX, CURSOR_START);
		outb(CRT_DATA, CURSOR_OFF);
	} else {
		fill_palette();
	}
	kernel_screen(cells, columns(), lines(), x86_serial_answers());
	return true;
}
