/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coverage for a fuzzer on the host. A kernel of COVER=1 alone has this file; the compiler calls it
 * at every place, that is basic block, of kernel/.
 *
 * The host sees the machine's memory, and in it cover_link. It writes a program there and counts
 * @asked up. The guest's `fuzz --link` reads the program from /sys/kernel/debug/fuzz_link, runs it,
 * and writes back how that ended; the kernel then sets @answered. Meanwhile @reached counts how
 * often each place was reached by threads that make-it-fail marks, and not by interrupts.
 *
 * Locking: one reader of fuzz_link; the host waits for @answered. Counts are not exact when two
 * CPUs reach a place at once.
 */
#include "kernel/contract.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/sync.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define MAX_PROGRAM 1024
#define NR_PLACES   (1u << 18)
#define PLACE_SIZE  4 /* in bytes of code: the call that reports a place has five */

/* The host's side is tools/scripts/fuzzing/guest.py. */
struct cover_link {
	u32 is_ready; /* a guest has asked for a program */
	u32 asked;    /* the number of the program that is here */
	u32 answered; /* that of the last one that has been run */
	u32 status;   /* of that one; 0: nothing is wrong */
	u32 length;
	u8 program[MAX_PROGRAM];
	u8 reached[NR_PLACES]; /* by that program; cleared by the host */
	bool ever[NR_PLACES];  /* by any */
};

struct cover_link cover_link;

extern const char image_start[];

void __sanitizer_cov_trace_pc(void);

/* The caller is an object file that was compiled with -fsanitize-coverage=trace-pc. */
void __sanitizer_cov_trace_pc(void)
{
	u64 place = ((u64)__builtin_return_address(0) - (u64)image_start) / PLACE_SIZE;

	if (!cover_link.is_ready || arch_in_irq() || place >= NR_PLACES)
		return;
	if (!current || !current->injection.may_fail)
		return;
	cover_link.ever[place] = true;
	if (cover_link.reached[place] < UINT8_MAX)
		cover_link.reached[place]++;
}

/* Waits for the next program, which is copied to @buf if it fits into @size. Returns its length. */
static size_t show_link(void *arg, char *buf, size_t size)
{
	(void)arg;
	WRITE_ONCE(cover_link.is_ready, 1);
	while (__atomic_load_n(&cover_link.asked, __ATOMIC_ACQUIRE) == cover_link.answered) {
		cond_resched();
		arch_cpu_relax();
	}
	u32 length = min(cover_link.length, (u32)MAX_PROGRAM);

	memcpy(buf, cover_link.program, min((size_t)length, size));
	return length;
}

static long store_link(void *arg, const char *text, size_t len)
{
	u64 status;

	(void)arg;
	if (parse_u64(text, len, &status))
		return -EINVAL;
	cover_link.status = (u32)status;
	__atomic_store_n(&cover_link.answered, cover_link.asked, __ATOMIC_RELEASE);
	return (long)len;
}

static int cover_init(void)
{
	static const struct pseudo_file file = {
		.name = "fuzz_link", .mode = 0600, .show = show_link, .store = store_link
	};

	return debugfs_add(&file);
}
INITCALL(cover_init);
