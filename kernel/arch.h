/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The border between the kernel and an architecture: the functions each must provide for the other.
 * The kernel reaches hardware only through this page; arch/x86 is the one implementation. machine.h
 * supplies the architecture's types (saved registers, thread state).
 */
#pragma once

#include "lib/types.h"
#include "machine.h"

struct thread;

/* --- boot ---------------------------------------------------------------------- */

struct boot_range {
	u64 base, size; /* physical, bytes */
};

struct boot_info {
	const char *cmdline;
	struct boot_range ram[32]; /* usable, page aligned, without kernel image and initrd */
	unsigned nr_ram;
	struct boot_range initrd; /* size 0: none */
	u64 ram_top;		  /* end of the highest usable byte */
	const char *loader;	  /* "PVH" or "multiboot2" */
};
extern struct boot_info boot_info;

/* Each CPU as ACPI and CPUID describe it, indexed by logical CPU number (0 = boot CPU). */
struct arch_cpu_info {
	u32 apic_id;
	u32 thread, core, llc, package, node; /* machine-wide ids: equal means shared */
};
extern unsigned arch_nr_cpus; /* 1 to MAX_CPUS, and not above smp= */
extern struct arch_cpu_info arch_cpus[];
/* The number of the core of @cpu within its package. */
unsigned arch_core_id(unsigned cpu);
/* A cache as CPUID describes it, alike on every CPU. CPUs of equal apic_id >> @shift share one. */
struct arch_cache {
	const char *type; /* "Data", "Instruction" or "Unified" */
	unsigned level, kib, line, sets, ways, shift;
};
/* Fills in the cache number @index, from 0 on; false past the last. */
bool arch_cache(unsigned index, struct arch_cache *cache);
/*
 * Do CPUs @a and @b share @cache? For the last level the boot parameters topology= and llc= decide.
 */
bool arch_cache_shared(const struct arch_cache *cache, unsigned a, unsigned b);
unsigned arch_node_distance(unsigned from, unsigned to); /* SLIT; 10 local, 20 default */
/* "vendor", "model name", family... as /proc/cpuinfo shows them. Returns the length written. */
size_t arch_cpuinfo(unsigned cpu, char *buf, size_t size);
/* The topology as an indented tree of package, LLC, core, thread and NUMA node. */
void arch_print_topology(void);

/* --- CPUs ---------------------------------------------------------------------- */

/* The running thread (a per-CPU word, one instruction). */
static inline struct thread *arch_current(void);
/* The running CPU's words. The answer is valid while preemption is off. */
static inline struct cpu *this_cpu(void);
static inline unsigned arch_cpu_id(void);
/*
 * Each is one instruction on the running CPU's words, so no interrupt or migration comes between.
 */
static inline void arch_preempt_disable(void); /* ++preempt_count */
static inline void arch_preempt_enable(void);  /* --preempt_count */
static inline bool arch_preemptible(void);     /* !preempt_count */
static inline bool arch_in_irq(void);	       /* irq_depth */
static inline bool arch_need_resched(void);
static inline void arch_count_user_cycles(u64 cycles); /* user_cycles += cycles */
/*
 * Belongs in every spin-wait loop. Under -icount, a spin without it can starve the CPU that is
 * waited for.
 */
static inline void arch_cpu_relax(void);
/* Enable interrupts and halt as one operation. Interrupts are off on entry and on return. */
void arch_cpu_idle(void);
__noreturn void arch_cpu_halt(void);
/*
 * Halt the running CPU until another CPU clears *@parked and sends a reschedule interrupt.
 * Meanwhile arch_call_others() leaves this CPU out, and on the way out it flushes all translations.
 * Called with interrupts off; a halted CPU takes them.
 */
void arch_cpu_park(const bool *parked);
bool arch_cpu_is_parked(unsigned cpu);
/* Stack of the boot CPU's idle thread: KSTACK_SIZE bytes, guard page below. */
extern u8 arch_boot_stack[];
/*
 * Start every other CPU, in order; each enters kernel_secondary_main(cpu) as its idle thread. Its
 * entry in cpus[] has its id and idle thread. (cpus[0] exists from the start.)
 */
void arch_start_cpus(void);

/* --- interrupts ---------------------------------------------------------------- */

static inline unsigned long arch_irq_save(void); /* returns the old state, disables */
static inline void arch_irq_restore(unsigned long flags);
static inline void arch_irq_enable(void);
static inline void arch_irq_disable(void);
/* Takes the interrupts that wait. They are off on entry and on return. */
static inline void arch_irq_window(void);
static inline bool arch_irq_enabled(void);

/* Ask @cpu to run kernel_ipi_reschedule(); never @cpu itself. */
void arch_send_reschedule(unsigned cpu);
/* Run @fn(@arg) in interrupt context on every other online CPU and wait. Interrupts must be on. */
void arch_call_others(void (*fn)(void *), void *arg);
/*
 * Make @cpu, which may be the running one, call kernel_nmi_backtrace(), by an interrupt that it
 * cannot have switched off. False: it did not within a second. Any context.
 */
bool arch_cpu_backtrace(unsigned cpu);
/* Stop every other CPU for good (panic), except those that do not answer within a second. */
void arch_stop_others(void);
/* The registers of @cpu when arch_stop_others() stopped it, and NULL if that failed. */
const struct user_regs *arch_stopped_regs(unsigned cpu);
/* Deliver legacy interrupt @irq (the keyboard is 1, COM1 is 4) to kernel_irq() on the boot CPU. */
#define KEYBOARD_IRQ 1
#define SERIAL_IRQ   4
void arch_irq_unmask(unsigned irq);

/* --- time ---------------------------------------------------------------------- */

/* ns since boot, the same on every CPU, never decreasing. */
static inline u64 arch_clock_ns(void);
/* The raw counter behind arch_clock_ns(), in three instructions. For measuring short times. */
static inline u64 arch_cycles(void);
/* The counter's low half, in one instruction. It wraps after 100 ms or more. */
static inline u32 arch_cycles32(void);
u64 arch_cycles_to_ns(u64 cycles);
/*
 * Set the running CPU's one-shot timer: kernel_timer_interrupt() comes at @when_ns (arch_clock_ns).
 * 0 stops it.
 */
void arch_timer_set(u64 when_ns);
/* Seconds since the epoch at boot, from the CMOS clock. */
u64 arch_boot_epoch(void);

/* --- the vDSO: code of ours that programs run (kernel/exec/vdso.c) ---------------- */

/* A shared object. In a program's memory the page below it is @page of arch_vdso_publish(). */
extern const u8 arch_vdso_start[], arch_vdso_end[];
/* The clocks changed: write into @page what the vDSO computes with. One call at a time. */
void arch_vdso_publish(void *page, u64 realtime_offset_ns);

/* --- threads ------------------------------------------------------------------- */

/*
 * Switch stacks, TLS base, FPU state, kernel entry stack and (if they differ) page tables. Returns,
 * much later, on @prev's stack. Interrupts off. A kernel thread gets arch_kernel_pt rather than
 * borrow the one loaded now: a program's next flush would have to interrupt idle CPUs.
 */
void arch_switch(struct thread *prev, struct thread *next);
/*
 * Prepare a thread that will call @entry(@arg) on its kernel stack, after kernel_thread_begin(). If
 * @entry returns, the thread enters user space as arch_exec_regs() said.
 */
void arch_thread_init(struct thread *t, void (*entry)(void *), void *arg);
/*
 * Prepare @child to return to user space as @parent will from the system call it is in, but with
 * result 0, stack @user_sp if not 0, and thread pointer @tls if @set_tls.
 */
void arch_thread_fork(struct thread *child, struct thread *parent, u64 user_sp, u64 tls,
		      bool set_tls);
/* All of @regs, to the console. */
void arch_print_regs(const struct user_regs *regs);
/* Are they those of a program? */
bool arch_regs_are_user(const struct user_regs *regs);
/* The function in which a thread that does not run goes on; *@bp gets its frame pointer. */
u64 arch_thread_resumes(const struct thread *t, u64 *bp);
/* The saved user registers of a thread (top of its kernel stack). */
struct user_regs *arch_user_regs(struct thread *t);
/* exec: reset registers and FPU so that the return to user space starts at @pc with stack @sp. */
void arch_exec_regs(struct thread *t, u64 pc, u64 sp);
/*
 * Of the system call in @regs: its number, its six arguments, and how to run it again as number
 * @nr.
 */
static inline bool arch_is_syscall(const struct user_regs *regs); /* it entered the kernel so */
static inline long arch_syscall_nr(const struct user_regs *regs);
static inline const u64 *arch_syscall_args(const struct user_regs *regs);
static inline void arch_syscall_restart(struct user_regs *regs, long nr);
/* AT_HWCAP of the auxiliary vector; machine.h has ARCH_PLATFORM and ARCH_MIN_SIGSTACK for it. */
static inline u64 arch_hwcap(void);
/* FS base (thread pointer) of the running thread. */
void arch_set_tls(u64 base);
u64 arch_get_tls(void);

/* Build a signal frame, so that user space goes on in the handler; -EFAULT if the stack is bad. */
struct sigframe_request {
	int sig;
	u64 handler, restorer, flags;
	u64 old_mask;		     /* restored by rt_sigreturn */
	u64 altstack, altstack_size; /* 0: none */
	const void *siginfo;	     /* 128 bytes, Linux layout */
};
int arch_signal_frame(struct thread *t, const struct sigframe_request *req);
/* rt_sigreturn: restore the registers from the user's frame; *@mask gets the mask to restore. */
int arch_signal_return(struct thread *t, u64 *mask);

/* --- memory -------------------------------------------------------------------- */

/* All usable RAM is mapped here, writable and not executable. */
static inline void *phys_to_virt(u64 pa);
static inline u64 virt_to_phys(const void *va); /* direct map or kernel image */

enum pt_prot {
	PT_READ = 1,
	PT_WRITE = 2,
	PT_EXEC = 4,
	PT_USER = 8,
	PT_COW = 16, /* software bit: shared after fork, copy on write */
};

/*
 * A page table is named by the physical address of its root. arch_kernel_pt is the one of kernel
 * threads; its upper half is part of every other. Kernel areas are mapped into it, at
 * ARCH_VMAP_START..ARCH_VMAP_END. A page mapped with PT_USER alone is kept but inaccessible
 * (PROT_NONE).
 */
extern u64 arch_kernel_pt;
u64 arch_pt_create(void); /* 0: out of memory */
/*
 * Make sure that no CPU has @root loaded: a CPU whose thread is about to end may still have, and is
 * moved to arch_kernel_pt. Interrupts on.
 */
void arch_pt_unload(u64 root);
/* Frees the tables; the user half must be unmapped, and @root unloaded. */
void arch_pt_destroy(u64 root);
/* Map one page; replaces any old mapping. -ENOMEM. Does not flush for a new mapping. */
int arch_pt_map(u64 root, u64 va, u64 pa, unsigned prot);
/* Finds the physical address and prot of the page at @va; false if it is not mapped. */
bool arch_pt_lookup(u64 root, u64 va, u64 *pa, unsigned *prot);
/* Call @fn for each mapped page of [@start, @end); it returns the new prot, or 0 to unmap. */
void arch_pt_walk(u64 root, u64 start, u64 end,
		  unsigned (*fn)(void *arg, u64 va, u64 pa, unsigned prot), void *arg);
/*
 * Copy the mappings of [@start, @end) from @src to @dst; if @cow, both become read-only + PT_COW
 * where they were writable. @ref is called for each page. -ENOMEM: some are copied.
 */
int arch_pt_copy(u64 dst, u64 src, u64 start, u64 end, bool cow, void (*ref)(u64 pa));
/* Flush the translation of one page, on this CPU only. */
void arch_tlb_flush_page(u64 va);
/*
 * Flush the translations of @root on every CPU that has it loaded, this one included;
 * arch_kernel_pt means every CPU. Needed after a mapping was removed or lost rights, before its
 * frame is reused. Interrupts on (other CPUs are waited for).
 */
void arch_tlb_shootdown(u64 root);
/* Switch this CPU to @root (exec, exit); arch_kernel_pt is always allowed. */
void arch_pt_load(u64 root);

/*
 * The only ways to touch user memory. They return the number of bytes NOT copied; faults are
 * resolved (demand paging) or end the copy. May sleep. arch_copy_* check that the range is in the
 * user half.
 */
size_t arch_copy_from_user(void *dst, const void *src, size_t n);
size_t arch_copy_to_user(void *dst, const void *src, size_t n);
size_t arch_clear_user(void *dst, size_t n);
/* Store two adjacent words, such as a timespec. 0, or -EFAULT with perhaps the first stored. */
static inline int arch_user_store_pair(u64 *uaddr, u64 first, u64 second);
/*
 * Copy up to @n bytes, up to and including NUL. Returns the length without NUL, @n if there was no
 * NUL, or -EFAULT.
 */
long arch_strncpy_from_user(char *dst, const char *src, size_t n);
/*
 * Load, and compare and exchange, a futex word. 0 or -EFAULT. The word becomes @new_value if it
 * equals *@old; *@old gets the value found.
 */
int arch_user_load_u32(const u32 *uaddr, u32 *value);
int arch_user_cmpxchg_u32(u32 *uaddr, u32 *old, u32 new_value);

/* --- code that is not trusted (kernel/scx/) -------------------------------------- */

/* A call that can be left from the middle of what it calls. */
struct arch_guard {
	u64 sp;
};
/*
 * Call @fn with @args. True and *@result, or false: the call was left, by arch_guard_leave() on
 * this CPU or because of a fault (kernel_fault_guard()). Interrupts off.
 */
bool arch_guarded_call(struct arch_guard *g, void *fn, const u64 args[4], u64 *result);
__noreturn void arch_guard_leave(struct arch_guard *g);

/* --- the end ------------------------------------------------------------------- */

/* Leave QEMU by isa-debug-exit, as host exit codes 33 and 35; power off where it is missing. */
enum { EXIT_OK = 0x10, EXIT_FAILURE = 0x11 };
__noreturn void arch_exit(unsigned status);
__noreturn void arch_reboot(void);
/* Kernel messages: polled COM1 and the debug console. Any context. */
void arch_console_write(const char *s, size_t n);
/* Terminal output: COM1 only, polled. */
void arch_serial_write(const char *s, size_t n);
/* Terminal input: the bytes COM1 has received, at most @n. */
size_t arch_serial_read(char *buf, size_t n);

/* --- the screen, if kernel_screen() was called ---------------------------------- */

struct glyph; /* kernel/tty/vt.h */
/*
 * Draws @glyph at column @x of line @y, with dots of the colour that the low four bits of @colours
 * say, on that of the high four: 1 is red, 2 green, 4 blue, 8 bright.
 */
void arch_screen_draw(unsigned x, unsigned y, const struct glyph *glyph, u8 colours);
/* Terminal input: what the keys pressed since the last call stand for, at most @n bytes. */
size_t arch_keyboard_read(char *buf, size_t n);

/* --- what the architecture calls, all defined in kernel/ ----------------------- */

/* Boot CPU, on its idle stack, interrupts off; the other CPUs likewise. */
__noreturn void kernel_main(void);
__noreturn void kernel_secondary_main(unsigned cpu);
/*
 * The boot CPU, before kernel_main(): there is a screen of @cols times @rows characters. @cells has
 * room for twice as many. @has_serial: COM1 answers, so output goes there as well.
 */
void kernel_screen(u16 *cells, unsigned cols, unsigned rows, bool has_serial);
/* First code of a new thread: finishes the switch, turns interrupts on. */
void kernel_thread_begin(void);
/*
 * The handlers of system calls by number, to be called with interrupts on and their arguments'
 * address (arch_syscall_args). Numbers from NR_SYSCALLS on answer -ENOSYS.
 */
typedef long (*syscall_fn)(const u64 *args);
#define NR_SYSCALLS 512
extern syscall_fn kernel_syscalls[NR_SYSCALLS];
/* A system call answered ERESTARTSYS..ERESTART_RESTARTBLOCK; @regs hold the answer too. */
void kernel_syscall_restarts(const struct user_regs *regs);
/* When user space is interrupted, kernel_enter_from_user() of kernel/task/thread.h comes first. */
/* Interrupts off, irq_depth counted. */
void kernel_timer_interrupt(void);
void kernel_ipi_reschedule(void);
void kernel_irq(unsigned irq);
/*
 * Called on the way out of every interrupt into kernel code with interrupts on: preempt if wanted.
 */
void kernel_preempt_irq(void);
/* Called on the way to user space: reschedule, deliver signals. Interrupts off, also on return. */
void kernel_exit_to_user(struct user_regs *regs);
/*
 * Resolve a page fault; @write, @exec and @user describe the access. Returns true if it was
 * resolved. If @user the answer is always true: a fault that could not be resolved has become a
 * signal (kernel_user_fault). Interrupts on; may sleep. With preemption off (a user access under a
 * spin lock) nothing is resolved, and the access fails with -EFAULT.
 */
bool kernel_page_fault(u64 addr, bool write, bool exec, bool user);
/* A user-mode fault that is not a resolved page fault becomes signal @sig with si_code @code. */
void kernel_user_fault(struct user_regs *regs, int sig, int code, u64 addr);
/* An answer to arch_cpu_backtrace(), at any instruction: print what the CPU does. */
void kernel_nmi_backtrace(const struct user_regs *regs);
/* This CPU has waited since @since_ns until @cpu answers a call. Interrupts are on. */
void kernel_awaits(u64 since_ns, unsigned cpu);
/*
 * A fault in kernel mode with no fixup: the guarded call of this CPU that ends with it, or NULL. It
 * came at @ip, and touched @addr.
 */
struct arch_guard *kernel_fault_guard(const char *what, u64 ip, u64 addr);
/*
 * A division fault in kernel mode at @ip: the length of the instruction if it is to be skipped,
 * with its results in @ax and @dx, or 0.
 */
unsigned kernel_skip_division(u64 ip, u64 *ax, u64 *dx);
/* A fault in kernel mode with no fixup: @regs are the kernel's there, @addr what it touched. */
__noreturn void kernel_oops(const char *what, const struct user_regs *regs, u64 addr);

#include "machine_inline.h" /* arch/x86: the inline functions declared above */
