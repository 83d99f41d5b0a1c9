/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The option table's interpreter: see args.h. Accepts -n5, -n 5, --name=5, --name 5, joined flags
 * (-Tp) and "--". Options stop at the first operand, so that a program may take a command with
 * options of its own.
 */
#include "lib/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *value_name(enum arg_type type)
{
	switch (type) {
	case ARG_INT:
		return " N";
	case ARG_NS:
		return " NS";
	case ARG_TIME:
		return " TIME";
	case ARG_CPUS:
		return " CPUS";
	case ARG_NICES:
		return " NICE,...";
	case ARG_POLICY:
		return " POLICY";
	default:
		return "";
	}
}

static bool is_end(const struct arg *arg)
{
	return !arg->letter && !arg->name;
}

static void print_option(const struct arg *arg)
{
	char left[48];

	snprintf(left, sizeof(left), "%c%c%s%s%s%s", arg->letter ? '-' : ' ',
		 arg->letter ? arg->letter : ' ', arg->letter && arg->name ? ", " : "  ",
		 arg->name ? "--" : "", arg->name ? arg->name : "", value_name(arg->type));
	printf("  %-26s %s\n", left, arg->help);
}

static _Noreturn void print_usage(const struct program *program)
{
	const struct arg *arg;

	printf("Usage: %s [options]%s%s\n%s\n\n", program->name, program->operands ? " " : "",
	       program->operands ? program->operands : "", program->purpose);
	for (arg = program->args; !is_end(arg); arg++)
		print_option(arg);
	printf("  %-26s %s\n", "    --help", "show this text");
	printf("\nTIME is a number and a unit: 500ns 250us 1.5ms 2s.\n"
	       "POLICY is other, batch, idle, fifo:PRIO or rr:PRIO.\n");
	exit(0);
}

void usage_error(const struct program *program, const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program->name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, " (try %s --help)\n", program->name);
	exit(2);
}

void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

void exec_command(const struct program *program, char **argv)
{
	int error;

	execvp(argv[0], argv);
	error = errno;
	fprintf(stderr, "%s: %s: %s\n", program->name, argv[0], strerror(error));
	exit(error == ENOENT ? 127 : 126);
}

bool parse_int(const char *text, int min, int max, int *out)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || *end || errno || value < min || value > max)
		return false;
	*out = value;
	return true;
}

bool parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double value = strtod(text, &end);
	unsigned i;

	if (end == text || !(value >= 0))
		return false;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name) && value * units[i].ns < 1e18) {
			*ns = value * units[i].ns + 0.5;
			return true;
		}
	return false;
}

static bool parse_ns(const char *text, uint64_t *ns)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return false;
	*ns = value;
	return true;
}

static void store_value(const struct program *p, const struct arg *arg, const char *option,
			const char *text)
{
	switch (arg->type) {
	case ARG_INT:
		if (!parse_int(text, arg->min, arg->max, arg->value))
			usage_error(p, "%s wants a number from %d to %d, not '%s'", option,
				    arg->min, arg->max, text);
		break;
	case ARG_NS:
		if (!parse_ns(text, arg->value))
			usage_error(p, "%s wants a number of ns, not '%s'", option, text);
		break;
	case ARG_TIME:
		if (!parse_time(text, arg->value))
			usage_error(p, "%s wants a time such as 10ms, not '%s'", option, text);
		break;
	case ARG_CPUS:
		if (!parse_cpus(text, arg->value))
			usage_error(p, "%s wants CPUs such as 0-2,5, not '%s'", option, text);
		break;
	case ARG_NICES:
		if (!parse_nices(text, arg->value))
			usage_error(p, "%s wants nice values (-20..19) such as 0,5,10, not '%s'",
				    option, text);
		break;
	case ARG_POLICY:
		if (!parse_policy(text, arg->value))
			usage_error(p,
				    "%s wants other, batch, idle, fifo:1..99 or rr:1..99, not '%s'",
				    option, text);
		break;
	case ARG_FLAG:
		*(bool *)arg->value = true;
		break;
	}
}

/* --name, --name=value, --name value. Returns how many words of argv were used. */
static int parse_long(const struct program *p, char **argv)
{
	const char *name = argv[0] + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct arg *arg;

	if (!strcmp(name, "help"))
		print_usage(p);
	for (arg = p->args; !is_end(arg); arg++) {
		if (!arg->name || strlen(arg->name) != len || strncmp(arg->name, name, len))
			continue;
		if (arg->type == ARG_FLAG && equals)
			usage_error(p, "--%s takes no value", arg->name);
		if (arg->type != ARG_FLAG && !equals && !argv[1])
			usage_error(p, "%s needs a value", argv[0]);
		store_value(p, arg, argv[0], equals ? equals + 1 : argv[1]);
		return arg->type == ARG_FLAG || equals ? 1 : 2;
	}
	usage_error(p, "unknown option %s", argv[0]);
}

/* One word of short options: -v, -n5, -n 5, -vn5. Returns how many words of argv were used. */
static int parse_short(const struct program *p, char **argv)
{
	const struct arg *arg;
	const char *c;

	for (c = argv[0] + 1; *c; c++) {
		char option[3] = { '-', *c, 0 };

		for (arg = p->args; !is_end(arg) && arg->letter != *c; arg++)
			;
		if (is_end(arg))
			usage_error(p, "unknown option %s", option);
		if (arg->type == ARG_FLAG) {
			store_value(p, arg, option, NULL);
			continue;
		}
		if (!c[1] && !argv[1])
			usage_error(p, "%s needs a value", option);
		store_value(p, arg, option, c[1] ? c + 1 : argv[1]);
		return c[1] ? 1 : 2;
	}
	return 1;
}

int parse_args(const struct program *program, int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		i += argv[i][1] == '-' ? parse_long(program, argv + i)
				       : parse_short(program, argv + i);
	}
	if (i < argc && !program->operands)
		usage_error(program, "unexpected operand '%s'", argv[i]);
	return i;
}
