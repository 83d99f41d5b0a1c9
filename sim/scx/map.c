/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps of a program: arrays, one for each CPU too, hashes, queues and stacks, storage of tasks, and
 * arrays of maps. Values stay where they are for as long as their key is there.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "sim/engine/util.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define BUCKETS	 1024u
#define MAPS_MAX 256u

struct entry {
	struct entry *next;
	u8 data[] __aligned(8); /* the key, padded to 8 bytes, then the value */
};

struct map {
	const struct scx_map *desc;
	u8 *memory;    /* of arrays and queues */
	u32 first, nr; /* of queues and stacks; nr of hashes */
	u32 step;      /* from a value to the next: a multiple of 8 */
	struct entry **bucket;
};

static struct map maps[MAPS_MAX];

static bool is_hash(u32 type)
{
	return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LRU_HASH ||
	       type == BPF_MAP_TYPE_TASK_STORAGE;
}

static void open_map(struct map *m)
{
	const struct scx_map *d = m->desc;
	size_t values = d->max_entries;

	m->step = (d->value_size + 7) & ~7u;
	if (d->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		values *= scx.sim->config.nr_cpus;
	else if (is_hash(d->type))
		m->bucket = allocate(BUCKETS, sizeof(*m->bucket));
	else if (d->type != BPF_MAP_TYPE_ARRAY && d->type != BPF_MAP_TYPE_QUEUE &&
		 d->type != BPF_MAP_TYPE_STACK && d->type != BPF_MAP_TYPE_ARRAY_OF_MAPS)
		usage_error("%s: the map %s is of a type that is not there yet (%u)",
			    scx.program->source, d->name, d->type);
	if (!m->bucket && m->step)
		m->memory = allocate(values, m->step);
}

/* The place of the map at @address, or where it would be. */
static struct map *place_of(const void *address)
{
	u32 i = (u32)((uintptr_t)address >> 4) * 0x9e3779b1u >> 16;

	while (maps[i % MAPS_MAX].desc && maps[i % MAPS_MAX].desc->map != address)
		i++;
	return &maps[i % MAPS_MAX];
}

void scx_maps_open(void)
{
	u32 nr = 0;

	for (const struct scx_map *d = scx.program->maps; d->name; d++) {
		if (++nr == MAPS_MAX)
			usage_error("%s: more than %u maps", scx.program->source, MAPS_MAX - 1);
		place_of(d->map)->desc = d;
		open_map(place_of(d->map));
	}
}

static struct map *map_of(void *address)
{
	struct map *m = place_of(address);

	if (!m->desc)
		usage_error("%s: a map without SEC(\".maps\")", scx.program->source);
	return m;
}

/* --- hashes --------------------------------------------------------------- */

static u8 *value_of(const struct map *m, struct entry *e)
{
	return e->data + ((m->desc->key_size + 7) & ~7u);
}

static struct entry **find(struct map *m, const void *key)
{
	const u8 *bytes = key;
	u32 hash = 2166136261u;
	struct entry **e;

	for (u32 i = 0; i < m->desc->key_size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	e = &m->bucket[hash % BUCKETS];
	while (*e && memcmp((*e)->data, key, m->desc->key_size))
		e = &(*e)->next;
	return e;
}

/* The new entry at @at, whose value is @value, or zero. */
static struct entry *add(struct map *m, struct entry **at, const void *key, const void *value)
{
	struct entry *e =
		allocate(1, sizeof(*e) + ((m->desc->key_size + 7) & ~7u) + m->desc->value_size);

	memcpy(e->data, key, m->desc->key_size);
	if (value)
		memcpy(value_of(m, e), value, m->desc->value_size);
	m->nr++;
	return *at = e;
}

static long delete (struct map *m, const void *key)
{
	struct entry **at = find(m, key), *e = *at;

	if (!e)
		return -ENOENT;
	*at = e->next;
	free(e);
	m->nr--;
	return 0;
}

/* --- what programs call --------------------------------------------------- */

void *bpf_map_lookup_percpu_elem(void *map, const void *key, u32 cpu)
{
	struct map *m = map_of(map);
	u32 index = *(const u32 *)key;

	if (cpu >= scx.sim->config.nr_cpus || index >= m->desc->max_entries)
		return NULL;
	return m->memory + (size_t)m->step * (cpu * m->desc->max_entries + index);
}

void *bpf_map_lookup_elem(void *map, const void *key)
{
	struct map *m = map_of(map);
	u32 index;

	if (m->bucket) {
		struct entry *e = *find(m, key);

		return e ? value_of(m, e) : NULL;
	}
	index = *(const u32 *)key;
	if (index >= m->desc->max_entries)
		return NULL;
	if (m->desc->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		return bpf_map_lookup_percpu_elem(map, key, scx.sim->this_cpu);
	if (m->desc->values)
		return m->desc->values[index];
	return m->memory + (size_t)m->step * index;
}

long bpf_map_update_elem(void *map, const void *key, const void *value, u64 flags)
{
	struct map *m = map_of(map);
	void *there = bpf_map_lookup_elem(map, key);

	if (there && flags == 1)
		return -EEXIST;
	if (there) {
		memcpy(there, value, m->desc->value_size);
		return 0;
	}
	if (!m->bucket || flags == 2)
		return m->bucket ? -ENOENT : -E2BIG;
	if (m->desc->max_entries && m->nr >= m->desc->max_entries)
		return -E2BIG;
	add(m, find(m, key), key, value);
	return 0;
}

long bpf_map_delete_elem(void *map, const void *key)
{
	struct map *m = map_of(map);

	return m->bucket ? delete (m, key) : -EINVAL;
}

long bpf_map_push_elem(void *map, const void *value, u64 flags)
{
	struct map *m = map_of(map);
	u32 size = m->desc->max_entries;

	if (m->nr == size && flags != 2)
		return -E2BIG;
	if (m->nr == size) {
		m->first = (m->first + 1) % size;
		m->nr--;
	}
	memcpy(m->memory + (size_t)m->step * ((m->first + m->nr++) % size), value,
	       m->desc->value_size);
	return 0;
}

long bpf_map_peek_elem(void *map, void *value)
{
	struct map *m = map_of(map);
	u32 at = m->desc->type == BPF_MAP_TYPE_STACK ? m->first + m->nr - 1 : m->first;

	if (!m->nr)
		return -ENOENT;
	memcpy(value, m->memory + (size_t)m->step * (at % m->desc->max_entries),
	       m->desc->value_size);
	return 0;
}

long bpf_map_pop_elem(void *map, void *value)
{
	struct map *m = map_of(map);
	long err = bpf_map_peek_elem(map, value);

	if (err)
		return err;
	if (m->desc->type != BPF_MAP_TYPE_STACK)
		m->first = (m->first + 1) % m->desc->max_entries;
	m->nr--;
	return 0;
}

void *bpf_task_storage_get(void *map, struct task_struct *p, void *value, u64 flags)
{
	struct map *m = map_of(map);
	struct entry **at = find(m, &p->pid);

	if (!*at && !(flags & 1))
		return NULL;
	return value_of(m, *at ?: add(m, at, &p->pid, value));
}

long bpf_task_storage_delete(void *map, struct task_struct *p)
{
	return delete (map_of(map), &p->pid);
}

void scx_forget_task(const struct task_struct *p)
{
	for (const struct scx_map *d = scx.program->maps; d->name; d++)
		if (d->type == BPF_MAP_TYPE_TASK_STORAGE)
			delete (place_of(d->map), &p->pid);
}
