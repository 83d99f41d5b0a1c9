/* SPDX-License-Identifier: GPL-2.0-only */
/* The data of signals: sets, siginfo, actions, and the queue of pending signals. */
#pragma once

#include "lib/list.h"
#include "lib/types.h"

typedef u64 sigset_t; /* bit sig-1 */
#define SIGMASK(sig) (1ull << ((sig)-1))
#define NSIG	     64

struct siginfo { /* Linux layout, 128 bytes */
	int signo, err, code, pad;
	union {
		struct {
			int pid;
			u32 uid;
			u64 value;
		} rt;
		struct {
			int pid;
			u32 uid;
			int status;
			int pad;
			s64 utime, stime;
		} chld;
		struct {
			int timerid, overrun;
			u64 value;
		} timer;
		struct {
			u64 addr;
		} fault;
		u8 bytes[112];
	};
};
STATIC_ASSERT(sizeof(struct siginfo) == 128, "siginfo_t is 128 bytes");

struct sigaction { /* as rt_sigaction(2) copies it */
	u64 handler, flags, restorer;
	sigset_t mask;
};

struct sigpending {
	sigset_t set;
	struct list queue; /* struct sigqueue: the siginfo of each pending signal */
};
