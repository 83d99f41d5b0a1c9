/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that cannot be executed: each execve(2) must fail with the errno that Linux gives, or the
 * new program must die of the signal that Linux sends when the damage shows only after the point of
 * no return.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/crash.h"

#define VICTIM "/tmp/crash-victim"

static int try_exec(const char *path)
{
	char *argv[] = { (char *)(uintptr_t)path, NULL }, *env[] = { NULL };

	return error_of(execve(path, argv, env));
}

/* Execute a file of these bytes. */
static int exec_bytes(const void *bytes, size_t size, mode_t mode)
{
	int fd, error;

	unlink(VICTIM);
	fd = open(VICTIM, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || fchmod(fd, mode))
		return errno;
	close(fd);
	error = try_exec(VICTIM);
	unlink(VICTIM);
	return error;
}

/* A small but complete program: one segment at 4 MiB whose code is "ud2". */
struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	unsigned char code[8];
};

static struct image good_image(void)
{
	return (struct image){
		.ehdr = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_entry = 0x400000 + offsetof(struct image, code),
			.e_phoff = offsetof(struct image, phdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
		},
		.phdr = {
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = 0x400000,
			.p_filesz = sizeof(struct image),
			.p_memsz = sizeof(struct image),
			.p_align = 4096,
		},
		.code = { 0x0f, 0x0b },
	};
}

static int exec_image(const struct image *image)
{
	return exec_bytes(image, sizeof(*image), 0755);
}

static int exec_good(void)
{
	struct image image = good_image();

	return exec_image(&image);
}

static int exec_text(void)
{
	return exec_bytes("hello\n", 6, 0755);
}

static int exec_empty(void)
{
	return exec_bytes("", 0, 0755);
}

static int exec_no_permission(void)
{
	struct image image = good_image();

	return exec_bytes(&image, sizeof(image), 0644);
}

static int exec_truncated_header(void)
{
	struct image image = good_image();

	return exec_bytes(&image, 40, 0755);
}

static int exec_truncated_phdr(void)
{
	struct image image = good_image();

	return exec_bytes(&image, sizeof(Elf64_Ehdr) + 20, 0755);
}

/* The segment's page beyond the end of the file holds the entry point. */
static int exec_truncated_segment(void)
{
	struct image image = good_image();

	image.phdr.p_filesz = image.phdr.p_memsz = 3 * 4096;
	image.ehdr.e_entry = 0x402000;
	return exec_image(&image);
}

static int exec_other_machine(void)
{
	struct image image = good_image();

	image.ehdr.e_machine = EM_AARCH64;
	return exec_image(&image);
}

static int exec_object_file(void)
{
	struct image image = good_image();

	image.ehdr.e_type = ET_REL;
	return exec_image(&image);
}

static int exec_phentsize(void)
{
	struct image image = good_image();

	image.ehdr.e_phentsize = 1;
	return exec_image(&image);
}

static int exec_phoff(void)
{
	struct image image = good_image();

	image.ehdr.e_phoff = 1ul << 62;
	return exec_image(&image);
}

static int exec_kernel_segment(void)
{
	struct image image = good_image();

	image.phdr.p_vaddr = 0xffffffff80000000ul;
	return exec_image(&image);
}

static int exec_huge_segment(void)
{
	struct image image = good_image();

	image.phdr.p_memsz = 1ul << 60;
	return exec_image(&image);
}

static int exec_filesz(void)
{
	struct image image = good_image();

	image.phdr.p_memsz = image.phdr.p_filesz - 1;
	return exec_image(&image);
}

static int exec_kernel_entry(void)
{
	struct image image = good_image();

	image.ehdr.e_entry = KERNEL_ADDRESS;
	return exec_image(&image);
}

static int exec_missing(void)
{
	return try_exec("/tmp/no-such-file");
}

static int exec_directory(void)
{
	return try_exec("/tmp");
}

static int exec_device(void)
{
	return try_exec("/dev/null");
}

static int exec_empty_path(void)
{
	return try_exec("");
}

static int exec_missing_interpreter(void)
{
	return exec_bytes("#!/tmp/no-such-file\n", 20, 0755);
}

static int exec_own_interpreter(void)
{
	return exec_bytes("#!" VICTIM "\n", sizeof("#!" VICTIM), 0755);
}

const struct crash_test exec_tests[] = {
	{ "exec-good", exec_good, DIES(SIGILL), "a correct file, to test the tests" },
	{ "exec-text", exec_text, ENDS(ENOEXEC), "a text file" },
	{ "exec-empty", exec_empty, ENDS(ENOEXEC), "an empty file" },
	{ "exec-permission", exec_no_permission, ENDS(EACCES),
	  "a file without execute permission" },
	{ "exec-short-header", exec_truncated_header, ENDS(ENOEXEC), "ELF cut off in the header" },
	{ "exec-short-table", exec_truncated_phdr, ENDS(ENOEXEC),
	  "ELF cut off in the program headers" },
	{ "exec-short-segment", exec_truncated_segment, DIES(SIGBUS), "ELF cut off in a segment" },
	{ "exec-machine", exec_other_machine, ENDS(ENOEXEC), "ELF of another machine" },
	{ "exec-object", exec_object_file, ENDS(ENOEXEC), "ELF object file" },
	{ "exec-phentsize", exec_phentsize, ENDS(ENOEXEC), "ELF, wrong size of program headers" },
	{ "exec-phoff", exec_phoff, ENDS(ENOEXEC), "ELF, program headers beyond the end" },
	{ "exec-kernel-segment", exec_kernel_segment, DIES(SIGSEGV), "ELF, segment in the kernel" },
	{ "exec-huge-segment", exec_huge_segment, DIES(SIGSEGV),
	  "ELF, segment larger than memory" },
	{ "exec-filesz", exec_filesz, DIES(SIGSEGV), "ELF, more bytes in file than in memory" },
	{ "exec-kernel-entry", exec_kernel_entry, DIES(SIGSEGV), "ELF, entry point in the kernel" },
	{ "exec-missing", exec_missing, ENDS(ENOENT), "a file that does not exist" },
	{ "exec-directory", exec_directory, ENDS(EACCES), "a directory" },
	{ "exec-device", exec_device, ENDS(EACCES), "a device" },
	{ "exec-empty-path", exec_empty_path, ENDS(ENOENT), "the empty path" },
	{ "exec-interpreter", exec_missing_interpreter, ENDS(ENOENT),
	  "script, interpreter missing" },
	{ "exec-self", exec_own_interpreter, ENDS(ELOOP), "script that is its own interpreter" },
	{ NULL },
};
