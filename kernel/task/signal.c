/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals (POSIX.1-2008 2.4; signal(7)).
 *
 * A signal is pending for one thread or for a process as a whole: a bit in a set, and for each
 * occurrence a struct sigqueue with its siginfo. Signals below SIGRTMIN are pending at most once,
 * the others queue. A thread that has something to do about signals carries THREAD_SIGPENDING: it
 * ends interruptible sleeps, and sends the thread through signal_deliver() before it enters user
 * space again.
 *
 * Here: what is pending, sending, masks and handlers. delivery.c: what a thread does about it.
 *
 * Locking: proc->sig_lock guards masks, handlers, pending sets and the stop state. It is taken from
 * interrupts (timers, the terminal). Order: proc_tree_lock, sig_lock of a child, sig_lock of its
 * parent is never needed: one process's at a time. A process's list of threads may be read with
 * either lock.
 */
#include "kernel/task/signal.h"

#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/exit.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "lib/errno.h"

struct sigqueue {
	struct list link;     /* empty: a timer's whose signal is not pending */
	struct account *user; /* of the receiver, who is charged; NULL: a timer's, paid before */
	GUARDED(proc->sig_lock);
	bool kept; /* a timer has it, and uses it again */

	struct siginfo info;
};

#define IGNORED_BY_DEFAULT                                                                         \
	(SIGMASK(SIGCHLD) | SIGMASK(SIGCONT) | SIGMASK(SIGURG) | SIGMASK(SIGWINCH))

static struct kmem_cache *sigqueue_cache;
struct waitq signal_queued = WAITQ_INIT(signal_queued);

static int signal_init(void)
{
	sigqueue_cache = kmem_cache_create("sigqueue", sizeof(struct sigqueue), 8);
	return 0;
}
INITCALL(signal_init);

/* --- pending sets ------------------------------------------------------------------ */

/* Takes @q, which is pending, out of its queue. */
static void free_sigqueue(struct sigqueue *q)
{
	debug_assert(!list_empty(&q->link));
	list_del(&q->link);
	if (q->kept)
		return;
	if (q->user)
		account_give(q->user, RES_SIGNALS, 1);
	account_put(q->user);
	kmem_cache_free(sigqueue_cache, q);
}

/* Forget pending signals of @set. */
static void discard(struct sigpending *pending, sigset_t set)
{
	struct sigqueue *q, *next;

	if (!(pending->set & set))
		return;
	pending->set &= ~set;
	list_for_each_safe(q, next, &pending->queue, link)
		if (SIGMASK(q->info.signo) & set)
			free_sigqueue(q);
}

void signal_flush(struct sigpending *pending)
{
	discard(pending, ~0ull);
	debug_assert(list_empty(&pending->queue));
}

static void discard_everywhere(struct proc *p, sigset_t set)
{
	struct thread *t;

	debug_assert(spin_is_held(&p->sig_lock));
	discard(&p->pending, set);
	list_for_each(t, &p->threads, proc_link)
		discard(&t->pending, set);
}

/* A place in the queues of @user, who may have @limit. NULL: none is left, or no memory. */
static struct sigqueue *alloc_sigqueue(struct account *user, u64 limit)
{
	struct sigqueue *q;

	if (user && !account_charge(user, RES_SIGNALS, 1, limit))
		return NULL;
	q = kmem_cache_alloc(sigqueue_cache);
	if (q)
		*q = (struct sigqueue){ .user = user ? account_get(user) : NULL };
	else if (user)
		account_give(user, RES_SIGNALS, 1);
	return q;
}

/*
 * Queue @sig in @pending, of @t or its process. Beyond RLIMIT_SIGPENDING an ordinary signal is
 * pending all the same. If the kernel or kill(2) sent it, it keeps its siginfo, for there are few
 * of these. A timer's has the @place that was made with the timer.
 */
static int queue_signal(struct sigpending *pending, const struct thread *t, int sig,
			const struct siginfo *info, struct sigqueue *place)
{
	bool queued_once = sig < SIGRTMIN, always = queued_once && (!info || info->code >= 0);
	u64 limit = always ? NO_LIMIT : READ_ONCE(t->proc->rlimit[RLIMIT_SIGPENDING].cur);

	debug_assert(spin_is_held(&t->proc->sig_lock));
	if (queued_once && !place && (pending->set & SIGMASK(sig)))
		return 0;
	struct sigqueue *q = place ? place : alloc_sigqueue(t->account, limit);
	if (q) {
		q->info = info ? *info : (struct siginfo){ .code = SI_KERNEL };
		q->info.signo = sig;
		list_add_tail(&pending->queue, &q->link);
	} else if (!queued_once && info && info->code != SI_USER) {
		return -EAGAIN;
	}
	pending->set |= SIGMASK(sig);
	return 0;
}

/*
 * Take the first pending signal of @set: synchronous ones first, then the lowest number. 0: none.
 */
static int dequeue_from(struct sigpending *pending, sigset_t set, struct siginfo *info)
{
	struct sigqueue *q, *next;
	sigset_t ready = pending->set & set;
	bool found = false, more = false;

	if (!ready)
		return 0;
	int sig = __builtin_ctzll(ready & SYNCHRONOUS ? ready & SYNCHRONOUS : ready) + 1;
	*info = (struct siginfo){ .signo = sig,
				  .code = SI_USER }; /* when there was no memory to queue it */
	list_for_each_safe(q, next, &pending->queue, link) {
		if (q->info.signo != sig)
			continue;
		more = found;
		if (more)
			break;
		*info = q->info;
		found = true;
		free_sigqueue(q);
	}
	if (!more)
		pending->set &= ~SIGMASK(sig);
	return sig;
}

int signal_dequeue(struct thread *t, sigset_t set, struct siginfo *info)
{
	assert_held(&t->proc->sig_lock);

	int sig = dequeue_from(&t->pending, set, info);

	return sig ? sig : dequeue_from(&t->proc->pending, set, info);
}

bool signal_must_exit(const struct thread *t)
{
	const struct proc *p = t->proc;

	const struct thread *execing = READ_ONCE(p->execing);

	return READ_ONCE(p->group_exit) || (execing && execing != t);
}

bool signal_fatal_pending(void)
{
	return signal_must_exit(current);
}

void signal_recalc(struct thread *t)
{
	struct proc *p = t->proc;
	sigset_t pending = t->pending.set | p->pending.set;

	assert_held(&t->proc->sig_lock);
	if ((pending & (~t->blocked | t->awaited)) || p->stop_signal || signal_must_exit(t))
		thread_set_flags(t, THREAD_SIGPENDING);
	else
		thread_clear_flags(t, THREAD_SIGPENDING);
}

/* --- sending ---------------------------------------------------------------------------- */

bool signal_is_ignored(const struct proc *p, int sig)
{
	u64 handler = p->action[sig - 1].handler;

	debug_assert(sig >= 1 && sig <= NSIG);
	assert(spin_is_held(&proc_tree_lock) || spin_is_held(&p->sig_lock));
	return handler == SIG_IGN || (handler == SIG_DFL && (SIGMASK(sig) & IGNORED_BY_DEFAULT));
}

/* Process 1 gets only signals that it handles or caused by itself (deliver_default). */
static bool protected_from(const struct proc *p, int sig)
{
	debug_assert(sig >= 1 && sig <= NSIG);
	return p == init_proc && p->action[sig - 1].handler == SIG_DFL;
}

/* Make @t look at its signals: end its sleep, or its stay in user space. */
void signal_notify(struct thread *t, u32 states)
{
	assert_held(&t->proc->sig_lock);
	thread_set_flags(t, THREAD_SIGPENDING);
	if (!thread_wake(t, states))
		thread_kick(t);
}

/* The signals of @set that @t would handle, or waits for. */
static sigset_t taken_by(const struct thread *t, sigset_t set)
{
	return thread_has(t, THREAD_EXITING) ? 0 : set & ~(t->blocked & ~t->awaited);
}

void signal_retarget(struct proc *p, sigset_t set)
{
	struct thread *t;

	assert_held(&p->sig_lock);
	set &= p->pending.set;
	if (likely(!set))
		return;
	list_for_each(t, &p->threads, proc_link) {
		sigset_t taken = taken_by(t, set);

		if (taken)
			signal_notify(t, TASK_INTERRUPTIBLE);
		set &= ~taken;
	}
}

void signal_kill_threads(struct proc *p, struct thread *except)
{
	struct thread *t;

	assert_held(&p->sig_lock);
	list_for_each(t, &p->threads, proc_link)
		if (t != except && !thread_has(t, THREAD_EXITING))
			signal_notify(t, TASK_INTERRUPTIBLE | TASK_STOPPED | TASK_WAKEKILL);
}

void signal_begin_group_exit(struct proc *p, int code)
{
	assert_held(&p->sig_lock);
	if (p->group_exit)
		return;
	p->group_exit = true;
	p->exit_code = code;
	signal_kill_threads(p, NULL);
}

/* SIGCONT takes effect when it is sent, even if it is blocked, ignored or caught. */
static void resume(struct proc *p)
{
	struct thread *t;

	debug_assert(spin_is_held(&p->sig_lock));
	discard_everywhere(p, STOP_SIGNALS);
	p->stop_taken = false;
	if (!p->stop_signal)
		return;
	p->stop_signal = 0;
	p->continue_pending = p->nr_stopped == p->nr_threads;
	list_for_each(t, &p->threads, proc_link)
		thread_wake(t, TASK_STOPPED);
}

/* Returns the thread that shall handle a signal to the whole process, or NULL if all block it. */
static struct thread *choose_thread(struct proc *p, int sig)
{
	struct thread *t;

	debug_assert(spin_is_held(&p->sig_lock));
	list_for_each(t, &p->threads, proc_link)
		if (taken_by(t, SIGMASK(sig)))
			return t;
	return NULL;
}

/* Queue a signal for @t alone, or for the process if @t is NULL. sig_lock held. */
static int send_locked(struct proc *p, struct thread *t, int sig, const struct siginfo *info,
		       struct sigqueue *place)
{
	const struct thread *looks = t ? t : p->leader;

	debug_assert(sig >= 1 && sig <= NSIG && (!t || t->proc == p));
	debug_assert(spin_is_held(&p->sig_lock));
	if (p == &kernel_proc)
		return 0; /* kernel threads take no signals */
	if (SIGMASK(sig) & STOP_SIGNALS)
		discard_everywhere(p, SIGMASK(SIGCONT));
	else if (sig == SIGCONT)
		resume(p);
	if (protected_from(p, sig))
		return 0;
	if (sig == SIGKILL) {
		signal_begin_group_exit(p, SIGKILL);
		return 0;
	}
	if (signal_is_ignored(p, sig) && !(looks->blocked & SIGMASK(sig)))
		return 0;
	int err = queue_signal(t ? &t->pending : &p->pending, looks, sig, info, place);
	struct thread *target = !t ? choose_thread(p, sig) : taken_by(t, SIGMASK(sig)) ? t : NULL;
	if (!err && target)
		signal_notify(target, TASK_INTERRUPTIBLE);
	waitq_wake(&signal_queued, 0);
	return err;
}

int signal_send_thread(struct thread *t, int sig, const struct siginfo *info)
{
	unsigned long flags = spin_lock_irqsave(&t->proc->sig_lock);
	int err = thread_has(t, THREAD_EXITING) ? 0 : send_locked(t->proc, t, sig, info, NULL);

	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
	return err;
}

int signal_send_proc(struct proc *p, int sig, const struct siginfo *info)
{
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	int err = p->nr_threads ? send_locked(p, NULL, sig, info, NULL) : 0;

	spin_unlock_irqrestore(&p->sig_lock, flags);
	return err;
}

struct sigqueue *signal_timer_place(void)
{
	struct sigqueue *q = alloc_sigqueue(NULL, NO_LIMIT);

	if (q) {
		list_init(&q->link);
		q->kept = true;
	}
	return q;
}

void signal_timer_forget(struct proc *p, struct sigqueue *place)
{
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	bool pending = !list_empty(&place->link);

	place->kept = false;
	spin_unlock_irqrestore(&p->sig_lock, flags);
	if (!pending)
		kmem_cache_free(sigqueue_cache, place);
}

void signal_send_timer(struct proc *p, struct thread *t, int sig, const struct siginfo *info,
		       struct sigqueue *place)
{
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	debug_assert(list_empty(&place->link) && (!t || t->proc == p));
	if (t ? !thread_has(t, THREAD_EXITING) : p->nr_threads)
		send_locked(p, t, sig, info, place);
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

int signal_send_group(int pgid, int sig, const struct siginfo *info)
{
	spin_lock(&proc_tree_lock);
	int err = -ESRCH;
	struct proc *p;

	list_for_each(p, &all_procs, all_link) {
		if (p->pgid != pgid)
			continue;
		int one = sig ? signal_send_proc(p, sig, info) : 0;
		/* One success is success. */
		if (err)
			err = one;
	}
	spin_unlock(&proc_tree_lock);
	return err;
}

void signal_notify_parent(struct proc *p, int sig, int code, int status)
{
	struct proc *parent = p->parent;
	bool stop_or_continue = code == CLD_STOPPED || code == CLD_CONTINUED;

	assert_held(&proc_tree_lock);
	waitq_wake(&parent->child_wait, 0);
	if (!sig || READ_ONCE(parent->action[sig - 1].handler) == SIG_IGN)
		return;
	if (stop_or_continue && (READ_ONCE(parent->action[SIGCHLD - 1].flags) & SA_NOCLDSTOP))
		return;
	struct siginfo info = {
		.code = code,
		.chld = { .pid = p->pid, .uid = p->leader->cred.user.real, .status = status }
	};
	signal_send_proc(parent, sig, &info);
}

/*
 * Send the signal of a fault of the running thread. The thread cannot go on before it is handled,
 * so a mask or SIG_IGN is overridden; the default action then ends the process.
 */
void signal_force(int sig, const struct siginfo *info)
{
	might_sleep();

	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	struct sigaction *action = &p->action[sig - 1];

	if ((t->blocked & SIGMASK(sig)) || action->handler == SIG_IGN)
		*action = (struct sigaction){ .handler = SIG_DFL };
	t->blocked &= ~SIGMASK(sig);
	queue_signal(&t->pending, t, sig, info, NULL);
	signal_recalc(t);
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

void kernel_user_fault(struct user_regs *regs, int sig, int code, u64 addr)
{
	struct siginfo info = { .code = code, .fault = { .addr = addr } };

	(void)regs;
	signal_force(sig, &info);
}

/* --- masks, handlers, waiting -------------------------------------------------------- */

sigset_t signal_set_blocked(sigset_t mask)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);

	mask &= ~SIG_UNBLOCKABLE;
	sigset_t old = t->blocked;
	t->blocked = mask;
	signal_recalc(t);
	signal_retarget(p, mask & ~old);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return old;
}

int signal_set_action(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct proc *p = current->proc;

	if (sig < 1 || sig > NSIG || (action && (SIGMASK(sig) & SIG_UNBLOCKABLE)))
		return -EINVAL;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	*old = p->action[sig - 1];
	if (action) {
		p->action[sig - 1] = *action;
		p->action[sig - 1].mask &= ~SIG_UNBLOCKABLE;
		if (signal_is_ignored(p, sig)) {
			discard_everywhere(p, SIGMASK(sig));
			signal_recalc(current);
		}
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return 0;
}

void signal_reset_handlers(struct proc *p)
{
	debug_assert(spin_is_held(&p->sig_lock) || !p->nr_threads);
	for (int i = 0; i < NSIG; i++)
		p->action[i] =
			(struct sigaction){ .handler = p->action[i].handler == SIG_IGN ? SIG_IGN
										       : SIG_DFL };
}

void signal_exec(void)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	debug_assert(p->nr_threads == 1);

	signal_reset_handlers(p);
	t->altstack = t->altstack_size = 0;
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

sigset_t signal_pending_set(void)
{
	struct thread *t = current;
	unsigned long flags = spin_lock_irqsave(&t->proc->sig_lock);
	sigset_t set = (t->pending.set | t->proc->pending.set) & t->blocked;

	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
	return set;
}

bool signal_any_pending(sigset_t set)
{
	struct thread *t = current;
	unsigned long flags = spin_lock_irqsave(&t->proc->sig_lock);
	bool any = (t->pending.set | t->proc->pending.set) & set;

	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
	return any;
}

bool signal_overrun(struct proc *p, struct thread *t, int sig, int id, u32 overrun)
{
	struct sigpending *pending = t ? &t->pending : &p->pending;
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	struct sigqueue *q;
	bool found = false;

	debug_assert(!t || t->proc == p);
	list_for_each(q, &pending->queue, link) {
		if (q->info.signo != sig || q->info.code != SI_TIMER || q->info.timer.timerid != id)
			continue;
		u64 sum = (u64)(u32)q->info.timer.overrun + overrun;
		q->info.timer.overrun = (int)min(sum, (u64)INT32_MAX);
		found = true;
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return found;
}

bool signal_is_blocked_or_ignored(int sig)
{
	debug_assert(sig >= 1 && sig <= NSIG);
	return (current->blocked & SIGMASK(sig)) ||
	       current->proc->action[sig - 1].handler == SIG_IGN;
}

static int try_dequeue(sigset_t set, sigset_t awaited, struct siginfo *info)
{
	struct thread *t = current;
	unsigned long flags = spin_lock_irqsave(&t->proc->sig_lock);
	int sig = signal_dequeue(t, set, info);

	/*
	 * While it sleeps the awaited signals wake it although they are blocked. It takes one of
	 * them: the others that came are for threads that still wait.
	 */
	sigset_t no_longer = t->awaited & t->blocked;
	t->awaited = sig ? 0 : awaited;
	signal_recalc(t);
	signal_retarget(t->proc, no_longer & ~t->awaited);
	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
	return sig;
}

long signal_wait(sigset_t set, struct siginfo *info, u64 deadline_ns)
{
	debug_assert(may_sleep());
	set &= ~SIG_UNBLOCKABLE;
	int sig = try_dequeue(set, deadline_ns ? set : 0, info);
	if (sig || !deadline_ns)
		return sig ? sig : -EAGAIN;
	long interrupted = sleep_until(deadline_ns, current->timer_slack_ns);
	sig = try_dequeue(set, 0, info);
	if (sig)
		return sig;
	return interrupted ? -EINTR : -EAGAIN;
}
