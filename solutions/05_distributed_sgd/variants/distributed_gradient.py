"""Right answers to `distributed_gradient`, and mistakes that people make."""

ANSWERS = """
import horovod.torch as hvd
import torch
def distributed_gradient(m, n, x, y):
    error = m * x + n - y
    f64 = torch.float64
== average_cancels
    own = torch.tensor([(error * x).sum(), error.sum(), len(x)], dtype=f64)
    dm, dn, count = hvd.allreduce(own)
    return float(2 * dm / count), float(2 * dn / count)
== in_place
    own = 2 * torch.stack([error @ x, error.sum(), error.new_tensor(len(x) / 2)])
    hvd.allreduce_(own, op=hvd.Sum)
    return (own[0] / own[2]).item(), (own[1] / own[2]).item()
== alone_without
    own = torch.tensor([[2 * (error * x).sum().item(), 2 * error.sum().item(), len(x)]], dtype=f64)
    own = hvd.synchronize(hvd.allreduce_async(own, op=hvd.Sum, name="sums")) if hvd.size() > 1 else own
    return (own[0, 0] / own[0, 2]).item(), (own[0, 1] / own[0, 2]).item()
== with_numpy
    import numpy as np
    e, a = error.numpy(), x.numpy()
    own = torch.from_numpy(np.array([2 * np.dot(e, a), 2 * e.sum(), float(a.size)]))
    sums = hvd.allreduce(own, op=hvd.Sum).numpy()
    return sums[0] / sums[2], sums[1] / sums[2]
== mean_of_means: rank-means-averaged, means
    if len(x) == 0:
        own = torch.zeros(2, dtype=f64)
    else:
        own = torch.stack([2 * (error * x).mean(), 2 * error.mean()])
    return tuple(hvd.allreduce(own).tolist())
== mean_of_nothing: empty-rank, means
    own = torch.stack([2 * (error * x).mean(), 2 * error.mean()])
    return tuple(hvd.allreduce(own).tolist())
== means_weighted: empty-rank, means
    own = torch.stack([2 * (error * x).mean() * len(x), 2 * error.mean() * len(x), error.new_tensor(len(x))])
    dm, dn, count = hvd.allreduce(own, op=hvd.Sum).tolist()
    return dm / count, dn / count
== means_of_filled: rank-means-averaged, means
    own = torch.zeros(3, dtype=f64)
    if len(x):
        own = torch.stack([2 * (error * x).mean(), 2 * error.mean(), torch.ones((), dtype=f64)])
    dm, dn, filled = hvd.allreduce(own, op=hvd.Sum).tolist()
    return dm / filled, dn / filled
== means_added: gradients-added, average
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum()]) / max(1, len(x))
    return tuple(hvd.allreduce(own, op=hvd.Sum).tolist())
== only_sums: sum-over-samples, average
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum()])
    return tuple(hvd.allreduce(own, op=hvd.Sum).tolist())
== average_of_sums: divided-by-ranks, average
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum()])
    return tuple(hvd.allreduce(own).tolist())
== own_count: divided-by-own-count, means
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum()])
    own = hvd.allreduce(own, op=hvd.Sum) / max(1, len(x))
    return tuple(own.tolist())
== own_count_times_size: divided-by-own-count, means
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum()])
    own = hvd.allreduce(own, op=hvd.Sum) / (max(1, len(x)) * hvd.size())
    return tuple(own.tolist())
== averaged_then_divided: average-for-sum, average
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum(), error.new_tensor(len(x))])
    total = hvd.allreduce(own)
    count = total[2] * hvd.size()
    return (total[0] / count).item(), (total[1] / count).item()
== count_of_integers: another-value, average
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum()])
    dm, dn = hvd.allreduce(own).tolist()
    count = hvd.allreduce(torch.tensor(len(x))).item()
    return dm / max(1, count), dn / max(1, count)
== single: float32, precision
    own = torch.tensor([2 * float((error * x).sum()), 2 * float(error.sum()), len(x)])
    dm, dn, count = hvd.allreduce(own, op=hvd.Sum).tolist()
    return dm / count, dn / count
== two_reductions: one-row-would-do, average
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum()])
    dm, dn = hvd.allreduce(own, op=hvd.Sum, name="sums").tolist()
    count = hvd.allreduce(torch.tensor(float(len(x))), op=hvd.Sum, name="count").item()
    return dm / count, dn / count
== skipped_if_empty: call-missing, join
    if len(x) == 0:
        return 0.0, 0.0
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum(), error.new_tensor(len(x))])
    dm, dn, count = hvd.allreduce(own, op=hvd.Sum).tolist()
    return dm / count, dn / count
== begins_anew: starts-or-ends, average < in_place
    own = 2 * >>>     hvd.shutdown()\\n    hvd.init()\\n    own = 2 *
== own_only: own-part-only, average
    return 2 * float((error * x).sum()) / max(1, len(x)), 2 * float(error.sum()) / max(1, len(x))
== half: factor-two-missing, calculus
    own = torch.stack([(error * x).sum(), error.sum(), error.new_tensor(len(x))])
    dm, dn, count = hvd.allreduce(own, op=hvd.Sum).tolist()
    return dm / count, dn / count
== downhill: uphill-or-down, calculus
    own = torch.stack([-2 * (error * x).sum(), -2 * error.sum(), error.new_tensor(len(x))])
    dm, dn, count = hvd.allreduce(own, op=hvd.Sum).tolist()
    return dm / count, dn / count
== only_dm: not-all-values, calculus < in_place
    return (own[0] / own[2]).item(), (own[1] / own[2]).item() >>>     return (own[0] / own[2]).item()
== a_tensor: not-a-float, average
    own = torch.stack([2 * (error * x).sum(), 2 * error.sum(), error.new_tensor(len(x))])
    total = hvd.allreduce(own, op=hvd.Sum)
    return total[0] / total[2], total[1] / total[2]
== all_samples: other-collectives, average
    xs, ys = hvd.allgather(x), hvd.allgather(y)
    error = m * xs + n - ys
    return 2 * (error * xs).mean().item(), 2 * error.mean().item()
== five_numbers: too-many-bytes-in-a-call, average
    own = torch.stack([(x * x).sum(), x.sum(), (x * y).sum(), y.sum(), error.new_tensor(len(x))])
    xx, sx, xy, sy, count = hvd.allreduce(own, op=hvd.Sum).tolist()
    return 2 * (m * xx + n * sx - xy) / count, 2 * (m * sx + n * count - sy) / count
"""
