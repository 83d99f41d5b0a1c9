/* SPDX-License-Identifier: GPL-2.0-only */
/* Path names given by programs: copied in, then walked. */
#pragma once

#include "kernel/fs/vfs.h"

struct user_path {
	char *text;
	char small[128]; /* most paths are short: no allocation */
};

/* -EFAULT, -ENAMETOOLONG, -ENOMEM. */
int user_path_get(struct user_path *p, const char *user);
void user_path_put(struct user_path *p);

/* user_path_get() and path_lookup() in one. */
int user_lookup(int dirfd, const char *user, unsigned flags, struct path *out);

/* The directory and last component of a user's path. */
struct user_parent {
	struct user_path path;
	struct walk_result at;
};
int user_parent_get(int dirfd, const char *user, struct user_parent *p);
void user_parent_put(struct user_parent *p);
