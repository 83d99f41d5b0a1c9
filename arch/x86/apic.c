/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupt controllers: the local APIC of each CPU, by memory (xAPIC) or by MSR (x2APIC, when
 * CPUID offers it and the switch reads back as done); the I/O APIC for the serial line; the 8259s,
 * silenced.
 *
 * A `pause` follows every interrupt that is sent. Under -icount it hands the turn to another CPU,
 * so the target takes the interrupt after 40 ns instead of a millisecond.
 *
 * Reference: Intel SDM 3A chapter 11; Intel 82093AA (I/O APIC).
 */
#include "kernel/arch.h"
#include "kernel/percpu.h"
#include "x86.h"

#define APIC_ID		   0x020
#define APIC_EOI	   0x0b0
#define APIC_SPURIOUS	   0x0f0
#define APIC_ICR	   0x300
#define APIC_ICR_HIGH	   0x310
#define APIC_LVT_TIMER	   0x320
#define APIC_TIMER_INITIAL 0x380
#define APIC_TIMER_CURRENT 0x390
#define APIC_TIMER_DIVIDE  0x3e0

#define APIC_ENABLED	 0x100
#define ICR_PENDING	 0x1000
#define LVT_TSC_DEADLINE 0x40000
#define DIVIDE_BY_1	 0xb

#define BASE_ENABLED BIT(11)
#define BASE_X2APIC  BIT(10)

static bool x2apic;
static volatile u32 *xapic;
static volatile u32 *ioapic; /* [0] selects a register, [4] is its value */

static u32 apic_read(u32 reg)
{
	return x2apic ? (u32)rdmsr(MSR_X2APIC + reg / 16) : xapic[reg / 4];
}

static inline void apic_write(u32 reg, u32 v)
{
	if (x2apic)
		wrmsr(MSR_X2APIC + reg / 16, v);
	else
		xapic[reg / 4] = v;
}

u32 x86_apic_id(void)
{
	return x2apic ? apic_read(APIC_ID) : apic_read(APIC_ID) >> 24;
}

void x86_apic_eoi(void)
{
	apic_write(APIC_EOI, 0);
}

void x86_apic_send(u32 apic_id, u32 command)
{
	if (x2apic) {
		wrmsr(MSR_X2APIC + APIC_ICR / 16, (u64)apic_id << 32 | command);
	} else {
		unsigned long flags = arch_irq_save(); /* the two halves belong together */

		while (apic_read(APIC_ICR) & ICR_PENDING)
			arch_cpu_relax();
		apic_write(APIC_ICR_HIGH, apic_id << 24);
		apic_write(APIC_ICR, command);
		arch_irq_restore(flags);
	}
	arch_cpu_relax();
}

void x86_apic_timer_start(u32 count)
{
	apic_write(APIC_TIMER_INITIAL, count);
}

u32 x86_apic_timer_count(void)
{
	return apic_read(APIC_TIMER_CURRENT);
}

/*
 * Switch the local APIC on, in the best mode there is. QEMU 7.2's TCG ignores the x2APIC bit, so
 * the bit is read back.
 */
static void enable(void)
{
	u64 base = rdmsr(MSR_APIC_BASE) | BASE_ENABLED;

	wrmsr(MSR_APIC_BASE, base);
	if (x86_features.x2apic)
		wrmsr(MSR_APIC_BASE, base | BASE_X2APIC);
	x2apic = x86_features.x2apic && rdmsr(MSR_APIC_BASE) & BASE_X2APIC;
	xapic = phys_to_virt(base & 0xffffff000);
}

void x86_apic_init_cpu(void)
{
	enable();
	apic_write(APIC_SPURIOUS, APIC_ENABLED | VECTOR_SPURIOUS);
	apic_write(APIC_TIMER_DIVIDE, DIVIDE_BY_1);
	apic_write(APIC_LVT_TIMER,
		   VECTOR_TIMER | (x86_features.tsc_deadline ? LVT_TSC_DEADLINE : 0));
	/* A write of the deadline MSR may not overtake the mode change of a memory-mapped APIC. */
	__asm__ volatile("mfence" ::: "memory");
}

/* --- legacy interrupts --------------------------------------------------------- */

#define IOAPIC_VERSION	 0x01
#define IOAPIC_ENTRY(n)	 (0x10 + 2 * (n))
#define ENTRY_MASKED	 0x10000
#define ENTRY_LEVEL	 0x8000
#define ENTRY_ACTIVE_LOW 0x2000

static void ioapic_write(u32 reg, u32 v)
{
	ioapic[0] = reg;
	ioapic[4] = v;
}

static u32 ioapic_read(u32 reg)
{
	ioapic[0] = reg;
	return ioapic[4];
}

/* Move the 8259s off the exception vectors, and mask them. */
static void silence_8259(void)
{
	static const u8 setup[4][2] = { { 0x11, 0x11 }, { 0x20, 0x28 }, { 4, 2 }, { 1, 1 } };

	for (unsigned i = 0; i < ARRAY_SIZE(setup); i++) {
		outb(i ? 0x21 : 0x20, setup[i][0]);
		outb(i ? 0xa1 : 0xa0, setup[i][1]);
	}
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
}

void x86_apic_init(void)
{
	silence_8259();
	x86_apic_init_cpu();
	if (!x86_acpi.ioapic_pa)
		return;
	ioapic = phys_to_virt(x86_acpi.ioapic_pa);
	for (u32 n = ioapic_read(IOAPIC_VERSION) >> 16 & 0xff, i = 0; i <= n; i++)
		ioapic_write(IOAPIC_ENTRY(i), ENTRY_MASKED);
}

void arch_irq_unmask(unsigned irq)
{
	u32 pin = x86_acpi.gsi_of_irq[irq], flags = x86_acpi.irq_flags[irq];
	u32 entry = VECTOR_LEGACY + irq;

	if (!ioapic)
		return;
	if ((flags & 3) == 3) /* MADT: polarity, 3 = active low */
		entry |= ENTRY_ACTIVE_LOW;
	if ((flags >> 2 & 3) == 3) /* trigger, 3 = level */
		entry |= ENTRY_LEVEL;
	ioapic_write(IOAPIC_ENTRY(pin) + 1, arch_cpus[0].apic_id << 24);
	ioapic_write(IOAPIC_ENTRY(pin), entry);
}
