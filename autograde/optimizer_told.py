"""What is noted of an optimizer on a rank: its type, its options, the names that it has for parameters."""

from __future__ import annotations

from typing import Any

import torch

from course.numbered import TRAINED, NumberedNet

OPTIONS = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")  # of SGD, that change its steps


def optimizer_told(optimizer: Any, model: NumberedNet) -> dict:
    """On a rank: the type of what was made, its OPTIONS, and what Horovod calls the model's TRAINED parameters.

    Options and names are None where there are none.
    """
    told: dict[str, Any] = {"kind": type(optimizer).__name__, "options": None, "names": None}
    if not isinstance(optimizer, torch.optim.Optimizer):
        return told
    options = {name: optimizer.param_groups[0].get(name) for name in OPTIONS}
    told["options"] = {name: None if value is None else float(value) for name, value in options.items()}
    if (names := getattr(optimizer, "_parameter_names", None)) is not None:
        parameters = dict(model.named_parameters())
        told["names"] = [str(names.get(parameters[name])) for name in TRAINED]
    return told
