/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lines out of the machine: COM1 (a 16550 at 0x3f8), QEMU's debug console (port 0xe9), and the
 * ports that end the run. Output is polled; input is announced by interrupt 4.
 */
#include "kernel/arch.h"
#include "x86.h"

#define COM_DATA	(COM1 + 0)
#define COM_IRQ_ENABLE	(COM1 + 1)
#define COM_FIFO	(COM1 + 2)
#define COM_LINE	(COM1 + 3)
#define COM_MODEM	(COM1 + 4)
#define COM_STATUS	(COM1 + 5)
#define COM_SCRATCH	(COM1 + 7)
#define STATUS_RECEIVED 0x01
#define STATUS_SENT	0x20
#define FIFO_SIZE	16

#define DEBUGCON 0xe9
#define PVPANIC	 0x505

void x86_serial_init(void)
{
	outb(COM_LINE, 0x80); /* the next two set the divisor: 115200 baud */
	outb(COM_DATA, 1);
	outb(COM_IRQ_ENABLE, 0);
	outb(COM_LINE, 0x03);  /* 8 bits, no parity, 1 stop */
	outb(COM_FIFO, 0x07);  /* on, cleared, interrupt at 1 byte */
	outb(COM_MODEM, 0x0b); /* DTR, RTS, OUT2 = interrupts reach the controller */
	outb(COM_IRQ_ENABLE, 0x01);
}

/* A UART keeps what is written to its scratch register. Without one the bus answers. */
bool x86_serial_answers(void)
{
	outb(COM_SCRATCH, 0x5a);
	if (inb(COM_SCRATCH) != 0x5a)
		return false;
	outb(COM_SCRATCH, 0xa5);
	return inb(COM_SCRATCH) == 0xa5;
}

static void write_port(u16 port, const char *s, size_t n)
{
	__asm__ volatile("rep outsb" : "+S"(s), "+c"(n) : "d"(port) : "memory");
}

/* One poll for each fill of the FIFO. */
void arch_serial_write(const char *s, size_t n)
{
	while (n) {
		size_t part = min(n, (size_t)FIFO_SIZE);

		while (!(inb(COM_STATUS) & STATUS_SENT))
			arch_cpu_relax();
		write_port(COM_DATA, s, part);
		s += part;
		n -= part;
	}
}

size_t arch_serial_read(char *buf, size_t n)
{
	size_t got = 0;

	while (got < n && inb(COM_STATUS) & STATUS_RECEIVED)
		buf[got++] = inb(COM_DATA);
	return got;
}

void arch_console_write(const char *s, size_t n)
{
	write_port(DEBUGCON, s, n);
	arch_serial_write(s, n);
}

/* QEMU's exit device first; where it is missing, ACPI's soft off (\_S5 is type 0 on QEMU's boards).
 */
__noreturn void arch_exit(unsigned status)
{
	outl(DEBUG_EXIT, status);
	if (status != EXIT_OK && inb(PVPANIC) != 0xff)
		outb(PVPANIC, 1);
	if (x86_screen.width && status != EXIT_OK)
		arch_cpu_halt(); /* the reason stays to be read */
	if (x86_acpi.pm1_control_port)
		outw(x86_acpi.pm1_control_port, 0x2000);
	arch_cpu_halt();
}

/* The chipset's reset register, the keyboard controller's, and a fault with no handler. */
__noreturn void arch_reboot(void)
{
	outb(0xcf9, 0x06);
	outb(0x64, 0xfe);
	__asm__ volatile("lidt %0; int3" : : "m"((struct { u64 limit, base; }){ 0 }));
	arch_cpu_halt();
}
