/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls on names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <unistd.h>

#include "calls.h"

#define LONG_NAME                                                                                  \
	"a-name-that-does-not-fit-into-the-place-for-a-short-one-in-an-entry-of-a-directory"

static struct stat status;
static char statx_of[256];
static struct statfs file_system;
static const struct timespec times[2];

static void put_in(void)
{
	must(mount("none", "dir", "tmpfs", 0, ""), "mount");
}

const struct row path_rows[] = {
	ROW_AS(open, "", 0, NULL, P("dir/../file"), O_RDWR),
	ROW_AS(open, "new", 0, NULL, P("dir/inner/new"), O_RDWR | O_CREAT, 0644),
	ROW_AS(open, "long", 0, NULL, P(LONG_NAME), O_RDWR | O_CREAT, 0644),
	ROW_AS(open, "link", 0, NULL, P("link"), O_RDONLY),
	ROW_AS(open, "fifo", 0, NULL, P("fifo"), O_RDWR | O_NONBLOCK),
	ROW_AS(open, "truncate", 0, NULL, P("file"), O_RDWR | O_TRUNC),
	ROW_AS(open, "unnamed", 0, NULL, P("."), O_RDWR | O_TMPFILE, 0600),
	ROW_AS(open, "proc", 0, NULL, P("/proc/self/status"), O_RDONLY),
	ROW_AS(open, "proc fd", 0, NULL, P("/proc/self/fd/40"), O_RDONLY),
	ROW_AS(open, "proc fd of a pipe", 0, NULL, P("/proc/self/fd/43"), O_RDONLY | O_NONBLOCK),
	ROW_AS(open, "proc task", 0, NULL, P("/proc/thread-self/comm"), O_RDWR),
	ROW_AS(open, "dev", 0, NULL, P("/dev/zero"), O_RDWR),
	ROW_AS(open, "trace", 0, NULL, P("/sys/kernel/tracing/trace"), O_RDONLY),
	ROW_AS(open, "trace_pipe_raw", 0, NULL,
	       P("/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw"), O_RDONLY | O_NONBLOCK),
	ROW_AS(open, "group", 0, NULL, P("/sys/fs/cgroup/cgroup.procs"), O_RDWR),
	ROW(stat, P("link"), P(&status)),
	ROW(lstat, P("link"), P(&status)),
	ROW(access, P("dir/inner"), R_OK),
	ROW(truncate, P("file"), 100000),
	ROW(getcwd, P(buffer), sizeof(buffer)),
	ROW(chdir, P("dir")),
	ROW(rename, P("file"), P("dir/other")),
	ROW_AS(rename, "over", 0, NULL, P("file"), P("link")),
	ROW_AS(rename, "long", 0, NULL, P("dir"), P(LONG_NAME)),
	ROW(mkdir, P("dir/new"), 0755),
	ROW_AS(mkdir, "long", 0, NULL, P(LONG_NAME), 0755),
	ROW_AS(mkdir, "group", 0, NULL, P("/sys/fs/cgroup/calls"), 0755),
	ROW_AS(mkdir, "instance", 0, NULL, P("/sys/kernel/tracing/instances/calls"), 0755),
	ROW(rmdir, P("dir/inner")),
	ROW(creat, P("new"), 0644),
	ROW(link, P("file"), P("other")),
	ROW(unlink, P("file")),
	ROW(symlink, P(LONG_NAME), P("new")),
	ROW(readlink, P("link"), P(buffer), 100),
	ROW_AS(readlink, "exe", 0, NULL, P("/proc/self/exe"), P(buffer), 100),
	ROW_AS(readlink, "fd", 0, NULL, P("/proc/self/fd/43"), P(buffer), 100),
	ROW(chmod, P("file"), 0600),
	ROW(chown, P("file"), 1, 1),
	ROW(lchown, P("link"), 1, 1),
	ROW(mknod, P("new"), S_IFIFO | 0600, 0),
	ROW(statfs, P("."), P(&file_system)),
	ROW(chroot, P("dir")),
	ROW(mount, P("none"), P("dir"), P("tmpfs"), 0, P("size=1m")),
	ROW_AS(mount, "bind", 0, NULL, P("."), P("dir"), P("none"), MS_BIND, P("")),
	ROW_AS(mount, "proc", 0, NULL, P("none"), P("dir"), P("proc"), 0, P("")),
	ROW_AS(umount2, "", 0, put_in, P("dir"), 0),
	ROW(setxattr, P("file"), P("user.a"), P("b"), 1, 0),
	ROW(lsetxattr, P("file"), P("user.a"), P("b"), 1, 0),
	ROW(fsetxattr, A_FILE, P("user.a"), P("b"), 1, 0),
	ROW(getxattr, P("file"), P("user.a"), P(buffer), 10),
	ROW(lgetxattr, P("file"), P("user.a"), P(buffer), 10),
	ROW(fgetxattr, A_FILE, P("user.a"), P(buffer), 10),
	ROW(listxattr, P("file"), P(buffer), 100),
	ROW(llistxattr, P("file"), P(buffer), 100),
	ROW(flistxattr, A_FILE, P(buffer), 100),
	ROW(removexattr, P("file"), P("user.a")),
	ROW(lremovexattr, P("file"), P("user.a")),
	ROW(fremovexattr, A_FILE, P("user.a")),
	ROW(openat, A_DIR, P("new"), O_RDWR | O_CREAT, 0644),
	ROW(mkdirat, A_DIR, P("new"), 0755),
	ROW(mknodat, A_DIR, P("new"), S_IFREG | 0600, 0),
	ROW(fchownat, A_DIR, P("file"), 0, 0, 0),
	ROW(newfstatat, A_DIR, P("file"), P(&status), 0),
	ROW(unlinkat, A_DIR, P("dir/inner"), AT_REMOVEDIR),
	ROW(renameat, A_DIR, P("dir"), A_DIR, P("new")),
	ROW(renameat2, A_DIR, P("dir"), A_DIR, P("new"), 1),
	ROW(linkat, A_DIR, P("link"), A_DIR, P("new"), AT_SYMLINK_FOLLOW),
	ROW(symlinkat, P("file"), A_DIR, P("new")),
	ROW(readlinkat, A_DIR, P("link"), P(buffer), 100),
	ROW(fchmodat, A_DIR, P("file"), 0644),
	ROW(faccessat, A_DIR, P("file"), R_OK),
	ROW(faccessat2, A_DIR, P("file"), R_OK, 0),
	ROW(statx, A_DIR, P("file"), 0, 0x7ff, P(statx_of)),
	ROW_AS(utimensat, "now", 0, NULL, A_DIR, P("file"), P(times), 0),
	{ 0 },
};
