# SPDX-License-Identifier: GPL-2.0-only
# The page for browsers (docs/browser.md): one file that holds the simulator. npm brings what builds and tests it, in
# the versions of web/package-lock.json.

PAGE_MODULES := $(B)/web/node_modules
PAGE_TSC = $(PAGE_MODULES)/.bin/tsc -p web/page/tsconfig.json

$(B)/web/.fetched: web/package.json web/package-lock.json
	@echo "  NPM     $(PAGE_MODULES)"
	$(Q)mkdir -p $(B)/web
	$(Q)cp $^ $(B)/web/
	$(Q)cd $(B)/web && npm ci --silent --ignore-scripts --no-audit --no-fund
	$(Q)touch $@

$(B)/fairground.html: $(wildcard web/*.mjs web/page/*) $(B)/session.wasm $(B)/web/.fetched
	@echo "  PAGE    $@"
	$(Q)$(PAGE_TSC)
	$(Q)node web/page/build.mjs $(PAGE_MODULES) $(B)/session.wasm $@

page: $(B)/fairground.html ## the simulator as one page for a browser: build/fairground.html

.PHONY: page
