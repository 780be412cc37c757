#!/usr/bin/env bash
# Grades submissions in one task of a job array, which `lockstep grade LAB --slurm` submits:
#     sbatch --array=0-N --requeue grade.sh REPOSITORY PYTHON TASKS

# The job's name, in squeue's list.
#SBATCH --job-name=lockstep-grade
# A submission's ranks share a node: their sandbox has no network but its own loopback.
#SBATCH --nodes=1
# One process, which starts the ranks itself, in the sandbox.
#SBATCH --ntasks=1
# Cores for the ranks of all submissions that are examined at once; their number depends on it.
#SBATCH --cpus-per-task=4

# Admins set what else the cluster needs (account, partition, time limit, memory, modules) once, in site.sh.
set -euo pipefail
[[ ! -e $1/slurm/site.sh ]] || . "$1/slurm/site.sh"
export PYTHONPATH=$1

# exec, so that Slurm's signals reach it. Unquoted, because it may be a container's command with options.
# shellcheck disable=SC2086
exec ${LOCKSTEP_PYTHON:-"$2"} -P -m autograde.slurm.array_task "$3"
