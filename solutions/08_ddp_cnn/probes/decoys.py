"""An environment that says something else than the argument, and programs that are noted in place of being called."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

# What `os.environ` holds meanwhile: who reads it gets these.
DECOYS = {"SLURM_PROCID": "71", "SLURM_LOCALID": "72", "SLURM_NTASKS": "73", "SLURM_NODEID": "0", "SLURM_JOB_ID": "74"}
DECOYS |= {"SLURM_STEP_TASKS_PER_NODE": "75(x9)", "SLURM_STEP_NODELIST": "decoy76", "SLURM_JOB_NODELIST": "decoy76"}
DECOYS |= {"SLURM_STEP_ID": "77", "RANK": "78", "WORLD_SIZE": "79", "LOCAL_RANK": "80", "LOCAL_WORLD_SIZE": "81"}
DECOYS |= {"MASTER_ADDR": "decoy82", "MASTER_PORT": "8383"}


@contextmanager
def decoyed(called: list[str], names: list[str]) -> Iterator[None]:
    """In this block `os.environ` holds other values. Programs are noted in `called`, and seem to print the names of the
    step's nodes, as `scontrol show hostnames` does: so what else an answer lacks is seen, too."""

    def start(command: Any, *_: Any, **options: Any) -> Any:
        called.append(str(command if isinstance(command, str) else command[0])[:40])
        text: Any = "".join(f"{name}\n" for name in names)
        if not any(options.get(name) for name in ("text", "universal_newlines", "encoding")):
            text = text.encode()
        process = mock.MagicMock(args=command, returncode=0)
        process.stdout = io.StringIO(text) if isinstance(text, str) else io.BytesIO(text)
        process.communicate.return_value, process.wait.return_value, process.poll.return_value = (text, None), 0, 0
        process.__enter__.return_value, process.__exit__.return_value = process, None
        return process

    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    with (
        mock.patch.dict(os.environ, {**kept, **DECOYS}, clear=True),
        mock.patch.object(subprocess, "Popen", start),
        mock.patch.object(os, "system", lambda command: start(command).returncode),
    ):
        yield
