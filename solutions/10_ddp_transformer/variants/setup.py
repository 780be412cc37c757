"""Right answers to `setup`, and mistakes that people make."""

ANSWERS = r"""
import os
import torch
import torch.distributed as dist
def setup():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local_rank, local_size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    gpus = torch.cuda.is_available() and torch.cuda.device_count() >= local_size
== url
    if gpus:
        torch.cuda.set_device(local_rank)
    address = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    dist.init_process_group("nccl" if gpus else "gloo", init_method=address, rank=rank, world_size=size)
    return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== imported_by_name
import os
from torch import cuda, device
from torch.distributed import init_process_group
def setup():
    local_rank, local_size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    gpus = cuda.device_count() >= local_size
    init_process_group("nccl" if gpus else "gloo")
    if gpus:
        cuda.set_device(local_rank)
    return device("cuda", local_rank) if gpus else device("cpu")
== the_current_gpu
    if gpus:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if gpus else "gloo")
    return torch.device("cuda" if gpus else "cpu")
== both_backends
    from datetime import timedelta
    if not gpus:
        dist.init_process_group(dist.Backend.GLOO, timeout=timedelta(minutes=5))
        return torch.device("cpu")
    dist.init_process_group("cpu:gloo,cuda:nccl", timeout=timedelta(minutes=5))
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", torch.cuda.current_device())
== device_id
    device = torch.device(f"cuda:{local_rank}" if gpus else "cpu")
    if gpus:
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
        dist.barrier(device_ids=[local_rank])
    else:
        dist.init_process_group(backend="gloo", init_method="env://")
    return device
== by_the_group
    dist.init_process_group("nccl" if gpus else "gloo", rank=rank, world_size=size)
    if dist.get_backend() == "nccl":
        torch.cuda.set_device(f"cuda:{local_rank}")
        return torch.device("cuda:" + os.environ["LOCAL_RANK"])
    return torch.device("cpu")
== accelerator
    if torch.accelerator.is_available() and torch.accelerator.device_count() >= local_size:
        torch.accelerator.set_device_index(local_rank)
        device = torch.device(torch.accelerator.current_accelerator().type, local_rank)
    else:
        device = torch.device("cpu")
    dist.init_process_group(dist.get_default_backend_for_device(device))
    return device
== store
    os.environ.setdefault("MASTER_PORT", "29500")
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, is_master=rank == 0)
    dist.init_process_group("nccl" if gpus else "gloo", store=store, rank=rank, world_size=size)
    if gpus:
        torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== gloo_with_gpus: always-gloo, gloo fallback
    if gpus:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("gloo")
    return torch.device("cuda", local_rank) if gpus else torch.device("cpu")
== local_rank_in_the_group: local-rank-for-rank, rank < gloo_with_gpus
"gloo" >>> "nccl" if gpus else "gloo", rank=local_rank, world_size=size
== local_size_in_the_group: wrong-numbers, rank < gloo_with_gpus
"gloo" >>> "nccl" if gpus else "gloo", rank=rank, world_size=local_size
== world_rank: wrong-numbers, rank < gloo_with_gpus
if gpus: >>> from mpi4py import MPI\n    if gpus:
"gloo" >>> "nccl" if gpus else "gloo", rank=MPI.COMM_WORLD.rank, world_size=size
== own_port: own-address, fixed port < gloo_with_gpus
if gpus: >>> os.environ["MASTER_ADDR"] = "localhost"\n    os.environ["MASTER_PORT"] = "12355"\n    if gpus:
"gloo" >>> "nccl" if gpus else "gloo", rank=rank, world_size=size
== own_url: own-address, fixed address < gloo_with_gpus
"gloo" >>> "nccl" if gpus else "gloo", "tcp://127.0.0.1:29500", rank=rank, world_size=size
== no_group: no-group, gloo fallback < gloo_with_gpus
\n    dist.init_process_group("gloo") >>>
== a_string: not-a-device, gloo fallback < gloo_with_gpus
"gloo" >>> "nccl" if gpus else "gloo"
torch.device("cuda", local_rank) if gpus else torch.device("cpu") >>> f"cuda:{local_rank}" if gpus else "cpu"
== returns_nothing: not-a-device, gloo fallback < gloo_with_gpus
"gloo" >>> "nccl" if gpus else "gloo"
\n    return torch.device("cuda", local_rank) if gpus else torch.device("cpu") >>>
== always_gloo: cpu-for-gpu, gloo fallback
    dist.init_process_group("gloo")
    return torch.device("cpu")
== nccl_on_the_cpu: cpu-for-gpu, gloo fallback < always_gloo
"gloo" >>> "nccl" if gpus else "gloo"
== first_gpu_for_all: one-gpu-for-all, one gpu < nccl_on_the_cpu
return >>> return torch.device("cuda", 0) if gpus else
== cuda_without_a_number: one-gpu-for-all, set_device < nccl_on_the_cpu
return >>> return torch.device("cuda") if gpus else
== not_made_current: not-current, set_device
    device = torch.device("cuda", local_rank) if gpus else torch.device("cpu")
    dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)
    return device
== counts_all_ranks: cpu-for-gpu, gloo fallback
    if torch.cuda.device_count() >= size + 5:
        torch.cuda.set_device(local_rank)
        dist.init_process_group("nccl")
        return torch.device("cuda", local_rank)
    dist.init_process_group("gloo")
    return torch.device("cpu")
== one_gpu_too_many: cpu-for-gpu, gloo fallback < counts_all_ranks
size + 5 >>> local_size + 1
== any_gpu_will_do: gpu-for-cpu, duplicate gpu < counts_all_ranks
torch.cuda.device_count() >= size + 5 >>> torch.cuda.is_available()
set_device(local_rank) >>> set_device(local_rank % torch.cuda.device_count())
"cuda", local_rank >>> "cuda", local_rank % torch.cuda.device_count()
== always_nccl: nccl-without-gpus, nccl without gpus
    dist.init_process_group("nccl")
    if not gpus:
        return torch.device("cpu")
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)
== rank_of_the_group: rank-for-local-rank, rank as gpu < always_nccl
"nccl" >>> "nccl" if gpus else "gloo"
set_device(local_rank) >>> set_device(dist.get_rank())
"cuda", local_rank >>> "cuda", dist.get_rank()
== rank_as_gpu: rank-for-local-rank, rank
    if not gpus:
        dist.init_process_group("gloo")
        return torch.device("cpu")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    return torch.device("cuda", rank)
"""
