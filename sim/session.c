/* SPDX-License-Identifier: GPL-2.0-only */
/* One run in steps; session.h says what for. */
#include <errno.h>
#include <string.h>

#include "sim/engine/output.h"
#include "sim/engine/plugin.h"
#include "sim/policy/policy.h"
#include "sim/report/decisions.h"
#include "sim/scx/scx.h"
#include "sim/session.h"
#include "sim/setup.h"

#define MAX_WORDS 200

static struct session {
	struct options options;
	struct machine_desc machine;
	struct workload workload;
	struct report report;
	struct sim *sim;
	struct decision_file *decisions;
	struct sim_listener listener;
	FILE *events;
	u64 nr, stop_at; /* decisions made; 0: no end */
} session;

static char *room;

char *session_room(u32 size)
{
	if (!size)
		return room;
	free(room);
	room = allocate(size + 1, 1);
	return room;
}

/* --- what happens ----------------------------------------------------------------------------- */

static u64 moment(const struct sim *sim)
{
	return sim->now - SIM_START;
}

static void put_event(struct session_event e)
{
	if (session.events)
		fwrite(&e, sizeof(e), 1, session.events);
}

/* Tells the averages of @t as they were when they were last brought up to date: about now. */
static void put_averages(const struct sim *sim, const struct task *t)
{
	const struct pelt *avg = &t->fair.avg;

	if (t->pid)
		put_event(
			(struct session_event){ .time = sim_record_time(sim),
						.kind = SESSION_AVERAGES,
						.pid = t->pid,
						.numbers = { (u32)avg->util_avg, (u32)avg->load_avg,
							     (u32)avg->runnable_avg } });
}

static void note_event(struct sim_listener *listener, struct sim *sim,
		       const struct sched_event *event)
{
	(void)listener;
	if (!decisions_is_record(event->type))
		return;
	if (event->type == EVENT_ID_sched_decision_charge)
		put_averages(sim, sched_current(sim->s, sim->this_cpu));
	session.nr++;
	if (session.stop_at && session.nr >= session.stop_at)
		sim->stopped = true;
}

static void note_switch(struct sim_listener *listener, struct sim *sim, struct sim_task *prev,
			struct sim_task *next)
{
	(void)listener;
	put_averages(sim, &prev->task);
	put_averages(sim, &next->task);
	put_event((struct session_event){
		.time = sim_record_time(sim),
		.kind = SESSION_SWITCH,
		.cpu = (u16)sim->this_cpu,
		.pid = prev->task.pid,
		.numbers = { (u32)prev->task.state, (u32)next->task.pid } });
}

static void note_runnable(struct sim_listener *listener, struct sim *sim, struct sim_task *t,
			  bool is_new)
{
	struct session_event name = { .kind = SESSION_NAME, .pid = t->task.pid };
	u32 waker = sim->in_interrupt ? 0 : (u32)sim->cpus[sim->this_cpu].curr->task.pid;

	(void)listener;
	if (is_new) {
		memcpy(name.name, t->task.comm, sizeof(name.name));
		put_event(name);
	}
	put_event((struct session_event){ .time = sim_record_time(sim),
					  .kind = SESSION_RUNNABLE,
					  .cpu = (u16)sim->this_cpu,
					  .pid = t->task.pid,
					  .numbers = { t->row, waker } });
}

/* --- from the first to the last call ---------------------------------------------------------- */

static void split(char **words, u32 nr)
{
	char *at = room;

	if (nr > MAX_WORDS)
		usage_error("more than %u words", MAX_WORDS);
	for (u32 i = 0; i < nr; i++, at += strlen(at) + 1)
		words[i] = strdup(at);
	words[nr] = NULL;
}

static void check_options(const struct options *o)
{
	if (o->bench || o->explain || o->swap || o->json || o->trace || o->schedstat)
		usage_error("a run in steps writes decisions and nothing else");
}

static void flush(void)
{
	if (session.decisions)
		decisions_flush(session.decisions);
	if (session.events)
		fflush(session.events);
	fflush(stdout);
}

void session_open(int nr)
{
	static char *words[MAX_WORDS + 2];
	struct session *s = &session;
	const char **policies, *events;

	split(words, (u32)nr + 1);
	events = words[nr];
	words[nr] = NULL;
	s->options = parse_options(nr, words);
	check_options(&s->options);
	s->machine = setup_machine(&s->options);
	s->workload = setup_workload(&s->options, s->machine.nr_cpus);
	policies = setup_policies(&s->options);
	if (policies[1])
		usage_error("a run in steps is of one policy: name it with --sched");
	s->report = (struct report){ .out = stdout,
				     .options = &s->options,
				     .machine = &s->machine,
				     .workload = &s->workload,
				     .duration = setup_duration(&s->options, &s->workload) };
	s->sim = setup_sim(&s->options, &s->machine, policies[0]);
	sched_tunable_write(s->sim->s, "sched_schedstats", "1", 1);
	setup_apply(s->sim, &s->options, &s->machine);
	if (scx_name())
		scx_load(s->sim);
	if (*events)
		s->events = output_create("events", events);
	if (s->options.decisions)
		s->decisions = decisions_open(s->sim, &s->report, setup_label(policies[0]),
					      s->options.decisions);
	s->listener = (struct sim_listener){ .event = note_event,
					     .switched = note_switch,
					     .runnable = note_runnable };
	sim_listen(s->sim, &s->listener);
	setup_start(s->sim, &s->workload);
	free(policies);
	flush();
}

int session_run(u64 time, u64 decisions)
{
	struct session *s = &session;
	u64 until = SIM_START + min(time, s->report.duration);
	bool good = true;

	s->sim->stopped = false;
	s->stop_at = decisions ? s->nr + decisions : 0;
	if (until > s->sim->now)
		good = sim_run(s->sim, until);
	flush();
	if (!good) {
		fprintf(stderr, "schedsim: at %llu ns: %s\n", (unsigned long long)session_now(),
			s->sim->failure);
		return SESSION_FAILED;
	}
	if (s->sim->stopped)
		return SESSION_DECISION;
	return session_now() >= s->report.duration ? SESSION_END : SESSION_TIME;
}

u64 session_now(void)
{
	return moment(session.sim);
}

u64 session_length(void)
{
	return session.report.duration;
}

/* Reading what groups got brings running tasks up to date, which is a decision ("charge"). */
static void read_groups(void)
{
	struct task_group_stat stat;

	for (u32 i = 0; i < session.workload.nr_groups; i++)
		task_group_stat(session.sim->s, session.sim->groups[i].tg, &stat);
}

void session_ideal(void)
{
	const struct workload *w = &session.workload;

	setup_ideal(&session.options, &session.machine, &session.workload, session.report.duration);
	for (u32 i = 0; i < w->nr_rows; i++) {
		fprintf(stdout, "%s{\"name\": ", i ? ", " : "[");
		json_string(stdout, workload_row(w, i)->name);
		fprintf(stdout, ", \"ideal_ns\": %llu}", (unsigned long long)w->row_ideal_ns[i]);
	}
	fputs("]\n", stdout);
	fflush(stdout);
}

void session_export(void)
{
	recipe_export(recipe_load("--plugin", room), stdout);
	fflush(stdout);
}

void session_close(void)
{
	read_groups();
	if (session.decisions)
		decisions_close(session.decisions);
	if (session.events)
		fclose(session.events);
	session.decisions = NULL;
	session.events = NULL;
	fflush(stdout);
}

/* --- changes in the middle -------------------------------------------------------------------- */

static void enter(void)
{
	sim_select(session.sim);
	sim_enter(session.sim, 0);
}

static int leave(int error)
{
	sim_leave(session.sim);
	flush();
	return error;
}

int session_set(void)
{
	char *equals = strchr(room, '=');
	int error;

	if (!equals)
		return -EINVAL;
	*equals++ = '\0';
	enter();
	error = sched_tunable_write(session.sim->s, room, equals, strlen(equals));
	return leave(min(error, 0));
}

int session_policy(void)
{
	int error = setup_swap(session.sim, room);

	flush();
	return error;
}

int session_nice(int pid, int nice)
{
	struct sched_attr_req req;
	struct sim_task *t;

	if (nice < -20 || nice > 19)
		return -EINVAL;
	list_for_each(t, &session.sim->tasks, link) {
		if (t->task.pid != pid)
			continue;
		sched_get_attr(&t->task, &req);
		req.nice = nice;
		enter();
		return leave(sim_set_attr(session.sim, t, &req));
	}
	return -ESRCH;
}

/* --- the sentences of rules ------------------------------------------------------------------- */

#define SENTENCE(number, name, sentence) { #name, sentence },
#define FAMILY(name, list)                                                                         \
	{                                                                                          \
		name, (const struct sentence[])                                                    \
		{                                                                                  \
			list(SENTENCE)                                                             \
			{                                                                          \
				NULL, NULL                                                         \
			}                                                                          \
		}                                                                                  \
	}

void session_rules(void)
{
	struct sentence {
		const char *rule, *text;
	};
	const struct {
		const char *name;
		const struct sentence *rules;
	} families[] = {
		FAMILY("fair", DECISION_RULES), FAMILY("aim", AIM_RULES),
		FAMILY("select", CPU_RULES),	FAMILY("balance", BALANCE_RULES),
		FAMILY("class", CLASS_RULES),	FAMILY("quota", QUOTA_RULES),
	};

	for (u32 i = 0; i < ARRAY_SIZE(families); i++) {
		printf("%s\"%s\": {", i ? ", " : "{", families[i].name);
		for (const struct sentence *s = families[i].rules; s->rule; s++) {
			printf("%s\"%s\": ", s == families[i].rules ? "" : ", ", s->rule);
			json_string(stdout, s->text);
		}
		putchar('}');
	}
	puts("}");
	fflush(stdout);
}

void session_policies(void)
{
	policies_print();
	fflush(stdout);
}
