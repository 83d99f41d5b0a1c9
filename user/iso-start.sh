# SPDX-License-Identifier: GPL-2.0-only
# The first command of a machine that was started from the boot image (mkiso.sh): the demonstration, which a key ends,
# then a shell.
echo "Any key gives a shell at once."
setsid demo &
while jobs >/dev/null && kill -0 $! 2>/dev/null; do
	! read -r -s -n 1 -t 1 _ || kill -9 -$!
done
cat <<END
Try    hog -N 0,5,10 -t 2s                                shares and waits by nice value
       cat /sys/kernel/debug/sched/debug                  every runqueue
       echo eevdf > /sys/kernel/debug/sched/fair_class    another scheduler
Leave  exit
END
exec sh -l
