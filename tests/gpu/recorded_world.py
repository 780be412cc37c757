"""A world whose ranks note the device and dtype of every tensor that they compute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from course.world import World


def noted(function: Callable, folder: str, where: str, *arguments: Any) -> Any:
    """On a rank: `function(*arguments)`; leaves in `folder` how many tensors of each kind it has made."""
    import json
    import uuid
    from collections import Counter

    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    made: Counter = Counter()

    class Note(TorchDispatchMode):
        def __torch_dispatch__(self, called: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = called(*args, **(kwargs or {}))
            tensors = (leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor))
            made.update(f"{where} {each.device.type} {str(each.dtype).removeprefix('torch.')}" for each in tensors)
            return result

    try:
        with Note():
            return function(*arguments)
    finally:
        with open(f"{folder}/{uuid.uuid4()}.json", "w") as file:
            json.dump(made, file)


class RecordedWorld(World):
    """folder: where ranks leave their notes. gpus: on this machine; runs on no more ranks than that have NCCL."""

    def __init__(self, size: int, folder: Path, gpus: int) -> None:
        super().__init__(size, progress=False)
        self.folder, self.gpus = folder, gpus

    def attempt(self, function: Callable, *args: Any, **options: Any) -> Any:
        """As a world does."""
        ranks = len(options.get("ranks") or ()) or options.get("size") or self.size
        where = "NCCL" if options.get("init") == "torch" and ranks <= self.gpus else "other"
        return super().attempt(noted, function, str(self.folder), where, *args, **options)
