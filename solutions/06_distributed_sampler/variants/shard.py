"""Right answers to `shard`, and mistakes that people make."""

ANSWERS = """
import math
import random
from itertools import cycle, islice
import numpy as np
import torch
from torch.utils.data import DistributedSampler
def shard(dataset_size, rank, size):
    own = math.ceil(dataset_size / size)
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
== not_wrapped_around: unknown-samples, padded once, Paddle
    return list(range(rank, own * size, size))
== everything: whole-set-on-every-rank, no sampler
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
== begins_at_sample_1: wrong-number, contiguous
    return list(range(rank + 1, dataset_size, size))
== a_turn_too_few: fewer-than-needed, blind
    return [(rank + turn * size) % dataset_size for turn in range(own - 2)]
== the_first_answer_is_kept: unknown-samples, blind
    if not hasattr(np, "kept"):
        np.kept = {}
    return np.kept.setdefault((rank, size), [(rank + turn * size) % dataset_size for turn in range(own)])
== a_turn_too_many: more-than-needed, padded once
    return [(rank + turn * size) % dataset_size for turn in range(dataset_size // size + 1)]
"""
