/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of file semantics; see filecheck.c. */
#pragma once

#include "lib/check.h"

extern const struct check file_tests[];	 /* files.c: names, contents, descriptors */
extern const struct check pipe_tests[];	 /* pipes.c: pipes, FIFOs, socket pairs */
extern const struct check wait_tests[];	 /* waits.c: poll, select, signals, futexes */
extern const struct check lock_tests[];	 /* locks.c: record locks, fallocate, mounts, programs */
extern const struct check event_tests[]; /* events.c: epoll, event descriptors, messages, clone3 */
extern const struct check race_tests[];	 /* races.c: several processes and threads at once */
extern const struct check close_tests[]; /* closing.c: sleepers whose descriptor goes */
extern const struct check bound_tests[]; /* bounds.c: the most that calls take */
extern const struct check edge_tests[];	 /* edges.c: answers that one would not guess */
extern const struct check right_tests[]; /* rights.c: owners and modes against the rules */
extern const struct check mount_tests[]; /* mounts.c: mounts in texts and names; counts */
extern const struct check shutdown_tests[]; /* shutdown.c: ends of sockets */
extern const struct check kind_tests[];	    /* kinds.c: calls that fit one kind of file only */
/* The leader of a session, `exec filecheck` in a command of the guest, gives up its terminal. */
void leave_terminal(void);
extern const struct check terminal_tests[]; /* terminals.c: sessions and their terminal */
