/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * execve(2): the same process, another program.
 *
 * exec_load() (kernel/exec/exec.c) prepares everything that can fail; then the other threads end,
 * and exec_commit() swaps in the new address space. From there on there is no way back and no
 * error.
 */
#include "kernel/exec/exec.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/syscall.h"
#include "kernel/task/exit.h"
#include "kernel/trace/trace.h"
#include "lib/errno.h"
#include "lib/signal.h"

static long exec(const char *path, char *const *argv, char *const *envp, bool *fatal)
{
	struct exec_image image;
	int old_tid = current->tid;
	long err = exec_load(path, argv, envp, false, &image);

	*fatal = image.fatal;
	if (err)
		return err;
	err = proc_kill_other_threads();
	if (!err) {
		err = proc_unshare(image.secure);
		*fatal = err;
	}
	if (err) {
		mm_put(image.mm);
		file_put(image.exe);
		return err;
	}
	exec_commit(&image);
	trace_process_exec(path, old_tid);
	return 0;
}

SYSCALL3(execve, const char *, user_path, char *const *, argv, char *const *, envp)
{
	char *path = kmalloc(PATH_MAX);
	bool fatal = false;

	if (!path)
		return -ENOMEM;
	long err = arch_strncpy_from_user(path, user_path, PATH_MAX);

	if (err >= 0)
		err = err == PATH_MAX ? -ENAMETOOLONG : exec(path, argv, envp, &fatal);
	kfree(path);
	if (fatal)
		proc_exit_group(SIGSEGV);
	return err;
}
