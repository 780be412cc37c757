"""Other right answers to lab 01, and known mistakes with the finding that each must get.

A mistake is most often one line of a right answer: `edits` takes the answer and changes that line.
"""

from __future__ import annotations

from autograde.variants import Wrong


def changed(source: str, old: str, new: str) -> str:
    """`source` with `new` for `old`. Raises ValueError unless `old` is there exactly once."""
    if source.count(old) != 1:
        raise ValueError(f"{old!r} is in the source {source.count(old)} times, not once")
    return source.replace(old, new)


def edits(source: str, **lines: tuple[str, str, str]) -> dict[str, Wrong]:
    """Mistakes that differ from `source` in one place: (old, new, where it is known from).

    A name is the finding that is due and, after two underscores, what tells two with the same finding apart.
    """
    return {
        name: Wrong(name.split("__")[0].replace("_", "-"), changed(source, old, new), known_from)
        for name, (old, new, known_from) in lines.items()
    }


GRADIENT = """
def mse_gradient(m, n, x, y):
    error = m * x + n - y
    return 2 * (error * x).mean(), 2 * error.mean()
"""

PATH = """
import torch
def sgd_path(x, y, batch_size, lr, epochs, start, seed):
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
"""

PATH_AUTOGRAD = """
import torch
def sgd_path(x, y, batch_size, lr, epochs, start, seed):
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
"""

ACCUMULATE = """
import torch
def accumulate_gradient(model, loss_fn, micro_batches):
    total = sum(len(inputs) for inputs, _ in micro_batches)
    model.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets)
        (loss * len(inputs) / total).backward()
"""

BOTH = "2 * (error * x).mean(), 2 * error.mean()"
LOOP = "for epoch in range(epochs):"
ORDER = "order = torch.randperm(len(x), generator=generator)"
SPLIT = "batch in order.split(batch_size)"
STEP = "m, n = m - lr * float(dm), n - lr * float(dn)"
SQUARES = "- y[batch]) ** 2).mean()"
LAST_ROW = "            path.append(theta.detach().clone())"
SHARE = "(loss * len(inputs) / total)"

RIGHT = {
    "mse_gradient": {
        "sample_by_sample": """
def mse_gradient(m, n, x, y):
    dm = dn = 0.0
    for xi, yi in zip(x.tolist(), y.tolist()):
        dm += 2 * xi * (m * xi + n - yi)
        dn += 2 * (m * xi + n - yi)
    return dm / len(x), dn / len(x)
""",
        "as_a_matrix_product": """
import torch
def mse_gradient(m, n, x, y):
    X = torch.stack([x, torch.ones_like(x)], dim=1)
    theta = torch.tensor([m, n], dtype=x.dtype)
    return 2 / torch.tensor(len(x)) * X.T @ (X @ theta - y)
""",
    },
    "sgd_path": {
        "with_autograd_and_the_global_generator": PATH_AUTOGRAD,
        "with_a_data_loader": """
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
""",
        "with_the_random_module": """
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
""",
        "with_numpy_into_a_table": """
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
""",
        # Right where mse_gradient returns floats; with tensors, `-=` would change the point in the list as well.
        "floats_changed_in_place": changed(PATH, STEP, "m -= lr * dm; n -= lr * dn"),
    },
    "accumulate_gradient": {
        "divided_at_the_end": """
def accumulate_gradient(model, loss_fn, micro_batches):
    for p in model.parameters():
        p.grad = None
    total = 0
    for inputs, targets in micro_batches:
        (loss_fn(model(inputs), targets) * inputs.shape[0]).backward()
        total += inputs.shape[0]
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= total
""",
        "with_autograd_grad": """
import torch
def accumulate_gradient(model, loss_fn, micro_batches):
    params = [p for p in model.parameters() if p.requires_grad]
    for p in params:
        p.grad = torch.zeros_like(p)
    for inputs, targets in micro_batches:
        share = len(inputs) / sum(len(x) for x, _ in micro_batches)
        grads = torch.autograd.grad(loss_fn(model(inputs), targets), params, materialize_grads=True)
        for p, grad in zip(params, grads):
            p.grad.add_(grad, alpha=share)
""",
        "one_backward_of_the_weighted_sum": """
import torch
def accumulate_gradient(model, loss_fn, micro_batches):
    model.zero_grad(set_to_none=False)
    sizes = torch.tensor([float(len(x)) for x, _ in micro_batches])
    losses = torch.stack([loss_fn(model(x), t) for x, t in micro_batches])
    (losses * sizes / sizes.sum()).sum().backward()
""",
        "with_hooks": """
def accumulate_gradient(model, loss_fn, micro_batches):
    total, share = sum(len(x) for x, _ in micro_batches), [0.0]
    trained = [p for p in model.parameters() if p.requires_grad]
    handles = [p.register_hook(lambda grad: grad * share[0]) for p in trained]
    for p in trained:
        p.grad = None
    for x, t in micro_batches:
        share[0] = len(x) / total
        loss_fn(model(x), t).backward()
    for handle in handles:
        handle.remove()
""",
    },
}

DOCS = "https://docs.pytorch.org/docs/stable"
RASCHKA = "error = target - output, to be added, in the Adaline of Raschka, 'Python Machine Learning', chapter 2"
NG = "Andrew Ng's 'Machine Learning': cost J = 1/(2m) sum of squares, and theta_0 is the intercept"
SUM = "PyTorch's tutorial 'Learning PyTorch with Examples' takes the sum, with lr = 1e-6"
SEEDED = "https://github.com/keras-team/keras/issues/1783"
ZERO_GRAD = "https://stackoverflow.com/questions/48001598/why-do-we-need-to-call-zero-grad-in-pytorch"
LAST = "https://discuss.pytorch.org/t/why-do-we-multiply-loss-function-with-a-constant/112893"

# fmt: off
WRONG = {
    "mse_gradient": edits(
        GRADIENT,
        sum_not_mean=(BOTH, BOTH.replace("mean", "sum"), SUM),
        wrong_sign=("m * x + n - y", "y - (m * x + n)", RASCHKA),
        factor_two=(BOTH, BOTH.replace("2 * ", ""), NG),
        swapped=(BOTH, "2 * error.mean(), 2 * (error * x).mean()", NG),
        x_forgotten=("(error * x)", "error", "the chain rule without its inner factor"),
        wrong_gradient=(BOTH, "(error**2).mean() * x.mean(), (error**2).mean()",
            "https://stackoverflow.com/questions/56052457 (Why isn't my gradient descent algorithm working?)"),
        not_two_numbers=(BOTH, "2 * error * x, 2 * error", "reduction='none' of torch.nn.MSELoss"),
        arguments_changed=("m * x + n - y", "y.neg_().add_(m * x + n)", "memory saved by operations in place"),
    ) | {"uses_backward": Wrong("uses-backward", """
import torch
def mse_gradient(m, n, x, y):
    theta = torch.tensor([m, n], dtype=x.dtype, requires_grad=True)
    ((theta[0] * x + theta[1] - y) ** 2).mean().backward()
    return theta.grad[0], theta.grad[1]
""", f"{DOCS}/generated/torch.autograd.grad_mode.inference_mode.html")},
    "sgd_path": edits(
        PATH,
        wrong_sign=(STEP, STEP.replace("-", "+"), RASCHKA),
        not_shuffled=(ORDER, "order = torch.arange(len(x))", "shuffle=False, the default of torch's DataLoader"),
        same_order_every_epoch__shuffled_once=(f"{LOOP}\n        {ORDER}", f"{ORDER}\n    {LOOP}",
            "https://github.com/EleutherAI/bergson/pull/352 (every epoch saw an identical order)"),
        same_order_every_epoch__seeded_again=(ORDER, f"generator.manual_seed(seed); {ORDER}", SEEDED),
        batches_not_cut_anew=(f"{ORDER}\n        for {SPLIT}", """\
batches = torch.arange(len(x)).split(batch_size)
        for batch in [batches[i] for i in torch.randperm(len(batches), generator=generator)]""",
            "https://stackoverflow.com/questions/53514495 (tf.data: batch before shuffle)"),
        with_replacement=("randperm(len(x)", "randint(len(x), (len(x),)",
            "https://compphysics.github.io/MachineLearning/doc/pub/week37/html/._week37-bs026.html"),
        seed_ignored=("manual_seed(seed)", "manual_seed(42)", "a notebook's own fixed seed"),
        not_reproducible=(", generator=generator", "", f"{DOCS}/notes/randomness.html"),
        last_batch_dropped=(SPLIT, SPLIT + "[: len(x) // batch_size]",
            "http://web.njit.edu/~usman/courses/cs677_spring21/sgd.txt (for j = 0 to rows/batch_size)"),
        x_y_torn=(ORDER, f"{ORDER}; y = y[torch.randperm(len(x), generator=generator)]",
            "https://stackoverflow.com/questions/4601373/better-way-to-shuffle-two-numpy-arrays-in-unison"),
        arguments_changed=(ORDER, f"{ORDER}; x[:], y[:] = x[order], y[order]; order = torch.arange(len(x))",
            "https://numpy.org/doc/stable/reference/random/generated/numpy.random.shuffle.html (in place)"),
        whole_set_each_step=("x[batch], y[batch]", "x, y", "the batch drawn, but not used"),
        samples_missed=(ORDER, ORDER + "[:-1]", "an index off by one"),
        wrong_batch_size=(SPLIT, "batch in order.tensor_split(-(-len(x) // batch_size))",
            f"{DOCS}/generated/torch.tensor_split.html (parts of nearly equal size)"),
        start_missing=("path = [(m, n)]", "path = []", "a list that only the loop fills"),
        last_row_missing=("torch.tensor(path", "torch.tensor(path[:-1]", "the point noted before the step, not after"),
        wrong_number_of_steps=("    path.append", "path.append", "the usual log, once an epoch"),
        wrong_start=("m, n = start", "m, n = 0.0, 0.0", "weights that start at zero, as in most texts"),
        wrong_step=("mse_gradient(m, n,", "mse_gradient(*start,", "a variable that the loop does not update"),
        wrong_dtype=(", dtype=x.dtype", "", f"{DOCS}/generated/torch.set_default_dtype.html"),
        not_a_path=("torch.tensor(path,", "torch.tensor(path[-1],", "a fit returns its parameters"),
    ) | edits(
        PATH_AUTOGRAD,
        sum_not_mean=(SQUARES, "- y[batch]) ** 2).sum()", SUM),
        last_batch_divided_by_batch_size=(SQUARES, "- y[batch]) ** 2).sum().div(batch_size)", LAST),
        divided_by_all=(SQUARES, "- y[batch]) ** 2).sum().div(len(x))", LAST),
        gradient_carried_over=("optimizer.zero_grad()", "pass", ZERO_GRAD),
        rows_all_equal=(LAST_ROW, LAST_ROW.replace(".clone()", ""), f"{DOCS}/generated/torch.Tensor.detach.html"),
        not_detached=(LAST_ROW, LAST_ROW.replace(".detach()", ""), f"{DOCS}/notes/faq.html (accumulated history)"),
    ),
    "accumulate_gradient": edits(
        ACCUMULATE,
        mean_of_means=(SHARE, "(loss / len(micro_batches))", "https://huggingface.co/blog/gradient_accumulation"),
        loss_not_divided=(SHARE, "loss", "https://github.com/karpathy/nanoGPT/issues/206"),
        sum_not_mean=(" / total", "", SUM),
        gradient_carried_over=("model.zero_grad()", "pass", ZERO_GRAD),
        only_one_part=("loss = loss_fn", "model.zero_grad(); loss = loss_fn",
            "https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html (a loop for whole batches)"),
        wrong_weights=("len(inputs) / total", "len(micro_batches[0][0]) / total",
            "https://github.com/keras-team/keras/issues/20241 (the last batch has another size)"),
        parameters_moved=(".backward()",
            ".backward(); [p.data.sub_(p.grad, alpha=0.1) for p in model.parameters() if p.grad is not None]",
            f"{DOCS}/notes/amp_examples.html#gradient-accumulation (that loop makes the step too)"),
        no_gradient=(f"{SHARE}.backward()", "loss.item()", "a loss that is computed for the log only"),
        arguments_changed=("for inputs, targets in micro_batches:",
            "while micro_batches:\n        inputs, targets = micro_batches.pop(0)", "pop() on a caller's list"),
        frozen_has_gradient=("model.zero_grad()", "model.zero_grad(); model.requires_grad_(True)",
            "https://discuss.pytorch.org/t/why-there-is-still-a-small-change-in-frozen-layer-parameters/153740"),
        all_at_once=("in micro_batches:", "in [map(torch.cat, zip(*micro_batches))]:",
            "https://discuss.pytorch.org/t/accumulating-model-output-blows-up-cuda-memory/197063"),
        wrong_gradient=(".backward()",
            ".backward(); [p.grad.clamp_(-0.05, 0.05) for p in model.parameters() if p.grad is not None]",
            f"{DOCS}/generated/torch.nn.utils.clip_grad_value_.html (in each micro-batch)"),
    ) | edits(
        RIGHT["accumulate_gradient"]["divided_at_the_end"],
        raised=("if p.grad is not None:", "if True:", f"{DOCS}/generated/torch.Tensor.grad.html (None by default)"),
    ),
}
# fmt: on
