/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /sys/kernel/debug/provoke-crash/DIRECT: the writer breaks the kernel in the way it names, so that
 * whoever watches over the kernel can be tested. File and names are those of Linux's lkdtm.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/sync.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

/* Without arch_cpu_relax(): under -icount each pause ends a turn, and a second would take hours. */
static void spin_for_ever(void)
{
	for (;;)
		barrier();
}

static void provoke_panic(void)
{
	panic("provoked");
}

/* With the last of @left CPUs to come here. */
static void panic_together(void *left)
{
	__atomic_sub_fetch((u32 *)left, 1, __ATOMIC_RELAXED);
	while (READ_ONCE(*(u32 *)left))
		arch_cpu_relax();
	panic("provoked on cpu %u", arch_cpu_id());
}

/* All CPUs but the writer's panic at once. */
static void provoke_panics(void)
{
	u32 left = arch_nr_cpus - 1;

	arch_call_others(panic_together, &left);
}

/* The panic comes in an NMI, and what it is to print is broken too. */
static void provoke_nmi_panic(void)
{
	arch_irq_disable();
	this_cpu()->running = (struct thread *)8;
	arch_cpu_backtrace(arch_cpu_id());
}

/* The writer's CPU stops in the middle of a message, and keeps the console. */
static void provoke_consolelockup(void)
{
	arch_irq_disable();
	console_take_over();
	kprintf("half a line");
	spin_for_ever();
}

/* The writer's CPU takes no interrupts any more. */
static void provoke_hardlockup(void)
{
	arch_irq_disable();
	spin_for_ever();
}

/* The writer's CPU does not switch any more. */
static void provoke_softlockup(void)
{
	preempt_disable();
	spin_for_ever();
}

/* The writer keeps a lock for longer than anybody should, and gives it back. */
static void provoke_long_lock(void)
{
	static struct spinlock lock = SPINLOCK_INIT("provoke long");
	u64 start = arch_clock_ns();

	spin_lock(&lock);
	while (arch_clock_ns() - start < 2 * NS_PER_SEC)
		barrier();
	spin_unlock(&lock);
}

/* From the second write on, the writer waits for a lock that the first never gives back. */
static void provoke_spinlockup(void)
{
	static struct spinlock lock = SPINLOCK_INIT("provoke");

	spin_lock_irqsave(&lock);
	arch_irq_enable();
	preempt_enable();
}

/* The writer sleeps, and nobody will wake it. It holds a mutex that the next writers wait for. */
static void provoke_hung_task(void)
{
	static struct mutex held = MUTEX_INIT(held);

	mutex_lock(&held);
	with_irqs_off(sched_block(&current->task, TASK_UNINTERRUPTIBLE));
	schedule();
}

/* The function writes beyond its array, as with a string that is too long. */
static __noinline void provoke_corrupt_stack(void)
{
	char bytes[8];
	volatile size_t n = 2 * sizeof(bytes);

	memset(bytes, 'a', n);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

/* A word of an object is written to when that is free, and its next user comes. */
static void provoke_write_after_free(void)
{
	u64 *object = kmalloc(64);

	if (!object)
		return;
	kfree(object);
	WRITE_ONCE(object[2], 1);
	kfree(kmalloc(64));
}

/* The same of a page. */
static void provoke_write_buddy_after_free(void)
{
	u64 pa = page_alloc(0);

	if (!pa)
		return;
	page_put(pa);
	WRITE_ONCE(*(u64 *)phys_to_virt(pa), 1);
	page_put(page_alloc(0));
}

static const struct way {
	const char *name;
	void (*fn)(void);
} ways[] = {
	{ "PANIC", provoke_panic },
	{ "HARDLOCKUP", provoke_hardlockup },
	{ "SOFTLOCKUP", provoke_softlockup },
	{ "SPINLOCKUP", provoke_spinlockup },
	{ "HUNG_TASK", provoke_hung_task },
	{ "PANICS", provoke_panics },
	{ "NMI_PANIC", provoke_nmi_panic },
	{ "CONSOLELOCKUP", provoke_consolelockup },
	{ "LONG_LOCK", provoke_long_lock },
	{ "CORRUPT_STACK", provoke_corrupt_stack },
	{ "WRITE_AFTER_FREE", provoke_write_after_free },
	{ "WRITE_BUDDY_AFTER_FREE", provoke_write_buddy_after_free },
};

static size_t show_ways(void *arg, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	(void)arg;
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++)
		text_add(&out, "%s\n", ways[i].name);
	return out.len;
}

static long provoke(void *arg, const char *text, size_t len)
{
	size_t n = pseudo_trim(text, len);

	(void)arg;
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++)
		if (strlen(ways[i].name) == n && !memcmp(ways[i].name, text, n)) {
			kprintf("lkdtm: Performing direct entry %s\n", ways[i].name);
			ways[i].fn();
			return (long)len;
		}
	return -EINVAL;
}

static int provoke_init(void)
{
	static const struct pseudo_file file = {
		.name = "provoke-crash/DIRECT", .mode = 0600, .show = show_ways, .store = provoke
	};

	return debugfs_add(&file);
}
INITCALL(provoke_init);
