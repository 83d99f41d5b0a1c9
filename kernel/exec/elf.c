/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loading ELF64: segments become mappings of the file, so that nothing is read before it is used
 * and all processes of a program share its pages. Only the page on which initialised data ends and
 * bss begins is copied, because its tail must be zero.
 *
 * Everything has a fixed place, that of Linux without address space randomisation, so that runs
 * repeat: position-independent programs at ELF_BASE, their interpreter where mmap puts it.
 *
 * Reference: System V ABI, chapter 5 (program loading); errors as measured on Linux 6.1.
 */
#include "kernel/contract.h"
#include "kernel/exec/elf.h"

#include "kernel/fs/fs.h"
#include "kernel/mm/mm.h"
#include "kernel/mm/mman.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/string.h"

#define ELF_BASE   0x555555554000ull
#define MAX_PHDRS  128
#define MAX_INTERP 256

enum elf_type { ET_EXEC = 2, ET_DYN = 3 };
enum elf_segment { PT_LOAD_SEGMENT = 1, PT_INTERP_SEGMENT = 3, PT_PHDR_SEGMENT = 6 };
enum elf_flags { PF_X = 1, PF_W = 2, PF_R = 4 };
#define EM_X86_64 62

/* --- opening ------------------------------------------------------------------ */

static bool is_ours(const struct elf_header *h)
{
	static const u8 magic[4] = { 0x7f, 'E', 'L', 'F' };

	return !memcmp(h->magic, magic, 4) && h->class == 2 && h->data == 1 &&
	       h->machine == EM_X86_64 && (h->type == ET_EXEC || h->type == ET_DYN) &&
	       h->phentsize == sizeof(struct elf_phdr) && h->phnum && h->phnum <= MAX_PHDRS;
}

/* Can this segment be mapped at all? */
static bool is_sane(const struct elf_phdr *p)
{
	return p->filesz <= p->memsz && p->vaddr < USER_END && p->memsz < USER_END - p->vaddr &&
	       p->offset + p->filesz >= p->offset && p->vaddr % PAGE_SIZE == p->offset % PAGE_SIZE;
}

static void measure(struct elf_object *o)
{
	o->low = USER_END;
	o->align = PAGE_SIZE;
	for (unsigned i = 0; i < o->header.phnum; i++) {
		const struct elf_phdr *p = &o->phdrs[i];

		if (p->type != PT_LOAD_SEGMENT || !is_sane(p))
			continue;
		o->low = min(o->low, ALIGN_DOWN(p->vaddr, PAGE_SIZE));
		o->high = max(o->high, ALIGN_UP(p->vaddr + p->memsz, PAGE_SIZE));
		if (!(p->align & (p->align - 1)))
			o->align = max(o->align, p->align);
	}
}

/* Read the rest of an object whose file and header are known. */
static int open_object(struct elf_object *o)
{
	size_t size = o->header.phnum * sizeof(struct elf_phdr);

	debug_assert(o->file && !o->phdrs);
	if (!is_ours(&o->header))
		return -ENOEXEC;
	o->phdrs = kmalloc(size);
	if (!o->phdrs)
		return -ENOMEM;
	if (file_read_kernel(o->file, o->phdrs, size, o->header.phoff) != (long)size)
		return -ENOEXEC;
	measure(o);
	return 0;
}

static const struct elf_phdr *find_phdr(const struct elf_object *o, u32 type)
{
	for (unsigned i = 0; i < o->header.phnum; i++)
		if (o->phdrs[i].type == type)
			return &o->phdrs[i];
	return NULL;
}

static int open_interp_file(struct elf_object *o, const char *path)
{
	int err = 0;

	o->file = file_open_exec(path, &err);
	if (!o->file)
		return err;
	if (file_read_kernel(o->file, &o->header, sizeof(o->header), 0) != sizeof(o->header))
		return -ELIBBAD;
	err = open_object(o);
	/*
	 * Not ENOEXEC, which a shell takes for a script. An interpreter must be
	 * position-independent.
	 */
	return err == -ENOEXEC || (!err && o->header.type != ET_DYN) ? -ELIBBAD : err;
}

/* The program's PT_INTERP holds a path, perhaps without its NUL. */
static int open_interp(struct elf *e, const struct elf_phdr *p)
{
	char path[MAX_INTERP];

	if (p->filesz < 2 || p->filesz > MAX_INTERP)
		return -ENOEXEC;
	if (file_read_kernel(e->program.file, path, p->filesz, p->offset) != (long)p->filesz ||
	    path[p->filesz - 1])
		return -ENOEXEC;
	return open_interp_file(&e->interp, path);
}

int elf_open(struct elf *e, struct file *file, const void *header, size_t n)
{
	struct elf_object *o = &e->program;
	const struct elf_phdr *p;

	debug_assert(!o->file && !e->interp.file);
	if (n < sizeof(o->header))
		return -ENOEXEC;
	o->file = file_get(file);
	memcpy(&o->header, header, sizeof(o->header));
	int err = open_object(o);

	if (err)
		return err;
	p = find_phdr(o, PT_INTERP_SEGMENT);
	return p ? open_interp(e, p) : 0;
}

static void close_object(struct elf_object *o)
{
	kfree(o->phdrs);
	if (o->file)
		file_put(o->file);
}

void elf_close(struct elf *e)
{
	close_object(&e->program);
	close_object(&e->interp);
}

/* --- mapping ------------------------------------------------------------------ */

static unsigned prot_of(const struct elf_phdr *p)
{
	return (p->flags & PF_R ? PROT_READ : 0) | (p->flags & PF_W ? PROT_WRITE : 0) |
	       (p->flags & PF_X ? PROT_EXEC : 0);
}

/* Zero from @from to the end of its page: what the file has there belongs to something else. */
static int zero_tail(struct mm *mm, u64 from)
{
	static const char zeros[PAGE_SIZE];
	size_t n = ALIGN_UP(from, PAGE_SIZE) - from;

	debug_assert(mm != current->mm);
	return mm_access(mm, from, (void *)(uintptr_t)zeros, n, true) == n ? 0 : -EFAULT;
}

static int map_segment(const struct elf_object *o, const struct elf_phdr *p, struct mm *mm)
{
	u64 start = ALIGN_DOWN(p->vaddr, PAGE_SIZE) + o->bias;
	u64 data_end = p->vaddr + p->filesz + o->bias;
	u64 end = ALIGN_UP(p->vaddr + p->memsz + o->bias, PAGE_SIZE);
	u64 file_end = p->filesz ? ALIGN_UP(data_end, PAGE_SIZE) : start;
	unsigned prot = prot_of(p), flags = MAP_PRIVATE | MAP_FIXED;
	long err = is_sane(p) ? 0 : -EINVAL;

	if (!err && file_end > start)
		err = mm_map(mm, start, file_end - start, prot, flags, o->file,
			     ALIGN_DOWN(p->offset, PAGE_SIZE));
	if (err >= 0 && end > file_end)
		err = mm_map(mm, file_end, end - file_end, prot, flags, NULL, 0);
	if (err >= 0 && p->memsz > p->filesz && prot & PROT_WRITE && file_end > start)
		err = zero_tail(mm, data_end);
	return err < 0 ? (int)err : 0;
}

static int map_object(const struct elf_object *o, struct mm *mm)
{
	int err = o->low < o->high ? 0 : -EINVAL;

	for (unsigned i = 0; i < o->header.phnum && !err; i++)
		if (o->phdrs[i].type == PT_LOAD_SEGMENT)
			err = map_segment(o, &o->phdrs[i], mm);
	return err;
}

/*
 * Place the object where mmap likes. The whole range is reserved first, since the segments must
 * keep their distances.
 */
static int map_interp(struct elf_object *o, struct mm *mm)
{
	u64 size = o->low < o->high ? o->high - o->low : 0;
	long base = mm_map(mm, 0, size, PROT_NONE, MAP_PRIVATE, NULL, 0);

	debug_assert(o->header.type == ET_DYN);
	if (base < 0)
		return (int)base;
	o->bias = (u64)base - o->low;
	return map_object(o, mm);
}

/* Note what /proc shows of the program, and where its heap begins. */
static void note_layout(const struct elf_object *o, struct mm *mm)
{
	debug_assert(o->low < o->high);
	mm->code_start = UINT64_MAX;
	for (unsigned i = 0; i < o->header.phnum; i++) {
		const struct elf_phdr *p = &o->phdrs[i];
		u64 start = p->vaddr + o->bias, end = start + p->filesz;

		if (p->type != PT_LOAD_SEGMENT)
			continue;
		mm->code_start = min(mm->code_start, start);
		mm->data_start = start; /* of the last: data follows code */
		mm->data_end = max(mm->data_end, end);
		if (p->flags & PF_X)
			mm->code_end = max(mm->code_end, end);
	}
	mm->brk_start = mm->brk = o->high + o->bias;
}

/*
 * Returns the address of the program headers in memory: from PT_PHDR, or in the segment that holds
 * them.
 */
static u64 phdr_address(const struct elf_object *o)
{
	const struct elf_phdr *phdr = find_phdr(o, PT_PHDR_SEGMENT);
	u64 phoff = o->header.phoff;

	if (phdr)
		return phdr->vaddr + o->bias;
	for (unsigned i = 0; i < o->header.phnum; i++) {
		const struct elf_phdr *p = &o->phdrs[i];

		if (p->type == PT_LOAD_SEGMENT && p->offset <= phoff &&
		    phoff - p->offset < p->filesz)
			return phoff - p->offset + p->vaddr + o->bias;
	}
	return 0;
}

int elf_map(struct elf *e, struct mm *mm)
{
	struct elf_object *o = &e->program;
	int err;

	debug_assert(mm != current->mm);
	if (o->header.type == ET_DYN)
		o->bias = ALIGN_DOWN(ELF_BASE, o->align) - o->low;
	err = map_object(o, mm);
	if (err)
		return err;
	note_layout(o, mm);
	e->phdr = phdr_address(o);
	e->start = o->header.entry + o->bias;
	if (!e->interp.file)
		return 0;
	err = map_interp(&e->interp, mm);
	e->start = e->interp.header.entry + e->interp.bias;
	return err;
}
