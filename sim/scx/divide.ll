; SPDX-License-Identifier: GPL-2.0-only
; Divisions of BPF for the module of a program (make scx): x / 0 is 0 and x % 0 is x, as in divide.c. A module's own
; divisions end it instead. mk/sim.mk makes each division of the program a call of one of these, and the compiler puts
; them in the place of the call.
define linkonce_odr hidden i32 @udiv_i32(i32 %a, i32 %b) alwaysinline {
  %is_zero = icmp eq i32 %b, 0
  %by = select i1 %is_zero, i32 1, i32 %b
  %result = udiv i32 %a, %by
  %bpfs = select i1 %is_zero, i32 0, i32 %result
  ret i32 %bpfs
}

define linkonce_odr hidden i64 @udiv_i64(i64 %a, i64 %b) alwaysinline {
  %is_zero = icmp eq i64 %b, 0
  %by = select i1 %is_zero, i64 1, i64 %b
  %result = udiv i64 %a, %by
  %bpfs = select i1 %is_zero, i64 0, i64 %result
  ret i64 %bpfs
}

define linkonce_odr hidden i32 @sdiv_i32(i32 %a, i32 %b) alwaysinline {
  %is_zero = icmp eq i32 %b, 0
  %by = select i1 %is_zero, i32 1, i32 %b
  %result = sdiv i32 %a, %by
  %bpfs = select i1 %is_zero, i32 0, i32 %result
  ret i32 %bpfs
}

define linkonce_odr hidden i64 @sdiv_i64(i64 %a, i64 %b) alwaysinline {
  %is_zero = icmp eq i64 %b, 0
  %by = select i1 %is_zero, i64 1, i64 %b
  %result = sdiv i64 %a, %by
  %bpfs = select i1 %is_zero, i64 0, i64 %result
  ret i64 %bpfs
}

define linkonce_odr hidden i32 @urem_i32(i32 %a, i32 %b) alwaysinline {
  %is_zero = icmp eq i32 %b, 0
  %by = select i1 %is_zero, i32 1, i32 %b
  %result = urem i32 %a, %by
  %bpfs = select i1 %is_zero, i32 %a, i32 %result
  ret i32 %bpfs
}

define linkonce_odr hidden i64 @urem_i64(i64 %a, i64 %b) alwaysinline {
  %is_zero = icmp eq i64 %b, 0
  %by = select i1 %is_zero, i64 1, i64 %b
  %result = urem i64 %a, %by
  %bpfs = select i1 %is_zero, i64 %a, i64 %result
  ret i64 %bpfs
}

define linkonce_odr hidden i32 @srem_i32(i32 %a, i32 %b) alwaysinline {
  %is_zero = icmp eq i32 %b, 0
  %by = select i1 %is_zero, i32 1, i32 %b
  %result = srem i32 %a, %by
  %bpfs = select i1 %is_zero, i32 %a, i32 %result
  ret i32 %bpfs
}

define linkonce_odr hidden i64 @srem_i64(i64 %a, i64 %b) alwaysinline {
  %is_zero = icmp eq i64 %b, 0
  %by = select i1 %is_zero, i64 1, i64 %b
  %result = srem i64 %a, %by
  %bpfs = select i1 %is_zero, i64 %a, i64 %result
  ret i64 %bpfs
}
