/* SPDX-License-Identifier: GPL-2.0-only */
/* Each combination of owners and modes against what the rule says: removal, new files, links. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

enum { ALICE = 1001, BOB = 1002, STAFF = 50 };

static void make(const char *path, mode_t mode, uid_t owner)
{
	EXPECT(!mknod(path, mode & S_IFMT, 0) && !chown(path, owner, owner));
	EXPECT(!chmod(path, mode & 07777));
}

/* --- removal ------------------------------------------------------------------------------ */

static const mode_t dir_modes[] = { 0777, 01777, 0755, 01755, 0733, 0722, 01722, 0500 };
enum { DIR_MODES = sizeof(dir_modes) / sizeof(dir_modes[0]), OWNERS = 4 };

/* @owners: bit 0: the directory is hers, bit 1: the file is. Of all others, she is nobody. */
static void name_case(char path[32], unsigned mode, unsigned owners)
{
	snprintf(path, 32, "%u-%u", mode, owners);
}

/* The right to search lets her find what is in @dir, and what is above it. */
static void expect_search(const char *dir, int may)
{
	int fd = open(dir, O_PATH);
	struct stat st;

	EXPECT(fd >= 0 && fstatat(fd, "f", &st, 0) == (may ? 0 : -1));
	EXPECT(fstatat(fd, "..", &st, 0) == (may ? 0 : -1) && (may || errno == EACCES));
	EXPECT(!close(fd));
}

static void remove_as_alice(void *unused)
{
	char path[32];

	(void)unused;
	become(ALICE);
	for (unsigned i = 0; i < DIR_MODES * OWNERS; i++) {
		unsigned owners = i % OWNERS;
		mode_t mode = dir_modes[i / OWNERS], hers = owners & 1 ? mode >> 6 : mode;
		int error = (hers & 3) != 3 ? EACCES : mode & S_ISVTX && !owners ? EPERM : 0;

		name_case(path, i / OWNERS, owners);
		expect_search(path, hers & 1);
		errno = 0;
		if (unlinkat(open(path, O_PATH), "f", 0) == (error ? -1 : 0) && errno == error)
			continue;
		printf("mode %o, hers %u: error %d, not %d\n", mode, owners, errno, error);
		fail(__FILE__, __LINE__, "a file is removed by the rule");
	}
}

/*
 * To remove a name takes the right to write and to search; in a sticky directory, the directory or
 * the file as well.
 */
static void removal(void)
{
	char path[32], file[40];

	if (geteuid())
		return;
	EXPECT(!chmod(".", 0755));
	for (unsigned i = 0; i < DIR_MODES * OWNERS; i++) {
		name_case(path, i / OWNERS, i % OWNERS);
		snprintf(file, sizeof(file), "%s/f", path);
		EXPECT(!mkdir(path, 0755));
		make(file, S_IFREG | 0644, i % OWNERS & 2 ? ALICE : BOB);
		EXPECT(!chown(path, i % OWNERS & 1 ? ALICE : BOB, STAFF));
		EXPECT(!chmod(path, dir_modes[i / OWNERS]));
	}
	await_child(spawn(remove_as_alice, NULL));
}

/* --- new files ---------------------------------------------------------------------------- */

/* A new file is of its maker's group, or of the group of a directory with the bit for that. */
static void groups_of_new_files(void)
{
	static const mode_t kinds[] = { S_IFREG, S_IFDIR, S_IFIFO };
	struct stat st;

	if (geteuid())
		return;
	for (unsigned i = 0; i < 6; i++) {
		mode_t kind = kinds[i / 2], passed_on = i % 2 ? S_ISGID : 0;

		EXPECT(!mkdir("d", 0755) && !chown("d", ALICE, STAFF));
		EXPECT(!chmod("d", 0777 | passed_on));
		EXPECT(!(kind == S_IFDIR ? mkdir("d/f", 0755) : mknod("d/f", kind | 0755, 0)));
		EXPECT(!stat("d/f", &st) && st.st_uid == geteuid());
		EXPECT(st.st_gid == (passed_on ? STAFF : getegid()));
		EXPECT(st.st_mode == (kind | 0755 | (kind == S_IFDIR ? passed_on : 0)));
		EXPECT(!(kind == S_IFDIR ? rmdir("d/f") : unlink("d/f")) && !rmdir("d"));
	}
}

/* --- names of others' files --------------------------------------------------------------- */

static const mode_t link_kinds[] = { S_IFREG, S_IFIFO, S_IFSOCK };
static const mode_t link_modes[] = { 0666,  0644,  0622,  0600,	 04666, 02666,
				     02676, 02767, 06666, 01666, 0777,	0660 };
enum { LINK_MODES = sizeof(link_modes) / sizeof(link_modes[0]), LINKS = 3 * LINK_MODES };

static void link_as_alice(void *unused)
{
	char path[32];

	(void)unused;
	become(ALICE);
	for (unsigned i = 0; i < 2 * LINKS; i++) {
		mode_t mode = link_modes[i / 2 % LINK_MODES], kind = link_kinds[i / 2 / LINK_MODES];
		mode_t as_group = S_ISGID | S_IXGRP;
		int harmless = kind == S_IFREG && !(mode & S_ISUID) &&
			       (mode & as_group) != as_group && (mode & 6) == 6;
		int error = i % 2 || harmless ? 0 : EPERM;

		snprintf(path, sizeof(path), "%u", i);
		errno = 0;
		if (link(path, "new") == (error ? -1 : 0) && errno == error) {
			EXPECT(error || !unlink("new"));
			continue;
		}
		printf("kind %o, mode %o, hers %u: error %d, not %d\n", kind, mode, i % 2, errno,
		       error);
		fail(__FILE__, __LINE__, "a file gets a name by the rule");
	}
}

/*
 * Another name is for a file's owner, and for those who may read and write it, if it is a regular
 * file that acts for nobody.
 */
static void names_of_others_files(void)
{
	int fd = open("/proc/sys/fs/protected_hardlinks", O_RDONLY);
	char path[32], on = '1';

	if (geteuid() || (fd >= 0 && (read(fd, &on, 1) != 1 || on != '1')))
		return; /* a Linux that was told to be careless */
	EXPECT(!chmod(".", 0777));
	for (unsigned i = 0; i < 2 * LINKS; i++) {
		snprintf(path, sizeof(path), "%u", i);
		make(path, link_kinds[i / 2 / LINK_MODES] | link_modes[i / 2 % LINK_MODES],
		     i % 2 ? ALICE : BOB);
	}
	await_child(spawn(link_as_alice, NULL));
}

const struct check right_tests[] = {
	{ "removal", removal },
	{ "groups-of-new-files", groups_of_new_files },
	{ "names-of-others-files", names_of_others_files },
	{ NULL, NULL },
};
