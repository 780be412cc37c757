# Settings of this cluster for all of Lockstep's jobs, in bash. Admins edit this file; nobody else needs to know it.
#
# It is read in each job, by a lab's run.sh and by grade.sh. It must also be read where jobs are submitted, because
# sbatch's own options (SBATCH_...) come too late inside the job:
#     export LOCKSTEP_HOME=/shared/lockstep
#     . "$LOCKSTEP_HOME/slurm/site.sh"
# There they hold for all that one submits, so do not read it for all users of the cluster: docs/clusters.md, "For the
# course only", has lines for a Unix group, and a table of what sets which limit.
#
# All names below except LOCKSTEP_... are Slurm's, see `man sbatch` and `man srun`, or those of the library they
# configure. Where a script's #SBATCH line sets the same, SBATCH_... wins; sbatch's command line wins over both.
# Everything is commented out: a plain cluster with the right default partition needs none of it.

# Any cluster:
# export SBATCH_ACCOUNT=course-101        # who pays
# export SBATCH_PARTITION=teaching        # queue
# export SBATCH_QOS=short                 # limits and priority
# export SALLOC_ACCOUNT=course-101 SALLOC_PARTITION=teaching  # the same for World(8, launcher="slurm") in a notebook
# export SBATCH_RESERVATION=lecture       # nodes kept free for a class
# export SBATCH_CONSTRAINT=skylake        # nodes of one kind only, so that times can be compared
# export SBATCH_REQ_SWITCH=1              # --switches: all nodes under one network switch ...
# export SBATCH_WAIT4SWITCH=5:00          # ... but start anyway after waiting five minutes for it
#
# The Python that runs Lockstep, if not the clone's .venv; it needs the packages in environment.yml.
# export LOCKSTEP_PYTHON=/shared/conda/envs/lockstep/bin/python
#
# Data sets, in a folder that all nodes see (`./lockstep data FOLDER`).
# export LOCKSTEP_DATA=/shared/data

# A plain cluster, with Open MPI:
# module load openmpi/5.0                 # here, because jobs need it, too
# export SLURM_MPI_TYPE=pmix              # srun --mpi; `srun --mpi=list` lists the choices. Open MPI 5 knows
#                                         # pmix only. Without it: pmi2, and an Open MPI 4 that was built for that
# The network between ranks, if nodes have more than one; `ip -brief address` lists them.
# export GLOO_SOCKET_IFNAME=ib0           # torch.distributed and Horovod on CPUs
# export OMPI_MCA_btl_tcp_if_include=ib0  # Open MPI over TCP
# export HOROVOD_GLOO_IFACE=ib0           # Horovod without MPI

# A Cray with MPICH:
# module load PrgEnv-gnu cray-mpich cray-python
# export SLURM_MPI_TYPE=cray_shasta       # srun --mpi=cray_shasta
# export MPICH_GPU_SUPPORT_ENABLED=1      # lets MPI read GPU memory
# export FI_CXI_DEFAULT_CQ_SIZE=131072    # Slingshot: completion queues large enough for many ranks
# export GLOO_SOCKET_IFNAME=hsn0 NCCL_SOCKET_IFNAME=hsn0
# export NCCL_NET="AWS Libfabric"         # NCCL over Slingshot, by aws-ofi-nccl's plug-in
# mpi4py and Horovod must be built on cray-mpich: after `module load cray-mpich`, `./lockstep setup` uses its mpicxx.

# Nodes with 4 or 8 GPUs:
# export SBATCH_GPUS_PER_TASK=1           # a GPU for each rank: the job gets as many as it has ranks
# export SLURM_GPUS_PER_TASK=1            # the same for srun, in the job
# export SLURM_GPU_BIND=none              # each rank sees all GPUs of its node, and uses that of its local rank
# export SLURM_CPU_BIND=cores             # ranks stay on cores of their own
# export NCCL_SOCKET_IFNAME=ib0           # NCCL's first contact; =^lo,docker0 to leave some out
# export NCCL_IB_HCA=mlx5                 # InfiniBand cards of NCCL
# export NCCL_DEBUG=WARN                  # INFO also shows which network NCCL has found
# Eight ranks take one node with 8 GPUs (sbatch --ntasks 8 run.sh), or two with 4 (sbatch --nodes 2 --ntasks 8 run.sh).

# A container, in which the job's own program and each rank run; it needs MPI, Slurm's PMIx and srun, or binds of them:
# export LOCKSTEP_PYTHON="apptainer exec --nv --bind /shared /shared/lockstep.sif python"
