"""Right answers to `make_loader`, and mistakes that people make."""

ANSWERS = r"""
from torch.utils.data import DataLoader, DistributedSampler
def make_loader(pairs, batch_size, seed):
== by_torch_distributed
import torch
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler
def make_loader(pairs, batch_size, seed):
    size, rank = dist.get_world_size(), dist.get_rank()
    sampler = DistributedSampler(pairs, num_replicas=size, rank=rank, shuffle=True, seed=seed, drop_last=False)
    return torch.utils.data.DataLoader(pairs, batch_size=batch_size, sampler=sampler, collate_fn=collate)
== a_batch_sampler_around_it
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
def make_loader(pairs, batch_size, seed):
    return DataLoader(
        dataset=pairs,
        batch_size=batch_size,
        shuffle=False,
        sampler=DistributedSampler(pairs, seed=seed),
        collate_fn=lambda batch: collate(batch),
        pin_memory=False,
        drop_last=False,
    )
== seed_ignored: seed-ignored, seed
    sampler = DistributedSampler(pairs)
    return DataLoader(pairs, batch_size, sampler=sampler, collate_fn=collate)
== seed_by_rank: overlapping-shards, seed of ranks < seed_ignored
from torch >>> import torch\nfrom torch
(pairs) >>> (pairs, seed=seed + torch.distributed.get_rank())
== whole_set_on_every_rank: whole-set-on-every-rank, sampler < seed_ignored
from torch >>> import torch\nfrom torch
DistributedSampler(pairs) >>> torch.utils.data.RandomSampler(pairs)
== not_shuffled: not-shuffled, set_epoch < seed_ignored
(pairs) >>> (pairs, seed=seed, shuffle=False)
== one_replica: whole-set-on-every-rank, docs < seed_ignored
(pairs) >>> (pairs, seed=seed, num_replicas=1, rank=0)
== local_rank: overlapping-shards, local rank < seed_ignored
from torch >>> import os\nfrom torch
(pairs) >>> (pairs, seed=seed, num_replicas=int(os.environ["WORLD_SIZE"]), rank=int(os.environ["LOCAL_RANK"]))
== dropped_by_the_sampler: tail-dropped, docs < seed_ignored
(pairs) >>> (pairs, seed=seed, drop_last=True)
== epoch_ignored: same-order-every-epoch, set_epoch < seed_ignored
(pairs) >>> (pairs, seed=seed)\n    sampler.set_epoch = lambda epoch: None
== no_collate: not-a-loader, sampler < seed_ignored
(pairs) >>> (pairs, seed=seed)
collate_fn=collate >>> collate_fn=list
== last_batch_dropped: last-batch-dropped, docs < seed_ignored
(pairs) >>> (pairs, seed=seed)
sampler=sampler >>> sampler=sampler, drop_last=True
== whole_set_by_shuffle: whole-set-on-every-rank, sampler < seed_ignored
(pairs) >>> (pairs, seed=seed)
sampler=sampler >>> shuffle=True
== batch_size_divided: batch-size-divided, docs < seed_ignored
from torch >>> import torch\nfrom torch
(pairs) >>> (pairs, seed=seed)
batch_size, sampler >>> max(1, batch_size // torch.distributed.get_world_size()), sampler
== another_collate: another-collate, sampler
import torch
from torch.utils.data import DataLoader, DistributedSampler
def make_loader(pairs, batch_size, seed):
    sampler = DistributedSampler(pairs, seed=seed)
    return DataLoader(pairs, batch_size, sampler=sampler, collate_fn=lambda batch: tuple(
        torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        for rows in ([s for s, _ in batch], [[1, *t] for _, t in batch], [[*t, 2] for _, t in batch])))
"""
