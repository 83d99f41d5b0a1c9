/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls with arguments that make no sense: each must give Linux's errno and change nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/crash.h"
#include "lib/sched.h"

#define NO_PID 0x3ffffff /* larger than any pid */

static int unknown_syscall(void)
{
	return error_of(syscall(100000));
}

static int negative_syscall(void)
{
	return error_of(syscall(-1));
}

static int bad_fd(void)
{
	return error_of(write(999, "x", 1));
}

static int negative_fd(void)
{
	return error_of(close(-1));
}

static int open_too_many(void)
{
	while (open("/", O_RDONLY) >= 0)
		;
	return errno;
}

/* --- pipes --------------------------------------------------------- */

static int write_without_reader(void)
{
	int fd[2];

	if (pipe(fd))
		return errno;
	close(fd[0]);
	return error_of(write(fd[1], "x", 1));
}

static int write_without_reader_ignored(void)
{
	signal(SIGPIPE, SIG_IGN);
	return write_without_reader();
}

/* A full pipe whose reader goes away while the writer sleeps. */
static int full_pipe_without_reader(void)
{
	char block[4096] = { 0 };
	int fd[2];

	if (pipe(fd))
		return errno;
	if (!fork()) {
		close(fd[1]);
		usleep(20000);
		_exit(0);
	}
	close(fd[0]);
	signal(SIGPIPE, SIG_IGN);
	while (write(fd[1], block, sizeof(block)) > 0)
		;
	return errno;
}

static int full_pipe_nonblocking(void)
{
	char block[4096] = { 0 };
	int fd[2];

	if (pipe(fd) || fcntl(fd[1], F_SETFL, O_NONBLOCK))
		return errno;
	while (write(fd[1], block, sizeof(block)) > 0)
		;
	return errno;
}

/* --- processes and signals ----------------------------------------- */

static int kill_nobody(void)
{
	return error_of(kill(NO_PID, SIGTERM));
}

static int kill_bad_signal(void)
{
	return error_of(kill(getpid(), 65));
}

static int catch_sigkill(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	return error_of(syscall(SYS_rt_sigaction, SIGKILL, &action, NULL, 8));
}

static int wait_without_child(void)
{
	return error_of(wait(NULL));
}

/* The child is reaped all the same; the second wait proves it. */
static int wait_bad_pointer(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (syscall(SYS_wait4, pid, UNMAPPED, 0, 0) != -1 || errno != EFAULT)
		return 255;
	return error_of(waitpid(pid, NULL, 0));
}

static int wait_bad_options(void)
{
	return error_of(waitpid(-1, NULL, 0x10));
}

static int clone_bad_flags(void)
{
	return error_of(syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0)); /* needs CLONE_SIGHAND */
}

/* --- scheduling ---------------------------------------------------- */

static int policy_of_nobody(void)
{
	return error_of(set_policy(NO_PID, &(struct policy){ SCHED_OTHER, 0 }));
}

static int policy_negative_pid(void)
{
	return error_of(set_policy(-1, &(struct policy){ SCHED_OTHER, 0 }));
}

static int policy_unknown(void)
{
	return error_of(set_policy(0, &(struct policy){ 77, 0 }));
}

static int policy_fifo_without_priority(void)
{
	return error_of(set_policy(0, &(struct policy){ SCHED_FIFO, 0 }));
}

static int policy_fifo_priority_100(void)
{
	return error_of(set_policy(0, &(struct policy){ SCHED_FIFO, 100 }));
}

static int policy_other_with_priority(void)
{
	return error_of(set_policy(0, &(struct policy){ SCHED_OTHER, 1 }));
}

static int policy_null_param(void)
{
	return error_of(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, NULL));
}

static int affinity_empty(void)
{
	return error_of(set_cpus(0, &(struct cpu_set){ 0 }));
}

static int set_mask(const void *mask, unsigned bytes)
{
	return error_of(syscall(SYS_sched_setaffinity, 0, bytes, mask));
}

static int affinity_no_bytes(void)
{
	return set_mask(&(struct cpu_set){ { -1ul } }, 0);
}

/* CPU 8191 alone: the last that Linux can be built for. */
static int affinity_beyond(void)
{
	unsigned char mask[1024] = { 0 };

	mask[sizeof(mask) - 1] = 0x80;
	return set_mask(mask, sizeof(mask));
}

/* Bits beyond the machine's CPUs are not read; the missing bits of a short mask are zeros. */
static int affinity_lengths(void)
{
	unsigned char mask[4096] = { 0 };
	struct cpu_set cpus, now;
	int cpu;

	if (get_cpus(0, &cpus))
		return 255;
	cpu = cpu_nth(&cpus, 0);
	memcpy(mask, &cpus, sizeof(cpus));
	if (set_mask(mask, 1u << 31) || get_cpus(0, &now) || memcmp(&cpus, &now, sizeof(now)))
		return 254;
	if (set_mask(&cpus, (unsigned)cpu / 8 + 1) || get_cpus(0, &now))
		return 253;
	return !cpu_isset(&now, cpu) || cpu_count(&now) > 8;
}

static int affinity_odd_buffer(void)
{
	char bytes[1024];

	return error_of(syscall(SYS_sched_getaffinity, 0, sizeof(bytes) - 1, bytes));
}

static int affinity_of_nobody(void)
{
	struct cpu_set cpus;

	return error_of(get_cpus(NO_PID, &cpus));
}

static int affinity_short_buffer(void)
{
	char byte;

	return error_of(syscall(SYS_sched_getaffinity, 0, 1, &byte));
}

static int priority_bad_which(void)
{
	return error_of(setpriority(9, 0, 0));
}

static int priority_of_nobody(void)
{
	return error_of(set_nice(NO_PID, 0));
}

/* Out of range nice values are not an error: they are brought into range. */
static int priority_out_of_range(void)
{
	return error_of(set_nice(0, 100)) || getpriority(PRIO_PROCESS, 0) != 19;
}

/* --- memory -------------------------------------------------------- */

static int map_error(void *address, size_t size, int flags)
{
	void *p = mmap(address, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int map_nothing(void)
{
	return map_error(NULL, 0, 0);
}

static int map_everything(void)
{
	return map_error(NULL, 1ul << 60, 0);
}

static int map_kernel(void)
{
	return map_error((void *)KERNEL_ADDRESS, 4096, MAP_FIXED);
}

static int map_unaligned(void)
{
	return map_error((void *)0x10001, 4096, MAP_FIXED);
}

static int unmap_unaligned(void)
{
	return error_of(syscall(SYS_munmap, 0x10001, 4096));
}

static int unmap_kernel(void)
{
	return error_of(syscall(SYS_munmap, KERNEL_ADDRESS, 4096));
}

static int protect_nothing_mapped(void)
{
	return error_of(mprotect((void *)0x10000, 4096, PROT_READ));
}

static int futex_unaligned(void)
{
	return error_of(syscall(SYS_futex, (char *)&(uint64_t){ 0 } + 1, 0, 0, NULL, NULL, 0));
}

static int sleep_bad_time(void)
{
	return error_of(syscall(SYS_nanosleep, &(struct timespec){ 0, 1000000000 }, NULL));
}

static int sleep_negative_time(void)
{
	return error_of(syscall(SYS_nanosleep, &(struct timespec){ -1, 0 }, NULL));
}

static int clock_unknown(void)
{
	return error_of(syscall(SYS_clock_gettime, 99, &(struct timespec){ 0 }));
}

const struct crash_test call_tests[] = {
	{ "syscall-unknown", unknown_syscall, ENDS(ENOSYS), "system call 100000" },
	{ "syscall-negative", negative_syscall, ENDS(ENOSYS), "system call -1" },
	{ "fd-unknown", bad_fd, ENDS(EBADF), "write to a descriptor that is not open" },
	{ "fd-negative", negative_fd, ENDS(EBADF), "close(-1)" },
	{ "fd-limit", open_too_many, ENDS(EMFILE), "open until descriptors run out" },
	{ "pipe-no-reader", write_without_reader, DIES(SIGPIPE), "write to a pipe without reader" },
	{ "pipe-epipe", write_without_reader_ignored, ENDS(EPIPE), "the same, SIGPIPE ignored" },
	{ "pipe-full-no-reader", full_pipe_without_reader, ENDS(EPIPE),
	  "full pipe, reader leaves" },
	{ "pipe-full", full_pipe_nonblocking, ENDS(EAGAIN), "full pipe, O_NONBLOCK" },
	{ "kill-nobody", kill_nobody, ENDS(ESRCH), "kill a process that does not exist" },
	{ "kill-signal", kill_bad_signal, ENDS(EINVAL), "send signal 65" },
	{ "catch-sigkill", catch_sigkill, ENDS(EINVAL), "ignore SIGKILL" },
	{ "wait-no-child", wait_without_child, ENDS(ECHILD), "wait without a child" },
	{ "wait-pointer", wait_bad_pointer, ENDS(ECHILD), "wait with a bad pointer, then again" },
	{ "wait-options", wait_bad_options, ENDS(EINVAL), "wait with unknown options" },
	{ "clone-flags", clone_bad_flags, ENDS(EINVAL), "clone a thread without shared handlers" },
	{ "policy-pid", policy_of_nobody, ENDS(ESRCH), "policy of a process that does not exist" },
	{ "policy-pid-negative", policy_negative_pid, ENDS(EINVAL), "policy of process -1" },
	{ "policy-unknown", policy_unknown, ENDS(EINVAL), "policy 77" },
	{ "policy-fifo-0", policy_fifo_without_priority, ENDS(EINVAL), "fifo, priority 0" },
	{ "policy-fifo-100", policy_fifo_priority_100, ENDS(EINVAL), "fifo, priority 100" },
	{ "policy-other-1", policy_other_with_priority, ENDS(EINVAL), "other, priority 1" },
	{ "policy-null", policy_null_param, ENDS(EINVAL), "no parameters" },
	{ "affinity-empty", affinity_empty, ENDS(EINVAL), "affinity without a CPU" },
	{ "affinity-0", affinity_no_bytes, ENDS(EINVAL), "affinity of no bytes" },
	{ "affinity-beyond", affinity_beyond, ENDS(EINVAL), "affinity to CPU 8191" },
	{ "affinity-lengths", affinity_lengths, ENDS(0), "masks too long and too short" },
	{ "affinity-odd", affinity_odd_buffer, ENDS(EINVAL), "affinity into 1023 bytes" },
	{ "affinity-pid", affinity_of_nobody, ENDS(ESRCH),
	  "affinity of a process that does not exist" },
	{ "affinity-short", affinity_short_buffer, ENDS(EINVAL), "affinity into one byte" },
	{ "priority-which", priority_bad_which, ENDS(EINVAL), "setpriority of an unknown kind" },
	{ "priority-pid", priority_of_nobody, ENDS(ESRCH), "setpriority of nobody" },
	{ "priority-range", priority_out_of_range, ENDS(0), "nice 100 becomes 19" },
	{ "mmap-0", map_nothing, ENDS(EINVAL), "map no bytes" },
	{ "mmap-huge", map_everything, ENDS(ENOMEM), "map 2^60 bytes" },
	{ "mmap-kernel", map_kernel, ENDS(ENOMEM), "map over the kernel" },
	{ "mmap-unaligned", map_unaligned, ENDS(EINVAL), "map at an odd address" },
	{ "munmap-unaligned", unmap_unaligned, ENDS(EINVAL), "unmap at an odd address" },
	{ "munmap-kernel", unmap_kernel, ENDS(EINVAL), "unmap the kernel" },
	{ "mprotect-unmapped", protect_nothing_mapped, ENDS(ENOMEM), "mprotect where nothing is" },
	{ "futex-unaligned", futex_unaligned, ENDS(EINVAL), "futex at an odd address" },
	{ "nanosleep-ns", sleep_bad_time, ENDS(EINVAL), "sleep with 10^9 ns" },
	{ "nanosleep-negative", sleep_negative_time, ENDS(EINVAL), "sleep a negative time" },
	{ "clock-unknown", clock_unknown, ENDS(EINVAL), "clock 99" },
	{ NULL },
};
