/* SPDX-License-Identifier: GPL-2.0-only */
/* Bounded formatting; see fmt.h. One pass, no buffer larger than the digits of a u64 in octal. */
#include "lib/fmt.h"

struct sink {
	char *buf;
	size_t size, len;
};

struct spec {
	bool left, plus, space, alternate, zero;
	int width;
	int precision; /* -1: none */
	int length;    /* bytes of the integer argument */
};

static void put(struct sink *out, char c)
{
	if (out->len + 1 < out->size)
		out->buf[out->len] = c;
	out->len++;
}

static void pad(struct sink *out, char c, int n)
{
	while (n-- > 0)
		put(out, c);
}

static void put_string(struct sink *out, const struct spec *sp, const char *s)
{
	int n = 0;

	if (!s)
		s = "(null)";
	while ((sp->precision < 0 || n < sp->precision) && s[n])
		n++;
	if (!sp->left)
		pad(out, ' ', sp->width - n);
	for (int i = 0; i < n; i++)
		put(out, s[i]);
	if (sp->left)
		pad(out, ' ', sp->width - n);
}

/* @prefix is the sign or "0x"; zero padding goes between it and the digits. */
static void put_number(struct sink *out, const struct spec *sp, u64 value, unsigned base,
		       bool upper, const char *prefix)
{
	const char *alphabet = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char digits[22];
	int n = 0, zeros, prefix_len = 0;

	for (; value; value /= base)
		digits[n++] = alphabet[value % base];
	if (!n && sp->precision != 0)
		digits[n++] = '0';
	while (prefix[prefix_len])
		prefix_len++;
	zeros = max(sp->precision - n, 0);
	if (sp->zero && !sp->left && sp->precision < 0)
		zeros = max(sp->width - prefix_len - n, 0);
	if (!sp->left)
		pad(out, ' ', sp->width - prefix_len - zeros - n);
	for (int i = 0; i < prefix_len; i++)
		put(out, prefix[i]);
	pad(out, '0', zeros);
	for (int i = n; i > 0; i--)
		put(out, digits[i - 1]);
	if (sp->left)
		pad(out, ' ', sp->width - prefix_len - zeros - n);
}

static void put_signed(struct sink *out, const struct spec *sp, s64 value)
{
	const char *sign = value < 0 ? "-" : sp->plus ? "+" : sp->space ? " " : "";

	put_number(out, sp, value < 0 ? 0 - (u64)value : (u64)value, 10, false, sign);
}

static const char *parse_flags(const char *f, struct spec *sp)
{
	for (;; f++) {
		switch (*f) {
		case '-':
			sp->left = true;
			break;
		case '+':
			sp->plus = true;
			break;
		case ' ':
			sp->space = true;
			break;
		case '#':
			sp->alternate = true;
			break;
		case '0':
			sp->zero = true;
			break;
		default:
			return f;
		}
	}
}

static const char *parse_count(const char *f, int *out)
{
	for (*out = 0; *f >= '0' && *f <= '9'; f++)
		*out = *out * 10 + (*f - '0');
	return f;
}

static const char *parse_length(const char *f, struct spec *sp)
{
	sp->length = sizeof(int);
	switch (*f) {
	case 'h':
		sp->length = f[1] == 'h' ? 1 : 2;
		return f + (f[1] == 'h' ? 2 : 1);
	case 'l':
		sp->length = 8;
		return f + (f[1] == 'l' ? 2 : 1);
	case 'z':
	case 't':
		sp->length = sizeof(size_t);
		return f + 1;
	case 'L':
		sp->length = 8;
		return f + 1;
	default:
		return f;
	}
}

static u64 truncate_unsigned(u64 value, int length)
{
	return length == 8 ? value : value & (BIT(length * 8) - 1);
}

static s64 truncate_signed(u64 value, int length)
{
	int shift = 64 - length * 8;

	return (s64)(value << shift) >> shift;
}

/* Flags, width, precision, length: all between '%' and the conversion. */
static const char *parse_spec(const char *f, struct spec *sp, va_list *args)
{
	f = parse_flags(f, sp);
	if (*f == '*') {
		int width = va_arg(*args, int);

		sp->left |= width < 0;
		sp->width = width < 0 ? -width : width;
		f++;
	} else {
		f = parse_count(f, &sp->width);
	}
	if (*f == '.' && f[1] == '*') {
		sp->precision = va_arg(*args, int);
		f += 2;
	} else if (*f == '.') {
		f = parse_count(f + 1, &sp->precision);
	}
	return parse_length(f, sp);
}

static void put_integer(struct sink *out, const struct spec *sp, char conversion, u64 value)
{
	u64 magnitude = truncate_unsigned(value, sp->length);
	bool prefix = sp->alternate && magnitude;

	switch (conversion) {
	case 'd':
	case 'i':
		put_signed(out, sp, truncate_signed(value, sp->length));
		break;
	case 'u':
		put_number(out, sp, magnitude, 10, false, "");
		break;
	case 'o':
		put_number(out, sp, magnitude, 8, false, prefix ? "0" : "");
		break;
	case 'x':
		put_number(out, sp, magnitude, 16, false, prefix ? "0x" : "");
		break;
	case 'X':
		put_number(out, sp, magnitude, 16, true, prefix ? "0X" : "");
		break;
	}
}

static void put_conversion(struct sink *out, const struct spec *sp, char conversion, va_list *args)
{
	struct spec one_char = { .left = sp->left, .width = sp->width, .precision = 1 };

	switch (conversion) {
	case 'c':
		put_string(out, &one_char, (char[]){ (char)va_arg(*args, int), '\0' });
		break;
	case 's':
		put_string(out, sp, va_arg(*args, const char *));
		break;
	case 'p':
		put_number(out, sp, (uintptr_t)va_arg(*args, void *), 16, false, "0x");
		break;
	case '%':
		put(out, '%');
		break;
	default:
		put_integer(out, sp, conversion,
			    sp->length == 8 ? va_arg(*args, u64) : va_arg(*args, unsigned));
	}
}

int fmt_vsnprintf(char *buf, size_t size, const char *format, va_list args)
{
	struct sink out = { buf, size, 0 };
	va_list rest;

	va_copy(rest, args);
	for (const char *f = format; *f; f++) {
		struct spec sp = { .precision = -1 };

		if (*f != '%') {
			put(&out, *f);
			continue;
		}
		f = parse_spec(f + 1, &sp, &rest);
		if (!*f)
			break;
		put_conversion(&out, &sp, *f, &rest);
	}
	va_end(rest);
	if (size)
		buf[min(out.len, size - 1)] = '\0';
	return (int)out.len;
}

int fmt_snprintf(char *buf, size_t size, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = fmt_vsnprintf(buf, size, format, args);
	va_end(args);
	return len;
}

void text_add(struct text *t, const char *format, ...)
{
	size_t room = t->len < t->size ? t->size - t->len : 0;
	va_list args;

	va_start(args, format);
	t->len += (size_t)fmt_vsnprintf(room ? t->buf + t->len : NULL, room, format, args);
	va_end(args);
}
