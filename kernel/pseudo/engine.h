/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pseudo file systems: text files made by functions. The inside of pseudo.c, for procfs and sysfs.
 */
#pragma once

#include "kernel/fs/vfs.h"
#include "kernel/pseudo/pseudo.h"

extern const struct fs_type procfs_type, sysfs_type, debugfs_type, tracefs_type;

/*
 * read(2) of a file whose text is @show(@arg). The text is made when a read starts at position 0
 * and kept in f->private, so that one pass over the file sees one consistent text. pseudo_release()
 * frees it.
 */
long pseudo_read(struct file *f, void *user_buf, size_t n, u64 *pos,
		 size_t (*show)(void *arg, char *buf, size_t size), void *arg);
/*
 * write(2) of a file: calls @store once, with a copy in kernel memory. -EINVAL if it is longer than
 * a page.
 */
long pseudo_write(struct file *f, const void *user_buf, size_t n,
		  long (*store)(void *arg, const char *text, size_t len), void *arg);
void pseudo_release(struct file *f);
/* The root directory of a pseudo file system, made on first use; NULL: no memory. */
struct dentry *pseudo_root(const struct fs_type *type);
/* A symbolic link below the root of @type. */
int pseudo_symlink(const struct fs_type *type, const char *name, const char *target);
int pseudo_mkdir(const struct fs_type *type, const char *name);
/* The entry called @name below the root of @type, NULL: none. It stays. */
struct dentry *pseudo_find(const struct fs_type *type, const char *name);
/* The entry called @name is gone, with all below it; open files stay open. */
void pseudo_remove(const struct fs_type *type, const char *name);
/* Take @d with all below it out of its directory, or put it back; open files stay open. */
void pseudo_show(struct dentry *d, bool visible);

void procfs_init(void);
void sysfs_init(void);
