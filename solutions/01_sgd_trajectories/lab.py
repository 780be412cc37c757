# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 Paths over a loss surface
#
# After this lab you can
#
# - derive the gradient of a loss by hand, and see whether it is right,
# - write stochastic gradient descent, and tell what the batch size does to its path,
# - make the gradient of a large batch out of small ones. Distributed training is that, on many machines.
#
# Run the cells from top to bottom. Where you find `# YOUR CODE HERE`, it is your turn; the cell below tells you what
# it saw. Nothing breaks: run a check as often as you like.

# %%
import torch
from IPython.display import display

from autograde.notebook import Checker, needs
from course.figures.data.sample_weights import weights_picture
from course.figures.training.loss_curves import loss_picture, samples_until
from course.figures.training.loss_surface import best_line, lines_picture, paths_picture, slopes_picture
from course.figures.training.sgd_animation import paths_movie
from course.world import World

world = World(1)
check = Checker("checks", world)

# %%
generator = torch.Generator().manual_seed(0)
x = 4 * torch.rand(48, generator=generator, dtype=torch.float64) - 1
y = 1.5 * x - 0.5 + 0.8 * torch.randn(48, generator=generator, dtype=torch.float64)

lines_picture(x, y, {"A": (-1.0, 3.0), "B": (0.4, 0.6), "C": (1.4, -0.2)})

# %% [markdown]
# Three lines $y = m x + n$ through the same 48 samples, and the same three as points $(m, n)$. How badly a line fits
# is its mean squared error, the **loss**:
#
# $$L(m, n) = \frac{1}{48} \sum_{i=1}^{48} (m x_i + n - y_i)^2$$
#
# The darker, the larger. The least loss is at the +. Each ring stands about half as high above it as the next one out.
#
# ## 1. Which way is down?
#
# The gradient of the loss points uphill. Derive $\partial L / \partial m$ and $\partial L / \partial n$ on paper,
# then write them down for a batch of any size.

# %% todo="mse_gradient"
import torch


def mse_gradient(m, n, x: torch.Tensor, y: torch.Tensor):
    """The gradient of the mean squared error of the line y = m x + n.

    m, n: floats. x, y: float tensors [B], one entry a sample; they stay as they are.
    Returns (dm, dn), how fast the loss changes with m and with n: two floats, or two tensors of one element.
    Derived by hand: it works under `torch.inference_mode()`, where `backward` raises.
    """
    ### BEGIN SOLUTION
    error = m * x + n - y
    return 2 * (error * x).mean(), 2 * error.mean()
    ### END SOLUTION


# %% check="mse_gradient"
check("mse_gradient")

# %%
with needs("mse_gradient"):
    display(slopes_picture(x, y, mse_gradient, centre=best_line(x, y).tolist()))

# %% [markdown]
# Most arrows do not point at the +. Down is not towards the goal: the loss is a valley, and its walls are steeper
# than its floor.
#
# ## 2. Walk down
#
# Stochastic gradient descent does not look at all samples before it steps. It looks at a **batch** of them:
#
# - An **epoch** visits each sample once, in a random order that is new in every epoch.
# - The order is cut into batches of `batch_size` samples. What is left at the end is a batch too, only smaller.
# - Each batch gives one step: `-lr` times the gradient of the mean over the samples *in that batch*.

# %% todo="sgd_path"
import torch


def sgd_path(
    x: torch.Tensor, y: torch.Tensor, batch_size: int, lr: float, epochs: int, start: tuple[float, float], seed: int
) -> torch.Tensor:
    """The points (m, n) that stochastic gradient descent goes through.

    x, y: float tensors [N]; they stay as they are. batch_size: samples a step; it may exceed N. start: a pair (m, n).
    seed: all random orders are drawn from it, so that the same seed gives the same path.
    Returns a tensor [steps + 1, 2] without gradient history, of the dtype of x: row 0 is `start`, row k the point after
    k steps. You may call `mse_gradient`: the check has a right one, in case yours is not.
    """
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(seed)
    m, n = start
    path = [(m, n)]
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=generator)
        for batch in order.split(batch_size):
            dm, dn = mse_gradient(m, n, x[batch], y[batch])
            m, n = m - lr * float(dm), n - lr * float(dn)
            path.append((m, n))
    return torch.tensor(path, dtype=x.dtype)
    ### END SOLUTION


# %% check="sgd_path"
check("sgd_path")


# %%
def three_runs(lr=0.05):
    """20 epochs with batch sizes 1, 8 and 48, from the same start: a list of (batch size, path)."""
    return [(size, sgd_path(x, y, size, lr, epochs=20, start=(-2.0, 1.5), seed=7)) for size in (1, 8, 48)]


with needs("mse_gradient", "sgd_path"):
    display(paths_picture(x, y, three_runs()))

# %%
with needs("mse_gradient", "sgd_path"):
    display(paths_movie(x, y, three_runs()))

# %% [markdown]
# On one clock: all three have read the same number of samples. Which is quickest at the start? Which comes to rest?

# %%
with needs("mse_gradient", "sgd_path"):
    display(loss_picture(x, y, three_runs()))
    for run in three_runs():
        read = samples_until(x, y, run)
        print(f"batch size {run[0]:2}: within 10 % of the least loss", f"after {read} samples" if read else "not yet")

# %% [markdown]
# ## 3. When a batch does not fit
#
# A large batch takes calm steps, but its activations may not fit into memory. So it is cut into **micro-batches**:
# each goes forward and backward on its own, and `.grad` adds up what they give. Many machines do the same, one
# micro-batch each. The usual mistake, in both cases, is to average the micro-batches' means:

# %%
weights_picture([8, 6, 2])

# %% [markdown]
# Of 16 samples, the two in the small micro-batch count 2.7 times as much as they should. No error, no warning: the
# model trains, on another loss.

# %% todo="accumulate_gradient"
import torch


def accumulate_gradient(model: torch.nn.Module, loss_fn, micro_batches: list) -> None:
    """Leave in `.grad` the gradient of the mean loss over all samples of all micro-batches.

    model: some of its parameters may be frozen, or unused; these stay without gradient, or at zero.
    loss_fn(outputs, targets): the mean loss over its batch, a tensor with one element.
    micro_batches: pairs (inputs, targets) of unequal numbers of samples, `len(inputs)`; they stay as they are.
    One micro-batch at a time goes forward. What lies in `.grad` before does not count. There is no optimizer step.
    """
    ### BEGIN SOLUTION
    total = sum(len(inputs) for inputs, _ in micro_batches)
    model.zero_grad()
    for inputs, targets in micro_batches:
        loss = loss_fn(model(inputs), targets)
        (loss * len(inputs) / total).backward()
    ### END SOLUTION


# %% check="accumulate_gradient"
check("accumulate_gradient")

# %%
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).double()
loss_fn = torch.nn.MSELoss()
parts = list(zip(x[:, None].split([26, 20, 2]), y[:, None].split([26, 20, 2]), strict=True))


def gradient(*losses):
    """The gradient of the mean of some losses, all parameters in one row."""
    rows = torch.autograd.grad(sum(losses) / len(losses), model.parameters())
    return torch.cat([row.flatten() for row in rows])


with needs("accumulate_gradient"):
    accumulate_gradient(model, loss_fn, parts)
    yours = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    whole = gradient(loss_fn(model(x[:, None]), y[:, None]))
    means = gradient(*(loss_fn(model(inputs), targets) for inputs, targets in parts))
    for name, made in ("yours", yours), ("the mean of the three means", means):
        print(f"{name} differs from the gradient of one large batch by {(made - whole).norm() / whole.norm():.1%}")

# %% [markdown]
# ## What you saw
#
# - The loss of a line is a valley in the plane of all lines, and the gradient points straight up its walls.
# - Small batches make many steps out of the samples they read. With the orders of our own solution, batch size 1 was
#   within 10 % of the least loss after 43 samples, batch size 8 after 432; the full batch needs 2544, which is 53
#   epochs.
# - But their steps are noisy. Batch size 1 never comes to rest: in its last epoch, its loss was up to 3.1 times the
#   least.
# - The mean of the micro-batches' means was 12 % off the gradient of one large batch, and nothing complained. Means
#   over unequal parts must be weighted. That will be back, with ranks in place of micro-batches.
#
# ## A question
#
# Is the picture fair to the full batch? It has no noise, so it could take longer steps. Try: in a new cell, raise its
# `lr` from 0.05 in steps of 0.01, with the same start and 20 epochs. **What is the smallest `lr` with which it ends
# at a larger loss than it began with?** Then look at the paths of `three_runs` with half of that.
