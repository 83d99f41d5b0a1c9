/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of a program: the kernel's frame of each, and what ends it early. See scx.h. */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/scx/scx.h"
#include "kernel/task/thread.h"
#include "kernel/time/time.h"
#include "lib/fmt.h"
#include "lib/string.h"

/* Blocks of code that one call may run: far more than any needs, and a few milliseconds. */
#define BLOCKS_MAX (1u << 20)
/* Bytes of a stack that the kernel keeps for the functions that a program calls. */
#define STACK_RESERVE (5 * 1024u << SAN_ADDRESS)

struct frame {
	struct scx_frame shared;
	struct arch_guard guard;
	u64 stack_floor;
	const char *op;
	u32 blocks;   /* that are left */
	bool touches; /* the kernel uses what the program named, and holds no lock for it */
	char why[96];
};

static struct frame *frames[MAX_CPUS]; /* the innermost; each CPU its own */

const struct scx_object *scx_object;

static struct frame *frame_here(void)
{
	return frames[arch_cpu_id()];
}

struct scx_frame *scx_frame(void)
{
	return &frame_here()->shared;
}

static void report(const struct frame *f)
{
	char text[EXT_MESSAGE_LEN];

	snprintf(text, sizeof(text), "%s: %s", f->op, f->why);
	ext_report(f->shared.call, EXT_EXIT_ERROR, 0, text);
}

u64 scx_call_with(struct ext_call *call, const char *op, void *fn, const u64 args[4])
{
	struct frame f = { .op = op, .shared.call = call, .blocks = BLOCKS_MAX };
	unsigned long flags = arch_irq_save();
	u64 result = 0, began = clock_ns();
	bool returned;

	f.stack_floor = (u64)current->kstack + STACK_RESERVE;
	f.shared.outer = &frame_here()->shared;
	frames[arch_cpu_id()] = &f;
	returned = arch_guarded_call(&f.guard, fn, args, &result);
	scx_end_call(&f.shared);
	frames[arch_cpu_id()] = container_of(f.shared.outer, struct frame, shared);
	if (!returned)
		report(&f);
	if (!frame_here())
		ext_took(call, arch_cpu_id(), began, clock_ns());
	arch_irq_restore(flags);
	return returned ? result : 0;
}

/* --- what ends a call ----------------------------------------------------------- */

static bool is_kernel_text(u64 ip)
{
	extern const u8 image_start[], text_end[];

	return ip - (u64)image_start < (u64)(text_end - image_start);
}

struct arch_guard *kernel_fault_guard(const char *what, u64 ip, u64 addr)
{
	struct frame *f = frame_here();
	char name[64];

	if (!f || (is_kernel_text(ip) && !f->touches))
		return NULL;
	scx_object_name(scx_object, ip, name, sizeof(name));
	if (f->touches)
		snprintf(f->why, sizeof(f->why), "bad pointer given to a function, address %lx",
			 addr);
	else if (!strcmp(what, "page fault"))
		snprintf(f->why, sizeof(f->why), "page fault at %s, address %lx", name, addr);
	else
		snprintf(f->why, sizeof(f->why), "%s at %s", what, name);
	return &f->guard;
}

unsigned kernel_skip_division(u64 ip, u64 *ax, u64 *dx)
{
	if (!frame_here() || !scx_object_has_text(scx_object, ip))
		return 0;
	return scx_skip_division((const u8 *)ip, ax, dx);
}

static __noreturn void stop(struct frame *f, const char *why, u64 ip)
{
	char name[64];

	snprintf(f->why, sizeof(f->why), "%s at %s", why,
		 scx_object_name(scx_object, ip, name, sizeof(name)));
	arch_guard_leave(&f->guard);
}

/* The compiler has each block of the program's code call this (-fsanitize-coverage=trace-pc). */
void scx_count_block(void);
void scx_count_block(void)
{
	struct frame *f = frame_here();
	u64 ip = (u64)__builtin_return_address(0);

	if (unlikely(!--f->blocks))
		stop(f, "a loop without end", ip);
	if (unlikely((u64)__builtin_frame_address(0) < f->stack_floor))
		stop(f, "too deep a recursion", ip);
}

/* --- what the program gives ------------------------------------------------------- */

static void touch(const volatile u8 *p, bool write)
{
	if (write)
		__atomic_fetch_or((u8 *)(uintptr_t)p, 0, __ATOMIC_RELAXED);
	else
		(void)*p;
}

void scx_need(const void *p, size_t n, bool write)
{
	struct frame *f = frame_here();
	const u8 *bytes = p;

	if (!n || !f)
		return;
	WRITE_ONCE(f->touches, true);
	for (size_t i = 0; i < n; i += 4096)
		touch(bytes + i, write);
	touch(bytes + n - 1, write);
	WRITE_ONCE(f->touches, false);
}

void scx_print(char *text, size_t size, const char *format, va_list args)
{
	struct frame *f = frame_here();

	WRITE_ONCE(f->touches, true);
	barrier();
	vsnprintf(text, size, format, args);
	barrier();
	WRITE_ONCE(f->touches, false);
}
