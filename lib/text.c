/* SPDX-License-Identifier: GPL-2.0-only */
/* String functions beyond the C standard: copying, patterns, numbers; see string.h. */
#include "lib/string.h"
#include "lib/errno.h"

size_t str_copy(char *dst, const char *src, size_t size)
{
	size_t n = strlen(src);

	if (size) {
		size_t kept = min(n, size - 1);

		memcpy(dst, src, kept);
		dst[kept] = '\0';
	}
	return n;
}

/*
 * Backtracks to the latest '*' only: a match that uses an earlier one exists iff one with the
 * latest does.
 */
bool str_glob(const char *pattern, const char *name)
{
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			resume = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++, name++;
		} else if (star) {
			pattern = star + 1;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return 16;
}

/* Digits only; @text[0..len) is not empty. */
static int parse_digits(const char *text, size_t len, unsigned base, u64 *out)
{
	u64 value = 0;

	for (; len; text++, len--) {
		unsigned digit = (unsigned)digit_value(*text);

		if (digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(value, (u64)base, &value) ||
		    __builtin_add_overflow(value, (u64)digit, &value))
			return -ERANGE;
	}
	*out = value;
	return 0;
}

static int parse_magnitude(const char *text, size_t len, u64 *out)
{
	unsigned base = 10;

	if (len > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		text += 2, len -= 2;
	} else if (len > 1 && text[0] == '0') {
		base = 8;
		text++, len--;
	}
	return len ? parse_digits(text, len, base, out) : -EINVAL;
}

bool read_decimal(const char **at, const char *end, u64 most, u64 *out)
{
	const char *from = *at;

	*out = 0;
	for (; *at < end && **at >= '0' && **at <= '9' && *out <= most; ++*at)
		*out = 10 * *out + (u64)(**at - '0');
	return *at != from && *out <= most;
}

int parse_u64(const char *text, size_t len, u64 *out)
{
	if (len && text[len - 1] == '\n')
		len--;
	if (len && *text == '+')
		text++, len--;
	return parse_magnitude(text, len, out);
}

int parse_bool(const char *text, size_t len, bool *out)
{
	u64 value;

	if (parse_u64(text, len, &value) || value > 1)
		return -EINVAL;
	*out = value;
	return 0;
}

int parse_s64(const char *text, size_t len, s64 *out)
{
	bool negative = len && *text == '-';
	u64 magnitude;
	int err = parse_u64(text + negative, len - negative, &magnitude);

	if (err)
		return err;
	if (magnitude > (u64)INT64_MAX + negative)
		return -ERANGE;
	*out = negative ? (s64)(0 - magnitude) : (s64)magnitude;
	return 0;
}
