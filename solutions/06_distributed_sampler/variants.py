"""Other right answers to lab 06, and mistakes that people make, with the finding that each must get.

Each text below holds bodies of one TODO's function or class, one after another. A line ``== name`` begins a right
answer, a line ``== name: finding, source`` a mistake; `source` is a key of SOURCES.
"""

from __future__ import annotations

from textwrap import indent

from autograde.variants import Wrong, mistakes, titled

# Where the mistakes are known from.
SOURCES = {
    "contiguous": "https://github.com/pytorch/pytorch/issues/49180",
    "unpadded": "https://github.com/pytorch/pytorch/issues/22584",
    "tail": "https://github.com/pytorch/pytorch/pull/41171",
    "padded once": "https://github.com/pytorch/pytorch/issues/49172",
    "padded once, Paddle": "https://github.com/PaddlePaddle/Paddle/pull/59390",
    "no sampler": "https://github.com/Lightning-AI/pytorch-lightning/pull/17713",
    "seed by rank": "https://github.com/mlcommons/training/pull/625",
    "seed by rank and time": "https://github.com/NVlabs/LongLive/issues/71",
    "no seed": "https://github.com/open-mmlab/mmsegmentation/pull/1411",
    "seed dropped": "https://github.com/huggingface/transformers/pull/11406",
    "hash": "https://github.com/for-all-dev/git-history-evals/issues/120",
    "hash, numpy": "https://github.com/PolicyEngine/policyengine-core/pull/455",
    "global generator": "https://github.com/pytorch/pytorch/issues/11324",
    "set_epoch": "https://github.com/pytorch/pytorch/issues/31771",
    "set_epoch, again": "https://github.com/pytorch/pytorch/issues/31232",
    "epoch by worker": "https://github.com/yangkky/distributed_tutorial/issues/5",
    "padding counted": "https://github.com/pytorch/pytorch/issues/25162",
    "padding counted, references": "https://github.com/pytorch/vision/issues/4559",
    "padding counted, metrics": "https://github.com/Lightning-AI/pytorch-lightning/issues/2398",
    "mean of means": "https://github.com/Lightning-AI/pytorch-lightning/issues/4493",
    "mean of means, batches": "https://github.com/Nota-NetsPresso/netspresso-trainer/issues/360",
    "own part": "https://github.com/pytorch/examples/issues/905",
    "cut": "https://github.com/open-mmlab/OpenPCDet/issues/1119",
    "unequal": "https://github.com/pytorch/pytorch/issues/70985",
    "reduce": "https://github.com/pytorch/pytorch/issues/76527",
    "subset of ranks": "https://github.com/horovod/horovod/issues/2640",
    "wait": "https://discuss.pytorch.org/t/what-is-the-difference-between-wait-and-barrier-in-torch-distributed/129720",
    "float32": "https://github.com/pytorch/pytorch/issues/136350",
    "numpy scalar": "https://github.com/pytorch/pytorch/issues/27754",
    "init twice": "https://github.com/NVIDIA/Megatron-LM/pull/521",
}

SHARD = """
import math
import random
from itertools import cycle, islice

import numpy as np
import torch
from torch.utils.data import DistributedSampler


def shard(dataset_size, rank, size):
    own = math.ceil(dataset_size / size)
"""
SAMPLER = """
import hashlib
import math
import random
import time

import numpy as np
import torch
from torch.utils.data import DistributedSampler, Sampler


class ShuffledSampler(Sampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        self.dataset_size, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, 0
        self.own = math.ceil(dataset_size / size)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.own

    def padded(self, order):
        return (list(order) * (self.size + 1))[: self.own * self.size]

    def permutation(self, seed):
        return torch.randperm(self.dataset_size, generator=torch.Generator().manual_seed(seed)).tolist()

"""
SEEN = """
import torch
import torch.distributed as dist


def samples_seen(loader, epochs):
"""
ACCURACY = """
import torch
import torch.distributed as dist


def distributed_accuracy(correct, indices, dataset_size):
    rank, size, device = dist.get_rank(), dist.get_world_size(), correct.device
"""


def cells(head: str, bodies: str, deeper: str = "    ") -> dict[str, str]:
    """Title -> source of the whole cell, for each body in `bodies`. A body with a `class` is a cell but for imports."""
    found = {}
    for title, body in titled(bodies).items():
        whole = "\nclass " in f"\n{body}"
        start = head.lstrip().partition("\n\n\n")[0] + "\n\n\n" if whole else head.lstrip()
        found[title] = start + (body if whole else indent(body, deeper))
    return found


def wrong(head: str, bodies: str) -> dict[str, Wrong]:
    """The mistakes in `bodies`."""
    return mistakes(cells(head, bodies), SOURCES)


RIGHT = {
    "shard": cells(
        SHARD,
        """
== by_arithmetic
return [(rank + turn * size) % dataset_size for turn in range(own)]
== repeated_and_cut
repeats = math.ceil(own * size / dataset_size)
return (list(range(dataset_size)) * repeats)[: own * size][rank::size]
== as_a_cycle
return list(islice(cycle(range(dataset_size)), rank, own * size, size))
== by_numpy
return np.resize(np.arange(dataset_size), own * size)[rank::size].tolist()
== by_torch
return (torch.arange(own * size) % dataset_size).view(own, size)[:, rank].tolist()
== by_the_library
return list(DistributedSampler(range(dataset_size), size, rank, shuffle=False))
""",
    ),
    "ShuffledSampler": cells(
        SAMPLER,
        """
== step_by_step
def __iter__(self):
    order = self.padded(self.permutation(self.seed + self.epoch))
    for position in range(self.rank, len(order), self.size):
        yield order[position]
== by_numpy
def __iter__(self):
    order = np.random.default_rng([self.seed, self.epoch]).permutation(self.dataset_size)
    return iter(np.resize(order, self.own * self.size)[self.rank :: self.size].tolist())
== by_the_random_module_with_a_text
def __iter__(self):
    order = random.Random(f"{self.seed}/{self.epoch}").sample(range(self.dataset_size), self.dataset_size)
    return iter(self.padded(order)[self.rank :: self.size])
== hash_of_numbers
def __iter__(self):
    return iter(self.padded(self.permutation(hash((self.seed, self.epoch))))[self.rank :: self.size])
== sorted_by_a_digest
def __iter__(self):
    def digest(sample):
        return hashlib.sha256(f"{self.seed} {self.epoch} {sample}".encode()).digest()
    return iter(self.padded(sorted(range(self.dataset_size), key=digest))[self.rank :: self.size])
== generators_put_back
def __iter__(self):
    with torch.random.fork_rng():
        torch.manual_seed(1000 * self.seed + self.epoch)
        order = torch.randperm(self.dataset_size).tolist()
    return iter(self.padded(order)[self.rank :: self.size])
== the_library_derived
class ShuffledSampler(DistributedSampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        super().__init__(range(dataset_size), num_replicas=size, rank=rank, shuffle=True, seed=seed)
== the_library_inside
class ShuffledSampler(Sampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        self.inner = DistributedSampler(range(dataset_size), num_replicas=size, rank=rank, seed=seed, drop_last=False)

    def set_epoch(self, epoch):
        self.inner.set_epoch(epoch)

    def __iter__(self):
        yield from self.inner

    def __len__(self):
        return len(self.inner)
== drawn_when_the_epoch_is_set
class ShuffledSampler(Sampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        self.dataset_size, self.rank, self.size, self.seed = dataset_size, rank, size, seed
        self.set_epoch(0)

    def set_epoch(self, epoch):
        order = np.random.RandomState((self.seed, epoch)).permutation(self.dataset_size)
        positions = range(self.rank, -(-self.dataset_size // self.size) * self.size, self.size)
        self.own = [int(order[position % self.dataset_size]) for position in positions]

    def __iter__(self):
        return iter(self.own)

    def __len__(self):
        return len(self.own)
""",
    ),
    "samples_seen": cells(
        SEEN,
        """
== one_tensor_an_epoch
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen.append(torch.cat(list(loader)).tolist())
return seen
== in_one_expression
return [
    [int(sample) for batch in loader for sample in batch]
    for epoch in range(epochs)
    if loader.sampler.set_epoch(epoch) is None
]
== batch_by_batch
seen = [[] for _ in range(epochs)]
for epoch, own in enumerate(seen):
    loader.batch_sampler.sampler.set_epoch(epoch)
    batches = iter(loader)
    for _ in range(len(loader)):
        own += next(batches).numpy().tolist()
return seen
""",
    ),
    "distributed_accuracy": cells(
        ACCURACY,
        """
== largest_of_the_marks
hits = torch.zeros(dataset_size, dtype=torch.uint8, device=device)
hits[indices] = correct.to(torch.uint8)
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return int(hits.sum()) / dataset_size
== objects
parts = [None] * size
dist.all_gather_object(parts, dict(zip(indices.tolist(), correct.tolist())))
return sum({index: hit for part in parts for index, hit in part.items()}.values()) / dataset_size
== padded_to_the_longest
sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(size)]
dist.all_gather(sizes, torch.tensor([len(indices)], device=device))
mine = torch.full((int(max(sizes)),), -1, device=device)
mine[: len(indices)] = 2 * indices + correct
parts = [torch.empty_like(mine) for _ in range(size)]
dist.all_gather(parts, mine)
pairs = torch.cat(parts).unique()
return (pairs[pairs >= 0] % 2).sum().item() / dataset_size
== copies_share_a_vote
votes = torch.zeros(2, dataset_size, dtype=torch.float64, device=device)
votes[0].index_add_(0, indices, correct.double())
votes[1].index_add_(0, indices, torch.ones_like(indices, dtype=torch.float64))
dist.all_reduce(votes)
return (votes[0] / votes[1]).sum().item() / dataset_size
== at_least_one
hits = torch.zeros(dataset_size, dtype=torch.int32, device=device)
hits[indices[correct]] = 1
dist.all_reduce(hits)
return float((hits > 0).double().mean())
== by_rank_0
hits = torch.zeros(dataset_size, device=device)
hits[indices[correct]] = 1
dist.reduce(hits, dst=0, op=dist.ReduceOp.MAX)
total = hits.sum().double()
dist.broadcast(total, src=0)
return total.item() / dataset_size
== a_handle
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices[correct]] = 1
dist.all_reduce(hits, op=dist.ReduceOp.MAX, async_op=True).wait()
return hits.sum().item() / dataset_size
== the_misses
missed = torch.zeros(dataset_size, dtype=torch.int64, device=device)
missed[indices[~correct]] = 1
dist.all_reduce(missed, op=dist.ReduceOp.MAX)
dist.barrier()
return 1 - missed.sum().item() / dataset_size
""",
    ),
}

WRONG = {
    "shard": wrong(
        SHARD,
        """
== contiguous: contiguous-shards, contiguous
padded = (list(range(dataset_size)) * size)[: own * size]
return padded[rank * own : (rank + 1) * own]
== array_split: contiguous-shards, contiguous
return np.array_split(np.arange(dataset_size), size)[rank].tolist()
== overlapping: overlapping-shards, no sampler
start = rank // 2
return (list(range(dataset_size)) * size)[start : own * size : size][:own]
== unpadded: no-padding, unpadded
return list(range(rank, dataset_size, size))
== tail_dropped: tail-dropped, tail
return list(range(rank, dataset_size // size * size, size))
== padded_once: padding-not-repeated, padded once
samples = list(range(dataset_size))
samples += samples[: own * size - dataset_size]
return samples[rank::size]
== padded_by_its_own_first: wrong-padding, padded once, Paddle
own_samples = list(range(rank, dataset_size, size)) or [0]
return own_samples + own_samples[:1] * (own - len(own_samples))
== padded_by_the_last: wrong-padding, padded once, Paddle
return [min(sample, dataset_size - 1) for sample in range(rank, own * size, size)]
== not_wrapped_around: not-indices, padded once, Paddle
return list(range(rank, own * size, size))
== everything: everything-on-every-rank, no sampler
return list(range(dataset_size))
== numpy_ints: not-ints, numpy scalar
return list(np.resize(np.arange(dataset_size), own * size)[rank::size])
== tensor: not-a-list, numpy scalar
return (torch.arange(own * size) % dataset_size)[rank::size]
== a_range: not-a-list, unpadded
return range(rank, dataset_size, size)
== shuffled: wrong-order, contiguous
samples = (list(range(dataset_size)) * size)[: own * size][rank::size]
return random.Random(0).sample(samples, len(samples))
== raises_for_few: few-samples, padded once
if size > dataset_size:
    raise ValueError("more ranks than samples")
return [(rank + turn * size) % dataset_size for turn in range(own)]
""",
    ),
    "ShuffledSampler": wrong(
        SAMPLER,
        """
== hash_of_text: another-process-differs, hash
def __iter__(self):
    seed = hash(f"{self.seed}-{self.epoch}")
    return iter(self.padded(self.permutation(seed))[self.rank :: self.size])
== hash_of_text_for_numpy: another-process-differs, hash, numpy
def __iter__(self):
    seed = hash(("epoch", self.seed, self.epoch)) % 2**32
    order = np.random.RandomState(seed).permutation(self.dataset_size).tolist()
    return iter(self.padded(order)[self.rank :: self.size])
== seed_of_the_day: another-process-differs, seed by rank and time
def __iter__(self):
    today = int(time.time() // 86400)
    return iter(self.padded(self.permutation(self.seed + self.epoch + today))[self.rank :: self.size])
== seed_by_rank: orders-differ-by-rank, seed by rank
def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch + 1000 * self.rank))[self.rank :: self.size])
== epoch_by_rank: orders-differ-by-rank, seed by rank
def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch + self.rank))[self.rank :: self.size])
== torchs_own_seed: orders-differ-by-rank, no seed
def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch + torch.initial_seed()))[self.rank :: self.size])
== global_generator: another-pass-differs, global generator
def __iter__(self):
    return iter(self.padded(torch.randperm(self.dataset_size).tolist())[self.rank :: self.size])
== global_generator_seeded: disturbs-generators, global generator
def __iter__(self):
    torch.manual_seed(self.seed + self.epoch)
    return iter(self.padded(torch.randperm(self.dataset_size).tolist())[self.rank :: self.size])
== random_module_seeded: disturbs-generators, global generator
def __iter__(self):
    random.seed(self.seed + self.epoch)
    order = list(range(self.dataset_size))
    random.shuffle(order)
    return iter(self.padded(order)[self.rank :: self.size])
== numpy_seeded: disturbs-generators, global generator
def __iter__(self):
    np.random.seed(self.seed + self.epoch)
    order = np.random.permutation(self.dataset_size).tolist()
    return iter(self.padded(order)[self.rank :: self.size])
== one_generator_for_all_epochs: another-pass-differs, global generator
def __iter__(self):
    if not hasattr(self, "generator"):
        self.generator = torch.Generator().manual_seed(self.seed)
    order = torch.randperm(self.dataset_size, generator=self.generator).tolist()
    return iter(self.padded(order)[self.rank :: self.size])
== counts_by_itself: another-pass-differs, global generator
def __iter__(self):
    order = self.padded(self.permutation(self.seed + self.epoch))
    self.epoch += 1
    return iter(order[self.rank :: self.size])
== set_epoch_adds: depends-on-history, set_epoch
def set_epoch(self, epoch):
    self.epoch += epoch

def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size])
== set_epoch_does_nothing: same-order-each-epoch, set_epoch
def set_epoch(self, epoch):
    pass

def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size])
== epoch_forgotten: same-order-each-epoch, set_epoch, again
def __iter__(self):
    return iter(self.padded(self.permutation(self.seed))[self.rank :: self.size])
== epoch_times_seed: same-order-each-epoch, set_epoch, again
def __iter__(self):
    return iter(self.padded(self.permutation(self.seed * self.epoch))[self.rank :: self.size])
== seed_forgotten: seed-ignored, seed dropped
def __iter__(self):
    return iter(self.padded(self.permutation(self.epoch))[self.rank :: self.size])
== begins_with_epoch_minus_1: first-epoch-not-0, set_epoch
def __init__(self, dataset_size, rank, size, seed=0):
    self.dataset_size, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, -1
    self.own = math.ceil(dataset_size / size)

def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size])
== another_default: default-seed, seed dropped
def __init__(self, dataset_size, rank, size, seed=42):
    self.dataset_size, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, 0
    self.own = math.ceil(dataset_size / size)

def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size])
== not_shuffled: not-shuffled, set_epoch, again
def __iter__(self):
    return iter(self.padded(range(self.dataset_size))[self.rank :: self.size])
== contiguous: contiguous-shards, contiguous
def __iter__(self):
    order = self.padded(self.permutation(self.seed + self.epoch))
    return iter(order[self.rank * self.own : (self.rank + 1) * self.own])
== everything: everything-on-every-rank, no sampler
def __iter__(self):
    return iter(self.permutation(self.seed + self.epoch))

def __len__(self):
    return self.dataset_size
== length_of_the_set: length-of-the-whole-set, no sampler
def __len__(self):
    return self.dataset_size

def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size])
== length_rounded_down: wrong-length, tail
def __len__(self):
    return self.dataset_size // self.size

def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size])
== tail_dropped: tail-dropped, tail
def __len__(self):
    return self.dataset_size // self.size

def __iter__(self):
    order = self.permutation(self.seed + self.epoch)
    return iter(order[: len(self) * self.size][self.rank :: self.size])
== the_library_drops: tail-dropped, tail
class ShuffledSampler(DistributedSampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        super().__init__(range(dataset_size), num_replicas=size, rank=rank, seed=seed, drop_last=True)
== unpadded: no-padding, unpadded
def __len__(self):
    return len(range(self.rank, self.dataset_size, self.size))

def __iter__(self):
    return iter(self.permutation(self.seed + self.epoch)[self.rank :: self.size])
== padded_by_the_set: wrong-padding, padded once, Paddle
def __iter__(self):
    order = self.permutation(self.seed + self.epoch) + list(range(self.dataset_size)) * self.size
    return iter(order[: self.own * self.size][self.rank :: self.size])
== padded_once: padding-not-repeated, padded once
def __iter__(self):
    order = self.permutation(self.seed + self.epoch)
    return iter((order + order[: self.own * self.size - len(order)])[self.rank :: self.size])

def __len__(self):
    return len(list(iter(self)))
== own_shard_shuffled: same-samples-each-epoch, contiguous
def __iter__(self):
    order = self.padded(range(self.dataset_size))[self.rank :: self.size]
    return iter(random.Random(1000 * self.seed + self.epoch).sample(order, len(order)))
== with_replacement: not-a-permutation, seed by rank
def __iter__(self):
    generator = torch.Generator().manual_seed(self.seed + self.epoch)
    order = torch.randint(self.dataset_size, (self.dataset_size,), generator=generator).tolist()
    return iter(self.padded(order)[self.rank :: self.size])
== size_in_the_seed: depends-on-size, seed by rank
def __iter__(self):
    return iter(self.padded(self.permutation(self.seed + self.epoch + 1000 * self.size))[self.rank :: self.size])
== tensors: not-ints, numpy scalar
def __iter__(self):
    return iter(torch.tensor(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size]))
== numpy_ints: not-ints, numpy scalar
def __iter__(self):
    order = np.random.RandomState(self.seed + self.epoch).permutation(self.dataset_size)
    return iter(np.resize(order, self.own * self.size)[self.rank :: self.size])
== no_sampler: not-a-sampler, no sampler
class ShuffledSampler:
    def __init__(self, dataset_size, rank, size, seed=0):
        self.inner = DistributedSampler(range(dataset_size), num_replicas=size, rank=rank, seed=seed)
        self.set_epoch = self.inner.set_epoch

    def __iter__(self):
        return iter(self.inner)

    def __len__(self):
        return len(self.inner)
""",
    ),
    "samples_seen": wrong(
        SEEN,
        """
== no_set_epoch: no-set-epoch, set_epoch
return [torch.cat(list(loader)).tolist() for _ in range(epochs)]
== set_epoch_after_the_loop: set-epoch-too-late, set_epoch, again
seen = []
for epoch in range(epochs):
    seen.append(torch.cat(list(loader)).tolist())
    loader.sampler.set_epoch(epoch)
return seen
== set_epoch_before_all: constant-epoch, set_epoch
loader.sampler.set_epoch(0)
return [torch.cat(list(loader)).tolist() for _ in range(epochs)]
== a_constant: constant-epoch, set_epoch, again
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epochs)
    seen.append(torch.cat(list(loader)).tolist())
return seen
== from_one: epochs-from-1, set_epoch
seen = []
for epoch in range(1, epochs + 1):
    loader.sampler.set_epoch(epoch)
    seen.append(torch.cat(list(loader)).tolist())
return seen
== epoch_by_rank: epoch-differs-by-rank, epoch by worker
import os
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch + int(os.environ["RANK"]) % 2)
    seen.append(torch.cat(list(loader)).tolist())
return seen
== one_iterator: empty-epoch, set_epoch, again
seen, batches = [], iter(loader)
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen.append([int(sample) for batch in batches for sample in batch])
return seen
== the_sampler_itself: indices-not-ids, set_epoch
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen.append(list(loader.sampler))
return seen
== whole_batches: batches-not-flattened, set_epoch
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen.append([batch.tolist() for batch in loader])
return seen
== tensors: not-ints, numpy scalar
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen.append([sample for batch in loader for sample in batch])
return seen
== one_list_for_all: not-per-epoch, set_epoch
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen += torch.cat(list(loader)).tolist()
return seen
== run_together: epochs-run-together, set_epoch
seen, own = [], []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    for batch in loader:
        own += batch.tolist()
    seen.append(list(own))
return seen
== smaller_batch_dropped: last-batch-dropped, tail
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    batches = [batch.tolist() for batch in loader]
    seen.append([sample for batch in batches if len(batch) == loader.batch_size for sample in batch])
return seen
== sorted_ids: order-lost, set_epoch
seen = []
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen.append(sorted(torch.cat(list(loader)).tolist()))
return seen
== a_dictionary: not-a-list, set_epoch
seen = {}
for epoch in range(epochs):
    loader.sampler.set_epoch(epoch)
    seen[epoch] = torch.cat(list(loader)).tolist()
return seen
== one_epoch_too_many: wrong-number-of-epochs, set_epoch
seen = []
for epoch in range(epochs + 1):
    loader.sampler.set_epoch(epoch)
    seen.append(torch.cat(list(loader)).tolist())
return seen
""",
    ),
    "distributed_accuracy": wrong(
        ACCURACY,
        """
== padding_counted: padding-counted, padding counted
counts = torch.stack([correct.sum(), torch.tensor(len(correct), device=device)])
dist.all_reduce(counts)
return counts[0].item() / counts[1].item()
== padding_counted_among_the_hits: padding-counted, padding counted, references
hits = correct.sum()
dist.all_reduce(hits)
return hits.item() / dataset_size
== marks_added: padding-counted, padding counted, metrics
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
dist.all_reduce(hits)
return hits.sum().item() / dataset_size
== mean_of_means: mean-of-means, mean of means
mean = correct.double().mean() if len(correct) else torch.zeros((), dtype=torch.float64, device=device)
dist.all_reduce(mean)
return mean.item() / size
== mean_of_empty: empty-rank, mean of means, batches
mean = correct.double().mean()
dist.all_reduce(mean)
return mean.item() / size
== divided_by_none: empty-rank, mean of means
mean = torch.tensor(correct.sum().item() / len(correct), dtype=torch.float64, device=device)
dist.all_reduce(mean)
return mean.item() / size
== cut_to_size: cut-by-position, cut
parts = [None] * size
dist.all_gather_object(parts, correct.tolist())
return sum([hit for part in parts for hit in part][:dataset_size]) / dataset_size
== turns_cut_to_size: cut-by-position, cut
parts = [None] * size
dist.all_gather_object(parts, correct.tolist())
longest = max(map(len, parts))
hits = [part[turn] for turn in range(longest) for part in parts if turn < len(part)]
return sum(hits[:dataset_size]) / dataset_size
== own_part: own-part-only, own part
return correct.double().mean().item() if len(correct) else 0.0
== own_hits: own-part-only, own part
return correct.sum().item() / dataset_size
== only_rank_0_knows: on-rank-0-only, reduce
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
dist.reduce(hits, dst=0, op=dist.ReduceOp.MAX)
return hits.sum().item() / dataset_size
== only_rank_0_returns: on-rank-0-only, reduce
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return hits.sum().item() / dataset_size if rank == 0 else None
== unequal_gather: unequal-sizes, unequal
parts = [torch.zeros_like(indices) for _ in range(size)]
dist.all_gather(parts, 2 * indices + correct)
pairs = torch.cat(parts).unique()
return (pairs % 2).sum().item() / dataset_size
== only_rank_0_calls: collective-skipped, subset of ranks
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
if rank == 0:
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return hits.sum().item() / dataset_size
== only_those_with_samples: collective-skipped, subset of ranks
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
if len(indices):
    hits[indices] = correct.long()
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return hits.sum().item() / dataset_size
== sample_by_sample: uneven-collectives, unequal
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
for index, hit in zip(indices.tolist(), correct.tolist()):
    one = torch.zeros(dataset_size, dtype=torch.int64, device=device)
    one[index] = hit
    dist.all_reduce(one, op=dist.ReduceOp.MAX)
    hits = torch.maximum(hits, one)
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return hits.sum().item() / dataset_size
== float32: float32, float32
hits = torch.zeros(dataset_size, device=device)
hits[indices] = correct.float()
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return hits.mean().item()
== tensor_returned: not-a-float, numpy scalar
hits = torch.zeros(dataset_size, dtype=torch.float64, device=device)
hits[indices] = correct.double()
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return hits.mean()
== not_waited_for: not-waited-for, wait
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
dist.all_reduce(hits, op=dist.ReduceOp.MAX, async_op=True)
return hits.sum().item() / dataset_size
== percent: wrong-value, own part
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return 100 * hits.sum().item() / dataset_size
== by_mpi: other-library, reduce
from mpi4py import MPI
parts = MPI.COMM_WORLD.allgather(dict(zip(indices.tolist(), correct.tolist())))
return sum({index: hit for part in parts for index, hit in part.items()}.values()) / dataset_size
== sorts_its_arguments: argument-changed, cut
order = indices.argsort()
indices[:], correct[:] = indices[order].clone(), correct[order].clone()
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
return hits.sum().item() / dataset_size
== starts_a_group: starts-or-ends, init twice
dist.init_process_group("gloo")
hits = torch.zeros(dataset_size, dtype=torch.int64, device=device)
hits[indices] = correct.long()
dist.all_reduce(hits, op=dist.ReduceOp.MAX)
dist.destroy_process_group()
return hits.sum().item() / dataset_size
""",
    ),
}
