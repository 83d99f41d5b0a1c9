/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first instructions, for both ways in:
 *
 *	PVH (qemu -kernel)   ELF note 18 names x86_start_pvh; EBX -> start info
 *	multiboot2 (GRUB)    x86_start_multiboot; EAX = magic, EBX -> tags
 *
 * Both enter in 32-bit protected mode, flat, paging off, interrupts off. The code builds page
 * tables that show the low 4 GiB three times (where it is, in the direct map and, the first 2
 * GiB, at the image's base), enters long mode and calls x86_boot(magic, info). paging.c replaces
 * these tables by exact ones. Further down: the trampoline on which the other CPUs start.
 *
 * References: Xen "x86/HVM direct boot ABI"; Multiboot2 specification 2.0; Intel SDM 3A 9.8.5.
 */
#include "asm.h"

#define PA(symbol) ((symbol) - IMAGE_BASE)
#define PTE_TABLE 0x3 /* present, writable */
#define PTE_2M 0x83

/*
 * Enter long mode with page table %eax and EFER %edx (low half). A far jump to 64-bit code must
 * follow.
 */
.macro ENTER_LONG_MODE
	movl %eax, %cr3
	movl $CR4_PAE, %eax
	movl %eax, %cr4
	movl $MSR_EFER, %ecx
	movl %edx, %eax
	xorl %edx, %edx
	wrmsr
	movl $CR0_BOOT, %eax
	movl %eax, %cr0
.endm

	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 8, 18 /* sizes of name and value, type: physical entry point */
	.asciz "Xen"
	.quad PA(x86_start_pvh)

	.section .multiboot, "a"
	.balign 8
multiboot_header:
	.long 0xe85250d6, 0, multiboot_end - multiboot_header
	.long -(0xe85250d6 + (multiboot_end - multiboot_header))
	.short 5, 1 /* a screen is welcome: width, height, bits of a dot */
	.long 20, 1024, 768, 32
	.balign 8
	.short 0, 0 /* end of tags */
	.long 8
multiboot_end:

	.text
	.code32
FUNCTION(x86_start_pvh)
	movl $PVH_MAGIC, %eax
	/* fall through */
FUNCTION(x86_start_multiboot)
	cli
	cld
	movl %eax, %ebp
	movl %ebx, %esi

	/* A 32-bit processor would triple-fault below: print a message and report a failure. */
	movl $CPUID_EXTENDED, %eax
	cpuid
	cmpl $CPUID_EXTENDED, %eax
	jbe no_long_mode
	movl $CPUID_EXTENDED + 1, %eax
	cpuid
	testl $CPUID_EXTENDED_LM, %edx
	jz no_long_mode

	/* Four page directories of 2 MiB pages: the low 4 GiB. */
	movl $PA(boot_pd), %edi
	movl $PTE_2M, %eax
	xorl %edx, %edx
1:	movl %eax, (%edi)
	movl %edx, 4(%edi)
	addl $8, %edi
	addl $0x200000, %eax
	jnc 1b

	movl $PA(boot_pd) + PTE_TABLE, %eax
	movl $PA(boot_pdpt_low), %edi
1:	movl %eax, (%edi)
	addl $8, %edi
	addl $0x1000, %eax
	cmpl $PA(boot_pd) + 0x4000, %eax
	jb 1b

	movl $PA(boot_pd) + PTE_TABLE, PA(boot_pdpt_high) + 510 * 8
	movl $PA(boot_pd) + 0x1000 + PTE_TABLE, PA(boot_pdpt_high) + 511 * 8
	movl $PA(boot_pdpt_low) + PTE_TABLE, PA(x86_boot_pml4)
	movl $PA(boot_pdpt_low) + PTE_TABLE, PA(x86_boot_pml4) + ((DIRECT_MAP >> 39) & 511) * 8
	movl $PA(boot_pdpt_high) + PTE_TABLE, PA(x86_boot_pml4) + 511 * 8

	movl $PA(x86_boot_pml4), %eax
	movl $EFER_LME, %edx
	ENTER_LONG_MODE
	lgdtl PA(boot_gdt_pointer)
	ljmpl $SEL_KERNEL_CODE, $PA(1f)
	.code64
1:	movabsq $2f, %rax
	jmp *%rax
2:	leaq arch_boot_stack + BOOT_STACK_SIZE(%rip), %rsp
	movl %ebp, %edi
	xorl %ebp, %ebp
	call x86_boot
	ud2
	.code32
no_long_mode:
	movl $PA(no_long_mode_text), %esi
	movl $no_long_mode_text_end - no_long_mode_text, %ecx
	movw $COM1, %dx
	rep outsb
	movw $DEBUG_EXIT, %dx
	movb $0x11, %al /* EXIT_FAILURE */
	outb %al, %dx
1:	hlt
	jmp 1b
END(x86_start_multiboot)

	.section .rodata
no_long_mode_text:
	.ascii "panic: this processor (CPU=) has no 64-bit mode\n"
no_long_mode_text_end:

/*
 * Copied to TRAMPOLINE_PA, where a CPU starts in real mode with CS = TRAMPOLINE_PA >> 4. smp.c
 * has filled in the page table and EFER at the end. The page is mapped read-only and executable
 * there, nothing else is.
 */
#define HERE(label) (TRAMPOLINE_PA + (label) - x86_trampoline)
	.section .rodata.trampoline, "a"
	.balign 8
	.globl x86_trampoline, x86_trampoline_root, x86_trampoline_efer, x86_trampoline_end
x86_trampoline:
	.code16
	cli
	cld
	movw %cs, %ax
	movw %ax, %ds
	lgdtl trampoline_gdt_pointer - x86_trampoline
	movl $CR0_PE, %eax
	movl %eax, %cr0
	ljmpl $SEL_BOOT_CODE32, $HERE(1f)
	.code32
1:	movl $SEL_KERNEL_DATA, %eax
	movl %eax, %ds
	movl %eax, %ss
	movl HERE(x86_trampoline_root), %eax
	movl HERE(x86_trampoline_efer), %edx
	ENTER_LONG_MODE
	ljmpl $SEL_KERNEL_CODE, $HERE(2f)
	.code64
2:	movabsq $x86_start_ap, %rax
	jmp *%rax
	.balign 4
x86_trampoline_root:
	.long 0
x86_trampoline_efer:
	.long 0
trampoline_gdt_pointer:
	.short boot_gdt_end - boot_gdt - 1
	.long HERE(boot_gdt)
	.balign 8
boot_gdt: /* accessed bits preset: the processor must not write here */
	.quad 0
	.quad 0x00cf9b000000ffff /* SEL_BOOT_CODE32 */
	.quad 0x00af9b000000ffff /* SEL_KERNEL_CODE */
	.quad 0x00cf93000000ffff /* SEL_KERNEL_DATA */
boot_gdt_end:
x86_trampoline_end:
boot_gdt_pointer:
	.short boot_gdt_end - boot_gdt - 1
	.long PA(boot_gdt)

	.text
FUNCTION(x86_start_ap)
	movq x86_ap_stack(%rip), %rsp
	movq x86_ap_cpu(%rip), %rdi
	xorl %ebp, %ebp
	call x86_ap_main
	ud2
END(x86_start_ap)

	.section .bss.page, "aw", @nobits
	.balign 4096
	.globl x86_boot_pml4, arch_boot_stack, x86_boot_stack_guard
x86_boot_pml4:
	.skip 4096
boot_pdpt_low:
	.skip 4096
boot_pdpt_high:
	.skip 4096
boot_pd:
	.skip 4 * 4096
x86_boot_stack_guard: /* unmapped by paging.c */
	.skip 4096
arch_boot_stack:
	.skip BOOT_STACK_SIZE
