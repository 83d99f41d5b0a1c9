# SPDX-License-Identifier: GPL-2.0-only
"""A fuzzer that learns: AFL++ draws scripts of system calls, a machine runs them, and its kernel says what they reach
(docs/fuzzing.md)."""
