/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The C standard's memory and string functions, for those without a libc; see string.h.
 *
 * The mem* functions count: fork copies pages, system calls clear structs. The
 * bulk goes through `rep movsq`/`rep stosq`, one instruction for eight bytes;
 * the ragged end is one unaligned word that overlaps the bulk, so there is no
 * byte loop. Sizes below eight are two overlapping halves.
 */
#include "lib/string.h"

typedef u64 __attribute__((aligned(1), may_alias)) unaligned_u64;
typedef u32 __attribute__((aligned(1), may_alias)) unaligned_u32;
typedef u16 __attribute__((aligned(1), may_alias)) unaligned_u16;

#define AT(type, p, offset)   (*(type *)((u8 *)(p) + (offset)))
#define LOAD(type, p, offset) (*(const type *)((const u8 *)(p) + (offset)))

/* @n < 8. Every load precedes every store, so the ranges may overlap. */
static inline void copy_small(void *dst, const void *src, size_t n)
{
	if (n >= 4) {
		u32 head = LOAD(unaligned_u32, src, 0), tail = LOAD(unaligned_u32, src, n - 4);

		AT(unaligned_u32, dst, 0) = head;
		AT(unaligned_u32, dst, n - 4) = tail;
	} else if (n >= 2) {
		u16 head = LOAD(unaligned_u16, src, 0), tail = LOAD(unaligned_u16, src, n - 2);

		AT(unaligned_u16, dst, 0) = head;
		AT(unaligned_u16, dst, n - 2) = tail;
	} else if (n) {
		AT(u8, dst, 0) = LOAD(u8, src, 0);
	}
}

void *(memcpy)(void *dst, const void *src, size_t n)
{
	void *to = dst;
	size_t words = n / 8;
	u64 tail;

	if (n < 8) {
		copy_small(dst, src, n);
		return dst;
	}
	tail = LOAD(unaligned_u64, src, n - 8);
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(src), "+c"(words) : : "memory");
	AT(unaligned_u64, dst, n - 8) = tail;
	return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
	u64 head;

	/* Copying upwards is safe unless @dst starts inside the source. */
	if ((uintptr_t)dst - (uintptr_t)src >= n || n < 8)
		return memcpy(dst, src, n);
	head = LOAD(unaligned_u64, src, 0);
	while (n >= 16) {
		n -= 8;
		AT(unaligned_u64, dst, n) = LOAD(unaligned_u64, src, n);
	}
	/*
	 * 8..15 bytes are left: the upper word, then the lower, both read before either is written.
	 */
	{
		u64 upper = LOAD(unaligned_u64, src, n - 8);

		AT(unaligned_u64, dst, n - 8) = upper;
		AT(unaligned_u64, dst, 0) = head;
	}
	return dst;
}

void *(memset)(void *dst, int byte, size_t n)
{
	u64 pattern = (u8)byte * 0x0101010101010101ull;
	void *to = dst;
	size_t words = n / 8;

	if (n < 8) {
		copy_small(dst, &pattern, n);
		return dst;
	}
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(pattern) : "memory");
	AT(unaligned_u64, dst, n - 8) = pattern;
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	size_t i = 0;

	while (i + 8 <= n && LOAD(unaligned_u64, a, i) == LOAD(unaligned_u64, b, i))
		i += 8;
	for (; i < n; i++)
		if (LOAD(u8, a, i) != LOAD(u8, b, i))
			return LOAD(u8, a, i) < LOAD(u8, b, i) ? -1 : 1;
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	for (const u8 *p = s; n; p++, n--)
		if (*p == (u8)c)
			return (void *)(uintptr_t)p;
	return NULL;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; a++, b++, n--)
		if (*a != *b || !*a)
			return (u8)*a - (u8)*b;
	return 0;
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do {
		if (*s == (char)c)
			last = s;
	} while (*s++);
	return (char *)(uintptr_t)last;
}

char *strstr(const char *s, const char *needle)
{
	size_t n = strlen(needle);

	for (;; s++) {
		if (!strncmp(s, needle, n))
			return (char *)(uintptr_t)s;
		if (!*s)
			return NULL;
	}
}
