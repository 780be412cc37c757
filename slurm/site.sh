# This cluster, for all of Lockstep's jobs: its admins edit this file, nobody else has to know. It is bash.
#
# It is read twice: in each job, by a lab's run.sh and by grade.sh; and it should be read where jobs are submitted, as
# sbatch's own options (SBATCH_...) come too late in the job. So, in the environment of logins and of the hub:
#     export LOCKSTEP_HOME=/shared/lockstep
#     . "$LOCKSTEP_HOME/slurm/site.sh"
#
# All names below but LOCKSTEP_... are Slurm's, see `man sbatch` and `man srun`, or of the library they configure.
# They win over the #SBATCH lines of a script; what a user writes on sbatch's command line wins over them.
# Everything is commented out: a plain cluster whose default partition is the right one needs nothing of it.

# --- any cluster ---------------------------------------------------------------------------------------------------
# export SBATCH_ACCOUNT=course-101        # who pays
# export SBATCH_PARTITION=teaching        # queue
# export SBATCH_QOS=short                 # limits and priority
# export SBATCH_RESERVATION=lecture       # nodes kept free for a class
# export SBATCH_CONSTRAINT=skylake        # only nodes of a kind, so that times can be compared
# export SBATCH_REQ_SWITCH=1              # --switches: all nodes below one switch of the network ...
# export SBATCH_WAIT4SWITCH=5:00          # ... but start anyway after waiting five minutes for that
#
# The Python that Lockstep runs with, where it is not .venv of the clone; its packages are in environment.yml.
# export LOCKSTEP_PYTHON=/shared/conda/envs/lockstep/bin/python
#
# Data sets, in a folder that all nodes see (`./lockstep data FOLDER`).
# export LOCKSTEP_DATA=/shared/data

# --- a plain cluster, Open MPI ---------------------------------------------------------------------------------------
# module load openmpi/5.0                 # inside the job too: hence here
# export SLURM_MPI_TYPE=pmix              # srun --mpi; what `srun --mpi=list` offers. Without PMIx: pmi2
# The network that ranks talk by, where nodes have more than one; `ip -brief address` lists them.
# export GLOO_SOCKET_IFNAME=ib0           # torch.distributed and Horovod on CPUs
# export OMPI_MCA_btl_tcp_if_include=ib0  # Open MPI over TCP
# export HOROVOD_GLOO_IFACE=ib0           # Horovod without MPI

# --- a Cray with MPICH -------------------------------------------------------------------------------------------------
# module load PrgEnv-gnu cray-mpich cray-python
# export SLURM_MPI_TYPE=cray_shasta       # srun --mpi=cray_shasta
# export MPICH_GPU_SUPPORT_ENABLED=1      # MPI reads GPU memory
# export FI_CXI_DEFAULT_CQ_SIZE=131072    # Slingshot: completion queues that many ranks do not fill
# export GLOO_SOCKET_IFNAME=hsn0 NCCL_SOCKET_IFNAME=hsn0
# export NCCL_NET="AWS Libfabric"         # NCCL over Slingshot, by aws-ofi-nccl's plug-in
# mpi4py and Horovod must be built on cray-mpich: `./lockstep setup` with `module load cray-mpich` takes its mpicxx.

# --- nodes with 4 or 8 GPUs --------------------------------------------------------------------------------------------
# export SBATCH_GPUS_PER_TASK=1           # a GPU for each rank: the job gets as many as it has ranks
# export SLURM_GPUS_PER_TASK=1            # the same for srun, in the job
# export SLURM_GPU_BIND=none              # each rank sees all GPUs of its node, and takes the one of its local rank
# export SLURM_CPU_BIND=cores             # ranks stay on cores of their own
# export NCCL_SOCKET_IFNAME=ib0           # NCCL's first contact; =^lo,docker0 to leave some out
# export NCCL_IB_HCA=mlx5                 # InfiniBand cards of NCCL
# export NCCL_DEBUG=WARN                  # INFO: which network NCCL has found
# Eight ranks are one node with 8 GPUs (sbatch --ntasks 8 run.sh), or two with 4 (sbatch --nodes 2 --ntasks 8 run.sh).

# --- in a container ------------------------------------------------------------------------------------------------------
# The job's own program, and each rank, run in it; MPI, Slurm's PMIx and srun must be in it, or bound into it.
# export LOCKSTEP_PYTHON="apptainer exec --nv --bind /shared /shared/lockstep.sif python"
