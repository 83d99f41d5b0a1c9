/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiting for children: wait4(2), waitid(2).
 *
 * A child that ended, stopped or continued woke its parent's child_wait after it had left the news
 * in its struct proc, under proc_tree_lock; the parent looks for news under the same lock.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/task/exit.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "lib/errno.h"

static bool matches(const struct proc *child, const struct wait_request *req)
{
	bool clone_child = child->exit_signal != SIGCHLD;

	debug_assert(child->parent == current->proc);
	debug_assert(spin_is_held(&proc_tree_lock));
	if (!(req->options & WALL) && clone_child != !!(req->options & WCLONE))
		return false;
	return req->which == WAIT_ANY || (req->which == WAIT_PID && child->pid == req->id) ||
	       (req->which == WAIT_GROUP && child->pgid == req->id);
}

/* Report to @req the news of @child that it asks for; false if there is none. */
static bool take_news(struct proc *child, struct wait_request *req)
{
	bool keep = req->options & WNOWAIT;

	debug_assert(spin_is_held(&proc_tree_lock));
	if (child->zombie && (req->options & WEXITED)) {
		req->status = child->exit_code;
		req->code = child->exit_code & 0x7f ? CLD_KILLED : CLD_EXITED;
	} else if (child->stop_unreported && (req->options & WUNTRACED)) {
		req->status = child->stop_unreported << 8 | 0x7f;
		req->code = CLD_STOPPED;
		child->stop_unreported = keep ? child->stop_unreported : 0;
	} else if (child->continue_unreported && (req->options & WCONTINUED)) {
		req->status = 0xffff;
		req->code = CLD_CONTINUED;
		child->continue_unreported = keep;
	} else {
		return false;
	}
	req->uid = READ_ONCE(child->leader->cred.user.real);
	req->usage = proc_usage_locked(child);
	usage_add(&req->usage, &child->reaped);
	return true;
}

/*
 * Returns the number of a child with news, 0 if there is none yet, or -ECHILD. *reaped is set if
 * the child was taken out of the tree.
 */
static long look(struct wait_request *req, struct proc **reaped)
{
	struct proc *self = current->proc, *child;
	long result = -ECHILD;

	spin_lock(&proc_tree_lock);
	list_for_each(child, &self->children, sibling) {
		if (!matches(child, req))
			continue;
		result = 0;
		if (!take_news(child, req))
			continue;
		result = child->pid;
		if (child->zombie && !(req->options & WNOWAIT)) {
			usage_add(&self->reaped, &req->usage);
			proc_unlink(child);
			*reaped = child;
		}
		break;
	}
	spin_unlock(&proc_tree_lock);
	return result;
}

static long wait_for_news(struct wait_request *req, struct proc **reaped)
{
	struct waitq *q = &current->proc->child_wait;
	struct waiter w = { .thread = current };
	long result = look(req, reaped);

	if (result || (req->options & WNOHANG))
		return result;
	list_init(&w.link);
	for (;;) {
		waitq_prepare(q, &w, TASK_INTERRUPTIBLE);
		result = look(req, reaped);
		if (!result && signal_pending())
			result = -ERESTARTSYS;
		if (result)
			break;
		schedule();
	}
	waitq_finish(q, &w);
	return result;
}

long do_wait(struct wait_request *req)
{
	might_sleep();

	struct proc *reaped = NULL;
	long result = wait_for_news(req, &reaped);

	if (reaped) {
		thread_put(reaped->leader);
		proc_put(reaped);
	}
	return result;
}
