/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine as a whole: names, memory, messages, randomness, power.
 */
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/syscall/syscall.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/string.h"

#define UTS_LEN 65

static struct { /* struct new_utsname */
	char sysname[UTS_LEN], nodename[UTS_LEN], release[UTS_LEN], version[UTS_LEN],
		machine[UTS_LEN], domain[UTS_LEN];
} uts = {
	/*
	 * Programs choose features by the first and third field, so these name the interface
	 * offered.
	 */
	OS_TYPE, "fairground", OS_RELEASE, OS_VERSION, "x86_64", "(none)",
};
static struct mutex uts_lock = MUTEX_INIT(uts_lock);

SYSCALL1(uname, void *, user)
{
	mutex_lock(&uts_lock);
	bool bad = arch_copy_to_user(user, &uts, sizeof(uts));
	mutex_unlock(&uts_lock);
	return bad ? -EFAULT : 0;
}

static long set_name(char *name, const char *user, int len)
{
	char buf[UTS_LEN] = { 0 };

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (len < 0 || len >= UTS_LEN)
		return -EINVAL;
	if (arch_copy_from_user(buf, user, (size_t)len))
		return -EFAULT;
	mutex_lock(&uts_lock);
	memcpy(name, buf, UTS_LEN);
	mutex_unlock(&uts_lock);
	return 0;
}

SYSCALL2(sethostname, const char *, name, int, len)
{
	return set_name(uts.nodename, name, len);
}

SYSCALL2(setdomainname, const char *, name, int, len)
{
	return set_name(uts.domain, name, len);
}

struct user_sysinfo {
	s64 uptime;
	u64 loads[3]; /* 16 fractional bits */
	u64 totalram, freeram, sharedram, bufferram, totalswap, freeswap;
	u16 procs, pad;
	u64 totalhigh, freehigh;
	u32 mem_unit;
	u32 pad2;
};
STATIC_ASSERT(sizeof(struct user_sysinfo) == 112, "struct sysinfo of the ABI");

SYSCALL1(sysinfo, struct user_sysinfo *, user)
{
	struct user_sysinfo info = {
		.uptime = (s64)(clock_ns() / NS_PER_SEC),
		.totalram = page_nr_total() * PAGE_SIZE,
		.freeram = page_nr_free() * PAGE_SIZE,
		.procs = (u16)min(READ_ONCE(nr_threads_total), 65535u),
		.mem_unit = 1,
	};

	load_average(info.loads);
	for (unsigned i = 0; i < ARRAY_SIZE(info.loads); i++)
		info.loads[i] <<= 16 - LOAD_SHIFT;
	return arch_copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
}

SYSCALL3(getrandom, void *, user, size_t, n, unsigned, flags)
{
	enum { GRND_NONBLOCK = 1, GRND_RANDOM = 2, GRND_INSECURE = 4 };
	u8 chunk[64];
	size_t done = 0;

	if (flags & ~(unsigned)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE))
		return -EINVAL;
	while (done < n && !signal_pending()) {
		size_t len = min(n - done, sizeof(chunk));
		random_bytes(chunk, len);
		if (arch_copy_to_user((u8 *)user + done, chunk, len))
			return done ? (long)done : -EFAULT;
		done += len;
	}
	return done || !n ? (long)done : -ERESTARTSYS;
}

SYSCALL3(getcpu, u32 *, cpu, u32 *, node, void *, unused)
{
	u32 here = arch_cpu_id(), here_node = arch_cpus[here].node;
	(void)unused;

	if (cpu && arch_copy_to_user(cpu, &here, sizeof(here)))
		return -EFAULT;
	return node && arch_copy_to_user(node, &here_node, sizeof(here_node)) ? -EFAULT : 0;
}

/* --- kernel messages: what dmesg(1) asks for -------------------------------------------------- */

#define LOG_SIZE (64 * 1024)

static long read_log(char *user, int len)
{
	size_t size = min((size_t)len, (size_t)LOG_SIZE);
	char *buf = kmalloc(size);

	if (!buf)
		return -ENOMEM;
	size_t n = klog_read(buf, size);
	long result = arch_copy_to_user(user, buf, n) ? -EFAULT : (long)n;
	kfree(buf);
	return result;
}

SYSCALL3(syslog, int, action, char *, user, int, len)
{
	enum {
		CLOSE,
		OPEN,
		READ,
		READ_ALL,
		READ_CLEAR,
		CLEAR,
		CONSOLE_OFF,
		CONSOLE_ON,
		CONSOLE_LEVEL,
		UNREAD,
		SIZE
	};

	if (action != READ_ALL && action != SIZE && !capable(CAP_SYSLOG))
		return -EPERM;
	switch (action) {
	case READ_ALL:
		return !user || len < 0 ? -EINVAL : len ? read_log(user, len) : 0;
	case SIZE:
		return LOG_SIZE;
	case CLOSE:
	case OPEN:
	case CONSOLE_OFF:
	case CONSOLE_ON:
	case CONSOLE_LEVEL:
	case UNREAD:
		return 0; /* all messages go to the console, always */
	default:
		return -EINVAL;
	}
}

/* --- power -------------------------------------------------------------------------------- */

SYSCALL4(reboot, u32, magic1, u32, magic2, u32, command, void *, arg)
{
	enum {
		MAGIC1 = 0xfee1dead,
		RESTART = 0x01234567,
		HALT = 0xcdef0123,
		POWER_OFF = 0x4321fedc,
		CAD_ON = 0x89abcdef,
		CAD_OFF = 0
	};
	static const u32 magics[] = { 672274793, 85072278, 369367448, 537993216 };
	bool known = false;
	(void)arg;

	if (!capable(CAP_SYS_BOOT))
		return -EPERM;
	for (unsigned i = 0; i < ARRAY_SIZE(magics); i++)
		known |= magic2 == magics[i];
	if (magic1 != MAGIC1 || !known)
		return -EINVAL;
	switch (command) {
	case POWER_OFF:
	case HALT:
		kernel_shutdown(-1);
	case RESTART:
		arch_reboot();
	case CAD_ON:
	case CAD_OFF:
		return 0; /* there is no Ctrl-Alt-Del on a serial line */
	default:
		return -EINVAL;
	}
}
