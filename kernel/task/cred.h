/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credentials: on whose behalf a thread acts, and with which privileges. Rules and numbers are
 * Linux's (credentials(7), capabilities(7)); there are no user namespaces.
 *
 * Each thread has its own, as on Linux; libc makes the threads of a process agree. Only the thread
 * itself writes them, once others can see it. Others read single words, which may be a moment old.
 */
#pragma once

#include "lib/types.h"

struct proc;
struct thread;

/* Capabilities that are asked for somewhere; the rest of CAP_ALL is only kept. */
enum capability {
	CAP_CHOWN,
	CAP_DAC_OVERRIDE,
	CAP_DAC_READ_SEARCH,
	CAP_FOWNER,
	CAP_FSETID,
	CAP_KILL,
	CAP_SETGID,
	CAP_SETUID,
	CAP_SETPCAP,
	CAP_IPC_LOCK = 14,
	CAP_SYS_CHROOT = 18,
	CAP_SYS_PTRACE,
	CAP_SYS_ADMIN = 21,
	CAP_SYS_BOOT,
	CAP_SYS_NICE,
	CAP_SYS_RESOURCE,
	CAP_SYS_TIME,
	CAP_MKNOD = 27,
	CAP_SYSLOG = 34,
	NR_CAPABILITIES = 41, /* as in Linux 6.1 */
};
#define CAP_BIT(cap) (1ull << (cap))
#define CAP_ALL	     (CAP_BIT(NR_CAPABILITIES) - 1)

#define ID_NONE	    UINT32_MAX /* no user or group has this number */
#define NGROUPS_MAX 32	       /* 65536 on Linux; a thread's are kept in place */

struct ids { /* of a user or a group */
	u32 real, effective, saved, fs;
};

struct cred {
	struct ids user, group;
	u32 nr_groups, groups[NGROUPS_MAX];
	u64 effective, permitted, inheritable, bounding, ambient; /* sets of CAP_BIT() */
	bool keep_caps;	   /* giving up user 0 keeps what is permitted; until exec */
	bool no_new_privs; /* exec grants nothing; for good */
};

extern const struct cred root_cred;

/* Has the running thread @cap in effect? */
bool capable(enum capability cap);
/* Is @gid the group that @c acts for, or one of its supplementary ones? */
bool cred_in_group(const struct cred *c, u32 gid);
/* May the running thread send @target signal @sig? */
bool cred_may_signal(const struct thread *target, int sig);
/* May the running thread change how @target is scheduled? */
bool cred_may_schedule(const struct thread *target);
/* May the running thread make @t's nice value @nice? RLIMIT_NICE counts 20 - nice. */
bool cred_may_nice(const struct thread *t, int nice);
/*
 * May the running thread look into @target's process: at its memory, its files, its addresses?
 * Every file of /proc that shows such things asks here.
 */
bool cred_may_look(const struct thread *target);
/* Must even others of its user leave @p alone? For it had privileges, or asked for this. */
bool cred_is_secret(const struct proc *p);
/* The running thread's @now was @old: the file system's or the effective one may be another. */
void cred_ids_changed(const struct ids *old, const struct ids *now);
/* Capabilities that follow from the change of @c's user from @old. */
void cred_user_changed(struct cred *c, const struct ids *old);
/*
 * Turn @c, the running thread's, into the credentials after exec of a file with @mode, @uid and
 * @gid. @fs_shared: another process may change the program's root, cwd and umask. True: the program
 * acts for others than who runs it, and should not trust its surroundings (AT_SECURE).
 */
bool cred_exec(struct cred *c, u32 mode, u32 uid, u32 gid, bool fs_shared);
