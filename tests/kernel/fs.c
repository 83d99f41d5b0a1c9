/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * File systems from the inside: the name tree, walking, tmpfs contents, mounts, the initramfs,
 * pseudo files. They run in a kernel thread, so user memory is left to the programs of tests/e2e.
 * Everything happens in /selftest, which is removed.
 */
#include "kernel/fs/pipe.h"
#include "kernel/pseudo/engine.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "lib/fmt.h"
#include "lib/string.h"

static int make(const char *name, u32 mode, const char *link)
{
	return path_mknod(AT_FDCWD, name, mode, 0, link);
}

static int make_dir(const char *name)
{
	return make(name, S_IFDIR | 0755, NULL);
}

static int make_file(const char *name)
{
	return make(name, S_IFREG | 0644, NULL);
}

static int remove(const char *name, bool dir)
{
	return path_unlink(AT_FDCWD, name, dir);
}

static int rename(const char *from, const char *to)
{
	struct walk_result a, b;
	int err = path_walk(AT_FDCWD, from, WALK_PARENT, &a);

	if (err)
		return err;
	err = path_walk(AT_FDCWD, to, WALK_PARENT, &b);
	if (!err) {
		err = tree_rename(&a, &b, false);
		path_put(&b.path);
	}
	path_put(&a.path);
	return err;
}

static int link(const char *from, const char *to)
{
	struct walk_result at;
	struct path old;
	int err = path_lookup(AT_FDCWD, from, 0, &old);

	if (err)
		return err;
	err = path_walk(AT_FDCWD, to, WALK_PARENT, &at);
	if (!err) {
		err = tree_link(&old, &at);
		path_put(&at.path);
	}
	path_put(&old);
	return err;
}

/* Inode number of @name (links followed), or -errno. */
static long number(const char *name)
{
	struct path p;
	long err = path_lookup(AT_FDCWD, name, WALK_FOLLOW, &p);

	if (err)
		return err;
	err = (long)p.dentry->inode->ino;
	path_put(&p);
	return err;
}

static u32 links(const char *name)
{
	struct path p;
	u32 n;

	if (path_lookup(AT_FDCWD, name, WALK_FOLLOW, &p))
		return 0;
	n = p.dentry->inode->nlink;
	path_put(&p);
	return n;
}

SELFTEST(fs_names)
{
	u64 inodes;
	struct path root;

	SELFTEST_CHECK(!path_lookup(AT_FDCWD, "/", 0, &root));
	inodes = root.mnt->sb->nr_inodes;
	SELFTEST_CHECK(!make_dir("/selftest"));
	SELFTEST_CHECK(make_dir("/selftest") == -EEXIST);
	SELFTEST_CHECK(make_dir("/selftest/") == -EEXIST);
	SELFTEST_CHECK(make_dir("/selftest/a/b") == -ENOENT);
	SELFTEST_CHECK(!make_dir("/selftest/a/"));
	SELFTEST_CHECK(!make_file("/selftest/a/f"));
	SELFTEST_CHECK(make_file("/selftest/g/") == -ENOENT);
	SELFTEST_CHECK(make_file("/selftest/a/f/x") == -ENOTDIR);
	SELFTEST_CHECK(make_file("/selftest/..") == -EEXIST);
	SELFTEST_CHECK(links("/selftest") == 3 && links("/selftest/a") == 2 &&
		       links("/selftest/a/f") == 1);
	SELFTEST_CHECK(number("//selftest/./a/../a//f") == number("/selftest/a/f"));
	SELFTEST_CHECK(number("/../selftest/a/f") == number("/selftest/a/f"));
	SELFTEST_CHECK(number("/selftest/a/f/") == -ENOTDIR);
	SELFTEST_CHECK(number("/selftest/a/f/..") == -ENOTDIR);
	SELFTEST_CHECK(remove("/selftest", true) == -ENOTEMPTY);
	SELFTEST_CHECK(remove("/selftest/a", false) == -EISDIR);
	SELFTEST_CHECK(remove("/selftest/a/f", true) == -ENOTDIR);
	SELFTEST_CHECK(remove("/selftest/a/.", true) == -EINVAL);
	SELFTEST_CHECK(remove("/selftest/a/..", true) == -ENOTEMPTY);
	SELFTEST_CHECK(remove("/", true) == -EBUSY);
	SELFTEST_CHECK(!remove("/selftest/a/f", false));
	SELFTEST_CHECK(remove("/selftest/a/f", false) == -ENOENT);
	SELFTEST_CHECK(!remove("/selftest/a", true));
	SELFTEST_CHECK(!remove("/selftest", true));
	SELFTEST_CHECK(root.mnt->sb->nr_inodes == inodes);
	path_put(&root);
	return 0;
}

SELFTEST(fs_rename_and_link)
{
	long f, g;

	SELFTEST_CHECK(!make_dir("/selftest") && !make_dir("/selftest/d") &&
		       !make_dir("/selftest/e"));
	SELFTEST_CHECK(!make_file("/selftest/f") && !make_file("/selftest/g"));
	f = number("/selftest/f");
	g = number("/selftest/g");
	SELFTEST_CHECK(!link("/selftest/f", "/selftest/d/f2") && links("/selftest/f") == 2);
	SELFTEST_CHECK(number("/selftest/d/f2") == f);
	SELFTEST_CHECK(link("/selftest/d", "/selftest/e/d") == -EPERM);
	SELFTEST_CHECK(link("/selftest/f", "/selftest/g") == -EEXIST);
	SELFTEST_CHECK(link("/selftest/f", "/proc/f") == -EXDEV);
	SELFTEST_CHECK(!rename("/selftest/f", "/selftest/d/f2")); /* two names of one file */
	SELFTEST_CHECK(number("/selftest/f") == f);
	SELFTEST_CHECK(!rename("/selftest/g", "/selftest/d/f2")); /* replaces */
	SELFTEST_CHECK(number("/selftest/d/f2") == g && number("/selftest/g") == -ENOENT &&
		       links("/selftest/f") == 1);
	SELFTEST_CHECK(rename("/selftest/d", "/selftest/d/e") == -EINVAL);
	SELFTEST_CHECK(rename("/selftest/d", "/selftest/f") == -ENOTDIR);
	SELFTEST_CHECK(rename("/selftest/f", "/selftest/d") == -EISDIR);
	SELFTEST_CHECK(rename("/selftest/e", "/selftest/d") == -ENOTEMPTY);
	SELFTEST_CHECK(rename("/selftest/f", "/dev/f") == -EXDEV);
	SELFTEST_CHECK(rename("/selftest/none", "/selftest/x") == -ENOENT);
	/* An empty directory may be replaced. */
	SELFTEST_CHECK(!rename("/selftest/d", "/selftest/e"));
	SELFTEST_CHECK(number("/selftest/e/f2") == g && links("/selftest") == 3);
	SELFTEST_CHECK(!remove("/selftest/e/f2", false) && !remove("/selftest/e", true));
	SELFTEST_CHECK(!remove("/selftest/f", false) && !remove("/selftest", true));
	return 0;
}

SELFTEST(fs_symlinks)
{
	char name[NAME_MAX + 8];
	struct path p;

	SELFTEST_CHECK(!make_dir("/selftest") && !make_dir("/selftest/d") &&
		       !make_file("/selftest/d/f"));
	SELFTEST_CHECK(!make("/selftest/rel", S_IFLNK | 0777, "d/../d"));
	SELFTEST_CHECK(!make("/selftest/abs", S_IFLNK | 0777, "/selftest/rel/f"));
	SELFTEST_CHECK(!make("/selftest/loop", S_IFLNK | 0777, "loop"));
	SELFTEST_CHECK(!make("/selftest/gone", S_IFLNK | 0777, "nothing"));
	SELFTEST_CHECK(number("/selftest/abs") == number("/selftest/d/f"));
	SELFTEST_CHECK(number("/selftest/rel/../rel/f") == number("/selftest/d/f"));
	SELFTEST_CHECK(number("/selftest/loop") == -ELOOP);
	SELFTEST_CHECK(number("/selftest/gone") == -ENOENT);
	SELFTEST_CHECK(make_file("/selftest/gone") == -EEXIST);
	SELFTEST_CHECK(!path_lookup(AT_FDCWD, "/selftest/loop", 0, &p)); /* the link itself */
	path_put(&p);
	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[NAME_MAX + 1] = 0;
	SELFTEST_CHECK(number(name) == -ENOENT);
	name[NAME_MAX + 1] = 'x';
	name[NAME_MAX + 2] = 0;
	SELFTEST_CHECK(number(name) == -ENAMETOOLONG);
	SELFTEST_CHECK(!remove("/selftest/abs", false) && !remove("/selftest/rel", false));
	SELFTEST_CHECK(!remove("/selftest/loop", false) && !remove("/selftest/gone", false));
	SELFTEST_CHECK(!remove("/selftest/d/f", false) && !remove("/selftest/d", true) &&
		       !remove("/selftest", true));
	return 0;
}

/*
 * A file keeps what was written at any size of its page tree; holes read as zeros; freed pages come
 * back.
 */
SELFTEST(fs_tmpfs_content)
{
	static const u64 sizes[] = { 1, PAGE_SIZE, PAGE_SIZE * 512 + 7, PAGE_SIZE * 512 * 512 + 1 };
	u64 pages = tmpfs_nr_pages();
	u8 byte = 1;

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct file *f = file_anonymous(sizes[i]);
		u64 pa;

		SELFTEST_CHECK(f && file_size(f) == sizes[i] && tmpfs_nr_pages() == pages);
		pa = f->ops->map_page(f, sizes[i] - 1);
		SELFTEST_CHECK(is_page(pa) && tmpfs_nr_pages() == pages + 1);
		((u8 *)phys_to_virt(pa))[(sizes[i] - 1) % PAGE_SIZE] = 0x5a;
		SELFTEST_CHECK(file_read_kernel(f, &byte, 1, sizes[i] - 1) == 1 && byte == 0x5a);
		SELFTEST_CHECK(file_read_kernel(f, &byte, 1, 0) == 1 &&
			       byte == (sizes[i] == 1 ? 0x5a : 0));
		SELFTEST_CHECK(file_read_kernel(f, &byte, 1, sizes[i]) == 0);
		SELFTEST_CHECK(f->ops->map_page(f, sizes[i]) == BEHIND_END);
		/*
		 * Shrink by the written byte and grow again: it must be gone, though the page was
		 * mapped.
		 */
		SELFTEST_CHECK(!f->ops->truncate(f->inode, sizes[i] - 1) &&
			       !f->ops->truncate(f->inode, sizes[i]));
		SELFTEST_CHECK(file_read_kernel(f, &byte, 1, sizes[i] - 1) == 1 && byte == 0);
		page_put(pa);
		file_put(f);
		SELFTEST_CHECK(tmpfs_nr_pages() == pages);
	}
	return 0;
}

struct listing_test {
	unsigned room, nr;
	char names[16][16];
	u64 next;
};

static int take_name(void *arg, const char *name, u64 ino, unsigned type, u64 next)
{
	struct listing_test *l = arg;

	(void)ino, (void)type;
	if (l->nr == l->room)
		return 1;
	str_copy(l->names[l->nr++], name, sizeof(l->names[0]));
	l->next = next;
	return 0;
}

/* Positions stay valid while entries are removed and added between two parts of a listing. */
SELFTEST(fs_listing)
{
	struct listing_test l = { .room = 4 };
	struct file *f;
	int err;

	SELFTEST_CHECK(!make_dir("/selftest") && !make_file("/selftest/1") &&
		       !make_file("/selftest/2"));
	SELFTEST_CHECK(!make_file("/selftest/3") && !make_file("/selftest/4"));
	f = file_open("/selftest", O_RDONLY | O_DIRECTORY, 0, &err);
	SELFTEST_CHECK(f && dentry_readdir(f, take_name, &l) == 1);
	SELFTEST_CHECK(l.nr == 4 && !strcmp(l.names[0], ".") && !strcmp(l.names[1], "..") &&
		       !strcmp(l.names[3], "2"));
	SELFTEST_CHECK(!remove("/selftest/1", false) && !remove("/selftest/3", false) &&
		       !make_file("/selftest/5"));
	f->pos = l.next;
	l.nr = 0;
	SELFTEST_CHECK(!dentry_readdir(f, take_name, &l));
	SELFTEST_CHECK(l.nr == 2 && !strcmp(l.names[0], "4") && !strcmp(l.names[1], "5"));
	file_put(f);
	SELFTEST_CHECK(!remove("/selftest/2", false) && !remove("/selftest/4", false) &&
		       !remove("/selftest/5", false));
	SELFTEST_CHECK(!remove("/selftest", true));
	return 0;
}

SELFTEST(fs_mounts)
{
	struct path at, top;

	SELFTEST_CHECK(!make_dir("/selftest") && !path_lookup(AT_FDCWD, "/selftest", 0, &at));
	SELFTEST_CHECK(!mount_add(&tmpfs_type, "t", &at, 0, ""));
	SELFTEST_CHECK(!path_lookup(AT_FDCWD, "/selftest", 0, &top) && top.mnt != at.mnt);
	SELFTEST_CHECK(number("/selftest/..") == number("/") &&
		       number("/selftest/../selftest/.") == number("/selftest"));
	SELFTEST_CHECK(!make_file("/selftest/f") && !make_dir("/selftest/d"));
	SELFTEST_CHECK(remove("/selftest", true) == -EBUSY && rename("/selftest", "/x") == -EBUSY);
	SELFTEST_CHECK(mount_remove(&at, false) == -EINVAL);
	path_put(&at);
	SELFTEST_CHECK(!path_lookup(AT_FDCWD, "/selftest/d", 0, &at));
	SELFTEST_CHECK(mount_remove(&top, false) == -EBUSY);
	path_put(&at);
	SELFTEST_CHECK(!mount_remove(&top, false) && mount_remove(&top, false) == -EINVAL);
	path_put(&top);
	SELFTEST_CHECK(number("/selftest/f") == -ENOENT);
	SELFTEST_CHECK(!remove("/selftest", true));
	return 0;
}

/* --- the initramfs -------------------------------------------------------------------- */

struct archive {
	char data[2048];
	size_t len;
};

static void add_record(struct archive *a, const char *name, u32 ino, u32 mode, u32 nlink,
		       const char *content)
{
	size_t size = strlen(content);

	a->len += (size_t)snprintf(a->data + a->len, sizeof(a->data) - a->len,
				   "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s",
				   ino, mode, 0, 0, nlink, 0, (u32)size, 0, 0, 0, 0,
				   (u32)strlen(name) + 1, 0, name) +
		  1;
	a->len = ALIGN_UP(a->len, 4ul);
	memcpy(a->data + a->len, content, size);
	a->len = ALIGN_UP(a->len + size, 4ul);
}

static bool contains(const char *name, const char *text)
{
	char buf[32] = "";
	int err;
	struct file *f = file_open(name, O_RDONLY, 0, &err);

	if (!f)
		return false;
	file_read_kernel(f, buf, sizeof(buf) - 1, 0);
	file_put(f);
	return !strcmp(buf, text);
}

/* Two archives with padding between, hard links, a link, a file replaced by the second archive. */
SELFTEST(fs_initramfs)
{
	static struct archive a;
	size_t whole;

	memset(&a, 0, sizeof(a));
	add_record(&a, "selftest", 1, S_IFDIR | 0755, 2, "");
	add_record(&a, "selftest/one", 2, S_IFREG | 0600, 2, "");
	add_record(&a, "selftest/two", 2, S_IFREG | 0600, 2, "shared");
	add_record(&a, "selftest/old", 3, S_IFREG | 0644, 1, "old");
	add_record(&a, "selftest/link", 4, S_IFLNK | 0777, 1, "two");
	add_record(&a, "TRAILER!!!", 0, 0, 1, "");
	a.len += 300;
	add_record(&a, "selftest", 1, S_IFDIR | 0755, 2, "");
	add_record(&a, "selftest/old", 2, S_IFREG | 0644, 1, "new");
	whole = a.len;
	SELFTEST_CHECK(!initramfs_unpack(a.data, whole));
	SELFTEST_CHECK(contains("/selftest/one", "shared") && contains("/selftest/link", "shared"));
	SELFTEST_CHECK(contains("/selftest/old", "new") && links("/selftest/two") == 2);
	/* A damaged archive gives an error or less, never more. */
	for (size_t cut = 1; cut < whole; cut += 37)
		initramfs_unpack(a.data, cut);
	a.data[60] = 'z';
	SELFTEST_CHECK(initramfs_unpack(a.data, whole) == -EINVAL);
	SELFTEST_CHECK(!remove("/selftest/one", false) && !remove("/selftest/two", false));
	SELFTEST_CHECK(!remove("/selftest/old", false) && !remove("/selftest/link", false) &&
		       !remove("/selftest", true));
	return 0;
}

/* --- open files ----------------------------------------------------------------------- */

SELFTEST(fs_open_flags)
{
	struct file *f;
	int err;

	SELFTEST_CHECK(!make_dir("/selftest") && !make("/selftest/l", S_IFLNK | 0777, "made"));
	SELFTEST_CHECK(!file_open("/selftest/x", O_RDONLY, 0, &err) && err == -ENOENT);
	SELFTEST_CHECK(!file_open("/selftest", O_RDWR, 0, &err) && err == -EISDIR);
	SELFTEST_CHECK(!file_open("/selftest/l", O_RDONLY | O_NOFOLLOW, 0, &err) && err == -ELOOP);
	SELFTEST_CHECK(!file_open("/selftest/l", O_CREAT | O_EXCL | O_RDWR, 0600, &err) &&
		       err == -EEXIST);
	f = file_open("/selftest/l", O_CREAT | O_RDWR, 0600, &err); /* makes the link's target */
	SELFTEST_CHECK(f && number("/selftest/made") > 0);
	file_put(f);
	SELFTEST_CHECK(!file_open("/selftest/made", O_RDONLY | O_DIRECTORY, 0, &err) &&
		       err == -ENOTDIR);
	SELFTEST_CHECK(!file_open("/selftest/new/", O_CREAT | O_RDWR, 0600, &err) &&
		       err == -EISDIR);
	f = file_open("/selftest/l", O_PATH | O_NOFOLLOW, 0, &err);
	SELFTEST_CHECK(f && S_ISLNK(f->inode->mode) && !(f->mode & (FILE_READ | FILE_WRITE)));
	file_put(f);
	SELFTEST_CHECK(!file_open("/proc/none", O_CREAT | O_WRONLY, 0600, &err) && err == -ENOENT);
	SELFTEST_CHECK(!file_open("/sys/none", O_CREAT | O_WRONLY, 0600, &err) && err == -EACCES);
	SELFTEST_CHECK(!remove("/selftest/made", false) && !remove("/selftest/l", false) &&
		       !remove("/selftest", true));
	return 0;
}

SELFTEST(fs_seek)
{
	struct file *f = file_anonymous(100);

	SELFTEST_CHECK(f && generic_llseek(f, 10, 0) == 10 && generic_llseek(f, -3, 1) == 7);
	SELFTEST_CHECK(generic_llseek(f, -8, 1) == -EINVAL && f->pos == 7);
	SELFTEST_CHECK(generic_llseek(f, 5, 2) == 105 &&
		       generic_llseek(f, INT64_MAX, 1) == -EINVAL);
	SELFTEST_CHECK(generic_llseek(f, 50, 3) == 50 && generic_llseek(f, 50, 4) == 100);
	SELFTEST_CHECK(generic_llseek(f, 100, 3) == -ENXIO && generic_llseek(f, 0, 5) == -EINVAL);
	file_put(f);
	return 0;
}

/* Ends of a pipe as poll sees them, and a change of its capacity. */
SELFTEST(fs_pipe_ends)
{
	struct file *r, *w;
	struct pipe *p;

	SELFTEST_CHECK(!pipe_open(0, &r, &w));
	p = pipe_of(r);
	SELFTEST_CHECK(p && p == pipe_of(w) && pipe_capacity(p) == 65536 && !pipe_used(p));
	SELFTEST_CHECK(!r->ops->poll(r, NULL) && w->ops->poll(w, NULL) == (POLLOUT | POLLWRNORM));
	SELFTEST_CHECK(pipe_resize(p, 5000) == 8192 && pipe_capacity(p) == 8192);
	SELFTEST_CHECK(pipe_resize(p, 2 << 20) == -EPERM);
	file_put(w);
	SELFTEST_CHECK(r->ops->poll(r, NULL) == POLLHUP);
	file_put(r);
	SELFTEST_CHECK(!pipe_open(0, &r, &w));
	file_put(r);
	SELFTEST_CHECK(w->ops->poll(w, NULL) == (POLLOUT | POLLWRNORM | POLLERR));
	file_put(w);
	return 0;
}

static size_t show_test(void *arg, char *buf, size_t size)
{
	return (size_t)snprintf(buf, size, "%s", (const char *)arg);
}

SELFTEST(fs_pseudo)
{
	static const struct pseudo_file pf = {
		.name = "selftest/dir/file", .mode = 0444, .show = show_test, .arg = (char *)"text"
	};
	struct path p;

	if (number("/sys/kernel/debug/selftest/dir/file") == -ENOENT)
		SELFTEST_CHECK(!debugfs_add(&pf));
	SELFTEST_CHECK(debugfs_add(&pf) == -EEXIST);
	SELFTEST_CHECK(!path_lookup(AT_FDCWD, "/sys/kernel/debug/selftest/dir/file", 0, &p));
	SELFTEST_CHECK(inode_arg(p.dentry->inode) == pf.arg &&
		       p.dentry->inode->mode == (S_IFREG | 0444));
	path_put(&p);
	SELFTEST_CHECK(remove("/sys/kernel/debug/selftest/dir/file", false) == -EPERM);
	SELFTEST_CHECK(make_dir("/sys/kernel/debug/x") == -EPERM);
	return 0;
}
