/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A script: calls of one or two threads of a process. Any bytes are one. It has a first byte of
 * flags, and then entries of 8 bytes:
 *
 *	0	sort, thread, how often
 *	1	the allocation or copy that fails (debug kernels); 0: none
 *	2-3	which row of the table of calls, or what random numbers follow from
 *	4	argument 0 to 5, which is changed; 6, 7: none is
 *	5	how it is changed
 *	6-7	a number for that
 *
 * With an access to a file 2-3 say which, and the accesses follow from 4-7.
 *
 * An entry of the sort CHANGE changes one more argument of the entry behind it. The host's mutator
 * (`make fuzz`) knows this form.
 */
#pragma once

#include "calls/calls.h"
#include "fuzz/fuzz.h"

#define MOST_ENTRIES 120
#define MOST_BYTES   (1 + 8 * MOST_ENTRIES)
#define MOST_CHANGES 6

enum sort { ROW_CALL, ANY_CALL, FILE_ACCESS, CHANGE, NR_SORTS };
/* Bits of the first byte of an entry, above the sort: the thread, and 0, 1, 3 or 39 repetitions. */
enum { OTHER_THREAD = 4, AGAIN = 8 };

enum script_flags {
	AS_USER = 1, /* without the rights of root */
	RENEW = 2,   /* the first thread puts new objects in the place of the old ones, always */
};

struct change {
	uint8_t arg, how;
	uint16_t number;
};

struct entry {
	enum sort sort;
	bool other; /* the second thread makes it */
	int times;
	unsigned fail;
	uint16_t index;
	uint32_t accesses;
	int nr_changes;
	struct change changes[MOST_CHANGES];
};

struct script {
	unsigned flags;
	int nr_entries;
	struct entry entries[MOST_ENTRIES];
};

void read_script(struct script *p, const uint8_t *bytes, size_t length);
/* Reads the script in the file @name; if that cannot be read, the program ends with a sentence. */
void load_script(struct script *p, const char *name);
/* Fills @bytes, of MOST_BYTES, with a script. Returns its length. */
size_t draw_script(struct random *r, uint8_t *bytes);

/* change.c: what is called, and with what. */

enum how {
	TO_EDGE,    /* a number at the edge of a range */
	TO_SMALL,   /* the number itself */
	TO_HANDLE,  /* a descriptor, or none */
	TO_POINTER, /* memory that is not there, may not be written, ends early, is the kernel's */
	TO_FIELD,   /* a copy of what it points to, with another number somewhere in it */
	TO_BIT,	    /* another bit */
	TO_PATH,
	TO_RESULT, /* what the thread's last call returned */
	TO_OTHERS, /* the same argument of another row */
	NR_HOW,
};

#define FIELDS_SIZE 256 /* so much of an argument's memory is copied */

/* A thread that makes calls: its own memory. */
struct actor {
	long last; /* result */
	_Alignas(16) char fields[6][FIELDS_SIZE];
};

const struct row *row_of(const struct entry *e);
/* Does @value point into this program? */
bool is_pointer(long value);
/* The row's call with changed arguments; false: it is one that nobody is to make. */
bool prepare_call(struct actor *a, const struct entry *e, struct row *call);
