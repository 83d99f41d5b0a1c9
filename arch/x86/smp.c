/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * More than one CPU: starting them, and calling across.
 *
 * CPUs are started one after the other, so that logical numbers, stacks and the trace of a run do
 * not depend on who arrives first. Under -icount INIT charges the emulator's clock with the whole
 * unused turn of the target; the PIT, masked, firing every 20 us while CPUs start, keeps that to
 * 20 us. Otherwise each of its turns takes the emulator's lock, and a busy host cannot keep up.
 *
 * Calls: one at a time (call.locked). The caller marks each target, interrupts it and waits until
 * every mark is gone; it waits with interrupts on, also for the lock, so two callers cannot block
 * each other.
 */
#include "kernel/arch.h"
#include "kernel/contract.h"
#include "kernel/mm/mm.h"
#include "kernel/percpu.h"
#include "kernel/task/thread.h"
#include "kernel/sync.h"
#include "lib/string.h"
#include "x86.h"

__noreturn void x86_ap_main(struct cpu *c);

/* --- starting ------------------------------------------------------------------ */

extern u8 x86_trampoline[], x86_trampoline_end[];
extern u32 x86_trampoline_root, x86_trampoline_efer;

/* For x86_start_ap: the CPU that starts now. */
u64 x86_ap_stack;
struct cpu *x86_ap_cpu;

#define START_TIMEOUT_NS (10 * NS_PER_SEC) /* a loaded host is slow to give it time */

#define PIT_COUNTER	0x40
#define PIT_CONTROL	0x43
#define PIT_SQUARE_WAVE 0x36 /* counter 0, mode 3: two events per period */
#define PIT_STOP	0x30 /* counter 0, mode 0 */
#define PIT_20_US	48   /* 2 x 20 us x 1.193182 MHz, even */

static void pit_program(u8 mode, u16 count)
{
	outb(PIT_CONTROL, mode);
	outb(PIT_COUNTER, count & 0xff);
	outb(PIT_COUNTER, count >> 8);
}

static u8 *trampoline_word(u32 *symbol)
{
	return (u8 *)phys_to_virt(TRAMPOLINE_PA) + ((u8 *)symbol - x86_trampoline);
}

static void install_trampoline(void)
{
	u32 root = x86_trampoline_pt(), efer = rdmsr(MSR_EFER);

	memcpy(phys_to_virt(TRAMPOLINE_PA), x86_trampoline, x86_trampoline_end - x86_trampoline);
	memcpy(trampoline_word(&x86_trampoline_root), &root, sizeof(root));
	memcpy(trampoline_word(&x86_trampoline_efer), &efer, sizeof(efer));
}

/* An AP's first C code. It runs on its idle thread's stack, with boot.S's descriptor tables. */
__noreturn void x86_ap_main(struct cpu *c)
{
	x86_cpu_load(c);
	arch_pt_load(arch_kernel_pt);
	x86_apic_init_cpu();
	__atomic_store_n(&c->arch->online, true, __ATOMIC_RELEASE);
	kernel_secondary_main(c->id);
}

static bool start_cpu(struct cpu *c)
{
	u64 deadline = arch_clock_ns() + START_TIMEOUT_NS;
	struct arch_cpu *a = vmap_alloc(sizeof(*a));

	if (!a)
		return false;
	c->self = c;
	c->arch = a;
	c->running = c->idle;
	a->apic_id = arch_cpus[c->id].apic_id;
	x86_cpu_prepare(a);
	x86_vdso_set_cpu(c);
	x86_cpu_set_stack(c, (u64)c->idle->kstack + KSTACK_SIZE);
	x86_ap_cpu = c;
	x86_ap_stack = c->kernel_sp;
	x86_apic_send(a->apic_id, ICR_INIT);
	x86_apic_send(a->apic_id, ICR_STARTUP | TRAMPOLINE_PA >> PAGE_SHIFT);
	while (!__atomic_load_n(&a->online, __ATOMIC_ACQUIRE) && arch_clock_ns() < deadline)
		arch_cpu_relax();
	return a->online;
}

void arch_start_cpus(void)
{
	cpus[0]->arch->online = true;
	install_trampoline();
	if (x86_icount)
		pit_program(PIT_SQUARE_WAVE, PIT_20_US);
	for (unsigned i = 1; i < arch_nr_cpus; i++)
		if (!start_cpu(cpus[i]))
			panic("CPU %u (APIC id %u) does not start", i, arch_cpus[i].apic_id);
	pit_program(PIT_STOP, 0);
	x86_rtc_init();
}

/* --- interrupting others ------------------------------------------------------- */

void arch_send_reschedule(unsigned cpu)
{
	debug_assert(cpu != arch_cpu_id());
	x86_apic_send(cpus[cpu]->arch->apic_id, ICR_FIXED | VECTOR_RESCHEDULE);
}

static struct {
	u32 locked;
	void (*fn)(void *);
	void *arg;
} call;

typedef bool wanted_fn(const struct arch_cpu *a, void *arg);

/* Another CPU, and one that answers. */
static bool reachable(const struct cpu *c)
{
	return c && c != this_cpu() && c->arch && READ_ONCE(c->arch->online);
}

/* Returns the first reachable CPU from @i on that is @wanted, or arch_nr_cpus. */
static unsigned next_target(unsigned i, wanted_fn *wanted, void *arg)
{
	while (i < arch_nr_cpus && !(reachable(cpus[i]) && wanted(cpus[i]->arch, arg)))
		i++;
	return i;
}

#define for_each_target(i, wanted, arg)                                                            \
	for (unsigned i = next_target(0, wanted, arg); i < arch_nr_cpus;                           \
	     i = next_target(i + 1, wanted, arg))

static bool everyone(const struct arch_cpu *a, void *arg)
{
	(void)a, (void)arg;
	return true;
}

static bool called(const struct arch_cpu *a, void *arg)
{
	(void)arg;
	return __atomic_load_n(&a->call_pending, __ATOMIC_ACQUIRE);
}

static void await_answers(void)
{
	const u32 patience = 1 << 20; /* looks: reading the clock may take longer than one */
	u64 start = arch_clock_ns();
	unsigned cpu;

	for (u32 looks = 1; (cpu = next_target(0, called, NULL)) != arch_nr_cpus; looks++) {
		if (unlikely(looks % patience == 0))
			kernel_awaits(start, cpu);
		arch_cpu_relax();
	}
}

/* Run @fn(@arg) on those other CPUs that are @wanted, and wait for them. */
static void call_others(wanted_fn *wanted, void (*fn)(void *), void *arg)
{
	if (next_target(0, wanted, arg) == arch_nr_cpus)
		return;
	assert(arch_irq_enabled());
	while (__atomic_exchange_n(&call.locked, 1, __ATOMIC_ACQUIRE))
		arch_cpu_relax();
	call.fn = fn;
	call.arg = arg;
	for_each_target(i, wanted, arg)
	{
		__atomic_store_n(&cpus[i]->arch->call_pending, 1, __ATOMIC_RELEASE);
		x86_apic_send(cpus[i]->arch->apic_id, ICR_FIXED | VECTOR_CALL);
	}
	await_answers();
	__atomic_store_n(&call.locked, 0, __ATOMIC_RELEASE);
}

void arch_call_others(void (*fn)(void *), void *arg)
{
	preempt_disable();
	call_others(everyone, fn, arg);
	preempt_enable();
}

void x86_call_interrupt(void)
{
	struct arch_cpu *a = this_cpu()->arch;

	debug_assert(!arch_irq_enabled());
	if (!__atomic_load_n(&a->call_pending, __ATOMIC_ACQUIRE))
		return;
	call.fn(call.arg);
	__atomic_store_n(&a->call_pending, 0, __ATOMIC_RELEASE);
}

/* --- page tables in use elsewhere ---------------------------------------------- */

static bool has_root(const struct arch_cpu *a, void *root)
{
	return (u64)root == arch_kernel_pt || READ_ONCE(a->pt_root) == (u64)root;
}

static void flush_all(void *unused)
{
	(void)unused;
	write_cr3(read_cr3());
}

void arch_tlb_shootdown(u64 root)
{
	debug_assert(arch_irq_enabled());
	preempt_disable();
	if (has_root(this_cpu()->arch, (void *)root))
		flush_all(NULL);
	__atomic_thread_fence(
		__ATOMIC_SEQ_CST); /* the table was changed before we look who has it loaded */
	call_others(has_root, flush_all, (void *)root);
	preempt_enable();
}

static void unload(void *root)
{
	debug_assert(!arch_preemptible() || arch_in_irq());
	if (this_cpu()->arch->pt_root == (u64)root)
		arch_pt_load(arch_kernel_pt);
}

void arch_pt_unload(u64 root)
{
	assert_irqs_on();
	preempt_disable();
	unload((void *)root);
	call_others(has_root, unload, (void *)root);
	preempt_enable();
}

/* --- CPUs out of service --------------------------------------------------------- */

void arch_cpu_park(const bool *parked)
{
	assert_irqs_off();

	struct arch_cpu *a = this_cpu()->arch;

	/*
	 * A caller that has marked this CPU already still gets an answer: this CPU takes
	 * interrupts.
	 */
	__atomic_store_n(&a->online, false, __ATOMIC_SEQ_CST);
	while (READ_ONCE(*parked))
		arch_cpu_idle();
	/*
	 * From here on other CPUs wait for this one again. Stale translations are flushed after
	 * that.
	 */
	__atomic_store_n(&a->online, true, __ATOMIC_SEQ_CST);
	flush_all(NULL);
}

bool arch_cpu_is_parked(unsigned cpu)
{
	return !__atomic_load_n(&cpus[cpu]->arch->online, __ATOMIC_ACQUIRE);
}

/* --- the end ------------------------------------------------------------------- */

#define ANSWER_TIMEOUT_NS NS_PER_SEC /* a virtual CPU may wait that long for the host */

static bool stopping;

static bool goes_on(const struct arch_cpu *a, void *arg)
{
	(void)arg;
	return !__atomic_load_n(&a->stopped, __ATOMIC_ACQUIRE);
}

void arch_stop_others(void)
{
	u64 start = arch_clock_ns();

	WRITE_ONCE(stopping, true);
	for_each_target(i, everyone, NULL) x86_apic_send(cpus[i]->arch->apic_id, ICR_NMI);
	while (next_target(0, goes_on, NULL) != arch_nr_cpus &&
	       arch_clock_ns() - start < ANSWER_TIMEOUT_NS)
		arch_cpu_relax();
}

const struct user_regs *arch_stopped_regs(unsigned cpu)
{
	return __atomic_load_n(&cpus[cpu]->arch->stopped, __ATOMIC_ACQUIRE);
}

bool arch_cpu_backtrace(unsigned cpu)
{
	struct arch_cpu *a = cpus[cpu]->arch;
	u64 start = arch_clock_ns();

	__atomic_store_n(&a->show_pending, 1, __ATOMIC_RELEASE);
	x86_apic_send(a->apic_id, ICR_NMI);
	while (__atomic_load_n(&a->show_pending, __ATOMIC_ACQUIRE)) {
		if (arch_clock_ns() - start > ANSWER_TIMEOUT_NS)
			return false;
		arch_cpu_relax();
	}
	return true;
}

/*
 * The NMI stops this CPU, or asks it what it does. Any other is ignored. An NMI that was sent to a
 * CPU before that CPU panicked must not stop it.
 */
void x86_nmi(const struct user_regs *regs)
{
	struct arch_cpu *a = this_cpu()->arch;

	if (READ_ONCE(stopping) && READ_ONCE(panic_cpu) != arch_cpu_id() + 1) {
		__atomic_store_n(&a->stopped, regs, __ATOMIC_RELEASE);
		arch_cpu_halt();
	}
	if (!__atomic_load_n(&a->show_pending, __ATOMIC_ACQUIRE))
		return;
	kernel_nmi_backtrace(regs);
	__atomic_store_n(&a->show_pending, 0, __ATOMIC_RELEASE);
}
