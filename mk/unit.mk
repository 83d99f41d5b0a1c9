# SPDX-License-Identifier: GPL-2.0-only
# Hosted tests of sched/ and lib/: the same sources, built for the host with sanitizers.
# These are white-box tests and may include everything in sched/.

UNIT := $(B)/unit
# Symbols are hidden. Otherwise the sanitizers' libraries would call our sched_yield() instead of libc's.
UNIT_CFLAGS := -std=gnu11 -g -O1 $(WARN) -DDEBUG=1 -fno-strict-aliasing -fsanitize=address,undefined \
	-fvisibility=hidden -fno-sanitize-recover=all -fno-omit-frame-pointer $(UNWATCHED) $(NAMELESS)
# A test runs once, so that time spent on its own code by the compiler is lost: -O0. What it tests has -O1.
$(UNIT)/tests/unit/test_%.c.o: UNIT_CFLAGS += -O0
# The numbers that a test finds equal are in its record (checked.h), but for one that includes code of a student. Older
# compilers cannot leave out a function.
UNIT_COMPARED := $(if $(findstring clang,$(CC))$(filter 10 11,$(CC_MAJOR)),-DUNRECORDED=, \
	-fsanitize-coverage=trace-cmp "-DUNRECORDED=__attribute__((no_sanitize_coverage))")
# What a test calls in libraries is fixed before it begins, so that what it tests cannot put its own in place of that.
# lld, which is there for WebAssembly, links a program in a quarter of the time.
UNIT_LD := -Wl,-z,relro,-z,now $(if $(shell command -v ld.lld),-fuse-ld=lld)
# libc has its own memory and string functions.
UNIT_LIB_C := $(filter-out lib/string.c,$(LIB_C))
UNIT_OBJ := $(patsubst %,$(UNIT)/%.o,$(SCHED_C) $(UNIT_LIB_C) tests/unit/host.c)
UNIT_BIN := $(patsubst tests/unit/%.c,$(UNIT)/%,$(wildcard tests/unit/test_*.c))
# The property tests explore the simulator's machines, not the unit host's.
PROP_OBJ := $(patsubst %,$(UNIT)/%.o,$(SCHED_C) $(UNIT_LIB_C) \
	$(filter-out sim/main.c %_wasi.c,$(wildcard sim/*.c sim/*/*.c tests/oracle/*.c)))
PROP_BIN := $(patsubst tests/prop/%.c,$(UNIT)/%,$(wildcard tests/prop/prop_*.c))
# ASan reserves terabytes of address space; leaks of a test process do not matter.
UNIT_ENV := ASAN_OPTIONS=detect_leaks=0

$(UNIT)/%.c.o: %.c $(INC)/.made | $(POLICIES_DEF)
	@mkdir -p $(@D)
	@echo "  CC      $(call nth_of,UNIT_ALL_OBJ)$< (hosted)"
	$(Q)$(CC) $(UNIT_CFLAGS) $(DEPS) -I$(B)/policies \
		$(if $(filter tests/unit/test_%,$(filter-out %/test_futex.c,$<)),$(UNIT_COMPARED)) \
		$(if $(filter sched/% lib/% examples/% labs/%,$<),-I$(INC)/sched,-I. -Itests/unit) \
		$(if $(filter sim/%,$<),-DCOMMIT=\"$(COMMIT)\") -c $< -o $@

$(UNIT)/race/%.c.o: UNIT_CFLAGS += $(UNIT_RACE_CFLAGS)
$(UNIT)/race/%.c.o: %.c $(INC)/.made | $(POLICIES_DEF)
	@mkdir -p $(@D)
	@echo "  CC      $(call nth_of,UNIT_ALL_OBJ)$< (hosted, each access counts)"
	$(Q)$(CC) $(UNIT_CFLAGS) $(DEPS) -I$(B)/policies -I$(INC)/sched -c $< -o $@

# Parts of the kernel that need only lib are tested here too.
UNIT_ALSO_ring := kernel/trace/ring.c
UNIT_ALSO_futex := tests/unit/step.c tests/unit/futex_entry.c
UNIT_ALSO_quota_race := tests/unit/race.c
UNIT_ALSO_claim_race := tests/unit/race.c
UNIT_ALSO_switch_race := tests/unit/race.c
UNIT_ALSO_kick_race := tests/unit/race.c
UNIT_ALSO_move_race := tests/unit/race.c
# Files that call race.c before each access to memory.
UNIT_RACE_quota_race := sched/fair/core/bandwidth.c
UNIT_RACE_claim_race := sched/balance/sharedq.c
UNIT_RACE_switch_race := sched/core/switch.c
UNIT_RACE_kick_race := sched/core/switch.c
UNIT_RACE_move_race := sched/ext/dispatch.c
UNIT_RACE_CFLAGS := -fno-sanitize=all -fsanitize=thread -Wno-tsan
# A file of the kernel, whose types are the architecture's. It runs one instruction at a time, which the sanitizers'
# would be, too; they could not print either.
$(UNIT)/tests/unit/test_futex.c.o $(UNIT)/tests/unit/futex_entry.c.o: UNIT_CFLAGS += -I. -Iarch/x86 -UDEBUG -DDEBUG=0
$(UNIT)/tests/unit/futex_entry.c.o: UNIT_CFLAGS += -fno-sanitize=all
# It includes another, on the architecture of tests/hosted.
$(UNIT)/tests/unit/test_lockdep.c.o: UNIT_CFLAGS += -I. -Itests/hosted
$(UNIT)/tests/unit/test_vt.c.o: UNIT_CFLAGS += -I. -Itests/hosted -I$(B)/font
$(UNIT)/tests/unit/test_vt.c.o: $(B)/font/font.inc
UNIT_ALSO_bandwidth := $(wildcard tests/oracle/*.c)
UNIT_ALSO_quota_borders := $(wildcard tests/oracle/*.c)
# The language of policies, without the hooks that reach into the scheduler.
UNIT_ALSO_recipe := $(addprefix sim/policy/,eval.c export.c expression.c parse.c token.c) \
	sim/engine/util.c sim/engine/process_posix.c
$(UNIT)/tests/unit/test_recipe.c.o: UNIT_CFLAGS += -I.
UNIT_ALSO_fdl := tests/unit/fdl_lab.c
UNIT_ALSO_fdl_shares := tests/unit/fdl_lab.c
UNIT_ALSO_fdl_turn := tests/unit/fdl_lab.c

.SECONDEXPANSION:
$(UNIT)/test_%: $(UNIT)/tests/unit/test_%.c.o $$(filter-out $(UNIT)/$$(UNIT_RACE_$$*).o,$(UNIT_OBJ)) \
		$$(addprefix $(UNIT)/race/,$$(addsuffix .o,$$(UNIT_RACE_$$*))) \
		$$(addprefix $(UNIT)/,$$(addsuffix .o,$$(UNIT_ALSO_$$*)))
	@echo "  LD      $@"
	$(Q)$(CC) $(UNIT_CFLAGS) $(UNIT_LD) -o $@ $^ -lcmocka -lm -pthread

$(UNIT)/prop_%: $(UNIT)/tests/prop/prop_%.c.o $(PROP_OBJ)
	@echo "  LD      $@"
	$(Q)$(CC) $(UNIT_CFLAGS) $(UNIT_LD) -o $@ $^ -lcmocka -lm -pthread

# Objects of the kernel, with a switch to another thread between any two of their basic blocks (tests/hosted).
HOSTED_KERNEL := $(addprefix kernel/,\
	cgroup/bandwidth.c cgroup/cgroup.c cgroup/core.c cgroup/cpu.c cgroup/fs.c cgroup/type.c \
	fs/dentry.c fs/epoll.c fs/eventfd.c fs/fdtable.c fs/file.c fs/flock.c fs/mount.c fs/nameless.c \
	fs/open.c fs/path.c fs/permission.c fs/pipe.c fs/poll.c fs/record.c fs/signalfd.c fs/socket.c fs/timerfd.c \
	fs/tmpfs.c fs/tree.c \
	mm/fault.c mm/limit.c mm/map.c mm/oom.c mm/vma.c pseudo/pseudo.c syscall/pipe.c syscall/socket.c \
	task/account.c task/delivery.c task/futex.c task/futex_op.c task/mutex.c task/signal.c task/wait.c \
	time/itimer.c time/sleep.c time/timer.c \
	trace/fields.c trace/filter.c trace/instance.c trace/perf.c trace/perf_record.c trace/perf_ring.c trace/ring.c \
	trace/trace.c tty/ldisc.c tty/tty.c)
HOSTED_C := $(wildcard tests/hosted/*.c)
HOSTED_LIB := lib/fmt.c lib/rbtree.c lib/text.c
HOSTED_ASAN := $(HOSTED_KERNEL) $(HOSTED_C) tests/hosted/asan/announce.c $(HOSTED_LIB)
$(UNIT)/kernel/%.c.o $(UNIT)/tests/hosted/%.c.o: UNIT_CFLAGS += -Itests/hosted -I.
$(patsubst %,$(UNIT)/%.o,$(HOSTED_KERNEL)): UNIT_CFLAGS += -fsanitize-coverage=trace-pc -Dsnprintf=fmt_snprintf
# Objects have settings in /proc/sys, which has no files here (tests/hosted/file.c, kernel.c).
$(UNIT)/kernel/pseudo/pseudo.c.o: UNIT_CFLAGS += -Dproc_sys_add=real_proc_sys_add \
	-Dproc_sys_add_number=real_proc_sys_add_number
$(UNIT)/kernel/trace/trace.c.o: UNIT_CFLAGS += -DCOMMIT='"hosted"'
$(UNIT)/hosted: $(patsubst %,$(UNIT)/%.o,$(HOSTED_ASAN))
	@echo "  LD      $@"
	$(Q)$(CC) $(UNIT_CFLAGS) $(UNIT_LD) -o $@ $^

# The same objects, in whose threads ThreadSanitizer looks for races (tests/hosted/tsan).
TSAN := $(B)/tsan
TSAN_CFLAGS := $(filter-out -fsanitize=% -fno-sanitize-recover=% -DDEBUG=1,$(UNIT_CFLAGS)) -DDEBUG=0 -Itests/hosted -I.
HOSTED_TSAN := $(HOSTED_KERNEL) $(HOSTED_LIB)
$(patsubst %,$(TSAN)/%.o,$(HOSTED_TSAN)): TSAN_CFLAGS += -fsanitize=thread -Wno-tsan \
	--param tsan-distinguish-volatile=1
$(patsubst %,$(TSAN)/%.o,$(HOSTED_KERNEL)): TSAN_CFLAGS += -fsanitize-coverage=trace-pc -Dsnprintf=fmt_snprintf
$(TSAN)/kernel/pseudo/pseudo.c.o: TSAN_CFLAGS += -Dproc_sys_add=real_proc_sys_add \
	-Dproc_sys_add_number=real_proc_sys_add_number
$(TSAN)/kernel/trace/trace.c.o: TSAN_CFLAGS += -DCOMMIT='"hosted"'
$(TSAN)/%.c.o: %.c $(INC)/.made | $(POLICIES_DEF)
	@mkdir -p $(@D)
	@echo "  CC      $< (hosted, for ThreadSanitizer)"
	$(Q)$(CC) $(TSAN_CFLAGS) $(DEPS) -I$(B)/policies $(if $(filter lib/%,$<),-I$(INC)/sched) -c $< -o $@
$(TSAN)/hosted: $(patsubst %,$(TSAN)/%.o,$(HOSTED_TSAN) $(HOSTED_C) tests/hosted/tsan/announce.c)
	@echo "  LD      $@"
	$(Q)$(CC) -fsanitize=thread -o $@ $^

.PRECIOUS: $(UNIT)/%.c.o $(TSAN)/%.c.o

# The objects of the goals, for the number that each has.
unit_object = $(patsubst %,$(UNIT)/%.o,$(1))
UNIT_ALSO = $(foreach test,$(UNIT_CHOSEN),$(UNIT_ALSO_$(test:$(UNIT)/test_%=%)))
UNIT_RACE = $(foreach test,$(UNIT_CHOSEN),$(UNIT_RACE_$(test:$(UNIT)/test_%=%)))
UNIT_ALL_OBJ = $(sort \
	$(if $(filter unit unit-programs,$(MAKECMDGOALS)),$(UNIT_OBJ) $(UNIT_RACE:%=$(UNIT)/race/%.o) \
		$(call unit_object,$(UNIT_CHOSEN:$(UNIT)/%=tests/unit/%.c) $(UNIT_ALSO))) \
	$(if $(filter prop prop-programs,$(MAKECMDGOALS)),$(PROP_OBJ) \
		$(call unit_object,$(wildcard tests/prop/prop_*.c))) \
	$(if $(filter prop-programs,$(MAKECMDGOALS)), \
		$(call unit_object,$(HOSTED_ASAN))))

# Run every binary even if one fails, so that one run shows all failures.
run_each = status=0; for t in $(1); do $(UNIT_ENV) $$t || status=1; done; exit $$status

UNIT_CHOSEN := $(if $(TESTS),$(patsubst %,$(UNIT)/test_%,$(TESTS)),$(UNIT_BIN))
unit: $(UNIT_CHOSEN) ## run the unit tests of the scheduler and lib (cmocka, sanitizers): TESTS="cfs pelt" TEST=name
	$(Q)$(if $(TEST),grep -q 'cmocka_unit_test($(TEST))' $(patsubst $(UNIT)/%,tests/unit/%.c,$^) || \
		{ echo 'unit: no test is called $(TEST)' >&2; exit 1; }; export UNIT_TEST=$(TEST);) $(call run_each,$^)

# ARGS='--sched NAME --replay "..."', ARGS="--seed N --ops N": see tests/prop/prop_sched.c.
prop: $(PROP_BIN) ## run the property tests: random operations, with all invariants checked after each
	$(Q)status=0; for t in $^; do $(UNIT_ENV) $$t $(ARGS) || status=1; done; exit $$status

unit-programs: $(UNIT_BIN)
prop-programs: $(PROP_BIN) $(UNIT)/hosted

.PHONY: unit-programs prop-programs
