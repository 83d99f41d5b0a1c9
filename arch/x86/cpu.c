/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The features of the processor, and the tables and control registers that each CPU is given.
 *
 * Nothing is switched on that CPUID does not announce: TCG spins for ever on a CR4 bit it does not
 * know and ignores writes to unknown model-specific registers. The features of the boot CPU hold
 * for all.
 */
#include "kernel/arch.h"
#include "kernel/contract.h"
#include "kernel/percpu.h"
#include "x86.h"

#include "lib/string.h"

struct x86_features x86_features;

static struct arch_cpu boot_arch_cpu;
static struct cpu boot_cpu = { .self = &boot_cpu, .arch = &boot_arch_cpu };
struct cpu *cpus[MAX_CPUS] = { &boot_cpu };

static inline struct cpuid cpuid_raw(u32 leaf, u32 sub)
{
	struct cpuid r;

	__asm__ volatile("cpuid"
			 : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d)
			 : "a"(leaf), "c"(sub));
	return r;
}

struct cpuid cpuid(u32 leaf, u32 sub)
{
	u32 top = x86_features.max_leaf;

	if (leaf >= 0x80000000)
		top = x86_features.max_ext_leaf;
	else if (leaf >= 0x40000000)
		top = x86_features.max_hyper_leaf;
	return leaf <= top ? cpuid_raw(leaf, sub) : (struct cpuid){ 0 };
}

static void detect_hypervisor(void)
{
	struct cpuid r = cpuid_raw(0x40000000, 0);
	char signature[13] = { 0 };

	memcpy(signature, &r.b, 12);
	x86_features.max_hyper_leaf = r.a;
	x86_features.tcg = strcmp(signature, "TCGTCGTCGTCG") == 0;
}

static void detect(void)
{
	struct x86_features *f = &x86_features;
	struct cpuid r = cpuid_raw(0, 0);

	f->max_leaf = r.a;
	memcpy(f->vendor, (u32[]){ r.b, r.d, r.c }, 12);
	f->max_ext_leaf = cpuid_raw(0x80000000, 0).a;
	r = cpuid(1, 0);
	f->x2apic = r.c & BIT(21);
	f->tsc_deadline = r.c & BIT(24);
	f->hypervisor = r.c & BIT(31);
	if (f->hypervisor)
		detect_hypervisor();
	r = cpuid(7, 0);
	f->smep = r.b & BIT(7);
	f->smap = r.b & BIT(20);
	f->umip = r.c & BIT(2);
	f->nx = cpuid(0x80000001, 0).d & BIT(20);
}

/*
 * Write stac and clac into the places that entry.S and uaccess.S left for them. Text is still
 * writable.
 */
static void patch_smap_sites(void)
{
	extern const struct smap_site {
		u8 *at;
		u64 last_byte;
	} smap_sites_start[], smap_sites_end[];

	for (const struct smap_site *s = smap_sites_start; s < smap_sites_end; s++) {
		s->at[1] = 0x01;
		s->at[2] = s->last_byte;
	}
}

void x86_cpu_detect(void)
{
	detect();
	if (x86_features.smap)
		patch_smap_sites();
}

void x86_cpu_require(void)
{
	static const struct {
		const char *name;
		u32 leaf, edx;
	} needed[] = {
		{ "tsc", 1, BIT(4) },	{ "msr", 1, BIT(5) },
		{ "pae", 1, BIT(6) },	{ "apic", 1, BIT(9) },
		{ "fxsr", 1, BIT(24) }, { "sse", 1, BIT(25) },
		{ "sse2", 1, BIT(26) }, { "syscall", 0x80000001, BIT(11) },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(needed); i++)
		if (!(cpuid(needed[i].leaf, 0).d & needed[i].edx))
			panic("this processor (CPU=) has no %s, which every x86-64 processor has",
			      needed[i].name);
}

/* A system segment descriptor is two GDT entries. */
static void set_tss_descriptor(u64 *gdt, const struct tss *tss)
{
	u64 base = (u64)tss;

	gdt[0] = (sizeof(*tss) - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 |
		 (base >> 24 & 0xff) << 56;
	gdt[1] = base >> 32;
}

void x86_cpu_prepare(struct arch_cpu *a)
{
	static const u64 segments[7] = {
		[SEL_KERNEL_CODE / 8] = 0x00af9b000000ffff,
		[SEL_KERNEL_DATA / 8] = 0x00cf93000000ffff,
		[SEL_USER_CODE32 / 8] = 0x00cffb000000ffff,
		[SEL_USER_DATA / 8] = 0x00cff3000000ffff,
		[SEL_USER_CODE / 8] = 0x00affb000000ffff,
	};

	memcpy(a->gdt, segments, sizeof(segments));
	set_tss_descriptor(&a->gdt[SEL_TSS / 8], &a->tss);
	a->tss.io_bitmap = sizeof(a->tss);
	for (unsigned i = 0; i < ARRAY_SIZE(a->ist_stack); i++)
		a->tss.ist[i] = (u64)a->ist_stack[i + 1];
}

static void load_gdt(struct arch_cpu *a)
{
	struct {
		u16 limit;
		u64 base;
	} __packed pointer = { sizeof(a->gdt) - 1, (u64)a->gdt };

	__asm__ volatile("lgdt %0\n\t"
			 "pushq %1\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "lretq\n"
			 "1:	movl %2, %%ss\n\t"
			 "movl %3, %%ds\n\t"
			 "movl %3, %%es\n\t"
			 "movl %3, %%fs\n\t"
			 "movl %3, %%gs\n\t"
			 "ltr %w4"
			 :
			 : "m"(pointer), "i"(SEL_KERNEL_CODE), "r"(SEL_KERNEL_DATA), "r"(0),
			   "r"(SEL_TSS)
			 : "rax", "memory");
}

static void load_control_registers(void)
{
	const struct x86_features *f = &x86_features;
	u64 cr4 = CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT;

	if (f->smep)
		cr4 |= CR4_SMEP;
	if (f->smap)
		cr4 |= CR4_SMAP;
	if (f->umip)
		cr4 |= CR4_UMIP;
	write_cr4(cr4);
	write_cr0(CR0_BOOT);
}

static void load_syscall_msrs(void)
{
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE | (x86_features.nx ? EFER_NXE : 0));
	wrmsr(MSR_STAR, (u64)SEL_USER_CODE32 << 48 | (u64)SEL_KERNEL_CODE << 32);
	wrmsr(MSR_LSTAR, (u64)x86_syscall_entry);
	wrmsr(MSR_SYSCALL_MASK, FLAGS_USER | FLAGS_IF | 0x7000); /* and IOPL, NT */
}

void x86_cpu_load(struct cpu *c)
{
	load_gdt(c->arch);
	wrmsr(MSR_GS_BASE, (u64)c);
	wrmsr(MSR_KERNEL_GS_BASE, 0);
	wrmsr(MSR_FS_BASE, 0);
	load_control_registers();
	load_syscall_msrs();
	x86_idt_load();
}

void arch_cpu_idle(void)
{
	debug_assert(!arch_irq_enabled());
	__asm__ volatile("sti; hlt; cli" ::: "memory");
}

__noreturn void arch_cpu_halt(void)
{
	for (;;)
		__asm__ volatile("cli; hlt" ::: "memory");
}
