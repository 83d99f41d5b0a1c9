/* SPDX-License-Identifier: GPL-2.0-only */
/* The vDSO: found, called and protected as C libraries, debuggers and sandboxes expect. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "memcheck/memcheck.h"

static const Elf64_Ehdr *vdso(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);

	EXPECT(header && !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_type == ET_DYN);
	return header;
}

/* The line of /proc/self/maps of the mapping called @name. */
static void find_mapping(const char *name, uintptr_t *start, uintptr_t *end, char rights[5])
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[256];

	EXPECT(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, name)) {
			EXPECT(sscanf(line, "%lx-%lx %4s", start, end, rights) == 3);
			fclose(maps);
			return;
		}
	fail(__FILE__, __LINE__, name);
}

/* --- what is where -------------------------------------------------------------- */

static void mappings(void)
{
	uintptr_t start, end;
	char rights[5];

	find_mapping("[vdso]", &start, &end, rights);
	EXPECT(start == (uintptr_t)vdso() && !strcmp(rights, "r-xp"));
	find_mapping("[vvar]", &start, &end, rights);
	EXPECT(end <= (uintptr_t)vdso() && !strcmp(rights, "r--p"));
}

struct dynamic {
	const Elf64_Sym *symbols;
	const char *strings;
	const uint32_t *hash;
	const uint16_t *versions;
	const Elf64_Verdef *definitions;
};

static struct dynamic read_dynamic(const Elf64_Ehdr *header)
{
	const char *base = (const char *)header;
	const Elf64_Phdr *p = (const void *)(base + header->e_phoff);
	const Elf64_Dyn *d = NULL;
	struct dynamic found = { 0 };

	for (int i = 0; i < header->e_phnum; i++)
		if (p[i].p_type == PT_DYNAMIC)
			d = (const void *)(base + p[i].p_offset);
	EXPECT(d);
	for (; d->d_tag != DT_NULL; d++) {
		const void *at = base + d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB:
			found.symbols = at;
			break;
		case DT_STRTAB:
			found.strings = at;
			break;
		case DT_HASH:
			found.hash = at;
			break;
		case DT_VERSYM:
			found.versions = at;
			break;
		case DT_VERDEF:
			found.definitions = at;
		}
	}
	EXPECT(found.symbols && found.strings && found.hash && found.versions && found.definitions);
	return found;
}

static const char *version_name(const struct dynamic *d, unsigned version)
{
	const Elf64_Verdef *v = d->definitions;

	while (v->vd_ndx != version) {
		EXPECT(v->vd_next);
		v = (const void *)((const char *)v + v->vd_next);
	}
	return d->strings + ((const Elf64_Verdaux *)((const char *)v + v->vd_aux))->vda_name;
}

/* The function @name of version LINUX_2.6. */
static void *lookup(const char *name)
{
	struct dynamic d = read_dynamic(vdso());

	for (uint32_t i = 0; i < d.hash[1]; i++) {
		const Elf64_Sym *s = &d.symbols[i];

		if (strcmp(d.strings + s->st_name, name))
			continue;
		EXPECT(!strcmp(version_name(&d, d.versions[i] & 0x7fff), "LINUX_2.6"));
		EXPECT(ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF);
		return (char *)vdso() + s->st_value;
	}
	fail(__FILE__, __LINE__, name);
}

/* --- what it says ----------------------------------------------------------------- */

typedef int clock_fn(clockid_t id, struct timespec *ts);

static int64_t ns_by_vdso(clockid_t id)
{
	clock_fn *fn = (clock_fn *)lookup("__vdso_clock_gettime");
	struct timespec ts;

	EXPECT(!fn(id, &ts) && ts.tv_nsec >= 0 && ts.tv_nsec < 1000000000);
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t ns_by_syscall(clockid_t id)
{
	struct timespec ts;

	EXPECT(!syscall(SYS_clock_gettime, id, &ts));
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Every clock, the CPU-time clocks too, is the kernel's: neither runs ahead of the other. */
static void clocks(void)
{
	static const clockid_t ids[] = {
		CLOCK_REALTIME,
		CLOCK_MONOTONIC,
		CLOCK_MONOTONIC_RAW,
		CLOCK_REALTIME_COARSE,
		CLOCK_MONOTONIC_COARSE,
		CLOCK_BOOTTIME,
		CLOCK_TAI,
		CLOCK_PROCESS_CPUTIME_ID,
		CLOCK_THREAD_CPUTIME_ID,
	};
	clock_fn *fn = (clock_fn *)lookup("__vdso_clock_gettime");
	struct timespec ts;

	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		for (int n = 0; n < 100; n++) {
			int64_t before = ns_by_syscall(ids[i]), now = ns_by_vdso(ids[i]);

			EXPECT(before <= now && now <= ns_by_syscall(ids[i]));
		}
	EXPECT(fn(12345, &ts) == -EINVAL && fn(-12345, &ts) == -EINVAL && fn(10, &ts) == -EINVAL);
}

static void times(void)
{
	int (*timeofday)(struct timeval *, struct timezone *) = lookup("__vdso_gettimeofday");
	time_t (*seconds)(time_t *) = lookup("__vdso_time");
	struct timeval before, now, after;
	struct timezone zone = { 1, 1 };
	time_t t, first;

	EXPECT(!syscall(SYS_gettimeofday, &before, NULL) && !timeofday(&now, &zone));
	EXPECT(!syscall(SYS_gettimeofday, &after, NULL) && !timeofday(NULL, NULL));
	EXPECT(!timercmp(&before, &now, >) && !timercmp(&now, &after, >));
	EXPECT(!zone.tz_minuteswest && !zone.tz_dsttime);
	first = syscall(SYS_time, NULL);
	EXPECT(seconds(&t) == t && first <= t && t <= syscall(SYS_time, NULL));
	EXPECT(seconds(NULL) >= t);
}

static void cpu_number(void)
{
	int (*getcpu_fn)(unsigned *, unsigned *, void *) = lookup("__vdso_getcpu");
	cpu_set_t all, one;

	EXPECT(!sched_getaffinity(0, sizeof(all), &all));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		unsigned number = 9999, node = 9999, kernel_node;

		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		EXPECT(!sched_setaffinity(0, sizeof(one), &one));
		EXPECT(!getcpu_fn(&number, &node, NULL) && (int)number == cpu);
		EXPECT(!syscall(SYS_getcpu, &number, &kernel_node, NULL) && node == kernel_node);
		EXPECT(!getcpu_fn(NULL, NULL, NULL) && sched_getcpu() == cpu);
	}
}

/* --- what can be done with it ----------------------------------------------------- */

static void read_only(void)
{
	uintptr_t start, end;
	char rights[5];

	find_mapping("[vvar]", &start, &end, rights);
	EXPECT(fault_of((char *)start, true) == ACCERR);
	EXPECT_ERROR(EACCES, mprotect((void *)start, end - start, RW));
	find_mapping("[vdso]", &start, &end, rights);
	EXPECT(fault_of((char *)start, true) == ACCERR);
}

/* As a debugger that sets a breakpoint: the page becomes the process's own. */
static void write_copy(void *unused)
{
	uintptr_t start, end;
	char rights[5];

	(void)unused;
	find_mapping("[vdso]", &start, &end, rights);
	EXPECT(!mprotect((void *)start, end - start, RW | PROT_EXEC));
	((char *)end)[-1] = 1;
	EXPECT(!mprotect((void *)start, end - start, PROT_READ | PROT_EXEC));
	EXPECT(ns_by_vdso(CLOCK_MONOTONIC) > 0);
}

static void private_copy(void)
{
	uintptr_t start, end;
	char rights[5];

	find_mapping("[vdso]", &start, &end, rights);
	await_child(spawn(write_copy, NULL));
	EXPECT(((char *)end)[-1] == 0);
}

static void live_without(void *unused)
{
	uintptr_t start, end;
	char rights[5];

	(void)unused;
	find_mapping("[vdso]", &start, &end, rights);
	EXPECT(!munmap((void *)start, end - start));
	EXPECT(fault_of((char *)start, false) == MAPERR && ns_by_syscall(CLOCK_MONOTONIC));
}

static void unmapped(void)
{
	int64_t before = ns_by_vdso(CLOCK_MONOTONIC);

	await_child(spawn(live_without, NULL));
	EXPECT(ns_by_vdso(CLOCK_MONOTONIC) > before);
}

/* The time of day that is set is told by both at once; where this is no guest it stays. */
static void set_time(void)
{
	struct timespec day = { 2000000000, 0 };
	int64_t before = ns_by_vdso(CLOCK_MONOTONIC), ns;

	if (access("/proc/fairground", F_OK))
		return;
	for (; day.tv_sec > 1000000000; day.tv_sec -= 300000000) {
		EXPECT(!clock_settime(CLOCK_REALTIME, &day));
		ns = ns_by_vdso(CLOCK_REALTIME);
		EXPECT(ns / 1000000000 - day.tv_sec < 10 && ns / 1000000000 >= day.tv_sec);
		EXPECT(ns_by_syscall(CLOCK_REALTIME) - ns < 1000000000);
	}
	EXPECT(ns_by_vdso(CLOCK_MONOTONIC) > before);
}

const struct check vdso_tests[] = {
	{ "vdso-mappings", mappings },
	{ "vdso-clocks", clocks },
	{ "vdso-times", times },
	{ "vdso-cpu-number", cpu_number },
	{ "vdso-read-only", read_only },
	{ "vdso-private-copy", private_copy },
	{ "vdso-unmapped", unmapped },
	{ "vdso-set-time", set_time },
	{ 0 },
};
