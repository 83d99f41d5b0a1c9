/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Aligned text tables: collect the cells, then print them with columns as wide as their widest
 * cell. The first column is flushed left, the others right, as numbers want it.
 */
#pragma once

#define TABLE_CELL    40 /* bytes of a cell, its end included */
#define TABLE_COLUMNS 16

struct table {
	int columns;
	int nr_cells, room;
	char (*cell)[TABLE_CELL]; /* row by row, headings first */
};

/* @headings, separated by '|': at most TABLE_COLUMNS. */
void table_begin(struct table *t, const char *headings);
/* The next cell of the current row. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print everything and release the memory. */
void table_end(struct table *t);
