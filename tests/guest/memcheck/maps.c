/* SPDX-License-Identifier: GPL-2.0-only */
/* mmap and its family. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memcheck/memcheck.h"

#define POPULATE_READ  22
#define POPULATE_WRITE 23

static void anonymous(void)
{
	char *p = map_memory(8 * PAGE, RW, MAP_PRIVATE);

	EXPECT(is_filled(p, 0, 8 * PAGE));
	memset(p, 1, 8 * PAGE);
	EXPECT(!munmap(p + 2 * PAGE, 2 * PAGE));
	EXPECT(is_filled(p, 1, 2 * PAGE) && is_filled(p + 4 * PAGE, 1, 4 * PAGE));
	EXPECT(fault_of(p + 2 * PAGE, false) == MAPERR &&
	       fault_of(p + 4 * PAGE - 1, true) == MAPERR);
	EXPECT(!munmap(p, 8 * PAGE) && !munmap(p, 8 * PAGE)); /* nothing there is no error */
	EXPECT(fault_of(p, false) == MAPERR);
}

static void placement(void)
{
	char *p = map_memory(4 * PAGE, RW, MAP_PRIVATE);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	memset(p, 1, 4 * PAGE);
	EXPECT(mmap(p + PAGE, PAGE, RW, flags | MAP_FIXED, -1, 0) == p + PAGE);
	EXPECT(is_filled(p, 1, PAGE) && is_filled(p + PAGE, 0, PAGE) && p[2 * PAGE] == 1);
	EXPECT_ERROR(EEXIST, (long)mmap(p, PAGE, RW, flags | MAP_FIXED_NOREPLACE, -1, 0));
	EXPECT(!munmap(p + PAGE, PAGE));
	EXPECT(mmap(p + PAGE, PAGE, RW, flags, -1, 0) == p + PAGE); /* a hint */
	EXPECT(mmap(p + PAGE, PAGE, RW, flags, -1, 0) != p + PAGE); /* taken */
	EXPECT_ERROR(EINVAL, (long)mmap(p + 1, PAGE, RW, flags | MAP_FIXED, -1, 0));
	EXPECT_ERROR(EINVAL, (long)mmap(NULL, 0, RW, flags, -1, 0));
	EXPECT_ERROR(EBADF, (long)mmap(NULL, PAGE, RW, MAP_PRIVATE, -1, 0));
	EXPECT_ERROR(ENOMEM, (long)mmap(NULL, 1ul << 60, RW, flags, -1, 0));
	EXPECT_ERROR(ENOMEM, (long)syscall(SYS_mmap, p, 1ul << 60, RW, flags, -1, 0)); /* a hint */
}

static void protection(void)
{
	static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 }; /* mov $42, %eax; ret */
	char *p = map_memory(4 * PAGE, RW, MAP_PRIVATE);

	memset(p, 1, 4 * PAGE);
	EXPECT(!mprotect(p + PAGE, 2 * PAGE, PROT_READ));
	EXPECT(!fault_of(p, true) && fault_of(p + PAGE, true) == ACCERR &&
	       !fault_of(p + PAGE, false));
	EXPECT(!mprotect(p + PAGE, PAGE, PROT_NONE));
	EXPECT(fault_of(p + PAGE, false) == ACCERR && !fault_of(p + 2 * PAGE, false));
	EXPECT(!mprotect(p, 4 * PAGE, RW));
	EXPECT(is_filled(p, 1, 4 * PAGE));
	memcpy(p, code, sizeof(code));
	EXPECT(!mprotect(p, PAGE, PROT_READ | PROT_EXEC));
	EXPECT(((int (*)(void))(uintptr_t)p)() == 42 && fault_of(p, true) == ACCERR);
	EXPECT(!munmap(p + 2 * PAGE, PAGE));
	EXPECT_ERROR(ENOMEM, mprotect(p, 4 * PAGE, RW));
	EXPECT(!fault_of(p, true)); /* what comes before the hole has changed */
	EXPECT(!mprotect(p, 0, PROT_NONE) && !fault_of(p, true));
	EXPECT_ERROR(EINVAL, syscall(SYS_mprotect, p + 1, PAGE, RW)); /* libc would align it */
}

/* A file of two pages and a half: 'a', 'b', 'c'. */
static int make_file(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char page[PAGE];
	int i;

	for (i = 0; i < 3; i++) {
		memset(page, 'a' + i, PAGE);
		EXPECT(write(fd, page, i < 2 ? PAGE : PAGE / 2) > 0);
	}
	return fd;
}

static char file_byte(int fd, off_t at)
{
	char c;

	EXPECT(pread(fd, &c, 1, at) == 1);
	return c;
}

static void file_private(void)
{
	int fd = make_file();
	char *p = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE, fd, 0);

	EXPECT(p != MAP_FAILED);
	EXPECT(is_filled(p + PAGE, 'b', PAGE) && is_filled(p + 5 * PAGE / 2, 0, PAGE / 2));
	EXPECT(fault_of(p + 3 * PAGE, false) == BUSERR);
	p[PAGE] = 'x';
	EXPECT(file_byte(fd, PAGE) == 'b' && p[PAGE + 1] == 'b');
	EXPECT_ERROR(EINVAL, madvise(p, PAGE, MADV_WIPEONFORK)); /* only of memory without a file */
	EXPECT(!madvise(p, 3 * PAGE, MADV_DONTNEED));
	EXPECT(p[PAGE] == 'b');
	EXPECT(!munmap(p, 4 * PAGE));
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE);
	EXPECT(p != MAP_FAILED && is_filled(p, 'b', PAGE) && fault_of(p, true) == ACCERR);
	close(fd);
	EXPECT(is_filled(p, 'b', PAGE)); /* the mapping keeps the file */
}

static void file_shared(void)
{
	int fd = make_file(), readonly = open("file", O_RDONLY), writeonly = open("file", O_WRONLY);
	char *p = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0), *q;

	EXPECT(p != MAP_FAILED);
	p[PAGE] = 'x';
	EXPECT(file_byte(fd, PAGE) == 'x');
	EXPECT(pwrite(fd, "y", 1, 0) == 1 && p[0] == 'y');
	q = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, readonly, 0);
	EXPECT(q != MAP_FAILED && q[PAGE] == 'x');
	p[PAGE] = 'z';
	EXPECT(q[PAGE] == 'z' && !msync(p, 2 * PAGE, MS_SYNC));
	EXPECT_ERROR(EACCES, mprotect(q, PAGE, RW));
	EXPECT_ERROR(EACCES, (long)mmap(NULL, PAGE, RW, MAP_SHARED, readonly, 0));
	EXPECT_ERROR(EACCES, (long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, writeonly, 0));
	EXPECT_ERROR(EINVAL, (long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 1));
	EXPECT_ERROR(EINVAL, msync(p, PAGE, MS_SYNC | MS_ASYNC));
	EXPECT(!munmap(p, 2 * PAGE));
	EXPECT_ERROR(ENOMEM, msync(p, PAGE, MS_SYNC));
}

/* A mapping shows what is left of its file: half a page. */
static void expect_half_a_page(char *p)
{
	EXPECT(p[PAGE / 2 - 1] == 'a' && is_filled(p + PAGE / 2, 0, PAGE / 2));
	EXPECT(fault_of(p + PAGE, false) == BUSERR && fault_of(p + 2 * PAGE, true) == BUSERR);
}

struct cut {
	char *shared, *private;
	int told[2];
};

static void look_when_told(void *arg)
{
	struct cut *cut = arg;

	EXPECT(read(cut->told[0], &(char){ 0 }, 1) == 1);
	expect_half_a_page(cut->shared);
	expect_half_a_page(cut->private);
}

/* Pages behind the new end go, everywhere, those that were copied too. */
static void file_made_shorter(void)
{
	int fd = make_file();
	struct cut cut = {
		.shared = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0),
		.private = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE, fd, 0),
	};
	char *p = cut.shared, *q = cut.private;
	pid_t pid;

	EXPECT(p != MAP_FAILED && q != MAP_FAILED && !pipe(cut.told));
	q[PAGE] = 'x';
	EXPECT(p[PAGE] == 'b' && p[2 * PAGE] == 'c' && q[2 * PAGE] == 'c');
	pid = spawn(look_when_told, &cut);
	EXPECT(!ftruncate(fd, PAGE / 2) && write(cut.told[1], "", 1) == 1);
	await_child(pid);
	expect_half_a_page(p);
	expect_half_a_page(q);
	EXPECT_ERROR(EFAULT, pread(fd, p + PAGE, 1, 0));
	EXPECT(!truncate("file", 3 * PAGE) && is_filled(p + PAGE, 0, 2 * PAGE));
	p[PAGE] = 'n';
	EXPECT(file_byte(fd, PAGE) == 'n' && q[PAGE] == 'n');
	EXPECT(open("file", O_RDWR | O_TRUNC) >= 0 && fault_of(p, false) == BUSERR);
}

enum { FORKS = 30 };
static char *second; /* page of a file that others cut off */
static volatile int *forked, *go;

static void fork_and_touch(void *unused)
{
	(void)unused;
	for (int i = 0; i < FORKS; i++) {
		fault_of(second, true);
		pid_t pid = fork();
		EXPECT(pid >= 0);
		if (!pid) {
			while (!*go)
				usleep(1000);
			second[i] = 1;
			_exit(0);
		}
		*forked = i + 1;
	}
	for (int status = 0; wait(&status) > 0;)
		EXPECT(!status);
}

/* However forks and truncations meet, no process keeps a page that is not the file's. */
static void file_made_shorter_in_forks(void)
{
	int *control = (int *)map_memory(PAGE, RW, MAP_SHARED), fd = make_file();
	char *p = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0);
	pid_t pid;

	EXPECT(p != MAP_FAILED);
	second = p + PAGE;
	forked = control;
	go = control + 1;
	pid = spawn(fork_and_touch, NULL);
	do
		EXPECT(!ftruncate(fd, PAGE) && !ftruncate(fd, 2 * PAGE));
	while (*forked < FORKS);
	EXPECT(!ftruncate(fd, PAGE) && !ftruncate(fd, 2 * PAGE));
	*go = 1;
	await_child(pid);
	for (int i = 0; i < FORKS; i++)
		EXPECT(file_byte(fd, (off_t)PAGE + i) == 1);
}

static void cut_and_grow(void *fd)
{
	for (;;)
		EXPECT(!ftruncate(*(int *)fd, 0) && !ftruncate(*(int *)fd, PAGE));
}

/* A touch of a file that is cut and grows again finds the page or does not; memory there is. */
static void file_touched_while_cut(void)
{
	enum { TOUCHES = 10000 };
	int fd = make_file(), status;
	char *p = mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0);
	pid_t cutter = spawn(cut_and_grow, &fd);

	EXPECT(p != MAP_FAILED);
	for (int i = 0; i < TOUCHES; i++) {
		int fault = fault_of(p, true);

		EXPECT(!fault || fault == BUSERR);
	}
	EXPECT(!kill(cutter, SIGKILL) && waitpid(cutter, &status, 0) > 0 && WIFSIGNALED(status));
}

static long faults(void)
{
	struct rusage usage;

	EXPECT(!getrusage(RUSAGE_SELF, &usage));
	return usage.ru_minflt;
}

/* Faults of all programs since the machine began. */
static unsigned long faults_of_all(void)
{
	FILE *f = fopen("/proc/vmstat", "r");
	unsigned long nr = 0;
	char line[100];

	EXPECT(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "pgfault %lu", &nr) != 1)
		;
	EXPECT(!fclose(f) && nr);
	return nr;
}

static void faults_are_counted(void)
{
	unsigned long all = faults_of_all();
	long own = faults();

	memset(map_memory(64 * PAGE, RW, MAP_PRIVATE), 1, 64 * PAGE);
	own = faults() - own;
	EXPECT(own >= 64 && faults_of_all() - all >= (unsigned long)own);
}

/* MAP_SHARED_VALIDATE refuses what it does not know; a mapping that grows is private memory. */
static void flags_are_known(void)
{
	int fd = make_file(), grows = MAP_GROWSDOWN | MAP_ANONYMOUS, known = MAP_SHARED_VALIDATE;
	void *low = (void *)0x10000000; /* only root may ask for page 0 */

	EXPECT(mmap(NULL, PAGE, RW, known | MAP_POPULATE | MAP_STACK, fd, 0) != MAP_FAILED);
	EXPECT(mmap(NULL, PAGE, RW, MAP_SHARED | 0x200000, fd, 0) != MAP_FAILED);
	EXPECT_ERROR(EOPNOTSUPP, (long)mmap(NULL, PAGE, RW, known | 0x200000, fd, 0));
	EXPECT_ERROR(EOPNOTSUPP, (long)mmap(NULL, PAGE, RW, known | MAP_SYNC, fd, 0));
	EXPECT_ERROR(EOPNOTSUPP, (long)mmap(low, PAGE, RW, known | MAP_FIXED_NOREPLACE, fd, 0));
	EXPECT_ERROR(EINVAL, (long)mmap(NULL, PAGE, RW, known | MAP_ANONYMOUS, -1, 0));
	EXPECT_ERROR(EINVAL, (long)mmap(NULL, PAGE, RW, MAP_SHARED | grows, -1, 0));
	EXPECT_ERROR(EINVAL, (long)mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_GROWSDOWN, fd, 0));
	EXPECT(mmap(NULL, PAGE, RW, MAP_PRIVATE | grows, -1, 0) != MAP_FAILED);
}

/* Advice that cannot be followed for all of the range is an error. */
static void refused_advice(void)
{
	int fd = make_file(), reader = open("file", O_RDONLY);
	char *own = map_memory(3 * PAGE, RW, MAP_PRIVATE), *none = map_memory(PAGE, 0, MAP_PRIVATE);
	char *shared = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, fd, 0);
	char *copy = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE, fd, 0);
	char *readonly = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, reader, 0);

	EXPECT(shared != MAP_FAILED && copy != MAP_FAILED && readonly != MAP_FAILED);
	for (int unknown = 5; unknown < 8; unknown++)
		EXPECT_ERROR(EINVAL, madvise(own, PAGE, unknown));
	EXPECT_ERROR(EINVAL, madvise(own, PAGE, -1));
	EXPECT_ERROR(EINVAL, madvise(own, (size_t)-PAGE, MADV_NORMAL));
	EXPECT_ERROR(EINVAL, madvise(own, (size_t)-1, MADV_NORMAL));
	EXPECT_ERROR(ENOMEM, madvise((void *)0x7ffffffff000, 2 * PAGE, MADV_NORMAL));
	EXPECT_ERROR(EINVAL, madvise(shared, PAGE, MADV_FREE));
	EXPECT_ERROR(EINVAL, madvise(copy, PAGE, MADV_FREE));
	EXPECT_ERROR(EINVAL, madvise(own, PAGE, MADV_REMOVE));
	EXPECT_ERROR(EACCES, madvise(copy, PAGE, MADV_REMOVE));
	EXPECT_ERROR(EACCES, madvise(readonly, PAGE, MADV_REMOVE));
	EXPECT_ERROR(EINVAL, madvise(own, PAGE, 25)); /* to collapse less than a huge page */
	EXPECT(!munmap(own + PAGE, PAGE));
	EXPECT_ERROR(ENOMEM, madvise(own, 3 * PAGE, MADV_FREE));
	EXPECT_ERROR(ENOMEM, madvise(own, 3 * PAGE, POPULATE_WRITE));
	EXPECT_ERROR(EINVAL, madvise(none, PAGE, POPULATE_READ));
	EXPECT_ERROR(EINVAL, madvise(readonly, PAGE, POPULATE_WRITE));
	EXPECT_ERROR(EFAULT, madvise(shared, 4 * PAGE, POPULATE_READ));
	EXPECT(!madvise(own, 0, MADV_FREE) && !madvise(readonly, PAGE, POPULATE_READ));
	own = map_memory(64 * PAGE, RW, MAP_PRIVATE);
	EXPECT(!madvise(own, 64 * PAGE, POPULATE_WRITE));
	long before = faults();
	memset(own, 1, 64 * PAGE);
	EXPECT(faults() - before < 16);
}

static void moving(void)
{
	char *p = map_memory(8 * PAGE, RW, MAP_PRIVATE), *q;

	memset(p, 1, 4 * PAGE);
	memset(p + 4 * PAGE, 2, 4 * PAGE);
	EXPECT(mremap(p, 8 * PAGE, 6 * PAGE, 0) == p);
	EXPECT(mremap(p, 6 * PAGE, 7 * PAGE, 0) == p);
	EXPECT(is_filled(p + 4 * PAGE, 2, 2 * PAGE) && is_filled(p + 6 * PAGE, 0, PAGE));
	EXPECT_ERROR(ENOMEM, (long)mremap(p, 4 * PAGE, 5 * PAGE, 0)); /* the rest is in the way */
	q = mremap(p, 7 * PAGE, 2000 * PAGE, MREMAP_MAYMOVE);
	EXPECT(q != MAP_FAILED && is_filled(q, 1, 4 * PAGE) &&
	       is_filled(q + 6 * PAGE, 0, 1994 * PAGE));
	EXPECT(q == p || fault_of(p, false) == MAPERR);
	p = map_memory(2 * PAGE, RW, MAP_PRIVATE);
	EXPECT(mremap(q, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p &&
	       is_filled(p, 1, PAGE));
	EXPECT(fault_of(q, false) == MAPERR && is_filled(q + PAGE, 1, 3 * PAGE));
	EXPECT_ERROR(EFAULT, (long)mremap(q, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	EXPECT_ERROR(EINVAL, (long)mremap(p + 1, PAGE, PAGE, 0));
	EXPECT_ERROR(EINVAL, (long)mremap(p, PAGE, 0, 0));
	EXPECT_ERROR(EINVAL, syscall(SYS_mremap, p, PAGE, SIZE_MAX, MREMAP_MAYMOVE, NULL));
	EXPECT_ERROR(EINVAL, syscall(SYS_mremap, p, PAGE, PAGE, 8, NULL)); /* no flag */
	/* A smaller size gives up the pages behind it, other mappings and holes included. */
	p = map_memory(4 * PAGE, RW, MAP_PRIVATE);
	EXPECT(!mprotect(p + PAGE, PAGE, PROT_READ) && !munmap(p + 2 * PAGE, PAGE));
	EXPECT(mremap(p, 4 * PAGE, PAGE, 0) == p && !fault_of(p, true));
	EXPECT(fault_of(p + PAGE, false) == MAPERR && fault_of(p + 3 * PAGE, false) == MAPERR);
}

/* An old size of 0 maps shared memory a second time. */
static void mapped_again(void)
{
	int fd = make_file();
	char *p = mmap(NULL, 2 * PAGE, RW, MAP_SHARED, fd, 0), *q, *r;
	char *own = map_memory(2 * PAGE, RW, MAP_PRIVATE);
	char *shared = map_memory(2 * PAGE, RW, MAP_SHARED);

	EXPECT(p != MAP_FAILED);
	q = mremap(p + PAGE, 0, PAGE, MREMAP_MAYMOVE);
	r = mremap(p, 0, 3 * PAGE, MREMAP_MAYMOVE);
	EXPECT(q != MAP_FAILED && r != MAP_FAILED && q != p + PAGE && r != p);
	q[0] = 'q';
	EXPECT(p[PAGE] == 'q' && r[PAGE] == 'q' && r[2 * PAGE] == 'c');
	EXPECT(mremap(p, 0, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, own) == own && own[0] == 'a');
	q = mremap(shared, 0, PAGE, MREMAP_MAYMOVE);
	EXPECT(q != MAP_FAILED);
	shared[0] = 's';
	EXPECT(q[0] == 's');
	EXPECT_ERROR(EINVAL, (long)mremap(own + PAGE, 0, PAGE, MREMAP_MAYMOVE));
	EXPECT_ERROR(ENOMEM, (long)mremap(p, 0, PAGE, 0));
	EXPECT_ERROR(EINVAL, (long)mremap(p, 0, 0, MREMAP_MAYMOVE));
	EXPECT_ERROR(EFAULT, (long)mremap((void *)PAGE, 0, PAGE, MREMAP_MAYMOVE));
}

static void advice(void)
{
	char *p = map_memory(64 * PAGE, RW, MAP_PRIVATE), *q;
	unsigned char there[64];
	long before;

	EXPECT(!mincore(p, 64 * PAGE, there) && !memchr(there, 1, 64));
	memset(p + PAGE, 1, PAGE);
	EXPECT(!mincore(p, 64 * PAGE, there) && !there[0] && there[1] && !there[2]);
	EXPECT(!madvise(p, 64 * PAGE, MADV_DONTNEED) && p[PAGE] == 0);
	EXPECT(!madvise(p, 64 * PAGE, MADV_SEQUENTIAL) && !madvise(p, 64 * PAGE, MADV_WILLNEED));
	EXPECT_ERROR(EINVAL, madvise(p, PAGE, 77));
	EXPECT_ERROR(EINVAL, madvise(p + 1, PAGE, MADV_DONTNEED));
	EXPECT(!mlock(p, 64 * PAGE) && !munlock(p, 64 * PAGE));
	EXPECT(!mlockall(MCL_CURRENT) && !munlockall());
	p = map_memory(256 * PAGE, RW, MAP_PRIVATE | MAP_POPULATE);
	before = faults();
	memset(p, 1, 256 * PAGE);
	EXPECT(faults() - before < 16);
	q = map_memory(64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_POPULATE);
	EXPECT(!mincore(q, 64 * PAGE, there) && !memchr(there, 0, 64));
	EXPECT(!munmap(p + PAGE, PAGE));
	EXPECT_ERROR(ENOMEM, madvise(p, 4 * PAGE, MADV_DONTNEED));
	EXPECT(p[0] == 0 && p[2 * PAGE] == 0); /* a hole does not spare the rest */
	EXPECT_ERROR(ENOMEM, mlock(p, 4 * PAGE));
	EXPECT_ERROR(ENOMEM, mincore(p, 4 * PAGE, there));
}

/* System calls see memory as the program does. */
static void system_calls(void)
{
	char *p = map_memory(3 * PAGE, RW, MAP_PRIVATE);
	int fd = make_file(), fds[2];

	EXPECT(!pipe(fds));
	EXPECT(!mprotect(p + PAGE, PAGE, PROT_READ) && !mprotect(p + 2 * PAGE, PAGE, PROT_NONE));
	EXPECT_ERROR(EFAULT, pread(fd, p + PAGE, 16, 0));
	EXPECT_ERROR(EFAULT, pread(fd, p + 2 * PAGE, 16, 0));
	EXPECT_ERROR(EFAULT, write(fds[1], p + 2 * PAGE, 16));
	EXPECT(write(fds[1], p + PAGE, 16) == 16); /* never touched, and there */
	EXPECT(pread(fd, p + PAGE - 8, 16, 0) == 8 || errno == EFAULT);
	EXPECT(pread(fd, p, 16, 0) == 16 && is_filled(p, 'a', 16));
}

static void end(void *unused)
{
	(void)unused;
}

/* A page with PROT_WRITE alone is readable, also while a child or a file shares it. */
static void write_only(void)
{
	char *p = map_memory(PAGE, RW, MAP_PRIVATE), *q, *r;
	int fd = make_file(), fds[2];

	alarm(20);
	q = mmap(NULL, PAGE, PROT_WRITE, MAP_PRIVATE, fd, 0);
	r = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	EXPECT(q != MAP_FAILED && r != MAP_FAILED && r[1] == 'a' && !pipe(fds));
	p[1] = 'p';
	await_child(spawn(end, NULL));
	EXPECT(!mprotect(p, PAGE, PROT_WRITE) && !mprotect(r, PAGE, PROT_WRITE));
	EXPECT(*(volatile char *)(p + 1) == 'p' && *(volatile char *)(q + 1) == 'a');
	EXPECT(*(volatile char *)(r + 1) == 'a');
	EXPECT(write(fds[1], p, 16) == 16 && write(fds[1], q, 16) == 16);
	p[1] = q[1] = r[1] = 'x';
	EXPECT(*(volatile char *)(p + 1) == 'x' && *(volatile char *)(q + 1) == 'x');
}

const struct check map_tests[] = {
	{ "write-only", write_only },
	{ "anonymous", anonymous },
	{ "placement", placement },
	{ "protection", protection },
	{ "file-private", file_private },
	{ "file-shared", file_shared },
	{ "file-shorter", file_made_shorter },
	{ "file-shorter-forks", file_made_shorter_in_forks },
	{ "file-touched-while-cut", file_touched_while_cut },
	{ "flags-are-known", flags_are_known },
	{ "refused-advice", refused_advice },
	{ "moving", moving },
	{ "mapped-again", mapped_again },
	{ "advice", advice },
	{ "faults-are-counted", faults_are_counted },
	{ "system-calls", system_calls },
	{ 0 },
};
