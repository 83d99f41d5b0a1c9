/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time: the time stamp counter read as nanoseconds since boot, and each CPU's one-shot timer.
 *
 * The TSC's rate comes from the hypervisor or the processor where they say it, else from a
 * reference whose rate is known: HPET or the ACPI timer. Under -icount a tick is 1 ns by
 * definition; the measured rate is then rounded to exactly 1 GHz, so that no measuring error enters
 * a deterministic run.
 *
 * The one-shot is the local APIC's timer, or the TSC deadline where CPUID offers it. It may fire
 * late, never early: x86_timer_due() re-arms what the hardware's 32 bits or rounding ended too
 * soon.
 */
#include "kernel/arch.h"
#include "kernel/percpu.h"
#include "lib/math64.h"
#include "lib/string.h"
#include "x86.h"

struct x86_clock x86_clock;
static u64 tick_per_ns;	 /* TSC, 32.32 */
static u64 timer_per_ns; /* APIC timer, 32.32 */

u64 x86_tsc_hz;
static u64 timer_hz;
bool x86_icount;

/* @to / @from, 32.32. */
static u64 factor_of(u64 to, u64 from)
{
	return mul_div(to, 1ull << 32, from);
}

u64 arch_cycles_to_ns(u64 cycles)
{
	return mul_shr(cycles, x86_clock.ns_per_tick, 32);
}

/* --- the rate of the counters -------------------------------------------------- */

#define HPET_PERIOD  0x004 /* femtoseconds */
#define HPET_CONFIG  0x010
#define HPET_COUNTER 0x0f0
#define PM_TIMER_HZ  3579545
#define TCG_HZ	     1000000000ull

static volatile u8 *hpet;

static u32 read_reference(void)
{
	if (hpet)
		return *(volatile u32 *)(hpet + HPET_COUNTER);
	return inl(x86_acpi.pm_timer_port);
}

static u64 start_reference(void)
{
	if (x86_acpi.hpet_pa) {
		hpet = phys_to_virt(x86_acpi.hpet_pa);
		*(volatile u32 *)(hpet + HPET_CONFIG) |= 1;
		return 1000000000000000ull / *(volatile u32 *)(hpet + HPET_PERIOD);
	}
	if (!x86_acpi.pm_timer_port)
		panic("no HPET and no ACPI timer to measure the clock with "
		      "(a microvm, or acpi=off?)");
	return PM_TIMER_HZ;
}

struct sample {
	u64 tsc;
	u32 reference, timer;
};

/*
 * QEMU's APIC counts nanoseconds of its virtual clock, so there is nothing to measure. Reading the
 * count through the x2APIC register would end QEMU 10 under -icount ("Bad icount read").
 */
static u32 read_timer(void)
{
	return x86_features.tcg ? 0 : x86_apic_timer_count();
}

/*
 * Read all three counters at one moment. Of five tries, the one that the host disturbed least
 * counts.
 */
static struct sample take_sample(void)
{
	struct sample best = { 0 };
	u64 best_width = ~0ull;

	for (int i = 0; i < 5; i++) {
		u64 before = rdtsc();
		struct sample s = { .reference = read_reference(), .timer = read_timer() };
		u64 width = rdtsc() - before;

		if (width < best_width) {
			best_width = width;
			best = s;
			best.tsc = before + width / 2;
		}
	}
	return best;
}

/* Set both rates from a window of 1/@fraction s. The ACPI timer may have 24 bits only. */
static void measure(u64 reference_hz, unsigned fraction)
{
	u32 mask = hpet ? ~0u : 0xffffff;
	struct sample a = take_sample(), b;
	u64 elapsed;

	while (((read_reference() - a.reference) & mask) < reference_hz / fraction)
		arch_cpu_relax();
	b = take_sample();
	elapsed = (b.reference - a.reference) & mask;
	x86_tsc_hz = (b.tsc - a.tsc) * reference_hz / elapsed;
	timer_hz = (u64)(a.timer - b.timer) * reference_hz / elapsed;
}

static bool nearly(u64 a, u64 b)
{
	return a - b + b / 1000 <= b / 500;
}

static void measure_rates(void)
{
	u64 reference_hz = start_reference();

	x86_apic_timer_start(~0u);
	measure(reference_hz, 1000);
	x86_icount = x86_features.tcg && nearly(x86_tsc_hz, TCG_HZ);
	if (!x86_icount)
		measure(reference_hz, 50);
	x86_apic_timer_start(0);
	if (x86_icount)
		x86_tsc_hz = TCG_HZ;
	if (x86_features.tcg)
		timer_hz = TCG_HZ;
}

/*
 * Returns the TSC rate that KVM (0x40000010, kHz) or the processor (0x15, crystal and ratio)
 * states, or 0.
 */
static u64 stated_tsc_hz(void)
{
	struct cpuid ratio = cpuid(0x15, 0);

	if (x86_features.tcg)
		return 0;
	if (ratio.a && ratio.b && ratio.c)
		return (u64)ratio.c * ratio.b / ratio.a;
	return cpuid(0x40000010, 0).a * 1000ull;
}

void x86_clock_init(void)
{
	u64 stated = stated_tsc_hz();

	measure_rates();
	if (stated)
		x86_tsc_hz = stated;
	x86_clock.ns_per_tick = factor_of(NS_PER_SEC, x86_tsc_hz);
	tick_per_ns = factor_of(x86_tsc_hz, NS_PER_SEC);
	timer_per_ns = factor_of(timer_hz, NS_PER_SEC);
	x86_clock.tsc_base = rdtsc();
}

/*
 * Is the TSC's rate constant? If CPUID does not call it invariant, it changes with the processor's
 * frequency. A hypervisor sets the bit when its TSC is sound. "tsc=unstable" as on Linux.
 */
static bool tsc_is_unstable(void)
{
	const char *word = cmdline_get("tsc");

	if (word && !strcmp(word, "unstable"))
		return true;
	return !x86_features.hypervisor && !(cpuid(0x80000007, 0).d & BIT(8));
}

bool x86_clock_parameters(u64 *base, u64 *factor)
{
	*base = x86_clock.tsc_base;
	*factor = x86_clock.ns_per_tick;
	return !tsc_is_unstable();
}

/* --- the one-shot -------------------------------------------------------------- */

static void timer_start(u64 ns)
{
	if (x86_features.tsc_deadline)
		wrmsr(MSR_TSC_DEADLINE, rdtsc() + mul_shr(ns, tick_per_ns, 32) + 1);
	else
		x86_apic_timer_start(min(mul_shr(ns, timer_per_ns, 32) + 1, (u64)~0u));
}

static void timer_stop(void)
{
	if (x86_features.tsc_deadline)
		wrmsr(MSR_TSC_DEADLINE, 0);
	else
		x86_apic_timer_start(0);
}

/*
 * A time that has passed is set anew, a little ahead: between two interrupts the CPU gets on,
 * however late it is. Under gdb with ICOUNT=1 each stop takes the clock to the next timer, and one
 * stop a tick would leave time for nothing but ticks.
 */
void arch_timer_set(u64 when_ns)
{
	const u64 least_ns = 1000;
	struct arch_cpu *a = this_cpu()->arch;
	u64 now;

	a->timer_ns = when_ns;
	if (!when_ns) {
		timer_stop();
		return;
	}
	now = arch_clock_ns();
	if (when_ns <= now)
		a->timer_ns = now + least_ns;
	timer_start(a->timer_ns - now);
}

/* The timer's interrupt came: is the requested time reached? If not, wait on. */
bool x86_timer_due(struct arch_cpu *a)
{
	if (!a->timer_ns)
		return false; /* stopped while it was on its way */
	if (arch_clock_ns() < a->timer_ns) {
		arch_timer_set(a->timer_ns);
		return false;
	}
	a->timer_ns = 0;
	return true;
}
