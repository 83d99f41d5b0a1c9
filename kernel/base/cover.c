/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coverage for a fuzzer on the host. A kernel of COVER=1 alone has this file; place.h counts how
 * often each place of kernel/ is reached.
 *
 * The host sees the machine's memory, and in it cover_link. It writes a program there and counts
 * @asked up. The guest's `fuzz --link` reads the program from /sys/kernel/debug/fuzz_link, runs it,
 * and writes back how that ended; the kernel then sets @answered. Then the host reads which places
 * were reached, and clears their counts.
 *
 * Locking: one reader of fuzz_link; the host waits for @answered.
 */
#include "kernel/contract.h"
#include "kernel/percpu.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/sync.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define MAX_PROGRAM 1024

STATIC_ASSERT(offsetof(struct cpu, irq_depth) == 48, "place.h");
STATIC_ASSERT(offsetof(struct cpu, running) == 8, "place.h");
STATIC_ASSERT(offsetof(struct thread, injection.may_fail) == 20, "place.h");

/* The host's side is tools/scripts/fuzzing/guest.py. */
struct cover_link {
	u32 is_ready; /* a guest has asked for a program */
	u32 asked;    /* the number of the program that is here */
	u32 answered; /* that of the last one that has been run */
	u32 status;   /* of that one: bits 0 and 1: what is wrong; the others: calls made */
	u32 length;
	u8 program[MAX_PROGRAM];
};

struct cover_link cover_link;

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
