"""All that the kit uses of torch is there, in whichever release is installed; `python tests/gpu` looks for it, too."""

from __future__ import annotations

from torch_names import missing, torch_names, used_and_missing


def test_torch_has_all_that_the_kit_uses_of_it():
    used, lacking = used_and_missing()
    assert {"torch.distributed.init_process_group", "torch.nn.parallel.DistributedDataParallel"} <= used
    assert lacking == []


def test_a_name_that_torch_does_not_have_is_found():
    text = "import torch\nimport torch.distributed as dist\nfrom torch import nn\ntorch.tensr(1)\ndist.al()\nnn.Lin\n"
    assert {"torch.tensr", "torch.distributed.al", "torch.nn.Lin"} <= {*filter(missing, torch_names(text))}
