/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a Linux with sched_ext: load a scheduler, run a command under it, take it out again. The
 * scheduler is an object of `make scx-linux`; its constants are set by name.
 *
 *	attach FILE.bpf.o [NAME=VALUE]... -- COMMAND [WORD]...
 *
 * Returns the command's status; 2 and a sentence if Linux does not take the scheduler.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *about, const char *says)
{
	fprintf(stderr, "attach: %s: %s\n", about, says);
	exit(2);
}

/* The place of the constant @name in the initial value of @map, and its size; or NULL. */
static void *find_constant(const struct btf *btf, struct bpf_map *map, const char *name,
			   size_t *size)
{
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *type = btf__type_by_id(btf, (unsigned int)section);
	char *values = map ? bpf_map__initial_value(map, size) : NULL;

	for (int i = 0; values && section > 0 && i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *var = &btf_var_secinfos(type)[i];
		const char *called =
			btf__name_by_offset(btf, btf__type_by_id(btf, var->type)->name_off);

		*size = var->size;
		if (!strcmp(called, name))
			return values + var->offset;
	}
	return NULL;
}

static void set_constant(struct bpf_object *object, char *setting)
{
	char *value = strchr(setting, '=');
	long long number;
	size_t size;
	void *place;

	if (!value)
		fail(setting, "NAME=VALUE or -- is expected");
	*value++ = '\0';
	number = strtoll(value, NULL, 0);
	place = find_constant(bpf_object__btf(object),
			      bpf_object__find_map_by_name(object, ".rodata"), setting, &size);
	if (!place || size > sizeof(number))
		fail(setting, "the scheduler has no such constant");
	memcpy(place, &number, size); /* the least significant byte is the first */
}

static int run(char **command)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(*command, command);
		fail(*command, "it cannot be run");
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail(*command, "it was not run");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 3 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_link *link = NULL;
	struct bpf_map *map;
	char **word = argv + 2;

	if (!object)
		fail(argc > 1 ? argv[1] : "FILE",
		     "an object, and after -- a command, are expected");
	for (; *word && strcmp(*word, "--") != 0; word++)
		set_constant(object, *word);
	if (!*word || !word[1])
		fail("--", "a command is expected after it");
	if (bpf_object__load(object))
		fail(argv[1], "Linux does not load it");
	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
			link = bpf_map__attach_struct_ops(map);
	}
	if (!link)
		fail(argv[1], "Linux does not take it as a scheduler");
	argc = run(word + 1);
	bpf_link__destroy(link);
	bpf_object__close(object);
	return argc;
}
