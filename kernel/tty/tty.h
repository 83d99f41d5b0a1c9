/* SPDX-License-Identifier: GPL-2.0-only */
/* The terminal on the serial line, as the rest of the kernel sees it; ldisc.h is the inside. */
#pragma once

#include "lib/types.h"

struct file_ops;
struct proc;
struct tty;

/* Device number of /dev/ttyS0, also tty_nr in /proc/PID/stat. */
#define TTY_DEV 0x440

/* The devices: the serial line, /dev/console, and /dev/tty (the caller's own terminal). */
extern const struct file_ops tty_ops, console_ops, tty_current_ops;

void tty_init(void);
/* Bytes have arrived. Called from the serial interrupt. */
void tty_receive(const char *s, size_t n);
/*
 * The session leader @leader exits or lets go of its terminal. The foreground group gets SIGHUP
 * and SIGCONT, and every process of the session loses the terminal.
 */
void tty_leave_session(struct proc *leader);
/* The foreground process group, or -1 if there is none. */
int tty_foreground(const struct tty *t);
