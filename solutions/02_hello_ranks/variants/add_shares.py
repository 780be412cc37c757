"""Right answers to `add_shares`, and mistakes that people make."""

ANSWERS = r"""
import numpy as np
import horovod.torch as hvd
import torch
def add_shares(a, b):
    rank, size, n = hvd.rank(), hvd.size(), len(a)
== tensor_split
    own = torch.tensor_split(torch.arange(n), size)[rank]
    c = torch.zeros_like(a)
    c[own] = a[own] + b[own]
    share = int(c.sum())
    return c, share, int(hvd.allreduce(torch.tensor(share), op=hvd.Sum))
== first_have_one_more
    few, more = divmod(n, size)
    begin = rank * few + min(rank, more)
    c = torch.zeros(n, dtype=torch.int64)
    for i in range(begin, begin + few + (rank < more)):
        c[i] = a[i] + b[i]
    share = c.sum()
    total = hvd.allreduce(torch.tensor([share.item()]), average=False)
    return c, share.item(), total[0].item()
== in_place
    i = torch.arange(n)
    c = torch.where((i >= rank * n // size) & (i < (rank + 1) * n // size), a + b, 0)
    total = c.sum()
    share = total.item()
    hvd.allreduce_(total, op=hvd.Sum)
    return c, share, total.item()
== handle
    c = torch.zeros_like(a)
    low, high = n * rank // size, n * (rank + 1) // size
    c[low:high] = (a + b)[low:high]
    share = c.sum()
    return c, int(share), int(hvd.synchronize(hvd.allreduce_async(share, op=hvd.Sum)))
== alone_without
    c = torch.zeros_like(a)
    low, high = n * rank // size, n * (rank + 1) // size
    c[low:high] = (a + b)[low:high]
    share = sum(c.tolist())
    return c, share, share if size == 1 else hvd.allreduce(torch.tensor(share), op=hvd.Sum).item()
== sums_in_tensors: int-in-a-tensor, course < in_place
return c, share, total.item() >>> return c, share, total
== read_after_the_reduction: sum-of-all-as-own, course < in_place
-    share = total.item()
-    hvd.allreduce_(total, op=hvd.Sum)
+    hvd.allreduce_(total, op=hvd.Sum)
+    share = total.item()
== ends_horovod: starts-or-ends, course < tensor_split
    return c, share, int( >>>     hvd.shutdown()\n    hvd.init()\n    return c, share, int(
== by_local_rank: share-by-local-rank, local rank < solution
hvd.rank() >>> hvd.local_rank()
== remainder_lost: numbers-left-out, uneven
    few = n // size
    c = torch.zeros_like(a)
    c[rank * few : (rank + 1) * few] = (a + b)[rank * few : (rank + 1) * few]
    share = c.sum()
    return c, share.item(), hvd.allreduce(share, op=hvd.Sum).item()
== float_bounds: raised, course
    c = torch.zeros_like(a)
    for i in range(rank * n / size, (rank + 1) * n / size):
        c[i] = a[i] + b[i]
    share = c.sum()
    return c, share.item(), hvd.allreduce(share, op=hvd.Sum).item()
== bounds_rounded_up: in-two-shares, course
    low, high = rank * n // size, -(-(rank + 1) * n // size)
    c = torch.zeros_like(a)
    c[low:high] = (a + b)[low:high]
    share = c.sum()
    return c, share.item(), hvd.allreduce(share, op=hvd.Sum).item()
== strides: share-in-pieces, course
    c = torch.zeros_like(a)
    c[rank::size] = (a + b)[rank::size]
    share = c.sum()
    return c, share.item(), hvd.allreduce(share, op=hvd.Sum).item()
== last_takes_the_rest: shares-unequal, uneven
    few = n // size
    low, high = rank * few, n if rank == size - 1 else (rank + 1) * few
    c = torch.zeros_like(a)
    c[low:high] = (a + b)[low:high]
    share = c.sum()
    return c, share.item(), hvd.allreduce(share, op=hvd.Sum).item()
== whole_sum_on_all: all-of-c-everywhere, course
    c = a + b
    share = c.sum()
    return c, share.item(), hvd.allreduce(share, op=hvd.Sum).item()
== average: average-of-sums, average < tensor_split
, op=hvd.Sum >>>
== times_size: fraction-lost, average < tensor_split
, op=hvd.Sum)) >>> )) * size
== through_float: int-through-float, average < tensor_split
torch.tensor(share) >>> torch.tensor(float(share), dtype=torch.float64)
== float_returned: int-through-float, course < tensor_split
return c, share, >>> return c, float(share),
== sum_by_numpy_float: digits-lost-in-a-float, course < tensor_split
int(c.sum()) >>> int(c.double().sum())
== reduces_c: c-is-reduced, average
    c = torch.zeros_like(a)
    low, high = n * rank // size, n * (rank + 1) // size
    c[low:high] = (a + b)[low:high]
    share = c.sum().item()
    c = hvd.allreduce(c, op=hvd.Sum)
    return c, share, c.sum().item()
== sums_a_reduced_copy: too-many-bytes, average < tensor_split
int(hvd.allreduce(torch.tensor(share), op=hvd.Sum)) >>> int(hvd.allreduce(c, op=hvd.Sum).sum())
== own_sum: own-sum-only, average
    c = torch.zeros_like(a)
    low, high = n * rank // size, n * (rank + 1) // size
    c[low:high] = (a + b)[low:high]
    share = c.sum()
    hvd.allreduce(share, op=hvd.Sum)
    return c, share.item(), share.item()
== nothing_reduced: no-reduction, average < tensor_split
int(hvd.allreduce(torch.tensor(share), op=hvd.Sum)) >>> share
== everything_added_by_all: unseen-communication, average < tensor_split
int(hvd.allreduce(torch.tensor(share), op=hvd.Sum)) >>> int((a + b).sum())
== gathered: other-communication, average < tensor_split
int(hvd.allreduce(torch.tensor(share), op=hvd.Sum)) >>> int(hvd.allgather(torch.tensor([share])).sum())
== only_a: another-value, course < tensor_split
a[own] + b[own] >>> a[own]
== share_only: not-int64-tensor, course < tensor_split
return c, >>> return c[own],
== two_results: not-all-values, course < tensor_split
return c, share, >>> return share,
== in_numpy: not-int64-tensor, course < tensor_split
return c, >>> return c.numpy(),
== in_float64: not-int64-tensor, course < tensor_split
return c, >>> return c.double(),
== number_reduced: raised, average < tensor_split
torch.tensor(share), op >>> share, op
== only_rank_0_calls: call-missing, average < tensor_split
int(hvd.allreduce(torch.tensor(share), op=hvd.Sum)) >>> int(hvd.allreduce(torch.tensor(share), op=hvd.Sum)) if rank == 0 else share
== argument_used: argument-changed, course < tensor_split
c[own] = a[own] + b[own] >>> a += b\n    c[own] = a[own]
== share_of_a: wrong-int, course < tensor_split
int(c.sum()) >>> int(a[own].sum())
== one_more: wrong-int, course < tensor_split
op=hvd.Sum)) >>> op=hvd.Sum)) + 1
"""
