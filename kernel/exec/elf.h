/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF64 executables: what exec.c asks of elf.c. */
#pragma once

#include "lib/types.h"

struct file;
struct mm;

struct elf_header {
	u8 magic[4], class, data, version, abi[9];
	u16 type, machine;
	u32 version2;
	u64 entry, phoff, shoff;
	u32 flags;
	u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
STATIC_ASSERT(sizeof(struct elf_header) == 64, "ELF64 header");

struct elf_phdr {
	u32 type, flags;
	u64 offset, vaddr, paddr, filesz, memsz, align;
};
STATIC_ASSERT(sizeof(struct elf_phdr) == 56, "ELF64 program header");

/* A program or its interpreter. */
struct elf_object {
	struct file *file;
	struct elf_header header;
	struct elf_phdr *phdrs;
	u64 low, high; /* of the loaded segments' vaddrs, whole pages */
	u64 align;     /* largest, at least a page */
	u64 bias;      /* address = vaddr + bias */
};

struct elf {
	struct elf_object program;
	struct elf_object interp; /* file NULL: none */
	/* elf_map(): where user space begins (the interpreter's entry, if there is one), and the
	 * program's headers in memory. */
	u64 start, phdr;
};

/*
 * Read the headers of @file, whose first @n bytes are @header, and of its interpreter. -ENOEXEC:
 * not a program for this machine; -ELIBBAD: its interpreter is not. elf_close() in any case.
 */
int elf_open(struct elf *e, struct file *file, const void *header, size_t n);
/* Map both into @mm; sets its code, data and brk fields. Errors: no memory, or lying headers. */
int elf_map(struct elf *e, struct mm *mm);
void elf_close(struct elf *e);
