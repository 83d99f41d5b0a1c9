/* SPDX-License-Identifier: GPL-2.0-only */
/* The operations of a program as the class calls them, and tasks as the program sees them. */
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/list.h"
#include "lib/string.h"
#include "sim/scx/binding.h"

struct scx scx;

_Static_assert(offsetof(struct sched_ext_entity, slice) == offsetof(struct ext_seen, slice) &&
		       offsetof(struct sched_ext_entity, dsq_vtime) ==
			       offsetof(struct ext_seen, vtime) &&
		       offsetof(struct sched_ext_entity, weight) ==
			       offsetof(struct ext_seen, weight) &&
		       offsetof(struct sched_ext_entity, flags) == offsetof(struct ext_seen, flags),
	       "the class and the program share these");

/* --- tasks ---------------------------------------------------------------- */

/* A task's view, which the program has for as long as it has the task. */
struct seen {
	struct scx_left left; /* first: the host frees it by that */
	struct task_struct p;
	u32 pid; /* p.pid, which the program may change */
	bool gone;
};

static struct seen *seen_at(u32 pid)
{
	struct task_struct *p = pid && pid < scx.nr_tasks ? READ_ONCE(scx.task[pid]) : NULL;

	return p ? container_of(p, struct seen, p) : NULL;
}

/* NULL: the program has not @t, or no longer. */
static struct task_struct *seen_of(const struct task *t)
{
	struct seen *seen = seen_at((u32)t->pid);

	return seen && seen->left.t == t && !READ_ONCE(seen->gone) ? &seen->p : NULL;
}

struct task_struct *scx_see(struct task *t)
{
	struct task_struct *p = t ? seen_of(t) : NULL;

	if (!p)
		return &scx.idle;
	memcpy(p->comm, t->comm, sizeof(p->comm));
	p->se.sum_exec_runtime = t->fair.sum_exec;
	p->thread_info.cpu = (u32)t->cpu;
	p->recent_used_cpu = p->wake_cpu = (int)t->cpu;
	p->prio = p->normal_prio = t->prio;
	p->static_prio = t->static_prio;
	p->policy = (u32)t->policy;
	p->__state = t->state;
	p->nr_cpus_allowed = (int)t->nr_allowed;
	p->utime = t->fair.sum_exec;
	p->nvcsw = t->nr_voluntary;
	p->nivcsw = t->nr_involuntary;
	return p;
}

struct task *scx_task(const struct task_struct *p)
{
	u32 pid;

	if (!p || p == &scx.idle)
		return NULL;
	scx_need(p, sizeof(*p), false);
	pid = (u32)READ_ONCE(p->pid);
	if (pid >= scx.nr_tasks || READ_ONCE(scx.task[pid]) != p)
		return NULL;
	return container_of(p, struct seen, p)->left.t;
}

/* For a task without memory, until the scheduler that has it is thrown out. */
static struct seen nobody;

static struct ext_seen *attach(struct ext_call *c, struct task *t)
{
	u32 pid = (u32)t->pid;
	struct seen *seen = scx_has_room(pid) ? scx_alloc(sizeof(*seen)) : NULL;
	const struct task *leader;

	if (!seen) {
		ext_report(c, EXT_EXIT_ERROR, 0, "no memory for a task");
		return (struct ext_seen *)&nobody.p.scx;
	}
	seen->left.t = t;
	leader = READ_ONCE(t->family.leader);
	seen->p.pid = t->pid;
	seen->pid = pid;
	seen->p.tgid = leader ? leader->pid : t->pid;
	seen->p.flags = t->kthread ? PF_KTHREAD : 0;
	seen->p.cpus_ptr = &t->allowed;
	seen->p.real_parent = seen->p.group_leader = &seen->p;
	seen->p.start_time = scx_clock();
	WRITE_ONCE(scx.task[pid], &seen->p);
	return (struct ext_seen *)&seen->p.scx;
}

static void detach(struct ext_call *c, struct task *t)
{
	struct task_struct *p = seen_of(t);

	(void)c;
	if (!p)
		return;
	scx_forget_task(p);
	WRITE_ONCE(container_of(p, struct seen, p)->gone, true);
	scx_keep_left(&container_of(p, struct seen, p)->left);
}

/* Another view may have its place: of the same task, or of a younger one. */
void scx_unsee(struct scx_left *left)
{
	struct seen *seen = container_of(left, struct seen, left);
	struct task_struct *p = &seen->p;

	if (!left->t)
		return;
	__atomic_compare_exchange_n(&scx.task[seen->pid], &p, NULL, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}

struct task_struct *scx_see_pid(u32 pid)
{
	struct seen *seen = seen_at(pid);

	return seen && !READ_ONCE(seen->gone) ? scx_see(seen->left.t) : NULL;
}

/* --- operations ----------------------------------------------------------- */

#define OPS			  (scx.program->ops)
#define RUN(c, op, ...)		  RUN_(c, op, __VA_ARGS__, 0, 0)
#define RUN_(c, op, x, y, z, ...) scx_call(c, #op, (void *)OPS->op, (u64)(x), (u64)(y), (u64)(z))

static s32 op_select_cpu(struct ext_call *c, struct task *t, s32 prev, u64 flags)
{
	return (s32)RUN(c, select_cpu, scx_see(t), prev, flags);
}

static void op_enqueue(struct ext_call *c, struct task *t, u64 flags)
{
	RUN(c, enqueue, scx_see(t), flags);
}

static void op_dequeue(struct ext_call *c, struct task *t, u64 flags)
{
	RUN(c, dequeue, scx_see(t), flags);
}

static void op_dispatch(struct ext_call *c, s32 cpu, struct task *prev)
{
	RUN(c, dispatch, cpu, prev ? scx_see(prev) : NULL);
}

static void op_tick(struct ext_call *c, struct task *t)
{
	RUN(c, tick, scx_see(t));
}

static void op_runnable(struct ext_call *c, struct task *t, u64 flags)
{
	RUN(c, runnable, scx_see(t), flags);
}

static void op_running(struct ext_call *c, struct task *t)
{
	RUN(c, running, scx_see(t));
}

static void op_stopping(struct ext_call *c, struct task *t, bool runnable)
{
	RUN(c, stopping, scx_see(t), runnable);
}

static void op_quiescent(struct ext_call *c, struct task *t, u64 flags)
{
	RUN(c, quiescent, scx_see(t), flags);
}

static void op_yield(struct ext_call *c, struct task *t)
{
	RUN(c, yield, scx_see(t), NULL);
}

static void op_set_weight(struct ext_call *c, struct task *t, u32 weight)
{
	RUN(c, set_weight, scx_see(t), weight);
}

static void op_set_cpumask(struct ext_call *c, struct task *t, const struct cpumask *mask)
{
	RUN(c, set_cpumask, scx_see(t), mask);
}

static void op_update_idle(struct ext_call *c, s32 cpu, bool idle)
{
	RUN(c, update_idle, cpu, idle);
}

static void op_cpu_acquire(struct ext_call *c, s32 cpu)
{
	struct scx_cpu_acquire_args args = { 0 };

	RUN(c, cpu_acquire, cpu, &args);
}

static void op_cpu_release(struct ext_call *c, s32 cpu)
{
	struct scx_cpu_release_args args = { .task = &scx.idle };

	RUN(c, cpu_release, cpu, &args);
}

static void op_cpu_online(struct ext_call *c, s32 cpu)
{
	RUN(c, cpu_online, cpu);
}

static void op_cpu_offline(struct ext_call *c, s32 cpu)
{
	RUN(c, cpu_offline, cpu);
}

static struct scx_dump_ctx dump_of(const struct ext_exit *end)
{
	u64 now = scx_clock();

	return (struct scx_dump_ctx){ (int)end->kind, end->code, end->reason, now,
				      now / (NS_PER_SEC / scx_hz()) };
}

static void op_dump(struct ext_call *c, const struct ext_exit *end)
{
	struct scx_dump_ctx ctx = dump_of(end);

	RUN(c, dump, &ctx);
}

static void op_dump_cpu(struct ext_call *c, const struct ext_exit *end, s32 cpu, bool idle)
{
	struct scx_dump_ctx ctx = dump_of(end);

	RUN(c, dump_cpu, &ctx, cpu, idle);
}

static void op_dump_task(struct ext_call *c, const struct ext_exit *end, struct task *t)
{
	struct scx_dump_ctx ctx = dump_of(end);
	struct task_struct *p = scx_see(t);

	p->scx.ddsp_dsq_id = ext_decided(t, &p->scx.ddsp_enq_flags);
	RUN(c, dump_task, &ctx, p);
}

static s32 op_init_task(struct ext_call *c, struct task *t, bool fork)
{
	struct scx_init_task_args args = { fork, scx_see_group(t) };

	return (s32)RUN(c, init_task, scx_see(t), &args);
}

static void op_exit_task(struct ext_call *c, struct task *t)
{
	struct scx_exit_task_args args = { 0 };

	RUN(c, exit_task, scx_see(t), &args);
}

static void op_enable(struct ext_call *c, struct task *t)
{
	RUN(c, enable, scx_see(t));
}

static void op_disable(struct ext_call *c, struct task *t)
{
	RUN(c, disable, scx_see(t));
}

static void run_half(struct ext_call *c, enum half_phase phase)
{
	if (scx.program->half)
		scx_call(c, "the user half", (void *)scx.program->half, phase);
}

void scx_attached(struct ext_call *c, void *unused)
{
	(void)unused;
	run_half(c, HALF_ATTACHED);
}

/* The word of the machine that the program may read. */
static void set_word(const char *name, u64 value)
{
	const struct scx_variable *v = scx_constant(scx.program, name, strlen(name));

	if (v)
		memcpy(v->address, &value, min((size_t)v->size, sizeof(value)));
}

static s32 op_init(struct ext_call *c)
{
	s32 err;

	set_word("CONFIG_HZ", scx_hz());
	set_word("CONFIG_NO_HZ_IDLE", true);
	run_half(c, HALF_CONSTANTS);
	scx_set_constants();
	run_half(c, HALF_LOADED);
	err = OPS->init ? (s32)RUN(c, init, 0) : 0;
	return err ?: scx_groups_open(c);
}

static void op_exit(struct ext_call *c, const struct ext_exit *end)
{
	struct scx_exit_info info = { (int)end->kind, end->code, end->reason, end->message,
				      scx.dump };

	scx_groups_close(c);
	if (OPS->exit)
		RUN(c, exit, &info);
}

struct ext_ops scx_operations(void)
{
	struct ext_ops ops = {
		.name = OPS->name,
		.flags = OPS->flags | scx.program->flags,
		.dispatch_max_batch = OPS->dispatch_max_batch,
		.timeout_ms = OPS->timeout_ms,
		.attach = attach,
		.detach = detach,
		.regroup = scx_group_move,
		.init = op_init,
		.exit = op_exit,
	};

#define TAKE(op) ops.op = OPS->op ? op_##op : NULL
	TAKE(select_cpu), TAKE(enqueue), TAKE(dequeue), TAKE(dispatch), TAKE(tick);
	TAKE(runnable), TAKE(running), TAKE(stopping), TAKE(quiescent), TAKE(yield);
	TAKE(set_weight), TAKE(set_cpumask), TAKE(update_idle), TAKE(cpu_acquire);
	TAKE(cpu_release), TAKE(cpu_online), TAKE(cpu_offline), TAKE(init_task);
	TAKE(exit_task), TAKE(enable), TAKE(disable), TAKE(dump), TAKE(dump_cpu), TAKE(dump_task);
#undef TAKE
	return ops;
}

#define DUMP_SIZE 32768u /* Linux's default */

size_t scx_dump_size(void)
{
	return OPS->exit_dump_len ?: DUMP_SIZE;
}

/* --- what a program asks for ---------------------------------------------- */

bool scx_has_groups(const struct scx_program *program)
{
	const struct sched_ext_ops *ops = program->ops;

	return ops->cgroup_init || ops->cgroup_exit || ops->cgroup_prep_move || ops->cgroup_move ||
	       ops->cgroup_cancel_move || ops->cgroup_set_weight || ops->cgroup_set_bandwidth ||
	       ops->cgroup_set_idle;
}

#define NAME_LEN      128u
#define FLAG_PER_NODE 0x40ull
#define FLAGS_KNOWN   0x1007full /* of 6.12 to 7.x, in scx/common.bpf.h */

/* Why a program, or what the user asks of it, is refused. guarded by: the host, as for loading */
static char refusal[EXT_MESSAGE_LEN];

static const char *refuse(const char *format, ...) __printf(1, 2);
static const char *refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fmt_vsnprintf(refusal, sizeof(refusal), format, args);
	va_end(args);
	return refusal;
}

/* Is @name one that Linux takes for an object? */
static bool is_name(const char *name)
{
	size_t n = 0;

	while (name && ((name[n] >= '0' && name[n] <= '9') || name[n] == '_' || name[n] == '.' ||
			((name[n] | 0x20) >= 'a' && (name[n] | 0x20) <= 'z')))
		n++;
	return n && n < NAME_LEN && !name[n];
}

const char *scx_refusal(const struct scx_program *program, int *err)
{
	const struct sched_ext_ops *ops = program->ops;
	u64 flags;

	*err = -ENOEXEC;
	if (program->abi != SCX_ABI)
		return "was made for another version: make scx SRC=... makes it anew";
	flags = ops->flags | program->flags;
	*err = -E2BIG;
	if (ops->dispatch_max_batch > EXT_BATCH_MAX)
		return refuse("has a dispatch_max_batch of %u; at most %u", ops->dispatch_max_batch,
			      EXT_BATCH_MAX);
	if (ops->timeout_ms > EXT_TIMEOUT_MS)
		return refuse("has a timeout_ms of %u; at most %u", ops->timeout_ms,
			      EXT_TIMEOUT_MS);
	*err = -EINVAL;
	if (!is_name(ops->name))
		return refuse("has a name that is not 1 to %u letters, digits, _ and .",
			      NAME_LEN - 1);
	if (flags & FLAG_PER_NODE)
		return "needs SCX_OPS_BUILTIN_IDLE_PER_NODE, which is not there";
	if (flags & ~FLAGS_KNOWN)
		return refuse("has flags that are none: 0x%llx",
			      (unsigned long long)(flags & ~FLAGS_KNOWN));
	*err = 0;
	return NULL;
}

const struct scx_variable *scx_constant(const struct scx_program *program, const char *name,
					size_t n)
{
	const struct scx_variable *v = program->constants;

	while (v->name && (strlen(v->name) != n || strncmp(v->name, name, n)))
		v++;
	return v->name ? v : NULL;
}

/* Reads @text, a number for the constant @v of @word, into *@value. NULL, or why it is none. */
static const char *read_value(const struct scx_variable *v, const char *word, const char *text,
			      u64 *value)
{
	const u32 bits = v->is_bool ? 1 : 8 * min(v->size, 8u) - !!v->is_signed;
	const u64 most = ~0ull >> (64 - bits);
	const s64 least = v->is_signed ? -(s64)most - 1 : 0;
	s64 negative = 0;
	int err;

	*value = !strcmp(text, "true");
	if (*value || !strcmp(text, "false"))
		return NULL;
	err = *text == '-' ? parse_s64(text, strlen(text), &negative)
			   : parse_u64(text, strlen(text), value);
	if (err == -EINVAL)
		return refuse("%s: not a number", word);
	if (err || *value > most || negative < least)
		return refuse("%s: a number from %lld to %llu is expected", word, (long long)least,
			      (unsigned long long)most);
	*value |= (u64)negative;
	return NULL;
}

const char *scx_set_constant(const struct scx_program *program, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct scx_variable *v;
	const char *why;
	u64 value;

	if (!equals)
		return refuse("%s: must be NAME=VALUE", word);
	v = scx_constant(program, word, (size_t)(equals - word));
	if (!v)
		return refuse("no constant (const volatile) is called %.*s", (int)(equals - word),
			      word);
	if (!v->size || v->size > sizeof(value))
		return refuse("%s: not a constant of one number", word);
	why = read_value(v, word, equals + 1, &value);
	if (why)
		return why;
	scx_need_constant(v->address, v->size);
	memcpy(v->address, &value, v->size);
	return NULL;
}
