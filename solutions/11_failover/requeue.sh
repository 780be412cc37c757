#!/usr/bin/env bash
# Trains on Slurm until it is done, however often the time limit ends it: `sbatch requeue.sh` in this lab's folder.
# About a minute before the limit, or earlier, the ranks save and leave, and the job asks to be queued again, five times at most.

# The job's name, in squeue's list.
#SBATCH --job-name=11_failover
# The log; %j becomes the job's number, which stays.
#SBATCH --output=11_failover.requeue.%j
# Each attempt goes on in the same log.
#SBATCH --open-mode=append
# The job may be queued again.
#SBATCH --requeue
# Ranks: the processes that train together.
#SBATCH --ntasks=4
# Cores for each rank.
#SBATCH --cpus-per-task=1
# Time limit of an attempt, hours:minutes:seconds.
#SBATCH --time=00:02:00
# SIGUSR2 to all ranks (no B: the script itself gets none) 60 seconds before the time limit; Slurm may be a minute early.
#SBATCH --signal=USR2@60

# Admins set what else the cluster needs (account, partition, modules) once, in Lockstep's slurm/site.sh.
set -euo pipefail

fail() { # MESSAGE
    printf 'requeue.sh: %s\n' "$1" >&2
    exit 2
}

[[ -n ${SLURM_JOB_ID-} ]] || fail 'this is a job for Slurm: `sbatch requeue.sh`.'
cd -- "$SLURM_SUBMIT_DIR"
[[ -e 11_failover.ipynb ]] || fail "there is no 11_failover.ipynb in $PWD; go to the lab's folder, and \`sbatch\` there."

# Lockstep's folder, as the hub or an admin has set it; else two folders up, as in the clone.
export LOCKSTEP_HOME=${LOCKSTEP_HOME:-$(cd ../.. && pwd)}
[[ -e $LOCKSTEP_HOME/course/batch/requeued.py ]] ||
    fail "Lockstep is not in $LOCKSTEP_HOME; \`export LOCKSTEP_HOME=FOLDER\` tells where its clone is, on all nodes."
# Where JupyterLab is in a job, what that job and its step asked for came along; srun would take it for options of its own.
unset "${!SLURM_MEM_PER_@}" "${!SLURM_NTASKS_PER_@}" "${!SLURM_TRES_@}" "${!SLURM_CPU_BIND@}" "${!SLURM_GPU@}" "${!SRUN_@}" \
    SLURM_HINT SLURM_EXPORT_ENV SLURM_THREADS_PER_CORE SLURM_EXCLUSIVE SLURM_TIMELIMIT SLURM_WORKING_DIR SLURM_REMOTE_CWD
[[ ! -e $LOCKSTEP_HOME/slurm/site.sh ]] || . "$LOCKSTEP_HOME/slurm/site.sh"
python=${LOCKSTEP_PYTHON:-$LOCKSTEP_HOME/.venv/bin/python}
export PYTHONPATH=$LOCKSTEP_HOME${PYTHONPATH:+:$PYTHONPATH} OMP_NUM_THREADS=1

# Each task is a rank. Unquoted, because it may be a container's command with options.
# shellcheck disable=SC2086
srun --mpi=none --kill-on-bad-exit=1 $python -P -m course.batch.requeued 11_failover.ipynb "${EPOCHS:-20}" "${SECONDS_A_STEP:-0.3}"
