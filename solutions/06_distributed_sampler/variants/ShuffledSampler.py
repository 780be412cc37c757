"""Right answers to `ShuffledSampler`, and mistakes that people make."""

ANSWERS = r"""
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
    def __iter__(self):
== hash_of_numbers
        return iter(self.padded(self.permutation(hash((self.seed, self.epoch))))[self.rank :: self.size])
== the_library_derived
import hashlib
import math
import random
import time
import numpy as np
import torch
from torch.utils.data import DistributedSampler, Sampler
class ShuffledSampler(DistributedSampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        super().__init__(range(dataset_size), num_replicas=size, rank=rank, shuffle=True, seed=seed)
== the_library_inside < the_library_derived
-class ShuffledSampler(DistributedSampler):
+class ShuffledSampler(Sampler):

-        super().__init__(range(dataset_size), num_replicas=size, rank=rank, shuffle=True, seed=seed)
+        self.inner = DistributedSampler(range(dataset_size), num_replicas=size, rank=rank, seed=seed, drop_last=False)
+    def set_epoch(self, epoch):
+        self.inner.set_epoch(epoch)
+    def __iter__(self):
+        yield from self.inner
+    def __len__(self):
+        return len(self.inner)
== step_by_step
        order = self.padded(self.permutation(self.seed + self.epoch))
        for position in range(self.rank, len(order), self.size):
            yield order[position]
== by_shard < hash_of_numbers
-    def padded(self, order):
-        return (list(order) * (self.size + 1))[: self.own * self.size]
-    def permutation(self, seed):
-        return torch.randperm(self.dataset_size, generator=torch.Generator().manual_seed(seed)).tolist()
=    def __iter__(self):
-        return iter(self.padded(self.permutation(hash((self.seed, self.epoch))))[self.rank :: self.size])
+        generator = torch.Generator().manual_seed(self.seed + self.epoch)
+        order = torch.randperm(self.dataset_size, generator=generator).tolist()
+        return iter([order[position] for position in shard(self.dataset_size, self.rank, self.size)])
== by_shard_when_made
import torch
from torch.utils.data import Sampler
class ShuffledSampler(Sampler):
    def __init__(self, dataset_size, rank, size, seed=0):
        self.dataset_size, self.seed = dataset_size, seed
        self.positions = shard(rank=rank, size=size, dataset_size=dataset_size)
        self.set_epoch(0)
    def set_epoch(self, epoch):
        self.epoch = epoch
    def __len__(self):
        return len(self.positions)
    def __iter__(self):
        generator = torch.Generator().manual_seed(7919 * self.seed + self.epoch)
        order = torch.randperm(self.dataset_size, generator=generator).tolist()
        yield from map(order.__getitem__, self.positions)
== by_numpy < hash_of_numbers
-    def padded(self, order):
-        return (list(order) * (self.size + 1))[: self.own * self.size]
-    def permutation(self, seed):
-        return torch.randperm(self.dataset_size, generator=torch.Generator().manual_seed(seed)).tolist()
=    def __iter__(self):
-        return iter(self.padded(self.permutation(hash((self.seed, self.epoch))))[self.rank :: self.size])
+        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.dataset_size)
+        return iter(np.resize(order, self.own * self.size)[self.rank :: self.size].tolist())
== by_the_random_module_with_a_text < hash_of_numbers
-    def permutation(self, seed):
-        return torch.randperm(self.dataset_size, generator=torch.Generator().manual_seed(seed)).tolist()
=    def __iter__(self):
-        return iter(self.padded(self.permutation(hash((self.seed, self.epoch))))[self.rank :: self.size])
+        order = random.Random(f"{self.seed}/{self.epoch}").sample(range(self.dataset_size), self.dataset_size)
+        return iter(self.padded(order)[self.rank :: self.size])
== sorted_by_a_digest < hash_of_numbers
-    def permutation(self, seed):
-        return torch.randperm(self.dataset_size, generator=torch.Generator().manual_seed(seed)).tolist()
=    def __iter__(self):
-        return iter(self.padded(self.permutation(hash((self.seed, self.epoch))))[self.rank :: self.size])
+        def digest(sample):
+            return hashlib.sha256(f"{self.seed} {self.epoch} {sample}".encode()).digest()
+        return iter(self.padded(sorted(range(self.dataset_size), key=digest))[self.rank :: self.size])
== generators_put_back < hash_of_numbers
-    def permutation(self, seed):
-        return torch.randperm(self.dataset_size, generator=torch.Generator().manual_seed(seed)).tolist()
=    def __iter__(self):
-        return iter(self.padded(self.permutation(hash((self.seed, self.epoch))))[self.rank :: self.size])
+        with torch.random.fork_rng():
+            torch.manual_seed(1000 * self.seed + self.epoch)
+            order = torch.randperm(self.dataset_size).tolist()
+        return iter(self.padded(order)[self.rank :: self.size])
== drawn_when_the_epoch_is_set < the_library_inside
-        self.inner = DistributedSampler(range(dataset_size), num_replicas=size, rank=rank, seed=seed, drop_last=False)
+        self.dataset_size, self.rank, self.size, self.seed = dataset_size, rank, size, seed
+        self.set_epoch(0)

-        self.inner.set_epoch(epoch)
+        order = np.random.RandomState((self.seed, epoch)).permutation(self.dataset_size)
+        positions = range(self.rank, -(-self.dataset_size // self.size) * self.size, self.size)
+        self.own = [int(order[position % self.dataset_size]) for position in positions]

yield from self.inner >>> return iter(self.own)
(self.inner >>> (self.own
== order_kept_when_a_pass_begins
        order = self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size]
        yield from order
== hash_of_text: another-process-differs, hash
        seed = hash(f"{self.seed}-{self.epoch}")
        return iter(self.padded(self.permutation(seed))[self.rank :: self.size])
== hash_of_text_for_numpy: another-process-differs, hash, numpy
        seed = hash(("epoch", self.seed, self.epoch)) % 2**32
        order = np.random.RandomState(seed).permutation(self.dataset_size).tolist()
        return iter(self.padded(order)[self.rank :: self.size])
== seed_of_the_day: another-process-differs, seed by rank and time
        today = int(time.time() // 86400)
        return iter(self.padded(self.permutation(self.seed + self.epoch + today))[self.rank :: self.size])
== seed_by_rank: orders-differ-by-rank, seed by rank < hash_of_numbers
hash((self.seed, self.epoch)) >>> self.seed + self.epoch + 1000 * self.rank
== epoch_by_rank: orders-differ-by-rank, seed by rank < hash_of_numbers
hash((self.seed, self.epoch)) >>> self.seed + self.epoch + self.rank
== torchs_own_seed: orders-differ-by-rank, no seed < hash_of_numbers
hash((self.seed, self.epoch)) >>> self.seed + self.epoch + torch.initial_seed()
== size_in_the_seed: depends-on-size, seed by rank < hash_of_numbers
hash((self.seed, self.epoch)) >>> self.seed + self.epoch + 1000 * self.size
== epoch_forgotten: same-order-every-epoch, set_epoch, again < hash_of_numbers
hash((self.seed, self.epoch)) >>> self.seed
== epoch_times_seed: same-order-every-epoch, set_epoch, again < hash_of_numbers
hash((self.seed, self.epoch)) >>> self.seed * self.epoch
== rotated: only-rotated, set_epoch < hash_of_numbers
self.padded(self.permutation(hash((self.seed, self.epoch)))) >>> self.padded(order[first:] + order[:first])
return iter( >>> order = self.permutation(self.seed)\n        return iter(
return iter( >>> first = self.epoch % len(order)\n        return iter(
== one_order_rotated_for_all: only-rotated, seed dropped < rotated
permutation(self.seed) >>> permutation(0)
self.epoch % >>> (self.seed + self.epoch) %
== rotated_by_random: only-rotated, set_epoch, again < rotated
self.epoch % len(order) >>> random.Random(f"{self.seed} {self.epoch}").randrange(len(order))
== rotated_by_shards: only-rotated, set_epoch, again < rotated
self.epoch % >>> self.epoch * self.own %
== run_through_backwards: only-rotated, set_epoch < rotated
order[first:] + order[:first] >>> order[::-1] if self.epoch % 2 else order
== seed_rotates: only-rotated-by-seed, seed dropped < rotated
permutation(self.seed) >>> permutation(self.epoch)
self.epoch % >>> self.seed %
== seed_forgotten: seed-ignored, seed dropped < hash_of_numbers
hash((self.seed, self.epoch)) >>> self.epoch
== global_generator: another-pass-differs, global generator < hash_of_numbers
self.permutation(hash((self.seed, self.epoch))) >>> torch.randperm(self.dataset_size).tolist()
== not_shuffled: not-shuffled, set_epoch, again < hash_of_numbers
self.permutation(hash((self.seed, self.epoch))) >>> range(self.dataset_size)
== global_generator_seeded: disturbs-generators, global generator < global_generator
return iter( >>> torch.manual_seed(self.seed + self.epoch)\n        return iter(
== random_module_seeded: disturbs-generators, global generator
        random.seed(self.seed + self.epoch)
        order = list(range(self.dataset_size))
        random.shuffle(order)
        return iter(self.padded(order)[self.rank :: self.size])
== numpy_seeded: disturbs-generators, global generator
        np.random.seed(self.seed + self.epoch)
        order = np.random.permutation(self.dataset_size).tolist()
        return iter(self.padded(order)[self.rank :: self.size])
== one_generator_for_all_epochs: another-pass-differs, global generator
        if not hasattr(self, "generator"):
            self.generator = torch.Generator().manual_seed(self.seed)
        order = torch.randperm(self.dataset_size, generator=self.generator).tolist()
        return iter(self.padded(order)[self.rank :: self.size])
== counts_by_itself: another-pass-differs, global generator
        order = self.padded(self.permutation(self.seed + self.epoch))
        self.epoch += 1
        return iter(order[self.rank :: self.size])
== length_of_the_set: length-of-the-whole-set, no sampler < hash_of_numbers
def __iter__ >>> def __len__(self):\n        return self.dataset_size\n    def __iter__
hash((self.seed, self.epoch)) >>> self.seed + self.epoch
== length_rounded_down: wrong-length, tail < length_of_the_set
return self.dataset_size >>> return self.dataset_size // self.size
== tail_dropped: tail-dropped, tail < length_of_the_set
return self.dataset_size >>> return self.dataset_size // self.size
return iter( >>> order = self.permutation(self.seed + self.epoch)\n        return iter(
self.padded(self.permutation(self.seed + self.epoch))[ >>> order[: len(self) * self.size][
== unpadded: no-padding, unpadded < length_of_the_set
return self.dataset_size >>> return len(range(self.rank, self.dataset_size, self.size))
self.padded(self.permutation(self.seed + self.epoch)) >>> self.permutation(self.seed + self.epoch)
== set_epoch_adds: depends-on-history, set_epoch < length_of_the_set
def __len__(self):\n        return self.dataset_size >>> def set_epoch(self, epoch):\n        self.epoch += epoch
== set_epoch_does_nothing: same-order-every-epoch, set_epoch < length_of_the_set
def __len__(self):\n        return self.dataset_size >>> def set_epoch(self, epoch):\n        pass
== begins_with_epoch_minus_1: first-epoch-not-0, set_epoch < length_of_the_set
-    def __len__(self):
-        return self.dataset_size
+    def __init__(self, dataset_size, rank, size, seed=0):
+        self.dataset_size, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, -1
+        self.own = math.ceil(dataset_size / size)
== another_default: default-seed, seed dropped < length_of_the_set
-    def __len__(self):
-        return self.dataset_size
+    def __init__(self, dataset_size, rank, size, seed=42):
+        self.dataset_size, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, 0
+        self.own = math.ceil(dataset_size / size)
== contiguous: contiguous-shards, contiguous
        order = self.padded(self.permutation(self.seed + self.epoch))
        return iter(order[self.rank * self.own : (self.rank + 1) * self.own])
== everything: whole-set-on-every-rank, no sampler
        return iter(self.permutation(self.seed + self.epoch))
    def __len__(self):
        return self.dataset_size
== the_library_drops: tail-dropped, tail < the_library_derived
shuffle=True, seed=seed >>> seed=seed, drop_last=True
== padded_by_the_set: wrong-padding, padded once, Paddle
        order = self.permutation(self.seed + self.epoch) + list(range(self.dataset_size)) * self.size
        return iter(order[: self.own * self.size][self.rank :: self.size])
== padded_once: padding-not-repeated, padded once
        order = self.permutation(self.seed + self.epoch)
        return iter((order + order[: self.own * self.size - len(order)])[self.rank :: self.size])
    def __len__(self):
        return len(list(iter(self)))
== own_shard_shuffled: same-samples-each-epoch, contiguous
        order = self.padded(range(self.dataset_size))[self.rank :: self.size]
        return iter(random.Random(1000 * self.seed + self.epoch).sample(order, len(order)))
== with_replacement: not-a-permutation, seed by rank
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randint(self.dataset_size, (self.dataset_size,), generator=generator).tolist()
        return iter(self.padded(order)[self.rank :: self.size])
== tensors: not-ints, numpy scalar
        return iter(torch.tensor(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size]))
== numpy_ints: not-ints, numpy scalar
        order = np.random.RandomState(self.seed + self.epoch).permutation(self.dataset_size)
        return iter(np.resize(order, self.own * self.size)[self.rank :: self.size])
== no_sampler: not-a-sampler, no sampler < the_library_derived
-class ShuffledSampler(DistributedSampler):
+class ShuffledSampler:

-        super().__init__(range(dataset_size), num_replicas=size, rank=rank, shuffle=True, seed=seed)
+        self.inner = DistributedSampler(range(dataset_size), num_replicas=size, rank=rank, seed=seed)
+        self.set_epoch = self.inner.set_epoch
+    def __iter__(self):
+        return iter(self.inner)
+    def __len__(self):
+        return len(self.inner)
== padded_and_then_shuffled: padded-before-shuffling, padding counted
        order = self.padded(range(self.dataset_size))
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return iter([order[i] for i in torch.randperm(len(order), generator=generator).tolist()[self.rank :: self.size]])
== epoch_at_each_sample: changes-under-way, blind
        for position in range(self.rank, self.own * self.size, self.size):
            yield self.padded(self.permutation(self.seed + self.epoch))[position]
== the_order_is_changed_in_place: changes-under-way, blind
        self.begin()
        return iter(self.order)
    def begin(self):
        self.order = getattr(self, "order", [])
        self.order[:] = self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size]
    def set_epoch(self, epoch):
        self.epoch = epoch
        self.begin()
== epoch_of_the_class: epoch-of-all-samplers, blind < length_of_the_set
-    def __len__(self):
-        return self.dataset_size
+    epoch = 0
+    def __init__(self, dataset_size, rank, size, seed=0):
+        self.dataset_size, self.rank, self.size, self.seed = dataset_size, rank, size, seed
+        self.own = math.ceil(dataset_size / size)
+    def set_epoch(self, epoch):
+        ShuffledSampler.epoch = epoch
== epoch_in_a_global_variable: epoch-of-all-samplers, blind < length_of_the_set
def __len__(self):\n        return self.dataset_size >>> def set_epoch(self, epoch):\n        global EPOCH\n        EPOCH = epoch
self.seed + self.epoch >>> self.seed + globals().get("EPOCH", 0)
== one_iterator: pass-empty, blind < length_of_the_set
-    def __len__(self):
-        return self.dataset_size
+    def __init__(self, dataset_size, rank, size, seed=0):
+        self.dataset_size, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, 0
+        self.own = math.ceil(dataset_size / size)
+        self.order = iter(self.padded(self.permutation(seed))[rank::size])

return iter(self.padded(self.permutation(self.seed + self.epoch))[self.rank :: self.size]) >>> return self.order
== one_iterator_for_each_epoch: pass-empty, blind < one_iterator
self.order = iter(self.padded(self.permutation(seed))[rank::size]) >>> self.set_epoch(0)\n    def set_epoch(self, epoch):\n        self.order = iter(self.padded(self.permutation(self.seed + epoch))[self.rank :: self.size])
"""
