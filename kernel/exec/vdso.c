/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vDSO in address spaces: clock_gettime() and its like as code that runs in user mode.
 *
 *	[vvar]  one page, what the kernel tells it; programs cannot make it writable
 *	[vdso]  the shared object (arch/x86/vdso), read and execute; AT_SYSINFO_EHDR points to it
 *
 * Both are one file without a name, mapped privately: page 0 is [vvar], which the kernel writes
 * through its own mapping, the rest is [vdso]. So fork, munmap, mremap and a debugger's breakpoints
 * (a private copy of the page) are what they are for any file. "vdso=0": there is none, as on
 * Linux.
 *
 * Locking: the file never changes; the content of [vvar] is guarded by the caller of
 * vdso_publish().
 */
#include "kernel/exec/exec.h"

#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mman.h"
#include "kernel/mm/vma.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/string.h"

static struct file *file;
static u64 size; /* of the file, whole pages */
static void *vvar;

bool vdso_is_vvar(const struct vma *v)
{
	return file && v->file == file && v->offset == 0;
}

const char *vdso_name(const struct vma *v)
{
	if (!file || v->file != file)
		return NULL;
	return vdso_is_vvar(v) ? "[vvar]" : "[vdso]";
}

void vdso_publish(u64 realtime_offset_ns)
{
	if (vvar)
		arch_vdso_publish(vvar, realtime_offset_ns);
}

long vdso_map(struct mm *mm)
{
	if (!file)
		return 0;
	long addr = mm_map(mm, 0, size, PROT_READ, MAP_PRIVATE, file, 0);

	if (addr < 0)
		return addr;
	return mm_map(mm, (u64)addr + PAGE_SIZE, size - PAGE_SIZE, PROT_READ | PROT_EXEC,
		      MAP_PRIVATE | MAP_FIXED, file, PAGE_SIZE);
}

/* The kernel's address of page @offset of @f; the frame stays, by the reference we keep. */
static void *page_of(struct file *f, u64 offset)
{
	u64 pa = f->ops->map_page(f, offset);

	debug_assert(offset % PAGE_SIZE == 0 && offset < size);
	return is_page(pa) ? phys_to_virt(pa) : NULL;
}

static int vdso_init(void)
{
	size_t image_size = (size_t)(arch_vdso_end - arch_vdso_start);
	struct file *f;

	debug_assert(!file);
	if (!cmdline_get_u64("vdso", 1))
		return 0;
	size = PAGE_SIZE + ALIGN_UP(image_size, PAGE_SIZE);
	f = file_anonymous(size);
	if (!f)
		return -ENOMEM;
	f->mode = FILE_READ;
	for (size_t done = 0; done < image_size; done += PAGE_SIZE) {
		void *to = page_of(f, PAGE_SIZE + done);

		if (!to)
			return -ENOMEM;
		memcpy(to, arch_vdso_start + done, min(image_size - done, (size_t)PAGE_SIZE));
	}
	vvar = page_of(f, 0);
	if (!vvar)
		return -ENOMEM;
	clock_publish();
	file = f;
	return 0;
}
INITCALL(vdso_init);
