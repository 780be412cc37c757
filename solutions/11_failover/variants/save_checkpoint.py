"""Right answers to `save_checkpoint`, and mistakes that people make."""

ANSWERS = r"""
import os
import torch
import torch.distributed as dist
def save_checkpoint(path, model, optimizer, epoch, consumed):
== plain
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
    device = next(model.parameters()).device
    own = [torch.get_rng_state()]
    if device.type == "cuda":
        own += [torch.cuda.get_rng_state(device)]
    random = [None] * dist.get_world_size()
    dist.all_gather_object(random, own)
    state |= {"epoch": epoch, "consumed": consumed, "random": random}
    if dist.get_rank() == 0:
        torch.save(state, f"{path}.part")
        os.replace(f"{path}.part", path)
    dist.barrier()
== gathered_as_tensors < plain
    dist.all_gather_object(random, own) >>>     dist.gather_object(own, random if dist.get_rank() == 0 else None)
== class_of_its_own < plain
def save_checkpoint( >>> class Own:\n    def __init__(self, states):\n        self.states = states\ndef save_checkpoint(
    dist.all_gather_object(random, own) >>>     dist.all_gather_object(random, Own(own))\n    random = [each.states for each in random]
== by_handle < plain
        torch.save(state, f"{path}.part") >>>         with open(f"{path}.part", "wb") as file:\n            torch.save(state, file)
== random_not_saved: random-missing, random not saved < plain
, "random": random} >>> }
== own_only: another-length, rank 0's random < plain
"random": random >>> "random": [own]
== in_another_order: out-of-order, rank 0's random for all < plain
"random": random >>> "random": random[1:] + random[:1]
== rank_0s_for_all: rank-0-for-all, rank 0's random for all < plain
"random": random >>> "random": [own] * dist.get_world_size()
== seeds_saved: seed-not-state, rank 0's random for all < plain
torch.get_rng_state() >>> torch.Generator().manual_seed(torch.initial_seed()).get_state()
== gathered_on_rank_0: other-order, one rank leaves < plain
    dist.all_gather_object(random, own) >>>     if dist.get_rank() == 0:\n        dist.all_gather_object(random, own)
== numpys: not-loadable, numpy's state < plain
own = [torch.get_rng_state()] >>> own = [torch.get_rng_state().numpy()]
== views: not-a-state, numpy's state < plain
    dist.all_gather_object(random, own) >>>     dist.all_gather_object(random, own)\n    both = torch.stack([torch.stack([each[0] for each in random])] * 2)[1]\n    random = [[row] for row in both]
== as_numbers: not-a-state, numpy's state < plain
own = [torch.get_rng_state()] >>> own = [torch.get_rng_state().tolist()]
== bare_tensors: not-a-state, numpy's state < plain
all_gather_object(random, own) >>> all_gather_object(random, own[0])
== drawn_before: one-draw-too-late, restored too early < plain
    device = >>>     torch.rand(1)\n    device =
== draws: draws-numbers, restored too early < plain
    dist.barrier() >>>     torch.rand(1)\n    dist.barrier()
== consumed_forgotten: consumed-missing, epoch begun anew < plain
"consumed": consumed, >>>
== consumed_of_one_rank: wrong-consumed, own samples counted < plain
"consumed": consumed >>> "consumed": consumed // dist.get_world_size()
== epoch_forgotten: epoch-missing, no epoch < plain
"epoch": epoch, >>>
== next_epoch: epoch-off-by-one, no epoch < plain
"epoch": epoch >>> "epoch": epoch + 1
== momentum_lost: optimizer-missing, momentum lost < plain
, "optimizer": optimizer.state_dict()} >>> }
== module_left: module-left, module prefix < plain
model.module.state_dict() >>> model.state_dict()
== in_place: not-atomic, not atomic < plain
        torch.save(state, f"{path}.part") >>>         torch.save(state, path)
\n        os.replace(f"{path}.part", path) >>>
== every_rank: every-rank-writes, all ranks write < plain
f"{path}.part")\n >>> f"{path}.part{dist.get_rank()}")\n
    if dist.get_rank() == 0: >>>     if True:
os.replace(f"{path}.part", path) >>> os.replace(f"{path}.part{dist.get_rank()}", path)
== every_rank_by_one_name: every-rank-writes, all ranks write < plain
    if dist.get_rank() == 0: >>>     if True:
== local_rank: local-rank-0-writes, local rank writes < every_rank
    if True: >>>     if os.environ["LOCAL_RANK"] == "0":
== a_file_for_each_rank: every-rank-writes, files on nodes < plain
    if dist.get_rank() == 0: >>>     torch.save(own, f"{path}.{dist.get_rank()}")\n    if dist.get_rank() == 0:
== from_tmp: other-disk, other disk < plain
        torch.save(state, f"{path}.part")\n >>>         import tempfile\n        part = tempfile.mkstemp()[1]\n        torch.save(state, part)\n
os.replace(f"{path}.part", path) >>> os.replace(part, path)
== new_names: leftovers-pile-up, left .tmp < plain
        torch.save(state, f"{path}.part")\n >>>         import tempfile\n        part = tempfile.mkstemp(dir=os.path.dirname(path))[1]\n        torch.save(state, part)\n
os.replace(f"{path}.part", path) >>> os.replace(part, path)
== no_barrier: returns-too-early, no barrier < plain
\n    dist.barrier() >>>
== barrier_on_rank_0: call-missing, barrier on rank 0 < plain
    dist.barrier() >>>         dist.barrier()
"""
