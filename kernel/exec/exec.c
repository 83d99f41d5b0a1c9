/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building the address space of a new program: finding the file to load through #! lines, copying
 * argv and envp, mapping the ELF objects (elf.c), and laying out the first stack page.
 *
 * Nothing of the caller changes until exec_commit(), so every error is simply returned. The
 * argument strings are copied once, in their final order, into fresh frames that then become the
 * top of the new stack as they are:
 *
 *	USER_END        argv strings, envp strings, path, platform; page aligned
 *	below           argc, argv[], NULL, envp[], NULL, auxv[], random bytes; rsp is at argc
 *
 * Locking: none of its own. Until the new mm is committed, nobody but mm_unmap_behind() finds it.
 * Reference: System V ABI AMD64, 3.4.1 (initial stack); limits and errors as execve(2) on Linux
 * 6.1.
 */
#include "kernel/contract.h"
#include "kernel/exec/exec.h"

#include "kernel/exec/elf.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mman.h"
#include "kernel/mm/vma.h"
#include "kernel/task/exit.h"
#include "kernel/task/signal.h"
#include "kernel/time/itimer.h"
#include "lib/errno.h"
#include "lib/string.h"

#define HEADER_SIZE   256 /* read to tell a script from a program: Linux's BINPRM_BUF_SIZE */
#define MAX_SCRIPTS   4	  /* scripts whose interpreter is a script */
#define MAX_ARG_SIZE  (128 * 1024)  /* one string */
#define MAX_ARGS_SIZE (2048 * 1024) /* all, with pointers: 1/4 of the stack limit */
#define STACK_RESERVE (128 * 1024)  /* mapped below the arguments from the start */

/* Strings on their way into a new address space. */
struct args {
	bool from_kernel; /* argv and envp are kernel memory (the first program) */
	unsigned argc, envc;
	unsigned nr; /* strings so far */
	u32 *offset; /* of each string in the stream */
	u64 *page;   /* frames of the stream; 0 once they belong to the new address space */
	size_t nr_pages, used; /* used: bytes */
};

struct exec {
	struct file *file;
	u8 header[HEADER_SIZE];
	size_t header_len;
	char line[MAX_SCRIPTS][HEADER_SIZE]; /* each script's interpreter and argument */
	const char
		*prefix[2 *
			MAX_SCRIPTS]; /* arguments that go before the script's path, last first */
	unsigned nr_prefix;
	struct args args;
	struct elf elf;
	struct mm *mm;
	u64 vdso; /* its address; 0: there is none */
	struct cred cred;
	bool unreadable; /* so nobody shall read it in memory, either */
	bool secure;	 /* see exec.h */
};

/* --- the file ----------------------------------------------------------------- */

static int open_file(struct exec *e, const char *path)
{
	int err = 0;
	struct file *f = file_open_exec(path, &err);

	if (!f)
		return err;
	if (e->file)
		file_put(e->file);
	e->file = f;
	e->unreadable |= inode_permission(f->inode, MAY_READ) != 0;
	err = file_begin_exec(f);
	if (err)
		return err;
	long n = file_read_kernel(f, e->header, HEADER_SIZE, 0);

	e->header_len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? (int)n : 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * Split "#! interpreter [one argument]" in e->header into @line; both end with NUL, *@arg is NULL
 * if there is none. False: not a script.
 */
static bool parse_script(const struct exec *e, char line[static HEADER_SIZE], const char **arg)
{
	size_t len = 0, start = 2, stop;

	if (e->header_len < 3 || memcmp(e->header, "#!", 2))
		return false;
	while (len < e->header_len && e->header[len] != '\n')
		len++;
	if (len == HEADER_SIZE)
		return false;
	memcpy(line, e->header, len);
	while (len > start && is_blank(line[len - 1]))
		len--;
	line[len] = '\0';
	while (is_blank(line[start]))
		start++;
	for (stop = start; line[stop] && !is_blank(line[stop]); stop++)
		;
	*arg = NULL;
	if (line[stop]) {
		line[stop++] = '\0';
		while (is_blank(line[stop]))
			stop++;
		*arg = line + stop;
	}
	memmove(line, line + start, HEADER_SIZE - start);
	if (*arg)
		*arg -= start;
	return line[0];
}

/* Open @path or, while it is a script, its interpreter. */
static int open_program(struct exec *e, const char *path)
{
	for (unsigned depth = 0;; depth++) {
		const char *arg;
		int err = open_file(e, path);

		if (err || e->header_len < 2 || memcmp(e->header, "#!", 2))
			return err;
		if (depth == MAX_SCRIPTS)
			return -ELOOP;
		if (!parse_script(e, e->line[depth], &arg))
			return -ENOEXEC;
		debug_assert(e->nr_prefix + 2 <= ARRAY_SIZE(e->prefix));
		if (arg)
			e->prefix[e->nr_prefix++] = arg;
		path = e->prefix[e->nr_prefix++] = e->line[depth];
	}
}

/* --- the arguments ------------------------------------------------------------ */

/* Read entry @i of a NULL-terminated list of strings, from user or kernel memory. */
static int get_pointer(const struct args *a, char *const *list, unsigned i, const char **string)
{
	*string = NULL;
	if (!list)
		return 0;
	if (a->from_kernel) {
		*string = list[i];
		return 0;
	}
	return arch_copy_from_user(string, list + i, sizeof(*string)) ? -EFAULT : 0;
}

static int count_strings(const struct args *a, char *const *list, unsigned *nr)
{
	for (*nr = 0; *nr < MAX_ARGS_SIZE / sizeof(char *); ++*nr) {
		const char *string;
		int err = get_pointer(a, list, *nr, &string);

		if (err || !string)
			return err;
	}
	return -E2BIG;
}

/*
 * Returns where the next byte of the stream goes, and in *room how much fits there. NULL: *err is
 * set.
 */
static char *stream_room(struct args *a, size_t *room, int *err)
{
	size_t offset = a->used % PAGE_SIZE, nr = a->used >> PAGE_SHIFT;

	debug_assert(nr <= a->nr_pages);
	if (a->used + (a->argc + a->envc) * sizeof(u64) >= MAX_ARGS_SIZE) {
		*err = -E2BIG;
		return NULL;
	}
	if (nr == a->nr_pages) {
		u64 pa = page_alloc_zeroed();

		if (!pa) {
			*err = -ENOMEM;
			return NULL;
		}
		a->page[a->nr_pages++] = pa;
	}
	*room = PAGE_SIZE - offset;
	return (char *)phys_to_virt(a->page[nr]) + offset;
}

/* Returns the length copied (@room if the string goes on) or -EFAULT. */
static long copy_piece(char *to, const char *from, size_t room, bool from_kernel)
{
	if (!from_kernel)
		return arch_strncpy_from_user(to, from, room);
	size_t len = strnlen(from, room);

	memcpy(to, from, len);
	return (long)len;
}

/* Append @string with its NUL. */
static int put_string(struct args *a, const char *string, bool from_kernel)
{
	size_t start = a->used, room = 0;
	long len;
	int err = 0;

	do {
		char *to = stream_room(a, &room, &err);

		if (!to)
			return err;
		len = copy_piece(to, string, room, from_kernel);
		if (len < 0)
			return (int)len;
		string += len;
		a->used += (size_t)len;
		if (a->used - start >= MAX_ARG_SIZE)
			return -E2BIG;
	} while ((size_t)len == room);
	a->used++; /* the page was zeroed: there is the NUL */
	debug_assert(a->used <= a->nr_pages << PAGE_SHIFT);
	a->offset[a->nr++] = (u32)start;
	return 0;
}

static int put_list(struct args *a, char *const *list, unsigned first, unsigned nr)
{
	debug_assert(first <= nr);
	for (unsigned i = first; i < nr; i++) {
		const char *string;
		int err = get_pointer(a, list, i, &string);

		if (!err)
			err = string ? put_string(a, string, a->from_kernel) : -EFAULT;
		if (err)
			return err;
	}
	return 0;
}

/* A script's argv[0] gives way to its interpreter, argument and path; no argv at all becomes "". */
static int put_argv(struct exec *e, const char *path, char *const *argv)
{
	struct args *a = &e->args;
	unsigned given = a->argc;
	int err = 0;

	for (unsigned i = e->nr_prefix; i-- > 0 && !err;)
		err = put_string(a, e->prefix[i], true);
	if (!err && e->nr_prefix)
		err = put_string(a, path, true);
	if (!err && !given && !e->nr_prefix)
		err = put_string(a, "", true);
	if (!err)
		err = put_list(a, argv, e->nr_prefix ? 1 : 0, given);
	a->argc = a->nr;
	return err;
}

#define NR_EXTRA 2 /* strings after envp: path, platform */

static int copy_args(struct exec *e, const char *path, char *const *argv, char *const *envp)
{
	struct args *a = &e->args;
	int err = count_strings(a, argv, &a->argc);

	if (!err)
		err = count_strings(a, envp, &a->envc);
	if (err)
		return err;
	size_t nr = a->argc + a->envc + ARRAY_SIZE(e->prefix) + 1 + NR_EXTRA;

	a->offset = kmalloc(nr * sizeof(*a->offset));
	a->page = kmalloc((MAX_ARGS_SIZE >> PAGE_SHIFT) * sizeof(*a->page));
	if (!a->offset || !a->page)
		return -ENOMEM;
	err = put_argv(e, path, argv);
	if (!err)
		err = put_list(a, envp, 0, a->envc);
	if (!err)
		err = put_string(a, path, true);
	if (!err)
		err = put_string(a, ARCH_PLATFORM, true);
	debug_assert(err || a->nr == a->argc + a->envc + 2);
	return err;
}

/* --- the stack ---------------------------------------------------------------- */

#define NR_AUXV 21
STATIC_ASSERT(2 * NR_AUXV <= ARRAY_SIZE(((struct mm *)0)->auxv), "the mm keeps a copy");

/* clang-format off */
enum auxv_type {
	AT_NULL, AT_IGNORE, AT_PHDR = 3, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_BASE, AT_FLAGS, AT_ENTRY,
	AT_UID = 11, AT_EUID, AT_GID, AT_EGID, AT_PLATFORM, AT_HWCAP, AT_CLKTCK,
	AT_SECURE = 23, AT_RANDOM = 25, AT_HWCAP2, AT_EXECFN = 31, AT_SYSINFO_EHDR = 33,
	AT_MINSIGSTKSZ = 51,
};
/* clang-format on */

/* The first stack, word by word. */
struct stack {
	u64 strings; /* address of the stream of strings */
	u64 sp;
	u64 *word;
	size_t nr;
};

static void put_pointers(struct stack *s, const struct args *a, unsigned first, unsigned nr)
{
	debug_assert(first + nr <= a->nr);
	for (unsigned i = first; i < first + nr; i++)
		s->word[s->nr++] = s->strings + a->offset[i];
	s->word[s->nr++] = 0;
}

static void put_auxv(struct stack *s, const struct exec *e, u64 random)
{
	const struct args *a = &e->args;
	const struct elf *elf = &e->elf;
	const struct elf_object *program = &elf->program;
	const u32 *extra = a->offset + a->argc + a->envc;
	const u64 auxv[NR_AUXV][2] = {
		{ e->vdso ? AT_SYSINFO_EHDR : AT_IGNORE, e->vdso },
		{ AT_PHDR, elf->phdr },
		{ AT_PHENT, sizeof(struct elf_phdr) },
		{ AT_PHNUM, program->header.phnum },
		{ AT_PAGESZ, PAGE_SIZE },
		{ AT_BASE, elf->interp.bias },
		{ AT_FLAGS, 0 },
		{ AT_ENTRY, program->header.entry + program->bias },
		{ AT_UID, e->cred.user.real },
		{ AT_EUID, e->cred.user.effective },
		{ AT_GID, e->cred.group.real },
		{ AT_EGID, e->cred.group.effective },
		{ AT_PLATFORM, s->strings + extra[1] },
		{ AT_HWCAP, arch_hwcap() },
		{ AT_CLKTCK, 100 },
		{ AT_SECURE, e->secure },
		{ AT_RANDOM, random },
		{ AT_HWCAP2, 0 },
		{ AT_EXECFN, s->strings + extra[0] },
		{ AT_MINSIGSTKSZ, ARCH_MIN_SIGSTACK },
		{ AT_NULL, 0 },
	};

	memcpy(s->word + s->nr, auxv, sizeof(auxv));
	memcpy(e->mm->auxv, auxv, sizeof(auxv));
	s->nr += 2 * NR_AUXV;
}

/* Give the frames of the strings to the new address space. 0 or -ENOMEM. */
static long map_strings(struct mm *mm, const struct stack *s, struct args *a)
{
	long err = 0;

	debug_assert(mm != current->mm);
	mutex_lock(&mm->lock);
	for (size_t i = 0; i < a->nr_pages; i++) {
		err = arch_pt_map(mm->pt_root, s->strings + (i << PAGE_SHIFT), a->page[i],
				  PT_READ | PT_WRITE | PT_USER);
		if (err)
			break;
		a->page[i] = 0; /* the mapping's now */
		mm->rss++;
	}
	mutex_unlock(&mm->lock);
	return err;
}

/* Map the stack: the strings' frames at its top, room below. */
static int map_stack(struct exec *e, const struct stack *s)
{
	u64 start = ALIGN_DOWN(s->sp, PAGE_SIZE) - STACK_RESERVE;
	long err = mm_map(e->mm, start, USER_END - start, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN, NULL, 0);

	return (int)(err < 0 ? err : map_strings(e->mm, s, &e->args));
}

static void note_strings(struct mm *mm, const struct stack *s, const struct args *a)
{
	const u32 *offset = a->offset;

	debug_assert(a->nr >= a->argc + a->envc);
	mm->stack_start = s->sp;
	mm->arg_start = s->strings + offset[0];
	mm->arg_end = mm->env_start = s->strings + offset[a->argc];
	mm->env_end = s->strings + offset[a->argc + a->envc];
}

static int build_stack(struct exec *e, u64 *sp)
{
	struct args *a = &e->args;
	size_t nr_words = 1 + a->argc + 1 + a->envc + 1 + 2 * NR_AUXV;
	size_t size = nr_words * sizeof(u64) + 16; /* with AT_RANDOM's bytes */
	struct stack s = {
		.strings = USER_END - a->nr_pages * PAGE_SIZE,
		.word = kmalloc(size),
	};

	if (!s.word)
		return -ENOMEM;
	*sp = s.sp = ALIGN_DOWN(s.strings - size, 16ull);
	s.word[s.nr++] = a->argc;
	put_pointers(&s, a, 0, a->argc);
	put_pointers(&s, a, a->argc, a->envc);
	put_auxv(&s, e, s.sp + nr_words * sizeof(u64));
	debug_assert(s.nr == nr_words);
	random_bytes(s.word + s.nr, 16);
	note_strings(e->mm, &s, a);
	int err = map_stack(e, &s);

	if (!err && mm_access(e->mm, s.sp, s.word, size, true) != size)
		err = -ENOMEM;
	kfree(s.word);
	return err;
}

static int map_vdso(struct exec *e)
{
	long addr = vdso_map(e->mm);

	e->vdso = addr > 0 ? (u64)addr : 0;
	return addr < 0 ? (int)addr : 0;
}

/* --- all together ------------------------------------------------------------- */

static int load(struct exec *e, const char *path, char *const *argv, char *const *envp,
		struct exec_image *image)
{
	int err = open_program(e, path);

	if (!err)
		err = copy_args(e, path, argv, envp);
	if (!err)
		err = elf_open(&e->elf, e->file, e->header, e->header_len);
	if (err)
		return err;
	e->cred = current->cred;
	e->secure = file_exec_cred(e->file, &e->cred);
	e->mm = mm_create();
	if (!e->mm)
		return -ENOMEM;
	e->mm->secret = e->unreadable || e->secure || e->cred.user.real != e->cred.user.effective ||
			e->cred.group.real != e->cred.group.effective;
	err = elf_map(&e->elf, e->mm);
	if (!err)
		err = map_vdso(e);
	if (!err)
		err = build_stack(e, &image->sp);
	image->fatal = err != 0;
	image->entry = e->elf.start;
	return err;
}

static void free_args(struct args *a)
{
	for (size_t i = 0; i < a->nr_pages; i++)
		if (a->page[i])
			page_put(a->page[i]);
	kfree(a->page);
	kfree(a->offset);
}

int exec_load(const char *path, char *const *argv, char *const *envp, bool from_kernel,
	      struct exec_image *image)
{
	struct exec *e = kzalloc(sizeof(*e));

	debug_assert(may_sleep());
	image->fatal = false;
	if (!e)
		return -ENOMEM;
	e->args.from_kernel = from_kernel;
	int err = load(e, path, argv, envp, image);

	free_args(&e->args);
	elf_close(&e->elf);
	if (!err) {
		const char *slash = strrchr(path, '/');

		str_copy(image->comm, slash ? slash + 1 : path, sizeof(image->comm));
		image->mm = e->mm;
		image->exe = e->file;
		image->cred = e->cred;
		image->secure = e->secure;
	} else {
		if (e->mm)
			mm_put(e->mm);
		if (e->file)
			file_put(e->file);
	}
	kfree(e);
	return err;
}

/*
 * Replace the current process's address space and its file by those of @image. The signals that the
 * old program chose, for its end and its parent's, are not the new one's.
 */
static void switch_image(const struct exec_image *image)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	struct mm *old_mm = t->mm;
	struct file *old_exe = p->exe;

	debug_assert(image->mm && image->exe);
	spin_lock(&proc_tree_lock);
	if (old_mm)
		p->exited.max_rss = max(p->exited.max_rss, mm_peak_rss(old_mm));
	t->mm = p->mm = image->mm;
	p->exe = image->exe;
	p->nr_execs++; /* before anybody can learn of the exec from a closed descriptor */
	p->exit_signal = SIGCHLD;
	if (image->secure)
		t->parent_death_signal = 0;
	arch_pt_load(image->mm->pt_root);
	spin_unlock(&proc_tree_lock);
	if (old_mm)
		mm_put(old_mm);
	if (old_exe)
		file_put(old_exe);
}

void exec_commit(struct exec_image *image)
{
	struct thread *t = current;
	struct proc *p = t->proc;

	debug_assert(may_sleep() && p->nr_threads == 1);
	thread_release_mm(t);
	switch_image(image);
	t->cred = image->cred;
	files_close_on_exec(p->files);
	signal_exec();
	posix_timers_free(p);
	thread_clear_flags(t, THREAD_FORKNOEXEC);
	thread_set_name(t, image->comm);
	arch_exec_regs(t, image->entry, image->sp);
}
