"""Right answers to `parallelize`, and mistakes that people make."""

ANSWERS = r"""
from torch.nn.parallel import DistributedDataParallel as DDP
def parallelize(model, device):
== in_two_branches
    model = model.to(device)
    if device.type == "cuda":
        return DDP(model, device_ids=[device.index])
    return DDP(model)
== all_in_one
import torch
def parallelize(model, device):
    ids = [device] if device.type == "cuda" else None
    return torch.nn.parallel.DistributedDataParallel(model.to(device), device_ids=ids, output_device=ids and ids[0])
== default_group_named
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def parallelize(model, device):
    return DDP(model.to(device), [device] if device.type == "cuda" else None, process_group=dist.group.WORLD)
== by_cuda
import torch
from torch.nn.parallel import DistributedDataParallel
def parallelize(model, device):
    if device.type != "cuda":
        return DistributedDataParallel(model.to(device=device))
    torch.cuda.set_device(device)
    return DistributedDataParallel(model.cuda(device), device_ids=[torch.cuda.current_device()])
== device_ids_on_the_cpu: device-ids-on-cpu, device_ids < in_two_branches
return DDP(model) >>> return DDP(model, device_ids=[0])
== rank_for_local_rank: wrong-device-ids, local rank < in_two_branches
from torch >>> import torch\nfrom torch
device.index >>> torch.distributed.get_rank()
== always_gpu_0: wrong-device-ids, local rank < in_two_branches
device.index >>> 0
== all_gpus_of_the_node: wrong-device-ids, local rank < in_two_branches
from torch >>> import torch\nfrom torch
[device.index] >>> list(range(torch.cuda.device_count()))
== device_ids_missing: device-ids-missing, device_ids < in_two_branches
device_ids=[device.index] >>>
== not_moved: not-moved, device_ids < in_two_branches
model.to(device) >>> model
== moved_after: not-moved, device_ids < in_two_branches
\n    model = model.to(device) >>>
]) >>> ]).to(device)
== unused_parameters: ddp-options, docs < in_two_branches
return DDP(model) >>> return DDP(model, find_unused_parameters=True)
== no_broadcast_of_buffers: ddp-options, freeze < in_two_branches
return DDP(model) >>> return DDP(model, broadcast_buffers=False)
== small_buckets: ddp-options, docs < in_two_branches
] >>> ], bucket_cap_mb=1
== not_wrapped: not-ddp, docs < in_two_branches
DDP(model) >>> model
== data_parallel: not-ddp, docs
import torch
def parallelize(model, device):
    return torch.nn.DataParallel(model.to(device))
== group_of_its_own: ddp-options, docs
    ids = [device] if device.type == "cuda" else None
    return DDP(model.to(device), device_ids=ids, process_group=__import__("torch").distributed.new_group())
== start_not_synchronised: ddp-options, traps
    ids = [device] if device.type == "cuda" else None
    return DDP(model.to(device), device_ids=ids, init_sync=False)
"""
