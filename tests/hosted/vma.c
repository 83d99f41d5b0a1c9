/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An address space of sixteen pages and a stack (kernel/mm/vma.c, map.c, limit.c and fault.c), and
 * files of tmpfs.
 */
#include "kernel/exec/exec.h"
#include "kernel/fs/fs.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/proc.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "vma.h"

static const char *const op_names[] = { "map",	   "hint",     "fixed",	 "noreplace", "unmap",
					"protect", "dontfork", "dofork", "resize",    "grow",
					"move",	   "again",    "brk",	 "read",      "write",
					"stack",   "show",     NULL };

struct space {
	struct mm mm;
	struct proc proc;
	struct file *file, *read_only;
};

bool vdso_is_vvar(const struct vma *v)
{
	(void)v;
	return false;
}

/* --- the object -------------------------------------------------------------------------- */

static void destroy(void *object)
{
	struct space *o = object;

	o->mm.refs = 1;
	mm_zap(&o->mm, va(0), va(STACK + STACK_PAGES));
	vma_free_all(&o->mm);
	table_end();
	if (o->read_only)
		file_put(o->read_only);
	if (o->file)
		file_put(o->file);
	free(o);
}

static bool fill(struct space *o)
{
	int err;

	o->file = file_anonymous(FILE_PAGES * PAGE_SIZE);
	for (unsigned i = 0; i < FILE_PAGES && o->file; i++) {
		u64 pa = o->file->ops->map_page(o->file, i * PAGE_SIZE);

		if (!is_page(pa))
			return false;
		*(u8 *)pa = (u8)(100 + i);
		page_put(pa);
	}
	o->read_only = o->file ? file_create(o->file->inode, NULL, O_RDONLY, &err) : NULL;
	return o->read_only &&
	       mm_map(&o->mm, va(STACK + STACK_PAGES - 1), PAGE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_FIXED | MAP_GROWSDOWN, NULL, 0) > 0;
}

static void *create(unsigned nr_threads)
{
	struct space *o = calloc(1, sizeof(*o));

	(void)nr_threads;
	vma_init();
	table_begin(MAP_MIN);
	o->mm = (struct mm){ .refs = 2, .mmap_base = va(PLACED), .brk_start = va(0), .brk = va(0) };
	mutex_init(&o->mm.lock, "mm");
	vma_tree_init(&o->mm);
	for (unsigned i = 0; i < NR_RLIMITS; i++)
		o->proc.rlimit[i].cur = RLIM_INFINITY;
	/* A byte less than one page more. */
	o->proc.rlimit[RLIMIT_AS].cur = (MOST_PAGES + 1) * PAGE_SIZE - 1;
	o->proc.rlimit[RLIMIT_DATA].cur = (MOST_DATA + 1) * PAGE_SIZE - 1;
	o->proc.rlimit[RLIMIT_STACK].cur = (MOST_STACK + 1) * PAGE_SIZE - 1;
	current->proc = &o->proc;
	if (fill(o))
		return o;
	destroy(o);
	return NULL;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_MAP... OP_SHOW] = { 0, 64 * 64 - 1 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = { OP_MAP,	OP_MAP,	      OP_HINT,	 OP_FIXED,  OP_FIXED,
				    OP_FIXED,	OP_NOREPLACE, OP_UNMAP,	 OP_UNMAP,  OP_PROTECT,
				    OP_PROTECT, OP_DONTFORK,  OP_DOFORK, OP_RESIZE, OP_GROW,
				    OP_GROW,	OP_MOVE,      OP_MOVE,	 OP_AGAIN,  OP_BRK,
				    OP_READ,	OP_READ,      OP_WRITE,	 OP_WRITE,  OP_STACK,
				    OP_SHOW,	OP_SHOW };

	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))],
			     .n = prng_below(random, 64 * 64) };

	(void)one;
	/* The kernel places from the top: more calls than others are for what is there. */
	if (prng_below(random, 2))
		call.n += PLACED - 4 + prng_below(random, 4) - first_of(&call);
	return call;
}

static long map(struct space *o, const struct call *call)
{
	static const unsigned placed[] = { 0, 0, MAP_FIXED, MAP_FIXED_NOREPLACE };
	enum behind behind = behind_of(call);
	bool shared = behind == SHARED_ANON || behind == SHARED || behind == SHARED_RO;
	struct file *f = behind >= PRIVATE_RO ? o->read_only : behind >= PRIVATE ? o->file : NULL;
	long addr = mm_map(&o->mm, call->op == OP_MAP ? 0 : va(first_of(call)),
			   (end_of(call) - first_of(call)) * PAGE_SIZE, prot_of(call),
			   placed[call->op] | (shared ? MAP_SHARED : MAP_PRIVATE), f,
			   offset_of(call) * PAGE_SIZE);

	return addr < 0 ? addr : (addr - (long)MAP_MIN) / (long)PAGE_SIZE;
}

static long remap(struct space *o, const struct call *call)
{
	static const unsigned flags[] = { 0, MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_FIXED,
					  MREMAP_MAYMOVE };
	unsigned old = call->op == OP_AGAIN ? 0 : end_of(call) - first_of(call);
	long addr =
		mm_remap(&o->mm, va(first_of(call)), old * PAGE_SIZE, new_size_of(call) * PAGE_SIZE,
			 flags[call->op - OP_RESIZE], va(target_of(call)));

	return addr < 0 ? addr : (addr - (long)MAP_MIN) / (long)PAGE_SIZE;
}

static long touch(struct mm *mm, unsigned page, bool write, unsigned id)
{
	long result;
	u64 pa;
	unsigned prot;

	mutex_lock(&mm->lock);
	/* Without memory the fault is taken again, as after oom_kill(). */
	do
		result = mm_fault(mm, va(page), write ? PT_WRITE : PT_READ);
	while (result == FAULT_OOM);
	if (result != FAULT_OK) {
		result = NO_PAGE - result;
	} else if (arch_pt_lookup(mm->pt_root, va(page), &pa, &prot)) {
		if (write && !(prot & PT_WRITE))
			panic("a page that was written to is read-only");
		result = *(u8 *)pa;
		if (write)
			*(u8 *)pa = (u8)(id % 64 + 1);
	}
	mutex_unlock(&mm->lock);
	return result;
}

static long set(struct space *o, const struct call *call)
{
	u64 start = va(first_of(call)), end = va(end_of(call));
	long err;

	if (call->op == OP_PROTECT)
		err = mm_protect(&o->mm, start, end - start, prot_of(call));
	else
		err = mm_set_flags(&o->mm, start, end, call->op == OP_DONTFORK ? VMA_DONTFORK : 0,
				   call->op == OP_DOFORK ? VMA_DONTFORK : 0);
	return err == -ENOMEM ? HALF : err;
}

static void show(struct mm *mm, struct answer *a)
{
	mutex_lock(&mm->lock);
	for (struct vma *v = vma_first(mm); v; v = vma_next(v), a->value++)
		for (u64 at = v->start; at < v->end; at += PAGE_SIZE) {
			a->digest = mix(a->digest, at >> PAGE_SHIFT);
			a->digest = mix(a->digest, v->prot + 8 * v->flags);
			if (v->file)
				a->digest = mix(a->digest, v->offset + (at - v->start));
		}
	if (mm->nr_vmas != a->value)
		panic("%u vmas are counted, and %ld are there", mm->nr_vmas, a->value);
	mutex_unlock(&mm->lock);
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct space *o = object;
	struct answer answer = { 0 };
	u64 start = va(first_of(call));

	(void)nr;
	current->proc = &o->proc;
	current->mm = &o->mm;
	if (call->op <= OP_NOREPLACE)
		answer.value = map(o, call);
	else if (call->op == OP_UNMAP)
		answer.value = mm_unmap(&o->mm, start, va(end_of(call)) - start);
	else if (call->op <= OP_DOFORK)
		answer.value = set(o, call);
	else if (call->op <= OP_AGAIN)
		answer.value = remap(o, call);
	else if (call->op == OP_BRK)
		answer.value = (long)((mm_brk(&o->mm, va(call->n % 6)) - va(0)) / PAGE_SIZE);
	else if (call->op == OP_SHOW)
		show(&o->mm, &answer);
	else if (call->op == OP_STACK)
		answer.value = touch(&o->mm, STACK + call->n % STACK_PAGES, true, id);
	else
		answer.value = touch(&o->mm, first_of(call), call->op == OP_WRITE, id);
	return answer;
}

/* The last call makes one page too many writable: RLIMIT_DATA. */
static const char *const known[] = {
	"fixed:112 fixed:116 fixed:120 fixed:108 protect:48 protect:52 protect:56 protect:44",
	NULL,
};

DEFINE_OBJECT_BESIDE(vma, "$each(((struct space *)object)->mm.vmas, \"struct vma.node\")",
		     .known = known, .last_way = PAGES);
