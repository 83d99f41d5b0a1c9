/* SPDX-License-Identifier: GPL-2.0-only */
/* struct timespec and timeval of the system calls, and what they mean in ns. */
#pragma once

#include "kernel/time/time.h"
#include "lib/errno.h"

struct timespec {
	s64 sec, nsec;
};

struct timeval {
	s64 sec, usec;
};

/* More than 292 years is for ever. */
static inline u64 ns_of(u64 sec, u64 nsec)
{
	return sec >= INT64_MAX / NS_PER_SEC ? (u64)INT64_MAX : sec * NS_PER_SEC + nsec;
}

static inline struct timespec timespec_of(u64 ns)
{
	return (struct timespec){ (s64)(ns / NS_PER_SEC), (s64)(ns % NS_PER_SEC) };
}

static inline struct timeval timeval_of(u64 ns)
{
	return (struct timeval){ (s64)(ns / NS_PER_SEC), (s64)(ns % NS_PER_SEC / NS_PER_US) };
}

/* A user's time span. -EFAULT, -EINVAL. */
static inline long timespec_get(const struct timespec *user, u64 *ns)
{
	struct timespec ts;

	if (arch_copy_from_user(&ts, user, sizeof(ts)))
		return -EFAULT;
	if (ts.sec < 0 || (u64)ts.nsec >= NS_PER_SEC)
		return -EINVAL;
	*ns = ns_of((u64)ts.sec, (u64)ts.nsec);
	return 0;
}

static inline long timespec_put(struct timespec *user, u64 ns)
{
	struct timespec ts = timespec_of(ns);

	return arch_user_store_pair((u64 *)user, (u64)ts.sec, (u64)ts.nsec);
}

/* clock_ns() time @ns from now; TIME_NEVER if that is too far. */
static inline u64 deadline_after(u64 ns)
{
	return ns == (u64)INT64_MAX ? TIME_NEVER : clock_ns() + ns;
}
