/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps of a program: arrays, one for each CPU too, hashes, queues and stacks, storage of tasks, and
 * arrays of maps; its arena is in arena.c. Values stay where they are for as long as their key is
 * there. An entry that is deleted becomes that of another key: the program may have pointers to it,
 * on any CPU.
 *
 * Lock: of a hash, queue or stack the map's. Values are the program's, and nothing guards them.
 */
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/list.h"
#include "lib/string.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define BUCKETS	  1024u
#define MAPS_MAX  256u
#define MAP_BYTES (1ull << 30) /* of one map */
#define KEY_MAX	  512u	       /* bytes, as on Linux */

struct entry {
	struct entry *next;
	struct list age;	/* in map.ages */
	u8 data[] __aligned(8); /* the key, padded to 8 bytes, then the value */
};

struct map {
	const struct scx_map *desc;
	u8 *memory; /* of arrays and queues */
	struct host_lock lock;
	u32 first, nr; /* of queues and stacks; nr of hashes */
	u32 step;      /* from a value to the next: a multiple of 8 */
	struct entry **bucket, *unused;
	struct list ages; /* of a hash: the entry that was used least recently comes first */
};

static struct map maps[MAPS_MAX];

static bool is_storage(u32 type)
{
	return type == BPF_MAP_TYPE_TASK_STORAGE || type == BPF_MAP_TYPE_CGRP_STORAGE;
}

static bool is_hash(u32 type)
{
	return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LRU_HASH || is_storage(type);
}

static bool is_queue(u32 type)
{
	return type == BPF_MAP_TYPE_QUEUE || type == BPF_MAP_TYPE_STACK;
}

static bool is_array(u32 type)
{
	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
}

/* The reason why a map of the description @d cannot be, or NULL. Linux gives EINVAL or E2BIG. */
static const char *wrong_in(const struct scx_map *d)
{
	u32 key = is_array(d->type) || is_storage(d->type) ? 4 : d->key_size;

	if (d->type == BPF_MAP_TYPE_ARENA || d->type == BPF_MAP_TYPE_RINGBUF)
		return NULL;
	if (!is_hash(d->type) && !is_queue(d->type) && !is_array(d->type))
		return "of a type that is not there";
	if (d->key_size != key || is_queue(d->type) != !key)
		return "with a key of another size than its type has";
	if ((!d->max_entries && !is_storage(d->type)) || (!d->value_size && !d->values))
		return "without entries, or with values of no bytes";
	if (key > KEY_MAX || d->value_size > MAP_BYTES)
		return "with too large a key or value";
	return NULL;
}

/* Opens @m as its description says. NULL, or what it is that it cannot be. */
static const char *open_map(struct map *m)
{
	const struct scx_map *d = m->desc;
	u64 values = d->max_entries;
	const char *wrong = wrong_in(d);
	bool opened = true;

	if (wrong)
		return wrong;
	m->step = (d->value_size + 7) & ~7u;
	m->lock.rank = HOST_RANK_LEAF;
	list_init(&m->ages);
	if (d->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		values *= scx_nr_cpus();
	if (is_hash(d->type)) {
		m->bucket = scx_alloc_large(BUCKETS * sizeof(*m->bucket));
		opened = m->bucket;
	} else if (d->type == BPF_MAP_TYPE_ARENA) {
		opened = scx_arena_open(d);
	} else if ((is_queue(d->type) || is_array(d->type)) && !d->values) {
		if (values > MAP_BYTES / m->step)
			return "of more than 2^30 bytes";
		m->memory = scx_alloc_large(values * m->step);
		opened = m->memory;
	} /* a ring buffer that nobody reads never has room */
	return opened ? NULL : "for which there is no memory";
}

/* The place of the map at @address, or where it would be. */
static struct map *place_of(const void *address)
{
	u32 i = (u32)((uintptr_t)address >> 4) * 0x9e3779b1u >> 16;

	while (maps[i % MAPS_MAX].desc && maps[i % MAPS_MAX].desc->map != address)
		i++;
	return &maps[i % MAPS_MAX];
}

const char *scx_maps_open(void)
{
	static char refusal[EXT_MESSAGE_LEN];
	const char *wrong;
	u32 nr = 0;

	for (const struct scx_map *d = scx.program->maps; d->name; d++) {
		struct map *m = place_of(d->map);

		if (m->desc && !strcmp(m->desc->name, d->name))
			continue; /* two sources of the program declare it */
		m->desc = m->desc ?: d;
		wrong = ++nr == MAPS_MAX ? "behind 255 others, which is too many"
			: m->desc != d	 ? "in the place of another"
					 : open_map(m);
		if (!wrong)
			continue;
		fmt_snprintf(refusal, sizeof(refusal), "has the map %.64s, %s", d->name, wrong);
		return refusal;
	}
	return NULL;
}

static void free_entries(struct entry *e)
{
	while (e) {
		struct entry *next = e->next;

		scx_free(e);
		e = next;
	}
}

void scx_maps_close(void)
{
	for (u32 i = 0; i < MAPS_MAX; i++) {
		struct map *m = &maps[i];

		for (u32 n = 0; m->bucket && n < BUCKETS; n++)
			free_entries(m->bucket[n]);
		free_entries(m->unused);
		scx_free_large(m->bucket);
		scx_free_large(m->memory);
		*m = (struct map){ 0 };
	}
	scx_arena_close();
}

/* The map that the program means; NULL and a fault if it is none. */
static struct map *map_of(void *address)
{
	struct map *m = place_of(address);

	if (m->desc)
		return m;
	ext_report(scx_frame()->call, EXT_EXIT_ERROR, 0,
		   "a map that is none, or was not declared with SEC(\".maps\")");
	return NULL;
}

static bool is_type(struct map *m, bool (*is)(u32 type))
{
	return m && is(m->desc->type);
}

/* --- hashes --------------------------------------------------------------- */

static u8 *value_of(const struct map *m, struct entry *e)
{
	return e->data + ((m->desc->key_size + 7) & ~7u);
}

/* Most keys are numbers: of tasks, groups, queues. */
static struct entry **find_number(struct map *m, u32 key)
{
	struct entry **e = &m->bucket[(key * 0x9e3779b1u >> 16) % BUCKETS];

	while (*e && *(const u32 *)(*e)->data != key)
		e = &(*e)->next;
	return e;
}

static struct entry **find(struct map *m, const void *key)
{
	const u8 *bytes = key;
	u32 hash = 2166136261u;
	struct entry **e;

	if (m->desc->key_size == sizeof(u32))
		return find_number(m, *(const u32 *)key);
	for (u32 i = 0; i < m->desc->key_size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	e = &m->bucket[hash % BUCKETS];
	while (*e && memcmp((*e)->data, key, m->desc->key_size))
		e = &(*e)->next;
	return e;
}

/* The new entry at @at, whose value is @value, or zero. NULL: no memory. @m is locked. */
static struct entry *add(struct map *m, struct entry **at, const void *key, const void *value)
{
	struct entry *e = m->unused;

	if (e)
		m->unused = e->next;
	else
		e = scx_alloc(sizeof(*e) + ((m->desc->key_size + 7) & ~7u) + m->desc->value_size);
	if (!e)
		return NULL;
	e->next = NULL;
	list_add_tail(&m->ages, &e->age);
	memcpy(e->data, key, m->desc->key_size);
	if (value)
		memcpy(value_of(m, e), value, m->desc->value_size);
	else
		memset(value_of(m, e), 0, m->desc->value_size);
	m->nr++;
	return *at = e;
}

/* The entry at @at, if there is one, ends. @m is locked. */
static bool end_entry(struct map *m, struct entry **at)
{
	struct entry *e = *at;

	if (!e)
		return false;
	*at = e->next;
	list_del(&e->age);
	e->next = m->unused;
	m->unused = e;
	m->nr--;
	return true;
}

static long delete (struct map *m, const void *key)
{
	bool found;

	host_lock(&m->lock);
	found = end_entry(m, find(m, key));
	host_unlock(&m->lock);
	return found ? 0 : -ENOENT;
}

/* Is there room for one entry more? An LRU makes it. @m is locked. */
static bool has_room(struct map *m)
{
	if (!m->desc->max_entries || m->nr < m->desc->max_entries)
		return true;
	return m->desc->type == BPF_MAP_TYPE_LRU_HASH &&
	       end_entry(m, find(m, list_first(&m->ages, struct entry, age)->data));
}

static void note_use(struct map *m, struct entry *e)
{
	if (m->desc->type != BPF_MAP_TYPE_LRU_HASH)
		return;
	list_del(&e->age);
	list_add_tail(&m->ages, &e->age);
}

static void *find_value(struct map *m, const void *key)
{
	struct entry *e;

	host_lock(&m->lock);
	e = *find(m, key);
	if (e)
		note_use(m, e);
	host_unlock(&m->lock);
	return e ? value_of(m, e) : NULL;
}

/* --- what programs call --------------------------------------------------- */

void *bpf_map_lookup_percpu_elem(void *map, const void *key, u32 cpu)
{
	struct map *m = map_of(map);
	u32 index;

	scx_need(key, sizeof(index), false);
	index = *(const u32 *)key;
	if (!m || m->desc->type != BPF_MAP_TYPE_PERCPU_ARRAY || cpu >= scx_nr_cpus() ||
	    index >= m->desc->max_entries)
		return NULL;
	return m->memory + (size_t)m->step * ((size_t)cpu * m->desc->max_entries + index);
}

void *bpf_map_lookup_elem(void *map, const void *key)
{
	struct map *m = map_of(map);
	u32 index;

	if (is_type(m, is_hash)) {
		scx_need(key, m->desc->key_size, false);
		return find_value(m, key);
	}
	scx_need(key, sizeof(index), false);
	index = *(const u32 *)key;
	if (!is_type(m, is_array) || index >= m->desc->max_entries)
		return NULL;
	if (m->desc->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		return bpf_map_lookup_percpu_elem(map, key, scx_this_cpu());
	if (m->desc->values)
		return m->desc->values[index];
	return m->memory + (size_t)m->step * index;
}

static void overwrite(struct map *m, struct entry *e, const void *value)
{
	memcpy(value_of(m, e), value, m->desc->value_size);
	note_use(m, e);
}

/* -EEXIST, -ENOENT and -E2BIG are as @flags and the room of @m say. */
static long update_hash(struct map *m, const void *key, const void *value, u64 flags)
{
	struct entry **at;
	long err = 0;

	host_lock(&m->lock);
	at = find(m, key);
	if (*at && flags == 1)
		err = -EEXIST;
	else if (*at)
		overwrite(m, *at, value);
	else if (flags == 2)
		err = -ENOENT;
	else if (!has_room(m) || !add(m, find(m, key), key, value))
		err = -E2BIG;
	host_unlock(&m->lock);
	return err;
}

long bpf_map_update_elem(void *map, const void *key, const void *value, u64 flags)
{
	struct map *m = map_of(map);
	void *there;

	if (!m || m->desc->values)
		return -EINVAL;
	scx_need(value, m->desc->value_size, false);
	if (is_hash(m->desc->type)) {
		scx_need(key, m->desc->key_size, false);
		return update_hash(m, key, value, flags);
	}
	there = bpf_map_lookup_elem(map, key);
	if (!there || flags == 1)
		return there ? -EEXIST : -E2BIG;
	memcpy(there, value, m->desc->value_size);
	return 0;
}

long bpf_map_delete_elem(void *map, const void *key)
{
	struct map *m = map_of(map);

	if (!is_type(m, is_hash))
		return -EINVAL;
	scx_need(key, m->desc->key_size, false);
	return delete (m, key);
}

static u8 *queue_slot(struct map *m, u32 at)
{
	return m->memory + (size_t)m->step * (at % m->desc->max_entries);
}

long bpf_map_push_elem(void *map, const void *value, u64 flags)
{
	struct map *m = map_of(map);
	u32 size = m ? m->desc->max_entries : 0;
	bool full;

	if (!is_type(m, is_queue) || !size)
		return -EINVAL;
	scx_need(value, m->desc->value_size, false);
	host_lock(&m->lock);
	full = m->nr == size;
	if (full && flags == 2) {
		m->first = (m->first + 1) % size;
		m->nr--;
	}
	if (m->nr < size)
		memcpy(queue_slot(m, m->first + m->nr++), value, m->desc->value_size);
	host_unlock(&m->lock);
	return full && flags != 2 ? -E2BIG : 0;
}

/* The next value of @map, into @value; it stays there unless @pop. */
static long take_value(void *map, void *value, bool pop)
{
	struct map *m = map_of(map);
	bool is_stack = m && m->desc->type == BPF_MAP_TYPE_STACK;
	u32 nr;

	if (!is_type(m, is_queue))
		return -EINVAL;
	scx_need(value, m->desc->value_size, true);
	host_lock(&m->lock);
	nr = m->nr;
	if (nr)
		memcpy(value, queue_slot(m, is_stack ? m->first + nr - 1 : m->first),
		       m->desc->value_size);
	if (nr && pop) {
		m->nr--;
		if (!is_stack)
			m->first = (m->first + 1) % m->desc->max_entries;
	}
	host_unlock(&m->lock);
	return nr ? 0 : -ENOENT;
}

long bpf_map_peek_elem(void *map, void *value)
{
	return take_value(map, value, false);
}

long bpf_map_pop_elem(void *map, void *value)
{
	return take_value(map, value, true);
}

/* The value that @map keeps under @key; with the lowest bit of @flags it is made from @value. */
static void *storage_get(void *map, const void *key, const void *value, u64 flags)
{
	struct map *m = map_of(map);
	struct entry **at, *e;

	if (!is_type(m, is_hash))
		return NULL;
	if (value)
		scx_need(value, m->desc->value_size, false);
	host_lock(&m->lock);
	at = find(m, key);
	e = *at;
	if (!e && (flags & 1))
		e = add(m, at, key, value);
	host_unlock(&m->lock);
	return e ? value_of(m, e) : NULL;
}

void *bpf_task_storage_get(void *map, struct task_struct *p, void *value, u64 flags)
{
	scx_need(p, sizeof(*p), false);
	return storage_get(map, &p->pid, value, flags);
}

void *bpf_cgrp_storage_get(void *map, struct cgroup *cgrp, void *value, u64 flags)
{
	scx_need(cgrp, sizeof(*cgrp), false);
	return storage_get(map, &cgrp->number, value, flags);
}

long bpf_task_storage_delete(void *map, struct task_struct *p)
{
	struct map *m = map_of(map);

	if (!is_type(m, is_hash))
		return -EINVAL;
	scx_need(p, sizeof(*p), false);
	return delete (m, &p->pid);
}

/* All storage of this type that has this key ends. */
static void end_storage(u32 type, const void *key)
{
	for (const struct scx_map *d = scx.program->maps; d->name; d++)
		if (d->type == type)
			delete (place_of(d->map), key);
}

void scx_forget_task(const struct task_struct *p)
{
	end_storage(BPF_MAP_TYPE_TASK_STORAGE, &p->pid);
}

void scx_forget_group(const struct cgroup *cgrp)
{
	end_storage(BPF_MAP_TYPE_CGRP_STORAGE, &cgrp->number);
}
