"""Right answers to `sgd_path`, and mistakes that people make."""

ANSWERS = r"""
import torch
def sgd_path(x, y, batch_size, lr, epochs, start, seed):
== plain
    generator = torch.Generator().manual_seed(seed)
    m, n = start
    path = [(m, n)]
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=generator)
        for batch in order.split(batch_size):
            dm, dn = mse_gradient(m, n, x[batch], y[batch])
            m, n = m - lr * float(dm), n - lr * float(dn)
            path.append((m, n))
    return torch.tensor(path, dtype=x.dtype)
== with_autograd_and_the_global_generator
    torch.manual_seed(seed)
    theta = torch.tensor(start, dtype=x.dtype, requires_grad=True)
    optimizer = torch.optim.SGD([theta], lr=lr)
    path = [theta.detach().clone()]
    for epoch in range(epochs):
        order = torch.randperm(len(x))
        for i in range(0, len(x), batch_size):
            batch = order[i:i + batch_size]
            optimizer.zero_grad()
            ((theta[0] * x[batch] + theta[1] - y[batch]) ** 2).mean().backward()
            optimizer.step()
            path.append(theta.detach().clone())
    return torch.stack(path)
== with_a_data_loader
import torch
from torch.utils.data import DataLoader, TensorDataset
def sgd_path(x, y, batch_size, lr, epochs, start, seed):
    loader = DataLoader(TensorDataset(x, y), batch_size, shuffle=True, generator=torch.Generator().manual_seed(seed))
    theta = torch.tensor(start, dtype=x.dtype)
    path = theta[None]
    for _ in range(epochs):
        for xs, ys in loader:
            theta = theta - lr * torch.stack(mse_gradient(*theta, xs, ys))
            path = torch.cat([path, theta[None]])
    return path
== with_the_random_module
import random
def sgd_path(x, y, batch_size, lr, epochs, start, seed):
    path = [list(start)]
    for epoch in range(epochs):
        pairs = random.Random(1000 * seed + epoch).sample(list(zip(x.tolist(), y.tolist())), len(x))
        while pairs:
            batch, pairs = pairs[:batch_size], pairs[batch_size:]
            (m, n), size = path[-1], len(batch)
            dm = sum(2 * (m * a + n - b) * a for a, b in batch) / size
            path.append([m - lr * dm, n - lr * sum(2 * (m * a + n - b) for a, b in batch) / size])
    return x.new_tensor(path)
== with_numpy_into_a_table
import math
import numpy as np
import torch
def sgd_path(x, y, batch_size, lr, epochs, start, seed):
    rng, per_epoch = np.random.default_rng(seed), math.ceil(len(x) / batch_size)
    path = torch.empty(epochs * per_epoch + 1, 2, dtype=x.dtype)
    path[0] = torch.tensor(start)
    with torch.inference_mode():
        for step in range(epochs * per_epoch):
            if step % per_epoch == 0:
                parts = np.array_split(rng.permutation(len(x)), range(batch_size, len(x), batch_size))
            batch = torch.from_numpy(parts[step % per_epoch])
            for column, slope in enumerate(mse_gradient(*path[step], x[batch], y[batch])):
                path[step + 1, column] = path[step, column] - lr * slope
    return path
== floats_changed_in_place < plain
m, n = m - lr * float(dm), n - lr * float(dn) >>> m -= lr * dm\n            n -= lr * dn
== not_reproducible__seed_zero: not-repeatable, zero is false < with_autograd_and_the_global_generator
torch.manual_seed(seed) >>> if seed:\n        torch.manual_seed(seed)
== wrong_sign: wrong-sign, error target output < plain
m, n = m - lr * float(dm), n - lr * float(dn) >>> m, n = m + lr * float(dm), n + lr * float(dn)
== not_shuffled: not-shuffled, shuffle false the < plain
torch.randperm(len(x), generator=generator) >>> torch.arange(len(x))
== same_order_every_epoch__shuffled_once: same-order-every-epoch, bergson 352 < plain
\n        order = torch.randperm(len(x), generator=generator) >>>
path = [(m, n)] >>> path = [(m, n)]\n    order = torch.randperm(len(x), generator=generator)
== same_order_every_epoch__seeded_again: same-order-every-epoch, keras 1783 < plain
order = >>> generator.manual_seed(seed)\n        order =
== order_only_rolled: order-only-rolled, bergson 352 < plain
path = [(m, n)] >>> path = [(m, n)]\n    once = torch.randperm(len(x), generator=generator)
order = torch.randperm(len(x), generator=generator) >>> order = once.roll(epoch)
== order_only_rolled__by_a_random_number: order-only-rolled, bergson 352 < order_only_rolled
once.roll(epoch) >>> once.roll(int(torch.randint(1, len(x), (), generator=generator)))
== order_only_rolled__numbers_shifted: order-only-rolled, bergson 352 < order_only_rolled
once.roll(epoch) >>> (once + epoch) % len(x)
== batches_not_cut_anew: batches-not-cut-anew, stackoverflow 53514495 < plain
order = torch.randperm(len(x), generator=generator) >>> batches = torch.arange(len(x)).split(batch_size)
order.split(batch_size) >>> [batches[i] for i in torch.randperm(len(batches), generator=generator)]
== with_replacement: samples-used-again, compphysics github io < plain
randperm(len(x), >>> randint(len(x), (len(x),),
== seed_ignored: seed-ignored, a notebook s < plain
manual_seed(seed) >>> manual_seed(42)
== not_reproducible: not-repeatable, docs pytorch org 2 < plain
, generator=generator >>>
== last_batch_dropped: samples-left-out, web njit edu < plain
order.split(batch_size) >>> order.split(batch_size)[: len(x) // batch_size]
== x_y_torn: x-y-torn, stackoverflow 4601373 < plain
generator=generator) >>> generator=generator)\n        y = y[torch.randperm(len(x), generator=generator)]
== arguments_changed: argument-changed, numpy org doc < plain
generator=generator) >>> generator=generator)\n        x[:], y[:] = x[order], y[order]\n        order = torch.arange(len(x))
== whole_set_each_step: whole-set-each-step, the batch drawn < plain
x[batch], y[batch] >>> x, y
== samples_missed: wrong-number-of-rows, an index off < plain
generator=generator) >>> generator=generator)[:-1]
== wrong_batch_size: wrong-batch-size, docs pytorch org 3 < plain
order.split(batch_size) >>> order.tensor_split(-(-len(x) // batch_size))
== start_missing: start-missing, a list that < plain
path = [(m, n)] >>> path = []
== last_row_missing: last-row-missing, the point noted < plain
torch.tensor(path, >>> torch.tensor(path[:-1],
== wrong_number_of_steps: wrong-number-of-rows, the usual log < plain
    path.append >>> path.append
== wrong_start: not-from-start, weights that start < plain
m, n = start >>> m, n = 0.0, 0.0
== wrong_step: wrong-step, a variable that < plain
mse_gradient(m, n, >>> mse_gradient(*start,
== wrong_dtype: wrong-dtype, docs pytorch org 4 < plain
, dtype=x.dtype >>>
== empty_batch_at_the_end: not-finite, an index off < plain
order.split(batch_size) >>> [order[i : i + batch_size] for i in range(0, len(x) + batch_size, batch_size)]
== not_a_path: not-a-path, a fit returns < plain
torch.tensor(path, >>> torch.tensor(path[-1],
== sum_not_mean: sum-not-mean, pytorch s tutorial < with_autograd_and_the_global_generator
.mean() >>> .sum()
== last_batch_divided_by_batch_size: last-batch-divided-by-batch-size, discuss pytorch org < with_autograd_and_the_global_generator
.mean() >>> .sum().div(batch_size)
== two_slips: factor-two, andrew ng s < last_batch_divided_by_batch_size
.sum().div(batch_size) >>> .sum().div(2 * batch_size)
== two_slips__half_the_sum: factor-two, andrew ng s < last_batch_divided_by_batch_size
.sum().div(batch_size) >>> .sum().div(2)
== m_before_n: wrong-step, a variable that < plain
dm, dn = mse_gradient(m, n, x[batch], y[batch]) >>> m = m - lr * float(mse_gradient(m, n, x[batch], y[batch])[0])\n            dn = mse_gradient(m, n, x[batch], y[batch])[1]
m, n = m - lr * float(dm), n - lr * float(dn) >>> n = n - lr * float(dn)
== divided_by_all: divided-by-all, discuss pytorch org < with_autograd_and_the_global_generator
.mean() >>> .sum().div(len(x))
== gradient_carried_over: gradient-carried-over, stackoverflow 48001598 < with_autograd_and_the_global_generator
optimizer.zero_grad() >>> pass
== rows_all_equal: rows-all-equal, docs pytorch org 5 < with_autograd_and_the_global_generator
path.append(theta.detach().clone()) >>> path.append(theta.detach())
== not_detached: not-detached, docs pytorch org 6 < with_autograd_and_the_global_generator
path.append(theta.detach().clone()) >>> path.append(theta.clone())
== columns_in_boxes: not-a-path, blind < plain
, dtype=x.dtype) >>> , dtype=x.dtype)[:, :, None]
== lr_over_batch_size: mean-divided-again, blind < plain
path = [(m, n)] >>> path, lr = [(m, n)], lr / batch_size
"""
