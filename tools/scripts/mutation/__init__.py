# SPDX-License-Identifier: GPL-2.0-only
"""Generated mutations of sched/: how many of them do the fast tests notice? (docs/mutation.md)"""
