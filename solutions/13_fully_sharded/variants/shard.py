"""Right answers to `shard`, and mistakes that people make."""

ANSWERS = """
import math
import torch
from torch.nn.functional import pad
def shard(parameter, rank, size):
    c = math.ceil(len(parameter) / size)
    whole = parameter.detach()
== by_index
    result = torch.zeros(c, *parameter.shape[1:], dtype=parameter.dtype, device=parameter.device)
    for row in range(c):
        if rank * c + row < len(parameter):
            result[row] = whole[rank * c + row]
    return result
== padded_first
    zeros = whole.new_zeros(size * c - len(whole), *whole.shape[1:])
    return torch.cat([whole, zeros]).view(size, c, *whole.shape[1:])[rank].clone()
== with_chunks
    chunks = whole.chunk(size)
    own = chunks[rank] if rank < len(chunks) else whole[:0]
    return torch.cat([own, own.new_zeros(c - len(own), *own.shape[1:])])
== under_no_grad
import torch
@torch.no_grad()
def shard(parameter, rank, size):
    c = -(-len(parameter) // size)
    own = parameter[rank * c : (rank + 1) * c]
    return torch.cat([own, own.new_zeros((c - len(own), *own.shape[1:]))])
== a_leaf < padded_first
[rank].clone() >>> [rank].clone().requires_grad_()
== a_parameter < padded_first
    return torch.cat([whole, zeros]).view(size, c, *whole.shape[1:])[rank].clone() >>>     return torch.nn.Parameter(torch.cat([whole, zeros]).view(size, c, *whole.shape[1:])[rank].clone())
== a_view: holds-more-than-its-rows, fsdp
    zeros = whole.new_zeros(size * c - len(whole), *whole.shape[1:])
    return torch.cat([whole, zeros]).view(size, c, *whole.shape[1:])[rank]
== with_graph: shard-with-a-graph, fsdp < padded_first
torch.cat([whole, zeros]) >>> torch.cat([parameter, zeros])
== as_tensor_split: shards-of-unequal-length, chunks
    return whole.tensor_split(size)[rank].clone()
== as_tensor_split_filled: shards-of-unequal-length, chunks
    own = whole.tensor_split(size)[rank]
    return torch.cat([own, own.new_zeros(c - len(own), *own.shape[1:])])
== rounded_down: rows-left-out, chunks
    c = len(parameter) // size
    return whole[rank * c : (rank + 1) * c].clone()
== in_turns: rows-in-turns, chunks
    own = whole[rank::size]
    return torch.cat([own, own.new_zeros(c - len(own), *own.shape[1:])])
== not_filled: shards-not-filled-up, chunks
    return whole[rank * c : (rank + 1) * c].clone()
== chunks_with_empty_ones: shards-not-filled-up, chunks
    chunks = whole.chunk(size)
    return chunks[rank].clone() if rank < len(chunks) else whole[:0].clone()
== flat: entries-cut, fsdp
    c = math.ceil(parameter.numel() / size)
    row = pad(whole.flatten(), (0, size * c - parameter.numel()))
    return row[rank * c : (rank + 1) * c].clone()
== everything: whole-parameter-kept, zero
    return whole.clone()
== padding_of_ones: not-zero-behind-the-last-row, chunks < with_chunks
own.new_zeros( >>> own.new_ones(
== freed_at_once: argument-changed, fsdp < with_chunks
    chunks = whole.chunk(size) >>>     whole = whole.clone()\\n    parameter.data.zero_()\\n    chunks = whole.chunk(size)
== in_single_precision: another-dtype, mixed < padded_first
[rank].clone() >>> [rank].float().clone() if whole.dtype == torch.float64 else whole[:c].double()
== none_behind_the_last: raised, chunks
    return whole.chunk(size)[rank].clone()
== last_row_again: not-zero-behind-the-last-row, reader
    rows = [whole[min(rank * c + row, len(whole) - 1)] for row in range(c)]
    return torch.stack(rows)
== on_the_cpu: not-on-device, reader < by_index
, device=parameter.device) >>> )
== frees_the_parameter: freed-memory-used, reader < with_chunks
    own = chunks[rank] if rank < len(chunks) else whole[:0]\\n >>>     own = chunks[rank].clone() if rank < len(chunks) else whole[:0].clone()\\n    parameter.untyped_storage().resize_(0)\\n
"""
