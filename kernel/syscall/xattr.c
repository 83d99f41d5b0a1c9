/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extended attributes: no file system here has any. EOPNOTSUPP, not ENOSYS, is what ls(1), cp(1)
 * and tar(1) take for "go on without".
 */
#include "kernel/syscall/syscall.h"
#include "lib/errno.h"

#define NO_XATTR(name)                                                                             \
	SYSCALL0(name)                                                                             \
	{                                                                                          \
		return -EOPNOTSUPP;                                                                \
	}

NO_XATTR(setxattr)
NO_XATTR(lsetxattr)
NO_XATTR(fsetxattr)
NO_XATTR(getxattr)
NO_XATTR(lgetxattr)
NO_XATTR(fgetxattr)
NO_XATTR(listxattr)
NO_XATTR(llistxattr)
NO_XATTR(flistxattr)
NO_XATTR(removexattr)
NO_XATTR(lremovexattr)
NO_XATTR(fremovexattr)
