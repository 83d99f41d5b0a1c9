/* SPDX-License-Identifier: GPL-2.0-only */
/* The segments of readv(2), sendmsg(2) and the like, copied from the user. */
#pragma once

#include "kernel/fs/fs.h"

#define VECTOR_MAX 1024 /* segments of one call */

struct vector {
	struct iovec few[8], *iov;
	unsigned nr;
	size_t total;
};

/* Copy @nr segments. 0, or -errno and nothing to put. */
long vector_get(struct vector *v, const struct iovec *user, u64 nr);
void vector_put(struct vector *v);
