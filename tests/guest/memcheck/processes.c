/* SPDX-License-Identifier: GPL-2.0-only */
/* fork, the heap, the stack, and what a new program finds. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memcheck/memcheck.h"

/* --- fork ------------------------------------------------------------------ */

static void write_as_child(void *p)
{
	EXPECT(is_filled(p, 1, 16 * PAGE));
	memset(p, 2, 8 * PAGE);
	EXPECT(is_filled(p, 2, 8 * PAGE) && is_filled((char *)p + 8 * PAGE, 1, 8 * PAGE));
}

static void copy_on_write(void)
{
	char *p = map_memory(16 * PAGE, RW, MAP_PRIVATE);
	pid_t pids[4];
	int i;

	memset(p, 1, 16 * PAGE);
	for (i = 0; i < 4; i++)
		pids[i] = spawn(write_as_child, p);
	for (i = 0; i < 4; i++)
		await_child(pids[i]);
	EXPECT(is_filled(p, 1, 16 * PAGE));
	memset(p, 3, 16 * PAGE);
	EXPECT(is_filled(p, 3, 16 * PAGE));
}

/* The kernel, too, writes to a copy. */
static void read_as_child(void *p)
{
	int fd = open("/dev/zero", O_RDONLY);

	EXPECT(read(fd, p, 2 * PAGE) == 2 * PAGE && is_filled(p, 0, 2 * PAGE));
}

static void kernel_writes(void)
{
	char *p = map_memory(2 * PAGE, RW, MAP_PRIVATE);

	memset(p, 1, 2 * PAGE);
	await_child(spawn(read_as_child, p));
	EXPECT(is_filled(p, 1, 2 * PAGE));
}

static void protect_as_child(void *p)
{
	EXPECT(!mprotect(p, 2 * PAGE, RW)); /* readable until now, and shared with the parent */
	memset(p, 2, 2 * PAGE);
}

static void protect_after_fork(void)
{
	char *p = map_memory(2 * PAGE, RW, MAP_PRIVATE);

	memset(p, 1, 2 * PAGE);
	EXPECT(!mprotect(p, 2 * PAGE, PROT_READ));
	await_child(spawn(protect_as_child, p));
	EXPECT(is_filled(p, 1, 2 * PAGE));
}

static void share_as_child(void *p)
{
	EXPECT(is_filled(p, 1, PAGE));
	memset(p, 2, 2 * PAGE);
}

static void shared_memory(void)
{
	char *p = map_memory(2 * PAGE, RW, MAP_SHARED);

	memset(p, 1, PAGE);
	await_child(spawn(share_as_child, p));
	EXPECT(is_filled(p, 2, 2 * PAGE));
}

/* --- heap and stack ----------------------------------------------------------- */

static char *kernel_brk(void *to)
{
	return (char *)syscall(SYS_brk, to);
}

static void heap(void)
{
	char *start = kernel_brk(0), *p = start + (-(size_t)start & (PAGE - 1)), *guard = p + PAGE;

	EXPECT(kernel_brk(p + 4 * PAGE) == p + 4 * PAGE && is_filled(p, 0, 4 * PAGE));
	memset(p, 1, 4 * PAGE);
	EXPECT(mmap(guard, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	       guard);
	EXPECT(kernel_brk(p + 8 * PAGE) == p + 8 * PAGE); /* grows past what was mapped into it */
	EXPECT(fault_of(guard, false) == ACCERR && is_filled(p + 2 * PAGE, 1, 2 * PAGE));
	EXPECT(kernel_brk(p + 3 * PAGE) == p + 3 * PAGE && fault_of(p + 3 * PAGE, false) == MAPERR);
	EXPECT(kernel_brk(p + 4 * PAGE) == p + 4 * PAGE && is_filled(p + 3 * PAGE, 0, PAGE));
	EXPECT(kernel_brk((char *)1) == p + 4 * PAGE); /* refused: the old break */
}

/* A page of stack for each level. */
static int __attribute__((noinline)) descend(int depth)
{
	volatile char page[PAGE];

	page[0] = (char)depth;
	return (depth ? descend(depth - 1) : 0) + page[0] - (char)depth;
}

static void stack_growth(void)
{
	struct rlimit limit;
	char here;

	EXPECT(!getrlimit(RLIMIT_STACK, &limit));
	EXPECT(descend((int)(limit.rlim_cur / PAGE * 3 / 4)) == 0);
	EXPECT(fault_of(&here - limit.rlim_cur - 64 * PAGE, true) == MAPERR);
}

/* --- program start --------------------------------------------------------------- */

static void auxiliary_vector(void)
{
	const unsigned char *random = (void *)getauxval(AT_RANDOM);
	const Elf64_Phdr *phdr = (void *)getauxval(AT_PHDR);
	unsigned long i, loads = 0;

	EXPECT(getauxval(AT_PAGESZ) == PAGE && getauxval(AT_CLKTCK) == 100);
	EXPECT(!getauxval(AT_SECURE) && getauxval(AT_UID) == getuid());
	EXPECT(!strcmp((char *)getauxval(AT_PLATFORM), "x86_64") && getauxval(AT_EXECFN));
	EXPECT(random && !is_filled((const char *)random, (char)random[0], 16));
	EXPECT(getauxval(AT_PHENT) == sizeof(*phdr) && getauxval(AT_MINSIGSTKSZ) >= 1024);
	for (i = 0; i < getauxval(AT_PHNUM); i++)
		loads += phdr[i].p_type == PT_LOAD;
	EXPECT(loads >= 2);
}

/* The first line that @command prints. */
static const char *output_of(const char *command)
{
	static char line[4096];
	FILE *f;

	fflush(stdout);
	f = popen(command, "r");
	EXPECT(f && fgets(line, sizeof(line), f));
	line[strcspn(line, "\n")] = 0;
	EXPECT(pclose(f) == 0);
	return line;
}

static void make_script(const char *path, const char *first_line)
{
	FILE *f = fopen(path, "w");

	EXPECT(f && fputs(first_line, f) >= 0 && !fclose(f) && !chmod(path, 0700));
}

static void scripts(void)
{
	make_script("plain", "#!/bin/echo\n");
	make_script("argument", "#! /bin/echo  one  two \t\nignored\n");
	make_script("nested", "#!./argument three\n");
	make_script("unended", "#!/bin/echo");
	EXPECT(!strcmp(output_of("./plain a b"), "./plain a b"));
	EXPECT(!strcmp(output_of("./argument a"), "one  two ./argument a"));
	EXPECT(!strcmp(output_of("./nested a"), "one  two ./argument three ./nested a"));
	EXPECT(!strcmp(output_of("./unended"), "./unended"));
}

/* Tries execve; returns errno. With success the child prints and ends. */
static int try_exec(char **argv, char **envp)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		execve("/bin/true", argv, envp);
		_exit(errno);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void argument_limits(void)
{
	enum { MANY = 100 };
	char name[] = "true", *big = malloc(200000);
	char *empty[] = { NULL }, *argv[MANY + 1] = { name };
	int i;

	memset(big, 'x', 200000);
	argv[1] = big;
	big[131072 - 1] = 0; /* with its NUL just what is allowed */
	EXPECT(try_exec(argv, empty) == 0);
	big[131072 - 1] = 'x';
	big[131072] = 0;
	EXPECT(try_exec(argv, empty) == E2BIG);
	big[60000] = 0;
	for (i = 1; i < MANY; i++)
		argv[i] = big;
	EXPECT(try_exec(argv, empty) == E2BIG); /* 6 MB in all */
	for (i = 30; i < MANY; i++)
		argv[i] = NULL;
	EXPECT(try_exec(argv, empty) == 0); /* 1.8 MB */
	argv[1] = (char *)1;
	EXPECT(try_exec(argv, empty) == EFAULT && try_exec(empty, argv) == EFAULT);
}

static void cut_for_ever(void *fd)
{
	for (;;) {
		EXPECT(!ftruncate(*(int *)fd, 2 * PAGE) && pwrite(*(int *)fd, "x", 1, 0) == 1);
		EXPECT(!ftruncate(*(int *)fd, 0));
	}
}

/* A file that is cut is looked for in all memory, also in that of programs which begin just now. */
static void exec_beside_cuts(void)
{
	enum { CUTTERS = 3, PROGRAMS = 100 };
	int fd = open("file", O_RDWR | O_CREAT, 0600), status;
	pid_t cutters[CUTTERS];

	EXPECT(fd >= 0 && mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0) != MAP_FAILED);
	for (int i = 0; i < CUTTERS; i++)
		cutters[i] = spawn(cut_for_ever, &fd);
	for (int i = 0; i < PROGRAMS; i++) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		await_child(pid);
	}
	for (int i = 0; i < CUTTERS; i++)
		EXPECT(!kill(cutters[i], SIGKILL) && waitpid(cutters[i], &status, 0) > 0 &&
		       WIFSIGNALED(status));
}

/* A line of /proc/self/status, in kB. */
static long status_kb(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	size_t len = strlen(name);
	long kb = -1;

	EXPECT(f);
	while (kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ':')
			kb = strtol(line + len + 1, NULL, 10);
	EXPECT(kb >= 0 && !fclose(f));
	return kb;
}

/* Pages that are mapped, and those of them that are locked, are counted once each, in kB. */
static void status_counts(void)
{
	long size = status_kb("VmSize"), locked = status_kb("VmLck"), kb = PAGE / 1024;
	char *p = mmap(NULL, 8 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED && status_kb("VmSize") == size + 8 * kb && !locked);
	EXPECT(!mlock(p + PAGE, 3 * PAGE) && status_kb("VmLck") == 3 * kb);
	EXPECT(!mlock(p + 2 * PAGE, 3 * PAGE) && status_kb("VmLck") == 4 * kb);
	EXPECT(!munlock(p, 2 * PAGE) && status_kb("VmLck") == 3 * kb);
	EXPECT(!munmap(p + 4 * PAGE, PAGE) && status_kb("VmLck") == 2 * kb);
	EXPECT(status_kb("VmSize") == size + 7 * kb);
	EXPECT(status_kb("VmPeak") >= size + 8 * kb);
	EXPECT(!munlockall() && !status_kb("VmLck"));
}

const struct check process_tests[] = {
	{ "copy-on-write", copy_on_write },
	{ "kernel-writes", kernel_writes },
	{ "protect-after-fork", protect_after_fork },
	{ "shared-memory", shared_memory },
	{ "heap", heap },
	{ "stack-growth", stack_growth },
	{ "auxiliary-vector", auxiliary_vector },
	{ "scripts", scripts },
	{ "argument-limits", argument_limits },
	{ "exec-beside-cuts", exec_beside_cuts },
	{ "status-counts", status_counts },
	{ 0 },
};
