/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Failures on order: who fails, and what has been tried. Debug builds alone have this file.
 *
 * A failure has one of three kinds, each with a directory of debugfs: failslab (small objects),
 * fail_page_alloc, fail_usercopy. Its numbers choose at random. A thread whose fail-nth is N
 * overrides them: its Nth call that can fail does so, of whatever kind, except pages that
 * fail_page_alloc leaves out. Interrupts are not counted to the thread that they interrupt.
 *
 * /sys/kernel/debug/fail_sites has a line for each place that a thread with fail-nth came to: its
 * kind, the system call, how often it was reached and made to fail, the function that asked and
 * that one's caller. A write empties it. fail_in_use counts objects and pages, to find what a way
 * out forgets.
 *
 * Locking: the numbers are read and written without a lock; sites_lock is for the sites. It is
 * taken with any other lock held, and none is taken below it.
 */
#include "kernel/base/inject.h"

#include "kernel/contract.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/procfs.h"
#include "kernel/sync.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/prng.h"
#include "lib/string.h"

static struct attribute { /* Linux's names, with "_" for "-" */
	const char *name;
	s64 probability; /* of a failure, in per cent */
	s64 interval;	 /* only each so many calls */
	s64 times;	 /* failures that are left; -1: no end */
	s64 space;	 /* not before so many bytes were handed out */
	s64 verbose;	 /* 0: silent, 1: a message, 2: and a backtrace */
	s64 task_filter; /* only threads whose make-it-fail is 1 */
	s64 count;	 /* calls so far, for the interval */
} attributes[NR_INJECT_KINDS] = {
	[INJECT_SLAB] = { "failslab", .interval = 1, .times = 1, .verbose = 2 },
	[INJECT_PAGE] = { "fail_page_alloc", .interval = 1, .times = 1, .verbose = 2 },
	[INJECT_COPY] = { "fail_usercopy", .interval = 1, .times = 1, .verbose = 2 },
};

/* Of fail_page_alloc: the smallest order that fails; do pages for programs never fail? */
static s64 min_order = 1, ignore_highmem = 1;

static s64 in_use[NR_INJECT_KINDS];

/* --- places ----------------------------------------------------------------------- */

#define NR_SITES 8192

static struct site {
	u64 ip, caller; /* return addresses; 0: no site */
	short call;	/* number of the system call; -1: a page fault of the program */
	u8 kind;
	u32 reached, taken;
} sites[NR_SITES];
static unsigned nr_sites;
static struct spinlock sites_lock = SPINLOCK_INIT("fail sites");

static bool is_same(const struct site *a, const struct site *b)
{
	return a->ip == b->ip && a->caller == b->caller && a->call == b->call && a->kind == b->kind;
}

/* The entry of @site, made if it is missing; NULL if there is no room. */
static struct site *find_site(const struct site *site)
{
	u64 hash = (site->ip ^ site->caller << 7 ^ (u64)site->call << 20) * 0x9e3779b97f4a7c15ull;
	unsigned i = (unsigned)(hash >> 32) % NR_SITES;

	debug_assert(spin_is_held(&sites_lock));
	while (sites[i].ip && !is_same(&sites[i], site))
		i = (i + 1) % NR_SITES;
	if (!sites[i].ip) {
		if (nr_sites == NR_SITES - 1)
			return NULL;
		nr_sites++;
		sites[i] = *site;
	}
	return &sites[i];
}

/* The address to which the function of stack frame @frame returns. */
static u64 return_address(const u64 *frame)
{
	u64 offset = (u64)frame - (u64)current->kstack;

	return offset < KSTACK_SIZE - sizeof(*frame) ? frame[1] : 0;
}

/* @frame is that of the allocator or of the copy: it was called by the place. */
static void count_site(enum inject_kind kind, bool taken, const u64 *frame)
{
	const struct user_regs *regs = arch_user_regs(current);
	struct site site = {
		.ip = return_address(frame),
		.caller = return_address((const u64 *)frame[0]),
		.call = (short)(arch_is_syscall(regs) ? arch_syscall_nr(regs) : -1),
		.kind = (u8)kind,
	};
	unsigned long flags = spin_lock_irqsave(&sites_lock);
	struct site *found = find_site(&site);

	if (found) {
		found->reached++;
		found->taken += taken;
	}
	spin_unlock_irqrestore(&sites_lock, flags);
}

static const char *const call_names[NR_SYSCALLS] = {
#define SYSCALL(nr, name) [nr] = #name,
#include "kernel/syscall/syscall.def"
#undef SYSCALL
};

static void print_site(struct text *t, const struct site *s)
{
	const char *call = s->call < 0 ? "-" : call_names[(unsigned)s->call % NR_SYSCALLS];
	char ip[64], caller[64];

	text_add(t, "%s %s %u %u %s %s\n", attributes[s->kind].name, call ?: "unknown", s->reached,
		 s->taken, symbol_name(s->ip, ip, sizeof(ip)),
		 symbol_name(s->caller, caller, sizeof(caller)));
}

static size_t show_sites(void *arg, char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	(void)arg;
	for (unsigned i = 0; i < NR_SITES; i++) {
		unsigned long flags = spin_lock_irqsave(&sites_lock);
		struct site site = sites[i];

		spin_unlock_irqrestore(&sites_lock, flags);
		if (site.ip)
			print_site(&t, &site);
	}
	return t.len;
}

static long store_sites(void *arg, const char *text, size_t len)
{
	unsigned long flags = spin_lock_irqsave(&sites_lock);

	(void)arg, (void)text;
	memset(sites, 0, sizeof(sites));
	nr_sites = 0;
	spin_unlock_irqrestore(&sites_lock, flags);
	return (long)len;
}

/* --- does this call fail? --------------------------------------------------------- */

static bool draw(s64 percent)
{
	static struct prng prng = { 1 };

	return prng_below(&prng, 100) < percent;
}

/* The next of a sequence that all CPUs share. */
static bool is_turn(struct attribute *a)
{
	return __atomic_add_fetch(&a->count, 1, __ATOMIC_RELAXED) % max(a->interval, 1) == 0;
}

static bool chance_fails(struct attribute *a, const struct thread *t, size_t size)
{
	if (!READ_ONCE(a->probability) || !READ_ONCE(a->times))
		return false;
	if (READ_ONCE(a->task_filter) && !(t && t->injection.may_fail))
		return false;
	if (READ_ONCE(a->space) > (s64)size) {
		__atomic_sub_fetch(&a->space, (s64)size, __ATOMIC_RELAXED);
		return false;
	}
	return is_turn(a) && draw(READ_ONCE(a->probability));
}

static void say(const struct attribute *a)
{
	if (a->verbose)
		kprintf("FAULT_INJECTION: forcing a failure.\n"
			"name %s, interval %ld, probability %ld, space %ld, times %ld\n",
			a->name, a->interval, a->probability, a->space, a->times);
	if (a->verbose > 1)
		backtrace_print((u64)__builtin_frame_address(0));
}

static bool fail(struct attribute *a, struct thread *t, enum inject_kind kind)
{
	say(a);
	if (READ_ONCE(a->times) > 0)
		__atomic_sub_fetch(&a->times, 1, __ATOMIC_RELAXED);
	if (t && kind != INJECT_COPY)
		t->injection.took_memory = true;
	return true;
}

static bool decide(enum inject_kind kind, size_t size, const u64 *frame)
{
	struct thread *t = arch_in_irq() ? NULL : current;
	struct attribute *a = &attributes[kind];
	u32 nth = t ? READ_ONCE(t->injection.nth) : 0;

	if (!nth)
		return chance_fails(a, t, size) && fail(a, t, kind);
	WRITE_ONCE(t->injection.nth, nth - 1);
	count_site(kind, nth == 1, frame);
	return nth == 1 && fail(a, t, kind);
}

/* Does the call of the allocator or copy that asks this fail? Any context. */
bool inject_fails(enum inject_kind kind, size_t size)
{
	const u64 *frame = __builtin_frame_address(0);

	return decide(kind, size, (const u64 *)frame[0]);
}

/* The same for pages. Pages for programs are what Linux takes from its highmem. */
bool inject_fails_page(unsigned order, bool for_program)
{
	const u64 *frame = __builtin_frame_address(0);

	if ((s64)order < READ_ONCE(min_order) || (for_program && READ_ONCE(ignore_highmem)))
		return false;
	return decide(INJECT_PAGE, PAGE_SIZE << order, (const u64 *)frame[0]);
}

/* For a copy that is in the place itself, as its caller sees it. */
bool inject_fails_inline(void)
{
	return decide(INJECT_COPY, 1, __builtin_frame_address(0));
}

void inject_to_child(struct thread *child)
{
	child->injection.may_fail = current->injection.may_fail;
}

bool inject_took_memory(void)
{
	bool took = current->injection.took_memory;

	current->injection.took_memory = false;
	return took;
}

void inject_count(enum inject_kind kind, long nr)
{
	__atomic_add_fetch(&in_use[kind], nr, __ATOMIC_RELAXED);
}

/* --- /proc/PID -------------------------------------------------------------------- */

static struct injection *injection_of(void *ref)
{
	return &((struct pid_ref *)ref)->thread->injection;
}

size_t show_fail_nth(void *ref, char *buf, size_t size)
{
	return snprintf(buf, size, "%u\n", READ_ONCE(injection_of(ref)->nth));
}

long store_fail_nth(void *ref, const char *text, size_t len)
{
	u64 n;

	if (parse_u64(text, len, &n) || n > INT32_MAX)
		return -EINVAL;
	WRITE_ONCE(injection_of(ref)->nth, (u32)n);
	return (long)len;
}

size_t show_make_it_fail(void *ref, char *buf, size_t size)
{
	return snprintf(buf, size, "%u\n", injection_of(ref)->may_fail);
}

long store_make_it_fail(void *ref, const char *text, size_t len)
{
	bool on;

	if (!capable(CAP_SYS_RESOURCE))
		return -EPERM;
	if (parse_bool(text, len, &on))
		return -EINVAL;
	WRITE_ONCE(injection_of(ref)->may_fail, on);
	return (long)len;
}

/* --- debugfs ---------------------------------------------------------------------- */

struct knob {
	const char *file;
	s64 *value, min, max;
};

#define KNOBS(name, a)                                                                             \
	{ name "/probability", &(a).probability, 0, 100 },                                         \
		{ name "/interval", &(a).interval, 0, INT32_MAX },                                 \
		{ name "/times", &(a).times, -1, INT32_MAX },                                      \
		{ name "/space", &(a).space, 0, INT32_MAX },                                       \
	{                                                                                          \
		name "/verbose", &(a).verbose, 0, 2                                                \
	}

static const struct knob numbers[] = {
	KNOBS("failslab", attributes[INJECT_SLAB]),
	KNOBS("fail_page_alloc", attributes[INJECT_PAGE]),
	KNOBS("fail_usercopy", attributes[INJECT_COPY]),
	{ "fail_page_alloc/min-order", &min_order, 0, 10 },
};

static const struct knob switches[] = {
	{ "failslab/task-filter", &attributes[INJECT_SLAB].task_filter, 0, 1 },
	{ "fail_page_alloc/task-filter", &attributes[INJECT_PAGE].task_filter, 0, 1 },
	{ "fail_usercopy/task-filter", &attributes[INJECT_COPY].task_filter, 0, 1 },
	{ "fail_page_alloc/ignore-gfp-highmem", &ignore_highmem, 0, 1 },
};

static size_t show_number(void *arg, char *buf, size_t size)
{
	return snprintf(buf, size, "%ld\n", READ_ONCE(*((struct knob *)arg)->value));
}

static long store_number(void *arg, const char *text, size_t len)
{
	const struct knob *k = arg;
	s64 value;

	if (parse_s64(text, len, &value) || value < k->min || value > k->max)
		return -EINVAL;
	WRITE_ONCE(*k->value, value);
	return (long)len;
}

static size_t show_switch(void *arg, char *buf, size_t size)
{
	return snprintf(buf, size, "%c\n", READ_ONCE(*((struct knob *)arg)->value) ? 'Y' : 'N');
}

/* By the first letter, as on Linux. */
static long store_switch(void *arg, const char *text, size_t len)
{
	static const char off[] = "0nN", on[] = "1yY";

	if (!len || !*text || (!strchr(on, *text) && !strchr(off, *text)))
		return -EINVAL;
	WRITE_ONCE(*((struct knob *)arg)->value, strchr(on, *text) != NULL);
	return (long)len;
}

static size_t show_in_use(void *arg, char *buf, size_t size)
{
	(void)arg;
	return snprintf(buf, size, "%ld %ld\n", READ_ONCE(in_use[INJECT_SLAB]),
			READ_ONCE(in_use[INJECT_PAGE]));
}

static int add_knobs(const struct knob *knobs, unsigned nr, struct pseudo_file file)
{
	int err = 0;

	for (unsigned i = 0; i < nr && !err; i++) {
		file.name = knobs[i].file;
		file.arg = (void *)&knobs[i];
		err = debugfs_add(&file);
	}
	return err;
}

static int inject_files_init(void)
{
	static const struct pseudo_file files[] = {
		{ .name = "fail_sites", .mode = 0600, .show = show_sites, .store = store_sites },
		{ .name = "fail_in_use", .mode = 0400, .show = show_in_use },
	};
	const struct pseudo_file number = { .mode = 0600,
					    .show = show_number,
					    .store = store_number },
				 on_off = { .mode = 0600,
					    .show = show_switch,
					    .store = store_switch };

	return debugfs_add(&files[0]) ?: debugfs_add(&files[1])
	       ?: add_knobs(numbers, ARRAY_SIZE(numbers), number)
	       ?: add_knobs(switches, ARRAY_SIZE(switches), on_off);
}
INITCALL(inject_files_init);
