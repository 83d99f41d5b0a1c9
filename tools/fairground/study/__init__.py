# SPDX-License-Identifier: GPL-2.0-only
"""Studies: experiments with claims, comparisons of policies over seeds, sweeps over parameters."""
