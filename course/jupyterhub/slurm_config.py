"""Servers, and the ranks of their worlds, on the nodes of a Slurm cluster: a file for `./lockstep hub --config`.

Hub and nodes must share accounts, and see homes, clone and the hub's folder under the same paths. Copy this file, and
change the lines that do not suit your cluster.
"""

import os
import sys
from pathlib import Path

import batchspawner  # noqa: F401, lets a server tell the hub where it runs

c = get_config()  # noqa: F821

# Each server is a job of its user's.
c.JupyterHub.spawner_class = "batchspawner.SlurmSpawner"
# The hub submits it as that user, with the server's environment, by sudo or runuser; so the hub must run as root.
c.SlurmSpawner.exec_prefix = "/usr/sbin/runuser -u {username} --"
# Where slurm.conf is, if not in the default place: a job needs it to start its steps.
c.Spawner.env_keep.append("SLURM_CONF")
# The address by which nodes reach the hub. This traffic is not encrypted: see JupyterHub.internal_ssl.
c.JupyterHub.hub_connect_ip = os.environ.get("LOCKSTEP_HUB_IP", "127.0.0.1")
c.JupyterHub.hub_bind_url = f"http://{c.JupyterHub.hub_connect_ip}:{int(os.environ['LOCKSTEP_HUB_PORT']) + 81}"
# A job may have to wait; students see for how long, and what for.
c.Spawner.start_timeout = 600

# What a server's job asks for. A world's ranks run in the same job: cores for four ranks and the notebook.
c.SlurmSpawner.req_partition = os.environ.get("LOCKSTEP_HUB_PARTITION", "")
c.SlurmSpawner.req_nprocs = "4"
c.SlurmSpawner.req_memory = ""
c.SlurmSpawner.req_runtime = "8:00:00"
c.SlurmSpawner.req_srun = ""  # the server is not a step of the job; the ranks are
c.Spawner.cmd = [str(Path(sys.executable).parent / "jupyterhub-singleuser")]
c.SlurmSpawner.batch_script = """#!/bin/bash
#SBATCH --job-name=jupyterhub
#SBATCH --output=/dev/null
#SBATCH --chdir={{homedir}}
#SBATCH --export={{keepvars}}
{% if partition %}#SBATCH --partition={{partition}}
{% endif %}{% if runtime %}#SBATCH --time={{runtime}}
{% endif %}{% if memory %}#SBATCH --mem={{memory}}
{% endif %}{% if nprocs %}#SBATCH --cpus-per-task={{nprocs}}
{% endif %}
umask 077
log=.jupyterhub-$SLURM_JOB_ID.log
{ : >> "$log"; } 2> /dev/null && exec >> "$log" 2>&1  # unless the home is full
exec START {{cmd}}
""".replace("START", f"{sys.executable} -P -m course.homes.start --apart")
