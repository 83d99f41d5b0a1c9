/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine with a screen: kernel messages and what programs write go there, too. Whatever is typed
 * on its keyboard comes as from the serial line (kernel_irq() in kernel/base/main.c).
 */
#include "kernel/arch.h"
#include "kernel/kernel.h"
#include "kernel/tty/ldisc.h"
#include "kernel/tty/vt.h"

static bool serial; /* there is such a line */

/* A message of the kernel: the caller has the console's lock, or took it away in a panic. */
static void write_message(const char *s, size_t n)
{
	if (serial)
		arch_console_write(s, n);
	vt_write(s, n, true);
}

static void write_locked(const char *s, size_t n)
{
	vt_write(s, n, false);
}

/* Output of programs. */
static void write_terminal(const char *s, size_t n)
{
	if (serial)
		arch_serial_write(s, n);
	console_exclude(write_locked, s, n);
}

void kernel_screen(u16 *cells, unsigned cols, unsigned rows, bool has_serial)
{
	serial = has_serial;
	vt_start(cells, cols, rows);
	tty_use_size(rows, cols);
	console_line = write_message;
	tty_line = write_terminal;
}
