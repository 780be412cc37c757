#!/usr/bin/env bash
# Runs this lab's notebook on Slurm: `sbatch run.sh` in its folder. Options given there override those below:
#     sbatch --nodes 2 --ntasks 8 run.sh
# It writes a log, the executed notebook, and the record of the run, run.json.
# `LAUNCHER=torchrun sbatch run.sh` only trains, on ranks started by torchrun, in labs that ask for a record.

# The job's name, in squeue's list.
#SBATCH --job-name=14_where_time_goes
# The log; %j becomes the job's number.
#SBATCH --output=14_where_time_goes.out.%j
# Nodes to spread the ranks over.
#SBATCH --nodes=1
# Ranks: the processes that train together.
#SBATCH --ntasks=4
# Cores for each rank, which computes with as many threads.
#SBATCH --cpus-per-task=1
# Time limit, hours:minutes:seconds. A short job starts sooner.
#SBATCH --time=00:10:00
# SIGTERM to this script (B) 30 seconds before the time limit, so that the record is still written.
#SBATCH --signal=B:TERM@30

# Admins set what else the cluster needs (account, partition, GPUs, modules) once, in Lockstep's slurm/site.sh.
set -euo pipefail

fail() { # MESSAGE
    printf 'run.sh: %s\n' "$1" >&2
    exit 2
}

[[ -n ${SLURM_JOB_ID-} ]] || fail 'this is a job for Slurm: `sbatch run.sh`. Without Slurm, run the notebook in JupyterLab.'
cd -- "$SLURM_SUBMIT_DIR"
[[ -e 14_where_time_goes.ipynb ]] ||
    fail "there is no 14_where_time_goes.ipynb in $PWD; go to the lab's folder, and \`sbatch run.sh\` there."

# Lockstep's folder, as the hub or an admin has set it; else two folders up, as in the clone.
export LOCKSTEP_HOME=${LOCKSTEP_HOME:-$(cd ../.. && pwd)}
[[ -e $LOCKSTEP_HOME/course/batch/run.py ]] ||
    fail "Lockstep is not in $LOCKSTEP_HOME; \`export LOCKSTEP_HOME=FOLDER\` tells where its clone is, on all nodes."
[[ ! -e $LOCKSTEP_HOME/slurm/site.sh ]] || . "$LOCKSTEP_HOME/slurm/site.sh"

python=${LOCKSTEP_PYTHON:-$LOCKSTEP_HOME/.venv/bin/python}
command -v "${python%% *}" >/dev/null ||
    fail "there is no $python on $(hostname); set Lockstep up (\`./lockstep setup\`), or LOCKSTEP_PYTHON in slurm/site.sh."
export PYTHONPATH=$LOCKSTEP_HOME${PYTHONPATH:+:$PYTHONPATH}
case ${LAUNCHER:-srun} in
srun) module=course.batch.run ;;
torchrun) module=course.batch.torchrun ;;
*) fail "LAUNCHER is srun or torchrun, not $LAUNCHER." ;;
esac
# srun does not take this from sbatch by itself.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}

# exec, so that Slurm's signal reaches it. Unquoted, because it may be a container's command with options.
# shellcheck disable=SC2086
exec $python -P -m $module 14_where_time_goes.ipynb
