/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ACPI tables that matter here: MADT (CPUs, interrupt controllers), SRAT and SLIT (NUMA), HPET
 * and FADT (reference clocks, power control). The RSDP leads to them through the RSDT or XSDT. A
 * table with a bad checksum counts as absent. All tables lie below 4 GiB, in the direct map.
 *
 * Reference: ACPI 6.5, sections 5.2.5 to 5.2.17.
 */
#include "kernel/arch.h"
#include "lib/string.h"
#include "x86.h"

struct x86_acpi x86_acpi;

struct acpi_header {
	char signature[4];
	u32 length;
	u8 revision, checksum;
	char oem[26];
} __packed;

struct rsdp {
	char signature[8];
	u8 checksum;
	char oem[6];
	u8 revision;
	u32 rsdt;
	u32 length; /* from here on: revision 2 */
	u64 xsdt;
} __packed;

/* Reads a field, which may be unaligned; @offset as the specification counts it. */
#define FIELD(type, p, offset)                                                                     \
	(((const struct { type v; } __packed *)((const u8 *)(p) + (offset)))->v)

static bool checksum_ok(const void *p, size_t n)
{
	u8 sum = 0;

	for (const u8 *b = p; n--; b++)
		sum += *b;
	return sum == 0;
}

/* The places where a PC's firmware leaves the RSDP, searched if the loader does not name one. */
static const struct rsdp *scan_for_rsdp(void)
{
	for (u64 pa = 0xe0000; pa < 0x100000; pa += 16) {
		const struct rsdp *r = phys_to_virt(pa);

		if (memcmp(r->signature, "RSD PTR ", 8) == 0 && checksum_ok(r, 20))
			return r;
	}
	return NULL;
}

/* Call @fn for each entry {type, length, ...} that starts at @offset. */
static void for_each_entry(const struct acpi_header *h, u32 offset, void (*fn)(const u8 *entry))
{
	while (offset + 2 <= h->length) {
		const u8 *entry = (const u8 *)h + offset;

		if (entry[1] < 2)
			return;
		fn(entry);
		offset += entry[1];
	}
}

static void madt_override(const u8 *entry)
{
	u8 irq = entry[3];

	if (irq < ARRAY_SIZE(x86_acpi.gsi_of_irq)) {
		x86_acpi.gsi_of_irq[irq] = FIELD(u32, entry, 4);
		x86_acpi.irq_flags[irq] = FIELD(u16, entry, 8);
	}
}

static void madt_entry(const u8 *entry)
{
	enum { LAPIC = 0, IOAPIC = 1, OVERRIDE = 2, X2APIC = 9, ENABLED = 1 };

	switch (entry[0]) {
	case LAPIC:
		if (FIELD(u32, entry, 4) & ENABLED)
			x86_topology_add_cpu(entry[3]);
		break;
	case IOAPIC:
		if (FIELD(u32, entry, 8) == 0) /* the one with the ISA interrupts */
			x86_acpi.ioapic_pa = FIELD(u32, entry, 4);
		break;
	case OVERRIDE:
		madt_override(entry);
		break;
	case X2APIC:
		if (FIELD(u32, entry, 8) & ENABLED)
			x86_topology_add_cpu(FIELD(u32, entry, 4));
	}
}

static void srat_entry(const u8 *entry)
{
	enum { LAPIC = 0, X2APIC = 2, ENABLED = 1 };

	if (entry[0] == LAPIC && entry[1] >= 16 && FIELD(u32, entry, 4) & ENABLED)
		x86_topology_set_node(entry[3], entry[2] | (FIELD(u32, entry, 8) & ~0xffu));
	else if (entry[0] == X2APIC && entry[1] >= 24 && FIELD(u32, entry, 12) & ENABLED)
		x86_topology_set_node(FIELD(u32, entry, 8), FIELD(u32, entry, 4));
}

static void parse_table(const struct acpi_header *h)
{
	if (!checksum_ok(h, h->length))
		return;
	if (memcmp(h->signature, "APIC", 4) == 0) {
		for_each_entry(h, 44, madt_entry);
	} else if (memcmp(h->signature, "SRAT", 4) == 0) {
		for_each_entry(h, 48, srat_entry);
	} else if (memcmp(h->signature, "SLIT", 4) == 0) {
		x86_acpi.slit_size = FIELD(u64, h, 36);
		x86_acpi.slit = (const u8 *)h + 44;
	} else if (memcmp(h->signature, "HPET", 4) == 0) {
		x86_acpi.hpet_pa = FIELD(u64, h, 44);
	} else if (memcmp(h->signature, "FACP", 4) == 0) {
		x86_acpi.pm1_control_port = FIELD(u32, h, 64);
		x86_acpi.pm_timer_port = FIELD(u32, h, 76);
	}
}

void x86_acpi_init(void)
{
	const struct rsdp *rsdp =
		x86_acpi.rsdp_pa ? phys_to_virt(x86_acpi.rsdp_pa) : scan_for_rsdp();
	const struct acpi_header *root;
	bool wide = rsdp && rsdp->revision >= 2;

	for (unsigned i = 0; i < ARRAY_SIZE(x86_acpi.gsi_of_irq); i++)
		x86_acpi.gsi_of_irq[i] = i;
	if (!rsdp)
		return;
	root = phys_to_virt(wide ? rsdp->xsdt : rsdp->rsdt);
	for (u32 at = sizeof(*root); at < root->length; at += wide ? 8 : 4)
		parse_table(phys_to_virt(wide ? FIELD(u64, root, at) : FIELD(u32, root, at)));
}
