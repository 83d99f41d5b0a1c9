/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to user memory: the range is checked here, the bytes move in uaccess.S. */
#include "kernel/arch.h"
#include "kernel/base/inject.h"
#include "kernel/mm/kasan.h"
#include "kernel/mm/mm.h"
#include "lib/errno.h"
#include "x86.h"

static inline bool in_user_half(const void *p, size_t n)
{
	return n <= USER_END && (u64)p <= USER_END - n;
}

size_t arch_copy_from_user(void *dst, const void *src, size_t n)
{
	kasan_check(dst, n, true);
	return likely(in_user_half(src, n)) && !inject_copy() ? x86_copy_user(dst, src, n) : n;
}

size_t arch_copy_to_user(void *dst, const void *src, size_t n)
{
	kasan_check(src, n, false);
	return likely(in_user_half(dst, n)) && !inject_copy() ? x86_copy_user(dst, src, n) : n;
}

size_t arch_clear_user(void *dst, size_t n)
{
	return likely(in_user_half(dst, n)) && !inject_copy() ? x86_clear_user(dst, n) : n;
}

long arch_strncpy_from_user(char *dst, const char *src, size_t n)
{
	size_t room = (u64)src < USER_END ? min(n, USER_END - (u64)src) : 0;
	size_t len = inject_copy() ? (size_t)-1 : x86_strncpy_user(dst, src, room);

	/* Running into the end of the user half is a fault, running out of @n is not. */
	return len == (size_t)-1 || (len == room && room < n) ? -EFAULT : (long)len;
}

int arch_user_load_u32(const u32 *uaddr, u32 *old)
{
	bool ok = in_user_half(uaddr, sizeof(*uaddr)) && !inject_copy();

	return ok && !x86_load_user_u32(old, uaddr) ? 0 : -EFAULT;
}

int arch_user_cmpxchg_u32(u32 *uaddr, u32 *old, u32 new_value)
{
	bool ok = in_user_half(uaddr, sizeof(*uaddr)) && !inject_copy();

	return ok && !x86_cmpxchg_user_u32(uaddr, old, new_value) ? 0 : -EFAULT;
}
