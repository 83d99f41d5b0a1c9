/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vDSO: system calls that need no kernel, as a shared object that the kernel maps into every
 * program (kernel/exec/vdso.c). C libraries find it through AT_SYSINFO_EHDR and call what they know
 * by name and version (vdso.lds). It runs in user mode, as part of the program, without data of
 * its own; of the kernel it sees only the page vvar.
 *
 * Time is the TSC, as it is for the kernel (arch/x86/clock.c), read with a sequence counter: if it
 * is odd, or different afterwards, the kernel was changing the clock. What cannot be answered here
 * becomes the real system call.
 *
 * Reference: vdso(7).
 */
#include "vvar.h"

#include "lib/math64.h"

#define SYS_gettimeofday  96
#define SYS_time	  201
#define SYS_clock_gettime 228

enum { CLOCK_REALTIME };

struct timespec {
	s64 sec, nsec;
};

struct timeval {
	s64 sec, usec;
};

struct timezone {
	s32 minutes_west, dst_time;
};

/* Not const: the kernel changes it, and the compiler must not read it once for all. */
extern struct vvar vvar __attribute__((visibility("hidden")));

int __vdso_clock_gettime(int id, struct timespec *ts);
int __vdso_gettimeofday(struct timeval *tv, struct timezone *tz);
s64 __vdso_time(s64 *t);
int __vdso_getcpu(unsigned *cpu, unsigned *node, void *unused);

static long syscall2(long nr, long a, const void *b)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(nr), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return result;
}

/* The fence keeps hardware from reading the counter before the instructions above have ended. */
static inline u64 rdtsc_ordered(void)
{
	u64 low, high; /* the instruction clears the upper halves */

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return high << 32 | low;
}

/*
 * Reads clock @id in ns; false if it cannot be read here. The loads between the fences are plain
 * ones.
 */
static inline bool read_clock(unsigned id, u64 *ns)
{
	u32 sequence;

	if (unlikely(id >= VVAR_CLOCKS))
		return false;
	do {
		sequence = vvar.sequence;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		u64 offset_ns = vvar.offset_ns[id];
		if (unlikely(offset_ns == VVAR_NO_CLOCK))
			return false;
		*ns = offset_ns + mul_shr(rdtsc_ordered() - vvar.tsc_base, vvar.ns_per_tick, 32);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* Rounded down: while it is odd they differ. */
	} while (unlikely((sequence & ~1u) != vvar.sequence));
	return true;
}

int __vdso_clock_gettime(int id, struct timespec *ts)
{
	u64 ns;

	if (unlikely(!read_clock((unsigned)id, &ns)))
		return (int)syscall2(SYS_clock_gettime, id, ts);
	ts->sec = (s64)(ns / NS_PER_SEC);
	ts->nsec = (s64)(ns % NS_PER_SEC);
	return 0;
}

int __vdso_gettimeofday(struct timeval *tv, struct timezone *tz)
{
	u64 ns;

	if (unlikely(!read_clock(CLOCK_REALTIME, &ns)))
		return (int)syscall2(SYS_gettimeofday, (long)tv, tz);
	if (tv) {
		tv->sec = (s64)(ns / NS_PER_SEC);
		tv->usec = (s64)(ns % NS_PER_SEC / NS_PER_US);
	}
	if (tz)
		*tz = (struct timezone){ 0 };
	return 0;
}

s64 __vdso_time(s64 *t)
{
	u64 ns;

	if (unlikely(!read_clock(CLOCK_REALTIME, &ns)))
		return syscall2(SYS_time, (long)t, NULL);
	s64 now = (s64)(ns / NS_PER_SEC);

	if (t)
		*t = now;
	return now;
}

/* The kernel keeps the answer in the limit of a segment, on each CPU. */
int __vdso_getcpu(unsigned *cpu, unsigned *node, void *unused)
{
	u32 limit;

	(void)unused;
	__asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(VDSO_CPU_SELECTOR) : "cc");
	if (cpu)
		*cpu = limit & ((1u << VDSO_CPU_BITS) - 1);
	if (node)
		*node = limit >> VDSO_CPU_BITS;
	return 0;
}
