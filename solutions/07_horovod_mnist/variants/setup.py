"""Right answers to `setup`, and mistakes that people make."""

ANSWERS = """
import horovod.torch as hvd
import torch
def setup():
== initialised_once
    if not hvd.is_initialized():
        hvd.init()
    enough = torch.cuda.is_available() and torch.cuda.device_count() >= hvd.local_size()
    device = torch.device(f"cuda:{hvd.local_rank()}" if enough else "cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device
== by_count
    hvd.init()
    if 0 < hvd.local_size() <= torch.cuda.device_count():
        torch.cuda.set_device(f"cuda:{hvd.local_rank()}")
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")
== the_current_gpu
    hvd.init()
    if torch.cuda.device_count() >= hvd.local_size():
        torch.cuda.set_device(hvd.local_rank())
        return torch.device("cuda")
    return torch.device("cpu")
== current_by_block
    hvd.init()
    if torch.cuda.device_count() < hvd.local_size():
        return torch.device("cpu")
    torch.cuda.device(hvd.local_rank()).__enter__()
    return torch.device("cuda", hvd.local_rank())
== rank: rank-for-local-rank, device ordinal
    hvd.init()
    if not torch.cuda.is_available() or torch.cuda.device_count() < hvd.local_size():
        return torch.device("cpu")
    torch.cuda.set_device(hvd.rank())
    return torch.device("cuda", hvd.rank())
== rank_by_gpus: rank-for-local-rank, rank as ordinal
    hvd.init()
    gpus = torch.cuda.device_count()
    if gpus < hvd.local_size():
        return torch.device("cpu")
    torch.cuda.set_device(hvd.rank() % gpus)
    return torch.device("cuda", hvd.rank() % gpus)
== size_for_local_size: cpu-for-gpu, device ordinal < solution
 -> torch.device >>>
not torch.cuda.is_available() or torch.cuda.device_count() < hvd.local_size >>> torch.cuda.device_count() < hvd.size
== first_gpu_for_all: one-gpu-for-all, rank as ordinal
    hvd.init()
    if torch.cuda.device_count() < hvd.local_size():
        return torch.device("cpu")
    torch.cuda.set_device(0)
    return torch.device("cuda", 0)
== not_current: not-current, set_device
    hvd.init()
    enough = torch.cuda.is_available() and torch.cuda.device_count() >= hvd.local_size()
    return torch.device("cuda", hvd.local_rank()) if enough else torch.device("cpu")
== any_gpu_will_do: gpu-for-cpu, device ordinal < solution
 -> torch.device >>>
 or torch.cuda.device_count() < hvd.local_size() >>>
== not_initialised: not-initialised, init
    if torch.cuda.device_count() < hvd.local_size():
        return torch.device("cpu")
    torch.cuda.set_device(hvd.local_rank())
    return torch.device("cuda", hvd.local_rank())
== text: not-a-device, set_device
    hvd.init()
    if torch.cuda.device_count() < hvd.local_size():
        return "cpu"
    torch.cuda.set_device(hvd.local_rank())
    return f"cuda:{hvd.local_rank()}"
== set_without_gpus: no-such-gpu, init
    hvd.init()
    torch.cuda.set_device(hvd.local_rank())
    enough = torch.cuda.device_count() >= hvd.local_size()
    return torch.device("cuda", hvd.local_rank()) if enough else torch.device("cpu")
"""
