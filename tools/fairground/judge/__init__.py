# SPDX-License-Identifier: GPL-2.0-only
"""Judges of Fairground itself: kernel beside simulator, both beside Linux, cards of old bugs."""
