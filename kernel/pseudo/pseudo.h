/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pseudo files, as the rest of the kernel registers them: a text made by a function, small writes
 * parsed by another. engine.h is the inside.
 */
#pragma once

#include "kernel/fs/fs.h"

struct pseudo_file {
	/* Path below the file system's root: "sched/latency_ns"; directories are made as needed. */
	const char *name;
	unsigned mode; /* permission bits */
	/*
	 * Fill @buf; return the length needed, as snprintf: the caller retries with a larger
	 * buffer. Called when a read starts at position 0.
	 */
	size_t (*show)(void *arg, char *buf, size_t size);
	/*
	 * @text is a kernel copy of one write(2), NUL added; return @len, or -errno with nothing
	 * changed.
	 */
	long (*store)(void *arg, const char *text, size_t len);
	void *arg;
	const struct file_ops *ops; /* instead of show/store; inode_arg(file->inode) gives arg */
	/* Opened with O_TRUNC for writing: the tracer's "clear". */
	void (*truncate)(void *arg);
};
/*
 * Register under one of the pseudo file systems; before or after mount. @pf's name is copied; the
 * rest must stay.
 */
int debugfs_add(const struct pseudo_file *pf);
int tracefs_add(const struct pseudo_file *pf);
int proc_sys_add(const struct pseudo_file *pf); /* below /proc/sys */
/* A number that root may change, below /proc/sys. */
int proc_sys_add_number(const char *name, u64 *value);
int procfs_add(const struct pseudo_file *pf);	/* below /proc */
int sysfs_add(const struct pseudo_file *pf);	/* below /sys */
/* For a store: the length of the written @text without one trailing newline. */
static inline size_t pseudo_trim(const char *text, size_t len)
{
	return len && text[len - 1] == '\n' ? len - 1 : len;
}

#define PSEUDO_WORD_SIZE 16
/*
 * For a store: makes a string of the written @text, without one trailing newline. 0; -EINVAL: it is
 * too long.
 */
int pseudo_word(char word[PSEUDO_WORD_SIZE], const char *text, size_t len);
/* The pseudo_file's arg of an inode made by one of these. */
void *inode_arg(const struct inode *i);

/* After CPU @cpu left or came: renew its files in /sys, and the domains of all CPUs in debugfs. */
void sysfs_show_cpu(unsigned cpu, bool online);
void cpufreq_show_cpu(unsigned cpu, bool online);
void schedfs_show_domains(void);
