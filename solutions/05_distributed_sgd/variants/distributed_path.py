"""Right answers to `distributed_path`, and mistakes that people make."""

ANSWERS = """
import random
import horovod.torch as hvd
import numpy as np
import torch
def distributed_path(x, y, batch_size, rate, epochs, start, seed):
    rank, size, n_samples = hvd.rank(), hvd.size(), len(x)
== slices
    point = hvd.broadcast(torch.tensor(start, dtype=torch.float64), 0)
    path, step = [point], 0
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(n_samples)
        for begin in range(0, n_samples, batch_size):
            own = torch.from_numpy(order[begin : begin + batch_size][rank::size].copy())
            gradient = distributed_gradient(point[0].item(), point[1].item(), x[own], y[own])
            point = point - rate(step) * torch.tensor(gradient, dtype=torch.float64)
            path.append(point)
            step += 1
    return torch.stack(path)
== object
    m, n = hvd.broadcast_object(start, root_rank=0)
    draw, rows = random.Random(seed), [[m, n]]
    for _ in range(epochs):
        order = list(range(n_samples))
        draw.shuffle(order)
        while order:
            batch, order = order[:batch_size], order[batch_size:]
            own = batch[len(batch) * rank // size : len(batch) * (rank + 1) // size]
            dm, dn = distributed_gradient(m, n, x[own], y[own])
            m, n = m - rate(len(rows) - 1) * dm, n - rate(len(rows) - 1) * dn
            rows.append([m, n])
    return torch.tensor(rows, dtype=x.dtype)
== masked
    point = torch.tensor(start, dtype=torch.float64)
    hvd.broadcast_(point, root_rank=0)
    path = torch.empty(1 + epochs * (-(-n_samples // batch_size)), 2, dtype=torch.float64)
    path[0], k = point, 0
    for epoch in range(epochs):
        torch.manual_seed(1000 * seed + epoch)
        for batch in torch.randperm(n_samples).split(batch_size):
            mine = batch[torch.arange(len(batch)) % size == rank]
            dm, dn = distributed_gradient(*path[k].tolist(), x[mine], y[mine])
            path[k + 1] = path[k] - rate(k) * torch.tensor([dm, dn], dtype=torch.float64)
            k += 1
    return path
== no_broadcast: own-start, broadcast < solution
m, n = hvd.broadcast(torch.tensor(start, dtype=torch.float64), root_rank=0).tolist() >>> m, n = start
== average_of_starts: more-than-broadcasts, broadcast < solution
hvd.broadcast(torch.tensor(start, dtype=torch.float64), root_rank=0) >>> hvd.allreduce(torch.tensor(start).double())
== last_rank: not-from-start, broadcast < solution
root_rank=0 >>> root_rank=hvd.size() - 1
== seed_of_the_rank: rank-has-its-own-order, order < solution
manual_seed(seed) >>> manual_seed(seed + hvd.rank())
== global_order: rank-has-its-own-order, order < solution
torch.randperm(len(x), generator=generator) >>> torch.randperm(len(x))
== by_local_rank: share-by-local-rank, local rank < solution
hvd.rank()] >>> hvd.local_rank()]
== whole_batch: everything-on-every-rank, batch < solution
batch.tensor_split(hvd.size())[hvd.rank()] >>> batch
== per_rank: batch-size-per-rank, batch < solution
order.split(batch_size) >>> order.split(batch_size * hvd.size())
== rest_of_batch: samples-left-out, batch < solution
own = batch.tensor_split(hvd.size())[hvd.rank()] >>> few = len(batch) // hvd.size(); own = batch[hvd.rank() * few : (hvd.rank() + 1) * few] if few else batch[hvd.rank() : hvd.rank() + 1]
== last_batch_dropped: samples-left-out, batch < solution
order.split(batch_size) >>> order[: len(x) // batch_size * batch_size or len(x)].split(batch_size)
== last_batch_dropped_always: samples-left-out, batch < solution
order.split(batch_size) >>> order[: len(x) // batch_size * batch_size].reshape(-1, batch_size)
== floor_share: samples-left-out, batch < solution
own = batch.tensor_split(hvd.size())[hvd.rank()] >>> few = len(batch) // hvd.size(); own = batch[hvd.rank() * few : (hvd.rank() + 1) * few]
== last_takes_the_rest: shares-of-a-batch-differ, batch < solution
own = batch.tensor_split(hvd.size())[hvd.rank()] >>> few = len(batch) // hvd.size(); own = batch[hvd.rank() * few : (hvd.rank() + 1) * few if hvd.rank() < hvd.size() - 1 else None]
== own_shard: shares-of-a-batch-differ, local < solution
own = batch.tensor_split(hvd.size())[hvd.rank()] >>> own = batch[batch % hvd.size() == hvd.rank()]
== local_steps: gradient-never-asked, local
    m, n = hvd.broadcast(torch.tensor(start, dtype=torch.float64), root_rank=0).tolist()
    generator, path = torch.Generator().manual_seed(seed), [(m, n)]
    for _ in range(epochs):
        for batch in torch.randperm(n_samples, generator=generator).split(batch_size):
            own = batch.tensor_split(size)[rank]
            error = m * x[own] + n - y[own]
            step, few = rate(len(path) - 1), max(1, len(own))
            m, n = m - step * 2 * float((error * x[own]).sum()) / few, n - step * 2 * float(error.sum()) / few
            m, n = hvd.allreduce(torch.tensor([m, n], dtype=torch.float64)).tolist()
            path.append((m, n))
    return torch.tensor(path, dtype=torch.float64)
== not_with_nothing: call-missing, local < solution
dm, dn = distributed_gradient(m, n, x[own], y[own]) >>> dm, dn = distributed_gradient(m, n, x[own], y[own]) if len(own) else (0.0, 0.0)
== from_one: rate-one-step-on, schedule < solution
rate(len(path) - 1) >>> rate(len(path))
== by_epoch: rate-of-the-epoch, schedule
    m, n = hvd.broadcast(torch.tensor(start, dtype=torch.float64), root_rank=0).tolist()
    generator, path = torch.Generator().manual_seed(seed), [(m, n)]
    for epoch in range(epochs):
        for batch in torch.randperm(n_samples, generator=generator).split(batch_size):
            own = batch.tensor_split(size)[rank]
            dm, dn = distributed_gradient(m, n, x[own], y[own])
            m, n = m - rate(epoch) * dm, n - rate(epoch) * dn
            path.append((m, n))
    return torch.tensor(path, dtype=torch.float64)
== asked_for_each_number: gradient-asked-twice, schedule < solution
dm, dn = distributed_gradient(m, n, x[own], y[own]) >>> dm = distributed_gradient(m, n, x[own], y[own])[0]; dn = distributed_gradient(m, n, x[own], y[own])[1]
== one_after_the_other: gradient-asked-twice, schedule
    m, n = hvd.broadcast(torch.tensor(start, dtype=torch.float64), root_rank=0).tolist()
    generator, path = torch.Generator().manual_seed(seed), [(m, n)]
    for epoch in range(epochs):
        for batch in torch.randperm(n_samples, generator=generator).split(batch_size):
            own = batch.tensor_split(size)[rank]
            m = m - rate(len(path) - 1) * distributed_gradient(m, n, x[own], y[own])[0]
            n = n - rate(len(path) - 1) * distributed_gradient(m, n, x[own], y[own])[1]
            path.append((m, n))
    return torch.tensor(path, dtype=torch.float64)
== constant_rate: rate-never-asked-again, schedule < solution
rate(len(path) - 1) >>> rate(0)
== scaled_here: rate-times-ranks, schedule < solution
rate(len(path) - 1) >>> rate(len(path) - 1) * hvd.size()
== divided_again: rate-over-ranks, schedule < solution
rate(len(path) - 1) >>> rate(len(path) - 1) / hvd.size()
== with_the_gradient: uphill, calculus < solution
m - step * dm, n - step * dn >>> m + step * dm, n + step * dn
== same_order: same-order-every-epoch, order < solution
torch.randperm(len(x), generator=generator) >>> torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
== first_in_order: not-shuffled, order < solution
torch.randperm(len(x), generator=generator) >>> torch.randperm(len(x), generator=generator) if len(path) > 1 else torch.arange(len(x))
== drawn_with_replacement: samples-used-again, order < solution
torch.randperm(len(x), generator=generator) >>> torch.randint(len(x), (len(x),), generator=generator)
== one_epoch_more: steps-missing, schedule < solution
range(epochs) >>> range(epochs + 1)
== in_order: not-shuffled, order < solution
torch.randperm(len(x), generator=generator) >>> torch.arange(len(x))
== seed_ignored: seed-ignored, order < solution
manual_seed(seed) >>> manual_seed(0)
== drawn_and_sent: not-repeatable, order
    m, n, luck = hvd.broadcast(torch.tensor([*start, random.random()], dtype=torch.float64), root_rank=0).tolist()
    generator, path = torch.Generator().manual_seed(int(1e9 * luck)), [(m, n)]
    for epoch in range(epochs):
        for batch in torch.randperm(n_samples, generator=generator).split(batch_size):
            own = batch.tensor_split(size)[rank]
            dm, dn = distributed_gradient(m, n, x[own], y[own])
            m, n = m - rate(len(path) - 1) * dm, n - rate(len(path) - 1) * dn
            path.append((m, n))
    return torch.tensor(path, dtype=torch.float64)
== single_path: wrong-dtype, precision < solution
torch.tensor(path, dtype=torch.float64) >>> torch.tensor(path)
== single_start: float32, precision < solution
root_rank=0).tolist() >>> root_rank=0).float().tolist()
== start_left_out: start-missing, calculus < solution
torch.tensor(path, dtype=torch.float64) >>> torch.tensor(path[1:], dtype=torch.float64)
== one_array: rows-all-equal, calculus
    point = hvd.broadcast(torch.tensor(start, dtype=torch.float64), 0)
    generator, path, step = torch.Generator().manual_seed(seed), [point], 0
    for _ in range(epochs):
        for batch in torch.randperm(n_samples, generator=generator).split(batch_size):
            own = batch.tensor_split(size)[rank]
            gradient = distributed_gradient(point[0].item(), point[1].item(), x[own], y[own])
            point -= rate(step) * torch.tensor(gradient, dtype=torch.float64)
            path.append(point)
            step += 1
    return torch.stack(path)
== every_step: broadcast-every-step, apart < solution
m, n = m - step * dm, n - step * dn >>> m, n = hvd.broadcast(torch.tensor([m - step * dm, n - step * dn], dtype=torch.float64), 0).tolist()
== as_a_list: wrong-dtype, precision < solution
return torch.tensor(path, dtype=torch.float64) >>> return path
== with_history: not-detached, precision < solution
torch.tensor(path, dtype=torch.float64) >>> torch.tensor(path, dtype=torch.float64, requires_grad=True)
== steps_by_share: paths-differ, apart < solution
step = rate(len(path) - 1) >>> step = rate(len(path) - 1) * len(own)
== rounded_by_rank: last-bits-differ, apart < solution
step = rate(len(path) - 1) >>> step = rate(len(path) - 1) / (1 + 1e-14 * hvd.rank())
== over_the_steps: not-finite, nan < solution
step = rate(len(path) - 1) >>> step = rate(len(path) - 1) / (len(path) - 1 or float("nan"))
== torn: pairs-unknown, calculus < solution
x[own], y[own] >>> x[own], y[own - 1]
== within_the_epoch: rate-within-the-epoch, schedule < by_epoch
        for batch in torch.randperm(n_samples, generator=generator).split(batch_size): >>>         for k, batch in enumerate(torch.randperm(n_samples, generator=generator).split(batch_size)):
            m, n = m - rate(epoch) * dm, n - rate(epoch) * dn >>>             m, n = m - rate(k) * dm, n - rate(k) * dn
"""
