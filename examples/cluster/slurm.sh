#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A sweep on SLURM: sbatch --ntasks 16 examples/cluster/slurm.sh grid.toml --out grid.parquet
#
# The scheduler of Dask and `fairground sweep` run on the first node of the job, and srun starts a worker as each task.
# A worker that is killed is started again by Dask, and its cells run elsewhere. When the job's time is over, the same
# command runs what is left. The directory must be on all nodes, for the workers find the scheduler by a file there.
#SBATCH --job-name=sweep
#SBATCH --cpus-per-task=1
set -eu

file=$PWD/scheduler-$SLURM_JOB_ID.json
trap 'kill $scheduler $workers 2>/dev/null; rm -f "$file"' EXIT
dask scheduler --port 0 --no-dashboard --scheduler-file "$file" & scheduler=$!
srun dask worker --nthreads 1 --no-dashboard --scheduler-file "$file" & workers=$!
until [ -s "$file" ]; do sleep 1; done
${FAIRGROUND:-python3 -m fairground} sweep "$@" --scheduler "$(sed -n 's/.*"address": "\([^"]*\)".*/\1/p' "$file")"
