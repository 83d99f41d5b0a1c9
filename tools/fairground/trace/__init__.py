# SPDX-License-Identifier: GPL-2.0-only
"""Traces: record one, read each form, say who ran when and how long each task waited."""
