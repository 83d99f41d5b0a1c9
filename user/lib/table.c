/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Aligned text tables: see table.h. Cells are ASCII, so bytes are columns.
 */
#include "lib/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/args.h"

static char *new_cell(struct table *t)
{
	if (t->nr_cells == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->cell = realloc(t->cell, t->room * sizeof(t->cell[0]));
		if (!t->cell)
			die("table");
	}
	return t->cell[t->nr_cells++];
}

void table_begin(struct table *t, const char *headings)
{
	size_t len;

	memset(t, 0, sizeof(*t));
	for (;; headings += len + 1) {
		len = strcspn(headings, "|");
		snprintf(new_cell(t), TABLE_CELL, "%.*s", (int)len, headings);
		t->columns++;
		if (!headings[len])
			return;
	}
}

/* Prints the cells that were collected. */
static void print_cells(struct table *t, const int *width)
{
	for (int i = 0; i < t->nr_cells; i++) {
		int column = i % t->columns;

		printf("  %*s%s", column ? width[column] : -width[column], t->cell[i],
		       column == t->columns - 1 ? "\n" : "");
	}
	t->nr_cells = 0;
}

void table_print_rows(struct table *t, const int *width)
{
	t->width = width;
	print_cells(t, width);
	fflush(stdout);
}

void table_cell(struct table *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(new_cell(t), TABLE_CELL, format, ap);
	va_end(ap);
	if (t->width && t->nr_cells == t->columns) {
		print_cells(t, t->width);
		fflush(stdout);
	}
}

void table_end(struct table *t)
{
	int width[TABLE_COLUMNS] = { 0 };

	for (int i = 0; i < t->nr_cells; i++) {
		int len = strlen(t->cell[i]);

		if (len > width[i % t->columns])
			width[i % t->columns] = len;
	}
	print_cells(t, width);
	free(t->cell);
}
