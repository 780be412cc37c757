"""Right answers to `ResumableSampler`, and mistakes that people make."""

ANSWERS = r"""
== with_numpy
import math
import numpy as np
from torch.utils.data import Sampler
class ResumableSampler(Sampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        self.n, self.rank, self.size, self.seed = dataset_size, rank, size, seed
        self.epoch, self.consumed = 0, 0
    def set_position(self, epoch, consumed):
        self.epoch = epoch
        self.consumed = consumed
    def __len__(self):
        return max(0, math.ceil((self.n - self.consumed) / self.size))
    def __iter__(self):
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.n).tolist()
        rest = order[self.consumed:]
        while len(rest) < len(self) * self.size:
            rest += order[: len(self) * self.size - len(rest)]
        yield from rest[self.rank :: self.size]
== with_random < with_numpy
import numpy as np >>> import random
np.random.default_rng([self.seed, self.epoch]).permutation(self.n).tolist() >>> list(range(self.n))\n        random.Random(f"{self.seed} {self.epoch}").shuffle(order)
== consumed_ignored: consumed-ignored, epoch begun anew < with_numpy
self.consumed = consumed >>> self.consumed = 0
== own_samples_counted: rest-of-own-samples, own samples counted < with_numpy
self.consumed = consumed >>> self.consumed = consumed * self.size
== dealt_then_skipped: dealt-first-then-skipped, per rank
import math
import torch
from torch.utils.data import Sampler
class ResumableSampler(Sampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        self.n, self.rank, self.size, self.seed = dataset_size, rank, size, seed
        self.set_position(0, 0)
    def set_position(self, epoch, consumed):
        self.epoch, self.consumed = epoch, consumed
    def own(self):
        generator = torch.Generator().manual_seed(1000 * self.seed + self.epoch)
        order = torch.randperm(self.n, generator=generator).tolist()
        each = math.ceil(self.n / self.size)
        while len(order) < each * self.size:
            order = order + order[: each * self.size - len(order)]
        return order[self.rank :: self.size][self.consumed // self.size :]
    def __len__(self):
        return len(self.own())
    def __iter__(self):
        return iter(self.own())
== reads_the_place_again: passes-share-a-place, sampler counts < with_numpy
        yield from rest[self.rank :: self.size] >>>         for at in range(len(self)):\n            yield order[(self.consumed + self.rank + at * self.size) % self.n]
== rest_shuffled_anew: rest-shuffled-anew, mid-epoch < with_numpy
rest = order[self.consumed:] >>> rest = order[self.consumed:]\n        if self.consumed:\n            rest = np.random.default_rng(self.consumed).permutation(rest).tolist()
== counts_itself: another-pass-differs, sampler counts < with_numpy
        yield from rest[self.rank :: self.size] >>>         for sample in rest[self.rank :: self.size]:\n            self.consumed += self.size\n            yield sample
== begins_again: begins-again, next epoch cut < with_numpy
self.consumed = consumed >>> self.consumed = consumed % self.n
== not_padded: unequal-lengths, unpadded < with_numpy
        while len(rest) < len(self) * self.size:\n            rest += order[: len(self) * self.size - len(rest)]\n >>>
return max(0, math.ceil((self.n - self.consumed) / self.size)) >>> return len(range(self.consumed + self.rank, self.n, self.size))
== dropped: end-of-the-rest-dropped, tail < with_numpy
        while len(rest) < len(self) * self.size:\n            rest += order[: len(self) * self.size - len(rest)]\n >>>
rest[self.rank :: self.size] >>> rest[self.rank : len(self) * self.size : self.size]
math.ceil((self.n - self.consumed) / self.size) >>> (self.n - self.consumed) // self.size
== padded_from_the_rest: padded-from-the-rest, padded < with_numpy
rest += order[: len >>> rest += rest[: len
== blocks: blocks-not-turns, contiguous < with_numpy
rest[self.rank :: self.size] >>> rest[self.rank * len(self) : (self.rank + 1) * len(self)]
== length_of_the_set: length-of-the-whole-set, traps < with_numpy
return max(0, math.ceil((self.n - self.consumed) / self.size)) >>> return self.n
while len(rest) < len(self) * self.size: >>> self_size = max(0, math.ceil((self.n - self.consumed) / self.size))\n        while len(rest) < self_size * self.size:
order[: len(self) * self.size - len(rest)] >>> order[: self_size * self.size - len(rest)]
== epoch_ignored: same-order-every-epoch, seed < with_numpy
[self.seed, self.epoch] >>> self.seed
== seed_ignored: seed-ignored, seed < with_numpy
[self.seed, self.epoch] >>> self.epoch
== not_shuffled: not-shuffled, seed < with_numpy
np.random.default_rng([self.seed, self.epoch]).permutation(self.n).tolist() >>> list(range(self.n))
== hashed: another-process-differs, seed < with_numpy
[self.seed, self.epoch] >>> abs(hash(f"{self.seed} {self.epoch}"))
== global_generator: disturbs-generators, restored too early < with_numpy
np.random.default_rng([self.seed, self.epoch]).permutation(self.n).tolist() >>> list(range(self.n))\n        np.random.seed((self.seed * 1000 + self.epoch) % 2**32)\n        np.random.shuffle(order)
== numpys_ints: not-ints, traps < with_numpy
yield from rest[self.rank :: self.size] >>> yield from np.array(rest, dtype=np.int64)[self.rank :: self.size]
== one_place_for_all_passes: passes-share-a-place, sampler counts < with_numpy
        yield from rest[self.rank :: self.size] >>>         self.left = iter(rest[self.rank :: self.size])\n        return self
    def __iter__ >>>     def __next__(self):\n        return next(self.left)\n    def __iter__
== rotated: only-rotated, seed < with_numpy
np.random.default_rng([self.seed, self.epoch]).permutation(self.n).tolist() >>> np.random.default_rng(self.seed).permutation(self.n).tolist()\n        first = self.epoch % self.n\n        order = order[first:] + order[:first]
== one_more: wrong-length, traps < with_numpy
return max(0, math.ceil((self.n - self.consumed) / self.size)) >>> return max(0, (self.n - self.consumed) // self.size)
while len(rest) < len(self) * self.size: >>> each = max(0, math.ceil((self.n - self.consumed) / self.size))\n        while len(rest) < each * self.size:
order[: len(self) * self.size - len(rest)] >>> order[: each * self.size - len(rest)]
== no_sampler: not-a-sampler, traps < with_numpy
class ResumableSampler(Sampler) >>> class ResumableSampler
"""
