/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of perf_event_open(2) and their rings; see perfcheck.c. */
#pragma once

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/check.h"

extern const struct check record_tests[]; /* records.c: values and records, in right order */

/* Linux's struct perf_event_attr, in its version of 128 bytes. */
struct attr {
	uint32_t type, size;
	uint64_t config, period, sample_type, read_format, flags;
	uint32_t wakeup, bp_type;
	uint8_t rest[72];
};

enum { NOT_KERNEL = 1 << 5, IS_FREQUENCY = 1 << 10 }; /* exclude_kernel, freq */
enum { SOFTWARE = 1, TRACEPOINT = 2 };
enum { CPU_CLOCK = 0, DUMMY = 9, SWITCHES = 3, SCHED_SWITCH = 319 };
enum { TIME_ENABLED = 1, TIME_RUNNING = 2, READ_ID = 4, READ_LOST = 16 };
enum { MISC_KERNEL = 1 }; /* of a record: where it was made */
enum { TID = 2, CALLCHAIN = 0x20, RAW = 0x400, LOST = 2, COMM = 3, SAMPLE = 9 };
enum { TIME = 4, ADDR = 8, SAMPLE_ID = 0x40, CPU = 0x80, PERIOD = 0x100, STREAM_ID = 0x200 };
enum { IDENTIFIER = 0x10000, TELLS_NAMES = 1 << 9, ID_ALL = 1 << 18 };
#define ENABLE	   0x2400
#define DISABLE	   0x2401
#define RESET	   0x2403
#define SET_OUTPUT 0x2405
#define ID	   0x80082407
#define PAGE	   4096
#define HEAD	   128 /* words from the start of the first page */
#define TAIL	   129

static inline struct attr attr_of(uint32_t type, uint64_t config)
{
	return (struct attr){
		.type = type, .size = sizeof(struct attr), .config = config, .period = 1
	};
}

static inline int open_event(const void *attr, int pid, int cpu, int group, unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

static inline uint64_t *map(int fd, size_t pages)
{
	return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

struct header {
	uint32_t type;
	uint16_t misc, size;
};
