/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Aligned text tables: collect the cells, then print them with columns as wide as their widest
 * cell; or print each row when it is complete, with columns of a known width. The first column is
 * flushed left, the others right, as numbers want it.
 */
#pragma once

#define TABLE_CELL    40 /* bytes of a cell, its end included */
#define TABLE_COLUMNS 16

struct table {
	int columns;
	int nr_cells, room;
	char (*cell)[TABLE_CELL]; /* row by row, headings first */
	const int *width;	  /* of each column, if rows are printed when complete */
};

/* @headings, separated by '|': at most TABLE_COLUMNS. */
void table_begin(struct table *t, const char *headings);
/* Print the headings now, and each row when its last cell is there. @width: of each column. */
void table_print_rows(struct table *t, const int *width);
/* The next cell of the current row. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print what is not printed yet, and release the memory. */
void table_end(struct table *t);
