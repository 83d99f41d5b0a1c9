/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions that programs call (sim/scx/): BPF's, sched_ext's, and those of user halves. */
#pragma once

#include "abi.h"

void *bpf_map_lookup_elem(void *map, const void *key);
void *bpf_map_lookup_percpu_elem(void *map, const void *key, u32 cpu);
long bpf_map_update_elem(void *map, const void *key, const void *value, u64 flags);
long bpf_map_delete_elem(void *map, const void *key);
long bpf_map_push_elem(void *map, const void *value, u64 flags);
long bpf_map_pop_elem(void *map, void *value);
long bpf_map_peek_elem(void *map, void *value);
void *bpf_task_storage_get(void *map, struct task_struct *p, void *value, u64 flags);
long bpf_task_storage_delete(void *map, struct task_struct *p);
/* @nr pages of the arena @map, zeroed, which are given back; NULL: there are none. */
void *bpf_arena_alloc_pages(void *map, void *address, u32 nr, int node, u64 flags);
void bpf_arena_free_pages(void *map, void *address, u32 nr);
/* Takes the lock that is a word of an arena: 0, or -ETIMEDOUT if nobody releases it. */
s32 scx_arena_lock(u32 *word);
long bpf_timer_init(struct bpf_timer *timer, void *map, u64 flags);
long bpf_timer_set_callback(struct bpf_timer *timer, void *callback);
long bpf_timer_start(struct bpf_timer *timer, u64 ns, u64 flags);
long bpf_timer_cancel(struct bpf_timer *timer);
void bpf_spin_lock(struct bpf_spin_lock *lock);
void bpf_spin_unlock(struct bpf_spin_lock *lock);
struct task_struct *bpf_task_from_pid(s32 pid);
/* Does an interrupt call the program, not what runs on this CPU? */
bool bpf_in_hardirq(void);
u64 bpf_ktime_get_ns(void);
u32 bpf_get_smp_processor_id(void);
u32 bpf_get_prandom_u32(void);
/* A line of the simulator's messages, or of the kernel's log. */
long bpf_printk(const char *format, ...);
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask);
u32 bpf_cpumask_first(const struct cpumask *mask);
u32 bpf_cpumask_weight(const struct cpumask *mask);
bool bpf_cpumask_empty(const struct cpumask *mask);
bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b);
bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b);
u32 bpf_cpumask_first_zero(const struct cpumask *mask);
u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b);
u32 bpf_cpumask_any_distribute(const struct cpumask *mask);
u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b);
bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b);
bool bpf_cpumask_full(const struct cpumask *mask);
/* A mask of the program's own; it is one of all CPUs' size, too. */
struct bpf_cpumask *bpf_cpumask_create(void);
struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *mask);
void bpf_cpumask_release(struct bpf_cpumask *mask);
void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *mask);
void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *mask);
bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *mask);
bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *mask);
void bpf_cpumask_setall(struct bpf_cpumask *mask);
void bpf_cpumask_clear(struct bpf_cpumask *mask);
void bpf_cpumask_copy(struct bpf_cpumask *to, const struct cpumask *from);
bool bpf_cpumask_and(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b);
void bpf_cpumask_or(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b);
void bpf_cpumask_xor(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b);
struct cgroup *scx_bpf_task_cgroup(struct task_struct *p);
struct cgroup *bpf_cgroup_from_id(u64 id);
struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level);
void *bpf_cgrp_storage_get(void *map, struct cgroup *cgrp, void *value, u64 flags);

void *scx_obj_new(size_t size);
void bpf_obj_drop(void *object);
int bpf_rbtree_add(struct bpf_rb_root *root, struct bpf_rb_node *node,
		   bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b));
struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root);
/* @node, or NULL if it is not there. */
struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node);

struct bpf_iter_scx_dsq {
	void *walk;
};
struct bpf_iter_scx_dsq scx_iter_begin_scx_dsq(u64 dsq, u64 flags);
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it);
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it);

s32 scx_bpf_create_dsq(u64 dsq, s32 node);
void scx_bpf_destroy_dsq(u64 dsq);
s32 scx_bpf_dsq_nr_queued(u64 dsq);
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 wake_flags, bool *is_idle);
s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev, u64 wake_flags,
			   const struct cpumask *mask, u64 flags);
/* The first task of a queue, or NULL. */
struct task_struct *scx_bpf_dsq_peek(u64 dsq);
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags);
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 enq_flags);
u32 scx_bpf_dispatch_nr_slots(void);
void scx_bpf_dispatch_cancel(void);
bool scx_to_local(u64 dsq);
void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice);
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime);
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 enq_flags);
bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
			    u64 enq_flags);
u32 scx_bpf_reenqueue_local(void);
void scx_bpf_kick_cpu(s32 cpu, u64 flags);
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu);
s32 scx_bpf_pick_idle_cpu(const struct cpumask *mask, u64 flags);
s32 scx_bpf_pick_any_cpu(const struct cpumask *mask, u64 flags);
const struct cpumask *scx_bpf_get_idle_cpumask(void);
const struct cpumask *scx_bpf_get_idle_smtmask(void);
const struct cpumask *scx_bpf_get_possible_cpumask(void);
const struct cpumask *scx_bpf_get_online_cpumask(void);
u32 scx_bpf_nr_cpu_ids(void);
bool scx_bpf_task_running(const struct task_struct *p);
s32 scx_bpf_task_cpu(const struct task_struct *p);
struct task_struct *scx_bpf_cpu_curr(s32 cpu);
struct rq *scx_bpf_cpu_rq(s32 cpu);
u64 scx_bpf_now(void);
/* @cpu's clock, and that of its averages, as it last looked at them. */
u64 scx_clock_task(u32 cpu);
u64 scx_clock_pelt(u32 cpu);
void scx_bpf_events(struct scx_event_stats *events, size_t size);
u32 scx_bpf_cpuperf_cap(s32 cpu);
u32 scx_bpf_cpuperf_cur(s32 cpu);
void scx_bpf_cpuperf_set(s32 cpu, u32 perf);
void scx_bpf_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void scx_bpf_dump(const char *format, ...) __attribute__((format(printf, 1, 2)));
void scx_bpf_exit(s64 code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first CPU of the last-level cache that @cpu is at. */
s32 cpu_llc_id(s32 cpu);
/* How many CPUs that cache has. */
s32 cpu_llc_size(s32 cpu);

/* --- for user halves (sim/scx/halves/) --------------------------------------- */

/* The next CPU of @cpu's core after @after (-1: the first); -1 if there is none. */
s32 half_sibling(s32 cpu, s32 after);
bool half_has_smt(void);
/* The number of @cpu's core, and of its last-level cache. */
u32 half_core(s32 cpu);
u32 half_llc(s32 cpu);
/* In 1024ths of the fastest CPU's. */
u32 half_capacity(s32 cpu);
/* From now on the functions of BPF run on @cpu. */
void half_pin(s32 cpu);
void half_set(const volatile void *constant, const void *value, size_t size);
