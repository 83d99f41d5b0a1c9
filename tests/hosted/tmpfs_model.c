/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a tmpfs: an array of names, one of files, and what was written in the order in which
 * that was done. It has Linux's errors, in the order in which Linux looks for them.
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "tmpfs.h"

enum { ROOT, MAX_INODES = 7, MAX_PAGES = 5, PAGE = 4096 };
#define NOBODY ((u8)-1)

void tmpfs_model_create(void *model, unsigned nr_threads)
{
	struct tmpfs_model *m = model;

	memset(m, 0, sizeof(*m));
	m->alone = nr_threads == 1;
	m->files[ROOT] = (struct tmpfs_file){ .used = true, .is_dir = true };
	m->names[ROOT] = (struct tmpfs_name){ .used = true, .linked = true };
}

/* --- names ---------------------------------------------------------------------------------- */

static struct tmpfs_name *name_in(struct tmpfs_model *m, u8 dir, char letter)
{
	for (unsigned i = 0; i < ARRAY_SIZE(m->names); i++)
		if (m->names[i].linked && m->names[i].dir == dir && m->names[i].name == letter)
			return &m->names[i];
	return NULL;
}

/* The only name of the directory @dir. */
static struct tmpfs_name *name_of(struct tmpfs_model *m, u8 dir)
{
	struct tmpfs_name *name = m->names;

	while (!name->used || name->file != dir)
		name++;
	return name;
}

static unsigned nr_names(const struct tmpfs_model *m, u8 file)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(m->names); i++)
		nr += m->names[i].linked && m->names[i].file == file;
	return nr;
}

static bool is_empty(const struct tmpfs_model *m, u8 dir)
{
	for (unsigned i = 0; i < ARRAY_SIZE(m->names); i++)
		if (m->names[i].linked && m->names[i].dir == dir)
			return false;
	return true;
}

static bool is_dir(const struct tmpfs_model *m, const struct tmpfs_name *name)
{
	return m->files[name->file].is_dir;
}

/* A path but for its last component, of which a letter is enough. */
struct place {
	long error;
	u8 dir;
	char letter;
	bool slash;
};

static struct place place_of(struct tmpfs_model *m, unsigned path)
{
	const char *at = tmpfs_paths[path % TMPFS_PATHS];
	struct place p = { .dir = ROOT };

	for (;;) {
		const struct tmpfs_name *name;

		p.letter = *++at;
		while (*at && *at != '/')
			at++;
		p.slash = *at == '/';
		if (!*at || !at[1])
			return p;
		name = name_in(m, p.dir, p.letter);
		if (!name || !is_dir(m, name)) {
			p.error = name ? -ENOTDIR : -ENOENT;
			return p;
		}
		p.dir = name->file;
	}
}

static struct tmpfs_name *lookup(struct tmpfs_model *m, unsigned path, long *error)
{
	struct place p = place_of(m, path);
	struct tmpfs_name *name = p.error ? NULL : name_in(m, p.dir, p.letter);

	*error = p.error ? p.error : !name ? -ENOENT : 0;
	if (name && p.slash && !is_dir(m, name))
		*error = -ENOTDIR;
	return *error ? NULL : name;
}

/* Is @name in its directory, or the name of an open file or of the directory of a name in use? */
static bool in_use(const struct tmpfs_model *m, const struct tmpfs_name *name)
{
	for (unsigned nr = 0; nr < NR_FIBERS; nr++)
		if (&m->names[m->hand[nr]] == name)
			return true;
	for (unsigned i = 0; i < ARRAY_SIZE(m->names); i++)
		if (m->names[i].used && m->names[i].dir == name->file)
			return true;
	return name->linked;
}

static void forget_file(struct tmpfs_model *m, u8 file)
{
	unsigned left = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(m->names); i++)
		if (m->names[i].used && m->names[i].file == file)
			return;
	m->files[file] = (struct tmpfs_file){ 0 };
	for (unsigned i = 0; i < m->nr_written; i++)
		if (m->written[i].file != file)
			m->written[left++] = m->written[i];
	m->nr_written = left;
}

/* Forgets @name if nothing uses it any longer; then the name of its directory, and so on. */
static void release(struct tmpfs_model *m, struct tmpfs_name *name)
{
	while (!in_use(m, name)) {
		u8 dir = name->dir;

		name->used = false;
		forget_file(m, name->file);
		name = name_of(m, dir);
	}
}

/* A file and each name but its first count, directories and the root as well. */
static unsigned nr_inodes(const struct tmpfs_model *m)
{
	unsigned nr = 0;

	for (u8 i = 0; i < ARRAY_SIZE(m->files); i++)
		if (m->files[i].used)
			nr += nr_names(m, i) > 1 ? nr_names(m, i) : 1;
	return nr;
}

static unsigned nr_pages(const struct tmpfs_model *m)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(m->files); i++)
		nr += (unsigned)__builtin_popcountl(m->files[i].pages);
	return nr;
}

/* -ENOSPC: the file system has no inode left, or a lack of memory says the same. */
static long room(const struct tmpfs_model *m, const struct answer *a)
{
	bool full = m->alone && nr_inodes(m) >= MAX_INODES;

	return full || (a->failed && a->value == -ENOSPC) ? -ENOSPC : 0;
}

/* Puts @name, of a file, at @p. */
static void link_name(struct tmpfs_model *m, struct tmpfs_name *name, const struct place *p)
{
	name->used = name->linked = true;
	name->name = p->letter;
	name->dir = p->dir;
	name->cookie = m->next_cookie++;
}

static void unlink_name(struct tmpfs_model *m, struct tmpfs_name *name)
{
	name->linked = false;
	release(m, name);
}

static struct tmpfs_name *add_name(struct tmpfs_model *m, const struct place *p, u8 file)
{
	struct tmpfs_name *name = m->names;

	while (name->used)
		name++;
	name->file = file;
	link_name(m, name, p);
	return name;
}

static struct tmpfs_name *add_file(struct tmpfs_model *m, const struct place *p, bool dir)
{
	u8 file = 0;

	while (m->files[file].used)
		file++;
	m->files[file] = (struct tmpfs_file){ .used = true, .is_dir = dir };
	return add_name(m, p, file);
}

static void hold(struct tmpfs_model *m, unsigned nr, const struct tmpfs_name *name)
{
	struct tmpfs_name *old = &m->names[m->hand[nr]];

	m->hand[nr] = (u8)(name - m->names);
	release(m, old);
}

static void truncate(struct tmpfs_model *m, u8 file, u64 size);

static long open_path(struct tmpfs_model *m, unsigned nr, const struct call *call,
		      const struct answer *a)
{
	struct place p = place_of(m, call->n);
	struct tmpfs_name *name = p.error ? NULL : name_in(m, p.dir, p.letter);
	bool creates = call->op == TMPFS_CREATE || call->op == TMPFS_EXCLUSIVE;

	if (p.error)
		return p.error;
	if (creates && p.slash)
		return -EISDIR;
	if (!name) {
		long error = creates ? room(m, a) : -ENOENT;

		if (!error)
			hold(m, nr, add_file(m, &p, false));
		return error;
	}
	if (call->op == TMPFS_EXCLUSIVE)
		return -EEXIST;
	if (is_dir(m, name) || p.slash)
		return is_dir(m, name) ? -EISDIR : -ENOTDIR;
	if (call->op == TMPFS_EMPTY)
		truncate(m, name->file, 0);
	hold(m, nr, name);
	return 0;
}

static long make_dir(struct tmpfs_model *m, const struct call *call, const struct answer *a)
{
	struct place p = place_of(m, call->n);
	long error = p.error;

	if (!error && name_in(m, p.dir, p.letter))
		error = -EEXIST;
	if (!error)
		error = room(m, a);
	if (!error)
		add_file(m, &p, true);
	return error;
}

/* Why @name cannot be taken away as a directory or a file; 0. */
static long removable(const struct tmpfs_model *m, const struct tmpfs_name *name, bool dir)
{
	if (dir != is_dir(m, name))
		return dir ? -ENOTDIR : -EISDIR;
	return is_empty(m, name->file) ? 0 : -ENOTEMPTY;
}

static long remove_path(struct tmpfs_model *m, const struct call *call)
{
	long error;
	struct tmpfs_name *name = lookup(m, call->n, &error);

	if (!error)
		error = removable(m, name, call->op == TMPFS_RMDIR);
	if (!error)
		unlink_name(m, name);
	return error;
}

static long link_path(struct tmpfs_model *m, const struct call *call, const struct answer *a)
{
	long error;
	const struct tmpfs_name *old = lookup(m, call->n, &error);
	struct place p = place_of(m, call->n / TMPFS_PATHS);

	if (error || p.error)
		return error ? error : p.error;
	if (name_in(m, p.dir, p.letter))
		return -EEXIST;
	if (p.slash)
		return -ENOENT;
	if (is_dir(m, old))
		return -EPERM;
	error = room(m, a);
	if (!error)
		add_name(m, &p, old->file);
	return error;
}

/* Is the directory @dir @above or below it? */
static bool is_below(struct tmpfs_model *m, u8 dir, u8 above)
{
	while (dir != above && dir != ROOT)
		dir = name_of(m, dir)->dir;
	return dir == above;
}

static long rename_path(struct tmpfs_model *m, const struct call *call, const struct answer *a)
{
	struct place from = place_of(m, call->n), to = place_of(m, call->n / TMPFS_PATHS);
	struct tmpfs_name *name, *victim;
	long error = 0;

	if (from.error || to.error)
		error = from.error ? from.error : to.error;
	name = error ? NULL : name_in(m, from.dir, from.letter);
	victim = error ? NULL : name_in(m, to.dir, to.letter);
	if (!name)
		/* The directory @to was found, and then moved into the one that is renamed. */
		return !m->alone && a->value == -EINVAL ? -EINVAL : error ? error : -ENOENT;
	if (victim && call->op == TMPFS_RENAME_NEW)
		return -EEXIST;
	if ((from.slash || to.slash) && !is_dir(m, name))
		return -ENOTDIR;
	if (is_dir(m, name) && is_below(m, to.dir, name->file))
		return -EINVAL;
	if (victim && victim->file == name->file)
		return 0;
	error = victim ? removable(m, victim, is_dir(m, name)) : 0;
	if (error)
		return error;
	if (victim)
		unlink_name(m, victim);
	link_name(m, name, &to);
	return 0;
}

static long stat_path(struct tmpfs_model *m, const struct call *call, u64 *digest)
{
	long error;
	const struct tmpfs_name *name = lookup(m, call->n, &error);
	u8 file = name ? name->file : NOBODY;
	u64 links;

	if (error || !m->alone)
		return error ? error : is_dir(m, name);
	links = is_dir(m, name) ? 2 : nr_names(m, file);
	for (unsigned i = 0; i < ARRAY_SIZE(m->names); i++)
		links += m->names[i].linked && m->names[i].dir == file && is_dir(m, &m->names[i]);
	*digest = tmpfs_digest(links, m->files[file].size,
			       (u64)__builtin_popcountl(m->files[file].pages));
	return is_dir(m, name);
}

/* Names in the order in which they came to the directory. */
static long list_names(struct tmpfs_model *m, const struct call *call, u64 *digest)
{
	static const char dots[] = "...";
	long error;
	const struct tmpfs_name *dir = lookup(m, call->n, &error);

	if (error || !is_dir(m, dir))
		return error ? error : -ENOTDIR;
	*digest = mix(mix(TMPFS_BASIS, (u8)dots[0]), 1);
	*digest = mix(mix(mix(*digest, (u8)dots[1]), (u8)dots[2]), 1);
	for (u32 cookie = 0; cookie < m->next_cookie; cookie++)
		for (unsigned i = 0; i < ARRAY_SIZE(m->names); i++) {
			const struct tmpfs_name *name = &m->names[i];

			if (!name->linked || name->dir != dir->file || name->cookie != cookie)
				continue;
			for (unsigned nr = tmpfs_letters(name->name); nr--;)
				*digest = mix(*digest, (u8)name->name);
			*digest = mix(*digest, is_dir(m, name));
		}
	return 0;
}

/* --- contents ------------------------------------------------------------------------------- */

/* The pages that the calls can reach: at the beginning, behind 2 MiB, and the last one. */
static u64 bit_of(u64 page)
{
	return 1ull << (page < 32 ? page : page < 543 ? page - 512 + 32 : 63);
}

/* False: the file system is full. @stop: there was no memory for a page that is not there yet. */
static bool take_page(struct tmpfs_model *m, u8 file, u64 page, bool stop)
{
	u64 *pages = &m->files[file].pages;

	if (*pages & bit_of(page))
		return true;
	if (stop || (m->alone && nr_pages(m) >= MAX_PAGES))
		return false;
	*pages |= bit_of(page);
	return true;
}

static void note(struct tmpfs_model *m, const struct tmpfs_written *written)
{
	m->written[m->nr_written++] = *written;
}

static u8 byte_at(const struct tmpfs_model *m, u8 file, u64 offset)
{
	for (unsigned i = m->nr_written; i-- > 0;) {
		const struct tmpfs_written *w = &m->written[i];

		if (w->file == file && w->from <= offset && offset < w->to)
			return w->zeros ? 0 : tmpfs_byte(w->id, offset - w->from);
	}
	return 0;
}

static void truncate(struct tmpfs_model *m, u8 file, u64 size)
{
	struct tmpfs_file *f = &m->files[file];

	if (!size || size < f->size) {
		if (size <= TMPFS_MOST - PAGE)
			f->pages &= bit_of((size + PAGE - 1) / PAGE) - 1;
		note(m, &(struct tmpfs_written){ file, true, 0, size, TMPFS_MOST });
	}
	f->size = size;
}

static long read_file(struct tmpfs_model *m, u8 file, const struct call *call, u64 *digest)
{
	u64 offset = tmpfs_offset(call), size = m->files[file].size;
	u64 n = tmpfs_length(call);

	n = offset < size ? min(n, size - offset) : 0;
	if (call->how == USER_BAD)
		n = min(n, tmpfs_length(call) / 2ull);
	*digest = offset + n;
	if (!n && tmpfs_length(call) && offset < size)
		return -EFAULT;
	for (u64 i = 0; i < n; i++)
		*digest = mix(*digest, byte_at(m, file, offset + i));
	return (long)n;
}

static long write_file(struct tmpfs_model *m, u8 file, unsigned id, const struct call *call,
		       struct answer *a)
{
	struct tmpfs_file *f = &m->files[file];
	u64 offset = call->op == TMPFS_APPEND ? f->size : tmpfs_offset(call), done = 0;
	u64 n = tmpfs_length(call), good = call->how == USER_BAD ? n / 2 : n;
	u64 seen = a->value > 0 ? (u64)a->value : 0;
	bool lack = a->failed && a->value != -EFAULT;
	long error = 0;

	a->digest = 0;
	if (n && offset >= TMPFS_MOST)
		return -EFBIG;
	n = min(n, TMPFS_MOST - offset);
	while (done < n && !error) {
		u64 at = offset + done, piece = min(n - done, PAGE - at % PAGE);

		if (!take_page(m, file, at / PAGE, lack && done == seen)) {
			error = -ENOSPC;
		} else {
			error = done + piece > good ? -EFAULT : 0;
			done = min(done + piece, good);
			/* As on Linux even if the address was bad at once, and the call fails. */
			f->size = max(f->size, offset + done);
		}
	}
	if (!done)
		return error;
	note(m, &(struct tmpfs_written){ file, false, (u16)id, offset, offset + done });
	a->digest = offset + done;
	return (long)done;
}

/* The digest of the call is the number of pages that the file has then. */
static long allocate(struct tmpfs_model *m, u8 file, const struct call *call, struct answer *a)
{
	struct tmpfs_file *f = &m->files[file];
	u64 offset = tmpfs_offset(call), end = offset + tmpfs_length(call) + 1;
	bool lack = a->failed && a->value == -ENOSPC, good = true;
	u64 before = f->pages;

	if (end <= TMPFS_MOST) {
		for (u64 page = offset / PAGE; page * PAGE < end && good; page++)
			good = take_page(m, file, page, lack);
		if (good && call->op == TMPFS_EXTEND)
			f->size = max(f->size, end);
		if (!good)
			f->pages = before;
	}
	a->digest = (u64)__builtin_popcountl(f->pages);
	return end > TMPFS_MOST ? -EFBIG : good ? 0 : -ENOSPC;
}

static long map_byte(struct tmpfs_model *m, u8 file, const struct call *call,
		     const struct answer *a)
{
	u64 offset = tmpfs_offset(call);

	if (offset / PAGE * PAGE >= m->files[file].size)
		return -ENXIO;
	if (!take_page(m, file, offset / PAGE, a->failed && a->value == -ENOMEM))
		return a->failed && a->value == -ENOMEM ? -ENOMEM : -ENOSPC;
	return byte_at(m, file, offset);
}

static long on_file(struct tmpfs_model *m, u8 file, unsigned id, const struct call *call,
		    struct answer *a)
{
	if (!file)
		return -EBADF;
	switch ((enum tmpfs_op)call->op) {
	case TMPFS_READ:
		return read_file(m, file, call, &a->digest);
	case TMPFS_TRUNCATE:
		if (tmpfs_offset(call) > TMPFS_MOST)
			return -EFBIG;
		truncate(m, file, tmpfs_offset(call));
		return 0;
	case TMPFS_ALLOCATE:
	case TMPFS_EXTEND:
		return allocate(m, file, call, a);
	case TMPFS_MAP:
		return map_byte(m, file, call, a);
	case TMPFS_SIZE:
		return (long)m->files[file].size;
	default:
		return write_file(m, file, id, call, a);
	}
}

static long on_name(struct tmpfs_model *m, unsigned nr, const struct call *call, struct answer *a)
{
	switch ((enum tmpfs_op)call->op) {
	case TMPFS_STAT:
		return stat_path(m, call, &a->digest);
	case TMPFS_LIST:
		return list_names(m, call, &a->digest);
	case TMPFS_MKDIR:
		return make_dir(m, call, a);
	case TMPFS_RMDIR:
	case TMPFS_UNLINK:
		return remove_path(m, call);
	case TMPFS_LINK:
		return link_path(m, call, a);
	case TMPFS_RENAME:
	case TMPFS_RENAME_NEW:
		return rename_path(m, call, a);
	default:
		return open_path(m, nr, call, a);
	}
}

enum model_says tmpfs_model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				    struct answer *a)
{
	struct tmpfs_model *m = model;

	if (call->op == TMPFS_CLOSE) {
		a->value = m->hand[nr] ? 0 : -EBADF;
		hold(m, nr, m->names);
	} else if (call->op == TMPFS_COUNT) {
		a->value = (long)(nr_inodes(m) * 100 + nr_pages(m));
	} else if (call->op < TMPFS_READ) {
		a->value = on_name(m, nr, call, a);
	} else {
		a->value = on_file(m, m->names[m->hand[nr]].file, id, call, a);
	}
	return ENDS;
}
