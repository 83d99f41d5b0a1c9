/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is the AddressSanitizer on? A kernel in which it is off looks like one without faults. Each of
 * these accesses is forbidden; those of the running thread are counted.
 */
#include "kernel/mm/kasan.h"

#include "kernel/mm/mm.h"
#include "lib/string.h"

static volatile u8 global[9];

/* Returns how many forbidden accesses were noticed since kasan_count(true). */
static unsigned end_of_count(void)
{
	kasan_count(false);
	return kasan_nr_noticed();
}

SELFTEST(accesses_behind_an_object_are_noticed)
{
	volatile u8 *small = kmalloc(13), *large = kmalloc(5000);
	volatile size_t n = 14;

	kasan_count(true);
	small[12] = large[4999] = 1;
	small[13] = 1;
	large[5000] = 1;
	unsigned noticed = end_of_count();
	kasan_count(true);
	memset((void *)small, 0, n);
	bool noticed_memset = end_of_count();
	kfree((void *)small);
	kfree((void *)large);
	SELFTEST_CHECK(noticed == 2 && noticed_memset);
	return 0;
}

SELFTEST(accesses_after_a_free_are_noticed)
{
	volatile u64 *object = kzalloc(40);
	u64 pa = page_alloc(0), block = page_alloc(2);
	volatile u64 *page = phys_to_virt(pa), *pages = phys_to_virt(block);

	kfree((void *)object);
	page_put(pa);
	page_free(block, 2);
	kasan_count(true);
	object[1] = page[100] + pages[600];
	SELFTEST_CHECK(end_of_count() == 3);
	return 0;
}

SELFTEST(accesses_behind_a_variable_are_noticed)
{
	volatile u8 local[10] = {};
	volatile u8 *p = local;
	volatile size_t ten = 10, nine = 9;

	kasan_count(true);
	p[ten] = 1;
	global[nine] = local[9] + global[8];
	SELFTEST_CHECK(end_of_count() == 2);
	return 0;
}

/* vmap_alloc() gives whole pages, and bytes behind what was asked for. */
SELFTEST(accesses_behind_an_area_are_noticed)
{
	volatile u8 *area = vmap_alloc(4097);

	SELFTEST_CHECK(area);
	kasan_count(true);
	area[4096] = area[4097];
	unsigned noticed = end_of_count();
	vmap_free((void *)area);
	SELFTEST_CHECK(noticed == 1);
	return 0;
}
