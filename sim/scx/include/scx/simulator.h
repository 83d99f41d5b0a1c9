/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions that programs call and only the simulator has; the kernel refuses them by name. */
#pragma once

#include "abi.h"

void *scx_obj_new(size_t size);
void bpf_obj_drop(void *object);
int bpf_rbtree_add(struct bpf_rb_root *root, struct bpf_rb_node *node,
		   bool (*less)(struct bpf_rb_node *a, const struct bpf_rb_node *b));
struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root);
/* @node, or NULL if it is not there. */
struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root, struct bpf_rb_node *node);
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

/* The first CPU of the last-level cache that @cpu is at. */
s32 cpu_llc_id(s32 cpu);
/* How many CPUs that cache has. */
s32 cpu_llc_size(s32 cpu);

/* --- for user halves (sim/scx/halves/) --------------------------------------- */

/* The next CPU of @cpu's core after @after (-1: the first); -1 if there is none. */
s32 half_sibling(s32 cpu, s32 after);
bool half_has_smt(void);
/* In 1024ths of the fastest CPU's. */
u32 half_capacity(s32 cpu);
/* From now on the functions of BPF run on @cpu. */
void half_pin(s32 cpu);
void half_set(const volatile void *constant, const void *value, size_t size);
