/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory: physical pages, small objects, kernel stacks and user address spaces.
 */
#pragma once

#include "kernel/arch.h"
#include "kernel/sync.h"
#include "lib/list.h"
#include "lib/rbtree.h"

#define PAGE_SHIFT 12
#define PAGE_SIZE  4096ul

struct file;
struct inode;

/* --- physical pages (page.c): buddy allocator; each frame has a reference count --- */
void page_init(void);
/*
 * 2^@order contiguous frames, aligned to their size, with one reference each; physical address or
 * 0. Any context.
 */
u64 page_alloc(unsigned order);
/*
 * Allocate one frame on behalf of a program, which leaves the kernel its reserve. The second
 * returns it zeroed.
 */
u64 page_alloc_user(void);
u64 page_alloc_zeroed(void);
void page_get(u64 pa);
void page_put(u64 pa); /* frees the frame at 0 references */
u32 page_refs(u64 pa);
void page_free(u64 pa, unsigned order); /* a block whose frames all have one reference */
/* The whole pages of memory that nobody uses any more, and that was kept from page_init(). */
void page_give(u64 base, u64 size);
/* Is so little memory left for programs that no new one should start? */
bool page_is_short(void);
/* Is twice as much left, but no more? See account_may_hoard(). */
bool page_is_low(void);
u64 page_nr_total(void);
u64 page_nr_free(void);

/*
 * Frames that live as long as their first one, like the tables of an address space: allocate a
 * zeroed one into the chain of @first (any frame that nobody shares starts a chain); free the whole
 * chain. The owner serialises.
 */
u64 page_chain_alloc(u64 first);
void page_chain_free(u64 first);
u64 page_chain_length(u64 first); /* in frames, a moment ago */

/* --- small objects (slab.c) --------------------------------------------------- */
void slab_init(void);
/*
 * Allocate; NULL when memory is short. Any context. Aligned to 16 bytes, from 128 bytes on to 64.
 */
void *kmalloc(size_t size);
void *kzalloc(size_t size);
void kfree(void *p); /* NULL is fine */
struct kmem_cache;
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align);
/* The text of /proc/slabinfo. */
size_t slab_print(char *buf, size_t size);
/* Page faults of programs since boot. */
u64 mm_nr_faults(void);
void *kmem_cache_alloc(struct kmem_cache *c);
void kmem_cache_free(struct kmem_cache *c, void *p);

/* --- kernel virtual memory (vmalloc.c): page-granular, guard page below each area --- */
void *vmap_alloc(size_t size); /* zeroed, not executable */
void vmap_free(void *p);
int vmap_page(u64 va, u64 pa); /* one page of the kernel's own; the frame is given back on error */
void *kstack_alloc(void);      /* KSTACK_SIZE, from a per-CPU cache when possible */
void kstack_free(void *p);

/* --- user address spaces (vm.c) ----------------------------------------------- */
enum vma_flags {
	VMA_SHARED = 1,
	VMA_GROWSDOWN = 2,  /* the stack */
	VMA_DONTFORK = 4,   /* madvise: a child has no such mapping, */
	VMA_WIPEONFORK = 8, /* or an empty one */
	VMA_LOCKED = 16,    /* mlock: counts against RLIMIT_MEMLOCK; not a child's */
};

struct vma { /* [start, end): one protection, one backing */
	union {
		struct rb_node node;
		struct vma *next_removed; /* of mm->removed */
	};
	u64 start, end;
	u64 gap, max_gap; /* free bytes below start; largest gap in this subtree (vma.c) */
	u32 prot;	  /* PT_READ | PT_WRITE | PT_EXEC */
	u32 flags;
	struct file *file; /* NULL: private anonymous; shared anonymous memory is a nameless file */
	u64 offset;	   /* in the file, bytes */
};

struct mm {
	GUARDED(mms_lock);
	struct list link; /* all of them, oldest first (vm.c) */
	GUARDED(constant);
	u64 pt_root;
	GUARDED(atomic);
	u32 refs; /* threads + holders: mm_get/put */

	struct mutex lock; /* also for the page table's user half */
	GUARDED(lock);
	struct rb_tree vmas; /* by address, disjoint */
	struct vma *last;    /* most recent lookup */
	struct vma *removed; /* until vma_unlock() */
	GUARDED(lock, "statistics");
	unsigned nr_vmas;
	u64 total_vm; /* pages */
	u64 max_vm;   /* the most before it last fell; see mm_peak_vm() */
	GUARDED(lock);
	bool lock_new; /* mlockall(MCL_FUTURE): new mappings are VMA_LOCKED; not a child's */

	u8 inherited_from_here[0]; /* fork copies the rest */
	GUARDED(lock, "statistics");
	u64 rss;     /* pages */
	u64 max_rss; /* the most before it last fell; see mm_peak_rss() */

	u64 brk_start, brk;
	u64 mmap_base; /* mappings are placed below */
	u64 code_start, code_end, data_start, data_end, stack_start;
	u64 arg_start, arg_end, env_start, env_end;
	bool secret;  /* not for others of its user to look into: PR_SET_DUMPABLE, and see cred.c */
	u64 auxv[42]; /* pairs, as on the stack of the new program; ends with AT_NULL */
};

void mm_init(void);
struct mm *mm_create(void);
/* Returns a copy of @src that shares its pages until one side writes; NULL when memory is short. */
struct mm *mm_fork(struct mm *src);
struct mm *mm_get(struct mm *mm);
/* The most pages that were ever present at once. */
static inline u64 mm_peak_rss(const struct mm *mm)
{
	return max(READ_ONCE(mm->rss), READ_ONCE(mm->max_rss));
}
/* The most pages that were ever mapped at once. */
static inline u64 mm_peak_vm(const struct mm *mm)
{
	return max(READ_ONCE(mm->total_vm), READ_ONCE(mm->max_vm));
}
void mm_put(struct mm *mm);	    /* may sleep */
u64 mm_locked_pages(struct mm *mm); /* by mlock; takes mm->lock */

/*
 * Returns the address or -errno. @flags are Linux's MAP_*; @prot Linux's PROT_* (==
 * PT_READ/WRITE/EXEC); @offset is that of a page.
 */
long mm_map(struct mm *mm, u64 addr, u64 len, unsigned prot, unsigned flags, struct file *file,
	    u64 offset);
long mm_unmap(struct mm *mm, u64 addr, u64 len);
long mm_protect(struct mm *mm, u64 addr, u64 len, unsigned prot);
long mm_remap(struct mm *mm, u64 addr, u64 old_len, u64 new_len, unsigned flags, u64 to);
u64 mm_brk(struct mm *mm, u64 addr);
/*
 * Takes the pages behind the end of the file @i, which has @size bytes now, out of every mapping:
 * also the copies of private mappings. Whoever touches them next gets SIGBUS. May sleep.
 */
void mm_unmap_behind(const struct inode *i, u64 size);
/*
 * Copy to or from another address space (procfs cmdline, environ). Returns the bytes copied. May
 * sleep.
 */
size_t mm_access(struct mm *mm, u64 addr, void *buf, size_t n, bool write);
/* Physical address behind a user word of @mm, faulted in; 0: -EFAULT. */
u64 mm_user_page(struct mm *mm, u64 addr, bool write);
/*
 * The physical page of @addr, faulted in and with a reference, if the mapping is MAP_SHARED:
 * futexes there are known by it. *@page is 0 for private memory. 0, or -EFAULT if nothing readable
 * is mapped.
 */
long mm_shared_page(struct mm *mm, u64 addr, u64 *page);
/* /proc/PID/maps text. */
size_t mm_print_maps(struct mm *mm, char *buf, size_t size);

/* --- out of memory (oom.c) ---------------------------------------------------- */
/*
 * A page fault found no memory: kill a process, or wait for the one that is being killed. True: try
 * again. False: the caller has a signal to handle first, perhaps this kill. May sleep.
 */
bool oom_kill(void);
struct proc;
/* Per mille of memory that @p has for itself, oom_score_adj included; 0: never chosen. */
s64 oom_score(struct proc *p);
