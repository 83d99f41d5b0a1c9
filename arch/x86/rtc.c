/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CMOS clock (MC146818): the date at boot, and a heartbeat for the emulator.
 *
 * Under -icount QEMU runs the CPUs in turns that end at the next virtual timer. With only the
 * kernel's own timers a turn may last a millisecond, and what a CPU waits for from another comes
 * that much late. The periodic timer of this clock, at 8192 Hz with its interrupt masked at both
 * controllers, cuts turns to about 20 us without costing the guest an instruction (measured:
 * Linux's loaded wake latency fell from 1255 us to 99 us). `rtc=0` on the command line leaves it
 * off, `rtc=1` turns it on in any case.
 */
#include "kernel/arch.h"
#include "x86.h"

#define CMOS_ADDRESS  0x70
#define CMOS_DATA     0x71
#define STATUS_A      0x0a
#define STATUS_B      0x0b
#define A_UPDATING    0x80
#define A_32KHZ	      0x20
#define A_RATE_8192HZ 0x03
#define B_24_HOURS    0x02
#define B_BINARY      0x04
#define B_PERIODIC    0x40

struct date {
	u8 second, minute, hour, day, month, year;
};

static u8 cmos_read(u8 reg)
{
	outb(CMOS_ADDRESS, reg);
	return inb(CMOS_DATA);
}

static void cmos_write(u8 reg, u8 v)
{
	outb(CMOS_ADDRESS, reg);
	outb(CMOS_DATA, v);
}

static u8 from_bcd(u8 v)
{
	return (v >> 4) * 10 + (v & 15);
}

/* Wait out an update in progress; one cannot begin within the next 244 us. */
static struct date read_date(void)
{
	while (cmos_read(STATUS_A) & A_UPDATING)
		arch_cpu_relax();
	return (struct date){ .second = cmos_read(0),
			      .minute = cmos_read(2),
			      .hour = cmos_read(4),
			      .day = cmos_read(7),
			      .month = cmos_read(8),
			      .year = cmos_read(9) };
}

/* Days since 1 January 1970 of a date in 2000..2099, where every fourth year is a leap year. */
static u64 days_since_epoch(const struct date *d)
{
	static const u16 before[12] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
	bool after_february = d->month > 2;
	unsigned leap_days = (d->year + 3) / 4 + (d->year % 4 == 0 && after_february);

	return 10957 + d->year * 365u + leap_days + before[(d->month - 1) % 12] + d->day - 1;
}

u64 arch_boot_epoch(void)
{
	struct date d = read_date();
	u64 up = arch_clock_ns() / NS_PER_SEC;

	if (!(cmos_read(STATUS_B) & B_BINARY))
		d = (struct date){ from_bcd(d.second), from_bcd(d.minute), from_bcd(d.hour),
				   from_bcd(d.day),    from_bcd(d.month),  from_bcd(d.year) };
	return days_since_epoch(&d) * 86400 + d.hour * 3600u + d.minute * 60u + d.second - up;
}

void x86_rtc_init(void)
{
	bool wanted = x86_icount && arch_nr_cpus > 1;

	if (!cmdline_get_u64("rtc", wanted))
		return;
	cmos_write(STATUS_A, A_32KHZ | A_RATE_8192HZ);
	cmos_write(STATUS_B, cmos_read(STATUS_B) | B_PERIODIC | B_24_HOURS);
}
