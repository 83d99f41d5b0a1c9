/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The initial RAM disk: cpio archives in the "newc" format, unpacked into the root tmpfs.
 *
 * A record is a header of 110 ASCII characters (a magic and 13 eight-digit hexadecimal numbers),
 * the name with its NUL, and the data; name and data are each padded to 4 bytes. "TRAILER!!!" ends
 * an archive; further archives may follow after any number of zero bytes. Files with several names
 * carry their data in one record of the set (same inode number, nlink > 1). Format: cpio(5).
 */
#include "kernel/fs/vfs.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/string.h"

#define HEADER_SIZE  110
#define LINK_BUCKETS 256

/* clang-format off */
enum field {
	F_INO, F_MODE, F_UID, F_GID, F_NLINK, F_MTIME, F_SIZE, F_DEVMAJOR, F_DEVMINOR, F_RMAJOR,
	F_RMINOR, F_NAMESIZE,
};
/* clang-format on */

struct record {
	u32 field[F_NAMESIZE + 1];
	const char *name, *data;
};

/* The first name of a file with several, in the chain of its inode number. */
struct first_name {
	struct first_name *next;
	u32 ino;
	const char *name;
};

struct links {
	struct first_name *bucket[LINK_BUCKETS];
};

static void forget_links(struct links *links)
{
	for (unsigned i = 0; i < LINK_BUCKETS; i++)
		while (links->bucket[i]) {
			struct first_name *first = links->bucket[i];

			links->bucket[i] = first->next;
			kfree(first);
		}
}

static unsigned hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

static bool parse_hex8(const char *s, u32 *out)
{
	*out = 0;
	for (int i = 0; i < 8; i++) {
		if (hex_digit(s[i]) == 16)
			return false;
		*out = *out << 4 | hex_digit(s[i]);
	}
	return true;
}

/*
 * Decode the record at *at (relative to @base, for padding) and advance. False if it is malformed
 * or cut off.
 */
static bool next_record(const char *base, const char **at, const char *end, struct record *r)
{
	const char *p = *at;

	if (end - p < HEADER_SIZE || memcmp(p, "07070", 5) || (p[5] != '1' && p[5] != '2'))
		return false;
	for (int i = 0; i <= F_NAMESIZE; i++)
		if (!parse_hex8(p + 6 + 8 * i, &r->field[i]))
			return false;
	r->name = p + HEADER_SIZE;
	if (!r->field[F_NAMESIZE] || (u64)(end - r->name) < r->field[F_NAMESIZE] ||
	    r->name[r->field[F_NAMESIZE] - 1])
		return false;
	r->data = base + ALIGN_UP((u64)(r->name + r->field[F_NAMESIZE] - base), 4ull);
	if (r->data > end || (u64)(end - r->data) < r->field[F_SIZE])
		return false;
	*at = base + ALIGN_UP((u64)(r->data + r->field[F_SIZE] - base), 4ull);
	if (*at > end)
		*at = end;
	return true;
}

static int fill_file(const char *name, const struct record *r)
{
	struct path path;
	int err = path_lookup(AT_FDCWD, name, 0, &path);

	if (err)
		return err;
	err = tmpfs_append(path.dentry->inode, r->data, r->field[F_SIZE]);
	path.dentry->inode->mtime_ns = r->field[F_MTIME] * NS_PER_SEC;
	path_put(&path);
	return err;
}

static int link_to(const char *name, const struct walk_result *at)
{
	struct path old;
	int err = path_lookup(AT_FDCWD, name, 0, &old);

	if (err)
		return err;
	err = tree_link(&old, at);
	path_put(&old);
	return err;
}

/* If @r is a further name of a file already made, link it. Returns 1 if this is the first name. */
static int link_again(struct links *links, const struct record *r, const struct walk_result *at)
{
	u32 ino = r->field[F_INO];
	struct first_name **bucket = &links->bucket[ino % LINK_BUCKETS], *first;

	for (first = *bucket; first; first = first->next)
		if (first->ino == ino)
			return link_to(first->name, at);
	first = kmalloc(sizeof(*first));
	if (!first)
		return -ENOMEM;
	*first = (struct first_name){ .next = *bucket, .ino = ino, .name = r->name };
	*bucket = first;
	return 1;
}

/* Make the object of one record whose directory is known. */
static int make_object(struct links *links, const struct record *r, const struct walk_result *at)
{
	u32 mode = r->field[F_MODE];
	char target[256];
	int err = 1;

	if (S_ISLNK(mode)) {
		if (r->field[F_SIZE] >= sizeof(target))
			return -ENAMETOOLONG;
		memcpy(target, r->data, r->field[F_SIZE]);
		target[r->field[F_SIZE]] = 0;
		return tree_mknod(at, S_IFLNK | 0777, 0, target);
	}
	if (S_ISREG(mode) && r->field[F_NLINK] > 1)
		err = link_again(links, r, at);
	if (err == 1)
		err = tree_mknod(at, mode, MKDEV(r->field[F_RMAJOR], r->field[F_RMINOR]), NULL);
	if (!err && S_ISREG(mode) && r->field[F_SIZE])
		err = fill_file(r->name, r);
	return err;
}

/* Later archives replace what earlier ones made, except directories. */
static int unpack_record(struct links *links, const struct record *r)
{
	struct walk_result at;
	int err = path_walk(AT_FDCWD, r->name, WALK_PARENT, &at);

	if (err)
		return err;
	if (at.name_len && !S_ISDIR(r->field[F_MODE]))
		tree_unlink(&at, false); /* usually -ENOENT */
	err = make_object(links, r, &at);
	path_put(&at.path);
	return S_ISDIR(r->field[F_MODE]) && err == -EEXIST ? 0 : err;
}

const char *initramfs_compression(const char *data, size_t size)
{
	static const struct {
		const char *name, *magic;
	} kinds[] = {
		{ "gzip", "\x1f\x8b" },
		{ "xz", "\xfd"
			"7zXZ" },
		{ "zstd", "\x28\xb5\x2f\xfd" },
		{ "bzip2", "BZh" },
		{ "lzma", "\x5d" },
		{ "lz4", "\x02\x21\x4c\x18" },
		{ "lzop", "\x89"
			  "LZO" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (size > strlen(kinds[i].magic) &&
		    !memcmp(data, kinds[i].magic, strlen(kinds[i].magic)))
			return kinds[i].name;
	return NULL;
}

int initramfs_unpack(const char *data, size_t size)
{
	const char *base = data, *end = data + size;
	struct links *links = kzalloc(sizeof(*links));
	struct record r;
	int err = links ? 0 : -ENOMEM;

	while (!err && data < end) {
		if (!*data) { /* padding between archives; the next begins its own alignment */
			base = ++data;
			continue;
		}
		if (!next_record(base, &data, end, &r)) {
			err = -EINVAL;
		} else if (!strcmp(r.name, "TRAILER!!!")) {
			forget_links(links);
			base = data;
		} else {
			err = unpack_record(links, &r);
			if (err == -EEXIST)
				kprintf("initramfs: %s: the directory stays\n", r.name);
			else if (err)
				kprintf("initramfs: %s: error %d\n", r.name, -err);
			err = err == -EEXIST ? 0 : err;
		}
	}
	if (links)
		forget_links(links);
	kfree(links);
	return err;
}
