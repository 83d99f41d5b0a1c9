/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by procfs.c (the system), proc_pid.c and proc_text.c (the processes). */
#pragma once

#include "kernel/pseudo/engine.h"
#include "kernel/task/proc.h"
#include "lib/fmt.h"

/* /proc counts time in ticks of 1/100 s, whatever HZ is. */
#define USER_TICK_NS ((u64)NS_PER_SEC / 100)

/* --- procfs.c ------------------------------------------------------------------------- */
/* "0-3,6" and hexadecimal words, as Linux prints sets of CPUs; no newline. */
void text_add_cpulist(struct text *t, const struct cpumask *m);
void text_add_cpumask(struct text *t, const struct cpumask *m);
struct cpumask online_cpus(void);
struct cpumask possible_cpus(void); /* the offline ones, too */

/* --- proc_pid.c: names ---------------------------------------------------------------- */
/* The directory of thread @name; NULL if there is none; or INODE_LACKS. May sleep. */
struct inode *proc_pid_lookup(struct superblock *sb, const char *name, size_t len);
/* readdir of the processes: positions are @base + pid. */
int proc_pid_readdir(struct file *f, emit_fn emit, void *arg, u64 base);

struct pid_ref { /* inode->private below /proc/PID */
	struct proc *proc;
	struct thread *thread;
	bool is_thread;		     /* below task/: about one thread, not the process */
	int fd;			     /* entries of fd/ and fdinfo/ */
	const struct pid_text *text; /* text files */
};

static inline bool is_kernel_thread(const struct pid_ref *r)
{
	return thread_has(r->thread, THREAD_KERNEL);
}

/* --- proc_resources.c ----------------------------------------------------------------- */
size_t show_limits(void *ref, char *buf, size_t size);
size_t show_io(void *ref, char *buf, size_t size);
size_t show_oom_score(void *ref, char *buf, size_t size);
size_t show_mountinfo(void *ref, char *buf, size_t size);

/* --- proc_text.c: contents; the arg is a struct pid_ref ------------------------------- */
extern const struct pid_text {
	const char *name;
	size_t (*show)(void *ref, char *buf, size_t size);
	long (*store)(void *ref, const char *text, size_t len); /* NULL: read only */
	/*
	 * Readers: everybody; those whom cred_may_look() lets; of these only the owner (0400).
	 * Or readers and writers: the process itself and who has CAP_SYS_NICE (0666).
	 */
	enum { FOR_ALL, GUARDED, HIDDEN, OWN } access;
} pid_texts[];
extern const unsigned nr_pid_texts;
