/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Teams of processes: see team.h.
 *
 * Each member has a pipe of its own to the parent. It sends one byte when it is set up, then waits
 * for its start time from the gate, a pipe shared by all, and sleeps until that moment. So all
 * members become runnable at the same instant, even on one CPU.
 */
#include "lib/team.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/args.h"
#include "lib/clock.h"

struct member {
	pid_t pid;
	int from; /* what the member says */
};

static bool read_all(int fd, void *buf, size_t size)
{
	char *p = buf;
	ssize_t n;

	for (; size; p += n, size -= n) {
		n = read(fd, p, size);
		if (n <= 0)
			return false;
	}
	return true;
}

static bool write_all(int fd, const void *buf, size_t size)
{
	const char *p = buf;
	ssize_t n;

	for (; size; p += n, size -= n) {
		n = write(fd, p, size);
		if (n <= 0)
			return false;
	}
	return true;
}

static _Noreturn void be_member(int i, const struct team_job *job, int gate, int to)
{
	void *result = calloc(1, job->result_size);
	uint64_t start_ns;

	if (!result)
		die("team member");
	if (job->setup)
		job->setup(i, job->arg);
	if (!write_all(to, "r", 1) || !read_all(gate, &start_ns, sizeof(start_ns)))
		_exit(1);
	sleep_until_ns(start_ns);
	job->run(i, start_ns, job->arg, result);
	_exit(!write_all(to, result, job->result_size));
}

/* Fork member @i. False when out of processes, memory or descriptors. */
static bool start_member(int i, const struct team_job *job, const int gate[2], struct member *m)
{
	int to_parent[2];

	if (pipe(to_parent))
		return false;
	m->pid = fork();
	if (!m->pid) {
		close(gate[1]);
		close(to_parent[0]);
		be_member(i, job, gate[0], to_parent[1]);
	}
	close(to_parent[1]);
	m->from = to_parent[0];
	if (m->pid < 0)
		close(m->from);
	return m->pid > 0;
}

/*
 * The time after @begin_ns at which @nr members that are set up can start. Some wait for the kernel
 * while they are, so the end of that may lie at a tick; with a step the start does not.
 */
static uint64_t start_time(uint64_t begin_ns, uint64_t step_ns, int nr)
{
	uint64_t start_ns = now_ns() + NS_PER_MS + nr * 50 * NS_PER_US;

	if (step_ns)
		start_ns = begin_ns + ((start_ns - begin_ns) / step_ns + 1) * step_ns;
	return start_ns;
}

/* Wait until all members are set up, then give every one the same start time. */
static bool open_gate(int gate, const struct member *members, int nr, uint64_t begin_ns,
		      uint64_t step_ns)
{
	uint64_t start_ns;
	char ready;
	int i;

	for (i = 0; i < nr; i++)
		if (!read_all(members[i].from, &ready, 1))
			return false;
	start_ns = start_time(begin_ns, step_ns, nr);
	for (i = 0; i < nr; i++)
		if (!write_all(gate, &start_ns, sizeof(start_ns)))
			return false;
	return true;
}

int run_team(int nr, const struct team_job *job, void *results)
{
	struct member *members = calloc(nr, sizeof(*members));
	uint64_t begin_ns = now_ns();
	int gate[2], i, started = 0;
	bool ok;

	if (!members || pipe(gate))
		die("team");
	fflush(stdout);
	while (started < nr && start_member(started, job, gate, &members[started]))
		started++;
	ok = started == nr && open_gate(gate[1], members, nr, begin_ns, job->step_ns);
	close(gate[0]);
	close(gate[1]);
	for (i = 0; i < started; i++) {
		if (ok)
			ok = read_all(members[i].from, (char *)results + i * job->result_size,
				      job->result_size);
		if (!ok)
			kill(members[i].pid, SIGKILL);
		close(members[i].from);
		waitpid(members[i].pid, NULL, 0);
	}
	free(members);
	return ok ? 0 : -1;
}
