/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order in which the kernel comes up. arch/x86/boot.c has brought the boot CPU here with
 * paging, traps, interrupt controllers, clock and topology; the tables below are the rest.
 *
 *	kernel_main            boot CPU: memory, threads; ends as CPU 0's idle thread
 *	kernel_secondary_main  every other CPU: into service, then its idle thread
 *	late                   a kernel thread: the other CPUs, file systems, initcalls, then
 *	                       init or the tests
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/arch.h"
#include "kernel/fs/fs.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/task/fork.h"
#include "kernel/task/proc.h"
#include "kernel/trace/trace.h"
#include "kernel/tty/tty.h"
#include "kernel/task/preempt.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

static void announce(void)
{
	console_be_quiet(cmdline_get("quiet"));
	kprintf("Fairground " VERSION ", %s, by %s, commit " COMMIT "\n", COMPILER,
		boot_info.loader);
	kprintf("command line: %s\n", boot_info.cmdline);
}

static void console_input_init(void)
{
	tty_init();
	arch_irq_unmask(SERIAL_IRQ);
}

static void initcalls_run(void)
{
	debug_assert(may_sleep());
	extern const initcall_fn initcall_start[], initcall_end[];
	char name[64];

	for (const initcall_fn *fn = initcall_start; fn < initcall_end; fn++) {
		int err = (*fn)();

		if (err)
			kprintf("%s failed: %d\n", symbol_name((u64)*fn, name, sizeof(name)), err);
	}
}

typedef void (*boot_fn)(void);

static const boot_fn early[] = {
	announce,  cmdline_check, page_init,  slab_init,       mm_init, arch_print_topology,
	task_init, preempt_init,  trace_init, task_cpu_online,
};

static const boot_fn late[] = {
	arch_start_cpus,
	fs_init,
	console_input_init,
	initcalls_run,
};

/* --- the end of an orderly run ------------------------------------------------- */

static unsigned exit_status; /* exit status of the run's command, which init writes to debugfs */

static size_t exit_status_show(void *arg, char *buf, size_t size)
{
	(void)arg;
	return snprintf(buf, size, "%u\n", exit_status);
}

static long exit_status_store(void *arg, const char *text, size_t len)
{
	u64 status;
	int err = parse_u64(text, len, &status);

	(void)arg;
	if (err)
		return err;
	if (status > 255)
		return -ERANGE;
	exit_status = status;
	return len;
}

static int exit_status_init(void)
{
	static const struct pseudo_file file = { .name = "exit_status",
						 .mode = 0644,
						 .show = exit_status_show,
						 .store = exit_status_store };

	return debugfs_add(&file);
}
INITCALL(exit_status_init);

/* The last line of the console is the runner's proof that the run ended as it should. */
static __noreturn void end_run(unsigned status, unsigned how)
{
	debug_assert(status <= 255);
	kprintf("fairground: exit status %u\n", status);
	arch_exit(how);
}

__noreturn void kernel_shutdown(int status)
{
	end_run(status < 0 ? exit_status : (unsigned)status, EXIT_OK);
}

static __noreturn void run_selftests(const char *pattern)
{
	unsigned failed = selftests_run(pattern);

	end_run(failed != 0, failed ? EXIT_FAILURE : EXIT_OK);
}

bool kernel_has_threads;

static void late_main(void *unused)
{
	const char *pattern = cmdline_get("selftest");
	int err;

	(void)unused;
	kernel_has_threads = true;
	for (unsigned i = 0; i < ARRAY_SIZE(late); i++)
		late[i]();
	console_be_quiet(false);
	if (pattern)
		run_selftests(pattern);
	err = proc_start_init("/init");
	if (err)
		panic("no /init: error %d", err);
}

__noreturn void kernel_main(void)
{
	debug_assert(!arch_irq_enabled());
	for (unsigned i = 0; i < ARRAY_SIZE(early); i++)
		early[i]();
	if (!kthread_create("late", late_main, NULL))
		panic("no memory for the first thread");
	idle_loop();
}

__noreturn void kernel_secondary_main(unsigned cpu)
{
	debug_assert(cpu == arch_cpu_id());
	debug_assert(!arch_irq_enabled());
	task_cpu_online();
	idle_loop();
}

void kernel_irq(unsigned irq)
{
	size_t (*read)(char *buf, size_t n) = arch_serial_read;
	char buf[32];
	size_t n;

	debug_assert(arch_in_irq());
	debug_assert(!arch_irq_enabled());
	if (irq == KEYBOARD_IRQ)
		read = arch_keyboard_read;
	else if (irq != SERIAL_IRQ)
		return;
	while ((n = read(buf, sizeof(buf))))
		tty_receive(buf, n);
}
