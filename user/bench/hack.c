/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hack: groups of senders and receivers that flood each other with small messages, after the
 * example of hackbench. In a group of F senders and F receivers every sender passes L messages to
 * every receiver, so a run is groups * F * F * L messages, and nearly every one wakes somebody.
 * Under the name hackbench it has hackbench's defaults: messages go through sockets.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"
#include "lib/threads.h"

static int nr_groups = 10, nr_fds = 20, nr_loops = 100, message_size = 100;
static bool use_sockets, use_pipes, use_threads, use_processes, use_fifo;

static const struct arg args[] = {
	{ 'g', "groups", ARG_INT, &nr_groups, "number of groups (default 10)", 1, 10000 },
	{ 'f', "fds", ARG_INT, &nr_fds, "senders, and receivers, in a group (default 20)", 1,
	  1000 },
	{ 'l', "loops", ARG_INT, &nr_loops,
	  "messages from each sender to each receiver (default 100)", 1, 1000000000 },
	{ 's', "datasize", ARG_INT, &message_size, "bytes in a message (default 100)", 1, 1 << 20 },
	{ 'p', "pipe", ARG_FLAG, &use_pipes, "through pipes (default of hack)" },
	{ 'S', "sockets", ARG_FLAG, &use_sockets,
	  "through Unix socket pairs (default of hackbench)" },
	{ 'P', "process", ARG_FLAG, &use_processes, "as processes (default)" },
	{ 'T', "threads", ARG_FLAG, &use_threads, "as threads of one process" },
	{ 'F', "fifo", ARG_FLAG, &use_fifo, "at SCHED_FIFO priority 1" },
	{ 0 },
};

static const struct program program = {
	"hack",
	"Pass messages between groups of senders and receivers; report the time.",
	NULL,
	args,
};

/* A channel's two ends; channel[i] of a group ends at receiver i. */
struct channel {
	int read_fd, write_fd;
};

struct actor {
	const struct channel *channel; /* receiver: its own; sender: all of the group */
	bool sender;
	pthread_t thread;
};

static int ready[2], gate[2];

static void make_pipe(int fd[2])
{
	if (pipe(fd))
		die("pipe");
}

static struct channel make_channel(void)
{
	int fd[2];

	if (!use_sockets)
		make_pipe(fd);
	else if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd))
		die("socketpair");
	return (struct channel){ fd[0], fd[1] };
}

/* --- what the actors do -------------------------------------------- */

static void send_message(int fd, const char *message)
{
	ssize_t n, sent;

	for (sent = 0; sent < message_size; sent += n) {
		n = write(fd, message + sent, message_size - sent);
		if (n <= 0)
			die("sender");
	}
}

static void receive_message(int fd, char *message)
{
	ssize_t n, got;

	for (got = 0; got < message_size; got += n) {
		n = read(fd, message + got, message_size - got);
		if (n <= 0)
			die("receiver");
	}
}

/* Tell the parent that this actor is ready, and wait for the start. */
static void wait_for_start(void)
{
	char byte = 0;

	if (write(ready[1], &byte, 1) != 1 || read(gate[0], &byte, 1) != 1)
		die("start");
}

static void *act(void *arg)
{
	const struct actor *actor = arg;
	char *message = calloc(1, message_size);
	int i, j;

	if (!message)
		die("message");
	wait_for_start();
	if (actor->sender)
		for (i = 0; i < nr_loops; i++)
			for (j = 0; j < nr_fds; j++)
				send_message(actor->channel[j].write_fd, message);
	else
		for (i = 0; i < nr_loops * nr_fds; i++)
			receive_message(actor->channel->read_fd, message);
	free(message);
	return NULL;
}

/* --- starting and ending them -------------------------------------- */

static void start_actor(struct actor *actor)
{
	pthread_attr_t attr;
	pid_t pid;

	if (use_threads) {
		small_stack(&attr);
		start_thread(&actor->thread, &attr, act, actor);
		return;
	}
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(gate[1]); /* if the parent fails, the gate ends and so do we */
		act(actor);
		_exit(0);
	}
}

static void start_group(struct actor *actors)
{
	struct channel *channels = calloc(nr_fds, sizeof(*channels));
	int i;

	if (!channels)
		die("group");
	for (i = 0; i < nr_fds; i++) {
		channels[i] = make_channel();
		actors[i] = (struct actor){ .channel = &channels[i], .sender = false };
		actors[nr_fds + i] = (struct actor){ .channel = channels, .sender = true };
	}
	for (i = 0; i < 2 * nr_fds; i++)
		start_actor(&actors[i]);
	for (i = 0; i < nr_fds && !use_threads; i++) {
		close(channels[i].read_fd);
		close(channels[i].write_fd);
	}
}

static bool wait_for_end(const struct actor *actor)
{
	int status;

	if (use_threads)
		return !pthread_join(actor->thread, NULL);
	return wait(&status) > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void pass_bytes(int nr, int fd, bool out)
{
	char byte = 0;

	while (nr--)
		if ((out ? write(fd, &byte, 1) : read(fd, &byte, 1)) != 1)
			die("start");
}

/* Nanoseconds from the start of all actors to the end of the last. */
static uint64_t run(struct actor *actors, int nr_actors)
{
	uint64_t start_ns;
	bool ok = true;
	int i;

	for (i = 0; i < nr_groups; i++)
		start_group(actors + i * 2 * nr_fds);
	pass_bytes(nr_actors, ready[0], false);
	start_ns = now_ns();
	pass_bytes(nr_actors, gate[1], true);
	for (i = 0; i < nr_actors; i++)
		ok &= wait_for_end(&actors[i]);
	if (!ok) {
		fprintf(stderr, "hack: a sender or receiver failed\n");
		exit(1);
	}
	return now_ns() - start_ns;
}

static bool is_hackbench(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, "hackbench");
}

int main(int argc, char **argv)
{
	int nr_actors;
	struct actor *actors;
	double messages;
	uint64_t ns;

	parse_args(&program, argc, argv);
	use_sockets |= is_hackbench(argv[0]) && !use_pipes;
	if ((use_pipes && use_sockets) || (use_threads && use_processes))
		usage_error(&program, "-p and -S exclude each other, and so do -P and -T");
	nr_actors = nr_groups * 2 * nr_fds;
	messages = (double)nr_groups * nr_fds * nr_fds * nr_loops;
	actors = calloc(nr_actors, sizeof(*actors));
	if (!actors)
		die("hack");
	if (use_fifo && set_policy(0, &(struct policy){ SCHED_FIFO, 1 }))
		die("policy fifo");
	make_pipe(ready);
	make_pipe(gate);
	printf("%d group%s of %d senders and %d receivers: %d %s, %s, %d messages of %d bytes on "
	       "each path\n",
	       nr_groups, nr_groups == 1 ? "" : "s", nr_fds, nr_fds, nr_actors,
	       use_threads ? "threads" : "processes", use_sockets ? "sockets" : "pipes", nr_loops,
	       message_size);
	fflush(stdout);
	ns = run(actors, nr_actors);
	printf("%.0f messages, %.0f ns for each\n", messages, ns / messages);
	printf("Time: %.3f\n", ns / 1e9);
	return 0;
}
