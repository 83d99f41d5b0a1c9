/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel messages: formatted here, stamped with the time, kept in a ring for dmesg, and written to
 * the console.
 *
 * The lock is this file's own: a message may come from any context, from inside the lock code or
 * from a panic, so the CPU that holds it may enter again, and a panic takes it from a CPU that was
 * stopped.
 */
#include <stdarg.h>
#include "kernel/kernel.h"
#include "kernel/arch.h"
#include "kernel/percpu.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define LOG_SIZE  (64 * 1024)
#define LINE_SIZE 512
STATIC_ASSERT((LOG_SIZE & (LOG_SIZE - 1)) == 0, "a power of two: the remainder is one instruction");

static char log[LOG_SIZE];
static u64 log_end;  /* bytes ever written */
static u64 shown;    /* the same at the last write to the console that was completed */
static u32 owner;    /* CPU number + 1; 0: free */
static bool in_line; /* the last message did not end its line */
static bool quiet;   /* messages are kept, but not written to the console */

/* Where messages go; with a screen kernel/tty/screen.c has its own. */
void (*console_line)(const char *s, size_t n) = arch_console_write;

/* An owner that keeps the console for so long has locked up, and somebody wants to say so. */
#define PATIENCE_NS (5 * NS_PER_SEC)

/* After PATIENCE_NS a waiter takes the lock away: mixed lines are better than none. */
static __noinline void wait_for_owner(u32 me)
{
	u64 start = arch_clock_ns();

	for (u32 nobody = 0; !__atomic_compare_exchange_n(&owner, &nobody, me, false,
							  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
	     nobody = 0) {
		if (arch_clock_ns() - start > PATIENCE_NS) {
			console_take_over();
			return;
		}
		arch_cpu_relax();
	}
}

static bool console_lock(void)
{
	u32 me = arch_cpu_id() + 1, nobody = 0;

	if (READ_ONCE(owner) == me)
		return false;
	if (!__atomic_compare_exchange_n(&owner, &nobody, me, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		wait_for_owner(me);
	return true;
}

/* @locked: as console_lock() returned. @flags: of the interrupts before. */
static __inlined void console_unlock(bool locked, unsigned long flags)
{
	if (locked)
		__atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
	arch_irq_restore(flags);
}

/* The log comes first: a panic shows again, and in whole, what did not get to the console. */
static void emit(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		log[log_end++ % LOG_SIZE] = s[i];
	if (unlikely(quiet))
		return;
	console_line(s, n);
	shown = log_end;
}

static void show_rest(void)
{
	u64 from = max(shown, log_end > LOG_SIZE ? log_end - LOG_SIZE : 0);

	console_line("\n", 1);
	while (from < log_end) {
		u64 at = from % LOG_SIZE, n = min(log_end - from, LOG_SIZE - at);

		console_line(log + at, n);
		from += n;
	}
	shown = log_end;
}

void console_take_over(void)
{
	WRITE_ONCE(owner, arch_cpu_id() + 1);
	quiet = false;
	if (shown != log_end)
		show_rest();
	if (log_end && log[(log_end - 1) % LOG_SIZE] != '\n')
		emit("\n", 1);
	in_line = false;
}

void console_be_quiet(bool yes)
{
	WRITE_ONCE(quiet, yes);
	shown = log_end;
}

static void emit_stamp(void)
{
	char stamp[32];
	u64 us = arch_clock_ns() / NS_PER_US;

	emit(stamp, snprintf(stamp, sizeof(stamp), "[%5lu.%06lu] ", us / 1000000, us % 1000000));
}

void kprintf(const char *fmt, ...)
{
	char line[LINE_SIZE];
	unsigned long flags;
	va_list args;
	size_t n;
	bool locked;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (n >= sizeof(line)) { /* what is cut off is still a line */
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	flags = arch_irq_save();
	locked = console_lock();
	if (!in_line)
		emit_stamp();
	emit(line, n);
	in_line = n && line[n - 1] != '\n';
	console_unlock(locked, flags);
}

/* Text of any length, as it is: dumps. */
void console_write(const char *s, size_t n)
{
	unsigned long flags = arch_irq_save();
	bool locked = console_lock();

	emit(s, n);
	in_line = n && s[n - 1] != '\n';
	console_unlock(locked, flags);
}

void console_exclude(void (*fn)(const char *s, size_t n), const char *s, size_t n)
{
	unsigned long flags = arch_irq_save();
	bool locked = console_lock();

	fn(s, n);
	console_unlock(locked, flags);
}

size_t klog_read(char *buf, size_t size)
{
	unsigned long flags = arch_irq_save();
	bool locked = console_lock();
	size_t n = min(log_end, (u64)LOG_SIZE);

	n = min(n, size);
	for (size_t i = 0; i < n; i++)
		buf[i] = log[(log_end - n + i) % LOG_SIZE];
	console_unlock(locked, flags);
	return n;
}
