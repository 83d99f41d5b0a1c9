/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The keyboard behind the 8042 controller, which translates to scan codes of set 1; US layout. Only
 * a machine with a screen has one for us. Where the controller is missing its ports answer 0xff,
 * and nothing here waits for long.
 *
 * Reference: IBM PS/2 hardware interface technical reference, keyboard controller; scan codes of
 * set 1.
 */
#include "kernel/arch.h"
#include "lib/string.h"
#include "x86.h"

#define DATA	     0x60
#define STATUS	     0x64 /* and commands */
#define STATUS_FULL  0x01 /* a byte can be read */
#define STATUS_BUSY  0x02 /* none can be written */
#define STATUS_MOUSE 0x20 /* the byte is the mouse's */
#define NOBODY	     0xff
#define READ_CONFIG  0x20
#define WRITE_CONFIG 0x60
#define ENABLE_PORT  0xae
#define ENABLE_KEYS  0xf4
#define CONFIG_IRQ   0x01
#define CONFIG_OFF   0x10
#define CONFIG_SET_1 0x40
#define POLLS	     100000 /* of about a microsecond */

enum { LEFT_SHIFT = 0x2a, RIGHT_SHIFT = 0x36, CTRL = 0x1d, ALT = 0x38, CAPS = 0x3a };
#define PREFIX	 0xe0
#define RELEASED 0x80

static struct {
	bool prefix, left_shift, right_shift, ctrl, alt, caps;
	char queue[8]; /* what the last key stands for, from @at up to @end */
	unsigned at, end;
} keys;

/* By scan code; NUL: nothing. */
static const char plain[] =
	"\0\0331234567890-=\177\tqwertyuiop[]\r\0asdfghjkl;'`\0\\zxcvbnm,./\0*\0 ";
static const char shifted[] =
	"\0\033!@#$%^&*()_+\177\tQWERTYUIOP{}\r\0ASDFGHJKL:\"~\0|ZXCVBNM<>?\0*\0 ";

/* Keys that stand for several bytes; those of the digits' block as if Num Lock was off. */
static const struct {
	u8 code;
	char text[5];
} named[] = {
	{ 0x47, "\033[H" },  { 0x48, "\033[A" },  { 0x49, "\033[5~" }, { 0x4b, "\033[D" },
	{ 0x4d, "\033[C" },  { 0x4f, "\033[F" },  { 0x50, "\033[B" },  { 0x51, "\033[6~" },
	{ 0x52, "\033[2~" }, { 0x53, "\033[3~" }, { 0x1c, "\r" },      { 0x35, "/" },
	{ 0x4a, "-" },	     { 0x4e, "+" },
};

static void stand_for(const char *text, size_t n)
{
	if (keys.alt)
		keys.queue[keys.end++] = '\033';
	memcpy(keys.queue + keys.end, text, n);
	keys.end += n;
}

/* The character that Ctrl makes of @c. */
static char control(char c)
{
	if (c == ' ' || c == '2')
		return 0;
	return (c >= '@' && c < 127) || c == '?' ? c ^ (c == '?' ? 0x40 : c & 0x60) : c;
}

static void press(u8 code, bool prefixed)
{
	bool shift = keys.left_shift || keys.right_shift;
	char c;

	for (unsigned i = 0; i < ARRAY_SIZE(named); i++)
		if (named[i].code == code && (prefixed || code >= 0x47)) {
			stand_for(named[i].text, strlen(named[i].text));
			return;
		}
	if (prefixed || code >= sizeof(plain) - 1 || !plain[code])
		return;
	if (keys.caps && plain[code] >= 'a' && plain[code] <= 'z')
		shift = !shift;
	c = shift ? shifted[code] : plain[code];
	if (keys.ctrl)
		c = control(c);
	stand_for(&c, 1);
}

/* True if @code belongs to a key that changes what others mean. */
static bool modify(u8 code, bool down, bool prefixed)
{
	switch (code) {
	case LEFT_SHIFT:
		keys.left_shift = down && !prefixed; /* with a prefix it surrounds others */
		return true;
	case RIGHT_SHIFT:
		keys.right_shift = down;
		return true;
	case CTRL:
		keys.ctrl = down;
		return true;
	case ALT:
		keys.alt = down;
		return true;
	case CAPS:
		keys.caps ^= down;
		return true;
	default:
		return false;
	}
}

static void receive(u8 byte)
{
	bool prefixed = keys.prefix, down = !(byte & RELEASED);

	keys.prefix = byte == PREFIX;
	if (byte >= PREFIX) /* a prefix, or an answer to a command */
		return;
	if (!modify(byte & ~RELEASED, down, prefixed) && down)
		press(byte, prefixed);
}

size_t arch_keyboard_read(char *buf, size_t n)
{
	size_t got = 0;

	for (;;) {
		u8 status;

		while (keys.at < keys.end && got < n)
			buf[got++] = keys.queue[keys.at++];
		if (got == n)
			return got;
		keys.at = keys.end = 0;
		status = inb(STATUS);
		if (status == NOBODY || !(status & STATUS_FULL))
			return got;
		if (status & STATUS_MOUSE)
			inb(DATA);
		else
			receive(inb(DATA));
	}
}

/* --- the controller ------------------------------------------------------------ */

/* Waits until the bits of @mask are @wanted. False: they do not become so. */
static bool wait_for(u8 mask, u8 wanted)
{
	for (unsigned i = 0; i < POLLS; i++) {
		if ((inb(STATUS) & mask) == wanted)
			return true;
		arch_cpu_relax();
	}
	return false;
}

static bool send(u16 port, u8 byte)
{
	if (!wait_for(STATUS_BUSY, 0))
		return false;
	outb(port, byte);
	return true;
}

/* Throws away keys that were pressed before. */
static void drain(void)
{
	for (unsigned i = 0; i < 64 && inb(STATUS) & STATUS_FULL; i++)
		inb(DATA);
}

void x86_keyboard_init(void)
{
	u8 config;

	if (inb(STATUS) == NOBODY)
		return;
	drain();
	if (!send(STATUS, READ_CONFIG) || !wait_for(STATUS_FULL, STATUS_FULL))
		return;
	config = (inb(DATA) | CONFIG_IRQ | CONFIG_SET_1) & ~CONFIG_OFF;
	if (!send(STATUS, WRITE_CONFIG) || !send(DATA, config) || !send(STATUS, ENABLE_PORT) ||
	    !send(DATA, ENABLE_KEYS))
		return;
	if (wait_for(STATUS_FULL, STATUS_FULL))
		inb(DATA); /* it says yes */
	drain();
	arch_irq_unmask(KEYBOARD_IRQ);
}
