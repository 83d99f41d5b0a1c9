/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files. An inode is a file's identity and content; a dentry a name; an open file a position in it.
 * File systems (tmpfs, procfs, debugfs, tracefs, devtmpfs) are tables of operations on inodes.
 */
#pragma once

#include "kernel/fs/poll.h"
#include "kernel/sync.h"
#include "lib/list.h"

struct cred;
struct file;
struct inode;
struct dentry;
struct mount;
struct superblock;
struct proc;
struct pipe;

struct iovec { /* as readv(2) and writev(2) take it */
	void *base;
	size_t len;
};

/* readdir calls this for each entry; nonzero means that there is no room for it. Never sleeps. */
typedef int (*emit_fn)(void *arg, const char *name, u64 ino, unsigned type, u64 next_pos);

struct file_ops { /* every pointer may be NULL; the default is in the comment */
	long (*read)(struct file *f, void *user_buf, size_t n, u64 *pos);	 /* -EINVAL */
	long (*write)(struct file *f, const void *user_buf, size_t n, u64 *pos); /* -EINVAL */
	/*
	 * Write all segments as one, for streams whose small writes are atomic. Default: one write
	 * for each segment.
	 */
	long (*writev)(struct file *f, const struct iovec *iov, unsigned nr, size_t total);
	/* Likewise, for files that give one event at a time. Default: a read for each segment. */
	long (*readv)(struct file *f, const struct iovec *iov, unsigned nr, size_t total);
	long (*ioctl)(struct file *f, unsigned cmd, u64 arg); /* -ENOTTY */
	/* POLL* events ready now; registers with @pt (may be NULL) for a wakeup. */
	unsigned (*poll)(struct file *f, struct poll_table *pt); /* always readable and writable */
	/* splice(2) of whole pages into @to; @flags may have O_NONBLOCK. */
	long (*splice)(struct file *f, struct pipe *to, size_t n, u32 flags); /* -EINVAL */
	long (*llseek)(struct file *f, s64 offset, int whence); /* generic, by inode size */
	int (*open)(struct inode *i, struct file *f);		/* ok */
	void (*release)(struct file *f);
	long (*truncate)(struct inode *i, u64 size); /* -EINVAL */
	/* Give the file its pages in this range; to the file's end as it is, or beyond if @grow. */
	long (*allocate)(struct inode *i, u64 offset, u64 len, bool grow); /* -ENODEV */
	/*
	 * Physical page at @offset for mmap, with a reference the caller owns; else 0, out of
	 * memory, NO_ROOM or BEHIND_END: see is_page(). A hole gets a page. Called with mm->lock
	 * held, so it takes no lock that is held across a user copy.
	 */
	u64 (*map_page)(struct file *f, u64 offset); /* -ENODEV from mmap */
	/* Before a mapping of this range of the file: 0 or -errno. No lock held. */
	int (*mmap)(struct file *f, u64 offset, u64 len, bool shared); /* 0 */
	/*
	 * Emit the entries from f->pos on. 0 at the end, 1 when there was no room for more, or
	 * -errno.
	 */
	int (*readdir)(struct file *f, emit_fn emit, void *arg); /* the name tree's */
};

/* Answers of map_page, which alone knows them: a moment later the file may have another size. */
#define NO_ROOM	   1ull /* the file system has no page left for it */
#define BEHIND_END 2ull /* the file ends before it */

static inline bool is_page(u64 pa)
{
	return pa > BEHIND_END;
}

/* A name in a mounted file system. Holders own a reference to both halves. */
struct path {
	struct mount *mnt;
	struct dentry *dentry;
};

enum file_mode {
	FILE_READ = 1,
	FILE_WRITE = 2,
	FILE_SEEK = 4,	  /* has a position; streams (pipes, terminals, sockets) have none */
	FILE_PATH = 8,	  /* O_PATH: names a file without opening it */
	FILE_LOCKED = 16, /* owns a lock of flock(2); guarded by flock.c */
	FILE_WRITER = 32, /* counted in the inode and the mount */
	FILE_EXEC = 64,	  /* a program that runs: nobody may write it */
};

struct file {
	GUARDED(constant);
	const struct file_ops *ops;
	struct inode *inode;
	struct path path; /* dentry NULL for pipes and sockets */

	u64 pos; /* under the lock, or by the holder of the only reference */
	struct mutex lock;
	u32 flags; /* O_* */
	u32 mode;  /* FILE_*; all but LOCKED constant once open */
	GUARDED(atomic);
	u32 refs;

	void *private;	     /* of ops */
	struct cred *opener; /* likewise: who opened it, if that matters later */
	GUARDED(watch_lock, "a close: whether there are any");
	struct epoll_item *watchers; /* epoll.c's */
};

/*
 * For open operations: @f is a stream although its inode is a regular file. It has no position, so
 * threads that share it do not wait for each other.
 */
static inline void file_stream(struct file *f)
{
	f->mode &= ~(u32)FILE_SEEK;
}

struct file *file_get(struct file *f);
void file_put(struct file *f);

/*
 * The file of the current process's descriptor @fd, with a reference; NULL means -EBADF. So does
 * a descriptor of O_PATH, which is good for names alone: those calls take any.
 */
struct file *fd_get(int fd);
struct file *fd_get_any(int fd);
/*
 * A new file of @size zero bytes without a name, open for reading and writing: MAP_SHARED |
 * MAP_ANONYMOUS. NULL: no memory.
 */
struct file *file_anonymous(u64 size);
/* Install @f (consumes the reference) at the lowest free descriptor >= @min. -EMFILE. */
int fd_install(struct file *f, int min, bool cloexec);
/*
 * Take the lowest free descriptor before anything is done that cannot be undone. -EMFILE, -ENOMEM.
 * The caller gives it a file (consumes the reference), or cancels. Nobody else sees it before: not
 * close(), not a child; dup2() onto it is -EBUSY, as on Linux.
 */
int fd_reserve(void);
void fd_fill(int fd, struct file *f, bool cloexec);
void fd_cancel(int fd);

/*
 * Like fd_get() and fd_get_any(), but without the cost of a reference if only the running thread
 * can use the descriptor table. Valid for the length of one system call: fd_release() before
 * returning.
 */
struct fd_ref {
	struct file *file; /* NULL: -EBADF */
	bool counted;
};
struct fd_ref fd_borrow(int fd);
struct fd_ref fd_borrow_any(int fd);
static inline void fd_release(struct fd_ref r)
{
	if (r.counted)
		file_put(r.file);
}

struct files; /* descriptor table */
struct files *files_create(void);
struct files *files_fork(struct files *src);
struct files *files_get(struct files *f);
bool files_are_shared(const struct files *f); /* by several processes */
void files_put(struct files *f);
unsigned files_count(struct files *f);	   /* open descriptors */
void files_close_on_exec(struct files *f); /* of the running thread, and nobody else's */
struct fs_context;			   /* cwd, root, umask */
struct fs_context *fs_context_create(void);
struct fs_context *fs_context_fork(struct fs_context *src);
struct fs_context *fs_context_get(struct fs_context *c);
bool fs_context_is_shared(const struct fs_context *c);
/* Copy its root or its cwd, with references. Returns true. */
bool fs_context_place(struct fs_context *c, bool root, struct path *out);
void fs_context_put(struct fs_context *c);

/*
 * Open the file @path, a string of the kernel, from the current process's root. Returns the file,
 * or NULL with *err set.
 */
struct file *file_open(const char *path, unsigned flags, unsigned mode, int *err);
/* Read into kernel memory at @pos (exec). Bytes or -errno. */
long file_read_kernel(struct file *f, void *buf, size_t n, u64 pos);
/* Full path name of an open file, into @buf; returns @buf or "(unreachable)". */
const char *file_path(struct file *f, char *buf, size_t size);
u64 file_size(struct file *f);
/*
 * The program @path, open for the kernel alone: it must be a regular file that the running thread
 * may execute, not one that it may read. NULL with *err set, as from file_open().
 */
struct file *file_open_exec(const char *path, int *err);
/*
 * Nobody can write the program @f from now on until its last reference is gone. -ETXTBSY if
 * somebody has it open for writing.
 */
int file_begin_exec(struct file *f);
/* cred_exec() for the program @f. */
bool file_exec_cred(const struct file *f, struct cred *c);
/* Open /dev/console as descriptors 0, 1 and 2 of the current process (the first one). */
int file_open_stdio(void);

/*
 * Mount the root tmpfs, unpack the initramfs (newc cpio), create /dev; mount proc, sys, debug,
 * tracing.
 */
void fs_init(void);
