/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads: their life from allocation to the last reference.
 *
 *	thread_alloc -> (fork.c or kthread_create fill it in) -> thread_publish -> sched_task_start
 *	... runs ... -> exit.c: thread_exit -> its successor on the CPU drops the "alive" reference
 *
 * References: one while alive, one for each holder of a pointer. The first thread of a process (the
 * leader) has one more holder, the process, and stays findable until the process is reaped.
 *
 * Locking: proc_tree_lock guards lists of threads and the number table; thread.h has the fields.
 */
#include "kernel/cgroup/cgroup.h"
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/ref.h"
#include "kernel/task/account.h"
#include "kernel/task/exit.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "kernel/trace/trace.h"
#include "lib/string.h"

static struct kmem_cache *thread_cache;
u64 nr_forks;		   /* guarded by: proc_tree_lock */
unsigned nr_threads_total; /* guarded by: proc_tree_lock */
unsigned threads_max;

/* As Linux: sleeps of ordinary threads may end this much late, so that wakeups coalesce. */
#define DEFAULT_TIMER_SLACK_NS (50 * NS_PER_US)

/*
 * A fifth of memory may go to stacks and thread structures. A forked process costs 3.5 times as
 * much (its page tables, the pages it has copied), so fork(2) gives -EAGAIN before memory ends and
 * somebody has to be killed.
 */
static unsigned default_threads_max(void)
{
	return (unsigned)(page_nr_total() * PAGE_SIZE / 5 / (KSTACK_SIZE + sizeof(struct thread)));
}

void thread_init(void)
{
	thread_cache = kmem_cache_create("thread", sizeof(struct thread), 64);
	threads_max = (unsigned)cmdline_get_u64("threads_max", default_threads_max());
}

struct thread *thread_alloc(struct proc *p, int pid)
{
	struct thread *t = kmem_cache_alloc(thread_cache);

	debug_assert(may_sleep());
	if (!t)
		return NULL;
	memset(t, 0, offsetof(struct thread, task));
	t->kstack = kstack_alloc();
	t->tid = !t->kstack ? 0 : pid ? pid_claim(pid) : pid_alloc();
	if (!t->tid) {
		kstack_free(t->kstack);
		kmem_cache_free(thread_cache, t);
		return NULL;
	}
	spin_lock_init(&t->blocked_on_lock, "blocked on");
	t->refs = 1;
	t->proc = proc_get(p);
	list_init(&t->proc_link);
	list_init(&t->pending.queue);
	t->start_ns = clock_ns();
	t->cred = root_cred;
	t->account = account_get(p == &kernel_proc ? &root_account : current->account);
	t->timer_slack_ns = t->default_timer_slack_ns = DEFAULT_TIMER_SLACK_NS;
	return t;
}

static void thread_free(struct thread *t)
{
	debug_assert(list_empty(&t->proc_link) && list_empty(&t->pending.queue) && !t->perf);
	debug_assert(t != current);
	kstack_free(t->kstack);
	account_put(t->account);
	proc_put(t->proc);
	kmem_cache_free(thread_cache, t);
}

void thread_discard(struct thread *t)
{
	debug_assert(list_empty(&t->proc_link));
	spin_lock(&proc_tree_lock);
	pid_release(t->tid);
	spin_unlock(&proc_tree_lock);
	thread_free(t);
}

void thread_publish(struct thread *t)
{
	struct proc *p = t->proc;

	assert_held(&proc_tree_lock);
	assert(!t->proc->nr_threads || spin_is_held(&t->proc->sig_lock));
	if (!p->leader)
		p->leader = thread_get(t);
	list_add_tail(&p->threads, &t->proc_link);
	p->nr_threads++;
	p->nr_alive++;
	nr_threads_total++;
	nr_forks++;
	pid_set_thread(t->tid, t);
	cgroup_join(t);
	trace_task_name(t->tid, t->task.comm);
}

struct thread *thread_get(struct thread *t)
{
	ref_get(&t->refs);
	return t;
}

void thread_put(struct thread *t)
{
	if (ref_put(&t->refs))
		thread_free(t);
}

struct thread *thread_find(int tid)
{
	spin_lock(&proc_tree_lock);
	struct thread *t = pid_thread(tid);

	if (t)
		thread_get(t);
	spin_unlock(&proc_tree_lock);
	return t;
}

void thread_set_name(struct thread *t, const char *name)
{
	char comm[COMM_LEN] = { 0 };

	str_copy(comm, name, sizeof(comm));
	trace_rename(t, t->task.comm, comm);
	memcpy(t->task.comm, comm, sizeof(comm));
	trace_task_name(t->tid, comm);
}

/* --- kernel threads ---------------------------------------------------------------- */

static void kthread_main(void *arg)
{
	struct thread *t = arg;

	debug_assert(t == current);
	t->kthread_fn(t->kthread_arg);
	thread_exit(0);
}

void thread_start(struct thread *t)
{
	unsigned long flags = arch_irq_save();

	sched_task_start(machine, &t->task, arch_cpu_id());
	arch_irq_restore(flags);
	preempt_check();
}

static struct thread *alloc_kthread(void (*fn)(void *), void *arg)
{
	struct thread *t = thread_alloc(&kernel_proc, 0);

	debug_assert(fn);
	if (!t)
		return NULL;
	t->flags = THREAD_KERNEL;
	t->kthread_fn = fn;
	t->kthread_arg = arg;
	arch_thread_init(t, kthread_main, t);
	return t;
}

static void publish_kthread(struct thread *t)
{
	debug_assert(thread_has(t, THREAD_KERNEL));
	account_charge(t->account, RES_THREADS, 1, NO_LIMIT);
	spin_lock(&proc_tree_lock);
	unsigned long flags = spin_lock_irqsave(&kernel_proc.sig_lock);
	thread_publish(t);
	spin_unlock_irqrestore(&kernel_proc.sig_lock, flags);
	spin_unlock(&proc_tree_lock);
	thread_start(t);
}

struct thread *kthread_create(const char *name, void (*fn)(void *), void *arg)
{
	struct thread *t = alloc_kthread(fn, arg);

	if (!t)
		return NULL;
	sched_task_init_kthread(machine, &t->task, t->tid, name);
	publish_kthread(t);
	return t;
}

struct thread *kthread_create_stopper(unsigned cpu, const char *name, void (*fn)(void *), void *arg)
{
	struct thread *t = alloc_kthread(fn, arg);

	debug_assert(cpu < arch_nr_cpus);
	if (!t)
		return NULL;
	sched_task_init_stop(machine, &t->task, cpu, t->tid, name);
	publish_kthread(t);
	return t;
}
