/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside arch/x86: instructions that C lacks, processor constants, and what its files offer each
 * other.
 */
#pragma once

/* Selectors: Linux's, which programs can see, in the order that syscall and sysret demand. */
#define SEL_BOOT_CODE32 0x08
#define SEL_KERNEL_CODE 0x10
#define SEL_KERNEL_DATA 0x18
#define SEL_USER_CODE32 0x23 /* never loaded: sysret counts from here */
#define SEL_USER_DATA	0x2b
#define SEL_USER_CODE	0x33
#define SEL_TSS		0x38

#define CR0_PE	       0x1
#define CR0_MP	       0x2
#define CR0_NE	       0x20
#define CR0_WP	       0x10000
#define CR0_AM	       0x40000
#define CR0_PG	       0x80000000
#define CR0_BOOT       (CR0_PG | CR0_AM | CR0_WP | CR0_NE | CR0_MP | CR0_PE)
#define CR4_PAE	       0x20
#define CR4_OSFXSR     0x200
#define CR4_OSXMMEXCPT 0x400
#define CR4_UMIP       0x800
#define CR4_SMEP       0x100000
#define CR4_SMAP       0x200000

#define CPUID_EXTENDED	  0x80000000
#define CPUID_EXTENDED_LM 0x20000000 /* EDX of the next leaf: long mode */

/* I/O ports: the first serial line, QEMU's exit device. */
#define COM1	   0x3f8
#define DEBUG_EXIT 0xf4

#define MSR_APIC_BASE	   0x1b
#define MSR_TSC_DEADLINE   0x6e0
#define MSR_X2APIC	   0x800
#define MSR_EFER	   0xc0000080
#define MSR_STAR	   0xc0000081
#define MSR_LSTAR	   0xc0000082
#define MSR_SYSCALL_MASK   0xc0000084
#define MSR_FS_BASE	   0xc0000100
#define MSR_GS_BASE	   0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102
#define EFER_SCE	   0x1
#define EFER_LME	   0x100
#define EFER_NXE	   0x800

#define FLAGS_FIXED 0x2
#define FLAGS_TF    0x100
#define FLAGS_IF    0x200
#define FLAGS_DF    0x400
#define FLAGS_RF    0x10000
/* The flags that a return from a signal handler may change: CF PF AF ZF SF TF DF OF RF AC. */
#define FLAGS_USER 0x50dd5

/* Interrupt vectors; the high four bits are the priority. */
#define VECTOR_DIVIDE	     0
#define VECTOR_NMI	     2
#define VECTOR_BREAKPOINT    3
#define VECTOR_DOUBLE_FAULT  8
#define VECTOR_PAGE_FAULT    14
#define VECTOR_X87	     16
#define VECTOR_MACHINE_CHECK 18
#define VECTOR_SIMD	     19
#define VECTOR_LEGACY	     0x30 /* + ISA interrupt number */
#define VECTOR_CALL	     0xfb
#define VECTOR_RESCHEDULE    0xfc
#define VECTOR_TIMER	     0xfe
#define VECTOR_SPURIOUS	     0xff

#define TRAMPOLINE_PA 0x8000 /* below 1 MiB, page aligned: an AP starts there in real mode */

#define BOOT_STACK_SIZE (16384 << SAN_ADDRESS) /* KSTACK_SIZE */

#define PVH_MAGIC	 0x336ec578
#define MULTIBOOT2_MAGIC 0x36d76289

#ifndef __ASSEMBLY__

#include "kernel/arch.h"
#include "kernel/kernel.h"

static inline void outb(u16 port, u8 v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline u8 inb(u16 port)
{
	u8 v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline void outw(u16 port, u16 v)
{
	__asm__ volatile("outw %0, %1" : : "a"(v), "Nd"(port));
}

static inline void outl(u16 port, u32 v)
{
	__asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline u32 inl(u16 port)
{
	u32 v;

	__asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (u64)hi << 32 | lo;
}

static inline void wrmsr(u32 msr, u64 v)
{
	__asm__ volatile("wrmsr" : : "c"(msr), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
}

static inline u64 rdtsc(void)
{
	u64 lo, hi; /* the instruction clears the upper halves */

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return hi << 32 | lo;
}

#define DEFINE_CR(n)                                                                               \
	static inline u64 read_cr##n(void)                                                         \
	{                                                                                          \
		u64 v;                                                                             \
		__asm__ volatile("mov %%cr" #n ", %0" : "=r"(v) : : "memory");                     \
		return v;                                                                          \
	}                                                                                          \
	static inline void write_cr##n(u64 v)                                                      \
	{                                                                                          \
		__asm__ volatile("mov %0, %%cr" #n : : "r"(v) : "memory");                         \
	}
DEFINE_CR(0)
DEFINE_CR(2)
DEFINE_CR(3)
DEFINE_CR(4)

struct cpuid {
	u32 a, b, c, d;
};

/* CPUID, with zeros above the highest leaf, where the processor would answer nonsense. */
struct cpuid cpuid(u32 leaf, u32 sub);

/* --- boot.c: what the loader said --- */
extern struct boot_range x86_memory[64]; /* usable memory before anything was taken from it */
extern unsigned x86_nr_memory;
/* Returns a zeroed page for page tables, never freed. Only until kernel_main(). */
u64 x86_boot_page(void);
u64 x86_image_end(void);			   /* physical, page aligned */
extern u8 image_start[], text_end[], rodata_end[]; /* linker.ld */

/* --- the screen: boot.c finds it, screen.c draws on it --- */

/* As multiboot2 describes it; width 0: there is none. */
extern struct x86_screen {
	u64 pa;
	u32 pitch, width, height; /* bytes from a line to the next; in text mode of characters */
	u8 depth, kind;		  /* bits of a dot; SCREEN_RGB or SCREEN_TEXT */
	u16 reserved;
	struct {
		u8 at, bits;
	} __packed field[3]; /* red, green, blue */
} __packed x86_screen;
enum { SCREEN_RGB = 1, SCREEN_TEXT = 2 };
extern u8 screen_start[], screen_end[]; /* linker.ld: code and constants for screens */
/* Maps that part of the image, and the screen. All that follows is only for machines with one. */
void x86_paging_add_screen(void);
/* The memory that its cells take. */
u64 x86_screen_pages(void);
/* False: the screen cannot be used. Otherwise kernel_screen() was called. */
bool x86_screen_start(u16 *cells);
void x86_keyboard_init(void);

/* --- serial.c --- */
/* Is there a UART at COM1? */
bool x86_serial_answers(void);
void x86_serial_init(void);

/* --- cpu.c: this processor's tables and control registers --- */

struct tss {
	u32 reserved0;
	u64 sp[3];
	u64 reserved1;
	u64 ist[7];
	u64 reserved2;
	u16 reserved3, io_bitmap;
} __packed;

#define IST_STACK_SIZE 8192
enum ist { IST_DOUBLE_FAULT = 1, IST_NMI = 2, IST_MACHINE_CHECK = 3 };

/* One CPU's structures for the hardware. The stacks come first, above a guard page. */
struct arch_cpu {
	u8 ist_stack[3][IST_STACK_SIZE] __aligned(16);
	struct tss tss __aligned(16);
	u64 gdt[16];  /* the last: see vdso.c */
	u64 pt_root;  /* in CR3; written by its CPU only */
	u64 timer_ns; /* deadline of the armed one-shot; 0: none */
	u32 apic_id;
	u32 call_pending;		 /* smp.c: a call it has not answered yet */
	u32 show_pending;		 /* smp.c: it was asked for a backtrace */
	bool online;			 /* takes IPIs */
	const struct user_regs *stopped; /* smp.c: those that a panic stopped it with */
};

extern struct x86_features {
	bool nx, smep, smap, umip, x2apic, tsc_deadline, hypervisor, tcg;
	u32 max_leaf, max_ext_leaf, max_hyper_leaf;
	char vendor[13];
} x86_features;

void x86_cpu_detect(void);
/* Panics with a sentence on a processor that lacks what every x86-64 one has. */
void x86_cpu_require(void);
/* Set the running CPU up as @c: descriptor tables, GS, control registers, system call MSRs. */
void x86_cpu_load(struct cpu *c);
/* Fill in the descriptors and interrupt stacks of @a. */
void x86_cpu_prepare(struct arch_cpu *a);
/* Set the stack on which entries from user space save registers: the running thread's. */
void x86_cpu_set_stack(struct cpu *c, u64 top);
extern u8 x86_boot_stack_guard[];
/* The first call of all, in builds with SAN=address: paging.c. */
void x86_shadow_init(void);

/* --- trap.c --- */
void x86_idt_init(void);
void x86_idt_load(void);

/* --- paging.c --- */
void x86_paging_init(void);
/*
 * Returns a page table for starting APs: the kernel's upper half, and the trampoline page
 * executable at its physical address.
 */
u64 x86_trampoline_pt(void);

/* --- acpi.c --- */
struct x86_acpi {
	u64 rsdp_pa;
	u64 ioapic_pa, hpet_pa;
	u16 pm_timer_port, pm1_control_port;
	u32 gsi_of_irq[16];
	u16 irq_flags[16]; /* MADT polarity and trigger bits */
	const u8 *slit;	   /* slit_size x slit_size distances, by proximity domain */
	u64 slit_size;
};
extern struct x86_acpi x86_acpi;
void x86_acpi_init(void);

/* --- topology.c --- */
void x86_topology_add_cpu(u32 apic_id);
void x86_topology_set_node(u32 apic_id, u32 proximity);
void x86_topology_init(void);

/* --- apic.c --- */
void x86_apic_init(void);     /* once */
void x86_apic_init_cpu(void); /* on each CPU */
u32 x86_apic_id(void);
void x86_apic_eoi(void);
void x86_apic_send(u32 apic_id, u32 command);
void x86_apic_timer_start(u32 count);
u32 x86_apic_timer_count(void);
#define ICR_FIXED   0x4000 /* assert; | vector */
#define ICR_NMI	    0x4400
#define ICR_INIT    0x4500
#define ICR_STARTUP 0x4600

/* --- clock.c --- */
void x86_clock_init(void);
extern u64 x86_tsc_hz;
extern bool x86_icount; /* TCG counting instructions: one tick, 1 ns */
bool x86_timer_due(struct arch_cpu *a);
/*
 * Fills in what arch_clock_ns() computes with, for programs. False if they should not read the TSC
 * here.
 */
bool x86_clock_parameters(u64 *base, u64 *ns_per_tick);
/* Under icount and SMP: end emulator turns every 122 us. See rtc.c. */
void x86_rtc_init(void);

/* --- vdso.c --- */
void x86_vdso_set_cpu(const struct cpu *c);

/* --- smp.c --- */
void x86_call_interrupt(void);
void x86_nmi(const struct user_regs *regs);

/* --- uaccess.S --- */
size_t x86_copy_user(void *dst, const void *src, size_t n);
size_t x86_clear_user(void *dst, size_t n);
size_t x86_strncpy_user(char *dst, const char *src, size_t n);
int x86_load_user_u32(u32 *value, const u32 *user);
int x86_cmpxchg_user_u32(u32 *user, u32 *old, u32 new_value);

/* --- traps and switching, entry.S --- */
void x86_switch_stacks(u64 *save, u64 load);
void x86_thread_start(void);
void x86_fork_return(void);
void x86_syscall_entry(void);
extern const u8 x86_vectors[];
#endif
