/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of the C library beside the kernel's types, some of which are named as its own. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

void *calloc(size_t nr, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *p);
long write(int fd, const void *data, size_t nr);
void abort(void) __attribute__((noreturn));
