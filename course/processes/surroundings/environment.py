"""What of the environment a world takes, on one machine and in a Slurm job.

A notebook's environment is what a login shell, a site's modules, a batch job and JupyterLab have set, for programs of
their own. Most of it is passed on to the ranks. RULES lists what is not, each with its reason. What a world sets itself
is in `course.processes.launchers.mpi.mpi_environment`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

MACHINE, JOB = "one machine", "a Slurm job"


@dataclass(frozen=True)
class Rule:
    """Variables that ranks do not get. names: with spaces between them, and `*` for anything. kept: of these, the ones
    that they do get.

    where: MACHINE for ranks that mpiexec starts here, JOB for those that srun starts.
    """

    reason: str
    names: str
    kept: str = ""
    where: tuple[str, ...] = (MACHINE, JOB)

    def holds(self, name: str) -> bool:
        """Whether ranks do not get this variable."""
        out, kept = (any(fnmatchcase(name, each) for each in names.split()) for names in (self.names, self.kept))
        return out and not kept


RULES = (
    Rule(
        "it numbers this process among the ranks of another MPI program, which has started it",
        "OMPI_COMM_WORLD_* OMPI_UNIVERSE_SIZE OMPI_APP_* OMPI_FIRST_RANKS OMPI_NUM_APP_CTX OMPI_ARGV OMPI_COMMAND "
        "OMPI_FILE_LOCATION OMPI_MCA_ess* OMPI_MCA_orte_* PRTE_LAUNCHED PRTE_MCA_ess* PMIX_* PMI_* PMI2_* "
        "MPI_LOCALRANKID MPI_LOCALNRANKS MV2_COMM_WORLD_* HYDI_*",
        kept="PMIX_MCA_*",
    ),
    Rule(
        "torchrun has set it for a rank of its own; each run sets those of its ranks",
        "RANK LOCAL_RANK GROUP_RANK ROLE_* WORLD_SIZE LOCAL_WORLD_SIZE GROUP_WORLD_SIZE MASTER_ADDR MASTER_PORT "
        "TORCHELASTIC_* PET_*",
    ),
    Rule(
        "horovodrun has set it for a rank of its own, which Horovod would wait for instead of asking MPI",
        "HOROVOD_RANK HOROVOD_SIZE HOROVOD_LOCAL_* HOROVOD_CROSS_* HOROVOD_HOSTNAME HOROVOD_GLOO_RENDEZVOUS_* "
        "HOROVOD_CONTROLLER HOROVOD_CPU_OPERATIONS",
    ),
    Rule("a rank would stop at a prompt instead of ending", "PYTHONINSPECT"),
    Rule("a library's warning would end the programs that start ranks", "PYTHONWARNINGS"),
    Rule(
        "by it mpiexec would start the ranks by the means, and on the nodes, of a batch job",
        "SLURM_* SLURMD_* SRUN_* PBS_* LSB_* PE_HOSTFILE FLUX_* COBALT_* HYDRA_* I_MPI_HYDRA_* I_MPI_PMI_LIBRARY",
        kept="SLURM_CONF SLURM_CLUSTERS",
        where=(MACHINE,),
    ),
    Rule(
        "it chooses a cluster's network, hosts or binding for MPI; on one machine ranks share its memory",
        "OMPI_MCA_* PRTE_MCA_* PMIX_MCA_* UCX_NET_DEVICES UCX_TLS FI_PROVIDER I_MPI_FABRICS",
        where=(MACHINE,),
    ),
    Rule(
        "it chooses a cluster's network for gloo or NCCL; on one machine ranks meet on the loopback",
        "GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME HOROVOD_GLOO_IFACE NCCL_SOCKET_IFNAME NCCL_NET NCCL_IB_*",
        where=(MACHINE,),
    ),
    Rule(
        "it changes what Horovod sends, traces or prints, for trainings of one's own; labs look at that",
        "HOROVOD_*",
        where=(MACHINE,),
    ),
    Rule(
        "it would bind the threads of all ranks to the same cores, or have idle threads keep them",
        "OMP_PROC_BIND OMP_PLACES OMP_WAIT_POLICY GOMP_CPU_AFFINITY GOMP_SPINCOUNT KMP_*",
        kept="KMP_DUPLICATE_LIB_OK",
        where=(MACHINE,),
    ),
    Rule(
        "srun would take it for an option: it is of another step, or of the job of a JupyterLab in which this job was "
        "submitted. The world itself says what its step needs",
        "SLURM_* SRUN_*",
        kept="SLURM_CONF* SLURM_CLUSTER* SLURM_JWT SLURM_DEBUG SLURM_MPI_TYPE SLURM_NETWORK SLURM_PMI* SLURM_CPU_BIND "
        "SLURM_GPU_BIND SLURM_GPUS_PER_TASK SRUN_CPUS_PER_TASK SLURM_ARRAY_* SLURM_RESTART_COUNT SLURM_SUBMIT_* "
        "SLURM_SPANK_*",
        where=(JOB,),
    ),
)


@dataclass(frozen=True)
class Step:
    """What the step of the ranks can have in its job. tasks: ranks in it. cpus, gpus: that the whole job has."""

    tasks: int
    cpus: int
    gpus: bool

    def refuses(self, name: str, value: str) -> str | None:
        """Why a site's setting of a step's options cannot be meant for this step; None: it can."""
        if name in ("SLURM_CPU_BIND", "SLURM_GPU_BIND") and ("mask_" in value or "map_" in value):
            return "it lists the processors of another step"
        if name == "SLURM_GPUS_PER_TASK" and not self.gpus:
            return "this job has no GPUs"
        if name == "SRUN_CPUS_PER_TASK" and not (value.isdigit() and self.tasks * int(value) <= self.cpus):
            return f"this job has {self.cpus} cores for {self.tasks} ranks"
        return None


def left_out(environment: Mapping[str, str], where: str, step: Step | None = None) -> dict[str, str]:
    """The variables that ranks do not get, each with the reason. where: MACHINE or JOB. step: theirs, in a job."""
    reasons = {}
    for name, value in environment.items():
        reason = next((rule.reason for rule in RULES if where in rule.where and rule.holds(name)), None)
        if reason is None and step is not None:
            reason = step.refuses(name, value)
        if reason is None and name == "TMPDIR" and not os.path.isdir(value):
            reason = f"there is no folder {value} here"
        if reason is not None:
            reasons[name] = reason
    return reasons


def taken(environment: Mapping[str, str], where: str, step: Step | None = None) -> dict[str, str]:
    """The variables that ranks get. where, step: as for `left_out`."""
    names = left_out(environment, where, step)
    return {name: value for name, value in environment.items() if name not in names}


def without(names: Iterable[str], program: str) -> list[str]:
    """A command that starts `program` without some of this process's variables."""
    options = [word for name in sorted(names) if name in os.environ for word in ("-u", name)]
    return ["/usr/bin/env", *options, program] if options else [program]
