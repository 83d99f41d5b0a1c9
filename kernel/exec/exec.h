/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading programs: execve(2) in two steps, and the vDSO. */
#pragma once

#include "kernel/task/thread.h"

struct file;
struct mm;
struct vma;

struct exec_image { /* made by exec_load() */
	u64 entry, sp;
	struct mm *mm;
	char comm[COMM_LEN];
	struct file *exe;
	struct cred cred;
	bool secure; /* the program acts for others than who runs it */
	bool fatal;  /* a failure where Linux has no program to return to any more */
};

/*
 * Load @path with @argv and @envp (user or, for the first program, kernel strings) into a new
 * address space. Handles ELF64 static and static-PIE, PT_INTERP, and #! scripts. On error nothing
 * of the caller changed.
 */
int exec_load(const char *path, char *const *argv, char *const *envp, bool from_kernel,
	      struct exec_image *image);
/*
 * The point of no return of execve(2): give the current process @image's address space, name and
 * registers, close descriptors, reset handlers. Consumes @image. The first process calls it too.
 */
void exec_commit(struct exec_image *image);

/* --- the vDSO (vdso.c) --------------------------------------------------------- */
/* Map the vDSO into a new program. Returns its address, 0 if it is switched off, or -errno. */
long vdso_map(struct mm *mm);
/* CLOCK_REALTIME - CLOCK_MONOTONIC changed. One call at a time. */
void vdso_publish(u64 realtime_offset_ns);
/* "[vdso]", "[vvar]", or NULL for any other mapping. */
const char *vdso_name(const struct vma *v);
/* Is @v the page that programs only read? */
bool vdso_is_vvar(const struct vma *v);
