/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that the threads of a world belong to, with a parent that takes no signals. Of its
 * end there is only what concerns signals.
 */
#include "kernel/kernel.h"
#include "kernel/task/exit.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "lib/string.h"
#include "world.h"

struct proc hosted_process;
struct proc kernel_proc, *init_proc = &kernel_proc;
static struct proc parent;
struct list all_procs = LIST_INIT(all_procs);

void process_begin(void)
{
	struct proc *p = &hosted_process;

	memset(p, 0, sizeof(*p));
	spin_lock_init(&p->sig_lock, "process");
	list_init(&p->threads);
	list_init(&p->pending.queue);
	p->pid = 1;
	p->parent = &parent;
	memset(&parent, 0, sizeof(parent));
	spin_lock_init(&parent.sig_lock, "parent");
	waitq_init(&parent.child_wait, "parent");
	list_init(&all_procs);
	list_add_tail(&all_procs, &p->all_link);
	for (int sig = 1; sig <= NSIG; sig++)
		p->action[sig - 1].handler = SIG_IGN;
}

void process_add(struct thread *t)
{
	struct proc *p = &hosted_process;

	t->proc = p;
	list_init(&t->pending.queue);
	list_add_tail(&p->threads, &t->proc_link);
	if (!p->leader)
		p->leader = t;
	p->nr_threads++;
}

void process_end(void)
{
	struct proc *p = &hosted_process;
	struct thread *t;

	signal_flush(&p->pending);
	list_for_each(t, &p->threads, proc_link)
		signal_flush(&t->pending);
}

void thread_exit(int code)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	thread_set_flags(t, THREAD_EXITING);
	signal_flush(&t->pending);
	p->nr_threads--;
	spin_unlock_irqrestore(&p->sig_lock, flags);
	world_thread_ends(code);
}

void proc_exit_group(int code)
{
	struct proc *p = current->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	signal_begin_group_exit(p, code);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	thread_exit(p->exit_code);
}

bool proc_group_is_orphaned(int pgid)
{
	(void)pgid;
	return false;
}

/* A thread of a world looks at its signals when it likes. */
void thread_kick(struct thread *t)
{
	(void)t;
}
