/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of the file layer, for file systems and the path code: inodes, the name tree, mounts.
 *
 * IDEA. Every file system here lives in memory, so the tree of dentries is not a cache of
 * directories: it IS the directories. Creating, removing and renaming are written once, on the tree
 * (dentry.c, path.c), and a file system adds only what its files contain. Directories whose entries
 * come and go by themselves
 * (/proc) supply lookup and readdir; the dentries made for them are transient: they belong to the
 * walk or the open file that asked and are in no list.
 *
 * LOCKING. tree_lock guards names, parents, children, mounts and link counts. It is a spin lock,
 * so what is done under it is bounded: a walk rests after some text (path.c), a name and a position
 * are found in a tree, and whatever must be freed is freed after unlocking.
 * Reference counts are atomic; a dentry in the tree is kept by the tree's own reference, so once a
 * count reaches zero nobody can find the dentry any more.
 *
 * LIFETIMES. A path keeps its mount, a mount its superblock's names, a dentry its inode and the
 * directories above it. An inode keeps no mount, but its superblock's memory, where its end is
 * counted: an open file, or a walk in the text of a link, may hold it longer than the mount. So
 * references are dropped in any order.
 */
#pragma once

#include "kernel/fs/fs.h"
#include "lib/errno.h"
#include "lib/rbtree.h"

#define NAME_MAX 255
#define PATH_MAX 4096

#define S_IFMT	    0170000u
#define S_IFSOCK    0140000u
#define S_IFLNK	    0120000u
#define S_IFREG	    0100000u
#define S_IFBLK	    0060000u
#define S_IFDIR	    0040000u
#define S_IFCHR	    0020000u
#define S_IFIFO	    0010000u
#define S_ISLNK(m)  (((m)&S_IFMT) == S_IFLNK)
#define S_ISREG(m)  (((m)&S_IFMT) == S_IFREG)
#define S_ISDIR(m)  (((m)&S_IFMT) == S_IFDIR)
#define S_ISCHR(m)  (((m)&S_IFMT) == S_IFCHR)
#define S_ISSOCK(m) (((m)&S_IFMT) == S_IFSOCK)
#define S_ISFIFO(m) (((m)&S_IFMT) == S_IFIFO)
/* d_type of getdents64(2) */
#define DT_OF_MODE(m) (((m)&S_IFMT) >> 12)

#define O_ACCMODE   03u
#define O_RDONLY    00u
#define O_WRONLY    01u
#define O_RDWR	    02u
#define O_CREAT	    0100u
#define O_EXCL	    0200u
#define O_NOCTTY    0400u
#define O_TRUNC	    01000u
#define O_APPEND    02000u
#define O_NONBLOCK  04000u
#define O_DIRECTORY 0200000u
#define O_NOFOLLOW  0400000u
#define O_NOATIME   01000000u
#define O_CLOEXEC   02000000u
#define O_PATH	    010000000u
#define O_LARGEFILE 0100000u /* told of each file, as Linux does on 64 bits */
#define O_TMPFILE   020000000u

#define AT_FDCWD (-100)

#define S_ISUID 04000u
#define S_ISGID 02000u
#define S_ISVTX 01000u

/* Flags of a mount; the others of mount(2) are only kept. */
#define MS_RDONLY 1u
#define MS_NOSUID 2u
#define MS_NODEV  4u
#define MS_NOEXEC 8u

#define MKDEV(major, minor) (((major) << 8) | (minor))

/*
 * Stand for an inode that cannot be made: no memory, its directory's process is no more, or the
 * running thread may not look into that process. Each is its error.
 */
#define INODE_LACKS  ((struct inode *)(long)-ENOMEM)
#define INODE_ENDED  ((struct inode *)(long)-ESRCH)
#define INODE_DENIED ((struct inode *)(long)-EACCES)

struct inode_ops {
	/*
	 * For a dynamic directory: the inode called @name, with a reference, NULL if there is none,
	 * or an INODE_* above. No locks held; may sleep.
	 */
	struct inode *(*lookup)(struct inode *dir, const char *name, size_t len);
	/*
	 * For a magic link: jump to @target (references for the caller). No locks held; may sleep.
	 */
	int (*follow)(struct inode *link, struct path *target);
	/* Text of a magic link whose target is no path ("pipe:[7]"); -ENOENT if there is none. */
	int (*link_text)(struct inode *link, char *buf, size_t size);
	/* The last reference is gone. May sleep. */
	void (*release)(struct inode *i);
};

struct inode {
	GUARDED(constant);
	const struct inode_ops *iops; /* may be NULL */

	const struct file_ops *fops;
	GUARDED(constant);
	struct superblock *sb;
	u64 ino;

	u32 mode, rdev;
	GUARDED(tree_lock, "stat(2)");
	u32 nlink;
	GUARDED(atomic);
	u32 refs;

	u32 uid, gid;
	GUARDED(atomic);
	s32 writers; /* files open for writing; negative: programs that run */

	u32 nr_vmas; /* that map it: a truncation asks mm_unmap_behind() */
	GUARDED(record_lock, "a close: whether there are any");
	u32 nr_records; /* record.c */
	GUARDED(lock, "readers, once");
	u64 size;

	u64 nr_pages; /* st_blocks */
	u64 atime_ns, mtime_ns, ctime_ns;
	struct mutex lock; /* one writer of the content at a time */
	GUARDED(constant);
	char *link; /* symlink: its text, owned */

	void *private; /* of the file system */
};

/* A new inode with one reference and the present time. NULL: no memory. Any context. */
struct inode *inode_create(struct superblock *sb, u32 mode);
struct inode *inode_get(struct inode *i);
void inode_put(struct inode *i);
void inode_touch(struct inode *i); /* modified now */

struct dentry {
	GUARDED(tree_lock, "holders of rename_lock");
	struct dentry *parent; /* itself for a root */
	GUARDED(constant);
	struct inode *inode;

	union {
		struct rb_node by_name; /* in the parent's names */
		struct list made;	/* transient: of the walk that made it */
	};
	struct rb_node by_cookie; /* in the parent's entries */
	GUARDED(tree_lock);
	struct rb_tree names, entries; /* what is in it, in both orders */
	u64 cookie;	 /* position in the directory: stable while others come and go */
	u64 next_cookie; /* to give to the next child */
	GUARDED(atomic);
	u32 refs;
	GUARDED(tree_lock);
	u32 nr_mounts; /* mounts on this name */
	GUARDED(tree_lock, "one word");
	bool linked; /* in the tree */

	u8 name_len; /* NAME_MAX fits */
	u32 hash;    /* of the name: by_name is in its order */
	GUARDED(tree_lock, "of a control group's: holders of cgroup_mutex");
	char *name;

	char short_name[24];
};

struct fs_type {
	const char *name;
	u32 magic;	  /* statfs f_type */
	int create_errno; /* what creating a file answers where create is NULL */
	/*
	 * The superblock to mount with the text @options of mount(2), with a reference; NULL and
	 * -errno in *err. May sleep.
	 */
	struct superblock *(*get)(const struct fs_type *type, const char *options, int *err);
	/* A new inode of @mode (type bits included). NULL: no memory. tree_lock held. */
	struct inode *(*create)(struct superblock *sb, u32 mode);
	const char *options; /* behind the flags in /proc/mounts: ",cpu"; may be NULL */
	/*
	 * Make and remove directories that are more than names, such as control groups. @dir may
	 * have been removed since it was found. 0 or -errno. No locks held; may sleep.
	 */
	int (*mkdir)(struct dentry *dir, const char *name, size_t len, u32 mode);
	/* rmdir if @as_dir, else unlink. */
	int (*remove)(struct dentry *dir, const char *name, size_t len, bool as_dir);
};

struct superblock {
	const struct fs_type *type;
	struct dentry *root;
	u32 dev;
	u32 refs; /* mounts; the last one frees the names, and the last inode the superblock */
	u64 next_ino;
	u64 nr_pages;		   /* tmpfs: pages in use */
	u64 nr_inodes;		   /* and the second and later names of files; atomic */
	u64 max_pages, max_inodes; /* tmpfs: 0: half of the pages of memory */
};

struct mount {
	GUARDED(tree_lock);
	struct list link; /* all mounts, oldest first; empty: no longer anywhere */
	struct path at; /* what it covers; nothing for the root mount, and for one of those */
	GUARDED(constant);
	struct superblock *sb;
	GUARDED(atomic);
	u32 refs; /* holders of paths; 1 for being mounted */

	u32 id, parent_id; /* of the mount that it covers a name of, or 0 */
	u32 flags; /* MS_* */
	GUARDED(atomic);
	u32 nr_writers; /* files open for writing here */

	char source[32];
};

extern struct spinlock tree_lock;
extern struct list mounts;

/* --- dentry.c ------------------------------------------------------------------------- */
/* Consumes the reference to @inode (also on failure); takes one to @parent. NULL: no memory. */
struct dentry *dentry_create(struct dentry *parent, const char *name, size_t len,
			     struct inode *inode);
struct dentry *dentry_get(struct dentry *d);
void dentry_put(struct dentry *d);
/* Put a new dentry into the tree, which takes over the caller's reference. tree_lock held. */
void dentry_link(struct dentry *d);
/* Take @d out of the tree; the caller owes a dentry_put() after unlocking. tree_lock held. */
void dentry_unlink(struct dentry *d);
/* The entry @name of @dir without a reference, or NULL. tree_lock held. */
struct dentry *dentry_find(struct dentry *dir, const char *name, size_t len);
/* Move @d to @dir under a new name. 0 or -ENOMEM. tree_lock held. */
int dentry_move(struct dentry *d, struct dentry *dir, const char *name, size_t len);
/*
 * Unlink everything below @dir, leaves first. The caller sees to it that no one adds to it or
 * removes from it.
 */
void tree_clear(struct dentry *dir);
/* Emit "." and ".." (positions 0 and 1); nonzero when there was no room. */
int dentry_emit_dots(struct file *f, emit_fn emit, void *arg);
/* readdir of tree directories. */
int dentry_readdir(struct file *f, emit_fn emit, void *arg);
extern const struct file_ops tree_dir_ops;

/* A superblock of @type with an empty root directory. NULL: no memory. */
struct superblock *superblock_create(const struct fs_type *type);
struct superblock *superblock_get(struct superblock *sb);
/* The last one frees every name, and each file that nobody else holds. */
void superblock_put(struct superblock *sb);

/* --- path.c: from text to places ------------------------------------------------------ */
enum walk_flags {
	WALK_FOLLOW = 1, /* a link in the last component */
	WALK_PARENT = 2, /* stop at the directory; the last component goes to walk_result.name */
	WALK_EMPTY = 4,	 /* "" is the start itself (AT_EMPTY_PATH) */
	WALK_DIR = 8,	 /* -ENOTDIR for anything else */
	WALK_CREATE =
		16, /* make a regular file of walk_result.mode if the last component is absent */
	WALK_EXCL = 32, /* with WALK_CREATE: -EEXIST */
};

struct walk_result {
	struct path path; /* references for the caller */
	const char *name; /* WALK_PARENT: within the caller's text */
	size_t name_len;
	bool slash; /* the text ended in '/' */
	u32 mode;   /* in, WALK_CREATE */
	bool created;
};

/* Resolve @text, relative to @dirfd (or AT_FDCWD). 0 or -errno. */
int path_walk(int dirfd, const char *text, unsigned flags, struct walk_result *res);
/* Like path_walk(), with a path as the only result. */
int path_lookup(int dirfd, const char *text, unsigned flags, struct path *out);
/* path_walk() to the directory, then tree_mknod() or tree_unlink(). 0 or -errno. */
int path_mknod(int dirfd, const char *text, u32 mode, u32 rdev, const char *link);
int path_unlink(int dirfd, const char *text, bool dir);
void path_get(const struct path *p);
void path_put(const struct path *p);
/*
 * Absolute name as seen from @root, written at the end of @buf; NULL when it does not fit or is
 * unreachable. Without a @root all is reachable: from the root of everything, or that of a mount
 * that is no longer anywhere.
 */
char *path_text(const struct path *p, const struct path *root, char *buf, size_t size);
/* Likewise from the root of the running process, or without a root where that cannot reach it. */
char *path_own_text(const struct path *p, char *buf, size_t size);

struct fs_context {
	struct spinlock lock;
	GUARDED(atomic);
	u32 refs;
	GUARDED(lock);
	struct path root, cwd;

	u32 umask;
};
void fs_context_root(struct path *out); /* of the current process, with references */
void fs_context_cwd(struct path *out);
void fs_context_set_cwd(const struct path *p); /* takes its own references */
void fs_context_set_root(const struct path *p);

/* --- tree.c: on the result of WALK_PARENT. 0 or -errno. ------------------------------- */
int tree_mknod(const struct walk_result *at, u32 mode, u32 rdev, const char *link);
int tree_link(const struct path *old, const struct walk_result *at);
int tree_unlink(const struct walk_result *at, bool dir);
int tree_rename(const struct walk_result *from, const struct walk_result *to, bool noreplace);

/* --- mount.c -------------------------------------------------------------------------- */
void fs_register(const struct fs_type *type);
const struct fs_type *fs_find(const char *name);
/*
 * Mount @type on @at (NULL: as the root of everything). @options: of the file system; not NULL.
 * -ENOENT: nobody would find it there.
 */
int mount_add(const struct fs_type *type, const char *source, const struct path *at, u64 flags,
	      const char *options);
/* Unmount what is mounted at @p. @detach: also if it is in use, with all that is mounted in it. */
int mount_remove(const struct path *p, bool detach);
/* Names were removed that may have had mounts: unmounts what nobody finds any more. */
void mount_remove_lost(void);
/* The mount that covers (@mnt, @d), or NULL. tree_lock held. */
struct mount *mount_covering(const struct mount *mnt, const struct dentry *d);
size_t mount_print(char *buf, size_t size);	 /* /proc/mounts */
size_t mount_print_info(char *buf, size_t size); /* /proc/self/mountinfo */
size_t fs_print_types(char *buf, size_t size);	 /* /proc/filesystems */

/* --- file.c, open.c ------------------------------------------------------------------- */
/* A file that is not open yet; NULL: file_shortage(). The second gives it back. */
struct file *file_alloc(void);
void file_free(struct file *f);
/*
 * @f, of file_alloc(), is opened: it is @inode's. Takes over neither reference. @path may be NULL.
 * Runs ops->open. 0, or -errno and @f is gone.
 */
int file_begin(struct file *f, struct inode *inode, const struct path *path, u32 flags);
/* Both in one. NULL: *@err says why. */
struct file *file_create(struct inode *inode, const struct path *path, u32 flags, int *err);
/* Why no file could be made: -ENFILE, for there are too many open (fs.file-max), or -ENOMEM. */
int file_shortage(void);
struct file *file_open_at(int dirfd, const char *text, u32 flags, u32 mode, int *err);
/* The file of descriptor @fd in another process's table, with a reference, or NULL. */
struct file *files_lookup(struct files *files, int fd);
/* Lowest open descriptor >= @fd, or -1. */
int files_next(struct files *files, int fd);
unsigned files_size(struct files *files); /* slots: FDSize of /proc/PID/status */
/* Does @fd of the running process stand for @f? It may be another's a moment later. */
bool fd_names(int fd, const struct file *f);
int files_set_cloexec(int fd, bool on);
int files_cloexec(struct files *files, int fd); /* or -EBADF */
int fd_close(int fd);
/* May another thread or process use the running one's descriptors? */
bool fd_table_is_shared(void);
/* Close the open descriptors @first..@last, or with @cloexec mark them for exec. */
void fd_close_range(unsigned first, unsigned last, bool cloexec);
/* Install at exactly @fd, closing what is there. */
int fd_replace(struct file *f, int fd, bool cloexec);
long generic_llseek(struct file *f, s64 offset, int whence);
/* Positions mean nothing there, but seeking succeeds: 0. */
long seek_nowhere(struct file *f, s64 offset, int whence);
/* The read of files that have a readv. */
long read_in_one(struct file *f, void *user_buf, size_t n, u64 *pos);
/* Copy @n bytes to the user's segments from byte @at on. They have room. 0 or -EFAULT. */
int iovec_put(const struct iovec *iov, unsigned nr, size_t at, const void *data, size_t n);

/* --- permission.c: for the running thread. 0, -EACCES, -EPERM or -EROFS. -------------- */
enum permission { MAY_EXEC = 1, MAY_WRITE = 2, MAY_READ = 4 };
int inode_permission(const struct inode *i, unsigned want);
int inode_permission_of(const struct cred *c, const struct inode *i, unsigned want);
/* Is it the owner, or may it act for any? */
bool inode_owned(const struct inode *i);
/* O_NOATIME in @flags hides that one looks, which only the owner may. */
int inode_may_noatime(const struct inode *i, u32 flags);
/* May it give @i one more name? Of others' files only what it may read and write: -EPERM. */
int inode_may_link(const struct inode *i);
/* May it take @victim out of @dir, which it may change? -EPERM: @dir is sticky. */
int inode_may_remove(const struct inode *dir, const struct inode *victim);
/* May anything be changed through the mount of @p? A file without a name has none. */
int path_writable(const struct path *p);
/* Is @p a regular file that may be executed? */
int path_may_exec(const struct path *p);
/* The content of @i changes: without CAP_FSETID its set-id bits go. */
void inode_drop_set_id(struct inode *i);
/*
 * RLIMIT_FSIZE: cut a write of *@n bytes at @pos down to the limit. -EFBIG, after SIGXFSZ, if there
 * is no room at all.
 */
int file_limit_size(u64 pos, size_t *n);
/* Make it the owner of the new inode @i in @dir; NULL @dir: nowhere. */
void inode_set_owner(struct inode *i, const struct inode *dir);
/*
 * A file is either open for writing or running as a program: -ETXTBSY for the other. Each success
 * is ended by the matching call.
 */
int inode_begin_write(struct inode *i);
void inode_end_write(struct inode *i);
int inode_begin_exec(struct inode *i);
void inode_end_exec(struct inode *i);

/* --- flock.c: flock(2) ---------------------------------------------------------------- */
long flock_apply(struct file *f, unsigned op);
void flock_drop(struct file *f); /* the file is closed for good */

/* --- file systems --------------------------------------------------------------------- */
extern const struct fs_type tmpfs_type, devtmpfs_type;
u64 tmpfs_nr_pages(void); /* in all of them */
struct inode *tmpfs_create(struct superblock *sb, u32 mode);
/* How many pages, inodes and names it may have. */
u64 tmpfs_max_pages(const struct superblock *sb);
u64 tmpfs_max_inodes(const struct superblock *sb);
/* May the running thread add an inode or a name? */
bool tmpfs_has_inodes(const struct superblock *sb);
/* The new symbolic link @i leads to @text, which it keeps. False: there is no room. */
bool tmpfs_set_link(struct inode *i, char *text);
/* Append kernel memory to a regular file of a tmpfs. 0 or -ENOSPC. */
int tmpfs_append(struct inode *i, const char *data, size_t n);
/* Both ends of a new pipe. 0, -ENOMEM or -ENFILE. */
int pipe_open(u32 flags, struct file **reader, struct file **writer);
/*
 * A file without a name, for descriptors that stand for a kernel object; consumes @private, by
 * ops->release, once it succeeds. @flags: O_RDWR and the like, O_NONBLOCK. NULL: no memory.
 */
struct file *file_nameless(const struct file_ops *ops, void *private, u32 flags);
extern const struct file_ops fifo_ops;
/* The operations of character device @rdev; NULL if there is none. */
const struct file_ops *device_ops(u32 rdev);
/* Make inode->fops right for a new inode's mode and rdev; @regular for regular files. */
void inode_set_ops(struct inode *i, const struct file_ops *regular);
/*
 * Create what the cpio archives in @data describe, below the root. 0 or -errno at the first bad
 * record.
 */
int initramfs_unpack(const char *data, size_t size);
/* The name of the compression that the archive @data begins with, or NULL. */
const char *initramfs_compression(const char *data, size_t size);
