/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loading a program: a relocatable ELF object, whose every number may be a lie. In memory it is
 *
 *	text        a jump to each function of the kernel that it calls, then its own code
 *	constants
 *	data
 *
 * with a page that is not there on either side. The compiler makes code that is independent of its
 * place (make scx), so few kinds of relocation are known.
 *
 * Reference: System V ABI, chapter 4 (object files), and its supplement for x86-64.
 */
#include "kernel/contract.h"
#include "kernel/exec/elf.h"
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/scx/scx.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"
#include "sim/scx/include/scx/functions.h"

#define FILE_MAX     (4ul << 20)
#define MEMORY_MAX   (64ul << 20)
#define SECTIONS_MAX 1024u
#define JUMP_SIZE    16u
#define JUMP_WORD    6u

struct section {
	u32 name, type;
	u64 flags, addr, offset, size;
	u32 link, info;
	u64 align, entsize;
};
STATIC_ASSERT(sizeof(struct section) == 64, "ELF64 section header");

struct elf_symbol {
	u32 name;
	u8 info, other;
	u16 section;
	u64 value, size;
};
STATIC_ASSERT(sizeof(struct elf_symbol) == 24, "ELF64 symbol");

struct relocation {
	u64 offset;
	u32 type, symbol;
	s64 addend;
};
STATIC_ASSERT(sizeof(struct relocation) == 24, "ELF64 relocation");

enum { ET_REL = 1, EM_X86_64 = 62 };
enum { SECTION_SYMBOLS = 2, SECTION_STRINGS = 3, SECTION_RELA = 4, SECTION_ZERO = 8 };
enum { IN_WRITABLE = 1, IN_MEMORY = 2, IN_TEXT = 4 };
enum { UNDEFINED = 0, ABSOLUTE = 0xfff1 };
enum { BINDING_WEAK = 2 };
/* Relocations of words mean a word that has the symbol's address. */
enum { RELOC_64 = 1, RELOC_PC32 = 2, RELOC_PLT32 = 4, RELOC_PC64 = 24 };
enum { RELOC_WORD = 9, RELOC_WORD_MOV = 41, RELOC_WORD_MOV_REX = 42 };

/*
 * The functions that programs may call: those of functions.h, and the count of blocks, which the
 * compiler calls by a name that the kernel has a function of its own for (base/cover.c).
 */
void scx_count_block(void);
static const struct export
{
	const char *name;
	void *function;
}
exports[] = {
#define EXPORT(f) { #f, (void *)f },
#include "scx_exports.inc"
#undef EXPORT
	{ "__sanitizer_cov_trace_pc", (void *)scx_count_block },
};

static void *find_export(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(exports); i++)
		if (!strcmp(exports[i].name, name))
			return exports[i].function;
	return NULL;
}

/* --- the file --------------------------------------------------------------------- */

static const struct elf_header *header_of(const struct scx_object *o)
{
	return (const struct elf_header *)o->file;
}

static struct section *section_of(const struct scx_object *o, u32 i)
{
	debug_assert(i < header_of(o)->shnum);
	return (struct section *)(o->file + header_of(o)->shoff) + i;
}

/* Do the @n bytes from @at on lie in the file? */
static bool in_file(const struct scx_object *o, u64 at, u64 n)
{
	return at <= o->size && n <= o->size - at;
}

static const char *read_file(struct scx_object *o, const char *path, int *err)
{
	struct file *f = file_open(path, 0, 0, err);

	if (!f)
		return "cannot be opened";
	*err = -ENOEXEC;
	o->size = file_size(f);
	if (o->size >= sizeof(struct elf_header) && o->size <= FILE_MAX)
		o->file = vmap_alloc(o->size);
	if (o->file && file_read_kernel(f, o->file, o->size, 0) != (long)o->size)
		o->size = 0;
	file_put(f);
	if (!o->file)
		return "is too short, or too long for the memory";
	return o->size ? NULL : "cannot be read";
}

static const char *check_header(const struct scx_object *o)
{
	const struct elf_header *h = header_of(o);
	static const u8 magic[6] = { 0x7f, 'E', 'L', 'F', 2, 1 };

	if (memcmp(h, magic, sizeof(magic)) || h->machine != EM_X86_64 || h->type != ET_REL)
		return "is no relocatable object for x86-64 (make scx makes one)";
	if (h->shentsize != sizeof(struct section) || !h->shnum || h->shnum > SECTIONS_MAX ||
	    h->shoff % 8 || !in_file(o, h->shoff, h->shnum * sizeof(struct section)))
		return "has no table of sections where it says";
	return NULL;
}

/* Strings end in the file, tables are whole, and code cannot be written. */
static const char *check_section(const struct scx_object *o, const struct section *s)
{
	if (s->type != SECTION_ZERO && !in_file(o, s->offset, s->size))
		return "has a section that is not in the file";
	if (s->type == SECTION_STRINGS && (!s->size || o->file[s->offset + s->size - 1]))
		return "has strings without an end";
	if ((s->type == SECTION_SYMBOLS || s->type == SECTION_RELA) &&
	    (s->entsize != 24 || s->size % 24 || s->offset % 8))
		return "has a table with rows of another size";
	if (s->size > MEMORY_MAX || s->align > PAGE_SIZE || (s->align & (s->align - 1)))
		return "has a section that is too large, or aligned to no power of two";
	if ((s->flags & IN_MEMORY) && (s->flags & IN_TEXT) && (s->flags & IN_WRITABLE))
		return "has code that can be written";
	return NULL;
}

/* The section of @type, or NULL unless exactly one section has that type. */
static const struct section *only_section(const struct scx_object *o, u32 type)
{
	const struct section *found = NULL;

	for (u32 i = 0; i < header_of(o)->shnum; i++) {
		const struct section *s = section_of(o, i);

		if (s->type == type && found)
			return NULL;
		if (s->type == type)
			found = s;
	}
	return found;
}

static const char *check_sections(const struct scx_object *o)
{
	const struct section *symbols;
	const char *why = NULL;

	for (u32 i = 0; i < header_of(o)->shnum && !why; i++)
		why = check_section(o, section_of(o, i));
	symbols = why ? NULL : only_section(o, SECTION_SYMBOLS);
	if (!why && (!symbols || symbols->link >= header_of(o)->shnum ||
		     section_of(o, symbols->link)->type != SECTION_STRINGS))
		return "has no table of symbols with names";
	return why;
}

/* --- its place ---------------------------------------------------------------------- */

static const struct elf_symbol *symbols_of(const struct scx_object *o, u32 *nr)
{
	const struct section *s = only_section(o, SECTION_SYMBOLS);

	*nr = (u32)(s->size / sizeof(struct elf_symbol));
	return (const struct elf_symbol *)(o->file + s->offset);
}

/* Never NULL: a name beyond the strings is "". */
static const char *symbol_text(const struct scx_object *o, const struct elf_symbol *s)
{
	const struct section *strings = section_of(o, only_section(o, SECTION_SYMBOLS)->link);

	return s->name < strings->size ? (const char *)o->file + strings->offset + s->name : "";
}

/* Places the sections with the @rights behind @at, from the object's start. Returns their end. */
static u64 place_sections(struct scx_object *o, u64 rights, u64 at)
{
	for (u32 i = 0; i < header_of(o)->shnum; i++) {
		const struct section *s = section_of(o, i);
		u64 is = s->flags & (IN_MEMORY | IN_TEXT | IN_WRITABLE);

		if (is != (IN_MEMORY | rights) || at > MEMORY_MAX)
			continue;
		at = ALIGN_UP(at, max(s->align, (u64)1));
		o->place[i] = at;
		at += s->size;
	}
	return ALIGN_UP(at, PAGE_SIZE);
}

static void copy_sections(struct scx_object *o)
{
	for (u32 i = 0; i < header_of(o)->shnum; i++) {
		const struct section *s = section_of(o, i);

		if (!(s->flags & IN_MEMORY))
			continue;
		o->place[i] += o->base;
		if (s->type != SECTION_ZERO)
			memcpy((void *)o->place[i], o->file + s->offset, s->size);
	}
}

static const char *place(struct scx_object *o)
{
	u32 nr;

	symbols_of(o, &nr);
	o->place = kzalloc(header_of(o)->shnum * sizeof(*o->place));
	if (!o->place)
		return "needs more memory than there is";
	o->text_end = place_sections(o, IN_TEXT, nr * JUMP_SIZE);
	o->constants_end = place_sections(o, 0, o->text_end);
	o->end = place_sections(o, IN_WRITABLE, o->constants_end);
	if (o->end <= MEMORY_MAX)
		o->base = (u64)vmap_alloc(o->end);
	if (!o->base)
		return "needs more memory than there is";
	o->text_end += o->base;
	o->constants_end += o->base;
	o->end += o->base;
	copy_sections(o);
	return NULL;
}

/* --- relocation ----------------------------------------------------------------------- */

/* jmp *0(%rip), and the address that it reads. */
static u64 make_jump(const struct scx_object *o, u32 symbol, void *function)
{
	u8 *jump = (u8 *)o->base + symbol * JUMP_SIZE;

	memcpy(jump, "\xff\x25\0\0\0\0", JUMP_WORD);
	memcpy(jump + JUMP_WORD, &function, sizeof(function));
	return (u64)jump;
}

static bool means_word(u32 type)
{
	return type == RELOC_WORD || type == RELOC_WORD_MOV || type == RELOC_WORD_MOV_REX;
}

/*
 * The address of symbol @i, in *@value; a weak one that the kernel has not is at 0. Else the
 * sentence that says why there is none.
 */
static const char *symbol_value(const struct scx_object *o, u32 i, u64 *value)
{
	static char missing[96];
	u32 nr;
	const struct elf_symbol *s = symbols_of(o, &nr) + i;
	void *function;

	if (i >= nr)
		return "has a relocation to no symbol";
	if (s->section == UNDEFINED) {
		function = find_export(symbol_text(o, s));
		snprintf(missing, sizeof(missing), "needs %.60s, which is not there",
			 symbol_text(o, s));
		*value = function ? make_jump(o, i, function) : 0;
		return function || s->info >> 4 == BINDING_WEAK ? NULL : missing;
	}
	if (s->section >= header_of(o)->shnum || !o->place[s->section] ||
	    s->value > section_of(o, s->section)->size)
		return "has a symbol beside its section";
	*value = o->place[s->section] + s->value;
	return NULL;
}

/* The word that has the address @value of @symbol: that of its jump. */
static u64 word_of(const struct scx_object *o, u32 symbol, u64 value)
{
	u64 jump = (u64)o->base + symbol * JUMP_SIZE;

	if (value != jump) /* else it is a function of the kernel, and has one */
		make_jump(o, symbol, (void *)value);
	return jump + JUMP_WORD;
}

static const char *relocate(const struct scx_object *o, const struct section *target, u64 start,
			    const struct relocation *r)
{
	u64 width = r->type == RELOC_64 || r->type == RELOC_PC64 ? 8 : 4, to;
	u64 from = r->type == RELOC_64 ? 0 : start + r->offset, value;
	const char *why = symbol_value(o, r->symbol, &to);

	if (why)
		return why;
	if (target->size < width || r->offset > target->size - width)
		return "has a relocation beside its section";
	if (r->type != RELOC_64 && r->type != RELOC_PC64 && r->type != RELOC_PC32 &&
	    r->type != RELOC_PLT32 && !means_word(r->type))
		return "has a relocation of an unknown kind (make scx makes none)";
	if (means_word(r->type))
		to = word_of(o, r->symbol, to);
	value = to + (u64)r->addend - from;
	if (width == 4 && (s64)value != (s32)value)
		return "has a relocation that reaches too far";
	memcpy((void *)(start + r->offset), &value, width);
	return NULL;
}

static const char *relocate_section(const struct scx_object *o, const struct section *rela)
{
	const struct relocation *r = (const struct relocation *)(o->file + rela->offset);
	const char *why = NULL;

	if (rela->info >= header_of(o)->shnum)
		return "has relocations of no section";
	if (!o->place[rela->info]) /* of something that is not in memory, such as notes */
		return NULL;
	for (u64 i = 0; i < rela->size / sizeof(*r) && !why; i++)
		why = relocate(o, section_of(o, rela->info), o->place[rela->info], &r[i]);
	return why;
}

static const char *relocate_all(const struct scx_object *o)
{
	const char *why = NULL;

	for (u32 i = 0; i < header_of(o)->shnum && !why; i++)
		if (section_of(o, i)->type == SECTION_RELA)
			why = relocate_section(o, section_of(o, i));
	return why;
}

static unsigned set_prot(void *arg, u64 va, u64 pa, unsigned prot)
{
	(void)va, (void)pa, (void)prot;
	return *(unsigned *)arg;
}

void scx_object_protect_text(struct scx_object *o)
{
	unsigned text = PT_READ | PT_EXEC;

	might_sleep();
	arch_pt_walk(arch_kernel_pt, o->base, o->text_end, set_prot, &text);
	arch_tlb_shootdown(arch_kernel_pt);
}

void scx_object_protect_constants(struct scx_object *o)
{
	unsigned constants = PT_READ;

	might_sleep();
	arch_pt_walk(arch_kernel_pt, o->text_end, o->constants_end, set_prot, &constants);
	arch_tlb_shootdown(arch_kernel_pt);
}

/* --- opening ------------------------------------------------------------------------------ */

const char *scx_object_open(struct scx_object *o, const char *path, int *err)
{
	const char *why = read_file(o, path, err);

	why = why ?: check_header(o);
	why = why ?: check_sections(o);
	why = why ?: place(o);
	return why ?: relocate_all(o);
}

void scx_object_close(struct scx_object *o)
{
	vmap_free((void *)o->base);
	vmap_free(o->file);
	kfree(o->place);
	*o = (struct scx_object){ 0 };
}

bool scx_object_has_text(const struct scx_object *o, u64 ip)
{
	return o && ip - o->base < o->text_end - o->base;
}

const char *scx_object_name(const struct scx_object *o, u64 ip, char *buf, size_t size)
{
	const struct elf_symbol *best = NULL;
	u64 best_at = 0, at;
	u32 nr = 0;
	const struct elf_symbol *symbols = o ? symbols_of(o, &nr) : NULL;

	for (u32 i = 0; i < nr && scx_object_has_text(o, ip); i++) {
		if ((symbols[i].info & 15) != 2 || symbols[i].section >= header_of(o)->shnum)
			continue;
		at = o->place[symbols[i].section] + symbols[i].value;
		if (at <= ip && at >= best_at) {
			best = &symbols[i];
			best_at = at;
		}
	}
	if (best)
		snprintf(buf, size, "%.48s+0x%lx", symbol_text(o, best), ip - best_at);
	else
		snprintf(buf, size, "0x%lx", ip);
	return buf;
}

/* --- the program in it ---------------------------------------------------------------------- */

/* Do the @n bytes at @p lie in the object's constants and data? */
static bool holds(const struct scx_object *o, const void *p, u64 n)
{
	u64 at = (u64)p;

	return at >= o->text_end && at <= o->end && n <= o->end - at;
}

static bool holds_text(const struct scx_object *o, const char *text)
{
	for (u64 i = 0; i < 128; i++) {
		if (!holds(o, text + i, 1))
			return false;
		if (!text[i])
			return true;
	}
	return false;
}

/* Do all operations, which come first in the table, lead to the object's text? */
static bool holds_operations(const struct scx_object *o, const struct sched_ext_ops *ops)
{
	const u64 *op = (const u64 *)ops;

	for (u32 i = 0; i < offsetof(struct sched_ext_ops, dispatch_max_batch) / sizeof(*op); i++)
		if (op[i] && op[i] - o->base >= o->text_end - o->base)
			return false;
	return true;
}

static bool holds_maps(const struct scx_object *o, const struct scx_map *m)
{
	for (;; m++) {
		if (!holds(o, m, sizeof(*m)))
			return false;
		if (!m->name)
			return true;
		if (!holds_text(o, m->name) || !holds(o, m->map, 1))
			return false;
		if (m->values && !holds(o, m->values, (u64)m->max_entries * sizeof(*m->values)))
			return false;
	}
}

static bool holds_constants(const struct scx_object *o, const struct scx_variable *v)
{
	for (;; v++) {
		if (!holds(o, v, sizeof(*v)))
			return false;
		if (!v->name)
			return true;
		if (!holds_text(o, v->name) || !holds(o, v->address, v->size))
			return false;
	}
}

const struct scx_program *scx_object_program(const struct scx_object *o)
{
	const struct scx_program *p = NULL;
	u32 nr;
	const struct elf_symbol *s = symbols_of(o, &nr);
	u64 at;

	for (u32 i = 0; i < nr && !p; i++)
		if (s[i].section != UNDEFINED && !strcmp(symbol_text(o, &s[i]), "scx_program") &&
		    !symbol_value(o, i, &at))
			p = (const struct scx_program *)at;
	if (!p || !holds(o, p, sizeof(*p)))
		return NULL;
	if (p->abi != SCX_ABI)
		return p; /* scx_refusal() tells that; nothing else is where it seems to be */
	if (!holds(o, p->ops, sizeof(*p->ops)) || !p->ops->name ||
	    (p->half && (u64)p->half - o->base >= o->text_end - o->base) ||
	    !holds_text(o, p->ops->name) || !holds_operations(o, p->ops) ||
	    !holds_maps(o, p->maps) || !holds_constants(o, p->constants))
		return NULL;
	return p;
}
