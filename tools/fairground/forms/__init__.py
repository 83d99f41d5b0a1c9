# SPDX-License-Identifier: GPL-2.0-only
"""Forms of other tools that a trace can be written in: one module for each. docs/tracing.md shows them."""
