"""Right answers to `make_loader`, and mistakes that people make."""

ANSWERS = r"""
import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader, RandomSampler, Subset
from torch.utils.data.distributed import DistributedSampler
def make_loader(dataset, batch_size, seed):
== own_sampler
    class Shards(torch.utils.data.Sampler):
        epoch = 0
        def set_epoch(self, epoch):
            self.epoch = epoch
        def __len__(self):
            return -(-len(dataset) // hvd.size())
        def __iter__(self):
            generator = torch.Generator().manual_seed(1000003 * seed + self.epoch)
            order = torch.randperm(len(dataset), generator=generator).tolist()
            whole = order * (len(self) * hvd.size() // len(order) + 1)
            return iter(whole[hvd.rank() : len(self) * hvd.size() : hvd.size()])
    return DataLoader(dataset, batch_size, sampler=Shards())
== blocks < own_sampler
class Shards >>> class Blocks
generator = torch.Generator().manual_seed(1000003 * seed + self.epoch) >>> torch_seed = hash((seed, self.epoch)) % 2**31
generator=generator >>> generator=torch.Generator().manual_seed(torch_seed)
order * (len(self) * hvd.size() // len(order) + 1) >>> (order * (hvd.size() + 1))[: len(self) * hvd.size()]
[hvd.rank() : len(self) * hvd.size() : hvd.size()] >>> [hvd.rank() * len(self) : (hvd.rank() + 1) * len(self)]
batch_size, sampler=Shards() >>> batch_size=batch_size, sampler=Blocks(), drop_last=False
== by_keywords
    sampler = DistributedSampler(dataset, rank=hvd.rank(), num_replicas=hvd.size(), seed=seed, drop_last=False)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, shuffle=False, num_workers=0)
== whole_set_on_every_rank: whole-set-on-every-rank, replicated
    return DataLoader(dataset, batch_size=batch_size, shuffle=True)
== no_sampler_for_epochs: no-sampler, partition
    share = Subset(dataset, range(hvd.rank(), len(dataset), hvd.size()))
    return DataLoader(share, batch_size=batch_size, shuffle=True)
== local_ranks: share-by-local-rank, rank as ordinal
    sampler = DistributedSampler(dataset, num_replicas=hvd.local_size(), rank=hvd.local_rank(), seed=seed)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== seed_forgotten: seed-ignored, shuffle
    sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank())
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== seed_by_rank: overlapping-shards, set_epoch differs < seed_forgotten
rank=hvd.rank() >>> rank=hvd.rank(), seed=seed + hvd.rank()
== not_shuffled: not-shuffled, shuffle < seed_forgotten
rank=hvd.rank() >>> rank=hvd.rank(), shuffle=False, seed=seed
== drop_tail: tail-dropped, uneven < seed_forgotten
rank=hvd.rank() >>> rank=hvd.rank(), seed=seed, drop_last=True
== drop_last_batch: last-batch-dropped, uneven
    sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, drop_last=True)
== batch_size_divided: batch-size-divided, batch size < drop_last_batch
batch_size=batch_size, sampler=sampler, drop_last=True >>> batch_size=max(1, batch_size // hvd.size()), sampler=sampler
== batch_size_forgotten: wrong-batches, batch size < drop_last_batch
batch_size=batch_size, sampler=sampler, drop_last=True >>> sampler=sampler
== same_order: same-order-every-epoch, set_epoch
    class Sampler(DistributedSampler):
        def set_epoch(self, epoch):
            pass
    sampler = Sampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), seed=seed)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
== only_rotated: only-rotated, set_epoch < same_order
set_epoch(self, epoch) >>> __iter__(self)
pass >>> order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(self.seed)).roll(self.epoch)\n            return iter(order.repeat(4)[self.rank : self.total_size : self.num_replicas].tolist())
== global_random_state: overlapping-shards, set_epoch differs < same_order
set_epoch(self, epoch) >>> __iter__(self)
pass >>> return iter(torch.randperm(len(dataset)).repeat(4)[self.rank : self.total_size : self.num_replicas].tolist())
== not_padded: no-padding, uneven < same_order
set_epoch(self, epoch) >>> __iter__(self)
pass >>> generator = torch.Generator().manual_seed(self.seed + self.epoch)\n            return iter(order)
iter(order) >>> iter(torch.randperm(len(dataset), generator=generator).tolist()[self.rank :: self.num_replicas])
"""
