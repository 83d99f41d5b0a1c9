/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the loader's tables to boot_info, and the order in which the machine comes up.
 *
 * References: Xen public/arch-x86/hvm/start_info.h (the layout of PVH start info); Multiboot2 2.0,
 * section 3.6 (the screen: 3.6.12).
 */
#include "kernel/arch.h"
#include "kernel/mm/mm.h"
#include "kernel/percpu.h"
#include "lib/string.h"
#include "x86.h"

__noreturn void x86_boot(u32 magic, u64 info_pa);

struct boot_info boot_info;
struct boot_range x86_memory[64];
unsigned x86_nr_memory;

static char cmdline[2048];

#define MEMORY_USABLE  1
#define LOW_MEMORY_END 0x100000 /* below: firmware, trampoline, trace header; never handed out */

/* A machine with a screen keeps the part of the image that is for it. */
static u64 low_end = LOW_MEMORY_END;

struct x86_screen x86_screen;

static void add_memory(u64 base, u64 size, u32 type)
{
	if (type == MEMORY_USABLE && size && x86_nr_memory < ARRAY_SIZE(x86_memory))
		x86_memory[x86_nr_memory++] = (struct boot_range){ base, size };
}

/* --- PVH ----------------------------------------------------------------------- */

struct pvh_info {
	u32 magic, version, flags, nr_modules;
	u64 modules, cmdline, rsdp, memmap;
	u32 nr_memmap, reserved;
};

struct pvh_memory {
	u64 base, size;
	u32 type, reserved;
};

/* QEMU aligns it to 4 bytes. */
struct pvh_module {
	u64 base, size;
} __packed;

static void parse_pvh(const struct pvh_info *info)
{
	const struct pvh_memory *m = phys_to_virt(info->memmap);

	boot_info.loader = "PVH";
	x86_acpi.rsdp_pa = info->rsdp;
	if (info->cmdline)
		str_copy(cmdline, phys_to_virt(info->cmdline), sizeof(cmdline));
	for (unsigned i = 0; i < info->nr_memmap; i++)
		add_memory(m[i].base, m[i].size, m[i].type);
	if (info->nr_modules) {
		const struct pvh_module *module = phys_to_virt(info->modules);

		boot_info.initrd = (struct boot_range){ module->base, module->size };
	}
}

/* --- multiboot2 ---------------------------------------------------------------- */

struct multiboot_tag {
	u32 type, size;
	union {
		char string[1];
		u8 rsdp[1];
		struct {
			u32 start, end;
		} module;
		struct {
			u32 entry_size, version;
			u8 entries[];
		} memmap;
		struct x86_screen screen;
	};
};

enum {
	TAG_END = 0,
	TAG_CMDLINE = 1,
	TAG_MODULE = 3,
	TAG_MEMMAP = 6,
	TAG_SCREEN = 8,
	TAG_ACPI_OLD = 14,
	TAG_ACPI_NEW = 15
};

static void parse_multiboot_memory(const struct multiboot_tag *tag)
{
	const u8 *end = (const u8 *)tag + tag->size;

	for (const u8 *p = tag->memmap.entries; p < end; p += tag->memmap.entry_size) {
		const struct pvh_memory *m = (const void *)p; /* the same layout */

		add_memory(m->base, m->size, m->type);
	}
}

static void parse_multiboot_tag(const struct multiboot_tag *tag)
{
	switch (tag->type) {
	case TAG_CMDLINE:
		str_copy(cmdline, tag->string, sizeof(cmdline));
		break;
	case TAG_MODULE:
		boot_info.initrd = (struct boot_range){ tag->module.start,
							tag->module.end - tag->module.start };
		break;
	case TAG_MEMMAP:
		parse_multiboot_memory(tag);
		break;
	case TAG_SCREEN:
		memcpy(&x86_screen, &tag->screen,
		       min(sizeof(x86_screen), tag->size - offsetof(struct multiboot_tag, screen)));
		break;
	case TAG_ACPI_OLD:
	case TAG_ACPI_NEW: /* a copy of the RSDP; the newer one comes later */
		x86_acpi.rsdp_pa = virt_to_phys(tag->rsdp);
	}
}

static void parse_multiboot(const u8 *info)
{
	const struct multiboot_tag *tag = (const void *)(info + 8);

	boot_info.loader = "multiboot2";
	for (; tag->type != TAG_END; tag = (const void *)((const u8 *)tag + ALIGN_UP(tag->size, 8)))
		parse_multiboot_tag(tag);
	if (x86_screen.width)
		low_end = virt_to_phys(screen_end);
}

/* --- what is left for the page allocator --------------------------------------- */

u64 x86_image_end(void)
{
	return ALIGN_UP(virt_to_phys(&symbol_table) + symbol_table.bytes, PAGE_SIZE);
}

/* Drop [@start, @end) from range @i; what remains above it becomes a range of its own. */
static void cut(unsigned i, u64 start, u64 end)
{
	struct boot_range *r = &boot_info.ram[i];
	u64 top = r->base + r->size;

	if (end <= r->base || start >= top)
		return;
	r->size = start > r->base ? start - r->base : 0;
	if (top > end && boot_info.nr_ram < ARRAY_SIZE(boot_info.ram))
		boot_info.ram[boot_info.nr_ram++] = (struct boot_range){ end, top - end };
}

static void reserve(u64 start, u64 size)
{
	u64 end = ALIGN_UP(start + size, PAGE_SIZE);

	for (unsigned i = 0, nr = boot_info.nr_ram; i < nr; i++)
		cut(i, ALIGN_DOWN(start, PAGE_SIZE), end);
}

static __inlined void build_ram(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < x86_nr_memory && boot_info.nr_ram < ARRAY_SIZE(boot_info.ram);
	     i++) {
		u64 start = ALIGN_UP(x86_memory[i].base, PAGE_SIZE);
		u64 end = ALIGN_DOWN(x86_memory[i].base + x86_memory[i].size, PAGE_SIZE);

		if (end > start)
			boot_info.ram[boot_info.nr_ram++] =
				(struct boot_range){ start, end - start };
		boot_info.ram_top = max(boot_info.ram_top, end);
	}
	reserve(0, low_end);
	reserve(virt_to_phys(image_start), x86_image_end() - virt_to_phys(image_start));
	reserve(boot_info.initrd.base, boot_info.initrd.size);
	for (unsigned i = 0; i < boot_info.nr_ram; i++)
		if (boot_info.ram[i].size)
			boot_info.ram[kept++] = boot_info.ram[i];
	boot_info.nr_ram = kept;
}

/* Take pages from the first range below 4 GiB, which is all that boot.S has mapped. */
u64 x86_boot_page(void)
{
	for (unsigned i = 0; i < boot_info.nr_ram; i++) {
		struct boot_range *r = &boot_info.ram[i];
		u64 pa = r->base;

		if (!r->size || pa >= 1ull << 32)
			continue;
		r->base += PAGE_SIZE;
		r->size -= PAGE_SIZE;
		memset(phys_to_virt(pa), 0, PAGE_SIZE);
		return pa;
	}
	panic("no memory for page tables");
}

/* @pages adjacent ones, zeroed, never freed. 0: there is no such place. */
static u64 adjacent_pages(u64 pages)
{
	for (unsigned i = 0; i < boot_info.nr_ram; i++) {
		struct boot_range *r = &boot_info.ram[i];
		u64 pa = r->base, size = pages * PAGE_SIZE;

		if (r->size < size || pa + size > 1ull << 32)
			continue;
		r->base += size;
		r->size -= size;
		memset(phys_to_virt(pa), 0, size);
		return pa;
	}
	return 0;
}

/* --- the order ----------------------------------------------------------------- */

/* From here on kernel messages show on the screen, if it is of a kind that can be drawn on. */
static void start_screen(void)
{
	u64 cells;

	if (!x86_screen.width)
		return;
	x86_paging_add_screen();
	cells = adjacent_pages(x86_screen_pages());
	if (!cells || !x86_screen_start(phys_to_virt(cells)))
		x86_screen.width = 0;
}

/* The loader's part is done. @screen: it may have named a screen. */
static __inlined __noreturn void bring_up(bool screen)
{
	x86_acpi_init(); /* before memory is given away: GRUB's copy of the RSDP is not reserved */
	build_ram();
	x86_paging_init();
	if (screen)
		start_screen();
	x86_apic_init();
	x86_clock_init();
	x86_topology_init();
	x86_vdso_set_cpu(cpus[0]);
	if (screen && x86_screen.width)
		x86_keyboard_init();
	kernel_main();
}

/* Apart, so that the other way does not execute one instruction for a screen. */
static __noreturn __noinline void boot_multiboot(const u8 *info)
{
	parse_multiboot(info);
	bring_up(true);
}

__noreturn void x86_boot(u32 magic, u64 info_pa)
{
	x86_shadow_init();
	if (DEBUG)
		canary_draw(arch_cycles());
	x86_cpu_detect();
	x86_cpu_prepare(cpus[0]->arch);
	x86_idt_init();
	x86_cpu_load(cpus[0]);
	x86_serial_init();
	x86_cpu_require();
	boot_info.cmdline = cmdline;
	if (magic == PVH_MAGIC)
		parse_pvh(phys_to_virt(info_pa));
	else if (magic == MULTIBOOT2_MAGIC)
		boot_multiboot(phys_to_virt(info_pa));
	else
		panic("not started by PVH or multiboot2 (magic %x)", magic);
	bring_up(false);
}
