/* SPDX-License-Identifier: GPL-2.0-only */
/* Constants that the library of the crates has in common with its user halves. */
#pragma once

enum { SCX_CACHELINE_SIZE = 64 };
