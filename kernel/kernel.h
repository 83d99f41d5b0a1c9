/* SPDX-License-Identifier: GPL-2.0-only */
/* Services every part of the kernel uses: messages, panic, assertions, the command line. */
#pragma once

#include "lib/types.h"

/* "gcc 12.2.0" or "Debian Clang 14.0.6": clang's version string includes its name. */
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* The first call of a debug kernel: canaries get their value. Its caller never returns. */
void canary_draw(u64 seed);

/* Formatted message to the console and the log (dmesg). Any context. */
void kprintf(const char *fmt, ...) __printf(1, 2);
/* Text as it is, of any length. */
void console_write(const char *s, size_t n);
/*
 * For panic: the console is this CPU's, whoever held it. Begins a line, after what a quiet boot or
 * a stopped CPU has not written.
 */
void console_take_over(void);
extern void (*console_line)(const char *s, size_t n); /* where messages go */
/* Calls @fn(@s, @n) while nobody writes a message. Any context. */
void console_exclude(void (*fn)(const char *s, size_t n), const char *s, size_t n);
/* From now on messages are kept for dmesg, but only a panic writes them to the console. */
void console_be_quiet(bool yes);
/* The newest text of the log that fits; returns the size used. */
size_t klog_read(char *buf, size_t size);

/*
 * Print the reason, a symbolised backtrace, what the other CPUs did and every runqueue; leave QEMU
 * with failure.
 */
__noreturn void panic(const char *fmt, ...) __printf(1, 2);
void backtrace_print(u64 bp);
struct thread;
void backtrace_thread(const struct thread *t); /* of one that does not run */
void backtrace_interrupted(void);	       /* of kernel code, in an interrupt from it */
void backtrace_all_cpus(void);		       /* by NMI: each says itself what it does */
void dump_runqueues(void);		       /* of every CPU, to the console; in a panic */
void show_runqueues(void);		       /* the same of a machine that goes on; may sleep */
/* False while the first CPU builds all up, with interrupts off. */
extern bool kernel_has_threads;
/* Number + 1 of the CPU that panics, or 0. The panicking CPU is alone and waits for no lock. */
extern u32 panic_cpu;

/*
 * Names of functions, sorted by address; tools/scripts/symbols.py appends them to the image after
 * the link.
 * @entries: address relative to the image base, offset of the name in the text behind the entries.
 */
struct symbol_table {
	u32 bytes; /* of everything */
	u32 nr;
	struct symbol {
		u32 addr, name;
	} entries[];
};
extern const struct symbol_table symbol_table;
/* "name+0x12" of a kernel address; the bare number if it lies in no function. Returns @buf. */
const char *symbol_name(u64 addr, char *buf, size_t size);

#define assert(cond)                                                                               \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			panic("%s:%d: assertion failed: %s", __FILE__, __LINE__, #cond);           \
	} while (0)
/* The same in DEBUG builds alone: for code that runs often, which others pay for no check. */
#define debug_assert(cond)                                                                         \
	do {                                                                                       \
		if (DEBUG)                                                                         \
			assert(cond);                                                              \
	} while (0)

/* Value of NAME=value on the kernel command line, or NULL; a bare NAME is "". Valid after boot. */
const char *cmdline_get(const char *name);
u64 cmdline_get_u64(const char *name, u64 otherwise);
/* Say which words of the command line the kernel does not know. */
void cmdline_check(void);
/*
 * After cmdline_check(): put up to @max of these words into @list and return their number. As on
 * Linux, NAME=value (@variables) is for the environment of the first program, a bare name for its
 * arguments.
 */
unsigned cmdline_for_init(bool variables, char **list, unsigned max);

/* For uname(2) and /proc. The release is that of the Linux that is followed. */
#define OS_TYPE	   "Linux"
#define OS_RELEASE "6.1.0-fairground"
#define OS_VERSION "#1 SMP PREEMPT"

/* End in order: print @status (if negative, the status that init left in debugfs) and power off. */
__noreturn void kernel_shutdown(int status);
/* Bytes from the run's one random sequence (seed=), so that runs repeat. Thread context. */
void random_bytes(void *buf, size_t n);

/* Functions that initialise a part: run in link order after the core is up, in thread context. */
typedef int (*initcall_fn)(void);
#define INITCALL(fn) static initcall_fn initcall_##fn __section("initcall") = (fn)

/* In-kernel tests: run with selftest= on the command line, reported as KTAP. 0 is success. */
struct selftest {
	const char *name;
	int (*fn)(void);
};
/* Run those whose name matches the shell pattern; returns how many failed. */
unsigned selftests_run(const char *pattern);
#define SELFTEST(ident)                                                                            \
	static int selftest_##ident(void);                                                         \
	static const struct selftest entry_##ident __section(".selftest") = { #ident,              \
									      selftest_##ident };  \
	static int selftest_##ident(void)
#define SELFTEST_CHECK(cond)                                                                       \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			kprintf("# %s:%d: check failed: %s\n", __FILE__, __LINE__, #cond);         \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)
