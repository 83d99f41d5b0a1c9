/* SPDX-License-Identifier: GPL-2.0-only */
/* All of it is in common.bpf.h. */
#pragma once

#include <scx/common.bpf.h>
