/* SPDX-License-Identifier: GPL-2.0-only */
/* Variables of the kernel for each CPU: their functions are in functions.h. */
#pragma once

#include "common.bpf.h"
