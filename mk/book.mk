# SPDX-License-Identifier: GPL-2.0-only
# The book (docs/book) as a site and to print. What its sessions print is compared by tests/e2e/test_docs.py.

book: ## make the book: build/book/index.html, with every link checked, and build/book.pdf
	$(Q)mkdir -p $(B)
	$(Q)B=$(B) $(PYTHON_TOOL) tools/scripts/book.py

.PHONY: book
