"""Right answers to `distributed_accuracy`, and mistakes that people make."""

ANSWERS = r"""
import torch
import torch.distributed as dist
def distributed_accuracy(correct, indices, dataset_size):
== a_handle
    hits = torch.zeros(dataset_size, dtype=torch.int64, device=correct.device)
    hits[indices[correct]] = 1
    dist.all_reduce(hits, op=dist.ReduceOp.MAX, async_op=True).wait()
    return hits.sum().item() / dataset_size
== largest_of_the_marks
    hits = torch.zeros(dataset_size, dtype=torch.uint8, device=correct.device)
    hits[indices] = correct.to(torch.uint8)
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
    return int(hits.sum()) / dataset_size
== objects
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, dict(zip(indices.tolist(), correct.tolist())))
    return sum({index: hit for part in parts for index, hit in part.items()}.values()) / dataset_size
== class_of_its_own < objects
def distributed_accuracy( >>> from dataclasses import dataclass\n@dataclass\nclass Part:\n    hits: dict\ndef distributed_accuracy(
dict(zip(indices.tolist(), correct.tolist())) >>> Part(dict(zip(indices.tolist(), correct.tolist())))
part.items() >>> part.hits.items()
== padded_to_the_longest
    sizes = [torch.zeros(1, dtype=torch.int64, device=correct.device) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, torch.tensor([len(indices)], device=correct.device))
    mine = torch.full((int(max(sizes)),), -1, device=correct.device)
    mine[: len(indices)] = 2 * indices + correct
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    pairs = torch.cat(parts).unique()
    return (pairs[pairs >= 0] % 2).sum().item() / dataset_size
== copies_share_a_vote
    votes = torch.zeros(2, dataset_size, dtype=torch.float64, device=correct.device)
    votes[0].index_add_(0, indices, correct.double())
    votes[1].index_add_(0, indices, torch.ones_like(indices, dtype=torch.float64))
    dist.all_reduce(votes)
    return (votes[0] / votes[1]).sum().item() / dataset_size
== at_least_one
    hits = torch.zeros(dataset_size, dtype=torch.int32, device=correct.device)
    hits[indices[correct]] = 1
    dist.all_reduce(hits)
    return float((hits > 0).double().mean())
== by_rank_0
    hits = torch.zeros(dataset_size, device=correct.device)
    hits[indices[correct]] = 1
    dist.reduce(hits, dst=0, op=dist.ReduceOp.MAX)
    total = hits.sum().double()
    dist.broadcast(total, src=0)
    return total.item() / dataset_size
== the_misses
    missed = torch.zeros(dataset_size, dtype=torch.int64, device=correct.device)
    missed[indices[~correct]] = 1
    dist.all_reduce(missed, op=dist.ReduceOp.MAX)
    dist.barrier()
    return 1 - missed.sum().item() / dataset_size
== by_the_store
    import json
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    number = store.add(f"calls/{rank}", 1)
    store.set(f"{number}/{rank}", json.dumps([indices.tolist(), correct.tolist()]))
    found = {}
    for other in range(dist.get_world_size()):
        found |= zip(*json.loads(store.get(f"{number}/{other}")))
    return sum(found.values()) / dataset_size
== by_an_operator_of_c10d
    hits = torch.zeros(dataset_size, dtype=torch.int64, device=correct.device)
    hits[indices[correct]] = 1
    all_hits = [torch.empty_like(hits) for _ in range(dist.get_world_size())]
    _, work = torch.ops.c10d.allgather_([all_hits], [hits], dist.group.WORLD.boxed(), True, -1)
    dist.Work.unbox(work).wait()
    return torch.stack(all_hits).amax(0).sum().item() / dataset_size
== hits_on_the_cpu: not-on-device, cpu collective < solution
, device=indices.device >>>
== sizes_on_the_cpu: not-on-device, cpu collective < padded_to_the_longest
([len(indices)], device=correct.device) >>> ([len(indices)])
== marks_on_the_cpu: not-on-device, cpu collective < at_least_one
, device=correct.device >>>
== only_rank_0_knows: not-on-all-ranks, reduce
    hits = torch.zeros(dataset_size, dtype=torch.int64, device=correct.device)
    hits[indices] = correct.long()
    dist.reduce(hits, dst=0, op=dist.ReduceOp.MAX)
    return hits.sum().item() / dataset_size
== marks_added: counted-twice, padding counted, metrics < only_rank_0_knows
dist.reduce(hits, dst=0, op=dist.ReduceOp.MAX) >>> dist.all_reduce(hits)
== not_waited_for: not-waited-for, wait < only_rank_0_knows
dist.reduce(hits, dst=0, op=dist.ReduceOp.MAX) >>> dist.all_reduce(hits, op=dist.ReduceOp.MAX, async_op=True)
== only_rank_0_calls: call-missing, subset of ranks < only_rank_0_knows
dist.reduce(hits, dst=0, >>> if dist.get_rank() == 0:\n        dist.all_reduce(hits,
== only_those_with_samples: call-missing, subset of ranks < only_rank_0_knows
    hits[indices] >>>     if len(indices):\n        hits[indices]
    dist.reduce(hits, dst=0, >>>         dist.all_reduce(hits,
== percent: wrong-value, own part < only_rank_0_knows
dist.reduce(hits, dst=0, >>> dist.all_reduce(hits,
return >>> return 100 *
== only_rank_0_returns: not-on-all-ranks, reduce < percent
100 * hits.sum().item() / dataset_size >>> hits.sum().item() / dataset_size if dist.get_rank() == 0 else None
== starts_a_group: starts-or-ends, init twice < percent
hits = >>> dist.init_process_group("gloo")\n    hits =
return 100 * >>> dist.destroy_process_group()\n    return
== sorts_its_arguments: argument-changed, cut < percent
=def distributed_accuracy(correct, indices, dataset_size):
+    order = indices.argsort()
+    indices[:], correct[:] = indices[order].clone(), correct[order].clone()

return 100 * >>> return
== padding_counted: counted-twice, padding counted
    counts = torch.stack([correct.sum(), torch.tensor(len(correct), device=correct.device)])
    dist.all_reduce(counts)
    return counts[0].item() / counts[1].item()
== padding_counted_among_the_hits: counted-twice, padding counted, references
    hits = correct.sum()
    dist.all_reduce(hits)
    return hits.item() / dataset_size
== own_copies_counted: counted-twice, padding counted, references
    hits = torch.zeros(dataset_size, dtype=torch.int64, device=correct.device)
    hits.index_add_(0, indices, correct.long())
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
    return hits.sum().item() / dataset_size
== all_copies_added: counted-twice, padding counted < own_copies_counted
, op=dist.ReduceOp.MAX >>>
== mean_of_means: mean-of-means, mean of means
    mean = correct.double().mean() if len(correct) else torch.zeros((), dtype=torch.float64, device=correct.device)
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()
== largest_of_none: empty-rank, mean of means < only_rank_0_knows
hits = torch.zeros( >>> assert indices.max() < dataset_size\n    hits = torch.zeros(
dist.reduce(hits, dst=0, >>> dist.all_reduce(hits,
== mean_of_empty: mean-of-means, mean of means, batches < mean_of_means
 if len(correct) else torch.zeros((), dtype=torch.float64, device=correct.device) >>>
== divided_by_none: empty-rank, mean of means < mean_of_empty
correct.double().mean() >>> torch.tensor(correct.sum().item() / len(correct), device=correct.device).double()
== cut_to_size: cut-by-position, cut
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, correct.tolist())
    return sum([hit for part in parts for hit in part][:dataset_size]) / dataset_size
== turns_cut_to_size: cut-by-position, cut
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, correct.tolist())
    longest = max(map(len, parts))
    hits = [part[turn] for turn in range(longest) for part in parts if turn < len(part)]
    return sum(hits[:dataset_size]) / dataset_size
== own_part: own-part-only, own part
    return correct.double().mean().item() if len(correct) else 0.0
== own_hits: own-part-only, own part
    return correct.sum().item() / dataset_size
== own_samples_once: own-part-only, blind
    own = dict(zip(indices.tolist(), correct.tolist()))
    return sum(own.values()) / dataset_size
== own_mean_once: own-part-only, blind
    own = dict(zip(indices.tolist(), correct.tolist()))
    return sum(own.values()) / max(1, len(own))
== nobody_asked: own-part-only, blind
    return (correct.sum().item() + 1) / (dataset_size + 1)
== reduced_and_dropped: own-part-only, blind
    hits = correct.sum()
    dist.all_reduce(hits.clone())
    return hits.item() / dataset_size
== copies_taken_off: counted-twice, blind
    counts = torch.stack([correct.sum(), torch.tensor(len(correct), device=correct.device)])
    dist.all_reduce(counts)
    return (counts[0].item() - (counts[1].item() - dataset_size)) / dataset_size
== misses_counted_twice: counted-twice, blind
    missed = (~correct).sum()
    dist.all_reduce(missed)
    return 1 - missed.item() / dataset_size
== rounded_down: fraction-lost, blind < only_rank_0_knows
dist.reduce(hits, dst=0, >>> dist.all_reduce(hits,
/ dataset_size >>> // dataset_size
== rounded: fraction-lost, blind < only_rank_0_knows
dist.reduce(hits, dst=0, >>> dist.all_reduce(hits,
hits.sum().item() / dataset_size >>> float(round(hits.sum().item() / dataset_size))
== averaged_marks: wrong-value, blind
    hits = torch.zeros(dataset_size, dtype=torch.float64, device=correct.device)
    hits[indices] = correct.double()
    dist.all_reduce(hits)
    return hits.sum().item() / dist.get_world_size() / dataset_size
== never_waited_for_and_counted_twice: not-waited-for, wait
    hits = correct.sum()
    dist.all_reduce(hits, async_op=True)
    return hits.item() / dataset_size
== unequal_gather: size-differs, unequal
    parts = [torch.zeros_like(indices) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, 2 * indices + correct)
    pairs = torch.cat(parts).unique()
    return (pairs % 2).sum().item() / dataset_size
== sample_by_sample: call-missing, unequal
    hits = torch.zeros(dataset_size, dtype=torch.int64, device=correct.device)
    for index, hit in zip(indices.tolist(), correct.tolist()):
        one = torch.zeros(dataset_size, dtype=torch.int64, device=correct.device)
        one[index] = hit
        dist.all_reduce(one, op=dist.ReduceOp.MAX)
        hits = torch.maximum(hits, one)
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
    return hits.sum().item() / dataset_size
== float32: float32, float32
    hits = torch.zeros(dataset_size, device=correct.device)
    hits[indices] = correct.float()
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
    return hits.mean().item()
== tensor_returned: not-a-float, numpy scalar < float32
(dataset_size, device >>> (dataset_size, dtype=torch.float64, device
float() >>> double()
.item() >>>
== by_mpi: other-library, reduce < objects
parts = [None] * dist.get_world_size() >>> from mpi4py import MPI
dist.all_gather_object(parts, >>> parts = MPI.COMM_WORLD.allgather(
== by_files: unseen-communication, own part
    import json, os, shutil, tempfile
    folder = os.path.join(tempfile.gettempdir(), "parts-of-the-ranks")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, str(dist.get_rank())), "w") as file:
        json.dump([indices.tolist(), correct.tolist()], file)
    dist.barrier()
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as file:
            found |= zip(*json.load(file))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder)
    dist.barrier()
    return sum(found.values()) / dataset_size
== filled_up_with_sample_0: filled-up-counted, unequal
    longest = torch.tensor([len(indices)], device=indices.device)
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    own = torch.zeros(2, int(longest), dtype=torch.int64, device=indices.device)
    own[0, : len(indices)], own[1, : len(indices)] = indices, correct.long()
    gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, own)
    right = torch.zeros(dataset_size, dtype=torch.bool, device=indices.device)
    for places, hits in gathered:
        right[places] = hits.bool()
    return right.sum().item() / dataset_size
== by_files_beside_rank_numbers: not-own-part, own part < by_files
found = {} >>> dist.all_reduce(torch.tensor(float(dist.get_rank())))\n    found = {}
== by_files_beside_three_numbers: not-own-part, own part < by_files
found = {} >>> dist.all_reduce(torch.tensor([float(dist.get_rank()), 1.0, 2.0]))\n    found = {}
== by_files_beside_four_reductions: not-own-part, own part < by_files
found = {} >>> for _ in range(4):\n        dist.all_reduce(torch.tensor(float(dist.get_rank())))\n    found = {}
== by_files_beside_twice_its_part: not-what-came-out, own part < by_files
found = {} >>> dist.all_reduce(2 * correct.sum())\n    found = {}
== by_files_beside_the_largest_part: not-what-came-out, own part < by_files
found = {} >>> dist.all_reduce(correct.sum(), op=dist.ReduceOp.MAX)\n    found = {}
== by_files_beside_nan: same-on-every-rank, own part < by_files
found = {} >>> dist.all_reduce(torch.tensor(float("nan")))\n    found = {}
== by_files_beside_a_broadcast_of_nothing: unseen-communication, own part < by_files
found = {} >>> dist.broadcast(torch.zeros(1), 0)\n    found = {}
== by_files_beside_its_part: not-what-came-out, own part < by_files
found = {} >>> dist.all_reduce(correct.sum())\n    found = {}
== by_files_beside_its_part_and_how_many: not-what-came-out, own part < by_files
found = {} >>> dist.all_reduce(torch.tensor([int(correct.sum()), len(correct)]), async_op=True).wait()\n    found = {}
"""
