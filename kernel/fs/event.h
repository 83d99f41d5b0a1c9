/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptors for counters, timers and signals: eventfd(2), timerfd_create(2), signalfd(2). */
#pragma once

#include "kernel/fs/fs.h"
#include "kernel/task/siginfo.h"
#include "kernel/time/itimer.h"

/* Each returns an open file, or NULL for lack of memory. @flags may have O_NONBLOCK. */
struct file *eventfd_open(u64 count, bool semaphore, u32 flags);
struct file *timerfd_open(bool realtime, u32 flags);
struct file *signalfd_open(sigset_t set, u32 flags);

/* NULL @new only reads. -EINVAL: @f is no timer. With @absolute, @new->value_ns is a time. */
long timerfd_set(struct file *f, const struct itimer_setting *new, bool absolute,
		 struct itimer_setting *old);
/* Replace the set of a signalfd. -EINVAL: @f is none. */
long signalfd_set(struct file *f, sigset_t set);
