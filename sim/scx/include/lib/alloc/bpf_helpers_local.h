/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of the library for its authors: nobody reads them here. */
#pragma once

#define scx_out(fmt, ...)     ((void)0)
#define scx_err(fmt, ...)     ((void)0)
#define scx_out_loc(fmt, ...) ((void)0)
#define scx_err_loc(fmt, ...) ((void)0)
