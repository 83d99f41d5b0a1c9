# SPDX-License-Identifier: GPL-2.0-only
# The page for browsers (docs/browser.md): one file that holds the simulator. npm brings what builds and tests it, in
# the versions of web/package-lock.json.

PAGE_MODULES := $(B)/web/node_modules
PAGE_TSC = $(PAGE_MODULES)/.bin/tsc -p web/page/tsconfig.json

$(B)/web/.fetched: web/package.json web/package-lock.json
	@echo "  NPM     $(PAGE_MODULES)"
	$(Q)mkdir -p $(B)/web
	$(Q)cp $^ $(B)/web/
	$(Q)cd $(B)/web && npm ci --silent --ignore-scripts --no-audit --no-fund || { \
		echo "npm cannot fetch what builds the page, which it does once: is there a network?" >&2; exit 1; }
	$(Q)touch $@

$(B)/web/presets.json: tools/scripts/page_presets.py $(wildcard labs/*/lab.toml tests/scenarios/*.toml \
		experiments/*.toml) | $(B)/web/.fetched
	$(Q)$(PYTHON_TOOL) $< > $@

$(B)/web/phrases.json: tools/scripts/page_phrases.py tools/fairground/decisions/lateness.py | $(B)/web/.fetched
	$(Q)$(PYTHON_TOOL) $< > $@

# Of tests/mutants; their texts and workloads are in web/page/bugs.ts and strings.ts.
PAGE_BUGS := sleepers_pay_for_their_sleep everybody_is_eligible yielder_not_passed_over score_without_weight \
	cache_not_searched_for_an_idle_cpu start_debit_lost everybody_delayed no_burst_ends slack_is_kept \
	wake_affine_to_the_busier group_without_urgency container_never_first
$(B)/bugs/.made: tools/scripts/page_bugs.py mk/page.mk $(wildcard tests/mutants/*.toml) $(B)/session.wasm
	@echo "  BUGS    $(@D)"
	$(Q)mkdir -p $(@D)
	$(Q)$(PYTHON_TOOL) $< $(@D) $(PAGE_BUGS) -- $(WASM_CC) $(WASM_CFLAGS) $(WASM_QUIET) $(sched_roots) \
		-- $(SESSION_LD) -- $(SESSION_OBJ)
	$(Q)touch $@

# Programs written for sched_ext that the page offers.
PAGE_PROGRAMS := $(wildcard examples/scx/*.bpf.c)
$(B)/scx/.page: $(PAGE_PROGRAMS) mk/sim.mk tools/scripts/scx_maps.py $(wildcard sim/scx/include/scx/*)
	$(Q)$(foreach source,$(PAGE_PROGRAMS),$(MAKE) --no-print-directory scx-programs SRC=$(source) &&) touch $@

$(B)/fairground.html: $(wildcard web/*.mjs web/page/*) $(B)/session.wasm $(B)/web/presets.json $(B)/web/phrases.json \
		$(B)/web/.fetched $(B)/bugs/.made $(B)/scx/.page $(wildcard examples/policies/*.policy)
	@echo "  PAGE    $@"
	$(Q)$(PAGE_TSC)
	$(Q)node web/page/build.mjs $(PAGE_MODULES) $(B)/session.wasm $(B)/web/presets.json \
		$(B)/web/phrases.json $@ $(B)/scx $(B)/bugs $(PAGE_BUGS)

# The part of it that looks at recorded runs: `make report` puts it into reports.
$(B)/viewer.html: $(wildcard web/*.mjs web/page/*) $(B)/session.wasm $(B)/web/phrases.json $(B)/web/.fetched
	@echo "  PAGE    $@"
	$(Q)node web/page/viewer.mjs $(PAGE_MODULES) $(B)/session.wasm $(B)/web/phrases.json $@

page: $(B)/fairground.html $(B)/viewer.html ## the simulator as one page for a browser: build/fairground.html
