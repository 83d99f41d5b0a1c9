/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of writes and their effects, for files in v1, in v2, and in both. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "cgroupcheck/cgroupcheck.h"

/* --- both ------------------------------------------------------------------------------- */

static const struct row idle_rows[] = {
	{ "cpu.idle", NULL, 0, "0" },	   { "cpu.idle", "2", EINVAL, "0" },
	{ "cpu.idle", "-1", EINVAL, "0" }, { "cpu.idle", "abc", EINVAL, "0" },
	{ "cpu.idle", "", 0, "0" },	   { "cpu.idle", "1", 0, "1" },
	{ "cpu.idle", "1", 0, "1" },	   { "cpu.idle", "2", EINVAL, "1" },
	{ "cpu.idle", "0\n", 0, "0" },	   { NULL, NULL, 0, NULL },
};

static void idle(void)
{
	check_in_group(&v1, idle_rows);
	check_in_group(&v2, idle_rows);
}

/* --- v1 --------------------------------------------------------------------------------- */

static const struct row share_rows[] = {
	{ "cpu.shares", NULL, 0, "1024" },
	{ "cpu.shares", "2048", 0, "2048" },
	{ "cpu.shares", "3\n", 0, "3" },
	{ "cpu.shares", "0", 0, "2" },
	{ "cpu.shares", "512", 0, "512" },
	{ "cpu.shares", "1", 0, "2" },
	{ "cpu.shares", "262144", 0, "262144" },
	{ "cpu.shares", "1000000", 0, "262144" },
	{ "cpu.shares", "18446744073709551615", 0, "262144" },
	{ "cpu.shares", "100", 0, "100" },
	{ "cpu.shares", "18446744073709551616", ERANGE, "100" },
	{ "cpu.shares", "-1", EINVAL, "100" },
	{ "cpu.shares", "abc", EINVAL, "100" },
	{ "cpu.shares", "200 ", EINVAL, "100" },
	{ "cpu.shares", " 200", EINVAL, "100" },
	{ "cpu.shares", "200\n\n", EINVAL, "100" },
	{ "cpu.shares", "\n", EINVAL, "100" },
	{ "cpu.shares", "", 0, "100" },
	{ "cpu.shares", "+200", 0, "200" },
	{ "cpu.shares", "0x20", 0, "32" },
	{ "cpu.shares", "017", 0, "15" },
	{ "cpu.idle", "1", 0, "1" },
	{ "cpu.shares", NULL, 0, "3" },
	{ "cpu.shares", "100", EINVAL, "3" },
	{ "cpu.idle", "0", 0, "0" },
	{ "cpu.shares", NULL, 0, "1024" },
	{ NULL, NULL, 0, NULL },
};

static void shares(void)
{
	check_in_group(&v1, share_rows);
}

static const struct row bandwidth_rows[] = {
	{ "cpu.cfs_quota_us", NULL, 0, "-1" },
	{ "cpu.cfs_period_us", NULL, 0, "100000" },
	{ "cpu.cfs_burst_us", NULL, 0, "0" },
	{ "cpu.cfs_quota_us", "20000", 0, "20000" },
	{ "cpu.cfs_period_us", "50000", 0, "50000" },
	{ "cpu.cfs_burst_us", "30000", EINVAL, "0" },
	{ "cpu.cfs_burst_us", "20000", 0, "20000" },
	{ "cpu.cfs_quota_us", "10000", EINVAL, "20000" },
	{ "cpu.cfs_burst_us", "-1", EINVAL, "20000" },
	{ "cpu.cfs_burst_us", "abc", EINVAL, "20000" },
	{ "cpu.cfs_burst_us", "18446744073709551615", EINVAL, "20000" },
	{ "cpu.cfs_burst_us", "0", 0, "0" },
	{ "cpu.cfs_quota_us", "10000", 0, "10000" },
	{ "cpu.cfs_burst_us", "10000", 0, "10000" },
	{ "cpu.cfs_burst_us", "0", 0, "0" },
	{ "cpu.cfs_quota_us", "0", EINVAL, "10000" },
	{ "cpu.cfs_quota_us", "999", EINVAL, "10000" },
	{ "cpu.cfs_quota_us", "abc", EINVAL, "10000" },
	{ "cpu.cfs_quota_us", "", 0, "10000" },
	{ "cpu.cfs_quota_us", "17592186044416", EINVAL, "10000" },
	{ "cpu.cfs_quota_us", "18000000000000000", EINVAL, "10000" },
	{ "cpu.cfs_quota_us", "100000000000000000", EINVAL, "10000" },
	{ "cpu.cfs_quota_us", "99999999999999999999", ERANGE, "10000" },
	{ "cpu.cfs_period_us", "0", EINVAL, "50000" },
	{ "cpu.cfs_period_us", "999", EINVAL, "50000" },
	{ "cpu.cfs_period_us", "1000001", EINVAL, "50000" },
	{ "cpu.cfs_period_us", "-1", EINVAL, "50000" },
	{ "cpu.cfs_period_us", "abc", EINVAL, "50000" },
	{ "cpu.cfs_period_us", "18446744073709551615", EINVAL, "50000" },
	{ "cpu.cfs_period_us", "18446744073709551616", ERANGE, "50000" },
	{ "cpu.cfs_period_us", "1000000", 0, "1000000" },
	{ "cpu.cfs_period_us", "1000", 0, "1000" },
	{ "cpu.cfs_quota_us", "1000", 0, "1000" },
	{ "cpu.cfs_quota_us", "17592186044415", 0, "17592186044415" },
	{ "cpu.cfs_burst_us", "1", EINVAL, "0" }, /* their sum is too large */
	{ "cpu.cfs_quota_us", "-5", 0, "-1" },
	{ "cpu.cfs_burst_us", "99999", 0, "99999" },  /* not looked at without a quota ... */
	{ "cpu.cfs_quota_us", "5000", EINVAL, "-1" }, /* ... but with one */
	{ "cpu.cfs_burst_us", "18446744073709551", 0, "18446744073709551" },
	{ "cpu.cfs_burst_us", "0", 0, "0" },
	{ "cpu.cfs_quota_us", "5000", 0, "5000" },
	{ NULL, NULL, 0, NULL },
};

static void bandwidth(void)
{
	check_in_group(&v1, bandwidth_rows);
}

static const struct row root_rows[] = {
	{ "cpu.shares", "1024", EINVAL, "1024" },
	{ "cpu.idle", "0", EINVAL, "0" },
	{ "cpu.idle", "1", EINVAL, "0" },
	{ "cpu.cfs_quota_us", "-1", EINVAL, "-1" },
	{ "cpu.cfs_quota_us", "50000", EINVAL, "-1" },
	{ "cpu.cfs_period_us", "100000", EINVAL, "100000" },
	{ "cpu.cfs_burst_us", "0", EINVAL, "0" },
	{ NULL, NULL, 0, NULL },
};

static void root_is_fixed(void)
{
	v1.enter();
	check_rows(root_rows);
	v1.leave();
}

/* --- v2 --------------------------------------------------------------------------------- */

static const struct row weight_rows[] = {
	{ "cpu.weight", NULL, 0, "100" },
	{ "cpu.weight.nice", NULL, 0, "0" },
	{ "cpu.weight", "0", ERANGE, "100" },
	{ "cpu.weight", "10001", ERANGE, "100" },
	{ "cpu.weight", "18446744073709551616", ERANGE, "100" },
	{ "cpu.weight", "-1", EINVAL, "100" },
	{ "cpu.weight", "abc", EINVAL, "100" },
	{ "cpu.weight", "200 ", EINVAL, "100" },
	{ "cpu.weight", " 5", EINVAL, "100" },
	{ "cpu.weight", "", 0, "100" },
	{ "cpu.weight", "1", 0, "1" },
	{ "cpu.weight", "10000", 0, "10000" },
	{ "cpu.weight", "200\n", 0, "200" },
	{ "cpu.weight", "+7", 0, "7" },
	{ "cpu.weight", "0x10", 0, "16" },
	{ "cpu.weight.nice", "-21", ERANGE, "8" },
	{ "cpu.weight.nice", "20", ERANGE, "8" },
	{ "cpu.weight.nice", "abc", EINVAL, "8" },
	{ "cpu.weight.nice", "5 ", EINVAL, "8" },
	{ "cpu.weight.nice", "", 0, "8" },
	{ "cpu.idle", "1", 0, "1" },
	{ "cpu.weight", NULL, 0, "0" },
	{ "cpu.weight.nice", NULL, 0, "19" },
	{ "cpu.weight", "100", EINVAL, "0" },
	{ "cpu.weight.nice", "0", EINVAL, "19" },
	{ "cpu.idle", "0", 0, "0" },
	{ "cpu.weight", NULL, 0, "100" },
	{ NULL, NULL, 0, NULL },
};

/* Each of the two files shows what was written to the other. */
static void check_weights(void)
{
	static const struct {
		int nice, weight;
	} by_nice[] = { { -20, 8668 }, { -19, 7007 }, { -15, 2847 }, { -10, 932 },
			{ -5, 305 },   { -1, 125 },   { 0, 100 },    { 1, 80 },
			{ 5, 33 },     { 10, 11 },    { 15, 4 },     { 19, 1 } },
	  by_weight[] = { { 19, 1 },	 { 18, 2 },	{ 16, 3 },     { 10, 10 },
			  { 3, 50 },	 { 0, 99 },	{ 0, 100 },    { 0, 101 },
			  { -10, 1000 }, { -17, 5000 }, { -20, 10000 } };
	char text[16];
	unsigned i;

	for (i = 0; i < sizeof(by_nice) / sizeof(by_nice[0]); i++) {
		EXPECT(!put_number("cpu.weight.nice", by_nice[i].nice));
		snprintf(text, sizeof(text), "%d", by_nice[i].nice);
		EXPECT(reads("cpu.weight.nice", text));
		snprintf(text, sizeof(text), "%d", by_nice[i].weight);
		EXPECT(reads("cpu.weight", text));
	}
	for (i = 0; i < sizeof(by_weight) / sizeof(by_weight[0]); i++) {
		EXPECT(!put_number("cpu.weight", by_weight[i].weight));
		snprintf(text, sizeof(text), "%d", by_weight[i].nice);
		EXPECT(reads("cpu.weight.nice", text));
	}
}

static void weights(void)
{
	check_in_group(&v2, weight_rows);
	in_group(&v2, check_weights);
}

static const struct row max_rows[] = {
	{ "cpu.max", NULL, 0, "max 100000" },
	{ "cpu.max.burst", NULL, 0, "0" },
	{ "cpu.max", "20000 50000", 0, "20000 50000" },
	{ "cpu.max", "999", EINVAL, "20000 50000" },
	{ "cpu.max", "1000 999", EINVAL, "20000 50000" },
	{ "cpu.max", "1000 1000001", EINVAL, "20000 50000" },
	{ "cpu.max", "0", EINVAL, "20000 50000" },
	{ "cpu.max", "-1", EINVAL, "20000 50000" },
	{ "cpu.max", "abc", EINVAL, "20000 50000" },
	{ "cpu.max", "MAX", EINVAL, "20000 50000" },
	{ "cpu.max", "maxx", EINVAL, "20000 50000" },
	{ "cpu.max", "max 5", EINVAL, "20000 50000" },
	{ "cpu.max", "0x10000", EINVAL, "20000 50000" },
	{ "cpu.max", "18446744073709551615", EINVAL, "20000 50000" },
	{ "cpu.max", "17592186044416", EINVAL, "20000 50000" },
	{ "cpu.max", " ", EINVAL, "20000 50000" },
	{ "cpu.max", "", 0, "20000 50000" },
	{ "cpu.max", "50000 abc", 0, "50000 50000" },
	{ "cpu.max", "max max", 0, "max 50000" },
	{ "cpu.max", "5000 50000 7", 0, "5000 50000" },
	{ "cpu.max", " 6000", 0, "6000 50000" },
	{ "cpu.max", "7000x", 0, "7000 50000" },
	{ "cpu.max", "8000 60000x", 0, "8000 60000" },
	{ "cpu.max", "010000\t50000\n", 0, "10000 50000" },
	{ "cpu.max", "17592186044415", 0, "17592186044415 50000" },
	{ "cpu.max", "max 200000", 0, "max 200000" },
	{ "cpu.max", "10000 -1", 0, "10000 200000" },
	{ "cpu.max", "20000 50000", 0, "20000 50000" },
	{ "cpu.max.burst", "25000", EINVAL, "0" },
	{ "cpu.max.burst", "20000", 0, "20000" },
	{ "cpu.max.burst", "-1", EINVAL, "20000" },
	{ "cpu.max.burst", "abc", EINVAL, "20000" },
	{ "cpu.max.burst", "max", EINVAL, "20000" },
	{ "cpu.max.burst", "", 0, "20000" },
	{ "cpu.max.burst", "0", 0, "0" },
	{ "cpu.max", "max", 0, "max 50000" },
	{ "cpu.max.burst", "25000", 0, "25000" },
	{ "cpu.max", "20000 50000", EINVAL, "max 50000" },
	{ "cpu.max.burst", "0", 0, "0" },
	{ NULL, NULL, 0, NULL },
};

static void limits(void)
{
	check_in_group(&v2, max_rows);
}

const struct check row_tests[] = {
	{ "idle", idle },
	{ "v1_shares", shares },
	{ "v1_bandwidth", bandwidth },
	{ "v1_root", root_is_fixed },
	{ "v2_weights", weights },
	{ "v2_max", limits },
	{ NULL, NULL },
};
