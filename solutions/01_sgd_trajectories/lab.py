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
# - derive the gradient of a loss by hand and check it,
# - write stochastic gradient descent, and say what the [batch](GLOSSARY.md#batch) size does to its path,
# - compute the gradient of a large batch from several small ones.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} This is the first one, and it runs in one process. You need Python functions and
# loops, PyTorch tensors (indexing, arithmetic, `mean`) and the chain rule. Section 3 also uses a `torch.nn.Module` and
# `backward`.
#
# **Lecture.** [1 A batch too large for one machine](../../course/lectures/01_one_machine.ipynb) says what a batch is,
# and makes one step by hand.
#
# **Time:** about {{minutes}} minutes.
#
# Run the cells from top to bottom. Where a cell says `# YOUR CODE HERE`, replace that line and the one below it with
# your code and run the cell. The next cell checks your code and tells you what it saw. Check as often as you like:
# nothing can break. Grading runs the same check on new numbers.
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# **Only the cell with your code is handed in and run: import in it what it uses.**
#
# Some cells are folded, as the next one is: what is in them is not what the lab is about. Run them like all others.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import torch
from IPython.display import display

from autograde.notebook import Checker, needs
from course.figures.training.loss_surface import lines_picture
from course.figures.training.sgd_animation import paths_movie
from course.world import World

# %% [markdown]
# These are 48 samples, and three lines through them:

# %%
generator = torch.Generator().manual_seed(0)
x = 4 * torch.rand(48, generator=generator, dtype=torch.float64) - 1
noise = torch.randn(48, generator=generator, dtype=torch.float64)
y = 1.5 * x - 0.5 + 0.8 * noise

lines_picture(x, y, {"A": (-1.0, 3.0), "B": (0.4, 0.6), "C": (1.4, -0.2)})

# %% [markdown]
# On the left are three lines $y = m x + n$ through the same 48 samples. On the right, each of these lines is one point
# $(m, n)$. How badly a line fits is measured by its mean squared error, the **loss**:
#
# $$L(m, n) = \frac{1}{48} \sum_{i=1}^{48} (m x_i + n - y_i)^2$$
#
# Darker means larger loss; the minimum is marked +. A contour line joins points of equal loss. Going inwards, each
# contour line halves the height above the minimum.
#
# This cell loads the checks. They run your code in a process of its own, a [rank](GLOSSARY.md#rank); this lab needs
# only one:

# %%
check = Checker(World(1))

# %% [markdown]
# ## 1. Which way is down?
#
# The gradient of the loss, $\nabla L = (\partial L / \partial m,\ \partial L / \partial n)$, points uphill. Derive both
# parts on paper. Then write them as code, for a batch of any size $B$ instead of 48.

# %% todo="mse_gradient"
import torch


def mse_gradient(m, n, x: torch.Tensor, y: torch.Tensor):
    """The gradient (dm, dn) of the mean squared error of the line y = m x + n.

    Returns two floats, or two tensors of one element each (shape [] or [1]).
    m, n: numbers. x, y: float tensors [B], one entry per sample.
    The check calls this function inside `torch.inference_mode()`, where `backward`
    raises an error.

    Example: m = 1, n = 0, x = [1., 2.], y = [1., 1.] give (2.0, 1.0).
    """
    ### BEGIN SOLUTION
    error = m * x + n - y
    return 2 * (error * x).mean(), 2 * error.mean()
    ### END SOLUTION


# %% check="mse_gradient"
check("mse_gradient")

# %% [markdown]
# The arrows point in the direction opposite to your gradient, on the loss of all 48 samples:

# %% folded=true
# Draws an arrow against your gradient at points all over the loss surface.
from course.figures.training.loss_surface import best_line, slopes_picture

with needs("mse_gradient"):
    display(slopes_picture(x, y, mse_gradient, centre=best_line(x, y).tolist()))

# %% [markdown]
# Most arrows do not point at the +. Straight downhill is not the direction of the minimum: the loss is a valley whose
# walls are steeper than its floor.
#
# ## 2. Walk down
#
# Stochastic gradient descent (SGD) does not use all samples for each step. It uses a batch of them:
#
# - An [epoch](GLOSSARY.md#epoch) visits each sample once, in a random order. Every epoch draws a new order.
# - The order is cut into batches of `batch_size` samples. Samples left over at the end form one more, smaller batch.
# - Each batch $b$ gives one step: minus `lr`, the [learning rate](GLOSSARY.md#learning-rate), times the gradient of
#   the mean loss over the samples *in that batch*:
#
# $$(m, n) \leftarrow (m, n) - \mathrm{lr} \cdot \nabla\, \frac{1}{|b|} \sum_{i \in b} (m x_i + n - y_i)^2$$
#
# The orders are random, but the same [seed](GLOSSARY.md#seed) must always give the same orders: an experiment that
# cannot be repeated cannot be checked.

# %% todo="sgd_path"
import torch


def sgd_path(
    x: torch.Tensor,
    y: torch.Tensor,
    batch_size: int,
    lr: float,
    epochs: int,
    start: tuple[float, float],
    seed: int,
) -> torch.Tensor:
    """The points (m, n) that stochastic gradient descent goes through.

    Returns a tensor [steps + 1, 2]. Compute in any precision.
    x, y: float tensors [N].
    batch_size: samples per step. It may be larger than N.
    start: the point (m, n) before the first step.
    seed: determines the orders of all epochs. Use any random generator; you may seed
    the global ones.
    You may call `mse_gradient`. The check supplies a right one: it takes m and n as
    floats or one-element tensors, and what it returns works as a float and as a tensor.

    Example: 5 samples, batch_size 2 and 4 epochs make 12 steps: the result is [13, 2].
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

# %% [markdown]
# Three runs from the same start, with the same learning rate, each over 20 epochs. Which one is fastest at the
# beginning? Which one comes to rest?


# %%
def three_runs(epochs=20, lr=0.05):
    """Runs with batch sizes 1, 8 and 48: a list of pairs (batch size, path)."""
    sizes, start = (1, 8, 48), (-2.0, 1.5)
    return [(size, sgd_path(x, y, size, lr, epochs, start, seed=7)) for size in sizes]


with needs("mse_gradient", "sgd_path"):
    display(paths_movie(x, y, three_runs()))

# %% [markdown]
# The same paths at the end, larger:

# %% folded=true
# Draws the paths of the three runs.
from course.figures.training.loss_surface import paths_picture

with needs("mse_gradient", "sgd_path"):
    display(paths_picture(x, y, three_runs()))

# %% [markdown]
# So small batches are fast, and large ones slow? That depends on the clock. The next picture shows the same runs over
# 60 epochs, and reads them off two clocks: on the left by the *samples* they have seen, on the right by the *steps*
# they have taken. A dot marks where a run is first within 10 % of the smallest possible loss.

# %% folded=true
# Draws the losses of the three runs against samples and against steps.
from course.figures.training.loss_curves import loss_picture, samples_until, steps_until

with needs("mse_gradient", "sgd_path"):
    runs = three_runs(epochs=60)
    display(loss_picture(x, y, runs))
    print("Within 10 % of the smallest loss:")
    for run in runs:
        samples, steps = samples_until(x, y, run), steps_until(x, y, run)
        arrival = f"after {samples:4} samples, {steps:2} steps" if steps else "not yet"
        print(f"  batch size {run[0]:2}: {arrival}")

# %% [markdown]
# In samples, batch size 1 wins by far. **In steps, all three arrive at about the same time.** A step on 48 samples is
# more work than a step on one. But the 48 gradients of a step do not depend on each other: 48 machines can compute them
# at once. Then the large batch is as fast as the small one, and its path has no noise. This is why many machines can
# share one training, and why this course is about large batches.
#
# ## 3. When a batch does not fit
#
# A network computes its gradient backwards, from the intermediate results of its forward pass, the
# *[activations](GLOSSARY.md#activations)*. For a large batch they may not fit into memory. So we cut the batch into
# [micro-batches](GLOSSARY.md#micro-batch): each one goes forward and backward by itself, and `.grad` adds up the
# gradients. This is [gradient accumulation](GLOSSARY.md#gradient-accumulation). The result should be the gradient of
# the whole batch, the mean over all $N = \sum_k n_k$ samples of the $K$ micro-batches:
#
# $$g = \nabla\, \frac{1}{N} \sum_{k=1}^{K} \sum_{i=1}^{n_k} \ell_{k,i}$$
#
# The usual mistake is to take the mean of the micro-batches' means. The picture shows how much each of 16 samples then
# counts; 1 would be right:

# %% folded=true
# Draws what each sample counts in the mean of the micro-batches' means.
from course.lab.figures.sample_weights import weights_picture

weights_picture([8, 6, 2])

# %% [markdown]
# The two samples in the small micro-batch count 2.7 times as much as they should. There is no error and no warning: the
# model trains, but on another loss.
#
# Before you start: `loss_fn` returns the *mean* over the micro-batch that you give it. And `backward` adds to whatever
# `.grad` holds, also to what somebody else left there.

# %% todo="accumulate_gradient"
import torch


def accumulate_gradient(model: torch.nn.Module, loss_fn, micro_batches: list) -> None:
    """Leave in `.grad` the gradient of the mean loss over all samples.

    model: a module; its parameters may be frozen, or unused.
    loss_fn(outputs, targets): the mean loss over its batch, a tensor of shape [].
    micro_batches: pairs (inputs, targets) of `len(inputs)` samples each. Their sizes
    may differ, and there may be only one.
    Calling `backward` after each micro-batch saves memory; a single call at the end
    earns all points, too.

    Example: micro-batches of 8, 6 and 2 samples give the gradient of one batch of 16.
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

# %% [markdown]
# A small network on our 48 samples, cut into micro-batches of 26, 20 and 2. How far is your gradient from that of one
# large batch, and how far is the mean of the three means?

# %%
torch.manual_seed(0)
layers = torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
model = torch.nn.Sequential(*layers).double()
loss_fn = torch.nn.MSELoss()
sizes = [26, 20, 2]
parts = list(zip(x[:, None].split(sizes), y[:, None].split(sizes), strict=True))


def gradient(*losses):
    """The gradient of the mean of some losses, with all parameters in one row."""
    rows = torch.autograd.grad(sum(losses) / len(losses), model.parameters())
    return torch.cat([row.flatten() for row in rows])


with needs("accumulate_gradient"):
    accumulate_gradient(model, loss_fn, parts)
    yours = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    whole = gradient(loss_fn(model(x[:, None]), y[:, None]))
    means = gradient(*(loss_fn(model(inputs), targets) for inputs, targets in parts))
    for name, made in {"yours": yours, "mean of the three means": means}.items():
        print(f"{name}: off by {(made - whole).norm() / whole.norm():.1%}")

# %% [markdown]
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>Why do most arrows of section 1 not point at the minimum?</summary>
#
# The loss is a valley in the plane of all lines. The gradient points straight up its walls, not along its floor, where
# the minimum lies.
#
# </details>
#
# <details><summary>What is good about small batches, and what is good about large ones?</summary>
#
# With the orders of our own solution, batch size 1 is within 10 % of the smallest loss after 43 samples, batch size 8
# after 432, and the full batch after 2544. Small batches make many steps out of the samples they read. But their steps
# are noisy: batch size 1 never comes to rest, and in the last of 20 epochs its loss is up to 3.1 times the smallest
# one. Large batches take calm steps, and they need no more of them: 43, 54 and 53 steps.
#
# </details>
#
# <details><summary>How wrong is the mean of the micro-batches' means?</summary>
#
# Here it is 12 % off the gradient of one large batch, and nothing complains. Means over unequal parts must be weighted.
# You will meet this again in labs 07 and 10, with ranks instead of micro-batches.
#
# </details>
#
# ## What comes next
#
# Replace "one micro-batch after the other" by "one micro-batch on each machine", and you have [data
# parallelism](GLOSSARY.md#data-parallelism), which labs 07 and 10 use to train real networks. One thing is missing:
# each machine has the gradient of its own part only, and all need the sum. In lab 02, *Hello, ranks*, you meet
# processes that work together by messages. Lab 03, *Pi on several ranks*, is about that sum and nothing else. Lab 06,
# *Samplers for several ranks*, shares the samples out. (A lab that your course leaves out is not needed: go on with the
# next one that you have.)
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. The longest step.** Is the comparison fair to the full batch? It has no noise, so it could take longer steps. In
# a new cell, raise its `lr` from 0.05 in steps of 0.01, with the start and the 20 epochs of `three_runs`. What is the
# smallest `lr` with which the run ends at a larger loss than it began with? (The loss of a point (m, n) is
# `((m * x + n - y) ** 2).mean()`.)

# %% answer="smallest_lr"
check.answer("smallest_lr", None)

# %% [markdown]
# **2. Half of it.** Now give all three runs half of that `lr`, and look at their paths: `three_runs(lr=...)`. Which run
# gains by it, and which one loses? Why?

# %% [markdown] answer="half_of_it"
# With `lr` = 0.2 and not 0.05, the full batch gains: it is within 10 % of the smallest loss after 13 steps instead of
# 53, and ends after 20 steps 0.8 % above it. Its gradient has no noise, so the only limit is the steepest wall of the
# valley. The other two end higher than before. Each of their steps follows the gradient of a few samples, and a longer
# step carries more of this noise into the path: with batch size 1, the loss still jumps up to 60 times the smallest one
# in the last epoch. A larger batch allows, and needs, a larger learning rate.
