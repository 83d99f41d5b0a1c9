# SPDX-License-Identifier: GPL-2.0-only
"""Decisions: read a file of them, choose among them, tell them in words, compare two files."""
