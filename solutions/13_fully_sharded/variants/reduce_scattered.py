"""Right answers to `reduce_scattered`, and mistakes that people make."""

ANSWERS = """
== with_a_list
import torch
import torch.distributed as dist
from torch.nn.functional import pad
def reduce_scattered(layer, shards, sync=True):
    if not sync:
        return
    n, rank = dist.get_world_size(), dist.get_rank()
    pieces = [[] for _ in range(n)]
    for p, s in zip(layer.parameters(), shards):
        g = torch.zeros_like(p) if p.grad is None else p.grad
        g = torch.cat([g, g.new_zeros(n * s.shape[0] - g.shape[0], *g.shape[1:])])
        for r, part in enumerate(g.split(s.shape[0])):
            pieces[r].append(part.reshape(-1))
        p.grad = None
    pieces = [torch.cat(each) for each in pieces]
    out = torch.empty_like(pieces[0])
    dist.reduce_scatter(out, pieces)
    out /= n
    start = 0
    for s in shards:
        part = out[start : start + s.numel()].view(s.shape).clone()
        start += s.numel()
        if s.grad is None:
            s.grad = part
        else:
            s.grad += part
== averaged_by_torch < with_a_list
    dist.reduce_scatter(out, pieces) >>>     dist.reduce_scatter(out, pieces, op=dist.ReduceOp.AVG)
    out /= n\\n >>>
== divided_first < with_a_list
    out /= n\\n >>>
        g = torch.zeros_like(p) if p.grad is None else p.grad >>>         g = torch.zeros_like(p) if p.grad is None else p.grad / n
== summed: sum-of-gradients, stages differ < with_a_list
    out /= n\\n >>>
== divided_twice: averaged-twice, twice < with_a_list
    dist.reduce_scatter(out, pieces) >>>     dist.reduce_scatter(out, pieces, op=dist.ReduceOp.AVG)
== own_rows: own-gradient-only, zero < with_a_list
    dist.reduce_scatter(out, pieces)\\n    out /= n >>>     out = pieces[rank].clone()
== replaced: gradients-replaced, fsdp < with_a_list
        if s.grad is None: >>>         if True:
== by_parameter: pieces-of-other-parameters, stages differ < with_a_list
    pieces = [torch.cat(each) for each in pieces] >>>     whole = torch.cat([torch.cat([each[number] for each in pieces]) for number in range(len(shards))])\\n    pieces = list(whole.chunk(n))
== padding_of_ones: padding-in-the-sum, fsdp < with_a_list
g.new_zeros( >>> g.new_ones(
== one_each: one-row-would-do, fsdp
import torch
import torch.distributed as dist
def reduce_scattered(layer, shards, sync=True):
    if sync:
        n = dist.get_world_size()
        for p, s in zip(layer.parameters(), shards):
            g = torch.zeros(n * len(s), *s.shape[1:], dtype=s.dtype)
            if p.grad is not None:
                g[: len(p)] = p.grad
            part = torch.empty_like(s).flatten()
            dist.reduce_scatter_tensor(part, g.flatten())
            s.grad = part.view_as(s) / n if s.grad is None else s.grad + part.view_as(s) / n
            p.grad = None
== all_reduced: all-reduce-then-cut, zero < with_a_list
    dist.reduce_scatter(out, pieces) >>>     everything = torch.stack(pieces)\\n    dist.all_reduce(everything)\\n    out = everything[rank].clone()
== with_all_to_all: other-collectives, zero < with_a_list
    dist.reduce_scatter(out, pieces) >>>     came = [torch.empty_like(out) for _ in range(n)]\\n    dist.all_to_all(came, pieces)\\n    out = sum(came)
== in_double_the_bytes: other-bytes-in-the-row, mixed < with_a_list
    dist.reduce_scatter(out, pieces) >>>     both = [torch.cat([each, each]) for each in pieces]\\n    twice = torch.empty_like(both[0])\\n    dist.reduce_scatter(twice, both)\\n    out = twice[: len(out)].clone()
== gradients_kept: whole-gradients-kept, not freed < with_a_list
        p.grad = None\\n >>>
== always_synced: sent-without-sync, no sync < with_a_list
    if not sync:\\n        return\\n >>>
== freed_without_sync: changed-without-sync, no sync < with_a_list
    if not sync:\\n        return\\n >>>     if not sync:\\n        for p in layer.parameters():\\n            p.grad = None\\n        return\\n
== own_share_without_sync: changed-without-sync, no sync < with_a_list
    dist.reduce_scatter(out, pieces) >>>     dist.reduce_scatter(out, pieces) if sync else out.copy_(pieces[rank])
    if not sync:\\n        return\\n >>>
== none_forgotten: raised, fsdp < with_a_list
torch.zeros_like(p) if p.grad is None else p.grad >>> p.grad
== nobody_waits: not-waited-for, reader < with_a_list
    dist.reduce_scatter(out, pieces) >>>     dist.reduce_scatter(out, pieces, async_op=True)
== into_the_weights: another-kind, reader < with_a_list
        if s.grad is None:\\n            s.grad = part\\n        else:\\n            s.grad += part >>>         s.data.add_(part)
== mean_of_the_norm: other-collectives, reader < with_a_list
    out /= n\\n >>>     out /= n\\n    norm = out.norm()\\n    dist.all_reduce(norm)\\n
== in_double: other-bytes-in-the-row, reader < with_a_list
        g = torch.zeros_like(p) if p.grad is None else p.grad >>>         g = torch.zeros_like(p).double() if p.grad is None else p.grad.double()
== leaves_without_gradients: call-missing, reader < with_a_list
    n, rank = dist.get_world_size(), dist.get_rank() >>>     if all(p.grad is None for p in layer.parameters()):\\n        return\\n    n, rank = dist.get_world_size(), dist.get_rank()
"""
