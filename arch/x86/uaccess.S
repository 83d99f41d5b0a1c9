/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only instructions that touch user memory. Each is between stac and clac (SMAP) and has an
 * entry in the exception table: if the page fault handler cannot resolve its fault, it goes on at
 * the fixup. The callers in uaccess.c have checked that the range is in the user half.
 *
 * Bulk goes by rep movsq: one instruction for eight bytes, and its registers say at any time what
 * is left. After a fault in it, rep movsb finds the exact byte: the caller may want to fault that
 * in.
 */
#include "asm.h"

	.text
/*
 * size_t x86_copy_user(void *dst, const void *src, size_t n): bytes not copied; either side may
 * be user memory.
 */
FUNCTION(x86_copy_user)
	STAC
	movq %rdx, %rcx
	shrq $3, %rcx
	jz 2f
1:	rep movsq
2:	andl $7, %edx
	jnz 4f
3:	xorl %eax, %eax
	CLAC
	ret
4:	movl %edx, %ecx
5:	rep movsb
	jmp 3b
6:	andl $7, %edx /* a fault in rep movsq: RCX words and the rest remain */
	leaq (%rdx, %rcx, 8), %rcx
	jmp 5b
7:	movq %rcx, %rax
	CLAC
	ret
	EXTABLE 1b, 6b
	EXTABLE 5b, 7b
END(x86_copy_user)

/* size_t x86_clear_user(void *dst, size_t n) */
FUNCTION(x86_clear_user)
	STAC
	movq %rsi, %rcx
	movl %esi, %edx
	xorl %eax, %eax
	shrq $3, %rcx
1:	rep stosq
	andl $7, %edx
	movl %edx, %ecx
2:	rep stosb
	CLAC
	ret
3:	andl $7, %edx
	leaq (%rdx, %rcx, 8), %rcx
	jmp 2b
4:	movq %rcx, %rax
	CLAC
	ret
	EXTABLE 1b, 3b
	EXTABLE 2b, 4b
END(x86_clear_user)

/*
 * size_t x86_strncpy_user(char *dst, const char *src, size_t n): bytes copied without the NUL, n
 * if there was none in n bytes, -1 on a fault.
 */
FUNCTION(x86_strncpy_user)
	STAC
	xorl %eax, %eax
1:	cmpq %rdx, %rax
	jae 3f
2:	movb (%rsi, %rax), %cl
	movb %cl, (%rdi, %rax)
	testb %cl, %cl
	jz 3f
	incq %rax
	jmp 1b
3:	CLAC
	ret
4:	movq $-1, %rax
	CLAC
	ret
	EXTABLE 2b, 4b
END(x86_strncpy_user)

/* int x86_load_user_u32(u32 *value, const u32 *user): 0, or -1 on a fault. */
FUNCTION(x86_load_user_u32)
	STAC
1:	movl (%rsi), %eax
	movl %eax, (%rdi)
	xorl %eax, %eax
	CLAC
	ret
	EXTABLE 1b, user_word_fault
END(x86_load_user_u32)

/* int x86_store_user_pair(u64 *user, u64 first, u64 second): likewise. */
FUNCTION(x86_store_user_pair)
	STAC
1:	movq %rsi, (%rdi)
2:	movq %rdx, 8(%rdi)
	xorl %eax, %eax
	CLAC
	ret
	EXTABLE 1b, user_word_fault
	EXTABLE 2b, user_word_fault
END(x86_store_user_pair)

/*
 * int x86_cmpxchg_user_u32(u32 *user, u32 *old, u32 new): likewise; *old is compared, and gets
 * what was there.
 */
FUNCTION(x86_cmpxchg_user_u32)
	movl (%rsi), %eax
	STAC
1:	lock cmpxchgl %edx, (%rdi)
	movl %eax, (%rsi)
	xorl %eax, %eax
	CLAC
	ret
	EXTABLE 1b, user_word_fault
user_word_fault:
	movl $-1, %eax
	CLAC
	ret
END(x86_cmpxchg_user_u32)
