/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Models of preemption: where kernel code lets a switch happen that the scheduler asked for. User
 * code is always preempted at once, and a thread that blocks always switches.
 *
 *	none       at explicit points of long loops (cond_resched) only
 *	voluntary  there, and wherever the code might sleep anyway (might_resched)
 *	full       wherever it holds no spin lock and interrupts are on
 *	lazy       as full for urgent requests. One of the fair class for its own kind waits
 *	           until the CPU returns to user space, or for the next tick, which makes it
 *	           urgent; another CPU is not interrupted for it (host_kick)
 *
 * The model is the kernel's: the scheduler says how urgent a request is, this file when kernel code
 * gives way. Reference: Linux 6.12's PREEMPT_DYNAMIC; `lazy` is of 6.13.
 */
#include "kernel/kernel.h"
#include "kernel/task/preempt.h"
#include "kernel/task/task.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

static const struct preempt_model models[] = {
	{ .name = "none", .at_points = true },
	{ .name = "voluntary", .at_points = true, .at_sleeps = true },
	{ .name = "full", .anywhere = true },
	{ .name = "lazy", .anywhere = true, .is_patient = true },
};
#define FULL (&models[2])

const struct preempt_model *preempt_model = FULL;

int preempt_choose(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(models); i++) {
		if (strcmp(models[i].name, name))
			continue;
		WRITE_ONCE(preempt_model, &models[i]);
		sched_set_lazy(machine, models[i].is_patient);
		kprintf("Dynamic Preempt: %s\n", name);
		return 0;
	}
	return -EINVAL;
}

size_t preempt_print(char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	for (unsigned i = 0; i < ARRAY_SIZE(models); i++)
		text_add(&t, preempt_model == &models[i] ? "(%s) " : "%s ", models[i].name);
	text_add(&t, "\n");
	return t.len;
}

void preempt_init(void)
{
	const char *name = cmdline_get("preempt");

	if (name && preempt_choose(name))
		kprintf("Dynamic Preempt: unsupported mode: %s\n", name);
}

void cond_resched_slow(void)
{
	if (preempt_model->at_points)
		preempt_here(NEED_RESCHED_NOW | NEED_RESCHED_LAZY);
}

void might_resched_slow(void)
{
	if (preempt_model->at_sleeps)
		preempt_here(NEED_RESCHED_NOW | NEED_RESCHED_LAZY);
}

void preempt_now(void)
{
	if (preempt_model->anywhere)
		preempt_here(NEED_RESCHED_NOW);
}
