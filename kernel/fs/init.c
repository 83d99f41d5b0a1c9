/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bringing up the file systems: the root tmpfs with the initramfs in it, and the mounts every
 * program expects.
 */
#include "kernel/fs/vfs.h"

#include "kernel/cgroup/cgroup.h"
#include "kernel/pseudo/engine.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/time/time.h"

static const struct {
	const char *dir;
	const struct fs_type *type;
} boot_mounts[] = {
	{ "/dev", &devtmpfs_type },
	{ "/proc", &procfs_type },
	{ "/sys", &sysfs_type },
	{ "/sys/kernel/debug", &debugfs_type },
	{ "/sys/kernel/tracing", &tracefs_type },
	{ "/dev/shm", &tmpfs_type },
	{ "/sys/fs/cgroup", &cgroup2_type },
};

/* mkdir that does not mind an existing directory. */
static int make_dir(const char *name)
{
	int err = path_mknod(AT_FDCWD, name, S_IFDIR | 0755, 0, NULL);

	return err == -EEXIST ? 0 : err;
}

static void mount_at(const char *dir, const struct fs_type *type)
{
	struct path at;
	int err = make_dir(dir);

	/* Mount points below /sys were made when sysfs registered. */
	if (!err || err == -EPERM)
		err = path_lookup(AT_FDCWD, dir, WALK_FOLLOW | WALK_DIR, &at);
	if (!err) {
		err = mount_add(type, type->name, &at, 0, "");
		path_put(&at);
	}
	if (err)
		kprintf("mount %s on %s: error %d\n", type->name, dir, -err);
}

static void unpack_initrd(void)
{
	const char *data = phys_to_virt(boot_info.initrd.base), *compression;
	u64 start_ns = clock_ns();
	int err;

	if (!boot_info.initrd.size)
		return;
	compression = initramfs_compression(data, boot_info.initrd.size);
	if (compression)
		panic("initramfs: compressed with %s, which the kernel does not read: "
		      "unpack it, or give it to make run as ROOT=",
		      compression);
	err = initramfs_unpack(data, boot_info.initrd.size);
	if (err == -ENOMEM || err == -ENOSPC)
		panic("initramfs: not enough memory for %llu KiB: "
		      "beside them, files may have half of the rest",
		      (unsigned long long)boot_info.initrd.size / 1024);
	if (err)
		panic("initramfs: damaged archive, error %d", -err);
	kprintf("initramfs: %llu KiB unpacked in %llu us\n",
		(unsigned long long)boot_info.initrd.size / 1024,
		(unsigned long long)(clock_ns() - start_ns) / NS_PER_US);
	page_give(boot_info.initrd.base, boot_info.initrd.size);
}

void fs_init(void)
{
	fs_register(&tmpfs_type);
	fs_register(&devtmpfs_type);
	fs_register(&procfs_type);
	fs_register(&sysfs_type);
	fs_register(&debugfs_type);
	fs_register(&tracefs_type);
	if (mount_add(&tmpfs_type, "rootfs", NULL, 0, ""))
		panic("no memory for the root file system");
	unpack_initrd();
	procfs_init();
	sysfs_init();
	cgroup_init();
	for (unsigned i = 0; i < ARRAY_SIZE(boot_mounts); i++)
		mount_at(boot_mounts[i].dir, boot_mounts[i].type);
}
