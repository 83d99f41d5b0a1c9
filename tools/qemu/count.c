/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin of QEMU that counts how often each instruction of the guest is executed. At the end it
 * writes a line for each into the file that out= names: the address, hexadecimal, and the count.
 *
 * Debian has no package with qemu-plugin.h, so what is used of it is declared here, as QEMU's
 * documentation has it ("QEMU TCG Plugins"). API is the version that QEMU expects: profile.py.
 *
 * Counted are blocks as QEMU translates them, each when it begins. An instruction that faults ends
 * its block early, and the rest of the block was counted for nothing.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct tb;
struct insn;

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct tb *tb, void (*call)(unsigned cpu, void *data),
					  int flags, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*call)(plugin_id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct tb *tb);
struct insn *qemu_plugin_tb_get_insn(const struct tb *tb, size_t nr);
uint64_t qemu_plugin_insn_vaddr(const struct insn *insn);

/* A block, translated once. It is never freed: QEMU may drop its translation and make another. */
struct block {
	struct block *next;
	uint64_t times;
	size_t nr;
	uint64_t address[];
};

static struct block *blocks;
static FILE *out;

static void begin(unsigned cpu, void *data)
{
	(void)cpu;
	((struct block *)data)->times++;
}

static void translated(plugin_id id, struct tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);
	struct block *block = malloc(sizeof(*block) + nr * sizeof(block->address[0]));

	(void)id;
	if (!block)
		abort();
	*block = (struct block){ .next = blocks, .nr = nr };
	for (size_t i = 0; i < nr; i++)
		block->address[i] = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));
	blocks = block;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, begin, 0, block);
}

static void end(plugin_id id, void *data)
{
	(void)id, (void)data;
	for (struct block *block = blocks; block; block = block->next)
		for (size_t i = 0; i < block->nr && block->times; i++)
			fprintf(out, "%llx %llu\n", (unsigned long long)block->address[i],
				(unsigned long long)block->times);
	fclose(out);
}

EXPORT int qemu_plugin_version = API;

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int nr, char **words)
{
	(void)info;
	if (nr != 1 || strncmp(words[0], "out=", 4) || !(out = fopen(words[0] + 4, "w")))
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, end, NULL);
	return 0;
}
