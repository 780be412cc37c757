"""When a rank's process began, had its process group, and made a step, for `restarts.py`, whose ranks import it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


def process_began() -> float:
    """When this process began, in seconds of time.time(); good to 10 ms. (psutil's clock may be a second off.)"""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / TICKS)


def noted(folder: str, attempt: str, train: Callable, *args: Any, kill_at: int = 0) -> Any:
    """On a rank: what ``train(*args)`` returns. A file in `folder` tells when what happened, in lines
    such as ["step", 1.5]: "process", "group", "step", then "killed" or "end".

    kill_at: after how many steps this process kills itself; 0: never. A step is one of any optimizer of torch.
    """
    import torch.distributed as dist
    from torch.optim.optimizer import register_optimizer_step_post_hook

    path, steps = Path(folder, f"attempt-{attempt}-rank-{dist.get_rank()}"), 0

    def note(what: str, when: float) -> None:
        with path.open("a") as file:  # closed after each line, so that a kill loses nothing
            file.write(json.dumps([what, when]) + "\n")

    def stepped(*_: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == 1:
            note("step", time.time())
        if steps == kill_at:
            note("killed", time.time())
            os.kill(os.getpid(), signal.SIGKILL)

    note("process", process_began())
    note("group", time.time())
    hook = register_optimizer_step_post_hook(stepped)
    try:
        return train(*args)
    finally:
        hook.remove()
        note("end", time.time())
